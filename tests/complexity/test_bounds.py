"""The bounds of the theorems."""

import math

import numpy as np
import pytest
from complexity.questions import parallel

from pgcpe.complexity import (
    bglm_plays,
    causal_rejects_error,
    fixed_budget_hardness,
    gap_dependent_threshold,
    general_plays,
    hardness,
    parallel_lower_bound,
)
from pgcpe.complexity.hardness import log_bar


def test_the_lower_bound_of_theorem_3():
    q, rewards = parallel([0.5] * 6)
    assert parallel_lower_bound(np.append(q, 1.0), np.append(rewards, 0.51), 0.05, null=12) == 0  # vacuous at this size
    n = 40  # three close arms and many that are rarely seen: several hard arms
    q = np.array([1.0, *[1 / n] * n])
    rewards = np.array([0.5, 0.9, *[0.88] * 6, *[0.3] * (n - 7)])
    few = gap_dependent_threshold(q, rewards)
    assert few > 5
    by_hand = 0.09 / 32 * ((few - 1) / 0.02**2 - 1 / 0.02**2 - 1 / 0.4**2) * np.log(1 / 0.05)
    assert parallel_lower_bound(q, rewards, 0.05, null=0) == pytest.approx(by_hand)


def test_the_bounds_of_the_theorems_solve_their_equations():
    q, rewards, k = [1.0, 0.3, 0.2, 0.1], [0.3, 0.7, 0.5, 0.4], 4
    h = hardness(q, rewards)[gap_dependent_threshold(q, rewards) - 1]
    t = general_plays(q, rewards, 0.05, n_treatments=2) / 3
    assert t == pytest.approx(2112 * h * math.log(20 * 2 * k * h * math.log(2 * t) / 0.01))
    t = bglm_plays(q, rewards, 0.06, n_nodes=9, slope_ratio=2.0, eta=0.5) / 3
    first = 1152 * 4 / 0.5 * h * math.log(27 * t**2 / 0.02)
    assert t == pytest.approx(first + 64 * h * math.log(k * math.log(2 * t) / 0.02))
    assert general_plays(q, rewards, 0.05, epsilon=0.4) < general_plays(q, rewards, 0.05)


def test_the_bound_on_causal_successive_rejects():
    q, rewards = [1.0, 0.5, 0.5, 0.5], [0.1, 0.9, 0.3, 0.2]
    exponent = (1e6 / 2 - 4) / (256 * log_bar(4) * fixed_budget_hardness(q, rewards))
    assert causal_rejects_error(q, rewards, 1_000_000) == pytest.approx(
        64 * math.exp(-exponent) + 24 * math.exp(-1e6 / 48), rel=1e-9
    )
    assert causal_rejects_error(q, rewards, 100) == 1.0
