"""A tree of cells, and the walk through it that gives the value of an adjustment formula at any of its parameters.

A tree has D levels of splits, then leaves. Its nodes are numbered level by level from the root, 0; the children of node
j of level d, of which there are ``arity[d]``, are the nodes ``j * arity[d]``, ... of level d + 1. ``into[c]`` counts
the rounds that went into node c among those admitted to its level; a leaf has n rounds whose rewards sum to x. With p
the probability of going into a node and q the mean reward of a leaf, the value is mu = sum over leaves of w q, where w
is the product of the p on the way (Eq. 4).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgcpe._numba import njit

__all__ = ["Parameters", "Tree", "Walk", "smoothed", "smoothed_value", "variance_of", "walk", "walk_into"]

Floats = NDArray[np.float64]


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
    """The probability of going into each node from the one above, and the mean reward of each leaf."""

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
def walk(tree, theta):  # type: ignore[no-untyped-def]
    """Return the walk at parameters theta: down with the probabilities, up with the values."""
    size = len(tree.into)
    found = Walk(np.empty(size), np.empty(size), np.empty(size), np.empty(size))
    walk_into(tree, theta, found)
    return found


@njit(cache=True)
def walk_into(tree, theta, found):  # type: ignore[no-untyped-def]
    """Write the walk at parameters theta into the arrays of one."""
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
    for i in range(width):
        q = theta.q[i]
        found.plays[node + i], found.below[node + i], found.spread[node + i] = tree.n[i], q, q * (1.0 - q)
    for d in range(len(tree.arity) - 1, -1, -1):
        m = tree.arity[d]
        width //= m
        for _ in range(width):
            child -= m
            node -= 1
            mean = square = 0.0
            for c in range(child, child + m):
                mean += theta.p[c] * found.below[c]
                square += theta.p[c] * found.below[c] ** 2
            found.below[node], found.spread[node] = mean, square - mean * mean


@njit(cache=True)
def variance_of(found):  # type: ignore[no-untyped-def]
    """Return the variance of the value by the delta method: the sum of w^2 spread over the rounds of the node."""
    variance = 0.0
    for node in range(len(found.reach)):
        variance += found.reach[node] ** 2 * found.spread[node] / max(found.plays[node], 0.5)
    return variance


@njit(cache=True)
def smoothed_value(tree):  # type: ignore[no-untyped-def]
    """Return the value of a tree at the smoothed frequencies, and its variance.

    Without smoothing the variance is 0 where a cell has seen only zeros.
    """
    found = walk(tree, smoothed(tree))
    return found.below[0], variance_of(found)
