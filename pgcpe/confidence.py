"""Confidence: radii, confidence sequences and likelihood-ratio regions. Arrays in, arrays out; no graph is known here.

Every interval that is called exact holds simultaneously at all times: the time at which one looks, or stops, may
depend on the data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Intervals",
    "kt_interval",
    "likelihood_ratio_interval",
    "paper_direct_radius",
    "paper_observational_radius",
    "smoothed_value",
    "tree_interval",
]

Floats = NDArray[np.float64]

TOLERANCE = 1e-6
"""How far outside of the likelihood-ratio region's extremes a bound may lie for want of convergence."""

LOG_LAMBDA_MIN = -27.0
"""Below, a multiplier moves no bound by more than its rounding."""


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


# ------------------------------------------------------------------------------------------------ direct plays of an arm


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

    Examples
    --------
    >>> kt_interval([100], [90], 0.05 / 57).upper.round(3)
    array([0.978])
    """
    n = np.atleast_1d(np.asarray(plays, dtype=np.float64))
    x = np.clip(np.atleast_1d(np.asarray(rewards, dtype=np.float64)), 0, n)
    lower, upper = np.zeros(len(n)), np.ones(len(n))
    refresh_kt(n, x, np.full(len(n), -1.0), math.log(1 / _probability("alpha", alpha)), lower, upper)
    return Intervals(lower, upper)


def paper_direct_radius(plays: ArrayLike, n_arms: int, delta: float, alpha: float = 2.0) -> Floats:
    """Return beta_I of Eqs. (6) and (12): ``alpha sqrt(log(|A| log(2n) / delta) / n)``; infinite where n = 0.

    ``alpha = 2`` is the constant of the theorems, the smaller ones of the experiments have no guarantee.
    """
    n = np.asarray(plays, dtype=np.float64)
    safe = np.maximum(n, 1.0)
    log_term = np.log(n_arms * np.log(2 * safe) / _probability("delta", delta))
    return np.where(n > 0, alpha * np.sqrt(np.maximum(log_term, 0.0) / safe), np.inf)


def paper_observational_radius(
    observations: int,
    smallest_cell: ArrayLike,
    n_treatments: ArrayLike,
    n_adjusted: ArrayLike,
    n_cells: ArrayLike,
    n_arms: int,
    delta: float,
    alpha: float = 8.0,
) -> Floats:
    """Return beta_O of Eq. (12): ``alpha sqrt(log(20 k |A| Z_a I_a log(2t) / delta) / T_a)``.

    As printed the logarithm is that of 0 where nothing is adjusted for; k and Z_a are taken as at least 1, and t is the
    number of observations, as in the proof.

    Parameters
    ----------
    observations
        t.
    smallest_cell, n_treatments, n_adjusted, n_cells
        T_a = min_z T_{a,z}, k = |S|, Z_a = |Z| and I_a, the number of values of Z; arrays over the arms.
    alpha
        8 in the theorem; its proof has gaps, so that not even this has a full guarantee.
    """
    smallest = np.asarray(smallest_cell, dtype=np.float64)
    factor = 20.0 * np.maximum(n_treatments, 1) * n_arms * np.maximum(n_adjusted, 1) * np.asarray(n_cells)
    log_term = np.log(factor * math.log(2 * max(observations, 1)) / _probability("delta", delta))
    return np.where(smallest > 0, alpha * np.sqrt(np.maximum(log_term, 0.0) / np.maximum(smallest, 1.0)), np.inf)


@njit(cache=True)
def refresh_kt(plays, rewards, done, log_inverse_alpha, lower, upper):  # type: ignore[no-untyped-def]
    """Recompute the bounds of `kt_interval` in place for the arms whose plays are not those of `done`."""
    for i in range(len(plays)):
        n, x = plays[i], min(max(rewards[i], 0.0), plays[i])
        if n == done[i] or n == 0:
            continue
        done[i] = n
        level = (log_inverse_alpha + _regret2(x, n)) / n
        lower[i], upper[i] = 1.0 - _kl_upper(1.0 - x / n, level), _kl_upper(x / n, level)


@njit(cache=True)
def _kl_upper(p, level):  # type: ignore[no-untyped-def]
    """Return the largest q with kl(p, q) <= level, from outside."""
    inside, outside = p, 1.0
    for _ in range(46):  # 2^-46 is below 1e-13
        q = 0.5 * (inside + outside)
        if _kl(p, q) <= level:
            inside = q
        else:
            outside = q
    return outside


@njit(cache=True)
def _kl(p, q):  # type: ignore[no-untyped-def]
    total = 0.0
    if p > 0.0:
        total += p * math.log(p / q) if q > 0.0 else math.inf
    if p < 1.0:
        total += (1.0 - p) * math.log((1.0 - p) / (1.0 - q)) if q < 1.0 else math.inf
    return total


@njit(cache=True)
def _regret2(x, n):  # type: ignore[no-untyped-def]
    """Return the log of the largest likelihood over its Beta(1/2, 1/2) mixture."""
    best = 0.0
    if x > 0.0:
        best += x * math.log(x / n)
    if x < n:
        best += (n - x) * math.log((n - x) / n)
    return best - (math.lgamma(x + 0.5) + math.lgamma(n - x + 0.5) - math.lgamma(n + 1.0) - math.log(math.pi))


# ----------------------------------------------------------------------------------------- the tree of an adjustment formula
#
# A tree has D levels of splits and leaves. Its nodes are numbered level by level from the root, 0; the children of node
# j of level d, of which there are arity[d], are nodes j * arity[d], ... of level d + 1. into[c] counts the rounds that
# went into node c among those admitted to its level; a leaf has n rounds whose rewards sum to x. With p the
# probability of going into a node and q the mean reward of a leaf, the value is mu = sum over leaves of w q, where
# w is the product of the p on the way (Eq. 4).


def likelihood_ratio_interval(
    splits: Sequence[ArrayLike], plays: ArrayLike, rewards: ArrayLike, alpha: float
) -> tuple[float, float]:
    """Return the exact interval for the value of a tree: the extremes over its likelihood-ratio region.

    The region is ``{p, q : sum over nodes of n kl(p-hat, p) <= log(1/alpha) + sum of R}``, with R of each node as in
    `kt_interval` (Dirichlet(1/2, ..., 1/2) mixture for a split into more than two). The product of the nodes'
    mixtures over their likelihoods is a martingale, so that it holds at all times with probability ``1 - alpha``, both
    ends together. The maximum is a convex problem in the probabilities of the prefixes as long as the rounds admitted
    to a level are among those admitted to the one before; each end is certified by weak duality and therefore
    never inside the true one.

    Parameters
    ----------
    splits
        One array for each level, of shape (nodes of the level, arity): how many of the admitted rounds went where.
    plays, rewards
        Arrays over the leaves: rounds, and the sum of their rewards in [0, 1].
    alpha
        Error probability, in (0, 1).

    Returns
    -------
    float, float
        L and U.

    Raises
    ------
    ValueError
        If shapes do not fit, a count is negative, or a level admits a round that an earlier one did not.

    Examples
    --------
    >>> lower, upper = likelihood_ratio_interval([[[60, 40]]], [30, 20], [10, 15], 0.05)
    >>> round(lower, 3), round(upper, 3)
    (0.277, 0.722)
    """
    levels = [np.atleast_2d(np.asarray(level, dtype=np.float64)) for level in splits]
    n, x = np.atleast_1d(np.asarray(plays, dtype=np.float64)), np.atleast_1d(np.asarray(rewards, dtype=np.float64))
    nodes = 1
    for d, level in enumerate(levels):
        if level.ndim != 2 or level.shape[0] != nodes or level.shape[1] < 2:
            raise ValueError(f"level {d} must have shape ({nodes}, 2 or more), but got {level.shape}")
        nodes *= level.shape[1]
    if n.shape != (nodes,) or x.shape != (nodes,):
        raise ValueError(f"plays and rewards must have {nodes} entries, but got {n.shape} and {x.shape}")
    if min([*(level.min() for level in levels), x.min(), (n - x).min()]) < 0:
        raise ValueError("counts must not be negative, and rewards lie between 0 and plays")
    for d, level in enumerate(levels):
        below = levels[d + 1].sum(axis=1) if d + 1 < len(levels) else n
        if np.any(below > level.ravel()):
            raise ValueError(f"level {d + 1} admits rounds that level {d} does not")
    into = np.concatenate([[levels[0].sum() if levels else n[0]], *(level.ravel() for level in levels)])
    arity = np.array([level.shape[1] for level in levels], dtype=np.int64)
    lower, upper = tree_interval(arity, into, n, x, math.log(1 / _probability("alpha", alpha)))
    return float(lower), float(upper)


@njit(cache=True)
def smoothed_value(arity, into, n, x):  # type: ignore[no-untyped-def]
    """Return the value of a tree at the smoothed frequencies (n_c + 1/2) / (n + m/2), and its variance.

    The variance is that of the delta method. Without smoothing it is 0 where a cell has seen only zeros.
    """
    p, w, v, q = np.empty(len(into)), np.empty(len(into)), np.empty(len(into)), np.empty(len(n))
    variance = _start(arity, into, n, x, len(into) - len(n), p, q, w, v)
    return v[0], variance


@njit(cache=True)
def tree_interval(arity, into, n, x, log_inverse_alpha):  # type: ignore[no-untyped-def]
    """Return the interval of `likelihood_ratio_interval` for one tree in flat form, unchecked."""
    budget = log_inverse_alpha
    leaves = len(into) - len(n)
    for i in range(len(n)):
        if n[i] > 0:
            budget += _regret2(x[i], n[i])
    child, nodes = 1, 1
    for d in range(len(arity)):
        m = arity[d]
        for _ in range(nodes):
            total, best, mixture = 0.0, 0.0, math.lgamma(0.5 * m) - m * math.lgamma(0.5)
            for c in range(child, child + m):
                total += into[c]
                mixture += math.lgamma(into[c] + 0.5)
                if into[c] > 0:
                    best += into[c] * math.log(into[c])
            if total > 0:
                budget += best - total * math.log(total) - (mixture - math.lgamma(total + 0.5 * m))
            child += m
        nodes *= m
    upper = _tree_upper(arity, into, n, x, leaves, budget)
    return max(0.0, 1.0 - _tree_upper(arity, into, n, n - x, leaves, budget)), upper


@njit(cache=True)
def _tree_upper(arity, into, n, x, leaves, budget):  # type: ignore[no-untyped-def]
    """Return the maximum of mu over the region {D <= budget}, from outside.

    For any multiplier lambda, mu + lambda (budget - D) at its maximum over p and q bounds it (weak duality). The
    search for the lambda with D = budget is a guarded secant search for log D over log lambda, in which D falls.
    """
    p, w, v = np.empty(len(into)), np.empty(len(into)), np.empty(len(into))
    q = np.empty(len(n))
    log_lambda = 0.5 * math.log(_start(arity, into, n, x, leaves, p, q, w, v) / (2.0 * budget))
    low, high, slope = LOG_LAMBDA_MIN, math.inf, -2.0  # D goes like lambda^-2 where the region is small
    before, at_before = 0.0, 0.0
    best, tolerance = 1.0, 1e-3
    for step in range(40):
        log_lambda = max(log_lambda, LOG_LAMBDA_MIN)
        bound, divergence = _dual(arity, into, n, x, leaves, budget, math.exp(log_lambda), tolerance, p, q, w, v)
        best = min(best, bound)
        excess = math.log(max(divergence, 1e-300) / budget)
        small = abs(excess) < 0.01  # the bound is off by the square of this
        if (small and tolerance == TOLERANCE) or (excess < 0 and log_lambda == LOG_LAMBDA_MIN):
            break
        if abs(excess) < 0.1:
            tolerance = TOLERANCE
        if excess > 0:
            low = log_lambda
        else:
            high = log_lambda
        if step > 0 and log_lambda != before:
            slope = min((excess - at_before) / (log_lambda - before), -0.2)
        before, at_before = log_lambda, excess
        log_lambda -= excess / slope
        if not low < log_lambda < high:
            log_lambda = 0.5 * (low + high) if high < math.inf else before + 2.0
    return best


@njit(cache=True)
def _start(arity, into, n, x, leaves, p, q, w, v):  # type: ignore[no-untyped-def]
    """Set p and q to the smoothed frequencies, and return the variance of their mu by the delta method."""
    child, node = 1, 0
    nodes = 1
    p[0] = w[0] = 1.0
    for d in range(len(arity)):
        m = arity[d]
        for _ in range(nodes):
            total = 0.0
            for c in range(child, child + m):
                total += into[c]
            for c in range(child, child + m):
                p[c] = (into[c] + 0.5) / (total + 0.5 * m)
                w[c] = w[node] * p[c]
            child += m
            node += 1
        nodes *= m
    variance = 0.0
    for i in range(len(n)):
        v[leaves + i] = q[i] = (x[i] + 0.5) / (n[i] + 1.0)
        variance += w[leaves + i] ** 2 * q[i] * (1 - q[i]) / max(n[i], 0.5)
    child = len(into)
    node = leaves
    for d in range(len(arity) - 1, -1, -1):
        m = arity[d]
        nodes //= m
        for _ in range(nodes):
            child -= m
            node -= 1
            total = mean = square = 0.0
            for c in range(child, child + m):
                total += into[c]
                mean += p[c] * v[c]
                square += p[c] * v[c] * v[c]
            v[node] = mean
            variance += w[node] ** 2 * (square - mean * mean) / max(total, 0.5)
    return variance


@njit(cache=True)
def _dual(arity, into, n, x, leaves, budget, lam, tolerance, p, q, w, v):  # type: ignore[no-untyped-def]
    """Maximise mu - lambda D over p and q, in place; return an upper bound of max mu over the region, and D.

    Node by node from the leaves up, each exactly with the others fixed. How much is left to gain is bounded by a
    backward pass: in the prefix probabilities w the objective is concave, its gradient at node c is
    lambda kappa_c / w_c (kappa_c: rounds that end there), plus the reward at a leaf's end, and no w does better against
    it than the best path from the root.
    """
    bound = divergence = math.inf
    for _ in range(100):
        for i in range(len(n)):
            g = w[leaves + i]
            half = g - lam * n[i]  # the root in [0, 1] of -g q^2 + (g - lambda n) q + lambda x
            root = math.sqrt(half * half + 4.0 * g * lam * x[i])
            if half > 0:
                q[i] = min((half + root) / (2.0 * g), 1.0)
            elif n[i] > 0:
                q[i] = 2.0 * lam * x[i] / (root - half)
            else:
                q[i] = 1.0
            v[leaves + i] = q[i]
        nodes = len(n)
        child, node = len(into), leaves
        for d in range(len(arity) - 1, -1, -1):
            m = arity[d]
            nodes //= m
            for _ in range(nodes):
                child -= m
                node -= 1
                _split(into, v, w[node], lam, p, child, m)
                v[node] = 0.0
                for c in range(child, child + m):
                    v[node] += p[c] * v[c]
        divergence = _divergence(arity, into, n, x, p, q, w)
        gap = _gap(arity, into, n, x, leaves, lam, q, w)
        bound = v[0] + lam * (budget - divergence) + max(gap, 0.0)
        if gap < tolerance:
            break
    return bound, divergence


@njit(cache=True)
def _split(into, v, weight, lam, p, first, m):  # type: ignore[no-untyped-def]
    """Set the p of one split to the maximiser of weight sum p v + lambda sum into log p over the simplex.

    p_c = lambda into_c / (nu - weight v_c), with nu such that they sum to 1; a best child that was never seen takes what
    the others leave.
    """
    top = -1.0
    nu = 0.0
    for c in range(first, first + m):
        top = max(top, weight * v[c])
        if into[c] > 0:
            nu = max(nu, weight * v[c] + lam * into[c])
    used = 0.0
    for c in range(first, first + m):
        p[c] = 0.0
        if into[c] > 0:
            distance = top - weight * v[c]
            used += lam * into[c] / distance if distance > 0 else math.inf
    if used <= 1.0:
        best = -1
        for c in range(first, first + m):
            if into[c] > 0:
                p[c] = lam * into[c] / (top - weight * v[c])
            elif weight * v[c] == top and best < 0:
                best = c
        p[best] = 1.0 - used
        return
    nu = max(nu, top)
    for _ in range(60):  # Newton from the left on a convex falling function: monotone
        total = slope = 0.0
        for c in range(first, first + m):
            if into[c] > 0:
                term = lam * into[c] / (nu - weight * v[c])
                p[c] = term
                total += term
                slope += term / (nu - weight * v[c])
        if total - 1.0 < 1e-13:
            break
        nu += (total - 1.0) / slope
    for c in range(first, first + m):
        p[c] /= total


@njit(cache=True)
def _divergence(arity, into, n, x, p, q, w):  # type: ignore[no-untyped-def]
    """Return D = sum over nodes of n kl(p-hat, p); set w to the prefix probabilities."""
    total_divergence = 0.0
    child, node = 1, 0
    nodes = 1
    for d in range(len(arity)):
        m = arity[d]
        for _ in range(nodes):
            total = 0.0
            for c in range(child, child + m):
                total += into[c]
                w[c] = w[node] * p[c]
            for c in range(child, child + m):
                if into[c] > 0:
                    total_divergence += into[c] * math.log(into[c] / (total * p[c]))
            child += m
            node += 1
        nodes *= m
    for i in range(len(n)):
        if n[i] > 0:
            total_divergence += n[i] * _kl(min(x[i] / n[i], 1.0), q[i])
    return total_divergence


@njit(cache=True)
def _gap(arity, into, n, x, leaves, lam, q, w):  # type: ignore[no-untyped-def]
    """Return how much the concave objective can still gain at most, by its gradient along the best path."""
    best = np.zeros(len(into))
    here = 0.0  # gradient . w
    for i in range(len(n)):
        c = leaves + i
        up = 1.0 + (lam * x[i] / (w[c] * q[i]) if x[i] > 0 else 0.0)
        down = lam * (n[i] - x[i]) / (w[c] * (1.0 - q[i])) if n[i] - x[i] > 0 else 0.0
        best[c] = max(up, down)
        here += w[c] * q[i] + lam * n[i]
        if into[c] - n[i] > 0 and c > 0:
            best[c] += lam * (into[c] - n[i]) / w[c]
            here += lam * (into[c] - n[i])
    nodes = len(n)
    child, node = len(into), leaves
    for d in range(len(arity) - 1, -1, -1):
        m = arity[d]
        nodes //= m
        for _ in range(nodes):
            child -= m
            node -= 1
            out = top = 0.0
            for c in range(child, child + m):
                out += into[c]
                top = max(top, best[c])
            best[node] = top
            if into[node] - out > 0 and node > 0:
                best[node] += lam * (into[node] - out) / w[node]
                here += lam * (into[node] - out)
    return best[0] - here


def _probability(name: str, value: float) -> float:
    if not 0 < value < 1:
        raise ValueError(f"{name} must be between 0 and 1, but got {value}")
    return value
