"""Rows summed up, and the search of a grid."""

import numpy as np
import pandas as pd
import pytest
from experiments.two_policies import instance

from pgcpe import LUCB
from pgcpe.experiments import grid_search, read_rows, summarise
from pgcpe.experiments.summary import _median_interval


@pytest.fixture
def file(tmp_path):
    return tmp_path / "rows.csv"


def test_a_grid_is_searched(file):
    grid = {"alpha": [0.1, 1.0], "radius": ["lucb1", "paper"]}
    table = grid_search(LUCB, instance, grid, seeds=range(12), budgets=[30, 90], file=file, progress=False)
    rows = read_rows(file)
    assert len(table) == rows["policy"].nunique() == 4
    assert table["error"].is_monotonic_increasing
    for line in table.itertuples():
        mine = rows[rows["policy"] == f"alpha={line.alpha}, radius={line.radius!r}"]
        assert line.error == pytest.approx(1 - mine["correct"].mean())
        assert line.runs == 12
    assert table["error at 90"].mean() < table["error at 30"].mean()


def test_the_interval_of_a_median_holds():
    """A 95 % interval fails in more than 35 of 400 samples with probability below .001 (binomial)."""
    rng = np.random.default_rng(0)
    samples = rng.exponential(size=(400, 40))
    inside = [low <= np.log(2) <= high for low, high in map(_median_interval, samples)]
    assert 400 - 35 <= sum(inside) < 400  # nor is it far too wide


def test_a_summary_counts():
    rows = pd.DataFrame(
        {
            "policy": ["A"] * 4,
            "budget": [10] * 4,
            "plays": [4, 10, 10, 10],
            "stopped": [True, True, False, False],
            "correct": [True, False, False, True],
        }
    )
    summed = summarise(rows).iloc[0]
    assert (summed["runs"], summed["error"], summed["stopped"], summed["wrong"]) == (4, 0.5, 0.5, 1)
    assert summed["error_low"] == pytest.approx(0.15, abs=0.005)  # Wilson's interval for 2 of 4
    assert summed["error_high"] == pytest.approx(0.85, abs=0.005)
    assert summed["plays"] == 10
    assert np.isnan(summed["plays_low"])  # no interval of order statistics holds with 95 % in 4 runs


@pytest.mark.parametrize("grid", [{}, {"seed": [1]}, {"error": [1]}, {"alpha": [1.0, 1.0]}])
def test_a_grid_that_makes_no_sense(grid):
    with pytest.raises(ValueError, match="grid must have parameters"):
        grid_search(LUCB, instance, grid, seeds=[0], budgets=[10], progress=False)
