"""Epochs of bets along the differences of arms, from counts of rows of probabilities (`pgcpe.confidence.tilted`)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgcpe.confidence.tilted import PRIOR, Bets, RowBets, log_predictive, stakes
from pgcpe.models.derivatives import Layout
from pgcpe.models.second_order import DifferenceOfActions
from pgcpe.models.simplices import RowsInBox
from pgcpe.models.tilted_search import BetsOnParameters, BetsOnTables, Coordinates, RowsInErrors, TiltedNull

__all__ = ["BetsByArm", "RowwiseBets", "TiltedBets", "epoch_start", "epochs_begun", "unit_rewards"]

Floats = NDArray[np.float64]

FIRST_EPOCH, GROWTH = 30, 1.35

NEVER_ZERO = 1e-12
"""A derivative at tables drawn at random that is no larger is 0 at all tables."""


def epoch_start(j: int) -> int:
    """Return after how many plays an epoch begins, from 0 on.

    Examples
    --------
    >>> [epoch_start(j) for j in range(5)]
    [30, 41, 55, 74, 100]
    """
    return math.ceil(FIRST_EPOCH * GROWTH**j)


def epochs_begun(plays: int) -> int:
    """Return how many epochs have begun after so many plays.

    Examples
    --------
    >>> [epochs_begun(plays) for plays in (29, 30, 41, 99)]
    [0, 1, 2, 4]
    """
    j = 0
    while epoch_start(j) <= plays:
        j += 1
    return j


def unit_rewards(rewards: Floats) -> tuple[Floats, float]:
    """Return rewards scaled so that the least is 0 and the largest 1, and their range, 1 in place of 0."""
    least, width = float(rewards.min()), float(np.ptp(rewards)) or 1.0
    return (rewards - least) / width, width


class Epoch(NamedTuple):
    """What was known at the start of an epoch.

    Attributes
    ----------
    leader
        The arm that led.
    plays
        How many there were before.
    counts, by_state
        The plays of every entry: with rewards as 0 and 1, and of the reward by its states.
    estimate
        The parameters: of tables the probabilities of all entries.
    share
        For each row how many of the plays before met it.
    stake
        For each arm what is bet, 0 for nothing.
    predictive
        Of each bracket the logarithm of the predictive probability of what came before.
    """

    leader: int
    plays: int
    counts: Floats
    by_state: Floats
    estimate: Floats
    share: Floats
    stake: Floats
    predictive: Floats


class TiltedBets(ABC):
    """The bets of arms on rows of probabilities, those of a bracket together.

    Parameters
    ----------
    width
        The numbers of entries of all rows.
    bracket
        The bracket of each row.
    reward_row
        The first row of which only the mean counts, that of 0 and 1; such rows of the reward come last.
    values
        The reward of each of its states, the least 0 and the largest 1.
    epsilon
        How much worse than the leader than that an arm is not to be to be ruled out, in that unit.

    Attributes
    ----------
    epochs
        Those that have begun.
    """

    def __init__(
        self, width: NDArray[np.int64], bracket: NDArray[np.int64], reward_row: int, values: Floats, epsilon: float
    ) -> None:
        self._width, self._bracket, self._reward_row = width, bracket, reward_row
        self._entry_start = np.concatenate([[0], np.cumsum(width)])
        self._values, self._epsilon = values, epsilon
        self._drawn = _rows_drawn(self._entry_start)
        self._moved: dict[int, NDArray[np.bool_]] = {}
        self.epochs: list[Epoch] = []

    @abstractmethod
    def _counts(self) -> tuple[Floats, Floats]:
        """Return the plays of all entries, with rewards as 0 and 1, and those of the last rows by their states."""

    @abstractmethod
    def _apart(self, tables: Floats, leader: int) -> tuple[Floats, Floats]:
        """Return how much more a leader is worth than each arm, and the derivatives, of shape (arms, entries)."""

    @abstractmethod
    def _estimated(self, leader: int, plays: int, share: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the parameters as estimated, how much more the leader is worth than each arm, and the variance of that
        times the plays.
        """

    @abstractmethod
    def _predictive(self, counts: Floats) -> Floats:
        """Return of each bracket the logarithm of the predictive probability of what came until now."""

    @abstractmethod
    def of(self, arm: int) -> BetsOnParameters:
        """Return the bets of an arm as a function of the parameters."""

    @abstractmethod
    def _coordinates(self, moved: NDArray[np.bool_]) -> Coordinates:
        """Return where a search goes: parameters of the brackets that matter."""

    @property
    def due(self) -> int:
        """After how many plays the next epoch begins."""
        return epoch_start(len(self.epochs))

    def begin(self, leader: int, plays: int) -> None:
        """Begin an epoch with a leader, and bet on what comes."""
        counts, by_state = self._counts()
        share = (self._by_row(counts) + PRIOR) / plays
        estimate, gap, variance = self._estimated(leader, plays, share)
        stake = stakes(gap, variance, plays, self._epsilon)
        self.epochs.append(Epoch(leader, plays, counts, by_state, estimate, share, stake, self._predictive(counts)))

    def _by_row(self, entries: Floats) -> Floats:
        return np.asarray(np.add.reduceat(entries, self._entry_start[:-1], axis=-1))

    def _depends(self, leader: int) -> NDArray[np.bool_]:
        """Return for each arm and row whether the leader's expected reward less the arm's depends on the row."""
        if leader not in self._moved:
            _, apart = self._apart(self._drawn, leader)
            first = self._entry_start[:-1]
            extent = np.maximum.reduceat(apart, first, axis=1) - np.minimum.reduceat(apart, first, axis=1)
            self._moved[leader] = extent > NEVER_ZERO
        return self._moved[leader]

    def _brackets(self, leader: int, arm: int) -> NDArray[np.bool_]:
        """Return for each bracket whether the difference depends on a row of it."""
        out = np.zeros(self._bracket[-1] + 1, dtype=np.bool_)
        out[self._bracket[self._depends(leader)[arm]]] = True
        return out

    def _bets(self, arm: int) -> Bets:
        """Return what came until now, and what was predicted of it for an arm."""
        epochs = self.epochs
        counts, by_state = self._counts()
        told = np.array([*(epoch.counts for epoch in epochs), counts])
        depends = np.array([self._brackets(epoch.leader, arm) for epoch in epochs])
        begun = np.where(depends.any(axis=0), depends.argmax(axis=0), len(epochs))
        since = self._predictive(counts) - np.array([epoch.predictive for epoch in epochs])
        mixed = np.arange(0, len(epochs), 2)
        first, all_ = np.minimum(begun, len(epochs) - 1), np.arange(len(begun))
        return Bets(
            entry_start=self._entry_start,
            reward_row=self._reward_row,
            values=self._values,
            by_value=np.diff(np.array([*(epoch.by_state for epoch in epochs), by_state]), axis=0),
            counts=np.diff(told, axis=0),
            since=counts - told[:-1],
            visits=self._by_row(np.diff(told, axis=0)),
            bracket=self._bracket,
            begun=begun,
            predicted=np.where(begun < len(epochs), since[first, all_], 0.0),
            mixed=mixed,
            mixed_brackets=depends[mixed],
            mixed_predicted=since[mixed],
        )

    def _stakes(self, arm: int) -> tuple[Floats, Floats, NDArray[np.int64]]:
        """Return over the epochs what was bet for an arm, the estimates, and the leaders, each with the arm."""
        actions = np.array([(epoch.leader, arm) for epoch in self.epochs], dtype=np.int64)
        estimates = np.array([epoch.estimate for epoch in self.epochs])
        return np.array([epoch.stake[arm] for epoch in self.epochs]), estimates, actions

    def null(self, leader: int, arm: int) -> TiltedNull | None:
        """Return the parameters for which an arm is better than the leader, and what its bets say of them.

        None where there are none, since both depend on them alike and epsilon is positive.
        """
        if self._epsilon > 0 and not self._depends(leader)[arm].any():
            return None
        moved = [self._brackets(then, arm) for then in (leader, *(epoch.leader for epoch in self.epochs))]
        at = self._coordinates(np.any(moved, axis=0))
        return TiltedNull(self.of(arm), leader=leader, arm=arm, epsilon=self._epsilon, at=at)


class BetsByArm(TiltedBets):
    """The bets of arms of which each has one process, whoever leads."""

    _layout: Layout

    def follow(self, leader: int, plays: int) -> None:
        """Begin an epoch with a leader if it is time."""
        if plays >= self.due:
            self.begin(leader, plays)

    def process(self, leader: int, arm: int) -> tuple[int, ...]:
        """Return which process is to refute that an arm is better than a leader: that of the arm, whoever leads."""
        return (arm,)

    def bets_against(self, leader: int) -> NDArray[np.bool_]:
        """Return which arms there are bets on: all."""
        return np.ones(len(self._layout.forced), dtype=np.bool_)


class RowwiseBets(TiltedBets):
    """The bets of arms where the parameters are the probabilities themselves, and every row is a bracket.

    Parameters
    ----------
    pair
        How the differences of arms depend on the entries.
    width, reward_row, values, epsilon
        As for `TiltedBets`.
    """

    def __init__(
        self, pair: DifferenceOfActions, width: NDArray[np.int64], reward_row: int, values: Floats, epsilon: float
    ) -> None:
        super().__init__(width, np.arange(len(width)), reward_row, values, epsilon)
        self._pair = pair

    def _frequencies(self) -> Floats:
        counts, _ = self._counts()
        return np.asarray((counts + PRIOR) / np.repeat(self._by_row(counts) + PRIOR * self._width, self._width))

    def _estimated(self, leader: int, plays: int, share: Floats) -> tuple[Floats, Floats, Floats]:
        estimate = self._frequencies()
        gap, slopes = self._apart(estimate, leader)
        mean = self._by_row(estimate * slopes)
        variance = np.maximum(self._by_row(estimate * slopes**2) - mean**2, 0.0)
        variance[~self._depends(leader)] = 0.0
        return estimate, gap, (variance / share).sum(axis=1)

    def _predictive(self, counts: Floats) -> Floats:
        return log_predictive(counts, self._entry_start)

    def of(self, arm: int) -> BetsOnTables:
        """Return the bets of an arm as a function of the tables."""
        stake, estimates, actions = self._stakes(arm)
        share = np.array([epoch.share for epoch in self.epochs])
        rows = RowBets(self._entry_start, self._reward_row, stake, share)
        return BetsOnTables(self._bets(arm), rows, self._pair, estimates, actions)

    def _coordinates(self, moved: NDArray[np.bool_]) -> RowsInErrors:
        counts, _ = self._counts()
        box = RowsInBox(self._entry_start, np.flatnonzero(moved), self._frequencies())
        return RowsInErrors(box, self._by_row(counts)[box.row])


def _rows_drawn(entry_start: NDArray[np.int64]) -> Floats:
    """Return tables drawn at random, the same each time."""
    drawn = np.random.default_rng(0).uniform(0.5, 1.5, entry_start[-1])
    return np.asarray(drawn / np.repeat(np.add.reduceat(drawn, entry_start[:-1]), np.diff(entry_start)))
