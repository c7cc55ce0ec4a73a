"""The committed studies of files of studies: shown as they are, and what they are to show."""

import pytest
from helpers import ROOT, benchmark

RESULTS = ROOT / "data" / "results"
SHOWN = (ROOT / "benchmarks" / "README.md").read_text()


@pytest.mark.parametrize("name", ["study_kill", "study_size", "study_batches"])
def test_the_tables_shown_are_those_of_the_rows(name):
    module = benchmark(name)
    rows = module.pd.read_csv(RESULTS / f"{name}.csv")
    assert module.as_markdown(module.table(rows)) in SHOWN


def test_no_play_was_lost_or_doubled_at_two_hundred_moments():
    rows = benchmark("study_kill").pd.read_csv(RESULTS / "study_kill.csv")
    assert len(rows) == 200
    assert (rows[["lost", "doubled", "wrong"]] == 0).all(axis=None)
    assert (rows["file"] == "ok").all()
    assert rows["same"].all()


@pytest.mark.slow
def test_no_play_is_lost_or_doubled_at_ten_moments():
    rows, end = benchmark("study_kill").run(10, seed=1)
    assert (rows[["lost", "doubled"]] == 0).all(axis=None)
    assert (rows["file"] == "ok").all()
    assert end["wrong"] == 0
    assert end["same"]
    assert end["plays"] > 0


def test_replayed_in_large_batches_the_policy_is_where_it_was_told_live():
    rows = benchmark("study_size").pd.read_csv(RESULTS / "study_size.csv")
    assert rows["plays"].max() == 100_000
    assert rows["same"].all()


@pytest.mark.slow
def test_a_run_of_the_batches_repeats():
    module = benchmark("study_batches")
    rows = module.pd.read_csv(RESULTS / "study_batches.csv")
    again = module.late("Experiment 3", "asymptotic", 100, "pending counted", 0)
    kept = rows[(rows["question"] == "Experiment 3") & (rows["guarantee"] == "asymptotic") & (rows["seed"] == 0)]
    (kept,) = kept[(kept["batch"] == 100) & (kept["way"] == "pending counted")].to_dict("records")
    assert kept == again


def test_what_is_pending_counts_and_no_certified_answer_is_wrong_more_often_than_delta():
    """In large batches, both rules and questions together, fewer plays are asked for where pending ones count."""
    module = benchmark("study_batches")
    rows = module.pd.read_csv(RESULTS / "study_batches.csv")
    large = rows[rows["batch"] >= 20]
    means = large.groupby("way")["asked"].mean()
    assert means["pending counted"] < means["blind"]
    exact = rows[rows["guarantee"] == "exact"]
    assert exact["stopped"].all()
    assert exact["wrong"].sum() == 0
