"""Stops and conflicts on right graphs where counts are rare or strata many: the committed rows, and some drawn anew."""

import math

import pandas as pd
import pytest
from helpers import ROOT, benchmark
from scipy import stats

from pgcpe.models.tilted_search import TiltedNull

audit = benchmark("audit")
ROWS = pd.read_csv(ROOT / "data" / "results" / "audit.csv")


def test_the_committed_rows():
    """Where errors have at most probability delta, those of n runs exceed the .999 quantile of binomial(n, delta) with
    probability below .001."""
    assert ROWS["case"].tolist() == list(audit.CASES)
    assert ROWS["runs"].tolist() == [min(300, case.most_runs) for case in audit.CASES.values()]
    most = stats.binom.ppf(0.999, ROWS["runs"], ROWS["delta"])
    assert (ROWS["wrong"] <= most).all()
    lacks_an_edge = ROWS["case"].str.startswith("without")
    assert (ROWS["conflicts"] <= most)[~lacks_an_edge].all()
    assert (ROWS["stopped"] == ROWS["runs"])[lacks_an_edge].all()
    numerical = ROWS.set_index("case").loc["numerical, products"]
    assert numerical["stopped"] > 0
    assert numerical["wrong"] == 0  # no chance enters: what is bet is given


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
def test_another_search_finds_as_little_and_no_less(seed):
    """Of effects that are products, by the logit and the identity."""
    _, null = audit.products(seed)
    least, _ = null.least(-math.inf)
    assert not audit.refuted(null, least - 0.05, seed)
    assert audit.refuted(null, least + 0.05, seed)


@pytest.mark.parametrize("seed", [30])
def test_what_a_search_in_one_lobe_trusts_is_refuted(seed, monkeypatch):
    """An effect that is a product is large where both factors are, of either sign. A search from the point nearest to
    the fit and one confirmation miss the second lobe of these, of which both ends are searched."""
    _, null = audit.products(seed)
    with monkeypatch.context() as patched:
        patched.setattr(TiltedNull, "_lobes", lambda self, radius: [])
        one, _ = null.least(-math.inf)
    assert audit.refuted(null, one - 0.05, seed)
    least, _ = null.least(-math.inf)
    assert least < one - 0.05
    assert not audit.refuted(null, least - 0.05, seed)
