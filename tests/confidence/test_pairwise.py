"""Pairwise statistics: the minimum they claim, and how often they are wrong."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import rel_entr
from scipy.stats import binom

from pgcpe.confidence.pairwise import pairwise_glr, transport_costs
from pgcpe.confidence.sequences import kt_regret


def kl(p, q):
    return rel_entr(p, q) + rel_entr(1 - p, 1 - q)


def test_the_cost_is_the_constrained_minimum_and_never_above_it():
    rng = np.random.default_rng(0)
    for _ in range(300):
        n = rng.integers(1, 60, 2).astype(float)
        x = np.floor(n * rng.random(2) + rng.choice([0, 0, 1], 2)).clip(0, n)
        epsilon = float(rng.choice([0.0, 0.05, 0.3, 0.8]))
        p = x / n
        cost = transport_costs(n, x, 0, epsilon)[1]
        if p[0] + epsilon <= p[1]:
            assert cost == 0
            continue

        def information(m, p=p, n=n, epsilon=epsilon):
            return n[0] * kl(p[0], m) + n[1] * kl(p[1], min(m + epsilon, 1.0))

        best = minimize_scalar(information, bounds=(0, 1 - epsilon), method="bounded", options={"xatol": 1e-12})
        least = min(best.fun, information(0.0), information(1 - epsilon))
        assert cost <= least + 1e-9
        assert cost == pytest.approx(least, abs=1e-9)


def test_no_play_is_no_evidence():
    assert transport_costs([0, 5, 5], [0, 5, 0], 1).tolist()[0] == 0
    assert pairwise_glr([0, 5, 5], [0, 5, 0], 1)[0] < 0
    assert pairwise_glr([0, 5, 5], [0, 5, 0], 1)[1] == math.inf


def test_the_mixture_has_mean_one():
    """E[mixture / likelihood at the truth] = 1 by enumeration: what the level of the statistic rests on."""
    for n in (1, 4, 9):
        for mean in (0.1, 0.5, 0.83):
            x = np.arange(n + 1.0)
            log_ratio = np.array([n * kl(k / n, mean) - kt_regret(k, n) for k in x])
            assert binom.pmf(x, n, mean) @ np.exp(log_ratio) == pytest.approx(1.0, abs=1e-12)


def test_equal_arms_are_told_apart_no_more_often_than_they_may():
    """Two equal arms, either the leader: wrong with probability at most .2 (each pair has alpha = .1), watched on 600
    paths: the share is at most .2 + 3.1 sqrt(.2 * .8 / 600) = .25 but for one time in a thousand."""
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(600):
        rewards = np.cumsum(rng.random((1_000, 2)) < 0.4, axis=0)
        for n in (1, 2, 4, 7, 12, 20, 35, 60, 100, 200, 400, 1_000):
            x = rewards[n - 1]
            h = int(x.argmax())
            if pairwise_glr([n, n], x, h)[1 - h] >= math.log(1 / 0.1):
                wrong += 1
                break
    assert wrong / 600 <= 0.25


@pytest.mark.parametrize("bad", [([1, 2], [1]), ([-1, 2], [0, 1]), ([1, math.nan], [0, 1])])
def test_errors(bad):
    with pytest.raises(ValueError, match="finite arrays over the arms"):
        transport_costs(*bad, 0)
