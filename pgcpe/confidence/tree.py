"""A tree of cells, and the walk through it that gives the value of an adjustment formula at any of its parameters.

A tree has D levels of splits, then leaves. Its nodes are numbered level by level from the root, 0; the children of node
j of level d, of which there are ``arity[d]``, are the nodes ``j * arity[d]``, ... of level d + 1. ``into[c]`` counts
the rounds that went into node c among those admitted to its level; a leaf has n rounds whose rewards sum to x. With p
the probability of going into a node and q the mean reward of a leaf, the value is mu = sum over leaves of w q, where w
is the product of the p on the way (Eq. 4).

Two sets of parameters are taken for it. *Smoothed* frequencies have half a count more in every cell: they err less
where little was seen, and are for ranking. Plain *frequencies* are unbiased: of what carries a standard error they are
the value, while its variance is that of `shrunk` ones, so that frequencies of 0 and 1 do not make it 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgcpe._numba import njit

__all__ = [
    "Parameters",
    "Tree",
    "Walk",
    "frequencies",
    "moved",
    "plug_in_value",
    "shrunk",
    "shrunk_share",
    "smoothed",
    "smoothed_value",
    "variance_of",
    "walk",
    "walk_into",
]

Floats = NDArray[np.float64]

PLAYS_MORE = 4.0
"""1.96 squared, nearly: with so many plays more an interval of 1.96 standard errors covers as often as it should."""


class Tree(NamedTuple):
    """The counts of a tree.

    Attributes
    ----------
    arity
        Integer array over the levels.
    into
        Array over the nodes.
    n, x
        Arrays over the leaves.
    """

    arity: NDArray[np.int64]
    into: Floats
    n: Floats
    x: Floats


class Parameters(NamedTuple):
    """The probability of going into each node from the one above, and the mean reward of each leaf.

    Where a node was never left all probabilities below it are 0; a leaf never seen has q = -1.
    """

    p: Floats
    q: Floats


class Walk(NamedTuple):
    """What a walk through a tree finds of each node.

    Attributes
    ----------
    plays
        The rounds that went on from the node; at a leaf its rounds.
    reach
        w, the probability of coming to it.
    below
        The value of what is below it.
    spread
        The variance of where one round goes on to: of the values below the children, of the reward at a leaf.
    """

    plays: Floats
    reach: Floats
    below: Floats
    spread: Floats


@njit(cache=True)
def smoothed(tree):  # type: ignore[no-untyped-def]
    """Return the frequencies with half a count more in every cell: (n_c + 1/2) / (n + m/2)."""
    p, q = np.empty(len(tree.into)), np.empty(len(tree.n))
    p[0] = 1.0
    child, width = 1, 1
    for m in tree.arity:
        for _ in range(width):
            total = 0.0
            for c in range(child, child + m):
                total += tree.into[c]
            for c in range(child, child + m):
                p[c] = (tree.into[c] + 0.5) / (total + 0.5 * m)
            child += m
        width *= m
    for i in range(width):
        q[i] = (tree.x[i] + 0.5) / (tree.n[i] + 1.0)
    return Parameters(p, q)


@njit(cache=True)
def frequencies(tree):  # type: ignore[no-untyped-def]
    """Return the plain frequencies."""
    p, q = np.zeros(len(tree.into)), np.full(len(tree.n), -1.0)
    p[0] = 1.0
    child, width = 1, 1
    for m in tree.arity:
        for _ in range(width):
            total = 0.0
            for c in range(child, child + m):
                total += tree.into[c]
            for c in range(child, child + m):
                p[c] = tree.into[c] / total if total > 0 else 0.0
            child += m
        width *= m
    for i in range(width):
        if tree.n[i] > 0:
            q[i] = min(tree.x[i] / tree.n[i], 1.0)
    return Parameters(p, q)


@njit(cache=True)
def shrunk(tree):  # type: ignore[no-untyped-def]
    """Return the shares of which the variance of a cell seen is taken, see `shrunk_share`."""
    p, q = np.zeros(len(tree.into)), np.zeros(len(tree.n))
    p[0] = 1.0
    child, width = 1, 1
    for m in tree.arity:
        pooled = np.zeros(m)
        for c in range(child, child + m * width):
            pooled[(c - child) % m] += tree.into[c]
        every = pooled.sum()
        for _ in range(width):
            total = 0.0
            for c in range(child, child + m):
                total += tree.into[c]
            for k in range(m):
                if total > 0:
                    p[child + k] = shrunk_share(tree.into[child + k], total, pooled[k], every, m)
            child += m
        width *= m
    rewards, plays = tree.x.sum(), tree.n.sum()
    for i in range(width):
        if tree.n[i] > 0:
            q[i] = shrunk_share(min(tree.x[i], tree.n[i]), tree.n[i], rewards, plays, 2)
    return Parameters(p, q)


@njit(cache=True)
def shrunk_share(s, n, pooled, plays, states):  # type: ignore[no-untyped-def]
    """Return the share of a state with s of the n plays of a row, and `pooled` of the plays of all rows like it.

    The row gets four plays more at the mean of all rows, and all rows together four, equally of all states (Agresti and
    Coull 1998): a variance at the frequencies is too small where they are near 0 or 1. Towards the mean, not equal
    shares: rare outcomes in many rows would have several times their variance.
    """
    mean = (pooled + 1.0 / states) / (plays + 1.0)
    share = (s + PLAYS_MORE * mean) / (n + PLAYS_MORE)
    return (plays * share + PLAYS_MORE / states) / (plays + PLAYS_MORE)


@njit(cache=True)
def walk(tree, theta, shares, middle):  # type: ignore[no-untyped-def]
    """Return the walk at parameters theta, and the probability of the cells seen; see `walk_into`."""
    size = len(tree.into)
    found = Walk(np.empty(size), np.empty(size), np.empty(size), np.empty(size))
    known = walk_into(tree, theta, shares, middle, found)
    return found, known


@njit(cache=True)
def walk_into(tree, theta, shares, middle, found):  # type: ignore[no-untyped-def]
    """Write the walk at parameters theta into the arrays of one: down with the probabilities, up with the values.

    Spreads are those of `shares`. A cell never seen takes the mean of those seen, weighted by how likely they are: the
    value is that of the part seen, over its probability, by which ``reach`` is divided too, so that it is the weight of
    the node in the value. Returns that probability; 0 makes the value `middle`.
    """
    node, child, width = 0, 1, 1
    found.reach[0] = 1.0
    for m in tree.arity:
        for _ in range(width):
            total = 0.0
            for c in range(child, child + m):
                total += tree.into[c]
                found.reach[c] = found.reach[node] * theta.p[c]
            found.plays[node] = total
            child += m
            node += 1
        width *= m
    known = value = 0.0
    for i in range(width):
        if theta.q[i] >= 0.0:
            known += found.reach[node + i]
            value += found.reach[node + i] * theta.q[i]
    value = value / known if known > 0 else middle
    for i in range(width):
        found.plays[node + i], found.below[node + i] = tree.n[i], theta.q[i] if theta.q[i] >= 0.0 else value
        found.spread[node + i] = max(shares.q[i] * (1.0 - shares.q[i]), 0.0)
    for d in range(len(tree.arity) - 1, -1, -1):
        m = tree.arity[d]
        width //= m
        for _ in range(width):
            child -= m
            node -= 1
            seen = below = mean = square = 0.0
            for c in range(child, child + m):
                seen += theta.p[c]
                below += theta.p[c] * found.below[c]
                mean += shares.p[c] * found.below[c]
                square += shares.p[c] * found.below[c] ** 2
            found.below[node] = below if seen > 0 else value
            found.spread[node] = square - mean * mean
    for node in range(len(found.reach)):
        found.reach[node] = found.reach[node] / known if known > 0 else 0.0
    return known


@njit(cache=True)
def variance_of(found):  # type: ignore[no-untyped-def]
    """Return the variance of the value by the delta method: the sum of w^2 spread over the rounds of the node."""
    variance = 0.0
    for node in range(len(found.reach)):
        variance += found.reach[node] ** 2 * found.spread[node] / max(found.plays[node], 0.5)
    return variance


@njit(cache=True)
def moved(tree, theta, shares, found, step):  # type: ignore[no-untyped-def]
    """Return the parameters at which the value is higher by step times its variance, to first order, and that are the
    nearest: one step along the influence of every cell, kept inside [0, 1].
    """
    p, q = theta.p.copy(), theta.q.copy()
    node, child, width = 0, 1, 1
    for m in tree.arity:
        for _ in range(width):
            if found.plays[node] > 0:
                mean = total = 0.0
                for c in range(child, child + m):
                    mean += shares.p[c] * found.below[c]
                rate = step * found.reach[node] / found.plays[node]
                for c in range(child, child + m):
                    p[c] = max(p[c] + rate * shares.p[c] * (found.below[c] - mean), 0.0)
                    total += p[c]
                for c in range(child, child + m):
                    p[c] /= total
            child += m
            node += 1
        width *= m
    for i in range(width):
        if tree.n[i] > 0:
            q[i] += step * found.reach[node + i] * found.spread[node + i] / tree.n[i]
            q[i] = min(max(q[i], 0.0), 1.0)
    return Parameters(p, q)


@njit(cache=True)
def smoothed_value(tree):  # type: ignore[no-untyped-def]
    """Return the value of a tree at the smoothed frequencies, and its variance.

    Without smoothing the variance is 0 where a cell has seen only zeros.
    """
    theta = smoothed(tree)
    found, _ = walk(tree, theta, theta, 0.5)
    return found.below[0], variance_of(found)


@njit(cache=True)
def plug_in_value(tree, low, high):  # type: ignore[no-untyped-def]
    """Return the value of a tree at the plain frequencies, its variance, and its bias bound.

    The bound is the probability of the cells never seen times the range of rewards, from `low` to `high`.
    """
    found, known = walk(tree, frequencies(tree), shrunk(tree), 0.5 * (low + high))
    return found.below[0], variance_of(found), (1.0 - known) * (high - low)
