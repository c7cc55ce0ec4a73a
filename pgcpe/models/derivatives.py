"""How the expected reward of an action depends on every entry of a network's tables, and how often it meets each row.

All configurations are gone through, prefix by prefix in causal order: once down with the probability w of each prefix,
and back up with the expected reward below it. Rows and entries are numbered flat, node by node, row by row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgcpe._numba import njit

__all__ = ["MOST_CONFIGURATIONS", "Derivatives", "Layout"]

Floats = NDArray[np.float64]

MOST_CONFIGURATIONS = 2**22
"""Networks with more, summed over the actions, are not gone through."""


class Derivatives(NamedTuple):
    """What `Layout.derivatives` returns.

    Attributes
    ----------
    mean
        Array over the actions: the expected reward.
    reach
        Array of shape (actions, rows): the probability that one play has the parents' values of the row and leaves its
        node free.
    slope
        Array of shape (actions, entries): the derivative of the expected reward by the probability.
    """

    mean: Floats
    reach: Floats
    slope: Floats


class Tables(NamedTuple):
    """The arrays of a `Layout` as its kernels read them."""

    parents: NDArray[np.int64]
    cards: NDArray[np.int64]
    forced: NDArray[np.int64]
    row_start: NDArray[np.int64]
    entry_start: NDArray[np.int64]


class Prefixes(NamedTuple):
    """The same for networks that are gone through.

    Attributes
    ----------
    rows
        For each node and prefix before it, of all of that length in order, the row it meets.
    prefix_start
        Where those of a node begin.
    """

    cards: NDArray[np.int64]
    forced: NDArray[np.int64]
    row_start: NDArray[np.int64]
    entry_start: NDArray[np.int64]
    rows: NDArray[np.int32]
    prefix_start: NDArray[np.int64]


class Layout:
    """Where rows and entries of the tables stand.

    Parameters
    ----------
    parents
        For each node, in causal order and the reward last, the positions of its parents.
    cards
        The number of states of each node.
    forced
        Integer array of shape (actions, nodes): the state that an action sets, -1 where it leaves the node free.

    Attributes
    ----------
    entry_start, row_start
        Where the entries and rows of each node begin; their numbers come last.
    width
        For each row the number of its entries.
    arrays
        The same as kernels read them.

    Examples
    --------
    >>> chain = Layout([(), (0,)], [2, 2], np.array([[-1, -1], [1, -1]]))
    >>> found = chain.derivatives(np.array([0.5, 0.5, 0.8, 0.2, 0.2, 0.8]), np.array([0.0, 1.0]))
    >>> found.mean
    array([0.5, 0.8])
    >>> found.reach[0]
    array([1. , 0.5, 0.5])
    """

    def __init__(self, parents: Sequence[tuple[int, ...]], cards: Sequence[int], forced: NDArray[Any]) -> None:
        self.cards, self.forced = np.array(cards, dtype=np.int64), np.asarray(forced, dtype=np.int64)
        self.parents = np.full((len(parents), max(map(len, parents)) + 1), -1, dtype=np.int64)
        for i, ps in enumerate(parents):
            self.parents[i, : len(ps)] = ps
        rows = [math.prod(cards[p] for p in ps) for ps in parents]
        self.row_start = np.cumsum([0, *rows])
        self.entry_start = np.cumsum([0, *(n * m for n, m in zip(rows, cards, strict=True))])
        self.width = np.repeat(self.cards, rows)
        self.arrays = Tables(self.parents, self.cards, self.forced, self.row_start, self.entry_start)

    @cached_property
    def small(self) -> bool:
        """Whether the configurations are few enough to go through."""
        return self.has_at_most(MOST_CONFIGURATIONS)

    def has_at_most(self, configurations: int) -> bool:
        """Return whether there are no more configurations than this, summed over the actions."""
        free = np.log(np.where(self.forced < 0, self.cards, 1)).sum(axis=1)  # a product would overflow
        return bool(np.logaddexp.reduce(free) <= math.log(configurations) + 1e-9)

    @cached_property
    def prefixes(self) -> Prefixes:
        """The row that each prefix meets, worked out once."""
        rows = []
        for node, parents in enumerate(self.parents):
            prefixes = np.arange(self.cards[:node].prod())
            row = np.zeros_like(prefixes)
            for p in parents[parents >= 0]:
                row = row * self.cards[p] + prefixes // self.cards[p + 1 : node].prod() % self.cards[p]
            rows.append(row.astype(np.int32))
        start = np.cumsum([0, *map(len, rows)])
        return Prefixes(self.cards, self.forced, self.row_start, self.entry_start, np.concatenate(rows), start)

    def means(self, tables: Floats, values: Floats) -> Floats:
        """Return the expected rewards of `derivatives` alone."""
        mean, nothing = np.zeros(len(self.forced)), np.zeros((0, 0))
        _go_through(self.prefixes, tables, values, mean, nothing, nothing)
        return mean

    def derivatives(self, tables: Floats, values: Floats) -> Derivatives:
        """Return expected rewards, probabilities of the rows and derivatives.

        Parameters
        ----------
        tables
            The probabilities of all entries.
        values
            The reward of each state of the last node.
        """
        n_actions = len(self.forced)
        mean = np.zeros(n_actions)
        reach = np.zeros((n_actions, self.row_start[-1]))
        slope = np.zeros((n_actions, self.entry_start[-1]))
        _go_through(self.prefixes, tables, values, mean, reach, slope)
        return Derivatives(mean, reach, slope)

    def extremes(self, tables: Floats, values: Floats, unseen: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Return the least and the largest expected reward of each action, whatever the rows `unseen` are.

        A row may differ between prefixes that share it, which bounds what it can be.
        """
        low, high = np.zeros(len(self.forced)), np.zeros(len(self.forced))
        known = np.where(np.repeat(unseen, self.width), np.nan, tables)
        _extremes(self.prefixes, known, values, low, high)
        return low, high


@njit(cache=True)
def _room(layout):  # type: ignore[no-untyped-def]
    """Return room for numbers, probabilities and values of the prefixes of one action, and where levels begin."""
    size = len(layout.rows)
    return (
        np.zeros(size, dtype=np.int32),
        np.ones(size),
        np.zeros(size),
        np.zeros(len(layout.cards) + 1, dtype=np.int64),
    )


@njit(cache=True)
def lay_out(layout, a, prefix, level):  # type: ignore[no-untyped-def]
    """Set the numbers of the prefixes that an action allows, before each node, among all prefixes of that length."""
    level[0], level[1], prefix[0] = 0, 1, 0
    for node in range(len(layout.cards) - 1):
        m, state, child = layout.cards[node], layout.forced[a, node], level[node + 1]
        for at in range(level[node], level[node + 1]):
            number = prefix[at] * m
            for s in range(m) if state < 0 else range(state, state + 1):
                prefix[child] = number + s
                child += 1
        level[node + 2] = child


@njit(cache=True)
def _go_through(layout, tables, values, mean, reach, slope):  # type: ignore[no-untyped-def]
    """Set what `Layout.derivatives` returns, the mean alone where there is no room for the others."""
    cards, forced, row_start, entry_start, rows, prefix_start = layout
    last, wanted = len(cards) - 1, len(reach) > 0
    prefix, w, below, level = _room(layout)
    for a in range(len(forced)):
        lay_out(layout, a, prefix, level)
        for node in range(last + 1 if wanted else 0):
            m, state, child = cards[node], forced[a, node], level[node + 1]
            row_of, first_row, first_entry = rows[prefix_start[node] :], row_start[node], entry_start[node]
            for at in range(level[node], level[node + 1]):
                weight = w[at]
                if state >= 0:
                    if node < last:
                        w[child] = weight
                        child += 1
                    continue
                row = row_of[prefix[at]]
                reach[a, first_row + row] += weight
                if node < last:
                    for s in range(m):
                        w[child + s] = weight * tables[first_entry + row * m + s]
                    child += m
        for node in range(last, -1, -1):
            m, state, child = cards[node], forced[a, node], level[node + 1]
            row_of, first_entry = rows[prefix_start[node] :], entry_start[node]
            for at in range(level[node], level[node + 1]):
                if state >= 0:
                    below[at] = values[state] if node == last else below[child]
                    child += 1
                    continue
                entry, value = first_entry + row_of[prefix[at]] * m, 0.0
                for s in range(m):
                    after = values[s] if node == last else below[child + s]
                    value += tables[entry + s] * after
                    if wanted:
                        slope[a, entry + s] += w[at] * after
                below[at] = value
                child += m
        mean[a] = below[0]


@njit(cache=True)
def _extremes(layout, tables, values, least, largest):  # type: ignore[no-untyped-def]
    """Go through all prefixes as `_go_through`, up with the extremes; rows of NaN put all on their worst or best."""
    cards, forced, _, entry_start, rows, prefix_start = layout
    last = len(cards) - 1
    prefix, low, high, level = _room(layout)
    for a in range(len(forced)):
        lay_out(layout, a, prefix, level)
        for node in range(last, -1, -1):
            m, state, child = cards[node], forced[a, node], level[node + 1]
            for at in range(level[node], level[node + 1]):
                entry = entry_start[node] + rows[prefix_start[node] + prefix[at]] * m
                unseen = state < 0 and np.isnan(tables[entry])
                low[at], high[at] = (np.inf, -np.inf) if unseen else (0.0, 0.0)
                for s in range(m) if state < 0 else range(state, state + 1):
                    below, above = (values[s], values[s]) if node == last else (low[child], high[child])
                    child += 1
                    share = tables[entry + s] if state < 0 else 1.0
                    if unseen:
                        low[at], high[at] = min(low[at], below), max(high[at], above)
                    elif share > 0.0:
                        low[at] += share * below
                        high[at] += share * above
        least[a], largest[a] = low[0], high[0]
