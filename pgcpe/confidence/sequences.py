"""Confidence sequences for direct plays: intervals, radii and thresholds. Arrays in, arrays out.

Every interval that is called exact holds simultaneously at all times: the time at which one looks, or stops, may
depend on the data.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from pgcpe._numba import njit
from pgcpe.confidence.intervals import Floats, Intervals, probability

__all__ = ["asymptotic_threshold", "kl_intervals", "kt_interval", "lil_radius", "lucb1_radius", "normal_nats"]

TIGHTEST = 1000.0
"""The number of plays at which the asymptotic confidence sequence is tightest."""


def kt_interval(plays: ArrayLike, rewards: ArrayLike, alpha: float) -> Intervals:
    """Return the exact confidence sequence for means of rewards in [0, 1] (Krichevsky-Trofimov mixture).

    With n plays, reward sum x and p = x/n, the interval is ``{mu : n kl(p, mu) <= log(1/alpha) + R(x, n)}``, R being
    what a Beta(1/2, 1/2) mixture of likelihoods loses to the largest one. It holds for all n at once with probability
    at least ``1 - alpha``, both sides together, for rewards of any distribution on [0, 1] whose mean given the past
    is mu: the mixture over the likelihood is a martingale for 0/1 rewards and at most one otherwise.

    Parameters
    ----------
    plays, rewards
        n and x, arrays over the arms; x is clipped to [0, n].
    alpha
        Error probability for each arm, in (0, 1).

    Returns
    -------
    Intervals
        [0, 1] where n = 0.

    Raises
    ------
    ValueError
        If the arrays differ in shape, an entry is not finite or n is negative, or alpha is out of range.

    Examples
    --------
    >>> kt_interval([100], [90], 0.05 / 57).upper.round(3)
    array([0.983])
    """
    n, x = np.atleast_1d(np.asarray(plays, np.float64)), np.atleast_1d(np.asarray(rewards, np.float64))
    if n.ndim != 1 or n.shape != x.shape or not (np.isfinite(n).all() and np.isfinite(x).all() and (n >= 0).all()):
        raise ValueError(f"plays and rewards must be finite arrays over the arms, but got {plays!r} and {rewards!r}")
    x = np.clip(x, 0, n)
    lower, upper = np.zeros(len(n)), np.ones(len(n))
    nats = np.full((2, len(n)), -math.log(probability("alpha", alpha)))
    refresh_kt(n, x, np.full(len(n), -1.0), nats, lower, upper)
    return Intervals(lower, upper)


def lucb1_radius(plays: ArrayLike, n_arms: int, iteration: int, delta: float, alpha: float = 1.0) -> Floats:
    """Return LUCB1's radius ``alpha sqrt(log(1.25 K t^4 / delta) / (2n))``; infinite where n = 0.

    t counts iterations of two plays, from K at the end of the first play of every arm, and for an arm played more often
    than that its own plays: the union is over pairs n <= t. Source: Kalyanakrishnan et al. 2012, section 3; alpha = 1
    is theirs, the smaller ones of the paper's experiments have no guarantee.
    """
    n = np.asarray(plays, dtype=np.float64)
    level = np.log(1.25 * n_arms * np.maximum(n, float(iteration)) ** 4 / probability("delta", delta))
    return np.asarray(alpha * np.sqrt(level / (2.0 * np.maximum(n, 1e-300))), dtype=np.float64)


def lil_radius(plays: ArrayLike, delta: float, alpha: float = 1.0) -> Floats:
    """Return the radius of the lil'UCB heuristic, ``1.5 alpha sqrt(log(5 max(log n, 1) / delta) / (2n))``.

    epsilon = 0, beta = 1/2 and delta/5 of Jamieson et al. 2014, section 5, for rewards in [0, 1]; log log n is kept off
    its pole at n = 1. Infinite where n = 0. Not proved.
    """
    n = np.asarray(plays, dtype=np.float64)
    level = np.log(5.0 * np.maximum(np.log(np.maximum(n, 1.0)), 1.0) / probability("delta", delta))
    return np.asarray(1.5 * alpha * np.sqrt(level / (2.0 * np.maximum(n, 1e-300))), dtype=np.float64)


KL_EXPONENT, KL_FACTOR = 1.1, 11.0
"""alpha and k_1 of KL-LUCB: any alpha > 1 will do with ``k_1 > 1 + 1 / (alpha - 1)``."""


def kl_intervals(plays: ArrayLike, rewards: ArrayLike, iteration: int, delta: float) -> Intervals:
    """Return KL-LUCB's intervals ``{mu : n kl(p, mu) <= log(11 K t^1.1 / delta)}``; [0, 1] where n = 0.

    t counts iterations, and for an arm played more often than that its own plays. K one-sided events, one for the upper
    end of the best arm and one for the lower end of each other, hold with probability 1 - delta at all times: each
    fails at its n-th play with probability at most ``delta / (11 K n^1.1)``. Source: Kaufmann and Kalyanakrishnan 2013.
    """
    n, x = np.asarray(plays, dtype=np.float64), np.asarray(rewards, dtype=np.float64)
    t = np.maximum(np.maximum(n, float(iteration)), 1.0)
    level = np.log(KL_FACTOR * len(n) / probability("delta", delta)) + KL_EXPONENT * np.log(t)
    lower, upper = np.zeros(len(n)), np.ones(len(n))
    _kl_bounds(n, np.clip(x, 0.0, n), level, lower, upper)
    return Intervals(lower, upper)


def asymptotic_threshold(plays: float, alpha: float) -> float:
    """Return beta: where ``(estimate - truth)^2 / (2 variance)`` stays below at all plays, in the limit.

    The asymptotic confidence sequence of Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2024, two-sided, tightest at
    about a thousand plays; ``estimate -+ sqrt(2 beta variance)``. It holds in the limit of a late start, for estimates
    whose every relevant part keeps a share of the plays.

    Parameters
    ----------
    plays
        The number of plays t, at least 1.
    alpha
        Error probability, in (0, 1).

    Returns
    -------
    float
        ``(1 + 1/(t rho^2)) (log(1/alpha) + log(1 + t rho^2) / 2)``, in nats.

    Examples
    --------
    >>> round(asymptotic_threshold(1000, 0.05), 2)
    4.61
    """
    nats = -math.log(probability("alpha", alpha))
    if not plays >= 1:
        raise ValueError(f"plays must be at least 1, but got {plays}")
    spread = plays * (2.0 * nats + math.log(2.0 * nats + 1.0)) / TIGHTEST
    return (1.0 + 1.0 / spread) * (nats + 0.5 * math.log1p(spread))


def normal_nats(alpha: float) -> float:
    """Return z^2 / 2 for the z that a standard normal variable exceeds with probability alpha, at most 1/2.

    Examples
    --------
    >>> round(normal_nats(0.025), 2)
    1.92
    """
    return 0.5 * min(NormalDist().inv_cdf(probability("alpha", alpha)), 0.0) ** 2


@njit(cache=True)
def refresh_kt(plays, rewards, done, nats, lower, upper):  # type: ignore[no-untyped-def]
    """Recompute the bounds of `kt_interval` in place for the arms whose plays are not those of `done`.

    ``nats`` has a row of lower and one of upper ends: -log of the error probability of each.
    """
    for i in range(len(plays)):
        n, x = plays[i], min(max(rewards[i], 0.0), plays[i])
        if n == done[i] or n == 0:
            continue
        done[i] = n
        regret = kt_regret(x, n)
        lower[i] = 1.0 - _kl_upper(1.0 - x / n, (nats[0, i] + regret) / n)
        upper[i] = _kl_upper(x / n, (nats[1, i] + regret) / n)


@njit(cache=True)
def _kl_bounds(plays, rewards, level, lower, upper):  # type: ignore[no-untyped-def]
    for i in range(len(plays)):
        if plays[i] > 0:
            p, gain = rewards[i] / plays[i], level[i] / plays[i]
            lower[i], upper[i] = 1.0 - _kl_upper(1.0 - p, gain), _kl_upper(p, gain)


@njit(cache=True)
def _kl_upper(p, level):  # type: ignore[no-untyped-def]
    """Return the largest q with kl(p, q) <= level, from outside."""
    inside, outside = p, 1.0
    for _ in range(46):  # 2^-46 is below 1e-13
        q = 0.5 * (inside + outside)
        if bernoulli_kl(p, q) <= level:
            inside = q
        else:
            outside = q
    return outside


@njit(cache=True)
def bernoulli_kl(p, q):  # type: ignore[no-untyped-def]
    """Return kl(p, q), the divergence of two Bernoulli distributions, infinite where q rules out what p allows."""
    total = 0.0
    if p > 0.0:
        total += p * math.log(p / q) if q > 0.0 else math.inf
    if p < 1.0:
        total += (1.0 - p) * math.log((1.0 - p) / (1.0 - q)) if q < 1.0 else math.inf
    return total


@njit(cache=True)
def kt_regret(x, n):  # type: ignore[no-untyped-def]
    """Return the log of the largest likelihood over its Beta(1/2, 1/2) mixture."""
    return regret_since(x, n, 0.0, 0.0)


@njit(cache=True)
def regret_since(x, n, x_before, n_before):  # type: ignore[no-untyped-def]
    """Return the same for a mixture whose prior was fed n_before plays that gave x_before."""
    if n <= 0.0:
        return 0.0
    x = min(x, n)
    best = 0.0
    if x > 0.0:
        best += x * math.log(x / n)
    if x < n:
        best += (n - x) * math.log((n - x) / n)
    a, b = x_before + 0.5, max(n_before - x_before, 0.0) + 0.5
    return best - (_log_beta(a + x, b + n - x) - _log_beta(a, b))


@njit(cache=True)
def _log_beta(a, b):  # type: ignore[no-untyped-def]
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
