"""What the trees of a forest say: walks through them, values, variances, and what one more play would cut."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgcpe._numba import njit
from pgcpe.confidence.tree import (
    Tree,
    frequencies,
    moved,
    plug_in_value,
    shrunk,
    smoothed,
    variance_of,
    walk,
    walk_into,
)
from pgcpe.estimators.forest import Forest, tree_of, walk_of

__all__ = ["Playable", "Reached"]

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
def plain_without(forest, counts, own, low, high, arms):  # type: ignore[no-untyped-def]
    """Return what `walk_plain` does of some arms, from all rounds but those of `own`."""
    value, variance, off = np.full(len(arms), 0.5 * (low + high)), np.zeros(len(arms)), np.full(len(arms), high - low)
    for k, i in enumerate(arms):
        if forest.node_start[i] < forest.node_start[i + 1]:
            value[k], variance[k], off[k] = plug_in_value(
                _less(tree_of(forest, counts, i), tree_of(forest, own, i)), low, high
            )
    return value, variance, off


@njit(cache=True)
def _less(tree, some):  # type: ignore[no-untyped-def]
    """Return the tree of the counts that are left without some of them."""
    n = np.maximum(tree.n - some.n, 0.0)
    return Tree(tree.arity, np.maximum(tree.into - some.into, 0.0), n, np.minimum(np.maximum(tree.x - some.x, 0.0), n))


@njit(cache=True)
def variances_if_equal(forest, counts, own, served, pairs, leader, middle):  # type: ignore[no-untyped-def]
    """Return the sum of the variances of leader and arm at the nearest parameters where `gap` is 0, or at the
    frequencies, if larger; for some arms.

    The nearest are found in `STEPS` from the frequencies, each along the influence where the one before led to.

    `pairs` are the arms, the gap and the sum of the variances at the frequencies, which do not look at rounds that both
    share. Where the gap is not positive already they are those. Arms that are not served have a tree of one leaf, their
    `own` plays.
    """
    arms, gap, variance = pairs
    out = variance.copy()
    for k, i in enumerate(arms):
        if i != leader and gap[k] > 0 and variance[k] > 0:
            high = tree_of(forest, counts, leader) if served[leader] else _leaf(own, leader)
            low = tree_of(forest, counts, i) if served[i] else _leaf(own, i)
            at_high, at_low = shrunk(high), shrunk(low)
            for _ in range(STEPS):
                step = gap[k] / out[k]
                at_high, of_high = _stepped(high, at_high, -step, middle)
                at_low, of_low = _stepped(low, at_low, step, middle)
                out[k] = max(out[k], of_high + of_low)
    return out


@njit(cache=True)
def variances_at(forest, counts, own, arms, change, variance, middle):  # type: ignore[no-untyped-def]
    """Return the variance of some arms, from all rounds but those of `own`, at the nearest parameters where the value
    has changed by so much, or at the frequencies, if larger; see `variances_if_equal`.
    """
    out = variance.copy()
    for k, i in enumerate(arms):
        if change[k] != 0.0 and variance[k] > 0:
            tree = _less(tree_of(forest, counts, i), tree_of(forest, own, i))
            at = shrunk(tree)
            for _ in range(STEPS):
                at, there = _stepped(tree, at, change[k] / out[k], middle)
                out[k] = max(out[k], there)
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
def variance_falls(forest, walks, expected):  # type: ignore[no-untyped-def]
    """Return for each level of every arm how far one more round through it cuts the variance.

    That is the sum over its nodes of w times ``w^2 spread / max(n, 1/2)^2``: the probability of the node, given that
    the treatments before it agree, times what a round there takes off the variance. So many rounds as are ``expected``
    at a level besides those told, of which a node gets its share w, are added to n.
    """
    falls = np.zeros(len(forest.column))
    for i in range(len(forest.node_start) - 1):
        node, width = forest.node_start[i], 1
        for level in range(forest.level_start[i], forest.level_start[i + 1]):
            for _ in range(width):
                plays = max(walks.plays[node], 0.5) + expected[level] * walks.reach[node]
                falls[level] += walks.reach[node] ** 3 * walks.spread[node] / plays**2
                node += 1
            width *= forest.arity[level]
    return falls


class Reached(NamedTuple):
    """Which trees plays that set some variables tell something of.

    Those of set k are of the shapes ``shape[start[k] : start[k + 1]]``, to so many levels as ``depth`` says.
    """

    start: NDArray[np.int64]
    shape: NDArray[np.int64]
    depth: NDArray[np.int8]

    @classmethod
    def of(cls, depth: NDArray[np.int8], which: NDArray[np.bool_]) -> Reached:
        """Return those of all pairs of a set and a shape of which the depth is positive."""
        sets, shapes = np.nonzero((depth > 0) & which)
        return cls(np.searchsorted(sets, np.arange(len(depth) + 1)), shapes, depth[sets, shapes])


class Playable(NamedTuple):
    """What a kernel has to know of the playable actions to say what a play of each would add.

    Attributes
    ----------
    forced
        The codes that each forces, -1 where it leaves a variable free.
    set_of
        Which of their sets of variables each sets.
    apart, touching
        What plays of these sets reach, where they set none of the treatments of the trees' arms, and where they do.
    by_shape, shape_start
        The arms in the order of their shapes, and where each shape begins.
    """

    forced: NDArray[np.int32]
    set_of: NDArray[np.int64]
    apart: Reached
    touching: Reached
    by_shape: NDArray[np.intp]
    shape_start: NDArray[np.int64]

    @classmethod
    def of(
        cls, forest: Forest, forced: NDArray[np.int32], set_of: NDArray[np.int64], depth: NDArray[np.int8]
    ) -> Playable:
        """Return it for actions of which these codes, sets and depths, of each set and shape, are known."""
        sets, shapes = depth.shape
        sets_column = np.zeros((sets, forced.shape[1]), dtype=np.float32)
        sets_column[set_of] = forced >= 0
        treats = np.zeros((shapes, forced.shape[1]), dtype=np.float32)
        treats[np.repeat(forest.set_of, np.diff(forest.treated_start)), forest.treated[:, 0]] = 1.0
        touching = sets_column @ treats.T > 0
        by_shape = np.argsort(forest.set_of, kind="stable")
        start = np.searchsorted(forest.set_of[by_shape], np.arange(shapes + 1))
        return cls(forced, set_of, Reached.of(depth, ~touching), Reached.of(depth, touching), by_shape, start)


@njit(cache=True)
def progress(forest, falls, playable, shares, weights, out):  # type: ignore[no-untyped-def]
    """Add to ``out`` what one play of each action takes off the variances of the arms, each times its weight.

    A treatment that an action leaves free agrees with probability ``shares[column, state]``. Arms none of whose
    treatments an action sets are added up by their shape, and for all actions that set the same variables.
    """
    forced, set_of, apart, touching, by_shape, shape_start = playable
    by_depth = _free_progress(forest, falls, shares, weights, len(shape_start) - 1)
    free = np.zeros(len(apart.start) - 1)
    for k in range(len(free)):
        for pair in range(apart.start[k], apart.start[k + 1]):
            free[k] += by_depth[apart.shape[pair], apart.depth[pair]]
    for b in range(len(forced)):
        out[b] += free[set_of[b]]
        for pair in range(touching.start[set_of[b]], touching.start[set_of[b] + 1]):
            shape = touching.shape[pair]
            for i in by_shape[shape_start[shape] : shape_start[shape + 1]]:
                if weights[i] != 0.0:
                    out[b] += weights[i] * _fall(forest, falls, forced[b], touching.depth[pair], shares, i)


@njit(cache=True)
def expected_rounds(forest, playable, shares, pending, out):  # type: ignore[no-untyped-def]
    """Add to ``out`` how many rounds come to each level of every arm if so many of each action are pending."""
    forced, set_of, apart, touching, by_shape, shape_start = playable
    for b in np.flatnonzero(pending):
        for reached in (apart, touching):
            for pair in range(reached.start[set_of[b]], reached.start[set_of[b] + 1]):
                shape = reached.shape[pair]
                for i in by_shape[shape_start[shape] : shape_start[shape + 1]]:
                    agree, checked = pending[b], forest.treated_start[i]
                    for level in range(forest.level_start[i], forest.level_start[i] + reached.depth[pair]):
                        while checked < forest.treated_start[i] + forest.before[level]:
                            agree *= _agrees(forest, forced[b], shares, checked)
                            checked += 1
                        out[level] += agree


@njit(cache=True)
def _agrees(forest, forced, shares, k):  # type: ignore[no-untyped-def]
    """Return how likely a play that forces these codes has the state of treatment k."""
    column, state = forest.treated[k]
    if forced[column] < 0:
        return shares[column, state]
    return 1.0 if forced[column] == state else 0.0


@njit(cache=True)
def _free_progress(forest, falls, shares, weights, shapes):  # type: ignore[no-untyped-def]
    """Return the sums of `progress` over the arms of each shape for every depth, where no treatment is set."""
    by_depth = np.zeros((shapes, np.diff(forest.level_start).max() + 1))
    nothing = np.full(len(shares), -1, dtype=np.int32)
    for i in range(len(weights)):
        if weights[i] != 0.0:
            for levels in range(1, forest.level_start[i + 1] - forest.level_start[i] + 1):
                by_depth[forest.set_of[i], levels] += weights[i] * _fall(forest, falls, nothing, levels, shares, i)
    return by_depth


@njit(cache=True)
def _fall(forest, falls, forced, depth, shares, i):  # type: ignore[no-untyped-def]
    """Return what one play that forces these codes, admitted to so many levels, takes off the variance of an arm."""
    total, agree, checked = 0.0, 1.0, forest.treated_start[i]
    for level in range(forest.level_start[i], forest.level_start[i] + depth):
        while checked < forest.treated_start[i] + forest.before[level]:
            column, state = forest.treated[checked]
            if forced[column] < 0:
                agree *= shares[column, state]
            elif forced[column] != state:
                return total
            checked += 1
        total += agree * falls[level]
    return total
