"""The sampling rules that weigh what a play adds."""

import copy
import math

import numpy as np
import pytest
from helpers import dag
from policies.confounded import ARMS, Fixed, Open, environment, question, state, told

from pgcpe import CausalBandit, PooledCCPE, do
from pgcpe.paper import experiment_3
from pgcpe.policies.rules.variance_reduction import GreatestProgress, HighestChallenger, ObserveLeaderAndOpen


@pytest.mark.parametrize("sampling", ["cycle", "progress", "index"])
def test_asked_twice_the_answer_is_the_same_and_nothing_changes(sampling):
    policy = PooledCCPE(question(), sampling=sampling)
    told(policy, [do(), *ARMS] * 20 + policy.ask())
    before, shown = copy.deepcopy(policy.state), policy.intervals.upper
    first = policy.ask()
    for _ in range(3):
        assert policy.ask() == first
        assert policy._sampling.choose(policy.state) == first
        assert not policy._stopping.check(policy.state).stop
    for name in ("plays", "rewards", "estimates", "index", "rank", "conflicts"):
        np.testing.assert_array_equal(getattr(policy.state, name), getattr(before, name))
    np.testing.assert_array_equal(policy.intervals.upper, shown)
    np.testing.assert_array_equal(policy.state.intervals.upper, before.intervals.upper)
    for said in ("smoothed", "cautious"):
        np.testing.assert_array_equal(getattr(policy.state, said).variance, getattr(before, said).variance)


@pytest.mark.parametrize("sampling", ["progress", "index"])
def test_twenty_observations_come_first(sampling):
    policy = PooledCCPE(question(), sampling=sampling)
    assert policy.ask() == [do()] * 20
    told(policy, [do()] * 7)
    assert policy.ask() == [do()] * 13
    told(policy, [do(A=1)] * 30)  # not asked for: they are no observations
    assert policy.ask() == [do()] * 13
    told(policy, [do()] * 13)
    assert len(policy.ask()) == 1


@pytest.mark.parametrize("sampling", ["progress", "index"])
def test_a_tenth_of_the_plays_observe_and_no_more_where_that_is_dear(sampling):
    """A batch is a hundredth of the plays, here at most four. Anything else is played only while a tenth observed, so
    that of n plays at least (n - 4) / 10 did."""
    policy = PooledCCPE(question(costs={do(): 1000}), sampling=sampling, guarantee="asymptotic", epsilon=0, delta=1e-6)
    world, shares = environment(1), []
    while policy.n_plays < 420 and not policy.stopped:
        actions = policy.ask()
        policy.tell(actions, world.perform(actions))
        observed = policy.plays_by_action[do()]
        assert 10 * observed >= policy.n_plays - 4
        shares.append(observed / policy.n_plays)
    assert policy.n_plays > 300
    assert shares[-1] <= 0.11


@pytest.mark.parametrize("sampling", ["progress", "index"])
def test_where_nothing_may_be_observed_every_arm_keeps_a_share(sampling):
    """One batch in ten is of the K = 5 arms in turn, so that an arm waits for 50 batches, each of a hundredth of the
    plays, less than one for rounding: of n plays it has at least .01 n / (1.01^51 - 1) = .0151 n, less ten rounded."""
    policy = PooledCCPE(question(playable=ARMS), sampling=sampling, guarantee="asymptotic", epsilon=0, delta=1e-300)
    result = policy.run(environment(2), budget=20_000, progress=False)
    assert result.n_plays == 20_000
    assert set(result.plays_by_action) == set(ARMS)
    assert min(result.plays_by_action.values()) >= 0.0151 * result.n_plays - 10
    assert max(result.plays_by_action.values()) > 0.3 * result.n_plays


@pytest.mark.parametrize("sampling", ["progress", "index"])
def test_arms_that_nothing_else_tells_of_are_played_twice(sampling):
    """U -> Z -> X -> Y <- U, U hidden: do(Z=.) has no tree."""
    graph = dag([("U", "Z"), ("Z", "X"), ("X", "Y"), ("U", "Y")], {"U"})
    bandit = CausalBandit(graph, reward="Y", arms=[do(X=0), do(Z=1), do(X=1), do(Z=0)])
    policy = PooledCCPE(bandit, sampling=sampling)
    rows = [{"Z": i % 2, "X": i % 3 % 2, "Y": i % 5 % 2} for i in range(20)]
    policy.tell(do(), rows)
    assert policy.ask() == [do(Z=1), do(Z=0)]
    policy.tell(do(Z=1), [{"Z": 1, "X": 0, "Y": 0}, {"Z": 1, "X": 1, "Y": 0}])
    assert policy.ask() == [do(Z=0)]
    policy.tell(do(Z=0), {"Z": 0, "X": 0, "Y": 0})
    assert policy.ask() == [do(Z=0)]
    policy.tell(do(Z=0), {"Z": 0, "X": 1, "Y": 1})
    assert len(policy.ask()) == 1


def test_batches_grow_with_the_plays():
    """Of a hundredth of the plays; the same action over and over."""
    policy, world, sizes = PooledCCPE(question(), sampling="progress", epsilon=0, delta=1e-9), environment(), {}
    while policy.n_plays < 1_000:
        asked = policy.ask()
        sizes[policy.n_plays] = len(asked)
        assert len(set(asked)) == 1
        policy.tell(asked, world.perform(asked))
    assert all(size == max(1, n // 100) for n, size in sizes.items() if n >= 20)
    assert max(size for n, size in sizes.items() if n) == 9


def rarely_zero(costs):
    """The plays that set Z show it where it seldom is: only do() tells much of the two arms."""
    return question([do(A=1), do(A=0)], playable=[do(), do(A=1, Z=1), do(A=0, Z=1)], costs=costs)


@pytest.mark.parametrize("sampling", ["progress", "index"])
def test_costs_change_the_choice(sampling):
    """What a play adds is weighed by its cost; all three policies are told the same."""
    asked = {}
    for name, costs in (("equal", {}), ("observing dear", {do(): 100}), ("all dear", dict.fromkeys(
        [do(), do(A=1, Z=1), do(A=0, Z=1)], 100
    ))):  # fmt: skip
        policy = told(PooledCCPE(rarely_zero(costs), sampling=sampling), [do(), do(A=1, Z=1), do(A=0, Z=1)] * 40)
        asked[name] = set(policy.ask())
    assert asked["equal"] == asked["all dear"] == {do()}
    assert len(asked["observing dear"]) == 1
    assert asked["observing dear"] < {do(A=1, Z=1), do(A=0, Z=1)}


def test_the_choice_is_the_greatest_gain_for_its_cost():
    bandit = question(costs={ARMS[0]: 2.0, do(): 0.5})
    gains = np.zeros((6, 5))  # playable: do(), then the arms
    gains[:, 1] = [1.0, 4.2, 1.9, 0.0, 2.0, 0.0]
    model = Fixed([0.0, 0.1, 0.2, 0.3, 0.4], [0.0, 1e-2, 1e-2, 1e-2, 1e-2], gains)
    now = state(bandit, models=[model], n_plays=150, plays=[9] * 5)
    assert HighestChallenger().choose(now) == [ARMS[0]]  # 4.2 / 2 against 1 / .5 and 2
    gains[1, 1] = 3.9
    assert HighestChallenger().choose(now) == [do()]  # of the same gain for its cost as do(B=1), and listed first


def test_the_worth_of_arms_by_hand():
    """exp(-z) z / variance for z = max(gap + epsilon, s)^2 / (2 variance), of the arms open; and the highest index."""
    bandit = question()
    gap, variance = [0.0, 0.2, 0.1, -0.05, 0.3], [0.0, 0.01, 0.04, 0.0144, 0.05]
    estimates = 0.5 - np.array(gap)
    now = state(bandit, models=[Fixed(gap, variance)], epsilon=0.02, estimates=estimates)
    z = [0, 0.22**2 / 0.02, 0.5, 0.5, 0.32**2 / 0.1]
    for arms in ((1, 2, 3, 4), (1, 4), (0, 1, 2)):
        expected = np.array([math.exp(-z[i]) * z[i] / variance[i] if i and i in arms else 0.0 for i in range(5)])
        worth = GreatestProgress(Open(*arms)).worth(now)
        assert worth / worth.max() == pytest.approx(expected / expected.max(), rel=1e-12)
    assert GreatestProgress(Open()).worth(now).nonzero()[0].tolist() == [1]  # nothing open: the challenger
    # indices 1.5 s - gap: .15 - .2, .3 - .1, .18 + .05, .3354 - .3
    assert HighestChallenger().worth(now).tolist() == [0, 0, 0, 1, 0]
    wider = Fixed(gap, [0, 0.01, 0.0576, 0.0144, 0.05])  # .36 - .1; with one error .14 would be below .17
    assert HighestChallenger().worth(state(bandit, models=[wider], estimates=estimates))[2] == 1


def test_each_estimator_is_asked_about_the_arms_that_no_later_one_knows_of():
    bandit = question()
    one = Fixed([0.0, 0.1, 0.1, 0.1, 0.1], [0.0, 1e-3, 9e-3, 1e-3, 9e-3], np.zeros((6, 5)))
    other = Fixed([0.0, 0.1, 0.1, 0.1, 0.1], [0.0, np.inf, 2e-3, np.inf, 2e-2], np.zeros((6, 5)))
    GreatestProgress(Open(1, 2, 3, 4)).choose(state(bandit, models=[one, other], plays=[9] * 5))
    (leader, weights), (same, others) = one.asked[-1], other.asked[-1]
    assert leader == same == 0
    assert np.flatnonzero(weights).tolist() == [1, 3]
    assert np.flatnonzero(others).tolist() == [2, 4]


def test_the_cycle_takes_the_open_arm_of_the_highest_upper_bound():
    bandit, upper = question(), [0.9, 0.8, 0.7, 0.95, 0.6]
    now = state(bandit, upper=upper)
    assert ObserveLeaderAndOpen(Open(1, 2, 4)).choose(now) == [ARMS[1], ARMS[0]]
    assert ObserveLeaderAndOpen(Open(2, 3)).choose(now) == [ARMS[3], ARMS[0]]
    assert ObserveLeaderAndOpen(Open()).choose(now) == [ARMS[3], ARMS[0]]  # it will stop
    seldom = state(bandit, upper=upper, n_observed=9)
    assert ObserveLeaderAndOpen(Open(1, 2)).choose(seldom) == [do(), ARMS[1], ARMS[0]]
    assert ObserveLeaderAndOpen(Open(1, 2), observe=False).choose(seldom) == [do(), ARMS[1], ARMS[0]]
    equal = state(bandit, upper=[0.9, 0.8, 0.8, 0.8, 0.8], plays=[0, 5, 3, 3, 4])
    assert ObserveLeaderAndOpen(Open(1, 2, 3, 4)).choose(equal) == [ARMS[2], ARMS[0]]  # fewest plays, then the rank


def test_the_cycle_observes_as_long_as_more_than_eight_arms_are_open():
    bandit = experiment_3(4).bandit
    now = state(bandit)
    assert ObserveLeaderAndOpen(Open(*range(1, 10))).choose(now)[0] == do()
    assert do() not in ObserveLeaderAndOpen(Open(*range(1, 9))).choose(now)
    assert do() not in ObserveLeaderAndOpen(Open(*range(1, 10)), observe=False).choose(now)
