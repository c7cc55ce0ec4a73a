"""The sampling rules that weigh what a play adds, and the stopping rules of `PooledCCPE`."""

import copy
import math
import re

import numpy as np
import pytest
from helpers import dag

from pgcpe import BGLM, CausalBandit, EmpiricalMeans, PooledCCPE, SimulatedEnvironment, do, expected_rewards
from pgcpe.confidence.intervals import Intervals
from pgcpe.confidence.pairwise import pairwise_glr
from pgcpe.confidence.sequences import asymptotic_threshold
from pgcpe.estimators.base import Estimated, PairwiseEstimator
from pgcpe.estimators.pooled_bglm import PooledBGLM
from pgcpe.paper import experiment_3
from pgcpe.paper.instances import binary_network
from pgcpe.policies.rules.base import PolicyState, Verdict
from pgcpe.policies.rules.stopping import (
    LikelihoodRatioSet,
    MonitoredRules,
    PairwiseAsymptotic,
    SeparatedOrRuledOut,
)
from pgcpe.policies.rules.variance_reduction import GreatestProgress, HighestChallenger, ObserveLeaderAndOpen

ARMS = [do(A=1, B=1), do(A=1), do(A=0), do(B=1), do(B=0)]


def network():
    """Z -> A -> Y, Z -> Y, B -> Y; the best arm is the first, by .1 at least."""
    return binary_network(
        {
            "Z": ([], lambda: 0.3),
            "A": (["Z"], lambda z: 0.3 + 0.4 * z),
            "B": ([], lambda: 0.5),
            "Y": (["A", "B", "Z"], lambda a, b, z: 0.15 + 0.35 * a + 0.25 * b + 0.15 * z),
        }
    )


def question(arms=ARMS, **options):
    return CausalBandit(network(), reward="Y", arms=arms, **options)


def environment(seed=0):
    return SimulatedEnvironment(network(), seed=seed)


def told(policy, actions, seed=0):
    return policy.tell(actions, environment(seed).perform(actions))


class Fixed(PairwiseEstimator):
    """Says of the arms what it is given."""

    def __init__(self, gap, variance, gains=None, off=0.0):
        self.gap, self.variance, self.gains = np.array(gap), np.array(variance), gains
        self.bias_bound = np.full(len(gap), off)
        self.served_ = np.ones(len(gap), dtype=np.bool_)
        self.asked = []

    certificate = "exact"

    def start(self, bandit):
        return self

    def update(self, samples):
        return self

    def estimates(self):
        return Estimated(0.5 - self.gap, self.variance, self.bias_bound)

    def differences(self, leader):
        return Estimated(self.gap, self.variance, self.bias_bound)

    def variance_reduction(self, leader, weights):
        self.asked.append((leader, weights.tolist()))
        return self.gains @ weights


def state(bandit, leader=0, challenger=1, models=(), **given):
    """What a policy would know, with every arm at [0, 1] after no play but for what is given."""
    k = len(bandit.arms)
    arrays = {
        name: np.array(given.pop(name, np.full(k, default)), dtype=np.float64)
        for name, default in (("lower", 0.0), ("upper", 1.0), ("plays", 0.0), ("rewards", 0.0), ("estimates", 0.5))
    }
    known = {"epsilon": 0.0, "conflicts": np.zeros(k, np.bool_), "n_plays": 100, "n_observed": 50} | given
    return PolicyState(
        bandit=bandit,
        intervals=Intervals(arrays["lower"], arrays["upper"]),
        plays=arrays["plays"],
        rewards=arrays["rewards"],
        rank=np.arange(k),
        leader=leader,
        challenger=challenger,
        certificate="exact",
        models=models,
        estimates=arrays["estimates"],
        index=arrays["upper"],
        **known,
    )


class Open:
    """A stopping rule that is open for the arms it is given."""

    def __init__(self, *arms):
        self.arms = arms

    def unresolved(self, state):
        return np.isin(np.arange(len(state.plays)), self.arms)


# ----------------------------------------------------------------------------------------------------- sampling rules


@pytest.mark.parametrize("sampling", ["cycle", "progress", "index"])
def test_asked_twice_the_answer_is_the_same_and_nothing_changes(sampling):
    policy = PooledCCPE(question(), sampling=sampling)
    told(policy, [do(), *ARMS] * 20)
    before = copy.deepcopy(policy.state)
    first = policy.ask()
    for _ in range(3):
        assert policy.ask() == first
        assert policy._sampling.choose(policy.state) == first
        assert not policy._stopping.rules["exact"].check(policy.state).stop
    for name in ("plays", "rewards", "estimates", "index", "rank", "conflicts"):
        np.testing.assert_array_equal(getattr(policy.state, name), getattr(before, name))
    np.testing.assert_array_equal(policy.intervals.upper, before.intervals.upper)
    one, other = policy.state.differences, before.differences
    np.testing.assert_array_equal(one.variance, other.variance)


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
    for n, times in ((150, 1), (400, 4), (1_000, 10)):
        policy = PooledCCPE(question(), sampling="progress", epsilon=0, delta=1e-9)
        told(policy, [do(), *ARMS] * (n // 6) + [do()] * (n % 6))
        assert policy.n_plays == n
        assert len(policy.ask()) == times
        assert len(set(policy.ask())) == 1


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
    gap, variance = [0.0, 0.2, 0.1, -0.05, 0.3], [0.0, 0.01, 0.04, 0.01, 0.05]
    estimates = 0.5 - np.array(gap)
    now = state(bandit, models=[Fixed(gap, variance)], epsilon=0.02, estimates=estimates)
    z = [0, 0.22**2 / 0.02, 0.5, 0.5, 0.32**2 / 0.1]
    for arms in ((1, 2, 3, 4), (1, 4), (0, 1, 2)):
        expected = np.array([math.exp(-z[i]) * z[i] / variance[i] if i and i in arms else 0.0 for i in range(5)])
        worth = GreatestProgress(Open(*arms)).worth(now)
        assert worth / worth.max() == pytest.approx(expected / expected.max(), rel=1e-12)
    assert GreatestProgress(Open()).worth(now).nonzero()[0].tolist() == [1]  # nothing open: the challenger
    # indices .1 - .2, .2 - .1, .1 + .05, .2236 - .3
    assert HighestChallenger().worth(now).tolist() == [0, 0, 0, 1, 0]
    wider = Fixed(gap, [0, 0.01, 0.09, 0.01, 0.05])
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


def test_who_says_how_far_an_arm_is_below_the_leader():
    """The last that knows; to stop, where it may be off by more than its standard error, the smallest sum."""
    first = Fixed([0.0, 0.1, 0.1, 0.1, 0.1], [0.0, 1e-3, 1e-3, 4e-3, 9e-3], off=0.02)
    last = Fixed([0.0, 0.2, 0.2, 0.2, 0.2], [0.0, np.inf, 4e-3, 1e-3, 1e-3], off=0.05)  # off by .05^2 = 2.5e-3
    now = state(question(), models=[first, last])
    assert now.differences.by.tolist() == [1, 0, 1, 1, 1]
    assert now.differences.gap.tolist() == [0.0, 0.1, 0.2, 0.2, 0.2]
    # sums of the first 1.4e-3, 1.4e-3, 4.4e-3, 9.4e-3; of the last infinite, 6.5e-3 (not in doubt), 3.5e-3, 3.5e-3
    assert now.cautious.by[1:].tolist() == [0, 1, 1, 1]
    assert now.cautious.variance[1:] == pytest.approx([1.4e-3, 6.5e-3, 3.5e-3, 3.5e-3])
    last.bias_bound[:] = 0.1
    now = state(question(), models=[first, last])
    assert now.cautious.by[1:].tolist() == [0, 0, 0, 0]  # 9.4e-3 against 1.1e-2
    assert now.cautious.gap[1:].tolist() == [0.1] * 4
    assert now.differences.by.tolist() == [1, 0, 1, 1, 1]


def test_the_cycle_takes_the_open_arm_of_the_highest_upper_bound():
    bandit, upper = question(), [0.9, 0.8, 0.7, 0.95, 0.6]
    now = state(bandit, upper=upper, challenger=3)
    assert ObserveLeaderAndOpen(Open(1, 2, 4)).choose(now) == [ARMS[1], ARMS[0]]
    assert ObserveLeaderAndOpen(Open(2, 3)).choose(now) == [ARMS[3], ARMS[0]]
    assert ObserveLeaderAndOpen(Open()).choose(now) == [ARMS[3], ARMS[0]]  # it will stop
    seldom = state(bandit, upper=upper, challenger=3, n_observed=9)
    assert ObserveLeaderAndOpen(Open(1, 2)).choose(seldom) == [do(), ARMS[1], ARMS[0]]
    assert ObserveLeaderAndOpen(Open(1, 2), observe=False).choose(seldom) == [do(), ARMS[1], ARMS[0]]
    equal = state(bandit, upper=[0.9, 0.8, 0.8, 0.8, 0.8], plays=[0, 5, 3, 3, 4])
    assert ObserveLeaderAndOpen(Open(1, 2, 3, 4)).choose(equal) == [ARMS[2], ARMS[0]]  # fewest plays, then the rank
    assert ObserveLeaderAndOpen(Open(1)).choose(state(bandit, challenger=-1)) == [ARMS[0]]


def test_the_cycle_observes_as_long_as_more_than_eight_arms_are_open():
    bandit = experiment_3(4).bandit
    now = state(bandit)
    assert ObserveLeaderAndOpen(Open(*range(1, 10))).choose(now)[0] == do()
    assert do() not in ObserveLeaderAndOpen(Open(*range(1, 9))).choose(now)
    assert do() not in ObserveLeaderAndOpen(Open(*range(1, 10)), observe=False).choose(now)


@pytest.mark.parametrize("sampling", ["cycle", "progress", "index"])
@pytest.mark.parametrize("guarantee", ["exact", "asymptotic"])
def test_an_arm_that_may_not_be_played_is_never_asked_for_but_may_win(sampling, guarantee):
    bandit = question(playable=[do(), *ARMS[1:]])
    policy = PooledCCPE(bandit, sampling=sampling, guarantee=guarantee, epsilon=0.1, delta=0.1)
    result = policy.run(environment(3), budget=6_000, progress=False)
    assert set(result.plays_by_action) <= set(bandit.playable)
    assert result.recommendation == ARMS[0]
    assert result.certificate == guarantee


# ----------------------------------------------------------------------------------------------------- stopping rules


def test_arms_are_separated_or_told_from_the_leader():
    bandit, rule = question(), SeparatedOrRuledOut(0.02)
    lower, upper = [0.6, 0.1, 0.1, 0.1, 0.1], [0.9, 0.55, 0.65, 0.6, 0.7]
    now = state(bandit, lower=lower, upper=upper)
    assert rule.threshold(now) == pytest.approx(math.log(4 / 0.02))
    assert rule.unresolved(now).tolist() == [False, False, True, False, True]
    assert not rule.check(now).stop
    assert rule.unresolved(state(bandit, lower=lower, upper=upper, epsilon=0.06)).tolist() == [
        False,
        False,
        False,
        False,
        True,
    ]
    plays, rewards = [60, 0, 60, 0, 60], [50, 0, 20, 0, 45]
    evidence = pairwise_glr(plays, rewards, 0)
    assert evidence[2] > math.log(4 / 0.02) > evidence[4]
    some = state(bandit, lower=lower, upper=upper, plays=plays, rewards=rewards)
    assert rule.unresolved(some).tolist() == [False, False, False, False, True]
    rewards[4] = 10
    verdict = rule.check(state(bandit, lower=lower, upper=upper, plays=plays, rewards=rewards))
    assert verdict == (
        True,
        f"no arm is better than {ARMS[0]}: 2 are below it by their intervals, 2 are told from it by direct plays",
        "exact",
    )


def test_in_conflict_only_direct_pairs_count():
    bandit, conflicts = question(), np.array([False, False, False, True, False])
    separated = {"lower": [0.6] + [0.1] * 4, "upper": [0.9] + [0.5] * 4, "conflicts": conflicts}
    rule, stubborn = SeparatedOrRuledOut(0.02), SeparatedOrRuledOut(0.02, fallback=False)
    now = state(bandit, **separated)
    assert rule.unresolved(now).tolist() == [False, True, True, True, True]
    assert not rule.check(now).stop
    assert not stubborn.unresolved(now).any()
    verdict = MonitoredRules({"exact": stubborn}, "exact", doubtful=True).check(now)
    assert verdict.stop
    assert verdict.certificate is None
    assert verdict.reason.endswith("; but 1 arm contradicts the graph")
    plays, rewards = [80] * 5, [70, 20, 20, 20, 62]
    now = state(bandit, plays=plays, rewards=rewards, **separated)
    assert rule.unresolved(now).tolist() == [False, False, False, False, True]
    rewards[4] = 20
    verdict = rule.check(state(bandit, plays=plays, rewards=rewards, **separated))
    assert verdict == (True, f"no arm is better than {ARMS[0]}: 4 are told from it by direct plays", "exact")


def test_the_plays_that_tell_a_pair_are_those_of_the_statistic():
    """Half of them each, means a gap around the leader's apart: the statistic is then the threshold. The quadratic form
    of the divergence is exact to order gap^2, that of the mixtures' loss to a few hundredths of a nat."""
    bandit, rule = question(), SeparatedOrRuledOut(0.02)
    for mean in (0.3, 0.5, 0.8):
        plays = rule.plays_to_resolve(state(bandit, estimates=[mean] * 5), 0.01)
        n = plays / 2
        found = pairwise_glr([n, n], [n * (mean + 0.005), n * (mean - 0.005)], 0)[1]
        assert found == pytest.approx(math.log(4 / 0.02), rel=0.02)
    assert math.isfinite(rule.plays_to_resolve(state(bandit, estimates=[1.0] * 5), 0.01))
    assert math.isfinite(rule.plays_to_resolve(state(bandit, estimates=[0.0] * 5), 0.01))


def test_the_asymptotic_rule_stops_just_at_its_threshold():
    bandit, delta = question(), 0.05
    rule, beta = PairwiseAsymptotic(delta), asymptotic_threshold(500, delta / 4)
    for share, stops in ((0.999, False), (1.001, True)):
        variance = [0.0, 1e-5, 0.15**2 / (2 * beta * share), 1e-5, 1e-5]
        now = state(bandit, models=[Fixed([0, 0.3, 0.1, 0.3, 0.3], variance)], epsilon=0.05, n_plays=500)
        verdict = rule.check(now)
        assert verdict.stop == stops
        assert rule.evidence(now)[2] == pytest.approx(beta * share)
        assert rule.unresolved(now).tolist() == [False, False, not stops, False, False]
    assert verdict.certificate == "asymptotic"
    assert f"{ARMS[2]} is told from it least, by {1.001 * beta:.2f} of {beta:.2f} nats" in verdict.reason
    for gap in (-0.05, -0.3):  # an arm that the estimates favour is open however small the variance
        now = state(bandit, models=[Fixed([0, 0.3, gap, 0.3, 0.3], [0.0, *[1e-9] * 4])], epsilon=0.05, n_plays=500)
        assert rule.unresolved(now).tolist() == [False, False, True, False, False]


def test_the_plays_that_tell_a_gap_asymptotically():
    """The nearest arm's variance falls as the plays grow: at that many its evidence for the gap is the threshold."""
    bandit, rule = question(), PairwiseAsymptotic(0.05)
    now = state(bandit, models=[Fixed([0, 0.3, 0.02, 0.1, 0.3], [0, 1e-3, 2e-3, 1e-3, 1e-3])], n_plays=300)
    plays = rule.plays_to_resolve(now, 0.01)
    variance = 2e-3 * 300 / plays
    assert 0.01**2 / (2 * variance) == pytest.approx(asymptotic_threshold(plays, 0.05 / 4), rel=1e-6)
    assert rule.plays_to_resolve(now, 0.02) < plays / 3.5


def taught_bglm(n=900):
    bandit = question([do(A=1), do(A=0)])
    bandit = bandit.recording(PooledBGLM(BGLM("identity")).required(bandit))
    actions = [do(), do(A=1), do(A=0)] * (n // 3)
    model = PooledBGLM(BGLM("identity")).start(bandit)
    return bandit, model.update(bandit.encode(actions, environment().perform(actions)))


def test_the_set_is_searched_only_where_the_fit_says_stop_and_again_after_a_hundredth(monkeypatch):
    bandit, model = taught_bglm()
    searched, answer = [], [False]
    monkeypatch.setattr(PooledBGLM, "certifies", lambda self, *given: searched.append(given) or answer[0])
    rule = LikelihoodRatioSet(0.1, Open())
    assert not rule.check(state(bandit, leader=1, challenger=0, models=[model], n_plays=900)).stop
    assert searched == []  # the fit favours the other arm
    assert rule.unresolved(state(bandit, leader=1, challenger=0, models=[model])).tolist() == [True, False]

    def at(plays):
        return rule.check(state(bandit, models=[model], n_plays=plays))

    for plays, so_far in ((900, 1), (901, 1), (908, 1), (909, 2), (910, 2), (919, 3)):
        assert not at(plays).stop
        assert len(searched) == so_far
    assert searched[0] == (0, 0.0, 0.1)
    answer[0] = True
    assert not at(920).stop
    assert at(930).certificate == "numerical"


def test_a_model_in_doubt_leaves_the_stop_to_the_other_rule():
    bandit, model = taught_bglm()
    other = SeparatedOrRuledOut(0.02)
    rule, now = LikelihoodRatioSet(0.1, other), state(bandit, models=[model])
    verdict = rule.check(now)
    assert (verdict.stop, verdict.certificate) == (True, "numerical")
    model.graph_rejected_ = np.array([False, True])
    rule = LikelihoodRatioSet(0.1, other)
    assert not rule.check(now).stop
    assert rule.unresolved(now).tolist() == other.unresolved(now).tolist() == [False, True]
    assert rule.plays_to_resolve(now, 0.01) == other.plays_to_resolve(now, 0.01)
    assert LikelihoodRatioSet(0.1, other).check(state(bandit, models=[])).stop is False


def test_the_first_stop_of_each_rule_is_reported():
    class At:
        def __init__(self, *plays):
            self.plays = plays

        def check(self, state):
            return Verdict(state.n_plays in self.plays, f"at {state.n_plays}", "exact")

    bandit = question()
    rule = MonitoredRules({"one": At(3, 5, 6), "two": At(6), "three": At()}, "two")
    verdicts = [rule.check(state(bandit, n_plays=n)) for n in range(8)]
    assert rule.stops == {"one": 3, "two": 6, "three": None}
    assert [n for n, verdict in enumerate(verdicts) if verdict.stop] == [6]


# ---------------------------------------------------------------------------------------------------------- in a policy


def test_a_run_reports_when_each_guarantee_would_have_stopped():
    policy, world, first = PooledCCPE(question(), epsilon=0.02, delta=0.1), environment(4), None
    asymptotic = PairwiseAsymptotic(0.1)
    while not policy.stopped:
        actions = policy.ask()
        policy.tell(actions, world.perform(actions))
        if first is None and asymptotic.check(policy.state).stop:
            first = policy.n_plays
        assert policy.stops["asymptotic"] == first
        assert (policy.stops["exact"] is None) == (not policy.stopped)
    assert policy.result().stops == {"exact": policy.n_plays, "asymptotic": first}
    assert 0 < first < policy.n_plays
    assert policy.certificate == "exact"


@pytest.mark.parametrize("guarantee", ["exact", "asymptotic"])
def test_a_run_ended_by_its_budget_says_which_arms_are_open_and_what_a_small_gap_takes(guarantee):
    policy = PooledCCPE(question(), guarantee=guarantee, epsilon=0, delta=0.01)
    result = policy.run(environment(5), budget=60, progress=False)
    assert not policy.stopped
    assert result.certificate is None
    pattern = (
        r"the budget of 60 plays is spent: (do\(.*?\)) could not be told from (.*); "
        r"to tell a gap of 0\.01 takes about ([\d,]+) plays"
    )
    leader, named, plays = re.fullmatch(pattern, result.stop_reason).groups()
    assert leader == str(result.recommendation)
    rule = SeparatedOrRuledOut(0.4 * 0.01) if guarantee == "exact" else PairwiseAsymptotic(0.01)
    left = np.flatnonzero(rule.unresolved(policy.state))
    shown = named.split(" and ")[0]
    assert f" and {len(left) - 3} more" in named or len(left) <= 3
    arms = re.findall(r"do\(.*?\)", shown)
    assert len(arms) == min(len(left), 3)
    assert set(arms) <= {str(policy.bandit.arms[i]) for i in left}
    value = {str(policy.bandit.arms[i]): policy.state.estimates[i] for i in left}
    assert arms == sorted(value, key=value.get, reverse=True)[:3]  # those of the highest estimates
    # two digits are shown: at most 5 in 100 off
    assert int(plays.replace(",", "")) == pytest.approx(rule.plays_to_resolve(policy.state, 0.01), rel=0.05)


def test_without_trust_in_the_graph_direct_plays_alone_certify():
    """The graph lacks Z -> Y and is wrong; the intervals are those of direct plays at .15 delta, the pairs get .85."""
    graph = dag([("Z", "A"), ("A", "Y"), ("B", "Y")])
    bandit = CausalBandit(graph, reward="Y", arms=ARMS, merge_equal=False)
    policy = PooledCCPE(bandit, trust_graph=False, epsilon=0.1, delta=0.1)
    result = policy.run(environment(6), budget=5_000, progress=False)
    assert result.certificate == "exact"
    assert result.stop_reason.startswith("no arm is better")
    rewards = expected_rewards(network(), question(), progress=False)
    assert rewards[result.recommendation] >= rewards.max() - 0.1
    direct = EmpiricalMeans().start(policy.bandit).update(result.told).intervals(0.15 * 0.1)
    np.testing.assert_array_equal(policy.intervals.lower, direct.lower)
    np.testing.assert_array_equal(policy.intervals.upper, direct.upper)
    trusting = told(PooledCCPE(question()), [do()] * 400).intervals
    wary = told(PooledCCPE(question(merge_equal=False), trust_graph=False), [do()] * 400).intervals
    assert (trusting.upper - trusting.lower).max() < 1.0
    assert (wary.lower.max(), wary.upper.min()) == (0.0, 1.0)
    assert policy.stops == {"exact": policy.n_plays}
    evidence = pairwise_glr(policy.state.plays, policy.state.rewards, policy.state.leader, 0.1)
    apart = policy.intervals.upper <= policy.intervals.lower[policy.state.leader] + 0.1
    assert (apart | (evidence >= math.log(4 / (0.85 * 0.1)))).all()
    with pytest.raises(ValueError, match="trust_graph=False certifies from direct plays"):
        PooledCCPE(bandit, trust_graph=False, guarantee="asymptotic")


def test_a_bglm_stops_numerically_and_reports_all_three():
    policy = PooledCCPE(question(), model=BGLM("identity"), guarantee="numerical", epsilon=0.1, delta=0.1)
    result = policy.run(environment(7), budget=3_000, progress=False)
    assert result.certificate == "numerical"
    assert not result.certified
    assert result.recommendation == ARMS[0]
    assert set(result.stops) == {"exact", "asymptotic", "numerical"}
    assert result.stops["numerical"] == result.n_plays
    assert result.stop_reason.endswith("for any coefficients that the plays allow")


def test_a_link_that_is_refuted_is_given_up_for_tables():
    """The reward is 1 nearly always where A and B differ."""
    xor = {"A": ([], lambda: 0.5), "B": ([], lambda: 0.5), "Y": (["A", "B"], lambda a, b: 0.9 if a != b else 0.1)}
    made = binary_network(xor)
    bandit = CausalBandit(made, reward="Y", arms=[do(A=0, B=1), do(A=1, B=1), do(A=0)])
    policy = PooledCCPE(bandit, model=BGLM(), guarantee="numerical", epsilon=0.1)
    samples = SimulatedEnvironment(made, seed=0).sample(do(), 300)
    with pytest.warns(UserWarning, match="contradict the logit link: the BGLM is given up for tables"):
        policy.tell(do(), samples)
    assert policy.state.estimates == pytest.approx([0.9, 0.1, 0.5], abs=0.14)  # 75 plays a row: 4 * .035
    assert policy.certificate == "exact"  # what it stops by is the other rule
    assert policy.stop_reason.endswith("2 are below it by their intervals")
    with pytest.raises(ValueError, match="guarantee='numerical' is that of a BGLM"):
        PooledCCPE(bandit, guarantee="numerical")
