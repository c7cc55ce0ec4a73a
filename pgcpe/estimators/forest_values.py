"""What the trees of a forest say: walks through them, values, variances, and what one more play would cut."""

from __future__ import annotations

import numpy as np

from pgcpe._numba import njit
from pgcpe.confidence.tree import Tree, frequencies, moved, shrunk, smoothed, variance_of, walk, walk_into
from pgcpe.estimators.forest import tree_of, walk_of

__all__: list[str] = []

STEPS = 2
"""To the nearest parameters where arms are equal: cells of zeros are too sure of themselves to move in the first, and
cells with many plays would take their part."""


@njit(cache=True)
def walk_smoothed(forest, counts, walks):  # type: ignore[no-untyped-def]
    """Walk through every tree at its smoothed frequencies."""
    for i in range(len(forest.node_start) - 1):
        if forest.node_start[i] < forest.node_start[i + 1]:
            tree = tree_of(forest, counts, i)
            theta = smoothed(tree)
            walk_into(tree, theta, theta, 0.5, walk_of(forest, walks, i))


@njit(cache=True)
def walk_plain(forest, counts, low, high, walks):  # type: ignore[no-untyped-def]
    """Walk through every tree at its plain frequencies; return values, variances and bias bounds, see `plug_in_value`.

    An arm without a tree has the middle of the range of rewards, variance 0, and the range for its bias bound.
    """
    arms = len(forest.node_start) - 1
    value, variance, off = np.full(arms, 0.5 * (low + high)), np.zeros(arms), np.full(arms, high - low)
    for i in range(arms):
        if forest.node_start[i] < forest.node_start[i + 1]:
            tree, found = tree_of(forest, counts, i), walk_of(forest, walks, i)
            known = walk_into(tree, frequencies(tree), shrunk(tree), value[i], found)
            value[i], variance[i], off[i] = found.below[0], variance_of(found), (1.0 - known) * (high - low)
    return value, variance, off


@njit(cache=True)
def smoothed_values(forest, walks):  # type: ignore[no-untyped-def]
    """Return of every arm with a tree the smoothed value and its variance; 1/2 and infinity of others."""
    arms = len(forest.node_start) - 1
    value, variance = np.full(arms, 0.5), np.full(arms, np.inf)
    for i in range(arms):
        if forest.node_start[i] < forest.node_start[i + 1]:
            found = walk_of(forest, walks, i)
            value[i], variance[i] = found.below[0], variance_of(found)
    return value, variance


@njit(cache=True)
def variances_if_equal(forest, counts, own, served, pairs, leader, middle):  # type: ignore[no-untyped-def]
    """Return the sum of the variances of leader and arm at the nearest parameters where `gap` is 0, or at the
    frequencies, if larger; for every arm.

    The nearest are found in `STEPS` from the frequencies, each along the influence where the one before led to.

    `pairs` are the gap and the sum of the variances at the frequencies, which do not look at rounds that both share.
    Where the gap is not positive already they are those. Arms that are not served have a tree of one leaf, their `own`
    plays.
    """
    gap, variance = pairs
    out = variance.copy()
    for i in range(len(gap)):
        if i != leader and gap[i] > 0 and variance[i] > 0:
            high = tree_of(forest, counts, leader) if served[leader] else _leaf(own, leader)
            low = tree_of(forest, counts, i) if served[i] else _leaf(own, i)
            at_high, at_low = shrunk(high), shrunk(low)
            for _ in range(STEPS):
                step = gap[i] / out[i]
                at_high, of_high = _stepped(high, at_high, -step, middle)
                at_low, of_low = _stepped(low, at_low, step, middle)
                out[i] = max(out[i], of_high + of_low)
    return out


@njit(cache=True)
def variances_at(forest, counts, served, change, variance, middle):  # type: ignore[no-untyped-def]
    """Return the variance of every arm served at the nearest parameters where its value has changed by so much, or at
    the frequencies, if larger; see `variances_if_equal`.
    """
    out = variance.copy()
    for i in range(len(served)):
        if served[i] and change[i] != 0.0 and variance[i] > 0:
            tree = tree_of(forest, counts, i)
            at = shrunk(tree)
            for _ in range(STEPS):
                at, there = _stepped(tree, at, change[i] / out[i], middle)
                out[i] = max(out[i], there)
    return out


@njit(cache=True)
def _stepped(tree, shares, step, middle):  # type: ignore[no-untyped-def]
    """Return the frequencies after a step along the influence that is that of `shares`, and the variance there."""
    theta = frequencies(tree)
    found, _ = walk(tree, theta, shares, middle)
    theta = moved(tree, theta, shares, found, step)
    found, _ = walk(tree, theta, theta, middle)
    return theta, variance_of(found)


@njit(cache=True)
def _leaf(own, i):  # type: ignore[no-untyped-def]
    """Return the tree of an arm's own plays."""
    n = own[0, i : i + 1]
    return Tree(np.zeros(0, dtype=np.int64), n, n, own[1, i : i + 1])


@njit(cache=True)
def variance_falls(forest, walks):  # type: ignore[no-untyped-def]
    """Return for each level of every arm how far one more round through it cuts the variance.

    That is the sum over its nodes of w times ``w^2 spread / max(n, 1/2)^2``: the probability of the node, given that
    the treatments before it agree, times what a round there takes off the variance.
    """
    falls = np.zeros(len(forest.column))
    for i in range(len(forest.node_start) - 1):
        node, width = forest.node_start[i], 1
        for level in range(forest.level_start[i], forest.level_start[i + 1]):
            for _ in range(width):
                falls[level] += walks.reach[node] ** 3 * walks.spread[node] / max(walks.plays[node], 0.5) ** 2
                node += 1
            width *= forest.arity[level]
    return falls


@njit(cache=True)
def progress(forest, falls, settings, shares, weights, out):  # type: ignore[no-untyped-def]
    """Add to ``out`` what one play of each action takes off the variances of the arms, each times its weight.

    ``settings`` are the codes that each action forces, -1 where it leaves a variable free, and how many levels of each
    arm it is admitted to. A treatment that the action leaves free agrees with probability ``shares[column, state]``.
    """
    forced, admitted = settings
    for b in range(len(forced)):
        for i in range(len(weights)):
            if weights[i] == 0.0:
                continue
            agree, checked = 1.0, forest.treated_start[i]
            for level in range(forest.level_start[i], forest.level_start[i] + admitted[b, i]):
                while checked < forest.treated_start[i] + forest.before[level]:
                    column, state = forest.treated[checked]
                    if forced[b, column] < 0:
                        agree *= shares[column, state]
                    elif forced[b, column] != state:
                        agree = 0.0
                    checked += 1
                out[b] += weights[i] * agree * falls[level]
