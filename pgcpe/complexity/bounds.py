"""The theorems of the paper as numbers, with the constants that their proofs end in once mended."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from pgcpe.complexity.hardness import (
    fixed_budget_hardness,
    gap_dependent_threshold,
    gaps,
    hardness,
    log_bar,
    observation_threshold,
)
from pgcpe.confidence.intervals import probability

__all__ = ["bglm_plays", "causal_rejects_error", "general_plays", "parallel_lower_bound"]


def bglm_plays(
    q: ArrayLike,
    rewards: ArrayLike,
    delta: float,
    *,
    n_nodes: int,
    slope_ratio: float = 1.0,
    eta: float = 1.0,
    epsilon: float = 0.0,
) -> float:
    """Return the plays after which CCPE-BGLM has stopped by Theorem 1, with probability ``1 - delta``.

    Three times the T with ``T = 1152 (M1/kappa)^2 / eta H log(3 n T^2 / d) + 64 H log(K log(2T) / d)``, H that of
    `hardness` at the `gap_dependent_threshold`, and d = delta/3: the proof spends its delta three times. The burn-in is
    left out, for its constant is not known. The proof bounds one direction of the parameters where it uses many, so
    that not even this holds without a gap.

    Parameters
    ----------
    q, rewards
        q_a of Eq. (5) and the true expected rewards, arrays over the arms.
    delta
        The error probability, overall.
    n_nodes
        n, the number of nodes with an equation.
    slope_ratio, eta
        M1 / kappa, and the probability of Assumption 3.
    epsilon
        The tolerance.
    """
    h, k = _hardness(q, rewards, epsilon)
    level = probability("delta", delta) / 3.0
    return 3.0 * _fixed_point(
        lambda t: (
            1152.0 * slope_ratio**2 / eta * h * math.log(3.0 * n_nodes * t**2 / level)
            + 64.0 * h * math.log(k * math.log(2.0 * t) / level)
        )
    )


def general_plays(
    q: ArrayLike, rewards: ArrayLike, delta: float, *, n_treatments: int = 1, epsilon: float = 0.0
) -> float:
    """Return the plays after which CCPE-General has stopped by Theorem 2, with probability ``1 - delta``.

    Three times the T with ``T = 2112 H log(20 k K H log(2T) / d)``, H that of `hardness` at the
    `gap_dependent_threshold` and d = delta/5. 2112 survives the mending of the lemma on the counts of cells; the union
    over the cells is not paid for in the proof, so that it is an order of magnitude.

    Parameters
    ----------
    q, rewards
        q_a of Eq. (13) and the true expected rewards, arrays over the arms.
    delta
        The error probability, overall.
    n_treatments
        k, the most variables that an arm sets.
    epsilon
        The tolerance.
    """
    h, k = _hardness(q, rewards, epsilon)
    level = probability("delta", delta) / 5.0
    return 3.0 * _fixed_point(
        lambda t: 2112.0 * h * math.log(20.0 * max(n_treatments, 1) * k * h * math.log(2.0 * t) / level)
    )


def causal_rejects_error(
    q: ArrayLike, rewards: ArrayLike, budget: int, *, n_cells: int = 1, epsilon: float = 0.0
) -> float:
    """Return the bound of Theorem 5 on the error of Causal Successive Rejects after `budget` plays; at most 1.

    ``4 I N^2 exp(-(T/2 - N) / (256 logbar(N) H_3)) + 6 N exp(-T / (24 m))``: the printed exponent has 128 where the
    lemmas give 256, and leaves out that the observations may fail to reach all easy arms.

    Parameters
    ----------
    q, rewards
        Arrays over the arms.
    budget
        T.
    n_cells
        I, the largest number of values of an adjustment set.
    epsilon
        The tolerance.
    """
    n, m = len(np.asarray(q)), observation_threshold(q)
    exponent = (budget / 2.0 - n) / (256.0 * log_bar(n) * fixed_budget_hardness(q, rewards, epsilon))
    return min(1.0, 4.0 * n_cells * n**2 * math.exp(-exponent) + 6.0 * n * math.exp(-budget / (24.0 * m)))


def parallel_lower_bound(q: ArrayLike, rewards: ArrayLike, delta: float, null: int, epsilon: float = 0.0) -> float:
    """Return the lower bound of Theorem 3 on the plays for a parallel graph and atomic interventions; at least 0.

    Its Omega hides a constant; the proof gives .09/32, which is used here. At the sizes of studies it is often 0 and
    says nothing: ask `characteristic_time` then.

    Parameters
    ----------
    q, rewards
        Arrays over the arms.
    delta
        The error probability.
    null
        The index of ``do()``.
    """
    squared = np.maximum(gaps(rewards), epsilon / 2.0) ** 2
    order = np.argsort(np.asarray(q, dtype=np.float64) * squared, kind="stable")
    few = gap_dependent_threshold(q, rewards, epsilon) - 1
    if few < 1:
        return 0.0
    hard = squared[order[:few]]
    inside = (1.0 / hard).sum() - 1.0 / hard.min() - 1.0 / squared[null]
    return max(0.0, 0.09 / 32.0 * float(inside) * math.log(1.0 / probability("delta", delta)))


def _hardness(q: ArrayLike, rewards: ArrayLike, epsilon: float) -> tuple[float, int]:
    """Return H at the gap-dependent threshold and the number of arms."""
    return float(hardness(q, rewards, epsilon)[gap_dependent_threshold(q, rewards, epsilon) - 1]), len(np.asarray(q))


def _fixed_point(bound: Callable[[float], float]) -> float:
    """Return the T with T = bound(T), a bound that grows like a logarithm and is above 1 at 1."""
    t = 2.0
    for _ in range(200):
        t, before = max(bound(t), 2.0), t
        if not abs(t - before) > 1e-9 * t:
            break
    return t
