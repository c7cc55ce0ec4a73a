"""repeat and plan: what rows they give, that they are the same however they are run, and that they are true."""

import numpy as np
import pandas as pd
import pytest

from pgcpe import CCPE, LUCB, SimulatedEnvironment, SuccessiveRejects, expected_rewards
from pgcpe.experiments import plan, repeat, summarise, takes_budget
from pgcpe.paper import experiment_2, parallel

POLICIES = {
    "LUCB": lambda bandit, rng: LUCB(bandit, epsilon=0.1, seed=rng),
    "SR": lambda bandit, rng, budget: SuccessiveRejects(bandit, budget=budget, seed=rng),
}


def instance(seed):
    question = parallel([0.5, 0.4], [0.4, 0.1], 0.2)
    return question.bandit, question.environment(seed)


@pytest.fixture(scope="module")
def rows():
    return repeat(POLICIES, instance, seeds=range(8), budgets=[200, 50, 3_000], progress=False)


def test_one_row_for_each_seed_policy_and_budget(rows):
    assert len(rows) == 8 * 2 * 3
    assert rows.groupby(["seed", "policy"])["budget"].apply(list).tolist() == [[50, 200, 3_000]] * 16
    assert (rows["plays"] <= rows["budget"]).all()
    assert rows["seed"].is_monotonic_increasing
    assert set(rows["arms"]) == {5}


def test_a_policy_that_stopped_stays_as_it_is(rows):
    lucb = rows[rows["policy"] == "LUCB"]
    last = lucb[lucb["budget"] == 3_000]
    assert last["stopped"].all()
    assert (last["plays"] < 3_000).all()
    assert (last["certificate"] == "exact").all()
    assert not lucb[lucb["budget"] == 50]["stopped"].any()


def test_each_row_is_a_run_of_its_own(rows):
    """What a row says comes again from the policy alone, in one go."""
    for budget in (50, 200):
        bandit, environment = instance(5)
        rng = np.random.default_rng(np.random.SeedSequence(5, spawn_key=(0,)))
        alone = LUCB(bandit, epsilon=0.1, seed=rng)
        alone.run(environment, budget=budget, progress=False)
        row = rows[(rows["seed"] == 5) & (rows["policy"] == "LUCB") & (rows["budget"] == budget)].iloc[0]
        assert (row["plays"], row["recommendation"]) == (alone.n_plays, str(alone.recommendation))


def test_regret_is_measured_by_the_truth(rows):
    bandit, environment = instance(0)
    truth = expected_rewards(environment.network, bandit, progress=False)
    worth = {str(arm): mu for arm, mu in truth.items()}
    for row in rows.itertuples():
        assert row.regret == pytest.approx(truth.max() - worth[row.recommendation], abs=1e-8)
        assert row.correct == (row.regret < 1e-8)


def test_parallel_runs_give_the_same_rows(rows):
    again = repeat(POLICIES, instance, seeds=range(8), budgets=[50, 200, 3_000], n_jobs=2, progress=False)
    pd.testing.assert_frame_equal(again, rows)


def test_an_environment_that_does_not_know_the_truth():
    class Laboratory:
        def __init__(self, seed):
            self.real = instance(seed)[1]

        def perform(self, actions):
            return self.real.perform(actions).to_frame()

    rows = repeat(POLICIES, lambda seed: (instance(seed)[0], Laboratory(seed)), seeds=[0], budgets=[20], progress=False)
    assert len(rows) == 2
    assert "correct" not in rows


def test_the_copies_of_an_environment_do_not_disturb_each_other():
    alone = repeat({"LUCB": POLICIES["LUCB"]}, instance, seeds=[3], budgets=[40], progress=False)
    both = repeat({"SR": POLICIES["SR"], **POLICIES}, instance, seeds=[3], budgets=[40], progress=False)
    assert both[both["policy"] == "LUCB"].to_dict("records") == alone.to_dict("records")


def test_which_makers_want_a_budget():
    assert not takes_budget(lambda bandit, rng: None)
    assert takes_budget(lambda bandit, rng, budget: None)
    assert not takes_budget(lambda bandit, rng, *, epsilon=0: None)


def test_a_summary_counts():
    rows = pd.DataFrame(
        {
            "policy": ["A"] * 4,
            "budget": [10] * 4,
            "plays": [4, 10, 10, 10],
            "stopped": [True, True, False, False],
            "correct": [True, False, False, True],
        }
    )
    summed = summarise(rows).iloc[0]
    assert (summed["runs"], summed["error"], summed["stopped"], summed["wrong"]) == (4, 0.5, 0.5, 1)
    assert summed["error_low"] == pytest.approx(0.15, abs=0.005)  # Wilson's interval for 2 of 4
    assert summed["error_high"] == pytest.approx(0.85, abs=0.005)
    assert (summed["plays_low"], summed["plays"]) == (8.5, 10)


@pytest.mark.parametrize(
    "bad", [{"seeds": []}, {"budgets": []}, {"budgets": [0, 5]}, {"policies": {}}], ids=lambda bad: next(iter(bad))
)
def test_nothing_to_do_is_an_error(bad):
    given = {"policies": POLICIES, "instance": instance, "seeds": [0], "budgets": [5], "progress": False} | bad
    with pytest.raises(ValueError, match="there must be policies, seeds and positive budgets"):
        repeat(**given)


def test_a_plan_is_what_happens():
    """Planned from 30 studies, performed in 30 others on the same truth: the medians of such small samples of one
    distribution differ by less than a third here (quartiles .8 and 1.25 of the median, as measured)."""
    question = experiment_2(0)
    planned = plan(
        question.bandit, question.network, policies={"LUCB": LUCB}, epsilon=0.2, runs=30, progress=False
    ).iloc[0]
    plays = []
    for seed in range(100, 130):
        policy = LUCB(question.bandit, epsilon=0.2, seed=seed)
        policy.run(SimulatedEnvironment(question.network, seed=seed), progress=False)
        plays.append(policy.n_plays)
    assert np.median(plays) == pytest.approx(planned.plays, rel=1 / 3)
    assert planned.plays_low <= planned.plays <= planned.plays_high
    assert (planned.stopped, planned.wrong, planned.cost) == (1.0, 0.0, planned.plays)


def test_a_plan_that_cannot_be_afforded_says_so():
    question = experiment_2(0)
    table = plan(
        question.bandit,
        question.network,
        policies={"LUCB": LUCB, "CCPE": CCPE},
        epsilon=0.0,
        runs=2,
        budget=100,
        progress=False,
    )
    assert table["stopped"].tolist() == [0, 0]
    assert table["plays"].tolist() == [100, 100]
