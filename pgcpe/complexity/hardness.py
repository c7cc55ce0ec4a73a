"""Thresholds and hardness: how many arms are hard to observe, and what a question costs.

Rewards and epsilon are shares of the range, as `RewardScale.share` makes them of a reward in a unit of its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "fixed_budget_hardness",
    "fixed_budget_weights",
    "gap_dependent_threshold",
    "gaps",
    "hard_arms",
    "hardness",
    "log_bar",
    "observation_threshold",
]

Floats = NDArray[np.float64]


def gaps(rewards: ArrayLike) -> Floats:
    """Return Delta_a for each arm: how far it is below the best; for the best, how far the second best is below it.

    Examples
    --------
    >>> gaps([0.5, 0.8, 0.7]).round(2).tolist()
    [0.3, 0.1, 0.1]
    """
    mu = at_least_two("rewards", rewards)
    best = int(mu.argmax())
    delta = np.asarray(mu[best] - mu)
    delta[best] = np.delete(delta, best).min()
    return delta


def observation_threshold(q: ArrayLike) -> int:
    """Return m (Definition 1): the smallest t such that at most t arms have ``q_a < 1/t``. At most K.

    Examples
    --------
    The balanced parallel graph on ten variables:

    >>> observation_threshold([1.0] + [0.5] * 20)
    2
    """
    q = np.asarray(q, dtype=np.float64)
    return next((t for t in range(1, len(q)) if np.count_nonzero(q < 1.0 / t) <= t), len(q))


def hardness(q: ArrayLike, rewards: ArrayLike, epsilon: float = 0.0) -> Floats:
    """Return H_1, ..., H_K (section 3): the sums of ``1 / max(Delta_a, epsilon/2)^2`` over the hardest arms.

    The arms are taken in the order of ``q_a max(Delta_a, epsilon/2)^2``. H_K is the H of LUCB. Infinite where the best
    arm is not unique and epsilon is 0.
    """
    squared = np.maximum(gaps(rewards), epsilon / 2.0) ** 2
    order = np.argsort(np.asarray(q, dtype=np.float64) * squared, kind="stable")
    with np.errstate(divide="ignore"):
        return np.asarray(np.cumsum(1.0 / squared[order]), dtype=np.float64)


def gap_dependent_threshold(q: ArrayLike, rewards: ArrayLike, epsilon: float = 0.0) -> int:
    """Return m_{epsilon,Delta} (Definition 2): the number of hard arms, at most twice the observation threshold.

    It is the smallest t such that at most t arms have ``q_a max(Delta_a, epsilon/2)^2 < 1/H_t``.

    Examples
    --------
    Section 3's example at n = 8: m = 8, but only the two arms close together are hard.

    >>> q, rewards = [1.0] + [1 / 8] * 15, [0.4, 0.9, 0.9 - 1 / 8] + [0.4] * 13
    >>> observation_threshold(q), gap_dependent_threshold(q, rewards)
    (8, 2)
    """
    sums = hardness(q, rewards, epsilon)
    return next(
        (t for t in range(1, len(sums)) if np.count_nonzero(_below(q, rewards, epsilon, sums[t - 1])) <= t), len(sums)
    )


def hard_arms(q: ArrayLike, rewards: ArrayLike, epsilon: float = 0.0) -> NDArray[np.bool_]:
    """Return which arms are hard (section 3): so seldom observed, for their gap, that they have to be played.

    They have ``q_a max(Delta_a, epsilon/2)^2 < 1/H_m`` at the gap-dependent threshold m, which counts them.

    Examples
    --------
    >>> hard_arms([1.0, 0.01, 0.5], [0.4, 0.6, 0.5]).tolist()
    [False, True, False]
    """
    return _below(q, rewards, epsilon, hardness(q, rewards, epsilon)[gap_dependent_threshold(q, rewards, epsilon) - 1])


def _below(q: ArrayLike, rewards: ArrayLike, epsilon: float, total: float) -> NDArray[np.bool_]:
    """Return where ``q_a max(Delta_a, epsilon/2)^2`` is below 1 over a sum of hardness."""
    worth = np.asarray(q, dtype=np.float64) * np.maximum(gaps(rewards), epsilon / 2.0) ** 2
    with np.errstate(invalid="ignore"):  # 0 times infinity: best arms that are equal
        # an arm with worth = 1/H_t, such as the hardest at t = 1 with q = 1, is not hard
        return np.asarray(worth * total < 1.0 - 1e-12)


def fixed_budget_weights(n_arms: int, threshold: int) -> Floats:
    """Return alpha_1, ..., alpha_N of Theorem 5: what Causal Successive Rejects gains over 1/k by observing.

    Parameters
    ----------
    n_arms, threshold
        N and m.
    """
    k = np.arange(1, n_arms + 1)
    tail = np.append(np.cumsum(1.0 / k[::-1])[::-1][1:], 0.0)  # sum of 1/i over i > k
    hard = 1.0 / k + tail[threshold - 1] / threshold
    return np.where(k > threshold, (1.0 + tail) / threshold, hard)


def fixed_budget_hardness(q: ArrayLike, rewards: ArrayLike, epsilon: float = 0.0) -> float:
    """Return H_3 of Theorem 5: ``max_k 1 / (alpha_k max(Delta^(k), epsilon)^2)``, never above the H_2 of SR and SH."""
    ordered = np.sort(np.maximum(gaps(rewards), epsilon))
    alpha = fixed_budget_weights(len(ordered), observation_threshold(q))
    with np.errstate(divide="ignore"):
        return float((1.0 / (alpha * ordered**2)).max())


def log_bar(n_arms: int) -> float:
    """Return ``1/2 + 1/2 + 1/3 + ... + 1/N``, with which the phases of Successive Rejects fill the budget exactly."""
    return 0.5 + sum(1.0 / i for i in range(2, n_arms + 1))


def at_least_two(name: str, values: ArrayLike) -> Floats:
    """Return finite numbers of two arms or more."""
    array = np.array(values, dtype=np.float64)
    if array.ndim != 1 or len(array) < 2 or not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite numbers of at least two arms, but got {values!r}")
    return array
