"""The committed study of recommendations by shrunk tables: shown as it is, what it is to show, and the same anew."""

import numpy as np
import pandas as pd
import pytest
from helpers import ROOT, benchmark

study = benchmark("shrinkage")
ROWS = pd.read_csv(ROOT / "data" / "results" / "shrinkage.csv.gz")
OURS = "additive and pairs"


def test_the_table_shown_is_that_of_the_rows():
    assert study.markdown(ROWS) in (ROOT / "benchmarks" / "README.md").read_text()


def test_the_package_recommends_by_the_shares_called_its_own():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 9, (12, 2)).astype(np.float64)
    whole = study.drawn_shares(counts, study.Interactions.of((2, 3, 2)))
    np.testing.assert_array_equal(study.ESTIMATES[OURS](counts, (2, 3, 2)), whole)


@pytest.mark.parametrize("other", ["plain", "additive, charged"])
def test_it_errs_less_than_what_was_before_and_than_plain_rows(other):
    """Over all questions and numbers of plays; runs are paired, and the mean difference is more than three of its
    standard errors, runs of a question being alike in nothing but the question."""
    wrong = ROWS.assign(wrong=ROWS["regret"] > 1e-9).pivot_table("wrong", ["experiment", "seed", "plays"], "estimate")
    fewer = (wrong[other] - wrong[OURS]).groupby(["experiment", "seed"]).mean()
    assert fewer.mean() > 3.0 * fewer.std() / np.sqrt(len(fewer))


@pytest.mark.parametrize("name", ["Experiment 2", study.RANDOM])
def test_rows_come_again(name):
    seed = int(ROWS.loc[ROWS["experiment"] == name, "seed"].iloc[0])
    kept = ROWS[(ROWS["experiment"] == name) & (ROWS["seed"] == seed)].reset_index(drop=True)
    pd.testing.assert_frame_equal(pd.DataFrame(study.run(name, seed)), kept)
