"""The least evidence against tables for which another arm is better than the leader: a search."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pgcpe.confidence.tilted import Bets, RowBets, log_evidence
from pgcpe.models.search import Minimum, curved_up, descend
from pgcpe.models.second_order import DifferenceOfActions
from pgcpe.models.simplices import EDGE, RowsInBox

__all__ = ["BetsOnParameters", "BetsOnTables", "Coordinates", "RowsInErrors", "TiltedNull"]

Floats = NDArray[np.float64]

STARTS, MOST_STARTS = 5, 15
"""So many searches are to end well, from at most so many points."""

CERTAIN, FAR = 2, 1.0
"""So many are enough where they end this many nats above what is asked."""

MOST_CURVED, CURVED = 3, 0.05
"""So many directions are looked along both ways, where the quadratic part of a difference is more than this share of
the linear one as far away as the arms are equal."""

AGREEMENT = 0.02
"""Searches that end within this of one another, in nats, have found the same value."""

SPREAD = 2.0
"""How far apart these points are, in standard errors."""

HALVINGS = 12
"""Of the step by which a start is moved to where the arms are equal."""

FARTHEST = 1e5
"""In standard errors: no start is looked for beyond."""

TOLERANCE = 1e-4
"""Nats by which the last step of a search falls less."""

FEASIBLE = 1e-5
"""How much worse than the leader an arm may be for a point that counts as one where it is better."""


class BetsOnParameters(Protocol):
    """What was bet for an arm, as a function of the parameters of a model."""

    def log_evidence(self, parameters: Floats) -> tuple[float, Floats]:
        """Return the logarithm of the evidence against parameters, and the derivative by each."""

    def difference(self, parameters: Floats, first: int, second: int) -> tuple[float, Floats]:
        """Return how much more the first action is worth than the second, and the derivative by each parameter."""


class BetsOnTables:
    """What was bet for an arm, as a function of the tables: the parameters are the probabilities of all entries.

    Parameters
    ----------
    bets
        What came, and what was predicted.
    rows
        What was bet.
    pair
        Differences of expected rewards.
    estimates
        Array of shape (epochs, entries): at the start of each epoch.
    actions
        Integer array of shape (epochs, 2): the leader of each epoch, and the arm.
    """

    def __init__(
        self, bets: Bets, rows: RowBets, pair: DifferenceOfActions, estimates: Floats, actions: NDArray[np.int64]
    ) -> None:
        self._bets, self._rows, self._pair, self._estimates, self._actions = bets, rows, pair, estimates, actions

    def difference(self, parameters: Floats, first: int, second: int) -> tuple[float, Floats]:
        """Return how much more the first action is worth than the second, and the derivative by every entry."""
        return self._pair.difference(parameters, first, second)

    def log_evidence(self, parameters: Floats) -> tuple[float, Floats]:
        """Return the logarithm of the evidence against tables, and the derivative by every entry."""
        centre = 0.5 * (parameters + self._estimates)
        slopes = self._pair.slopes(centre, self._actions)
        exponents = self._rows.exponents(centre, slopes)
        value, by_p, by_exponent = log_evidence(self._bets, parameters, exponents)
        by_centre, by_slope = self._rows.gradients(centre, slopes, by_exponent)
        by_centre += self._pair.products(centre, self._actions, by_slope)
        return value, by_p + 0.5 * by_centre.sum(axis=0)  # the centre is half the tables


class Coordinates(Protocol):
    """Points of a search for parameters, 0 at the estimates and about a standard error long in each direction."""

    @property
    def n(self) -> int:
        """Their number."""

    @property
    def bounds(self) -> tuple[Floats, Floats] | None:
        """The least and the largest; None for none."""

    def parameters(self, point: Floats) -> Floats:
        """Return the parameters at a point."""

    def point(self, parameters: Floats) -> Floats:
        """Return the point of parameters."""

    def gradient(self, point: Floats, by_parameter: Floats) -> Floats:
        """Return derivatives by the coordinates from those by the parameters."""

    def inside(self, point: Floats) -> Floats:
        """Return a point from which a search may start, as near as there is one."""


class RowsInErrors:
    """Rows of tables, from their estimates on, in standard errors (`Coordinates`).

    Parameters
    ----------
    box
        Coordinates of the rows, those of no play at its fixed tables.
    plays
        Of the row of each coordinate.
    """

    def __init__(self, box: RowsInBox, plays: Floats) -> None:
        self._box, self.n = box, box.n
        self._least = 0.5 / (plays + 2.0)  # starts keep so far from the edges
        self._origin = np.clip(box.point(box.fixed), self._least, 1.0 - self._least)
        self._unit = np.sqrt(self._origin * (1.0 - self._origin) / (plays + 1.0))
        self.bounds = (EDGE - self._origin) / self._unit, (1.0 - EDGE - self._origin) / self._unit

    def parameters(self, point: Floats) -> Floats:
        """Return the tables at a point."""
        return self._box.tables(self._origin + self._unit * point)

    def point(self, parameters: Floats) -> Floats:
        """Return the point of tables."""
        return np.asarray((self._box.point(parameters) - self._origin) / self._unit)

    def gradient(self, point: Floats, by_parameter: Floats) -> Floats:
        """Return derivatives by the coordinates from those by the entries."""
        return np.asarray(self._unit * self._box.gradient(self._origin + self._unit * point, by_parameter))

    def inside(self, point: Floats) -> Floats:
        """Return the point, or where rows are near the edges the nearest that are a little further off."""
        kept = np.clip(self._origin + self._unit * point, self._least, 1.0 - self._least)
        return np.asarray((kept - self._origin) / self._unit)


class TiltedNull:
    """The parameters for which an arm is better than the leader, and what bets say of them.

    Parameters
    ----------
    bets
        Those that are to refute them.
    leader, arm
        The actions that are compared now.
    epsilon
        By how much the arm is to be better.
    at
        Where a search goes.
    """

    def __init__(self, bets: BetsOnParameters, *, leader: int, arm: int, epsilon: float, at: Coordinates) -> None:
        self._bets, self._at = bets, at
        self._leader, self._arm, self._epsilon = leader, arm, epsilon

    @property
    def n(self) -> int:
        """The number of coordinates of a point."""
        return self._at.n

    def parameters(self, point: Floats) -> Floats:
        """Return the parameters at a point."""
        return self._at.parameters(point)

    def point(self, parameters: Floats) -> Floats:
        """Return the point of parameters."""
        return self._at.point(parameters)

    def evidence(self, point: Floats) -> tuple[float, Floats]:
        """Return the logarithm of the evidence against the parameters at a point, and its gradient."""
        value, by_parameter = self._bets.log_evidence(self._at.parameters(point))
        return value, self._at.gradient(point, by_parameter)

    def room(self, point: Floats) -> tuple[float, Floats]:
        """Return by how much the arm is better than the leader beyond epsilon, and the gradient."""
        value, by_parameter = self._bets.difference(self._at.parameters(point), self._arm, self._leader)
        return value - self._epsilon, self._at.gradient(point, by_parameter)

    def contradicts(self, parameters: Floats, asked: float) -> bool:
        """Return whether the arm is better for some parameters, and the evidence against them less than is asked."""
        return self._less(self.point(parameters), asked)

    def least(self, asked: float) -> tuple[float, Floats]:
        """Return the least evidence found, -infinity where the search cannot be trusted, and the parameters.

        Searches that fail show nothing. It can be trusted if enough others ended well and a second one confirms the
        least value: two where that is far above what is asked, else five, beside one of each lobe. Starts are added
        until that is so.

        Parameters
        ----------
        asked
            The search ends where it finds less.
        """
        ends: list[Minimum] = []
        first = self._where_equal(np.zeros(self._at.n))
        lobes = self._lobes(float(np.linalg.norm(first)))
        for start in itertools.chain([first], lobes, self._drawn()):
            end = descend(self.evidence, start, self.room, slack=FEASIBLE, bounds=self._at.bounds, tolerance=TOLERANCE)
            if end.value > -math.inf:
                ends.append(end)
            if self._less(end.point, asked):
                return -math.inf if end.value == -math.inf else end.value, self.parameters(end.point)
            if ends:
                least = min(ends, key=lambda end: end.value)
                enough = CERTAIN if least.value >= asked + FAR else STARTS
                if len(ends) >= enough + len(lobes) and sum(end.value <= least.value + AGREEMENT for end in ends) >= 2:
                    return least.value, self.parameters(least.point)
        return -math.inf, self.parameters(ends[0].point if ends else np.zeros(self._at.n))

    def _less(self, point: Floats, asked: float) -> bool:
        """Return whether the arm is better at a point, about, and the evidence less than is asked."""
        return bool(self.room(point)[0] >= -FEASIBLE and self.evidence(point)[0] < asked)

    def _lobes(self, radius: float) -> list[Floats]:
        """Return points where the arms are equal, both ways along each direction in which the arm's lead curves up.

        Only where that adds something as far away as the nearest such point: elsewhere they are about in a plane.
        """
        found, steep = [], float(np.linalg.norm(self.room(np.zeros(self._at.n))[1]))
        for curvature, direction in curved_up(lambda u: self.room(u)[1], self._at.n, MOST_CURVED):
            if 0.5 * curvature * radius > CURVED * steep:
                found += [self._where_equal(sign * radius * direction) for sign in (1.0, -1.0)]
        return found

    def _drawn(self) -> Iterator[Floats]:
        """Return points at random where the arms are equal."""
        rng = np.random.default_rng(0)
        for k in range(1, MOST_STARTS):
            spread = SPREAD * (1 + k % STARTS) / STARTS
            yield self._where_equal(spread * rng.standard_normal(self._at.n))

    def _where_equal(self, start: Floats) -> Floats:
        """Return where the arms are equal up the gradient from a point, inside of the edges as far as possible."""
        up = self.room(start)[1]
        size = float(np.abs(up).max())
        if self.room(start)[0] >= 0.0 or size == 0.0:
            return start
        low, high = 0.0, 1.0 / size
        while self.room(self._at.inside(start + high * up))[0] < 0.0 and high * size < FARTHEST:
            low, high = high, 2.0 * high
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            if self.room(self._at.inside(start + middle * up))[0] >= 0.0:
                high = middle
            else:
                low = middle
        return self._at.inside(start + high * up)
