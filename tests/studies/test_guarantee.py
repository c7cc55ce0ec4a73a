"""The committed study of wrong answers: redrawn from its rows, and held to its bound; a small one is run anew."""

import pandas as pd
import pytest
from helpers import ROOT, benchmark
from scipy import stats

guarantee = benchmark("guarantee")
ROWS = guarantee.frame.read(ROOT / "data" / "results" / "guarantee.csv")


def test_the_rows_are_shown():
    assert guarantee.markdown(ROWS) in (ROOT / "docs" / "studies.md").read_text()


def test_two_hundred_runs_of_everything():
    assert set(ROWS.groupby(["instance", "policy"]).size()) == {200}
    assert set(ROWS["instance"]) == set(guarantee.INSTANCES)
    assert set(ROWS["policy"]) == set(guarantee.POLICIES)


def test_certificates_are_wrong_no_more_often_than_delta():
    """Of n runs, each certified and wrong with probability at most delta, more than the .999 quantile of
    binomial(n, delta) are so with probability below .001 for each of the ten combinations."""
    certified = ROWS["certificate"].isin(["direct", "exact"])
    policies = {"CCPE exact", "LUCB exact"}
    assert set(ROWS["policy"][certified]) == policies
    for _, runs in ROWS[ROWS["policy"].isin(policies)].groupby(["instance", "policy"]):
        assert (runs["wrong"] & certified[runs.index]).sum() <= stats.binom.ppf(0.999, len(runs), runs["delta"].iloc[0])
        assert (runs["regret"][certified[runs.index] & ~runs["wrong"]] <= runs["epsilon"].iloc[0] + 1e-9).all()


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["CCPE exact", "LUCB exact"])
def test_a_run_of_the_study_repeats(policy):
    """The rows are what the code gives: the first near ties, run again."""
    again = pd.DataFrame(guarantee.run("near tie", policy, [0, 1, 2], 0.05, 1_000_000))
    kept = ROWS[(ROWS["instance"] == "near tie") & (ROWS["policy"] == policy) & (ROWS["seed"] < 3)]
    columns = ["seed", "plays", "recommendation", "certificate", "wrong"]
    assert again[columns].values.tolist() == kept[columns].values.tolist()
