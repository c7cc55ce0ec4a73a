"""The committed study of what plays refute of graphs: shown as it is, within its bounds, the same when run again."""

import pandas as pd
import pytest
from helpers import ROOT, benchmark
from scipy import stats

RESULTS = ROOT / "data" / "results"
SHOWN = (ROOT / "benchmarks" / "README.md").read_text()

study = benchmark("graph_check")
LOGS = study.frame.read(RESULTS / "graph_check.csv.gz")
POLICY = study.frame.read(RESULTS / "graph_policy.csv.gz")
RIGHT = ["right", "superfluous"]


def test_the_tables_shown_are_those_of_the_rows():
    assert study.markdown("logs", LOGS) in SHOWN
    assert study.markdown("policy", POLICY) in SHOWN


def test_right_graphs_are_refuted_no_more_often_than_the_level():
    """Of n logs more than the .999 quantile of binomial(n, .05) with probability below .001; e-values at any time."""
    for _, some in LOGS[LOGS["kind"].isin(RIGHT)].groupby("log"):
        refuted = some.groupby(["kind", "seed"])["refuted"].any()
        assert refuted.sum() <= stats.binom.ppf(0.999, len(refuted), study.LEVEL)


def test_evidence_grows_with_the_plays():
    for _, some in LOGS[LOGS["kind"].isin(["missing", "reversed"])].groupby(["kind", "log"]):
        shares = some.groupby("plays")["refuted"].mean()
        assert shares.is_monotonic_increasing
        assert shares.iloc[-1] > 0.5


def test_certificates_on_right_graphs_are_wrong_no_more_often_than_delta():
    for _, some in POLICY[POLICY["kind"].isin(RIGHT)].groupby("policy"):
        assert some["wrong"].sum() <= stats.binom.ppf(0.999, len(some), study.DELTA)
        assert some["refuted"].sum() <= stats.binom.ppf(0.999, len(some), study.DELTA * 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(study.NETWORKS))
def test_a_log_is_checked_again_to_the_same(kind):
    again = pd.DataFrame([{**row, "pgmpy": ""} for row in study.run_logs(kind, 0)])
    kept = LOGS[(LOGS["kind"] == kind) & (LOGS["seed"] == 0)].assign(pgmpy="")
    pd.testing.assert_frame_equal(again, kept.reset_index(drop=True), check_dtype=False)
