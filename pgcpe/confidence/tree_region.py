"""The exact interval for the value of an adjustment formula: a likelihood-ratio region on a tree of cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pgcpe._numba import njit
from pgcpe.confidence.intervals import probability
from pgcpe.confidence.tree import Tree, smoothed, variance_of, walk

__all__ = ["bound_since", "likelihood_ratio_interval", "tree_interval"]

Floats = NDArray[np.float64]

TOLERANCE = 1e-6
"""How far outside of the region's extremes a bound may lie because an iteration has not converged."""

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
    n, x = (np.ascontiguousarray(counts, dtype=np.float64) for counts in (plays, rewards))  # at least one-dimensional
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
    lower, upper = tree_interval(Tree(arity, into, n, x), math.log(1 / probability("alpha", alpha)))
    return float(lower), float(upper)


class _Region(NamedTuple):
    """The region {D <= budget} of a tree, D the divergence from the frequencies, whose log-likelihood is ``best``.

    ``stay`` is kappa: the rounds that came to a node and were not admitted further.
    """

    arity: NDArray[np.int64]
    stay: Floats
    n: Floats
    x: Floats
    budget: float
    best: float


class _Point(NamedTuple):
    """Prefix probabilities w of the nodes, and w q and w (1 - q) of the leaves: the ends."""

    w: Floats
    ends: Floats


class _Climb(NamedTuple):
    """The objective about a point, for each node.

    By d more of w the node gains slope d - curve d^2 / 2, and what is below it price d - d^2 / (2 room); ``best`` is
    the steepest gradient along a path from the node down.
    """

    slope: Floats
    curve: Floats
    price: Floats
    room: Floats
    best: Floats


@njit(cache=True)
def tree_interval(tree, log_inverse_alpha):  # type: ignore[no-untyped-def]
    """Return the interval of `likelihood_ratio_interval` for one tree in flat form, unchecked."""
    nothing = Tree(tree.arity, np.zeros(len(tree.into)), np.zeros(len(tree.n)), np.zeros(len(tree.n)))
    lower = bound_since(tree, nothing, log_inverse_alpha, False, math.nan)
    return lower, bound_since(tree, nothing, log_inverse_alpha, True, math.nan)


@njit(cache=True)
def bound_since(tree, before, log_inverse_alpha, upper, asked):  # type: ignore[no-untyped-def]
    """Return one end of the interval from the rounds since a snapshot, with what was counted before as the prior.

    The mixtures are Dirichlet distributions with half a count more than was seen before, which bets better than half a
    count alone, so that fewer nats are lost. The prior was fixed when the betting began: the region holds as that of
    `likelihood_ratio_interval` does. The lower end is that of the rewards' complements.

    Where it is ``asked`` only whether the upper end is above a value, it is worked out until that is known and the end
    is near, and then returned from a little further outside; NaN asks for the end itself.
    """
    if not upper:
        tree = Tree(tree.arity, tree.into, tree.n, tree.n - tree.x)
        before = Tree(before.arity, before.into, before.n, before.n - before.x)
    largest = _largest(tree, _region_since(tree, before, log_inverse_alpha), asked)
    return largest if upper else max(0.0, 1.0 - largest)


@njit(cache=True)
def _region_since(tree, before, log_inverse_alpha):  # type: ignore[no-untyped-def]
    """Return the region of the rounds since a snapshot."""
    arity, into, n, x = tree
    stay = np.zeros(len(into))
    budget, best_likelihood = log_inverse_alpha, 0.0
    child, node, nodes = 1, 0, 1
    for d in range(len(arity)):
        m = arity[d]
        for _ in range(nodes):
            total, earlier, best, mixture = 0.0, 0.0, 0.0, 0.0
            for c in range(child, child + m):
                total += into[c]
                earlier += before.into[c]
                mixture += math.lgamma(before.into[c] + into[c] + 0.5) - math.lgamma(before.into[c] + 0.5)
                if into[c] > 0:
                    best += into[c] * math.log(into[c])
            if total > 0:
                best -= total * math.log(total)
                best_likelihood += best
                mixture += math.lgamma(earlier + 0.5 * m) - math.lgamma(earlier + total + 0.5 * m)
                budget += best - mixture
            stay[node] = into[node] - total
            child += m
            node += 1
        nodes *= m
    for i in range(len(n)):
        stay[node + i] = into[node + i] - n[i]
        if n[i] > 0:
            best = 0.0
            mixture = math.lgamma(before.n[i] + 1.0) - math.lgamma(before.n[i] + n[i] + 1.0)
            for k, earlier in ((x[i], before.x[i]), (n[i] - x[i], before.n[i] - before.x[i])):
                best += k * math.log(k / n[i]) if k > 0 else 0.0
                mixture += math.lgamma(earlier + k + 0.5) - math.lgamma(earlier + 0.5)
            best_likelihood += best
            budget += best - mixture
    stay[0] = 0.0  # w is 1 at the root
    return _Region(arity, stay, n, x, budget, best_likelihood)


@njit(cache=True)
def _largest(tree, region, asked):  # type: ignore[no-untyped-def]
    """Return the maximum of mu over the region {D <= budget}, from outside, or what shows on which side of a value.

    For any multiplier lambda, the maximum of mu + lambda (budget - D) bounds it (weak duality). The search for the
    lambda with D = budget is a guarded secant search for log D over log lambda, in which D falls.
    """
    budget = region.budget
    point, variance = _start(tree)
    log_lambda = 0.5 * math.log(variance / (2.0 * budget))
    low, high, slope = LOG_LAMBDA_MIN, math.inf, -2.0  # D goes like lambda^-2 where the region is small
    before, at_before = 0.0, 0.0
    best, rough = 1.0, True
    for step in range(40):
        log_lambda = max(log_lambda, LOG_LAMBDA_MIN)
        lam = math.exp(log_lambda)
        tolerance = lam * budget * 0.03 if rough else min(TOLERANCE, lam * budget * 0.003)  # D is off by gap / lambda
        mu, gap = _maximise(region, lam, tolerance, point)
        divergence = region.best - _likelihood(region, point)
        best = min(best, mu + lam * (budget - divergence) + max(gap, 0.0))
        excess = math.log(max(divergence, 1e-300) / budget)
        if best <= asked or (not rough and excess <= 0 and mu > asked):  # below, or a point of the region is above
            break
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
def _start(tree):  # type: ignore[no-untyped-def]
    """Return the point of the smoothed frequencies, and the variance of mu there."""
    theta = smoothed(tree)
    found, _ = walk(tree, theta, theta, 0.5)
    ends = np.empty((len(tree.n), 2))
    first = len(tree.into) - len(tree.n)
    for i in range(len(tree.n)):
        w, q = found.reach[first + i], found.below[first + i]
        ends[i, 0], ends[i, 1] = w * q, w * (1.0 - q)
    return _Point(found.reach, ends), variance_of(found)


@njit(cache=True)
def _maximise(region, lam, tolerance, point):  # type: ignore[no-untyped-def]
    """Maximise mu - lambda D in place; return mu and a bound of what is left to gain.

    In the prefix probabilities the objective is concave: the sum of w over the ends with Y = 1, plus lambda times the
    sum of kappa log w over all nodes and ends. Newton's method, with one pass up and one down the tree for a step.
    """
    size = len(region.stay)
    about = _Climb(np.empty(size), np.empty(size), np.empty(size), np.empty(size), np.empty(size))
    mu = gap = 0.0
    for step in range(60):
        mu, gap = _climb(region, lam, point, about)
        if gap < tolerance or step == 59:  # mu and gap are those of the w returned
            break
        _newton_step(region, lam, about, point)
    return mu, gap


@njit(cache=True)
def _climb(region, lam, point, about):  # type: ignore[no-untyped-def]
    """Set slopes and curvatures from the leaves up; return mu and how much the objective can still gain at most.

    By concavity no other w gains more than the gradient along the best path from the root exceeds gradient . w; this
    holds wherever w is.
    """
    arity, ends, best = region.arity, point.ends, about.best
    child, nodes = len(region.stay), len(region.n)
    node = child - nodes
    mu = here = 0.0
    for i in range(nodes):
        best[node + i] = total = weighted = 0.0
        for y in range(2):
            kappa, reward = (region.x[i], 1.0) if y == 0 else (region.n[i] - region.x[i], 0.0)
            best[node + i] = max(best[node + i], reward + lam * kappa / ends[i, y])
            here += reward * ends[i, y] + lam * kappa
            gradient = lam * max(kappa, BARRIER) / ends[i, y]
            total += ends[i, y] / gradient
            weighted += (reward + gradient) * ends[i, y] / gradient
        mu += ends[i, 0]
        about.price[node + i], about.room[node + i] = weighted / total, total
        here += _add_own(node + i, lam * region.stay[node + i], point.w[node + i], about)
    for d in range(len(arity) - 1, -1, -1):
        nodes //= arity[d]
        for _ in range(nodes):
            child -= arity[d]
            node -= 1
            best[node] = total = weighted = 0.0
            for c in range(child, child + arity[d]):
                total += 1.0 / about.curve[c]
                weighted += about.slope[c] / about.curve[c]
                best[node] = max(best[node], best[c])
            about.price[node], about.room[node] = weighted / total, total
            here += _add_own(node, lam * region.stay[node], point.w[node], about)
    return mu, best[0] - here


@njit(cache=True)
def _add_own(c, own, w, about):  # type: ignore[no-untyped-def]
    """Set slope and curvature of a node from what is below it and its own lambda kappa log w; return lambda kappa."""
    about.slope[c], about.curve[c] = about.price[c] + own / w, 1.0 / about.room[c] + own / w**2
    about.best[c] += own / w
    return own


@njit(cache=True)
def _likelihood(region, point):  # type: ignore[no-untyped-def]
    """Return the sum of kappa log w over all nodes and ends."""
    total = 0.0
    for c in range(len(region.stay)):
        if region.stay[c] > 0:
            total += region.stay[c] * math.log(point.w[c])
    for i in range(len(region.n)):
        if region.x[i] > 0:
            total += region.x[i] * math.log(point.ends[i, 0])
        if region.n[i] > region.x[i]:
            total += (region.n[i] - region.x[i]) * math.log(point.ends[i, 1])
    return total


@njit(cache=True)
def _newton_step(region, lam, about, point):  # type: ignore[no-untyped-def]
    """Move the ends, and w with them, along Newton's direction.

    The damping 1 / (1 + largest relative fall) keeps them positive and makes every step gain.
    """
    arity, w, ends = region.arity, point.w, point.ends
    move = np.zeros(len(w))
    child, node, nodes = 1, 0, 1
    fall = 0.0
    for d in range(len(arity)):
        for _ in range(nodes):
            level = about.price[node] - move[node] / about.room[node]
            for c in range(child, child + arity[d]):
                move[c] = (about.slope[c] - level) / about.curve[c]
                fall = max(fall, -move[c] / w[c])
            child += arity[d]
            node += 1
        nodes *= arity[d]
    steps = np.empty((nodes, 2))
    for i in range(nodes):
        level = about.price[node + i] - move[node + i] / about.room[node + i]
        for y in range(2):
            kappa, reward = (region.x[i], 1.0) if y == 0 else (region.n[i] - region.x[i], 0.0)
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
