"""The exact interval for the value of an adjustment formula: a likelihood-ratio region on a tree of cells.

A tree has D levels of splits, then leaves. Its nodes are numbered level by level from the root, 0; the children of node
j of level d, of which there are ``arity[d]``, are the nodes ``j * arity[d]``, ... of level d + 1. ``into[c]`` counts
the rounds that went into node c among those admitted to its level; a leaf has n rounds whose rewards sum to x. With p
the probability of going into a node and q the mean reward of a leaf, the value is mu = sum over leaves of w q, where w
is the product of the p on the way (Eq. 4).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from pgcpe.confidence.intervals import probability

__all__ = ["interval_since", "likelihood_ratio_interval", "smoothed_value", "tree_interval"]

TOLERANCE = 1e-6
"""How far outside of the region's extremes a bound may lie for want of convergence."""

NEGLIGIBLE = 1e-9
"""A bound that a smaller multiplier cannot lower by more is taken as it is."""

BARRIER = 1e-6
"""Weight of the logarithm that keeps ends without rounds inside; only the iteration knows it, not the bound."""

LOG_LAMBDA_MIN = -27.0
"""Below, a multiplier moves no bound by more than its rounding."""


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
    (0.23, 0.771)
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
    if not all(np.isfinite(a).all() for a in (*levels, n, x)):
        raise ValueError("counts and rewards must be finite")
    if min([*(level.min() for level in levels), x.min(), (n - x).min()]) < 0:
        raise ValueError("counts must not be negative, and rewards lie between 0 and plays")
    for d, level in enumerate(levels):
        below = levels[d + 1].sum(axis=1) if d + 1 < len(levels) else n
        if np.any(below > level.ravel()):
            raise ValueError(f"level {d + 1} admits rounds that level {d} does not")
    into = np.concatenate([[levels[0].sum() if levels else n[0]], *(level.ravel() for level in levels)])
    arity = np.array([level.shape[1] for level in levels], dtype=np.int64)
    lower, upper = tree_interval(arity, into, n, x, math.log(1 / probability("alpha", alpha)))
    return float(lower), float(upper)


@njit(cache=True)
def smoothed_value(arity, into, n, x):  # type: ignore[no-untyped-def]
    """Return the value of a tree at the smoothed frequencies (n_c + 1/2) / (n + m/2), and its variance.

    The variance is that of the delta method. Without smoothing it is 0 where a cell has seen only zeros.
    """
    p, w, v = np.empty(len(into)), np.empty(len(into)), np.empty(len(into))
    variance = _start(arity, into, n, x, p, w, v, np.empty((len(n), 2)))
    return v[0], variance


@njit(cache=True)
def tree_interval(arity, into, n, x, log_inverse_alpha):  # type: ignore[no-untyped-def]
    """Return the interval of `likelihood_ratio_interval` for one tree in flat form, unchecked."""
    return interval_since(arity, into, n, x, np.zeros(len(into)), np.zeros(len(n)), np.zeros(len(n)), log_inverse_alpha)


@njit(cache=True)
def interval_since(arity, into, n, x, into_before, n_before, x_before, log_inverse_alpha):  # type: ignore[no-untyped-def]
    """Return the interval from the rounds since a snapshot alone, with what was counted before it as the prior.

    The mixtures are Dirichlet distributions with half a count more than was seen before, which bets better than half a
    count alone, so that fewer nats are lost. The prior was fixed when the betting began: the region holds as that of
    `likelihood_ratio_interval` does.
    """
    stay = np.zeros(len(into))  # kappa: the rounds that came to a node and were not admitted further
    budget, best_likelihood = log_inverse_alpha, 0.0
    child, node, nodes = 1, 0, 1
    for d in range(len(arity)):
        m = arity[d]
        for _ in range(nodes):
            total, before, best, mixture = 0.0, 0.0, 0.0, 0.0
            for c in range(child, child + m):
                total += into[c]
                before += into_before[c]
                mixture += math.lgamma(into_before[c] + into[c] + 0.5) - math.lgamma(into_before[c] + 0.5)
                if into[c] > 0:
                    best += into[c] * math.log(into[c])
            if total > 0:
                best -= total * math.log(total)
                best_likelihood += best
                mixture += math.lgamma(before + 0.5 * m) - math.lgamma(before + total + 0.5 * m)
                budget += best - mixture
            stay[node] = into[node] - total
            child += m
            node += 1
        nodes *= m
    for i in range(len(n)):
        stay[node + i] = into[node + i] - n[i]
        if n[i] > 0:
            best = 0.0
            mixture = math.lgamma(n_before[i] + 1.0) - math.lgamma(n_before[i] + n[i] + 1.0)
            for k, k_before in ((x[i], x_before[i]), (n[i] - x[i], n_before[i] - x_before[i])):
                best += k * math.log(k / n[i]) if k > 0 else 0.0
                mixture += math.lgamma(k_before + k + 0.5) - math.lgamma(k_before + 0.5)
            best_likelihood += best
            budget += best - mixture
    stay[0] = 0.0  # w is 1 at the root
    upper = _tree_upper(arity, into, stay, n, x, budget, best_likelihood)
    return max(0.0, 1.0 - _tree_upper(arity, into, stay, n, n - x, budget, best_likelihood)), upper


@njit(cache=True)
def _tree_upper(arity, into, stay, n, x, budget, best_likelihood):  # type: ignore[no-untyped-def]
    """Return the maximum of mu over the region {D <= budget}, from outside.

    For any multiplier lambda, the maximum of mu + lambda (budget - D) bounds it (weak duality). The search for the
    lambda with D = budget is a guarded secant search for log D over log lambda, in which D falls.
    """
    p, w, v = np.empty(len(into)), np.empty(len(into)), np.empty(len(into))
    ends = np.empty((len(n), 2))  # w q and w (1 - q) of each leaf
    variance = _start(arity, into, n, x, p, w, v, ends)
    log_lambda = 0.5 * math.log(variance / (2.0 * budget))
    low, high, slope = LOG_LAMBDA_MIN, math.inf, -2.0  # D goes like lambda^-2 where the region is small
    before, at_before = 0.0, 0.0
    best, rough = 1.0, True
    for step in range(40):
        log_lambda = max(log_lambda, LOG_LAMBDA_MIN)
        lam = math.exp(log_lambda)
        tolerance = lam * budget * 0.03 if rough else min(TOLERANCE, lam * budget * 0.003)  # D is off by gap / lambda
        mu, gap = _maximise(arity, stay, n, x, lam, tolerance, w, ends)
        divergence = best_likelihood - _likelihood(stay, n, x, w, ends)
        best = min(best, mu + lam * (budget - divergence) + max(gap, 0.0))
        excess = math.log(max(divergence, 1e-300) / budget)
        small = abs(excess) < 0.003  # the bound is off by the square of this
        if (small and not rough) or (excess < 0 and lam * budget < NEGLIGIBLE):
            break
        if excess > 0:
            low = log_lambda
        else:
            high = log_lambda
        if rough and (abs(excess) < 0.1 or high - low < 0.2):
            rough, low, high = False, LOG_LAMBDA_MIN, math.inf  # D was too rough to hold the bracket
        if step > 0 and log_lambda != before:
            slope = min((excess - at_before) / (log_lambda - before), -0.2)
        before, at_before = log_lambda, excess
        log_lambda -= excess / slope
        if not low < log_lambda < high:
            log_lambda = 0.5 * (low + high) if high < math.inf else before + 2.0
    return best


@njit(cache=True)
def _start(arity, into, n, x, p, w, v, ends):  # type: ignore[no-untyped-def]
    """Set w and the ends to the smoothed frequencies and v to the values below; return the variance of mu."""
    child, node = 1, 0
    nodes = 1
    w[0] = 1.0
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
        q = v[node + i] = (x[i] + 0.5) / (n[i] + 1.0)
        ends[i, 0], ends[i, 1] = w[node + i] * q, w[node + i] * (1.0 - q)
        variance += w[node + i] ** 2 * q * (1.0 - q) / max(n[i], 0.5)
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
def _maximise(arity, stay, n, x, lam, tolerance, w, ends):  # type: ignore[no-untyped-def]
    """Maximise mu - lambda D in place; return mu and a bound of what is left to gain.

    In the prefix probabilities the objective is concave: the sum of w over the ends with Y = 1, plus lambda times the
    sum of kappa log w over all nodes and ends. Newton's method, with one pass up and one down the tree for a step.
    """
    size = len(stay)
    slope, curve = np.empty(size), np.empty(size)  # the node gains slope d - curve d^2 / 2 by d more of w
    price, room = np.empty(size), np.empty(size)  # what is below it gains price d - d^2 / (2 room)
    best = np.empty(size)
    mu = gap = 0.0
    for step in range(60):
        mu, gap = _climb(arity, stay, n, x, lam, w, ends, slope, curve, price, room, best)
        if gap < tolerance or step == 59:  # mu and gap are those of the w returned
            break
        _newton_step(arity, n, x, lam, slope, curve, price, room, w, ends)
    return mu, gap


@njit(cache=True)
def _climb(arity, stay, n, x, lam, w, ends, slope, curve, price, room, best):  # type: ignore[no-untyped-def]
    """Set slopes and curvatures from the leaves up; return mu and how much the objective can still gain at most.

    ``best`` is the steepest gradient along a path from the node down. By concavity no other w gains more than the
    gradient along the best path from the root exceeds gradient . w; this holds wherever w is.
    """
    child, nodes = len(stay), len(n)
    node = child - nodes
    mu = here = 0.0
    for i in range(nodes):
        best[node + i] = total = weighted = 0.0
        for y in range(2):
            kappa, reward = (x[i], 1.0) if y == 0 else (n[i] - x[i], 0.0)
            best[node + i] = max(best[node + i], reward + lam * kappa / ends[i, y])
            here += reward * ends[i, y] + lam * kappa
            gradient = lam * max(kappa, BARRIER) / ends[i, y]
            total += ends[i, y] / gradient
            weighted += (reward + gradient) * ends[i, y] / gradient
        mu += ends[i, 0]
        price[node + i], room[node + i] = weighted / total, total
        here += _add_own(node + i, stay, lam, w, slope, curve, price, room, best)
    for d in range(len(arity) - 1, -1, -1):
        nodes //= arity[d]
        for _ in range(nodes):
            child -= arity[d]
            node -= 1
            best[node] = total = weighted = 0.0
            for c in range(child, child + arity[d]):
                total += 1.0 / curve[c]
                weighted += slope[c] / curve[c]
                best[node] = max(best[node], best[c])
            price[node], room[node] = weighted / total, total
            here += _add_own(node, stay, lam, w, slope, curve, price, room, best)
    return mu, best[0] - here


@njit(cache=True)
def _add_own(c, stay, lam, w, slope, curve, price, room, best):  # type: ignore[no-untyped-def]
    """Set the slope and curvature of a node from what is below it and its own kappa log w; return lambda kappa."""
    own = lam * stay[c]
    slope[c], curve[c] = price[c] + own / w[c], 1.0 / room[c] + own / w[c] ** 2
    best[c] += own / w[c]
    return own


@njit(cache=True)
def _likelihood(stay, n, x, w, ends):  # type: ignore[no-untyped-def]
    """Return the sum of kappa log w over all nodes and ends."""
    total = 0.0
    for c in range(len(stay)):
        if stay[c] > 0:
            total += stay[c] * math.log(w[c])
    for i in range(len(n)):
        if x[i] > 0:
            total += x[i] * math.log(ends[i, 0])
        if n[i] > x[i]:
            total += (n[i] - x[i]) * math.log(ends[i, 1])
    return total


@njit(cache=True)
def _newton_step(arity, n, x, lam, slope, curve, price, room, w, ends):  # type: ignore[no-untyped-def]
    """Move the ends, and w with them, along Newton's direction.

    The damping 1 / (1 + largest relative fall) keeps them positive and makes every step gain.
    """
    move = np.zeros(len(w))
    child, node, nodes = 1, 0, 1
    fall = 0.0
    for d in range(len(arity)):
        for _ in range(nodes):
            level = price[node] - move[node] / room[node]
            for c in range(child, child + arity[d]):
                move[c] = (slope[c] - level) / curve[c]
                fall = max(fall, -move[c] / w[c])
            child += arity[d]
            node += 1
        nodes *= arity[d]
    steps = np.empty((len(n), 2))
    for i in range(nodes):
        level = price[node + i] - move[node + i] / room[node + i]
        for y in range(2):
            kappa, reward = (x[i], 1.0) if y == 0 else (n[i] - x[i], 0.0)
            gradient = lam * max(kappa, BARRIER) / ends[i, y]
            steps[i, y] = (reward + gradient - level) * ends[i, y] / gradient
            fall = max(fall, -steps[i, y] / ends[i, y])
    ends += steps / (1.0 + fall)
    ends /= ends.sum()  # 1 up to rounding
    for i in range(nodes):
        w[node + i] = ends[i, 0] + ends[i, 1]
    for d in range(len(arity) - 1, -1, -1):
        nodes //= arity[d]
        for _ in range(nodes):
            child -= arity[d]
            node -= 1
            w[node] = w[child : child + arity[d]].sum()
