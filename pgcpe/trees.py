"""The exact interval for the value of an adjustment formula: a likelihood-ratio region on a tree of cells.

A tree has D levels of splits and leaves. Its nodes are numbered level by level from the root, 0; the children of node j
of level d, of which there are ``arity[d]``, are nodes ``j * arity[d]``, ... of level d + 1. ``into[c]`` counts the rounds
that went into node c among those admitted to its level; a leaf has n rounds whose rewards sum to x. With p the
probability of going into a node and q the mean reward of a leaf, the value is mu = sum over leaves of w q, where w is
the product of the p on the way (Eq. 4).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from pgcpe.confidence import kt_regret, probability

__all__ = ["likelihood_ratio_interval", "smoothed_value", "tree_interval"]

TOLERANCE = 1e-6
"""How far outside of the region's extremes a bound may lie for want of convergence."""

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
    budget, best_likelihood = log_inverse_alpha, 0.0
    for i in range(len(n)):
        if n[i] > 0:
            budget += kt_regret(x[i], n[i])
            for k in (x[i], n[i] - x[i]):
                best_likelihood += k * math.log(k / n[i]) if k > 0 else 0.0
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
                best -= total * math.log(total)
                best_likelihood += best
                budget += best - (mixture - math.lgamma(total + 0.5 * m))
            child += m
        nodes *= m
    upper = _tree_upper(arity, into, n, x, budget, best_likelihood)
    return max(0.0, 1.0 - _tree_upper(arity, into, n, n - x, budget, best_likelihood)), upper


@njit(cache=True)
def _tree_upper(arity, into, n, x, budget, best_likelihood):  # type: ignore[no-untyped-def]
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
        bound, divergence = _dual(arity, into, n, x, budget, best_likelihood, lam, tolerance, w, ends)
        best = min(best, bound)
        excess = math.log(max(divergence, 1e-300) / budget)
        small = abs(excess) < 0.01  # the bound is off by the square of this
        if (small and not rough) or (excess < 0 and log_lambda == LOG_LAMBDA_MIN):
            break
        rough = rough and abs(excess) > 0.1
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
def _dual(arity, into, n, x, budget, best_likelihood, lam, tolerance, w, ends):  # type: ignore[no-untyped-def]
    """Maximise mu - lambda D in place; return an upper bound of max mu over the region, and D.

    In the prefix probabilities w the objective is concave, sum of w over the ends with Y = 1 plus lambda times the sum
    of kappa log w over all nodes and ends, kappa being the rounds that came to a node and went no further.
    Newton's method, with one pass up and one down the tree for a step. How much is left to gain is at most the gain of
    the gradient along the best path from the root, so that the bound holds wherever the iteration stops.
    """
    size, leaves = len(into), len(into) - len(n)
    slope, curve, mass = np.empty(size), np.empty(size), np.empty(size)  # a + -b d of a node, and sum of 1/b below it
    price = np.empty(size)  # sum of a/b below it, over mass
    gap = mu = 0.0
    for _ in range(60):
        best = np.zeros(size)
        here = mu = 0.0
        for i in range(len(n)):
            c = leaves + i
            top = total = weighted = 0.0
            for y in range(2):
                kappa = x[i] if y == 0 else n[i] - x[i]
                reward = 1.0 if y == 0 else 0.0
                top = max(top, reward + lam * kappa / ends[i, y])
                here += reward * ends[i, y] + lam * kappa
                barrier = lam * max(kappa, BARRIER) / ends[i, y]
                total += ends[i, y] / barrier
                weighted += (reward + barrier) * ends[i, y] / barrier
            mu += ends[i, 0]
            mass[c], price[c], best[c] = total, weighted / total, top
            slope[c], curve[c] = price[c], 1.0 / total
            if c > 0 and into[c] > n[i]:
                extra = lam * (into[c] - n[i])
                here += extra
                slope[c] += extra / w[c]
                curve[c] += extra / w[c] ** 2
                best[c] += extra / w[c]
        child, node, nodes = size, leaves, len(n)
        for d in range(len(arity) - 1, -1, -1):
            m = arity[d]
            nodes //= m
            for _ in range(nodes):
                child -= m
                node -= 1
                out = total = weighted = top = 0.0
                for c in range(child, child + m):
                    out += into[c]
                    total += 1.0 / curve[c]
                    weighted += slope[c] / curve[c]
                    top = max(top, best[c])
                mass[node], price[node], best[node] = total, weighted / total, top
                slope[node], curve[node] = price[node], 1.0 / total
                if node > 0 and into[node] > out:
                    extra = lam * (into[node] - out)
                    here += extra
                    slope[node] += extra / w[node]
                    curve[node] += extra / w[node] ** 2
                    best[node] += extra / w[node]
        gap = best[0] - here
        if gap < tolerance:
            break
        _newton_step(arity, n, x, leaves, lam, slope, curve, mass, price, w, ends)
    divergence = best_likelihood
    for i in range(len(n)):
        divergence -= x[i] * math.log(ends[i, 0]) if x[i] > 0 else 0.0
        divergence -= (n[i] - x[i]) * math.log(ends[i, 1]) if n[i] > x[i] else 0.0
    divergence -= _inner_likelihood(arity, into, n, leaves, w)
    return mu + lam * (budget - divergence) + max(gap, 0.0), divergence


@njit(cache=True)
def _inner_likelihood(arity, into, n, leaves, w):  # type: ignore[no-untyped-def]
    """Return the sum of kappa log w over the nodes below the root."""
    total = 0.0
    for i in range(len(n)):
        if leaves + i > 0 and into[leaves + i] > n[i]:
            total += (into[leaves + i] - n[i]) * math.log(w[leaves + i])
    child, node, nodes = 1, 0, 1
    for d in range(len(arity)):
        for _ in range(nodes):
            out = 0.0
            for c in range(child, child + arity[d]):
                out += into[c]
            if node > 0 and into[node] > out:
                total += (into[node] - out) * math.log(w[node])
            child += arity[d]
            node += 1
        nodes *= arity[d]
    return total


@njit(cache=True)
def _newton_step(arity, n, x, leaves, lam, slope, curve, mass, price, w, ends):  # type: ignore[no-untyped-def]
    """Move w and the ends along Newton's direction; the damping 1 / (1 + largest relative fall) makes every step gain."""
    move = np.zeros(len(w))
    fall = 0.0
    child, node, nodes = 1, 0, 1
    for d in range(len(arity)):
        for _ in range(nodes):
            level = price[node] - move[node] / mass[node]
            for c in range(child, child + arity[d]):
                move[c] = (slope[c] - level) / curve[c]
                fall = max(fall, -move[c] / w[c])
            child += arity[d]
            node += 1
        nodes *= arity[d]
    steps = np.empty((len(n), 2))
    for i in range(len(n)):
        c = leaves + i
        level = price[c] - move[c] / mass[c]
        for y in range(2):
            barrier = lam * max(x[i] if y == 0 else n[i] - x[i], BARRIER) / ends[i, y]
            steps[i, y] = ((1.0 if y == 0 else 0.0) + barrier - level) * ends[i, y] / barrier
            fall = max(fall, -steps[i, y] / ends[i, y])
    size = 1.0 / (1.0 + fall)
    for i in range(len(n)):
        for y in range(2):
            ends[i, y] += size * steps[i, y]
        w[leaves + i] = ends[i, 0] + ends[i, 1]
    child, node = len(w), leaves
    nodes = len(n)
    for d in range(len(arity) - 1, -1, -1):
        nodes //= arity[d]
        for _ in range(nodes):
            child -= arity[d]
            node -= 1
            w[node] = 0.0
            for c in range(child, child + arity[d]):
                w[node] += w[c]
    whole = w[0]  # 1 up to rounding
    for i in range(len(n)):
        ends[i, 0] /= whole
        ends[i, 1] /= whole
    for c in range(len(w)):
        w[c] /= whole
