"""Confidence: intervals, radii and confidence sequences. Arrays in, arrays out; no graph is known here.

Every interval that is called exact holds simultaneously at all times: the time at which one looks, or stops, may
depend on the data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "BGLM_RADII",
    "Intervals",
    "asymptotic_threshold",
    "kl_intervals",
    "kt_interval",
    "lil_radius",
    "lucb1_radius",
    "paper_bglm_radius",
    "paper_direct_radius",
    "paper_observational_radius",
]

TIGHTEST = 1000.0
"""The number of plays at which the asymptotic confidence sequence is tightest."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Intervals:
    """Intervals [L, U] for the expected rewards of the arms.

    Attributes
    ----------
    lower, upper
        Arrays over the arms, in [0, 1].
    """

    lower: Floats
    upper: Floats

    @classmethod
    def vacuous(cls, n_arms: int) -> Intervals:
        """Return [0, 1] for every arm: what is known of a reward before it was seen."""
        return cls(np.zeros(n_arms), np.ones(n_arms))

    @property
    def midpoint(self) -> Floats:
        """The midpoints, the paper's estimates mu-hat."""
        return 0.5 * (self.lower + self.upper)

    def intersect(self, other: Intervals) -> Intervals:
        """Return the common part of two intervals for each arm; empty where its lower end is above its upper end."""
        return Intervals(np.maximum(self.lower, other.lower), np.minimum(self.upper, other.upper))


# ---------------------------------------------------------------------------------------------- direct plays of an arm


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
    refresh_kt(n, x, np.full(len(n), -1.0), math.log(1 / probability("alpha", alpha)), lower, upper)
    return Intervals(lower, upper)


def paper_direct_radius(plays: ArrayLike, n_arms: int, delta: float, alpha: float = 2.0) -> Floats:
    """Return beta_I of Eqs. (6) and (12): ``alpha sqrt(log(|A| log(2n) / delta) / n)``; infinite where n = 0.

    ``alpha = 2`` is the constant of the theorems, the smaller ones of the experiments have no guarantee.
    """
    n = np.asarray(plays, dtype=np.float64)
    return np.array([union_radius(k, n_arms / probability("delta", delta), k, alpha) for k in n.ravel()]).reshape(
        n.shape
    )


def lucb1_radius(plays: ArrayLike, n_arms: int, iteration: int, delta: float, alpha: float = 1.0) -> Floats:
    """Return LUCB1's radius ``alpha sqrt(log(1.25 K t^4 / delta) / (2n))``; infinite where n = 0.

    t counts iterations of two plays, from K at the end of the first play of every arm. Source: Kalyanakrishnan et al.
    2012, section 3; alpha = 1 is theirs, the smaller ones of the paper's experiments have no guarantee.
    """
    level = math.log(1.25 * n_arms * float(iteration) ** 4 / probability("delta", delta))
    n = np.asarray(plays, dtype=np.float64)
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


def paper_observational_radius(
    observations: int,
    smallest_cell: float,
    n_treatments: int,
    n_adjusted: int,
    n_cells: int,
    n_arms: int,
    delta: float,
    alpha: float = 8.0,
) -> float:
    """Return beta_O of Eq. (12): ``alpha sqrt(log(20 k |A| Z_a I_a log(2t) / delta) / T_a)``; infinite where T_a = 0.

    As printed the logarithm is that of 0 where nothing is adjusted for; k and Z_a are taken as at least 1, and t is the
    number of observations, as in the proof.

    Parameters
    ----------
    observations
        t.
    smallest_cell, n_treatments, n_adjusted, n_cells
        T_a = min_z T_{a,z}, k = |S|, Z_a = |Z| and I_a, the number of values of Z.
    alpha
        8 in the theorem; its proof has gaps, so that not even this has a full guarantee.
    """
    union = paper_observational_union(n_treatments, n_adjusted, n_cells, n_arms)
    return float(union_radius(smallest_cell, union / probability("delta", delta), observations, alpha))


BGLM_RADII = ("printed", "proved", "ell_D", "ell", "plain")
"""The readings of beta_O for BGLM, see `paper_bglm_radius`."""


def paper_bglm_radius(
    observations: int,
    n_on_paths: ArrayLike,
    most_parents: int,
    n_nodes: int,
    delta: float,
    *,
    reading: str,
    alpha: float,
    slope_ratio: float = 1.0,
    eta: float = 1.0,
) -> Floats:
    """Return beta_O of Eq. (6), ``alpha c sqrt(log(3 n t^2 / delta) / t)``, in one of five readings of the factor c.

    ========== ============================================ ==========================================================
    reading    c                                            worth
    ========== ============================================ ==========================================================
    printed    M1 / (kappa sqrt(eta)) D^1.5 l D^1.5         Eq. (6) with q_a of Eq. (5): D^1.5 stands in both
    proved     M1 / (kappa sqrt(eta)) l D^1.5               where the proof ends; with alpha = 6 sqrt(2) the theorem
    ell_D      l D^1.5                                      proved for a linear model, less sqrt(eta)
    ell        l                                            the only one whose best alphas are the paper's (.05, .4)
    plain      1                                            the rate alone
    ========== ============================================ ==========================================================

    None carries a full guarantee. The proof bounds the estimate in one fixed direction and uses it in many, and spends
    delta more often than it has it. The last three are for tuned alphas.

    Parameters
    ----------
    observations
        t, at least 1.
    n_on_paths
        l, array over the arms: the size of N_{S,Y} (`pgcpe.identification.nodes_on_paths`).
    most_parents, n_nodes
        D, counting the constant parent, and n, the number of nodes with an equation.
    slope_ratio, eta
        M1 / kappa, and the probability of Assumption 3.
    """
    if reading not in BGLM_RADII:
        raise ValueError(f"radius must be one of {', '.join(map(repr, BGLM_RADII))}, but got {reading!r}")
    ell, d = np.asarray(n_on_paths, dtype=np.float64), float(most_parents) ** 1.5
    assumed = slope_ratio / math.sqrt(eta)
    factor = {
        "printed": assumed * d * ell * d,
        "proved": assumed * ell * d,
        "ell_D": ell * d,
        "ell": ell,
        "plain": np.ones_like(ell),
    }[reading]
    level = math.log(3.0 * n_nodes * float(observations) ** 2 / probability("delta", delta))
    return np.asarray(alpha * factor * math.sqrt(level / observations))


def paper_observational_union(n_treatments: int, n_adjusted: int, n_cells: int, n_arms: int) -> float:
    """Return ``20 k |A| Z_a I_a``, the number of events that beta_O's union bound pays for."""
    return 20.0 * max(n_treatments, 1) * n_arms * max(n_adjusted, 1) * n_cells


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


@njit(cache=True)
def union_radius(n, union_over_delta, t, alpha):  # type: ignore[no-untyped-def]
    """Return ``alpha sqrt(log(union log(2t) / delta) / n)``, the form of both of the paper's radii."""
    if n <= 0:
        return math.inf
    return alpha * math.sqrt(max(math.log(union_over_delta * math.log(2.0 * max(t, 1))), 0.0) / n)


@njit(cache=True)
def refresh_kt(plays, rewards, done, log_inverse_alpha, lower, upper):  # type: ignore[no-untyped-def]
    """Recompute the bounds of `kt_interval` in place for the arms whose plays are not those of `done`."""
    for i in range(len(plays)):
        n, x = plays[i], min(max(rewards[i], 0.0), plays[i])
        if n == done[i] or n == 0:
            continue
        done[i] = n
        level = (log_inverse_alpha + kt_regret(x, n)) / n
        lower[i], upper[i] = 1.0 - _kl_upper(1.0 - x / n, level), _kl_upper(x / n, level)


@njit(cache=True)
def _kl_bounds(plays, rewards, level, lower, upper):  # type: ignore[no-untyped-def]
    for i in range(len(plays)):
        if plays[i] > 0:
            p, gain = rewards[i] / plays[i], level[i] / plays[i]
            lower[i], upper[i] = 1.0 - _kl_upper(1.0 - p, gain), _kl_upper(p, gain)


@njit(cache=True)
def refresh_paper(plays, rewards, done, arms_over_delta, alpha, lower, upper):  # type: ignore[no-untyped-def]
    """Recompute mean -+ `paper_direct_radius` in place for the arms whose plays are not those of `done`."""
    for i in range(len(plays)):
        if plays[i] != done[i] and plays[i] > 0:
            done[i] = plays[i]
            mean, radius = rewards[i] / plays[i], union_radius(plays[i], arms_over_delta, plays[i], alpha)
            lower[i], upper[i] = max(mean - radius, 0.0), min(mean + radius, 1.0)


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
    best = 0.0
    if x > 0.0:
        best += x * math.log(x / n)
    if x < n:
        best += (n - x) * math.log((n - x) / n)
    return best - (math.lgamma(x + 0.5) + math.lgamma(n - x + 0.5) - math.lgamma(n + 1.0) - math.log(math.pi))


def probability(name: str, value: float) -> float:
    """Return a value that must lie strictly between 0 and 1."""
    if not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, but got {value!r}")
    if not 0 < value < 1:
        raise ValueError(f"{name} must be between 0 and 1, but got {value}")
    return value
