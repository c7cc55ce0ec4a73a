"""Unbiased estimates from the tables P(X | parents): plain frequencies, their variances, and what unseen rows hide."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pgcpe._numba import njit
from pgcpe.confidence.tree import shrunk_share
from pgcpe.estimators.base import Estimated
from pgcpe.estimators.forest_values import STEPS
from pgcpe.models.derivatives import Layout

__all__ = ["PlainTables"]

Floats = NDArray[np.float64]


class PlainTables:
    """The expected rewards of the arms at the plain frequencies of the tables.

    A row never seen takes the frequencies of all rows of its node together, and what it may be off by goes into the
    bias bound. The variance of a row that was seen is that of the shares of `shrunk_share`, so that frequencies of 0
    and 1 do not make it 0.

    Parameters
    ----------
    layout, counts
        The tables, and the plays of every entry.
    n_arms
        How many of the layout's actions are arms; they come first.
    rewards
        The reward of each state of the last node.
    """

    def __init__(self, layout: Layout, counts: Floats, n_arms: int, rewards: Floats) -> None:
        self._width = layout.width
        self._n, self._f, self._shares = _shares(counts, layout.cards, layout.entry_start)
        found = layout.derivatives(self._f, rewards)
        self._mean, self._slopes = found.mean[:n_arms], found.slope[:n_arms]
        self._by_count = self._slopes.copy()
        self._low, self._high = self._mean, self._mean
        if self._n.all():
            return
        self._low, self._high = (end[:n_arms] for end in layout.extremes(self._f, rewards, self._n == 0))
        for i, card in enumerate(layout.cards):  # what moves a row seen moves the rows that take its frequencies
            at = slice(layout.entry_start[i], layout.entry_start[i + 1])
            n = self._n[layout.row_start[i] : layout.row_start[i + 1]]
            if n.any() and not n.all():
                by_row = self._slopes[:, at].reshape(n_arms, -1, card)
                unseen = by_row[:, n == 0].sum(axis=1, keepdims=True)
                self._by_count[:, at] = (by_row + (n / n.sum())[:, None] * unseen).reshape(n_arms, -1)

    def alone(self) -> Estimated:
        """Return the estimate of every arm, its variance, and its bias bound."""
        nothing = np.zeros_like(self._by_count[0])
        variance, _ = _variances(
            -self._by_count, nothing, self._f, self._shares, self._n, self._width, np.full(len(self._mean), -np.inf)
        )
        return Estimated(self._mean.copy(), variance, self._high - self._low)

    def below(self, leader: int, epsilon: float | None, arms: NDArray[np.intp]) -> Estimated:
        """Return how far arms are below the leader, the variance, and the bias bound; see `PairwiseEstimator`."""
        gap = self._mean[leader] - self._mean[arms]
        wanted = np.full(len(gap), -np.inf) if epsilon is None else gap + epsilon
        _, variance = _variances(
            self._by_count[arms], self._by_count[leader], self._f, self._shares, self._n, self._width, wanted
        )
        return Estimated(gap, variance, self._bias_bound(leader)[arms])

    def _bias_bound(self, leader: int) -> Floats:
        """Return the bias bounds of the differences: what unseen rows move both arms by alike cancels, to first order.

        What their products add beyond that is bounded for each arm by itself.
        """
        if self._n.all():
            return np.zeros(len(self._mean))
        alone = _ranges(-self._slopes, np.zeros_like(self._slopes[0]), self._n, self._width)
        together = _ranges(self._slopes, self._slopes[leader], self._n, self._width)
        extent = self._high - self._low
        beyond = np.maximum(extent - alone, 0.0)
        bound = np.minimum(together + beyond + beyond[leader], extent + extent[leader])
        bound[leader] = 0.0
        return np.asarray(bound)


@njit(cache=True)
def _shares(counts, cards, entry_start):  # type: ignore[no-untyped-def]
    """Return the plays of every row, and of every entry the frequency and the share that its variance is of."""
    n = np.zeros(np.sum((entry_start[1:] - entry_start[:-1]) // cards))
    f, shares = np.empty(len(counts)), np.empty(len(counts))
    row = 0
    for i, m in enumerate(cards):
        pooled = np.zeros(m)
        for e in range(entry_start[i], entry_start[i + 1]):
            pooled[(e - entry_start[i]) % m] += counts[e]
        plays = pooled.sum()
        for first in range(entry_start[i], entry_start[i + 1], m):
            for e in range(first, first + m):
                n[row] += counts[e]
            for k in range(m):
                every = pooled[k] / plays if plays > 0 else 1.0 / m
                f[first + k] = counts[first + k] / n[row] if n[row] > 0 else every
                shares[first + k] = shrunk_share(counts[first + k], n[row], pooled[k], plays, m)
            row += 1
    return n, f, shares


@njit(cache=True)
def _variances(slopes, reference, f, shares, n, width, gap):  # type: ignore[no-untyped-def]
    """Return the variances of reference less slope at the frequencies, and the larger of that and the one at the
    nearest frequencies where `gap` is 0.

    These are a step along the influence of every row away, ``f_s - gap p_s (d_s - mean d) / (n V)`` with p the shares
    and V the variance, kept inside [0, 1]. It is taken twice from the frequencies, the second time by the shares where
    the first led to: a row of zeros is too sure of itself to move at first, and rows with many plays would take its
    part. Where gap is not positive nothing is moved.
    """
    variance, larger, there = np.zeros(len(slopes)), np.zeros(len(slopes)), np.empty_like(shares)
    for i in range(len(slopes)):
        larger[i] = variance[i] = _variance(slopes[i], reference, shares, n, width)
        if gap[i] > 0 and variance[i] > 0:
            there[:] = shares
            for _ in range(STEPS):
                _step(slopes[i], reference, f, there, n, width, gap[i] / larger[i])
                larger[i] = max(larger[i], _variance(slopes[i], reference, there, n, width))
    return variance, larger


@njit(cache=True)
def _variance(slopes, reference, shares, n, width):  # type: ignore[no-untyped-def]
    """Return the variance of reference less slope where the rows have these shares."""
    total, entry = 0.0, 0
    for row in range(len(width)):
        if n[row] > 0:
            mean = square = 0.0
            for e in range(entry, entry + width[row]):
                d = reference[e] - slopes[e]
                mean += shares[e] * d
                square += shares[e] * d * d
            total += max(square - mean * mean, 0.0) / n[row]
        entry += width[row]
    return total


@njit(cache=True)
def _step(slopes, reference, f, shares, n, width, rate):  # type: ignore[no-untyped-def]
    """Replace the shares by the frequencies moved along the influence of every row, which is that of the shares."""
    entry = 0
    for row in range(len(width)):
        if n[row] > 0:
            mean = weight = 0.0
            for e in range(entry, entry + width[row]):
                mean += shares[e] * (reference[e] - slopes[e])
            for e in range(entry, entry + width[row]):
                d = reference[e] - slopes[e]
                shares[e] = max(f[e] - rate / n[row] * shares[e] * (d - mean), 0.0)
                weight += shares[e]
            for e in range(entry, entry + width[row]):
                shares[e] = shares[e] / weight if weight > 0.0 else f[e]  # else d differs by rounding alone
        entry += width[row]


@njit(cache=True)
def _ranges(slopes, reference, n, width):  # type: ignore[no-untyped-def]
    """Return for each arm the sum, over the rows never seen, of how much reference less slope differs in a row."""
    out = np.zeros(len(slopes))
    entry = 0
    for row in range(len(width)):
        if n[row] == 0:
            for i in range(len(slopes)):
                low = high = reference[entry] - slopes[i, entry]
                for e in range(entry + 1, entry + width[row]):
                    d = reference[e] - slopes[i, e]
                    low, high = min(low, d), max(high, d)
                out[i] += high - low
        entry += width[row]
    return out
