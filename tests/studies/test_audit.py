"""Stops and conflicts on right graphs where counts are rare or strata many: the committed rows, and some drawn anew."""

import pandas as pd
import pytest
from helpers import ROOT, benchmark
from scipy import stats

audit = benchmark("audit")
ROWS = pd.read_csv(ROOT / "data" / "results" / "audit.csv")


def test_the_committed_rows():
    """Where errors have at most probability delta, those of n runs exceed the .999 quantile of binomial(n, delta) with
    probability below .001."""
    assert ROWS["case"].tolist() == list(audit.CASES)
    assert ROWS["runs"].tolist() == [min(300, case.most_runs) for case in audit.CASES.values()]
    most = stats.binom.ppf(0.999, ROWS["runs"], ROWS["delta"])
    assert (ROWS["wrong"] <= most).all()
    assert (ROWS["conflicts"] <= most).all()
    numerical = ROWS.set_index("case").loc["numerical, products"]
    assert numerical["stopped"] > 0
    assert numerical["wrong"] == 0  # no chance enters: the region is given


@pytest.mark.slow
@pytest.mark.parametrize("name", ["256 strata", "128 strata, conflicts"])
def test_a_few_runs_drawn_anew(name):
    """Half a count a cell made all of the first wrong, and found conflicts in six of ten of the second; of five runs
    two errors have a probability below 10 delta^2 = .025, and the seeds are fixed."""
    found = pd.DataFrame([audit.run(name, seed) for seed in range(5)])
    assert found["wrong"].sum() <= 1
    assert found["conflicts"].sum() <= 1


@pytest.mark.slow
def test_drawn_questions():
    """Of 12 of them 4 errors have a probability below .003 at delta = .05."""
    found = pd.DataFrame([audit.run("drawn strata", seed) for seed in range(12)])
    assert found["wrong"].sum() <= 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 6])
def test_another_search_finds_as_much_and_no_more(seed):
    """Of effects that are products, by the logit and the identity."""
    leader, region, largest = audit.searched(audit.products(seed), 0.05)
    assert not audit.refuted(region, leader, largest + 1e-3, seed)
    assert audit.refuted(region, leader, largest - 1e-3, seed)
