"""Coverage of the exact estimators: a small version of benchmarks/coverage.py, and the rows of the large one."""

import importlib.util
from pathlib import Path

import pandas as pd
import pytest
from scipy import stats

ROOT = Path(__file__).parent.parent.parent
spec = importlib.util.spec_from_file_location("coverage", ROOT / "benchmarks" / "coverage.py")
coverage = importlib.util.module_from_spec(spec)
spec.loader.exec_module(coverage)

EXACT = ["observation, lr", "pooled trees, lr", "direct, kt"]


@pytest.mark.slow
def test_a_hundred_paths():
    """If an interval fails with probability at most .1, the failures of 100 paths exceed the .9999 quantile of
    binomial(100, .1), 22, with probability below 1e-4, for each of nine rows."""
    for name in EXACT:
        plays = 100 if name.startswith("pooled") else 300  # these are worked out anew, for all arms, at every play
        rows = coverage.study(100, plays, 0.1, 50_000, {name: coverage.ESTIMATORS[name]})
        assert rows["failed"].max() <= stats.binom.ppf(0.9999, 100, 0.1)


def test_the_committed_rows():
    rows = pd.read_csv(ROOT / "data" / "results" / "coverage.csv")
    assert set(rows["model"]) == set(coverage.models())
    assert set(rows["estimator"]) == set(coverage.ESTIMATORS)
    assert (rows["paths"].min(), rows["plays"].min()) == (1000, 1000)
    exact = rows[rows["estimator"].isin(EXACT)]
    assert (exact["failed"] <= stats.binom.ppf(0.9999, 1000, exact["nominal"])).all()
