"""The tightest bounds so far of the values of all trees, of which only those are worked out anew that decide."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgcpe._numba import njit
from pgcpe.confidence.intervals import Intervals
from pgcpe.confidence.tree import Tree
from pgcpe.confidence.tree_region import bound_since
from pgcpe.estimators.base import Comparison, EndLevels
from pgcpe.estimators.forest import Counts, Forest, tree_of

__all__ = ["Regions", "TreeBounds"]

Floats = NDArray[np.float64]

OTHERS_EVERY = 3
"""An end is taken of the region that was tightest for it, and of all of them every third time."""


ANY, NONE = -1, -2
"""In place of the arm of which a region bounds the lower end: any arm, or none."""

NO_TURN = np.empty(0, dtype=np.intp)
"""It is no arm's turn."""


class Spent(NamedTuple):
    """What the ends of bounds spend.

    Attributes
    ----------
    nats
        Array (2, regions): -log of the error probability of a lower (row 0) and an upper end (row 1) in each region.
    lower_of
        Array over the regions: of which arm it bounds the lower end; `ANY` or `NONE`.
    """

    nats: Floats
    lower_of: NDArray[np.int64]


class Regions:
    """The likelihood-ratio regions that are intersected: each begins at a snapshot of the counts.

    Parameters
    ----------
    forest
        The trees.
    share
        The share of the error probability that the region since the start spends.

    Attributes
    ----------
    shares
        Those of all regions.
    numbers
        Their numbers: 0 for that since the start, j for that begun at the j-th snapshot.
    before
        The counts at which they begin, one row for each region.
    """

    def __init__(self, forest: Forest, share: float) -> None:
        self.shares, self.numbers, self._last = np.array([share]), np.zeros(1, dtype=np.int64), 0
        self.before = Counts(*(zeros[None] for zeros in forest.counts()))

    def jointly(self, level: float) -> Spent:
        """Return what bounds spend that hold for all arms, each but with an error probability."""
        nats = -np.log(level * self.shares)
        return Spent(np.vstack([nats, nats]), np.full(len(nats), ANY))

    def for_leader(self, levels: EndLevels, named: Sequence[int], n_arms: int) -> Spent:
        """Return what bounds spend by which a leader is separated (`IntervalEstimator.compare`).

        The lower end of any arm is taken of the region since the start, at its share over the number of arms; that of
        the arm that led when another region began, of that too, at its whole share.
        """
        nats = -np.log(np.outer([levels.lower, levels.upper], self.shares))
        nats[0, 0] += math.log(n_arms)
        leaders = [ANY if j == 0 else named[j - 1] if j <= len(named) else NONE for j in self.numbers.tolist()]
        return Spent(nats, np.array(leaders, dtype=np.int64))

    def begin(self, counts: Counts, share: float, most: int) -> None:
        """Begin one more, and give up the oldest but that since the start where there would be more than `most`."""
        kept = np.arange(len(self.shares))
        if len(kept) > most:
            kept = np.delete(kept, 1)
        self._last += 1
        self.shares, self.numbers = np.append(self.shares[kept], share), np.append(self.numbers[kept], self._last)
        self.before = Counts(*(np.vstack([old[kept], now]) for old, now in zip(self.before, counts, strict=True)))


class Bounds(NamedTuple):
    """What is known of the lower ends (row 0) and the upper ends (row 1) of the arms, as a kernel reads it.

    Attributes
    ----------
    at
        The tightest so far.
    done
        After how many rounds each was worked out last; -1 for never.
    tightest, times
        Which region was the tightest then, and how often it was worked out.
    """

    at: Floats
    done: NDArray[np.int64]
    tightest: NDArray[np.int64]
    times: NDArray[np.int64]


class TreeBounds:
    """Bounds of the values of all trees that hold at all times jointly, each as of the last time it was worked out.

    A region holds at all times at once, so what bounded a value earlier still does, and an intersection over any
    schedule of looks is as valid as that of one. A leader is separated from all others if the highest of their upper
    ends is below its lower end: the one in the way is worked out anew, then whichever is highest now, until one that
    was worked out stays in the way. A stop that the bounds of earlier allow those of now allow too.

    Parameters
    ----------
    forest
        The trees.
    served
        Boolean array over the arms: which have one.
    """

    _bounds: Bounds
    _rounds: int
    _turn: int

    def __init__(self, forest: Forest, served: NDArray[np.bool_]) -> None:
        self._forest, self._served = forest, served
        self._forget(math.nan)

    def known(self, level: float) -> Intervals:
        """Return the tightest so far; [0, 1] for arms without a tree."""
        self._at_level(level)
        return self._tightest

    @property
    def _tightest(self) -> Intervals:
        lower, upper = self._bounds.at
        return Intervals(lower, upper)

    def tighten(self, counts: Counts, regions: Regions, rounds: int, level: float, asked: Comparison) -> bool:
        """Work out what a comparison asks for, and one more arm in turn; return whether that was anything new.

        ``rounds`` is the number of rounds counted: an end is worked out once for each. Where there are no contenders
        nothing turns on the leader's ends, and only the arm in turn is worked out.
        """
        self._at_level(level)
        turn = NO_TURN
        if rounds != self._rounds:
            self._rounds, turn, self._turn = rounds, np.array([self._turn]), (self._turn + 1) % len(self._served)
        ends = 2 if asked.contenders.any() else 0
        return self._tighten(counts, regions, rounds, regions.jointly(level), asked, ends, turn)

    def compare(
        self, counts: Counts, regions: Regions, rounds: int, levels: EndLevels, asked: Comparison, named: Sequence[int]
    ) -> Intervals:
        """Work out what a comparison asks for of bounds that hold for one arm and for the leader; return them.

        Of the leader that is its lower end alone.
        """
        spent = regions.for_leader(levels, named, max(int(np.count_nonzero(self._served)), 1))
        self._tighten(counts, regions, rounds, spent, asked, 1, NO_TURN)
        return self._tightest

    def _tighten(
        self,
        counts: Counts,
        regions: Regions,
        rounds: int,
        spent: Spent,
        asked: Comparison,
        ends: int,
        turns: NDArray[np.intp],
    ) -> bool:
        return bool(
            _tighten(
                *(self._forest, counts, regions.before, spent, self._served, self._bounds, rounds),
                *(turns, ends, asked.leader, (asked.contenders, float(asked.epsilon))),
                *(asked.intervals.lower[asked.leader], asked.intervals.upper.copy()),
            )
        )

    def now(self, counts: Counts, regions: Regions, level: float) -> Intervals:
        """Return all bounds as of now, which is not remembered."""
        self._at_level(level)
        now = copy(self)
        now._bounds = Bounds(self._bounds.at.copy(), *_nothing_done(len(self._served)))
        nothing = Comparison(0, np.zeros(len(self._served), dtype=np.bool_), 0.0, now._tightest)
        now._tighten(counts, regions, 0, regions.jointly(level), nothing, 0, np.arange(len(self._served)))
        return now._tightest

    def _at_level(self, level: float) -> None:
        if level != self._level:
            self._forget(level)

    def _forget(self, level: float) -> None:
        """Begin anew at a level: bounds of another hold with another probability."""
        n = len(self._served)
        self._level, self._rounds, self._turn = level, -1, 0
        at = np.vstack([np.zeros(n), np.ones(n)])
        self._bounds = Bounds(at, *_nothing_done(n))


def _nothing_done(n: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return `done`, `tightest` and `times` of bounds before any was worked out."""
    return np.full((2, n), -1), np.zeros((2, n), dtype=np.int64), np.zeros((2, n), dtype=np.int64)


@njit(cache=True)
def _tighten(forest, counts, before, spent, served, bounds, rounds, turns, ends, leader, asked, lower, upper):  # type: ignore[no-untyped-def]
    """Work out ends of the arms whose turn it is and of the leader, then upper ends as long as they are in the way.

    Of the leader so many ``ends``, its lower one first. ``lower`` is its lower end by all that is known, ``upper`` the
    upper ends of the arms, which are used up. Of those in the way it is ``asked`` only whether they still are. Return
    whether a bound of the leader or of a contender was worked out.
    """
    contenders, epsilon = asked
    any_ = False
    for k in range(len(turns) + 1):
        i, wanted = (turns[k], 2) if k < len(turns) else (leader, ends)
        for end in range(wanted if i >= 0 and served[i] else 0):
            new = _work_out(forest, counts, before, spent, bounds, rounds, end, i, math.nan)
            any_ |= new and (i == leader or contenders[i])
            upper[i] = min(upper[i], bounds.at[1, i])
    lowest = max(bounds.at[0, leader], lower) + epsilon
    i, upper_end = _in_the_way(upper, contenders, leader, lowest), len(bounds.at) - 1  # compiled anew for a literal 1
    while i >= 0 and served[i] and bounds.done[1, i] != rounds:
        any_ |= _work_out(forest, counts, before, spent, bounds, rounds, upper_end, i, lowest)
        upper[i] = min(upper[i], bounds.at[1, i])
        i = _in_the_way(upper, contenders, leader, lowest)
    return any_


@njit(cache=True)
def _in_the_way(upper, contenders, leader, lowest):  # type: ignore[no-untyped-def]
    """Return the contender of the highest upper end if that is above the lowest that matters, or -1."""
    highest = -1
    for i in range(len(upper)):
        if contenders[i] and i != leader and upper[i] > lowest and (highest < 0 or upper[i] > upper[highest]):
            highest = i
    return highest


@njit(cache=True)
def _work_out(forest, counts, before, spent, bounds, rounds, end, i, asked):  # type: ignore[no-untyped-def]
    """Work out one end of an arm unless that was done after these rounds; return whether it was not.

    Where it is ``asked`` whether the end is above a value, as far as that needs (`bound_since`).
    """
    if bounds.done[end, i] == rounds:
        return False
    all_, tightest = bounds.times[end, i] % OTHERS_EVERY == 0, bounds.tightest[end, i]
    best, now = float(end), tree_of(forest, counts, i)
    all_ |= end == 0 and spent.lower_of[tightest] != ANY and spent.lower_of[tightest] != i
    for j in range(len(spent.lower_of)):
        claimed = end == 1 or spent.lower_of[j] == ANY or spent.lower_of[j] == i
        if claimed and (all_ or j == tightest):
            earlier = tree_of(forest, Counts(before.into[j], before.n[j], before.x[j]), i)
            since = Tree(now.arity, now.into - earlier.into, now.n - earlier.n, now.x - earlier.x)
            nats = spent.nats[end, j]
            bound = bound_since(since, earlier, nats, end == 1, asked) if since.into[0] > 0 else float(end)
            if bound < best if end == 1 else bound > best:
                best, bounds.tightest[end, i] = bound, j
    bounds.at[end, i] = min(bounds.at[end, i], best) if end == 1 else max(bounds.at[end, i], best)
    bounds.done[end, i] = rounds
    bounds.times[end, i] += 1
    return True
