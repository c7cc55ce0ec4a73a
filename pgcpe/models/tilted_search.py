"""The least evidence against tables for which another arm is better than the leader: a search."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pgcpe.confidence.tilted import Bets, log_evidence
from pgcpe.models.search import Minimum, descend
from pgcpe.models.second_order import DifferenceOfActions
from pgcpe.models.simplices import EDGE, RowsInBox

__all__ = ["BetsOnTables", "TiltedNull"]

Floats = NDArray[np.float64]

STARTS, MOST_STARTS = 5, 15
"""So many searches are to end well, from at most so many points."""

CERTAIN, FAR = 2, 1.0
"""So many are enough where they end this many nats above what is asked."""

AGREEMENT = 0.02
"""Searches that end within this of one another, in nats, have found the same value."""

SPREAD = 2.0
"""How far apart these points are, in standard errors."""

HALVINGS = 12
"""Of the step by which a start is moved to where the arms are equal."""

TOLERANCE = 1e-4
"""Nats by which the last step of a search falls less."""

FEASIBLE = 1e-5
"""How much worse than the leader an arm may be for a point that counts as one where it is better."""


class BetsOnTables:
    """What was bet for an arm, as a function of the tables.

    Parameters
    ----------
    bets
        What was bet.
    pair
        Differences of expected rewards.
    estimates
        Array of shape (epochs, entries): at the start of each epoch.
    actions
        Integer array of shape (epochs, 2): the leader of each epoch, and the arm.
    """

    def __init__(self, bets: Bets, pair: DifferenceOfActions, estimates: Floats, actions: NDArray[np.int64]) -> None:
        self.pair, self._bets, self._estimates, self._actions = pair, bets, estimates, actions

    def log_evidence(self, tables: Floats) -> tuple[float, Floats]:
        """Return the logarithm of the evidence against tables, and the derivative by every entry."""
        centre = 0.5 * (tables + self._estimates)
        slopes = self.pair.slopes(centre, self._actions)
        value, by_p, by_slope = log_evidence(self._bets, tables, centre, slopes)
        # slopes are those at the centre, which is half the tables
        return value, by_p + 0.5 * self.pair.products(centre, self._actions, by_slope).sum(axis=0)


class TiltedNull:
    """The tables for which an arm is better than the leader, and what the arm's bets say of them.

    A point is where the rows on which they depend stand from their estimates, in standard errors; coordinates of the
    rows are those of `RowsInBox`.

    Parameters
    ----------
    evidence
        The bets of the arm.
    leader, arm
        The arms that are compared now.
    epsilon
        By how much the arm is to be better.
    box
        Coordinates of the rows, those of no play at its fixed tables.
    plays
        Of the row of each coordinate.
    """

    def __init__(
        self, evidence: BetsOnTables, *, leader: int, arm: int, epsilon: float, box: RowsInBox, plays: Floats
    ) -> None:
        self._evidence, self._pair, self._box = evidence, evidence.pair, box
        self._leader, self._arm, self._epsilon = leader, arm, epsilon
        self._least = 0.5 / (plays + 2.0)  # starts keep so far from the edges
        self._origin = np.clip(box.point(box.fixed), self._least, 1.0 - self._least)
        self._unit = np.sqrt(self._origin * (1.0 - self._origin) / (plays + 1.0))

    def tables(self, point: Floats) -> Floats:
        """Return the tables at a point."""
        return self._box.tables(self._origin + self._unit * point)

    def point(self, tables: Floats) -> Floats:
        """Return the point of tables."""
        return np.asarray((self._box.point(tables) - self._origin) / self._unit)

    def evidence(self, point: Floats) -> tuple[float, Floats]:
        """Return the logarithm of the evidence against the tables at a point, and its gradient."""
        value, by_entry = self._evidence.log_evidence(self.tables(point))
        return value, self._gradient(point, by_entry)

    def room(self, point: Floats) -> tuple[float, Floats]:
        """Return by how much the arm is better than the leader beyond epsilon, and the gradient."""
        value, by_entry = self._pair.difference(self.tables(point), self._arm, self._leader)
        return value - self._epsilon, self._gradient(point, by_entry)

    def _gradient(self, point: Floats, by_entry: Floats) -> Floats:
        return self._unit * self._box.gradient(self._origin + self._unit * point, by_entry)

    def contradicts(self, tables: Floats, asked: float) -> bool:
        """Return whether the arm is better for some tables, and the evidence against them less than is asked."""
        return self._less(self.point(tables), asked)

    def least(self, asked: float) -> tuple[float, Floats]:
        """Return the least evidence found, -infinity where the search cannot be trusted, and the tables.

        Searches that fail show nothing. It can be trusted if enough others ended well and a second one confirms the
        least value: two where that is far above what is asked, else five. Starts are added until that is so.

        Parameters
        ----------
        asked
            The search ends where it finds less.
        """
        ends: list[Minimum] = []
        bounds = (EDGE - self._origin) / self._unit, (1.0 - EDGE - self._origin) / self._unit
        for start in self._starts():
            end = descend(self.evidence, start, self.room, slack=FEASIBLE, bounds=bounds, tolerance=TOLERANCE)
            if end.value > -math.inf:
                ends.append(end)
            if self._less(end.point, asked):
                return -math.inf if end.value == -math.inf else end.value, self.tables(end.point)
            if ends:
                least = min(ends, key=lambda end: end.value)
                enough = CERTAIN if least.value >= asked + FAR else STARTS
                if len(ends) >= enough and sum(end.value <= least.value + AGREEMENT for end in ends) >= 2:
                    return least.value, self.tables(least.point)
        return -math.inf, self.tables(ends[0].point if ends else np.zeros_like(self._origin))

    def _less(self, point: Floats, asked: float) -> bool:
        """Return whether the arm is better at a point, about, and the evidence less than is asked."""
        return bool(self.room(point)[0] >= -FEASIBLE and self.evidence(point)[0] < asked)

    def _starts(self) -> Iterator[Floats]:
        """Return points where the arms are equal: that nearest to the estimates, about, and others about it."""
        rng = np.random.default_rng(0)
        yield self._where_equal(np.zeros_like(self._origin))
        for k in range(1, MOST_STARTS):
            spread = SPREAD * (1 + k % STARTS) / STARTS
            yield self._where_equal(spread * rng.standard_normal(len(self._origin)))

    def _where_equal(self, start: Floats) -> Floats:
        """Return where the arms are equal up the gradient from a point, inside of the edges as far as possible."""
        up = self.room(start)[1]
        size = float(np.abs(up).max())
        if self.room(start)[0] >= 0.0 or size == 0.0:
            return start
        low, high = 0.0, 1.0 / size
        while self.room(self._inside(start + high * up))[0] < 0.0 and high * size * self._unit.max() < 1e3:
            low, high = high, 2.0 * high
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            if self.room(self._inside(start + middle * up))[0] >= 0.0:
                high = middle
            else:
                low = middle
        return self._inside(start + high * up)

    def _inside(self, point: Floats) -> Floats:
        kept = np.clip(self._origin + self._unit * point, self._least, 1.0 - self._least)
        return np.asarray((kept - self._origin) / self._unit)
