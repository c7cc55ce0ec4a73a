"""A tree of cells for every arm, laid out flat, and the loops over it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pgcpe.bandit import CausalBandit
from pgcpe.confidence.tree_region import interval_since, smoothed_value
from pgcpe.estimators.base import MIN_CELL_COUNT
from pgcpe.estimators.contingency import MOST_CELLS

__all__ = ["Factor", "Forest", "forest_of"]

Integers = NDArray[np.int64]
Factor = tuple[str, frozenset[str]]
"""A variable and what it is conditioned on."""


class Forest(NamedTuple):
    """The layout.

    The levels of arm i are ``level_start[i] : level_start[i + 1]``, one for each variable of its formula, the reward
    last; its treatments, in causal order, ``treated_start[i] : treated_start[i + 1]``. Its nodes begin at
    ``node_start[i]``, level by level from the root, its leaves at ``leaf_start[i]``.

    Attributes
    ----------
    levels
        For each level the column of its variable and the number of its states; -1 and 0 for the reward.
    before
        For each level how many of the arm's treatments come before it.
    treated
        For each treatment its column and the code of its state.
    """

    level_start: Integers
    levels: Integers
    before: Integers
    treated_start: Integers
    treated: Integers
    node_start: Integers
    leaf_start: Integers

    def counters(self) -> tuple[NDArray[np.float64], ...]:
        """Return arrays of zeros for the rounds into the nodes, those of the leaves and the sums of their rewards."""
        return tuple(np.zeros(size) for size in (self.node_start[-1], self.leaf_start[-1], self.leaf_start[-1]))


def forest_of(bandit: CausalBandit) -> tuple[Forest, list[list[Factor]]]:
    """Return the layout for the arms that have a sequence, and the factors of each arm's formula; none for others."""
    column = {v: j for j, v in enumerate(bandit.coding.variables)}
    cards = {v: len(bandit.states[v]) for v in bandit.coding.variables}
    all_factors: list[list[Factor]] = []
    level_start, levels, before = [0], [], []
    treated_start, treated = [0], []
    node_start, leaf_start = [0], [0]
    for action, sequence in zip(bandit.canonical, bandit.sequences, strict=True):
        steps = sequence or []
        adjusted = [v for _, z in steps for v in sorted(z)]
        sizes = np.cumprod([1, *(cards[v] for v in adjusted)])
        factors: list[Factor] = []
        if steps and int(sizes[-1]) <= MOST_CELLS:
            given: set[str] = set()
            for k, (x, z) in enumerate(steps):
                for v in sorted(z):
                    factors.append((v, frozenset(given)))
                    given.add(v)
                    levels.append((column[v], cards[v]))
                    before.append(k)
                given.add(x)
                treated.append((column[x], bandit.states[x].index(action[x])))
            factors.append((bandit.reward, frozenset(given)))
            levels.append((-1, 0))
            before.append(len(steps))
            node_start.append(node_start[-1] + int(sizes.sum()))
            leaf_start.append(leaf_start[-1] + int(sizes[-1]))
        else:
            node_start.append(node_start[-1])
            leaf_start.append(leaf_start[-1])
        level_start.append(len(levels))
        treated_start.append(len(treated))
        all_factors.append(factors)
    return Forest(
        np.array(level_start, dtype=np.int64),
        np.array(levels, dtype=np.int64).reshape(-1, 2),
        np.array(before, dtype=np.int64),
        np.array(treated_start, dtype=np.int64),
        np.array(treated, dtype=np.int64).reshape(-1, 2),
        np.array(node_start, dtype=np.int64),
        np.array(leaf_start, dtype=np.int64),
    ), all_factors


@njit(cache=True)
def count_plays(  # type: ignore[no-untyped-def]
    codes,
    which,
    admitted,
    rewards,
    level_start,
    levels,
    before,
    treated_start,
    treated,
    node_start,
    leaf_start,
    into,
    n,
    x,
):
    """Add rounds to the counts of every arm's tree, each as far as its action is admitted and its treatments agree."""
    nodes = np.zeros(len(levels) + 1, dtype=np.int64)
    for row in range(len(codes)):
        for i in range(len(level_start) - 1):
            depth = admitted[which[row], i]
            passed = _passes_through(
                codes, row, level_start[i], depth, levels, before, treated_start[i], treated, nodes
            )
            if passed > 0:
                into[node_start[i]] += 1
            for level in range(passed):
                if levels[level_start[i] + level, 0] >= 0:
                    into[node_start[i] + nodes[level + 1]] += 1
                else:
                    leaf = leaf_start[i + 1] - (node_start[i + 1] - node_start[i] - nodes[level])
                    n[leaf] += 1
                    x[leaf] += rewards[row]


@njit(cache=True)
def _passes_through(  # type: ignore[no-untyped-def]
    codes, row, level_start, depth, levels, before, treated_start, treated, nodes
):
    """Set the nodes that a round comes to, one for each level from the root on, and return how many levels it passes.

    It passes a level if all treatments before it agree, and comes to the child of the state of the level's variable.
    """
    checked, first, width, cell = 0, 0, 1, 0
    for level in range(depth):
        while checked < before[level_start + level]:
            if codes[row, treated[treated_start + checked, 0]] != treated[treated_start + checked, 1]:
                return level
            checked += 1
        if levels[level_start + level, 0] >= 0:
            states = levels[level_start + level, 1]
            first += width
            width *= states
            cell = cell * states + codes[row, levels[level_start + level, 0]]
            nodes[level + 1] = first + cell
    return depth


@njit(cache=True)
def intersect_intervals(  # type: ignore[no-untyped-def]
    level_start,
    levels,
    before,
    treated_start,
    treated,
    node_start,
    leaf_start,
    into,
    n,
    x,
    into_0,
    n_0,
    x_0,
    nats,
    lower,
    upper,
):
    """Intersect the intervals with those of the plays since a snapshot, in place. An empty result has lower > upper."""
    for i in range(len(level_start) - 1):
        if node_start[i] == node_start[i + 1]:
            continue
        nodes, leaves = slice(node_start[i], node_start[i + 1]), slice(leaf_start[i], leaf_start[i + 1])
        arity = levels[level_start[i] : level_start[i + 1] - 1, 1].copy()
        since = into[nodes] - into_0[nodes]
        if since[0] > 0:
            low, high = interval_since(
                arity,
                since,
                n[leaves] - n_0[leaves],
                x[leaves] - x_0[leaves],
                into_0[nodes],
                n_0[leaves],
                x_0[leaves],
                nats,
            )
            lower[i], upper[i] = max(lower[i], low), min(upper[i], high)


@njit(cache=True)
def smoothed_values(  # type: ignore[no-untyped-def]
    level_start, levels, before, treated_start, treated, node_start, leaf_start, into, n, x
):
    """Return of every arm with a tree the smoothed value, its variance, and what cells seldom seen may be off by."""
    arms = len(level_start) - 1
    value, variance, off = np.full(arms, 0.5), np.full(arms, np.inf), np.zeros(arms)
    for i in range(arms):
        if node_start[i] < node_start[i + 1]:
            arity = levels[level_start[i] : level_start[i + 1] - 1, 1].copy()
            nodes, leaves = slice(node_start[i], node_start[i + 1]), slice(leaf_start[i], leaf_start[i + 1])
            value[i], variance[i] = smoothed_value(arity, into[nodes], n[leaves], x[leaves])
            off[i] = _bias_bound(arity, into[nodes], n[leaves])
    return value, variance, off


@njit(cache=True)
def _bias_bound(arity, into, n):  # type: ignore[no-untyped-def]
    """Return how far a tree's value may be off: half of the share that smoothing has in cells of few plays."""
    reach = np.ones(len(into))
    node, width, child, off = 0, 1, 1, 0.0
    for d in range(len(arity)):
        m = arity[d]
        for j in range(width):
            total = 0.0
            for c in range(child + j * m, child + (j + 1) * m):
                total += into[c]
            for c in range(child + j * m, child + (j + 1) * m):
                reach[c] = reach[node + j] * (into[c] + 0.5) / (total + 0.5 * m)
            if total < MIN_CELL_COUNT:
                off += reach[node + j] * 0.25 * m / (total + 0.5 * m)
        node, width = child, width * m
        child = node + width
    for j in range(width):
        if n[j] < MIN_CELL_COUNT:
            off += reach[node + j] * 0.5 / (n[j] + 1.0)
    return off


@njit(cache=True)
def influence(  # type: ignore[no-untyped-def]
    codes,
    which,
    admitted,
    rewards,
    level_start,
    levels,
    before,
    treated_start,
    treated,
    node_start,
    leaf_start,
    into,
    n,
    x,
    reach,
    below,
    served,
    out,
):
    """Add to ``out[row, arm]`` what each round moved the estimate of each arm served: its influence.

    That is the sum, over the nodes it passed, of w (value after - value before) / sqrt((n + m/2) max(n, 1/2)): squared
    and summed over all rounds and the half rounds of the smoothing it is the variance of `smoothed_value`.
    """
    nodes = np.zeros(len(levels) + 1, dtype=np.int64)
    for i in range(len(level_start) - 1):
        if not served[i] or node_start[i] == node_start[i + 1]:
            continue
        total = np.zeros(node_start[i + 1] - node_start[i])  # rounds admitted at the node
        node, width, child = 0, 1, 1
        for level in range(level_start[i], level_start[i + 1] - 1):
            for j in range(width):
                for c in range(levels[level, 1]):
                    total[node + j] += into[node_start[i] + child + j * levels[level, 1] + c]
            node, width = child, width * levels[level, 1]
            child = node + width
        for j in range(width):
            total[node + j] = n[leaf_start[i] + j]
        for row in range(len(codes)):
            depth = admitted[which[row], i]
            passed = _passes_through(
                codes, row, level_start[i], depth, levels, before, treated_start[i], treated, nodes
            )
            for level in range(passed):
                at = nodes[level]
                if levels[level_start[i] + level, 0] < 0:
                    after, half = rewards[row], 1.0
                else:
                    after, half = below[node_start[i] + nodes[level + 1]], 0.5 * levels[level_start[i] + level, 1]
                weight = reach[node_start[i] + at] / np.sqrt((total[at] + half) * max(total[at], 0.5))
                out[row, i] += weight * (after - below[node_start[i] + at])


@njit(cache=True)
def passes(  # type: ignore[no-untyped-def]
    level_start, levels, before, treated_start, treated, node_start, leaf_start, into, n, x, reach, below, falls
):
    """Set reach and the values below of all nodes, and for each level how far one more round through it cuts variance.

    ``falls[level]`` is the sum over its nodes of w times ``w^2 spread / max(n, 1/2)^2``: the probability of the node,
    given that the treatments before it agree, times what a round there takes off the variance.
    """
    for i in range(len(level_start) - 1):
        start, leaf = node_start[i], leaf_start[i]
        if start == node_start[i + 1]:
            continue
        node, width, child = start, 1, start + 1
        reach[start] = 1.0
        last = level_start[i + 1] - 1
        for level in range(level_start[i], last):
            m = levels[level, 1]
            for j in range(width):
                total = 0.0
                for c in range(child + j * m, child + (j + 1) * m):
                    total += into[c]
                for c in range(child + j * m, child + (j + 1) * m):
                    reach[c] = reach[node + j] * (into[c] + 0.5) / (total + 0.5 * m)
            node, width = child, width * m
            child = node + width
        falls[last] = 0.0
        for j in range(width):
            q = below[node + j] = (x[leaf + j] + 0.5) / (n[leaf + j] + 1.0)
            falls[last] += reach[node + j] ** 3 * q * (1.0 - q) / max(n[leaf + j], 0.5) ** 2
        for level in range(last - 1, level_start[i] - 1, -1):
            m = levels[level, 1]
            child, width = node, width // m
            node = child - width
            falls[level] = 0.0
            for j in range(width):
                total = mean = square = 0.0
                for c in range(child + j * m, child + (j + 1) * m):
                    total += into[c]
                    p = reach[c] / reach[node + j]
                    mean += p * below[c]
                    square += p * below[c] ** 2
                below[node + j] = mean
                falls[level] += reach[node + j] ** 3 * (square - mean * mean) / max(total, 0.5) ** 2


@njit(cache=True)
def progress(  # type: ignore[no-untyped-def]
    forced, admitted, shares, level_start, levels, before, treated_start, treated, falls, weights, served, out
):
    """Add to ``out`` what one play of each action takes off the variances of the arms, each times its weight.

    A treatment that the action leaves free agrees with probability ``shares[column, state]``.
    """
    for b in range(len(forced)):
        for i in range(len(level_start) - 1):
            if weights[i] == 0.0 or not served[i]:
                continue
            agree, checked = 1.0, treated_start[i]
            for level in range(level_start[i], level_start[i] + admitted[b, i]):
                while checked < treated_start[i] + before[level]:
                    column, state = treated[checked]
                    if forced[b, column] < 0:
                        agree *= shares[column, state]
                    elif forced[b, column] != state:
                        agree = 0.0
                    checked += 1
                out[b] += weights[i] * agree * falls[level]
