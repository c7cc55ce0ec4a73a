"""Gaps, thresholds, hardness and weights."""

import numpy as np
import pytest
from complexity.questions import random_question

from pgcpe.complexity import (
    characteristic_time,
    fixed_budget_hardness,
    fixed_budget_weights,
    gap_dependent_threshold,
    gaps,
    hard_arms,
    hardness,
    observation_threshold,
)


def test_gaps():
    assert gaps([0.2, 0.9, 0.5]).round(12).tolist() == [0.7, 0.4, 0.4]
    assert gaps([0.5, 0.5]).tolist() == [0, 0]


def test_the_threshold_of_the_balanced_parallel_graph():
    for n in (2, 5, 50):
        assert observation_threshold([1.0] + [0.5] * (2 * n)) == 2


def test_the_example_of_section_3():
    for n in (5, 8, 30):
        q = [1.0] + [1 / n] * (2 * n)
        rewards = [0.4, 0.9, 0.9 - 1 / n] + [0.4] * (2 * n - 2)
        assert observation_threshold(q) == n
        assert gap_dependent_threshold(q, rewards) == 2


def test_thresholds_are_their_definitions_and_lemma_2_holds():
    rng = np.random.default_rng(0)
    closest = 0.0
    for _ in range(2_000):
        q, rewards, epsilon = random_question(rng)
        n = len(q)
        m = min(t for t in range(1, n + 1) if sum(q < 1 / t) <= t)
        assert observation_threshold(q) == m
        delta = np.maximum(gaps(rewards), epsilon / 2)
        if delta.min() == 0:
            continue
        order = sorted(range(n), key=lambda a: q[a] * delta[a] ** 2)
        sums = [sum(1 / delta[a] ** 2 for a in order[:r]) for r in range(1, n + 1)]
        assert hardness(q, rewards, epsilon) == pytest.approx(sums)
        few = min(t for t in range(1, n + 1) if sum(q * delta**2 * sums[t - 1] < 1 - 1e-12) <= t)
        assert gap_dependent_threshold(q, rewards, epsilon) == few
        assert few <= 2 * m
        closest = max(closest, few / m)
    assert closest > 1.5  # the factor is needed


def test_fixed_budget_hardness_is_never_above_that_of_successive_rejects():
    rng = np.random.default_rng(1)
    gained = 0
    for _ in range(500):
        q, rewards, epsilon = random_question(rng)
        ordered = np.sort(np.maximum(gaps(rewards), epsilon))
        if ordered[0] == 0:
            assert fixed_budget_hardness(q, rewards, epsilon) == np.inf
            continue
        plain = (np.arange(1, len(q) + 1) / ordered**2).max()
        assert fixed_budget_hardness(q, rewards, epsilon) <= plain * (1 + 1e-12)
        gained += fixed_budget_hardness(q, rewards, epsilon) < 0.9 * plain
    assert gained > 50


def test_the_weights_of_theorem_5():
    """By hand for N = 4, m = 2."""
    assert fixed_budget_weights(4, 2).tolist() == pytest.approx(
        [1 + (1 / 3 + 1 / 4) / 2, 1 / 2 + (1 / 3 + 1 / 4) / 2, (1 + 1 / 4) / 2, 1 / 2]
    )
    assert fixed_budget_weights(3, 3).tolist() == pytest.approx([1, 1 / 2, 1 / 3])  # nothing is easy


def test_errors():
    with pytest.raises(ValueError, match="at least two arms"):
        gaps([0.5])
    with pytest.raises(ValueError, match="must be finite"):
        hardness([1, 1], [0.5, np.nan])
    with pytest.raises(ValueError, match="best arm must be unique"):
        characteristic_time([0.5, 0.5])
    with pytest.raises(ValueError, match="must lie inside"):
        characteristic_time([0.0, 0.5])


def test_the_threshold_counts_the_hard_arms():
    rng = np.random.default_rng(5)
    for _ in range(500):
        q, rewards, epsilon = random_question(rng)
        m = gap_dependent_threshold(q, rewards, epsilon)
        hard = hard_arms(q, rewards, epsilon)
        assert hard.sum() <= m
        total = hardness(q, rewards, epsilon)[m - 1]
        if m < len(q) and np.isfinite(total):
            worth = q * np.maximum(gaps(rewards), epsilon / 2) ** 2
            assert worth[hard].max(initial=0) < 1 / total
            assert worth[~hard].min(initial=np.inf) >= 1 / total * (1 - 1e-9)
