"""Coordinates in a box for rows of probabilities: of each state, its share of what the states before it leave."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pgcpe._numba import njit

__all__ = ["RowsInBox"]

Floats = NDArray[np.float64]

EDGE = 1e-9
"""Coordinates keep this far from 0 and 1."""


class RowsInBox:
    """Some rows of tables as points of a box, those of m states by m - 1 coordinates; the other rows are fixed.

    Parameters
    ----------
    entry_start
        Where the entries of each row begin; their number comes last.
    rows
        The rows that may move.
    fixed
        The probabilities of all entries, for the others.

    Attributes
    ----------
    n
        The number of coordinates.
    row
        Of which row each of them is.

    Examples
    --------
    >>> box = RowsInBox(np.array([0, 2, 5]), np.array([1]), np.array([0.5, 0.5, 0.2, 0.4, 0.4]))
    >>> box.point(np.array([0.5, 0.5, 0.2, 0.4, 0.4]))
    array([0.2, 0.5])
    >>> box.tables(np.array([0.5, 0.5]))
    array([0.5 , 0.5 , 0.5 , 0.25, 0.25])
    """

    def __init__(self, entry_start: NDArray[np.int64], rows: NDArray[np.intp], fixed: Floats) -> None:
        self._first, self._end, self.fixed = entry_start[:-1][rows], entry_start[1:][rows], fixed
        self.row = np.repeat(rows, self._end - self._first - 1)
        self.n = len(self.row)

    def tables(self, point: Floats) -> Floats:
        """Return the probabilities of all entries."""
        p = self.fixed.copy()
        _tables(self._first, self._end, np.clip(point, EDGE, 1.0 - EDGE), p)
        return p

    def point(self, tables: Floats) -> Floats:
        """Return the coordinates of tables."""
        out = np.empty(self.n)
        _point(self._first, self._end, tables, out)
        return np.clip(out, EDGE, 1.0 - EDGE)

    def gradient(self, point: Floats, by_entry: Floats) -> Floats:
        """Return derivatives by the coordinates from those by the entries."""
        out = np.empty(self.n)
        _gradient(self._first, self._end, np.clip(point, EDGE, 1.0 - EDGE), by_entry, out)
        return out


@njit(cache=True)
def _tables(first, end, point, p):  # type: ignore[no-untyped-def]
    i = 0
    for row in range(len(first)):
        a, b = first[row], end[row]
        left = 1.0
        for e in range(a, b - 1):
            p[e] = left * point[i]
            left *= 1.0 - point[i]
            i += 1
        p[b - 1] = left


@njit(cache=True)
def _point(first, end, p, point):  # type: ignore[no-untyped-def]
    i = 0
    for row in range(len(first)):
        a, b = first[row], end[row]
        left = 1.0
        for e in range(a, b - 1):
            point[i] = p[e] / left if left > 0.0 else 0.5
            left = max(left - p[e], 0.0)
            i += 1


@njit(cache=True)
def _gradient(first, end, point, by_entry, out):  # type: ignore[no-untyped-def]
    i = 0
    for row in range(len(first)):
        a, b = first[row], end[row]
        i += b - 1 - a
        after = by_entry[b - 1]  # the derivative by what is left
        for back in range(1, b - a):
            e, k = b - 1 - back, i - back
            out[k] = by_entry[e] - after
            after += point[k] * out[k]
        left = 1.0
        for k in range(i - (b - 1 - a), i):
            out[k] *= left
            left *= 1.0 - point[k]
