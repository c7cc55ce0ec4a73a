"""The evidence against the truth: the committed rows hold, and one is drawn anew."""

import numpy as np
import pandas as pd
import pytest
from helpers import ROOT, benchmark
from scipy import stats

tilted, frame = benchmark("tilted"), benchmark("frame")
ROWS = frame.read(ROOT / "data" / "results" / "tilted.csv")


def test_the_evidence_against_the_truth_is_hardly_ever_large():
    """If it is with probability at most a, more than the .9999 quantile of binomial(100, a) runs of each model see it
    with probability below 1e-4."""
    assert ROWS.groupby("model").size().to_dict() == dict.fromkeys(tilted.models(), 100)
    for _, mine in ROWS.groupby("model"):
        for level in tilted.LEVELS:
            assert (mine["largest"] >= -np.log(level)).sum() <= stats.binom.ppf(0.9999, 100, level)
    # and bets do win there: it is no process that stays at 1
    assert (ROWS["largest"] > 0.5).mean() > 0.1
    assert tilted.markdown(ROWS) in (ROOT / "benchmarks" / "README.md").read_text()


def test_a_row_is_drawn_anew():
    first = ROWS[ROWS["model"] == "three ties"].iloc[0]
    assert tilted.largest("three ties", int(first["seed"])) == pytest.approx(first["largest"], abs=1e-6)


def test_the_table_counts_runs():
    rows = pd.DataFrame({"model": "a", "seed": range(4), "largest": [0.0, 1.3, 2.5, 3.1]})
    assert tilted.table(rows)[["at 0.05", "at 0.1", "at 0.3"]].to_numpy().tolist() == [[0.25, 0.5, 0.75]]
