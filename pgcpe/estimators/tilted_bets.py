"""Epochs of bets along the differences of arms, from counts of rows of probabilities (`pgcpe.confidence.tilted`)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgcpe.confidence.tilted import PRIOR, Bets, log_predictive, stakes
from pgcpe.models.second_order import DifferenceOfActions
from pgcpe.models.simplices import RowsInBox
from pgcpe.models.tilted_search import BetsOnTables, TiltedNull

__all__ = ["TiltedBets", "epoch_start", "unit_rewards"]

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
    counts, by_state
        The plays of every entry: with rewards as 0 and 1, and of the reward by its states.
    estimate
        The probabilities of all entries.
    share
        For each row how many of the plays before met it.
    stake
        For each arm what is bet, 0 for nothing.
    predictive
        `log_predictive` of the counts.
    """

    leader: int
    counts: Floats
    by_state: Floats
    estimate: Floats
    share: Floats
    stake: Floats
    predictive: Floats


class TiltedBets(ABC):
    """The bets of arms on rows of probabilities. Of a row of the reward only the mean counts; those come last.

    Parameters
    ----------
    pair
        How the differences of arms depend on the entries.
    width
        The numbers of entries of all rows.
    reward_row
        The first row of the reward.
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
        self, pair: DifferenceOfActions, width: NDArray[np.int64], reward_row: int, values: Floats, epsilon: float
    ) -> None:
        self._pair, self._width, self._reward_row = pair, width, reward_row
        self._entry_start = np.concatenate([[0], np.cumsum(width)])
        self._values, self._epsilon = values, epsilon
        self._drawn = _rows_drawn(self._entry_start)
        self._moved: dict[int, NDArray[np.bool_]] = {}
        self.epochs: list[Epoch] = []

    @abstractmethod
    def _counts(self) -> tuple[Floats, Floats]:
        """Return the plays of all entries, with rewards as 0 and 1, and those of the reward's rows by its states."""

    @abstractmethod
    def _apart(self, tables: Floats, leader: int) -> tuple[Floats, Floats]:
        """Return how much more a leader is worth than each arm, and the derivatives, of shape (arms, entries)."""

    @property
    def due(self) -> int:
        """After how many plays the next epoch begins."""
        return epoch_start(len(self.epochs))

    def begin(self, leader: int, plays: int) -> None:
        """Begin an epoch with a leader, and bet on what comes."""
        counts, by_state = self._counts()
        total, width = self._by_row(counts), self._width
        estimate = (counts + PRIOR) / np.repeat(total + PRIOR * width, width)
        share = (total + PRIOR) / plays
        gap, slopes = self._apart(estimate, leader)
        first = self._entry_start[:-1]
        mean = np.add.reduceat(estimate * slopes, first, axis=1)
        variance = np.maximum(np.add.reduceat(estimate * slopes**2, first, axis=1) - mean**2, 0.0)
        variance[~self._depends(leader)] = 0.0
        stake = stakes(gap, (variance / share).sum(axis=1), plays, self._epsilon)
        predictive = log_predictive(counts, self._entry_start)
        self.epochs.append(Epoch(leader, counts, by_state, estimate, share, stake, predictive))

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

    def _bets(self, arm: int) -> Bets:
        """Return what was bet for an arm, and what came until now."""
        epochs, n_rows = self.epochs, len(self._width)
        counts, by_state = self._counts()
        told = np.array([*(epoch.counts for epoch in epochs), counts])
        depends = np.array([self._depends(epoch.leader)[arm] for epoch in epochs])
        begun = np.where(depends.any(axis=0), depends.argmax(axis=0), len(epochs))
        before = np.array([epoch.predictive for epoch in epochs])
        since = log_predictive(counts, self._entry_start) - before
        mixed = np.arange(0, len(epochs), 2)
        return Bets(
            entry_start=self._entry_start,
            reward_row=self._reward_row,
            values=self._values,
            by_value=np.diff(np.array([*(epoch.by_state for epoch in epochs), by_state]), axis=0),
            counts=np.diff(told, axis=0),
            since=counts - told[:-1],
            visits=self._by_row(np.diff(told, axis=0)),
            begun=begun,
            stake=np.array([epoch.stake[arm] for epoch in epochs]),
            share=np.array([epoch.share for epoch in epochs]),
            predicted=np.where(begun < len(epochs), since[np.minimum(begun, len(epochs) - 1), np.arange(n_rows)], 0.0),
            mixed=mixed,
            mixed_rows=depends[mixed],
            mixed_predicted=since[mixed],
        )

    def of(self, arm: int) -> BetsOnTables:
        """Return the bets of an arm as a function of the tables."""
        estimates = np.array([epoch.estimate for epoch in self.epochs])
        actions = np.array([(epoch.leader, arm) for epoch in self.epochs], dtype=np.int64)
        return BetsOnTables(self._bets(arm), self._pair, estimates, actions)

    def null(self, leader: int, arm: int) -> TiltedNull | None:
        """Return the tables for which an arm is better than the leader, and what its bets say of them.

        None where there are no such tables, since both depend on them alike and epsilon is positive.
        """
        if self._epsilon > 0 and not self._depends(leader)[arm].any():
            return None
        counts, _ = self._counts()
        plays, width = self._by_row(counts), self._width
        now = (counts + PRIOR) / np.repeat(plays + PRIOR * width, width)
        moved = [self._depends(then)[arm] for then in (leader, *(epoch.leader for epoch in self.epochs))]
        box = RowsInBox(self._entry_start, np.flatnonzero(np.any(moved, axis=0)), now)
        return TiltedNull(self.of(arm), leader=leader, arm=arm, epsilon=self._epsilon, box=box, plays=plays[box.row])


def _rows_drawn(entry_start: NDArray[np.int64]) -> Floats:
    """Return tables drawn at random, the same each time."""
    drawn = np.random.default_rng(0).uniform(0.5, 1.5, entry_start[-1])
    return np.asarray(drawn / np.repeat(np.add.reduceat(drawn, entry_start[:-1]), np.diff(entry_start)))
