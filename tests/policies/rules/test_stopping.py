"""The stopping rules of `PooledCCPE` and what is watched beside them."""

import math

import numpy as np
import pytest
from policies.confounded import ARMS, Fixed, Open, environment, question, state

from pgcpe import BGLM, do
from pgcpe.confidence.pairwise import pairwise_glr
from pgcpe.confidence.sequences import asymptotic_threshold
from pgcpe.estimators.pooled_bglm import PooledBGLM
from pgcpe.policies.rules.base import Verdict
from pgcpe.policies.rules.stopping import (
    LikelihoodRatioSet,
    MonitoredRules,
    PairwiseAsymptotic,
    SeparatedOrRuledOut,
)


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
