"""How the expected reward of an action depends on every entry of a network's tables, and how often it meets each row.

All configurations are gone through, prefix by prefix in causal order: once down with the probability w of a prefix and
back up with the expected reward below it. Rows and entries are numbered flat, node by node, row by row.
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
        free = np.log(np.where(self.forced < 0, self.cards, 1)).sum(axis=1)  # a product would overflow
        return bool(np.logaddexp.reduce(free) <= math.log(MOST_CONFIGURATIONS) + 1e-9)

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
        _go_through(self.arrays, tables, values, mean, reach, slope)
        return Derivatives(mean, reach, slope)

    def extremes(self, tables: Floats, values: Floats, unseen: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Return the least and the largest expected reward of each action, whatever the rows `unseen` are.

        A row may differ between prefixes that share it, which bounds what it can be.
        """
        low, high = np.zeros(len(self.forced)), np.zeros(len(self.forced))
        known = np.where(np.repeat(unseen, self.width), np.nan, tables)
        _extremes(self.arrays, known, values, low, high)
        return low, high


@njit(cache=True)
def _go_through(layout, tables, values, mean, reach, slope):  # type: ignore[no-untyped-def]
    parents, cards, forced, row_start, entry_start = layout
    n = len(cards)
    code, row, left = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    w, below = np.ones(n), np.zeros(n)  # of the prefix before a node: its probability, the expected reward so far
    for a in range(len(forced)):
        node, entering = 0, True
        while node >= 0:
            free = forced[a, node] < 0
            if entering:
                row[node] = 0
                for p in parents[node]:
                    if p < 0:
                        break
                    row[node] = row[node] * cards[p] + code[p]
                below[node] = 0.0
                left[node] = cards[node] if free else 1
                if free:
                    reach[a, row_start[node] + row[node]] += w[node]
            if left[node] > 0:  # go down with the next state
                left[node] -= 1
                code[node] = left[node] if free else forced[a, node]
                if node < n - 1:
                    w[node + 1] = w[node]
                    if free:
                        w[node + 1] *= tables[entry_start[node] + row[node] * cards[node] + code[node]]
                    node, entering = node + 1, True
                    continue
                value = values[code[node]]
            else:  # all states seen: back up with their mean
                node, entering = node - 1, False
                if node < 0:
                    mean[a] = below[0]
                    break
                value, free = below[node + 1], forced[a, node] < 0
            if free:
                entry = entry_start[node] + row[node] * cards[node] + code[node]
                slope[a, entry] += w[node] * value
                below[node] += tables[entry] * value
            else:
                below[node] += value
            entering = False


@njit(cache=True)
def _extremes(layout, tables, values, least, largest):  # type: ignore[no-untyped-def]
    """Go through all prefixes as `_go_through`, up with the extremes; rows of NaN put all on their worst or best."""
    parents, cards, forced, _, entry_start = layout
    n = len(cards)
    code, first, left = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    low, high = np.zeros(n), np.zeros(n)  # of the states of a node so far
    for a in range(len(forced)):
        node, entering = 0, True
        while node >= 0:
            free = forced[a, node] < 0
            if entering:
                row = 0
                for p in parents[node]:
                    if p < 0:
                        break
                    row = row * cards[p] + code[p]
                first[node] = entry_start[node] + row * cards[node]
                unseen = free and np.isnan(tables[first[node]])
                low[node], high[node] = (np.inf, -np.inf) if unseen else (0.0, 0.0)
                left[node] = cards[node] if free else 1
            if left[node] > 0:
                left[node] -= 1
                code[node] = left[node] if free else forced[a, node]
                if node < n - 1:
                    node, entering = node + 1, True
                    continue
                below = above = values[code[node]]
            else:
                node, entering = node - 1, False
                if node < 0:
                    least[a], largest[a] = low[0], high[0]
                    break
                below, above, free = low[node + 1], high[node + 1], forced[a, node] < 0
            share = tables[first[node] + code[node]] if free else 1.0
            if np.isnan(share):
                low[node], high[node] = min(low[node], below), max(high[node], above)
            elif share > 0.0:
                low[node] += share * below
                high[node] += share * above
            entering = False
