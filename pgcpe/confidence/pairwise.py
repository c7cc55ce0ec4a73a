"""Tests of one arm against another, valid whenever one looks. Arrays in, arrays out; no graph is known here."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pgcpe._numba import njit
from pgcpe.confidence.sequences import bernoulli_kl, regret_since

__all__ = ["pairwise_glr", "pairwise_glr_since", "transport_costs"]

Floats = NDArray[np.float64]


def transport_costs(plays: ArrayLike, rewards: ArrayLike, leader: int, epsilon: float = 0.0) -> Floats:
    """Return the evidence against each arm being better than the leader by epsilon, in nats.

    ``min n_h kl(p_h, m_h) + n_l kl(p_l, m_l)`` over all means with ``m_l - m_h >= epsilon``, h the leader: the log of
    the generalised likelihood ratio, 0 where the empirical means do not contradict it.

    Parameters
    ----------
    plays, rewards
        Arrays over the arms: plays and sums of rewards in [0, 1].
    leader
        The index of h.
    epsilon
        The tolerance.

    Returns
    -------
    numpy.ndarray
        Never above the exact minimum, and within 1e-9 of it; infinite at the leader.

    Examples
    --------
    Eight of ten against two of ten, both of mean one half if they were equal:

    >>> transport_costs([10, 10], [8, 2], leader=0).round(3)
    array([  inf, 3.855])
    """
    n, x = _counts(plays, rewards)
    return np.asarray(pairs(n, x, leader, epsilon)[0])


def pairwise_glr(plays: ArrayLike, rewards: ArrayLike, leader: int, epsilon: float = 0.0) -> Floats:
    """Return the evidence against each arm being better than the leader by epsilon: it is to reach log((K-1)/delta).

    It is the transport cost less what the two Beta(1/2, 1/2) mixtures lose to the largest likelihoods. That an arm l is
    better than h by epsilon and this is ever above ``log(1/alpha)`` has probability at most alpha, for rewards of any
    distribution on [0, 1] whose means given the past are those of their arms: the arms' plays are disjoint, so the
    product of the two mixture martingales is one. Only the K - 1 pairs with the best arm can cause a wrong answer.

    Parameters, range and errors are those of `transport_costs`.
    """
    n, x = _counts(plays, rewards)
    return np.asarray(statistics(n, x, np.zeros(len(n)), np.zeros(len(n)), leader, epsilon))


def pairwise_glr_since(
    plays: ArrayLike,
    rewards: ArrayLike,
    before_plays: ArrayLike,
    before_rewards: ArrayLike,
    leader: int,
    epsilon: float = 0.0,
) -> Floats:
    """Return the evidence of `pairwise_glr` in the plays since some time, with those before it as the prior.

    The mixtures are Beta(1/2 + successes before, 1/2 + failures before), fixed when the betting begins, and the
    likelihoods are those of the plays since. If the leader was fixed then too, the best arm is the only one that can be
    ruled out wrongly: that it ever is at ``log(1/alpha)`` has probability at most alpha, however many arms there are.

    Parameters
    ----------
    plays, rewards
        Arrays over the arms, of all plays.
    before_plays, before_rewards
        Those of the plays before.
    leader, epsilon
        As for `transport_costs`.

    Returns
    -------
    numpy.ndarray
        In nats, infinite at the leader.

    Examples
    --------
    >>> pairwise_glr_since([20, 20], [16, 4], [10, 10], [8, 2], leader=0).round(3)
    array([  inf, 3.196])
    """
    n, x = _counts(plays, rewards)
    n_before, x_before = _counts(before_plays, before_rewards)
    if n_before.shape != n.shape or np.any(n_before > n):
        raise ValueError("before_plays must have one entry for each arm, none above plays")
    return np.asarray(statistics(n, x, n_before, x_before, leader, epsilon))


def _counts(plays: ArrayLike, rewards: ArrayLike) -> tuple[Floats, Floats]:
    n, x = np.asarray(plays, dtype=np.float64), np.asarray(rewards, dtype=np.float64)
    if n.ndim != 1 or n.shape != x.shape or not (np.isfinite(n).all() and np.isfinite(x).all() and (n >= 0).all()):
        raise ValueError(f"plays and rewards must be finite arrays over the arms, but got {plays!r} and {rewards!r}")
    return n, np.clip(x, 0.0, n)


@njit(cache=True)
def statistics(n, x, n_before, x_before, h, epsilon):  # type: ignore[no-untyped-def]
    """Return `pairwise_glr_since` for checked arrays."""
    since, gained = n - n_before, np.maximum(x - x_before, 0.0)
    found = pairs(since, gained, h, epsilon)[0]
    of_leader = regret_since(gained[h], since[h], x_before[h], n_before[h])
    for i in range(len(n)):
        found[i] -= of_leader + regret_since(gained[i], since[i], x_before[i], n_before[i])
    return found


@njit(cache=True)
def pairs(n, x, h, epsilon):  # type: ignore[no-untyped-def]
    """Return the transport cost of every arm and the leader's share of it, for checked arrays.

    The share, of information-directed selection, is what the leader's plays contribute to the cost; 1/2 where it is 0.
    """
    costs, shares = np.zeros(len(n)), np.full(len(n), 0.5)
    p_h = min(x[h] / n[h], 1.0) if n[h] > 0 else 0.0
    for i in range(len(n)):
        if i == h:
            costs[i] = math.inf
        elif n[i] > 0 and n[h] > 0:
            p = min(x[i] / n[i], 1.0)
            if p_h + epsilon > p:
                costs[i], m = _closest(n[h], p_h, n[i], p, epsilon)
                if costs[i] > 0.0:
                    shares[i] = min(n[h] * bernoulli_kl(p_h, m) / costs[i], 1.0)
    return costs, shares


@njit(cache=True)
def _closest(n_h, p_h, n_l, p_l, epsilon):  # type: ignore[no-untyped-def]
    """Return the minimum over m of n_h kl(p_h, m) + n_l kl(p_l, m + epsilon), from below, and where it is."""
    if epsilon == 0.0:
        m = (n_h * p_h + n_l * p_l) / (n_h + n_l)
        return n_h * bernoulli_kl(p_h, m) + n_l * bernoulli_kl(p_l, m), m
    low, high = max(0.0, p_l - epsilon), min(p_h, 1.0 - epsilon)  # it falls below the one and rises above the other
    for _ in range(60):
        m = 0.5 * (low + high)
        if _slope(n_h, p_h, m) + _slope(n_l, p_l, m + epsilon) < 0.0:
            low = m
        else:
            high = m
    m = 0.5 * (low + high)
    cost = n_h * bernoulli_kl(p_h, m) + n_l * bernoulli_kl(p_l, m + epsilon)
    if high > low:  # convex: the minimum is not below the tangent
        cost -= abs(_slope(n_h, p_h, m) + _slope(n_l, p_l, m + epsilon)) * (high - low)
    return max(cost, 0.0), m


@njit(cache=True)
def _slope(n, p, m):  # type: ignore[no-untyped-def]
    """Return the derivative of n kl(p, m) by m."""
    if m <= 0.0:
        return -math.inf if p > 0.0 else n
    if m >= 1.0:
        return math.inf if p < 1.0 else -n
    return n * (m - p) / (m * (1.0 - m))
