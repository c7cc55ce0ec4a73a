"""Coverage of the intervals of a measured reward: the committed rows, and a small version anew."""

import pandas as pd
import pytest
from helpers import ROOT, benchmark
from scipy import stats

ROWS = ROOT / "data" / "results" / "coverage_measured.csv"


def test_the_committed_rows():
    """If a path fails with probability at most .1, more than the .9999 quantile of binomial(500, .1) of 500 do in none
    of 27 rows, but with probability below .003."""
    module, rows = benchmark("coverage_measured"), pd.read_csv(ROWS)
    assert len(rows) == len(module.MODELS) * len(module.NOISES) * len(module.ESTIMATORS)
    assert (rows["paths"] == 500).all()
    assert (rows["failed"] <= stats.binom.ppf(0.9999, 500, rows["nominal"])).all()
    width = rows.pivot_table(index=["model", "intervals"], columns="reward", values="width")
    assert (width.to_numpy() < module.RANGE[1] - module.RANGE[0]).all()


def test_the_table_shown_is_that_of_the_rows():
    module = benchmark("coverage_measured")
    assert module.markdown(pd.read_csv(ROWS)) in (ROOT / "benchmarks" / "README.md").read_text()


@pytest.mark.parametrize("model", ["cancer", "two visits"])
def test_thirty_paths_repeat(model):
    """A reward at one of the two ends, which varies most; the paths of the rows begin with these."""
    module, rows = benchmark("coverage_measured"), pd.read_csv(ROWS)
    small = module.row(model, "two ends", "own plays", 30, 0)
    kept = rows[(rows["model"] == model) & (rows["reward"] == "two ends") & (rows["intervals"] == "own plays")]
    assert small["failed"] <= min(stats.binom.ppf(0.9999, 30, 0.1), kept["failed"].item())
    assert small["arms"] == kept["arms"].item()
