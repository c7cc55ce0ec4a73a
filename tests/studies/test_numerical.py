"""Plays to stop of the numerical rule: the committed rows make the table, and some are played anew."""

import pytest
from helpers import ROOT, benchmark

numerical, stops, frame = benchmark("numerical"), benchmark("stops"), benchmark("frame")
ROWS = frame.read(ROOT / "data" / "results" / "numerical.csv")


def test_the_committed_rows_make_the_table():
    sizes = ROWS.groupby(["experiment", "policy"]).size().to_dict()
    (policy,) = numerical.NUMERICAL
    expected = {(name, policy): runs for name, runs in numerical.RUNS.items()}
    for name in numerical.SHIPPED:
        for epsilon in numerical.EPSILONS:
            beside = numerical.beside(epsilon)
            expected |= {(f"{name}, epsilon = {epsilon:g}", one): numerical.RUNS_OF_SHIPPED for one in beside}
    assert sizes == expected
    assert numerical.markdown(ROWS) in (ROOT / "benchmarks" / "README.md").read_text()


def test_no_stop_was_for_an_arm_that_is_worse_by_more_than_epsilon():
    """80 runs of each guarantee at epsilon .05 or .1 and 50 at 0: at delta = .05 four of 80 would be no surprise."""
    assert (ROWS["regret"] <= ROWS["epsilon"] + 1e-9).all()


def test_a_row_is_played_anew():
    name = next(iter(numerical.RUNS))
    again = stops.run(name, numerical.NUMERICAL, 1, 1, first_seed=numerical.FIRST_SEED).iloc[0]
    first = ROWS[ROWS["experiment"] == name].iloc[0]
    assert (again["plays"], again["recommendation"]) == (first["plays"], first["recommendation"])
    assert (again["certificate"], first["certificate"]) == ("numerical", "numerical")


@pytest.mark.slow
def test_rows_of_cancer_are_played_anew():
    again = numerical.run_shipped("cancer", 0.1, 1, 1).set_index("policy")
    rows = ROWS[(ROWS["experiment"] == "cancer, epsilon = 0.1") & (ROWS["seed"] == 0)].set_index("policy")
    assert again["plays"].to_dict() == rows["plays"].to_dict()
