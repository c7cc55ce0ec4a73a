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


def test_members_in_turn_leave_few_wrong_certificates_by_a_wrong_graph():
    """At most .05 of the exact ones, by an even chance: no more than the median of binomial(n, .05); without, more."""
    wrong = POLICY[POLICY["kind"].isin(["missing", "reversed"]) & (POLICY["certificate"] == "exact")]
    by = wrong.groupby("policy")["wrong"].agg(["size", "sum"])
    n, k = by.loc["exact, graph tested, members 20"]
    assert k <= stats.binom.ppf(0.5, n, 0.05)
    n, k = by.loc["exact"]
    assert k > stats.binom.ppf(0.5, n, 0.05)


@pytest.mark.slow
def test_runs_of_a_policy_are_repeated_to_the_same():
    again = pd.DataFrame(study.run_policy("missing", 0)).astype(str)
    kept = POLICY[(POLICY["kind"] == "missing") & (POLICY["seed"] == 0)].astype(str)
    pd.testing.assert_frame_equal(again, kept.reset_index(drop=True))


def test_what_another_package_says_of_the_same_logs():
    """The table shown is that of the rows; of right graphs it may falsify .05."""
    other = benchmark("graph_dowhy")
    rows = other.frame.read(RESULTS / "graph_dowhy.csv")
    assert other.markdown(rows) in SHOWN
    right = rows[rows["kind"].isin(RIGHT) & (rows["plays"] == 2000)]
    assert right["falsified"].sum() <= stats.binom.ppf(0.999, len(right), 0.05)


def test_the_test_takes_less_than_a_fifth_of_a_study():
    cost = benchmark("graph_cost")
    rows = cost.frame.read(RESULTS / "graph_cost.csv")
    assert cost.markdown(rows) in SHOWN
    longest = rows[rows["study"] == "cpu"].groupby("question").tail(1)
    assert (pd.to_numeric(longest["test_us"]) <= 0.2 * pd.to_numeric(longest["us"])).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(study.NETWORKS))
def test_a_log_is_checked_again_to_the_same(kind):
    again = pd.DataFrame([{**row, "pgmpy": ""} for row in study.run_logs(kind, 0)])
    kept = LOGS[(LOGS["kind"] == kind) & (LOGS["seed"] == 0)].assign(pgmpy="")
    pd.testing.assert_frame_equal(again, kept.reset_index(drop=True), check_dtype=False)
