"""The parallel bandit by hand: observe, then play what is rare."""

import pytest
from helpers import dag

from pgcpe import CausalBandit, ParallelBandit, do, interventions

PARALLEL = dag([("X1", "Y"), ("X2", "Y"), ("X3", "Y")])


def question(graph, size=1):
    return CausalBandit(graph, reward="Y", arms=interventions(graph, reward="Y", size=size))


def observed():
    """X1 is 1 in one of ten rows, X2 in five and X3 in four; Y = X2."""
    return [{"X1": int(i == 0), "X2": i % 2, "X3": int(i < 4), "Y": i % 2} for i in range(10)]


def test_the_parallel_bandit_by_hand():
    """q = 1, .9, .1, .5, .5, .6, .4: two arms are below 1/2, so m = 2, and those of q at most 1/2 are played."""
    policy = ParallelBandit(question(PARALLEL), budget=20, seed=1)
    assert policy.ask() == [do()] * 10
    policy.tell(do(), observed())
    asked = policy.ask()
    assert len(asked) == 10
    assert set(asked) == {do(X1=1), do(X2=0), do(X2=1), do(X3=1)}
    assert sorted(map(asked.count, set(asked))) == [2, 2, 3, 3]
    policy.tell(asked, [{"X1": 0, "X2": 0, "X3": 0, "Y": 0} | dict(a) | {"Y": int("X3" in a)} for a in asked])
    assert policy.stopped
    assert policy.recommendation == do(X3=1)  # by its own plays
    estimates = dict(zip(policy.bandit.arms, policy.state.estimates, strict=True))
    assert estimates[do(X1=0)] == pytest.approx(5 / 9)  # observed
    assert estimates[do(X2=1)] == 0  # played, though observed 5 of 5
    assert estimates[do()] == 0.5
    assert policy.n_plays == 20


def test_where_no_arm_is_rare_observation_goes_on():
    """q = 1 and six arms near one half, all below: m = 3, and none is below 1/3."""
    rows = [{"X1": int(i % 9 < 4), "X2": int(i % 9 > 3), "X3": int(2 < i % 9 < 7), "Y": i % 2} for i in range(9)]
    policy = ParallelBandit(question(PARALLEL), budget=18, seed=1).tell(do(), rows)
    assert policy.ask() == [do()] * 9
    policy.tell(do(), rows)
    assert policy.stopped
