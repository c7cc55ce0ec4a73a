"""How the difference of two actions' expected rewards depends on the tables, to second order, at many tables at once.

Expected rewards are linear in every row. So the derivative by an entry depends on the other rows alone, and the second
derivatives in a direction are those of a dual number carried through the same two passes as in
`pgcpe.models.derivatives`.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pgcpe._numba import njit
from pgcpe.models.derivatives import Layout, lay_out

__all__ = ["DifferenceOfActions", "PairOfActions"]

Floats = NDArray[np.float64]
NONE = np.zeros((0, 0))


class DifferenceOfActions(Protocol):
    """What searches ask of differences; as of `PairOfActions`."""

    def difference(self, tables: Floats, first: int, second: int) -> tuple[float, Floats]:
        """Return how much more the first action is worth than the second, and the derivative by every entry."""

    def slopes(self, tables: Floats, pairs: NDArray[np.int64]) -> Floats:
        """Return the derivatives of the first action's expected reward less the second's."""

    def products(self, tables: Floats, pairs: NDArray[np.int64], directions: Floats) -> Floats:
        """Return how `slopes` change along a direction at each point."""


class PairOfActions:
    """Differences of the expected rewards of two actions of a layout.

    Parameters
    ----------
    layout
        The tables and the actions.
    values
        The reward of each state of the last node.

    Examples
    --------
    >>> chain = Layout([(), (0,)], [2, 2], np.array([[-1, -1], [1, -1]]))
    >>> pairs = PairOfActions(chain, np.array([0.0, 1.0]))
    >>> tables = np.array([[0.5, 0.5, 0.8, 0.2, 0.2, 0.8]])
    >>> pairs.slopes(tables, np.array([[1, 0]]))  # of .8 - (.5 x .2 + .5 x .8)
    array([[-0.2, -0.8,  0. , -0.5,  0. ,  0.5]])
    """

    def __init__(self, layout: Layout, values: Floats) -> None:
        self._layout, self._values = layout.prefixes, np.asarray(values, dtype=np.float64)

    def difference(self, tables: Floats, first: int, second: int) -> tuple[float, Floats]:
        """Return how much more the first action is worth than the second, and the derivative by every entry."""
        slope = np.zeros((1, len(tables)))
        pair = np.array([[first, second]])
        values = _both(self._layout, tables[None], self._values, pair, NONE, slope)
        return float(values[0]), slope[0]

    def slopes(self, tables: Floats, pairs: NDArray[np.int64]) -> Floats:
        """Return the derivatives of the first action's expected reward less the second's.

        Parameters
        ----------
        tables
            Array of shape (points, entries): the probabilities.
        pairs
            Integer array of shape (points, 2): the actions compared there; -1 for one that is worth nothing.

        Returns
        -------
        numpy.ndarray
            Of shape (points, entries).
        """
        out = np.zeros(tables.shape)
        _both(self._layout, tables, self._values, pairs, NONE, out)
        return out

    def products(self, tables: Floats, pairs: NDArray[np.int64], directions: Floats) -> Floats:
        """Return the second derivatives of the same times a direction at each point: how `slopes` change along it."""
        out = np.zeros(tables.shape)
        _both(self._layout, tables, self._values, pairs, directions, out)
        return out


@njit(cache=True)
def _both(layout, tables, values, pairs, directions, out):  # type: ignore[no-untyped-def]
    """Add to `out` the slopes of each pair, or how they change along the directions; return the differences."""
    difference = np.zeros(len(pairs))
    size, nodes = len(layout.rows), len(layout.cards)
    prefix, level = np.zeros(size, dtype=np.int32), np.zeros(nodes + 1, dtype=np.int64)
    w, below = np.ones((2, size)), np.zeros((2, size))  # values, and how they change
    w[1, 0] = 0.0
    for point in range(len(pairs)):
        if pairs[point, 0] == pairs[point, 1]:
            continue
        for k in range(2):
            a, sign = pairs[point, k], 1.0 - 2.0 * k
            if a < 0:
                continue
            lay_out(layout, a, prefix, level)
            direction = directions[point] if len(directions) else values[:0]
            _down(layout, a, tables[point], direction, prefix, level, w)
            difference[point] += sign * _up(
                layout, a, tables[point], direction, values, prefix, level, w, below, sign, out[point]
            )
    return difference


@njit(cache=True)
def _down(layout, a, table, direction, prefix, level, w):  # type: ignore[no-untyped-def]
    """Set the probability of each prefix, and how it changes."""
    cards, forced, _, entry_start, rows, prefix_start = layout
    dual = len(direction) > 0
    for node in range(len(cards) - 1):
        m, child = cards[node], level[node + 1]
        for at in range(level[node], level[node + 1]):
            if forced[a, node] >= 0:
                w[0, child], w[1, child] = w[0, at], w[1, at]
                child += 1
                continue
            entry = entry_start[node] + rows[prefix_start[node] + prefix[at]] * m
            for s in range(m):
                w[0, child] = w[0, at] * table[entry + s]
                if dual:
                    w[1, child] = w[1, at] * table[entry + s] + w[0, at] * direction[entry + s]
                child += 1


@njit(cache=True)
def _up(layout, a, table, direction, values, prefix, level, w, below, sign, out):  # type: ignore[no-untyped-def]
    """Set the expected reward below each prefix, and how it changes; add slopes, or their changes; return the first."""
    cards, forced, _, entry_start, rows, prefix_start = layout
    last, dual = len(cards) - 1, len(direction) > 0
    for node in range(last, -1, -1):
        m, child = cards[node], level[node + 1]
        for at in range(level[node], level[node + 1]):
            if forced[a, node] >= 0:
                fixed = node == last
                below[0, at] = values[forced[a, node]] if fixed else below[0, child]
                below[1, at] = 0.0 if fixed else below[1, child]
                child += 1
                continue
            entry = entry_start[node] + rows[prefix_start[node] + prefix[at]] * m
            value = change = 0.0
            for s in range(m):
                after = values[s] if node == last else below[0, child + s]
                value += table[entry + s] * after
                if dual:
                    moved = 0.0 if node == last else below[1, child + s]
                    change += table[entry + s] * moved + direction[entry + s] * after
                    out[entry + s] += sign * (w[1, at] * after + w[0, at] * moved)
                else:
                    out[entry + s] += sign * w[0, at] * after
            below[0, at], below[1, at] = value, change
            child += m
    return below[0, 0]
