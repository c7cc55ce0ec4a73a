"""Top-two sampling against its definition, and its stop."""

import math

import numpy as np
import pytest
from policies.test_lucb import K, highest, mean_and_plays, perform, question
from scipy.special import rel_entr

from pgcpe import TopTwo, do
from pgcpe.policies.rules.sampling import GOLDEN


def kl(p, q):
    return rel_entr(p, q) + rel_entr(1 - p, 1 - q)


def test_forty_iterations_by_the_definition():
    policy = TopTwo(question(), epsilon=0, delta=1e-9)
    first = policy.state.rank[0] / K
    asked = perform(policy, 40)
    assert sorted(asked[0][0]) == [0, 1, 2, 3]
    both = set()
    for (arm,), history in asked[1:]:
        mean, plays = mean_and_plays(history)
        leaders = highest(mean)
        (leader,) = leaders if len(leaders) == 1 else [min(leaders, key=lambda i: (plays[i], policy.state.rank[i]))]
        pooled = (plays * mean + plays[leader] * mean[leader]) / (plays + plays[leader])
        cost = plays[leader] * kl(mean[leader], pooled) + plays * kl(mean, pooled)
        challengers = highest(-cost, {leader})
        challenger = min(challengers, key=lambda i: (plays[i], policy.state.rank[i]))
        total = cost[challenger]
        share = plays[leader] * kl(mean[leader], pooled[challenger]) / total if total > 0 else 0.5
        point = (first + GOLDEN * len(history)) % 1.0
        assert arm == (leader if point < share else challenger)
        both.add(arm == leader)
    assert both == {True, False}
    assert policy.recommendation == do(X=2)


def test_it_stops_at_the_threshold():
    policy = TopTwo(question(), epsilon=0, delta=0.05)
    for x in (0, 1, 3):
        policy.tell(do(X=x), [{"X": x, "Y": 0}] * 100)
    for successes in (1, 2):
        policy.tell(do(X=2), {"X": 2, "Y": 1})
        pooled = successes / (100 + successes)
        cost = -successes * math.log(pooled) - 100 * math.log(1 - pooled)
        regret = -sum(
            math.lgamma(x + 0.5) + math.lgamma(n - x + 0.5) - math.lgamma(n + 1) - math.log(math.pi)
            for x, n in ((successes, successes), (0, 100))
        )
        assert policy.stopped == (cost - regret >= math.log(3 / 0.05)) == (successes == 2)
    assert policy.certificate == "direct"
    assert "rule out" in policy.stop_reason
    assert policy.ask()


def test_an_epsilon_lets_it_stop_at_a_tie():
    policy = TopTwo(question(), epsilon=0.2, delta=0.05)
    for x in range(K):
        policy.tell(do(X=x), [{"X": x, "Y": y} for y in (0, 1)] * 400)
    assert policy.stopped
    assert "epsilon = 0.2" in policy.stop_reason
    policy = TopTwo(question(), epsilon=0, delta=0.05)
    policy.tell([do(X=x) for x in range(K)] * 800, [{"X": x, "Y": i % 2} for i in range(800) for x in range(K)])
    assert not policy.stopped


def test_delta_must_be_a_probability():
    with pytest.raises(ValueError, match="delta must be between 0 and 1"):
        TopTwo(question(), delta=1.0)
    with pytest.raises(TypeError, match="delta must be a number"):
        TopTwo(question(), delta="0.1")
    assert np.isfinite(TopTwo(question()).state.estimates).all()
