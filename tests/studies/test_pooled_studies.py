"""The committed studies of `PooledCCPE`: shown as they are, within their bounds, and the same when run again."""

import pandas as pd
import pytest
from helpers import ROOT, benchmark
from scipy import stats

from pgcpe.experiments import read_rows

RESULTS = ROOT / "data" / "results"
SHOWN = (ROOT / "benchmarks" / "README.md").read_text()

stops = benchmark("stops")
wrong_answers = benchmark("wrong_answers")
STOPS = read_rows(RESULTS / "stops.csv.gz")
WRONG = pd.read_csv(RESULTS / "wrong_answers.csv.gz", keep_default_na=False)


def test_the_tables_shown_are_those_of_the_rows():
    assert stops.markdown(STOPS) in SHOWN
    assert stops.summary(STOPS) in (ROOT / "docs" / "studies.md").read_text()
    assert wrong_answers.markdown(WRONG) in SHOWN


def test_every_policy_on_every_experiment():
    for name in stops.QUESTIONS:
        mine = STOPS[STOPS["experiment"] == name]
        for group, runs in stops.RUNS.items():
            for policy in stops.GROUPS[group](name):
                assert sorted(mine["seed"][mine["policy"] == policy]) == list(range(runs))


def test_stops_with_a_certificate_are_wrong_no_more_often_than_delta():
    """Of n runs more than the .999 quantile of binomial(n, .05) are certified and wrong with probability below .001."""
    certified = STOPS["certificate"].isin(["direct", "exact", "numerical", "asymptotic"])
    for _, runs in STOPS.groupby(["experiment", "policy"]):
        assert (certified[runs.index] & ~runs["correct"]).sum() <= stats.binom.ppf(0.999, len(runs), stops.DELTA)


def test_pooling_stops_earlier_than_everything_with_the_same_guarantee():
    """Of the bootstrap intervals of the medians, those of the exact policies lie above that of the pooled one."""
    table = stops.table(STOPS).set_index(["experiment", "policy"])
    for name in ("Experiment 2", "Experiment 3, n = 8"):
        for other in ("LUCB, KT", "KL-LUCB", "top-two, GLR"):
            assert table.loc[(name, "PooledCCPE, exact"), "high"] < table.loc[(name, other), "low"]


@pytest.mark.slow
@pytest.mark.parametrize("group", ["exact", "asymptotic"])
def test_a_run_to_the_stop_repeats(group):
    name = "Experiment 3, n = 5"
    policies = getattr(stops, group)(name)
    again = stops.run(name, policies, 1, 1)
    kept = STOPS[(STOPS["experiment"] == name) & (STOPS["seed"] == 0) & STOPS["policy"].isin(policies)]
    pd.testing.assert_frame_equal(again, kept.reset_index(drop=True), check_dtype=False)


def test_all_networks_and_all_policies():
    for study, (networks, _, policies, _) in wrong_answers.STUDIES.items():
        for policy in policies:
            seeds = WRONG["seed"][(WRONG["study"] == study) & (WRONG["policy"] == policy)]
            assert sorted(seeds) == list(range(networks))
    for rows in wrong_answers.HOSTILE_ROWS:
        assert (WRONG["policy"] == f"asymptotic, {rows} rows").sum() == wrong_answers.HOSTILE_RUNS


def test_certificates_are_wrong_no_more_often_than_delta():
    """Of n runs, each wrong with probability at most .1, more than the .999 quantile of binomial(n, .1) are wrong with
    probability below .001. Exact for right graphs; for the asymptotic rule it is a measurement."""
    for study in ("random networks", "near ties", "eighty arms, one apart"):
        for policy in wrong_answers.SOUND:
            runs = WRONG[(WRONG["study"] == study) & (WRONG["policy"] == policy)]
            assert runs["wrong"].sum() <= stats.binom.ppf(0.999, len(runs), wrong_answers.DELTA)


def test_a_wrong_graph_does_direct_certificates_no_harm():
    runs = WRONG[(WRONG["study"] == "wrong graphs") & (WRONG["policy"] == wrong_answers.DIRECT)]
    assert runs["wrong"].sum() <= stats.binom.ppf(0.999, len(runs), wrong_answers.DELTA)


@pytest.mark.slow
@pytest.mark.parametrize("study", list(wrong_answers.STUDIES))
@pytest.mark.filterwarnings("ignore:the graph is in doubt")
def test_a_run_of_the_study_repeats(study):
    again = pd.DataFrame(wrong_answers.run(study, 0))
    kept = WRONG[(WRONG["study"] == study) & (WRONG["seed"] == 0)]
    pd.testing.assert_frame_equal(again, kept.reset_index(drop=True), check_dtype=False)


@pytest.mark.slow
def test_a_run_of_the_hostile_sampler_repeats():
    again = wrong_answers.hostile(4, 0)
    kept = WRONG[(WRONG["policy"] == again["policy"]) & (WRONG["seed"] == 0)].iloc[0]
    assert (again["plays"], again["wrong"], again["certificate"]) == (kept["plays"], kept["wrong"], kept["certificate"])
