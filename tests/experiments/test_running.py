"""repeat: what rows it gives, that they are the same however they are run, and that they are true."""

from functools import partial

import joblib
import numpy as np
import pandas as pd
import pytest
from experiments.two_policies import POLICIES, instance

from pgcpe import CCPE, LUCB, AdmissibleSequence, SuccessiveRejects, do, expected_rewards
from pgcpe.experiments import read_rows, repeat
from pgcpe.experiments.running import _described, takes_budget

RUN_HERE: list[int] = []


def recorded(seed):
    """The instance of a seed, which is noted in the process that runs it."""
    RUN_HERE.append(seed)
    return instance(seed)


def run_here():
    return len(RUN_HERE)


class Alternating:
    """A policy by its four names alone: every arm in turn, the best mean."""

    def __init__(self, bandit, seed):
        self.arms, self.told = bandit.arms, {arm: [] for arm in bandit.arms}
        self.stopped = False

    @property
    def recommendation(self):
        return max(self.arms, key=lambda arm: np.mean(self.told[arm] or [0.0]))

    def ask(self):
        return [min(self.arms, key=lambda arm: len(self.told[arm]))] * 3

    def tell(self, actions, samples):
        for action, reward in zip(actions, samples.to_frame()["Y"], strict=True):
            self.told[action].append(float(reward))


@pytest.fixture
def file(tmp_path):
    return tmp_path / "rows.csv"


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
    assert (last["certificate"] == "direct").all()
    assert not lucb[lucb["budget"] == 50]["stopped"].any()


@pytest.mark.parametrize("make", [partial(LUCB, epsilon=0.1), partial(CCPE, epsilon=0.1)])
def test_each_row_is_a_run_of_its_own(make):
    """What a row says comes again from the policy alone, in one go, and from a call that asks for no other budget."""
    budgets = [50, 53, 60, 200]  # within an iteration of two or three plays, and at its end
    rows = repeat({"it": make}, instance, seeds=[5], budgets=budgets, progress=False)
    for budget, row in zip(budgets, rows.to_dict("records"), strict=True):
        bandit, environment = instance(5)
        rng = np.random.default_rng(np.random.SeedSequence(5, spawn_key=(0,)))
        alone = make(bandit, seed=rng)
        alone.run(environment, budget=budget, progress=False)
        assert (row["plays"], row["recommendation"]) == (alone.n_plays, str(alone.recommendation))
        single = repeat({"it": make}, instance, seeds=[5], budgets=[budget], progress=False)
        assert single.to_dict("records") == [row]


def test_cuts_break_iterations_off_whatever_the_budgets():
    class Told(Alternating):
        def tell(self, actions, samples):
            super().tell(actions, samples)
            TOLD.append(len(actions))

    for budgets, told in (([7, 20], [3, 2, 3, 3, 1, 3, 3, 2]), ([20], [3, 2, 3, 3, 1, 3, 3, 2]), ([7], [3, 2, 2])):
        TOLD.clear()
        repeat({"it": Told}, instance, seeds=[0], budgets=budgets, cuts=[5, 12], progress=False)
        assert sorted(TOLD) == sorted(told if len(budgets) < 2 else [*told, 2])


TOLD: list[int] = []


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
    assert rows["regret"].isna().all()
    assert rows["correct"].isna().all()


def test_the_copies_of_an_environment_do_not_disturb_each_other():
    alone = repeat({"LUCB": POLICIES["LUCB"]}, instance, seeds=[3], budgets=[40], progress=False)
    both = repeat({"SR": POLICIES["SR"], **POLICIES}, instance, seeds=[3], budgets=[40], progress=False)
    assert both[both["policy"] == "LUCB"].to_dict("records") == alone.to_dict("records")


def test_rows_say_what_was_run(rows):
    lucb, rejects = (rows[rows["policy"] == name].iloc[0] for name in POLICIES)
    assert (lucb["radius"], lucb["epsilon"], lucb["delta"]) == ("kt", 0.1, 0.05)
    assert (lucb["parameters"], rejects["parameters"]) == ("LUCB(epsilon=0.1)", "SuccessiveRejects()")
    ccpe = partial(CCPE, estimator=AdmissibleSequence("paper", 0.25), delta=0.1)
    named = repeat({"CCPE": ccpe}, instance, seeds=[0], budgets=[5], experiment="parallel", progress=False).iloc[0]
    assert named["experiment"] == "parallel"
    assert named["parameters"] == "CCPE(delta=0.1, estimator=AdmissibleSequence(alpha=0.25, radius='paper'))"
    assert named["radius"] == "kt, paper"


def test_each_policy_may_have_its_own_budgets():
    rows = repeat(POLICIES, instance, seeds=[0], budgets={"LUCB": [10, 30], "SR": [20]}, progress=False)
    assert list(zip(rows["policy"], rows["budget"], strict=True)) == [("LUCB", 10), ("LUCB", 30), ("SR", 20)]
    with pytest.raises(ValueError, match="budgets must name every policy, but lack SR"):
        repeat(POLICIES, instance, seeds=[0], budgets={"LUCB": [10]}, progress=False)


def test_parameters_as_text():
    grid = np.zeros(3_000)
    other = grid.copy()
    other[1_500] = 1e-12
    assert _described(partial(LUCB, w=grid)) != _described(partial(LUCB, w=other))
    assert _described(partial(LUCB, alpha=np.float64(0.1))) == _described(partial(LUCB, alpha=0.1))
    assert _described(partial(LUCB, a=object(), f=np.mean)) == "LUCB(a=<object object>, f=mean)"


def test_a_context_of_joblib_chooses_where(rows):
    with joblib.parallel_config("loky", n_jobs=2):
        again = repeat(POLICIES, instance, seeds=range(8), budgets=[50, 200, 3_000], progress=False)
    pd.testing.assert_frame_equal(again, rows)


@pytest.mark.slow
def test_a_dask_cluster_gives_the_rows_of_a_serial_run(rows):
    from dask.distributed import Client, LocalCluster

    workers = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**workers, silence_logs=50) as cluster, Client(cluster) as client:
        client.wait_for_workers(2)
        with joblib.parallel_config("dask"):
            again = repeat(POLICIES, recorded, seeds=range(8), budgets=[50, 200, 3_000], progress=False)
        here = client.run(run_here)
    assert sum(here.values()) == 8  # all seeds ran on the workers
    assert not RUN_HERE
    pd.testing.assert_frame_equal(again, rows)


def test_which_makers_want_a_budget():
    assert not takes_budget(LUCB)
    assert takes_budget(SuccessiveRejects)
    assert not takes_budget(partial(SuccessiveRejects, budget=30))
    assert takes_budget(lambda bandit, seed, budget: None)


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        ({"policies": {}}, ValueError, "there must be at least one policy"),
        ({"policies": {"a": 3}}, TypeError, "a must be callable"),
        ({"policies": {1: LUCB}}, ValueError, "must be named by a line of text, but got 1"),
        ({"policies": {"a\nb": LUCB}}, ValueError, "must be named by a line of text"),
        ({"experiment": None}, ValueError, "must be named by a line of text, but got None"),
        ({"policies": {"a": partial(LUCB, seed=3)}}, ValueError, "a must not fix its seed"),
        ({"policies": {"a": lambda bandit, seed: None}}, TypeError, "must make a policy, but made None"),
        ({"seeds": []}, ValueError, "seeds must be distinct and at least one"),
        ({"seeds": [0, 0]}, ValueError, "seeds must be distinct"),
        ({"seeds": [0, None]}, ValueError, "seeds must be integers from 0"),
        ({"seeds": [-1]}, ValueError, "seeds must be integers from 0"),
        ({"seeds": [2**63]}, ValueError, "seeds must be integers from 0"),
        ({"budgets": []}, ValueError, "budgets must be positive integers"),
        ({"budgets": [0, 5]}, ValueError, "budgets must be positive integers"),
        ({"budgets": [20.7]}, ValueError, "budgets must be positive integers"),
        ({"budgets": {"LUCB": "12", "SR": [7]}}, TypeError, "budgets must be a sequence of integers, but got '12'"),
        ({"budgets": 20}, TypeError, "budgets must be a sequence of integers, but got 20"),
    ],
)
def test_bad_arguments(bad, error, message):
    given = {"policies": POLICIES, "instance": instance, "seeds": [0], "budgets": [5], "progress": False} | bad
    with pytest.raises(error, match=message):
        repeat(**given)


def test_a_policy_that_was_told_of_plays_before():
    def informed(bandit, seed):
        policy = LUCB(bandit, epsilon=0.1, seed=seed)
        return policy.tell(do(), instance(9)[1].sample(do(), 30))

    rows = repeat({"informed": informed}, instance, seeds=[0], budgets=[20, 40], progress=False)
    assert rows["plays"].tolist() == [30, 40]


# ------------------------------------------------------------------------------------------------- policies of others


def test_a_policy_by_its_four_names(file):
    rows = repeat({"mine": Alternating}, instance, seeds=range(4), budgets=[30, 300], file=file, progress=False)
    assert rows["plays"].tolist() == [30, 300] * 4
    assert rows["cost"].tolist() == [30.0, 300.0] * 4
    assert rows[["epsilon", "delta"]].isna().all(axis=None)
    assert set(rows["radius"]) == set(rows["certificate"]) == {""}
    assert rows["conflicts"].sum() == 0
    assert not rows["stopped"].any()
    assert rows["correct"].sum() >= 4  # of 8; a guess among 5 arms is right in 1.6
    pd.testing.assert_frame_equal(read_rows(file), rows)
    assert list(repeat({"LUCB": LUCB}, instance, seeds=[0], budgets=[5], progress=False)) == list(rows)


def test_what_it_recommends_must_be_an_arm():
    class Elsewhere(Alternating):
        recommendation = do(X1=1, X2=1)

    with pytest.raises(ValueError, match=r"must recommend one of the arms, but Elsewhere did do\(X1=1, X2=1\)"):
        repeat({"mine": Elsewhere}, instance, seeds=[0], budgets=[30], progress=False)


class Endless(SuccessiveRejects):
    """Asks for more and never ends, whatever its budget."""

    stopped = False

    def ask(self, n=None):
        return [self.bandit.arms[0]] * 7


class Silent(LUCB):
    """Asks for nothing, and does not stop."""

    def ask(self, n=None):
        return [] if self.n_plays > 10 else super().ask(n)


def test_no_policy_plays_more_than_its_budget():
    policies = {"endless": Endless, "silent": Silent, "mine": Alternating}
    rows = repeat(policies, instance, seeds=[0, 1], budgets=[20, 50], progress=False)
    plays = rows.groupby("policy")["plays"].apply(list).to_dict()
    assert plays == {"endless": [20, 50] * 2, "mine": [20, 50] * 2, "silent": [12, 12] * 2}
