"""The contingency tables behind an adjustment formula, for all intervened sets and all their values at once."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pgcpe.bandit import CausalBandit
from pgcpe.confidence.intervals import Intervals
from pgcpe.confidence.paper_radii import paper_observational_union, union_radius
from pgcpe.confidence.tree_region import smoothed_value, tree_interval

__all__ = ["MOST_CELLS", "ContingencyTables"]

MOST_CELLS = 1_000_000
"""An arm whose table would have more cells has none: no study fills them."""


class ContingencyTables:
    """The tables of all sets S, laid out flat for the loops below.

    Table t has the axes ``axis[t] : axis[t + 1]``; its counts start at ``node[t]``, level by level: the total, then the
    marginals of the first axis, of the first two, ..., the cells. Its reward sums start at ``leaf[t]``, one for each
    cell. Table 0 is that of ``do()``, a single cell.
    """

    def __init__(self, bandit: CausalBandit) -> None:
        column = {v: j for j, v in enumerate(bandit.coding.variables)}
        cards = {v: len(bandit.states[v]) for v in bandit.coding.variables}
        tables: dict[tuple[str, ...], int] = {(): 0}
        order: list[list[str]] = [[]]
        treated: list[list[bool]] = [[]]
        self.table_of, states, state_start = [], [], [0]
        self._union = np.zeros(len(bandit.arms))
        for i, (action, sequence) in enumerate(zip(bandit.canonical, bandit.sequences, strict=True)):
            variables = [v for x, z in sequence or [] for v in (*sorted(z), x)]
            if sequence is None or math.prod(cards[v] for v in variables) > MOST_CELLS:
                self.table_of.append(-1)
            else:
                if action.variables not in tables:
                    tables[action.variables] = len(order)
                    order.append(variables)
                    treated.append([v in action for v in variables])
                self.table_of.append(tables[action.variables])
                states += [bandit.states[x].index(action[x]) for x, _ in sequence]
                adjusted = [v for _, z in sequence for v in z]
                leaves = math.prod(cards[v] for v in adjusted)
                self._union[i] = paper_observational_union(len(sequence), len(adjusted), leaves, len(bandit.arms))
            state_start.append(len(states))
        levels = [np.cumprod([1, *(cards[v] for v in variables)]) for variables in order]
        self.arrays = (
            np.array(self.table_of, dtype=np.int64),
            np.array(state_start, dtype=np.int64),
            np.array(states, dtype=np.int64),
            np.cumsum([0, *map(len, order)]),  # axis
            np.array([cards[v] for variables in order for v in variables], dtype=np.int64),
            np.array([t for flags in treated for t in flags], dtype=np.bool_),
            np.cumsum([0, *(level.sum() for level in levels)]),  # node
            np.cumsum([0, *(level[-1] for level in levels)]),  # leaf
            np.zeros(sum(int(level.sum()) for level in levels)),  # counts
            np.zeros(sum(int(level[-1]) for level in levels)),  # reward sums
        )
        self._columns = np.array([column[v] for variables in order for v in variables], dtype=np.int64)

    def count(self, codes: NDArray[np.int32], rewards: NDArray[np.float64]) -> None:
        """Add passive observations, in the bandit's coding, and their rewards to all tables."""
        _, _, _, axis, cards, _, node, leaf, counts, sums = self.arrays
        _count(codes, rewards, self._columns, axis, cards, node, leaf, counts, sums)

    def likelihood_ratio(self, alpha: float) -> Intervals:
        """Return the exact intervals of the arms with a table, each at error probability `alpha`."""
        return Intervals(*_lr_intervals(*self.arrays, -math.log(alpha)))

    def paper(self, delta: float, observations: int, alpha: float) -> Intervals:
        """Return the paper's intervals mu_O -+ beta_O after so many observations; [0, 1] where T_a = 0."""
        return Intervals(*_around(*self.plug_in(), self._union / delta, observations, alpha))

    def plug_in(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mu_O (Eq. 11) of every arm and T_a, the plays of its least seen cell; 0 and 0 before all were seen."""
        value, smallest = _plug_in(*self.arrays)
        return value, smallest

    def smoothed(self, arm: int) -> tuple[float, float]:
        """Return the smoothed estimate of an arm with a table, and its variance."""
        value, variance = _estimate(*self.arrays, arm)
        return float(value), float(variance)


@njit(cache=True)
def _count(codes, rewards, columns, axis, cards, node, leaf, counts, sums):  # type: ignore[no-untyped-def]
    for t in range(len(axis) - 1):
        for row in range(len(codes)):
            start, size, cell = node[t], 1, 0
            counts[start] += 1
            for a in range(axis[t], axis[t + 1]):
                start += size
                size *= cards[a]
                cell = cell * cards[a] + codes[row, columns[a]]
                counts[start + cell] += 1
            sums[leaf[t] + cell] += rewards[row]


@njit(cache=True)
def _gather(t, states, axis, cards, treated, node, leaf, counts, rewards, scratch):  # type: ignore[no-untyped-def]
    """Read the tree of one arm off its table: at every treatment only the branch of its state is followed.

    Returns arity, into, n and x as `tree_interval` takes them, as views of the scratch arrays.
    """
    arity, cells, into, n, x = scratch
    start, size = node[t], 1
    depth, filled, width, k = 0, 1, 1, 0
    into[0], cells[0] = counts[start], 0
    for a in range(axis[t], axis[t + 1]):
        start += size
        size *= cards[a]
        if treated[a]:
            for i in range(width):
                cells[i] = cells[i] * cards[a] + states[k]
            k += 1
        else:
            for i in range(width - 1, -1, -1):
                prefix = cells[i]
                for c in range(cards[a]):
                    cells[i * cards[a] + c] = prefix * cards[a] + c
            width *= cards[a]
            for i in range(width):
                into[filled + i] = counts[start + cells[i]]
            arity[depth] = cards[a]
            depth += 1
            filled += width
    for i in range(width):
        n[i] = counts[start + cells[i]]
        x[i] = min(rewards[leaf[t] + cells[i]], n[i])
    return arity[:depth], into[:filled], n[:width], x[:width]


@njit(cache=True)
def _scratch(axis, node):  # type: ignore[no-untyped-def]
    """Return scratch arrays for the largest table."""
    axes = nodes = 1
    for t in range(len(axis) - 1):
        axes, nodes = max(axes, axis[t + 1] - axis[t]), max(nodes, node[t + 1] - node[t])
    integers = np.empty(axes, dtype=np.int64), np.empty(nodes, dtype=np.int64)
    return integers[0], integers[1], np.empty(nodes), np.empty(nodes), np.empty(nodes)


@njit(cache=True)
def _lr_intervals(  # type: ignore[no-untyped-def]
    table_of, first, states, axis, cards, treated, node, leaf, counts, rewards, log_inverse_alpha
):
    lower, upper = np.zeros(len(table_of)), np.ones(len(table_of))
    scratch = _scratch(axis, node)
    for i in range(len(table_of)):
        t = table_of[i]
        if t > 0 and counts[node[t]] > 0:
            arity, into, n, x = _gather(
                t, states[first[i] :], axis, cards, treated, node, leaf, counts, rewards, scratch
            )
            lower[i], upper[i] = tree_interval(arity, into, n, x, log_inverse_alpha)
    return lower, upper


@njit(cache=True)
def _plug_in(  # type: ignore[no-untyped-def]
    table_of, first, states, axis, cards, treated, node, leaf, counts, rewards
):
    value, smallest = np.zeros(len(table_of)), np.zeros(len(table_of))
    scratch = _scratch(axis, node)
    for i in range(len(table_of)):
        t = table_of[i]
        if t <= 0:
            continue
        arity, into, v, x = _gather(t, states[first[i] :], axis, cards, treated, node, leaf, counts, rewards, scratch)
        width, least = len(v), v[0]
        for j in range(width):
            least = min(least, v[j])
        if least == 0:
            continue
        for j in range(width):
            v[j] = x[j] / v[j]  # r of Eq. (8)
        filled = len(into)
        for d in range(len(arity) - 1, -1, -1):
            filled -= width
            width //= arity[d]
            for j in range(width):
                total = mean = 0.0
                for c in range(j * arity[d], (j + 1) * arity[d]):
                    total += into[filled + c]
                    mean += into[filled + c] * v[c]  # p of Eq. (10) is into / total
                v[j] = mean / total
        value[i], smallest[i] = v[0], least
    return value, smallest


@njit(cache=True)
def _around(value, smallest, union_over_delta, observations, alpha):  # type: ignore[no-untyped-def]
    """Return mu_O -+ beta_O."""
    lower, upper = np.zeros(len(value)), np.ones(len(value))
    for i in range(len(value)):
        if smallest[i] > 0:
            radius = union_radius(smallest[i], union_over_delta[i], observations, alpha)
            lower[i], upper[i] = max(value[i] - radius, 0.0), min(value[i] + radius, 1.0)
    return lower, upper


@njit(cache=True)
def _estimate(table_of, first, states, axis, cards, treated, node, leaf, counts, rewards, i):  # type: ignore[no-untyped-def]
    """Return the smoothed estimate of arm i and its variance."""
    scratch = _scratch(axis, node)
    return smoothed_value(
        *_gather(table_of[i], states[first[i] :], axis, cards, treated, node, leaf, counts, rewards, scratch)
    )
