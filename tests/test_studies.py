"""The committed studies of all policies: shown as they are, complete, and the same when run again."""

import pandas as pd
import pytest
from helpers import ROOT, benchmark
from scipy import stats

RESULTS = ROOT / "data" / "results"
SHOWN = (ROOT / "benchmarks" / "README.md").read_text()


@pytest.mark.parametrize(
    ("name", "file"),
    [("experiment_2", "experiment_2.csv.gz"), ("baselines", "baselines.csv.gz"), ("planned", "planned.csv")],
)
def test_the_tables_shown_are_those_of_the_rows(name, file):
    module = benchmark(name)
    assert module.markdown(module.frame.read(RESULTS / file)) in SHOWN


def baselines():
    module = benchmark("baselines")
    return module, module.frame.read(RESULTS / "baselines.csv.gz")


def test_every_policy_on_every_instance_it_is_for():
    module, rows = baselines()
    for name in module.INSTANCES:
        mine = rows[rows["instance"] == name]
        assert set(mine["policy"]) == {*module.STOPPING, *module.BUDGETED} - module.NOT_FOR[name]
        assert mine.groupby("policy")["seed"].nunique().nunique() == 1
    assert (rows["plays"] <= rows["budget"]).all()


def test_certified_answers_are_wrong_no_more_often_than_delta():
    """More than the .999 quantile of binomial(n, .05) of n certified runs are wrong with probability below .001."""
    module, rows = baselines()
    stopped = rows[(rows["budget"] == module.BROKEN_OFF) & rows["stopped"] & (rows["certificate"] == "exact")]
    assert len(stopped) > 0
    for _, runs in stopped.groupby(["instance", "policy"]):
        assert (~runs["correct"]).sum() <= stats.binom.ppf(0.999, len(runs), module.DELTA)


@pytest.mark.parametrize("policies", ["STOPPING", "BUDGETED"])
def test_a_run_of_the_study_repeats(policies):
    module, rows = baselines()
    chosen = {name: make for name, make in getattr(module, policies).items() if name not in module.NOT_FOR["hidden"]}
    again = module.run("hidden", chosen, range(1), 1)
    kept = rows[(rows["instance"] == "hidden") & (rows["seed"] == 0) & rows["policy"].isin(chosen)]
    pd.testing.assert_frame_equal(again.reset_index(drop=True), kept.reset_index(drop=True), check_dtype=False)
