"""The stopping rules of `PooledCCPE` and what is watched beside them."""

import dataclasses
import math

import numpy as np
import pytest
from helpers import dag
from policies.confounded import ARMS, question, state

from pgcpe import CausalBandit, do
from pgcpe.confidence.pairwise import pairwise_glr
from pgcpe.policies.rules.base import StoppingRule, Verdict
from pgcpe.policies.rules.monitored import MonitoredRules
from pgcpe.policies.rules.stopping import (
    DirectPairs,
    PairwiseGLR,
    SeparatedIntervals,
    SeparatedOrRuledOut,
    without_merged,
)


def separated_or_ruled_out(delta=0.02, pairs=4):
    return SeparatedOrRuledOut(PairwiseGLR(delta / pairs))


def test_arms_are_separated_or_told_from_the_leader():
    bandit, rule = question(), separated_or_ruled_out()
    lower, upper = [0.6, 0.1, 0.1, 0.1, 0.1], [0.9, 0.55, 0.65, 0.6, 0.7]
    now = state(bandit, lower=lower, upper=upper)
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
        f"no arm is better than {ARMS[0]}: 2 are below it by their bounds, 2 are ruled out by direct plays",
        "exact",
        0,
        (),
    )
    said = rule.ruled_out()
    assert (said.leader, said.by) == (0, ("", "bounds", "direct plays", "bounds", "direct plays"))
    assert said.bound.tolist() == [0.6, 0.55, 0.65, 0.6, 0.7]  # what was compared: the lower end of the leader
    evidence = pairwise_glr(plays, rewards, 0)
    assert np.array_equal(said.nats, [np.nan, np.nan, evidence[2], np.nan, evidence[4]], equal_nan=True)
    progress = rule.progress(some)
    assert np.array_equal(progress.nats, pairwise_glr(plays, [50, 0, 20, 0, 45], 0))
    assert progress.asked == pytest.approx(math.log(4 / 0.02))
    assert progress.bounds.upper.tolist() == upper


def test_in_conflict_only_direct_pairs_count():
    bandit, conflicts = question(), np.array([False, False, False, True, False])
    separated = {"lower": [0.6] + [0.1] * 4, "upper": [0.9] + [0.5] * 4, "conflicts": conflicts}
    rule = separated_or_ruled_out()
    now = state(bandit, **separated)
    assert rule.unresolved(now).tolist() == [False, True, True, True, True]
    assert not rule.check(now).stop
    verdict = SeparatedIntervals().check(now)  # which has nothing to take its place
    assert (verdict.stop, verdict.certificate) == (True, None)
    assert verdict.reason.endswith("; but 1 arm contradicts the graph")
    plays, rewards = [80] * 5, [70, 20, 20, 20, 62]
    now = state(bandit, plays=plays, rewards=rewards, **separated)
    assert rule.unresolved(now).tolist() == [False, False, False, False, True]
    rewards[4] = 20
    verdict = rule.check(state(bandit, plays=plays, rewards=rewards, **separated))
    assert verdict == (True, f"no arm is better than {ARMS[0]}: 4 are ruled out by direct plays", "direct", 0, ())


def test_the_plays_that_tell_a_pair_are_those_of_the_statistic():
    """Half of them each, means a gap around the leader's apart: the statistic is then the threshold. The quadratic form
    of the divergence is exact to order gap^2, that of the mixtures' loss to a few hundredths of a nat."""
    bandit, rule = question(), separated_or_ruled_out()
    for mean in (0.3, 0.5, 0.8):
        plays = rule.plays_to_resolve(state(bandit, estimates=[mean] * 5), 0.01)
        n = plays / 2
        found = pairwise_glr([n, n], [n * (mean + 0.005), n * (mean - 0.005)], 0)[1]
        assert found == pytest.approx(math.log(4 / 0.02), rel=0.02)
    assert math.isfinite(rule.plays_to_resolve(state(bandit, estimates=[1.0] * 5), 0.01))
    assert math.isfinite(rule.plays_to_resolve(state(bandit, estimates=[0.0] * 5), 0.01))


def test_the_first_stop_of_each_rule_is_reported():
    class At(StoppingRule):
        def __init__(self, *plays):
            self.plays = plays

        def check(self, state):
            return Verdict(state.n_plays in self.plays, f"at {state.n_plays}", "exact")

    bandit = question()
    rule = MonitoredRules({"one": At(3, 5, 6), "two": At(6), "three": At()}, "two")
    verdicts = [rule.check(state(bandit, n_plays=n)) for n in range(8)]
    assert rule.stopping_times == {"one": 3, "two": 6, "three": None}
    assert [n for n, verdict in enumerate(verdicts) if verdict.stop] == [6]


def test_direct_pairs_take_every_listed_arm_by_its_own_plays():
    """do(X=1) stands for do(W=1, X=1): by the class's sums it wins, by name the other was never played."""
    graph = dag([("W", "X"), ("X", "Y")])
    bandit = CausalBandit(graph, reward="Y", arms=[do(X=0), do(W=1, X=1), do(X=1)])
    assert bandit.arms == (do(X=0), do(W=1, X=1))
    now = state(bandit, leader=1, plays=[300, 300], rewards=[30, 270])
    assert PairwiseGLR(0.01).check(now).certificate == "exact"
    assert "1 listed arm has the same effect as another" in PairwiseGLR(0.01).check(now).assumptions[0]
    by_name = {"listed_plays": np.array([300.0, 300.0, 0.0]), "listed_rewards": np.array([30.0, 270.0, 0.0])}
    assert not DirectPairs(0.01).check(dataclasses.replace(now, **by_name)).stop
    by_name = {"listed_plays": np.array([300.0, 200.0, 100.0]), "listed_rewards": np.array([30.0, 180.0, 20.0])}
    assert DirectPairs(0.01).check(dataclasses.replace(now, **by_name))[:3:2] == (True, "direct")


def test_no_rule_believes_who_is_named_as_challenger():
    """A rule looks at all arms itself: the highest upper end is found wherever it stands."""
    bandit = question()
    for highest in range(1, 5):
        upper = [0.9, 0.3, 0.3, 0.3, 0.3]
        upper[highest] = 0.7
        now = state(bandit, lower=[0.6, 0.1, 0.1, 0.1, 0.1], upper=upper, index=np.array([1.0, *[0.0] * 4]))
        assert not SeparatedIntervals().check(now).stop
        assert np.flatnonzero(SeparatedIntervals().unresolved(now)).tolist() == [highest]


def test_a_verdict_loses_its_certificate_to_a_graph_in_doubt_alone():
    """Where a link is refuted, and no direct plays contradict the graph, what merged arms stand for still holds."""
    right = state(question())
    doubted = right.changed(conflicts=np.arange(len(ARMS)) == 0)
    verdict = Verdict(True, "all are ruled out", "exact", 0, ("merged arms are equal",))
    assert without_merged(verdict, right) == verdict
    assert without_merged(verdict, doubted).certificate is None
