"""When to look: at which numbers of plays intervals are worked out anew, and when snapshots are taken."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pgcpe._checks import whole_number
from pgcpe.plays.samples import Samples

__all__ = []

FIRST_SNAPSHOT, GROWTH = 64, 4
"""Snapshots are taken after so many plays, and whenever their number has grown by the factor."""

MAX_SNAPSHOTS = 2
"""Regions of so many snapshots are intersected, besides that of the start."""


def snapshot_share(j: int) -> float:
    """Return the share of the error probability that the region begun at snapshot j spends; they sum to 1.

    Examples
    --------
    >>> [round(snapshot_share(j), 4) for j in (0, 5, 6, 7)]
    [0.15, 0.15, 0.05, 0.0167]
    """
    return 0.15 if j <= 5 else 0.1 / ((j - 5) * (j - 4))


class Observations:
    """The plays of ``do()``, kept until the intervals are to be worked out anew.

    What is due depends on the rows alone, not on how they were handed over.

    Parameters
    ----------
    refresh
        Intervals are worked out at every `refresh`-th count. If None, at every count up to a hundred, then whenever it
        has grown by a hundredth.
    every_play
        Whether all plays are counted, or those of ``do()`` alone.
    """

    def __init__(self, refresh: int | None, *, every_play: bool = False) -> None:
        self._refresh, self._every_play = checked_refresh(refresh), every_play
        self._told = self._counted = 0
        self._rows: list[NDArray[np.int32]] = []
        self._rewards: list[NDArray[np.float64]] = []
        self._at: list[NDArray[np.intp]] = []  # the count at which each row came

    def add(self, samples: Samples) -> tuple[NDArray[np.int32], NDArray[np.float64]] | None:
        """Keep the new observations and return the codes and rewards of those now due, None if nothing is due."""
        passive = np.array([not action for action in samples.actions], dtype=np.bool_)[samples.which]
        rows, rewards = samples.codes[passive], samples.known_rewards[passive]
        n = len(samples) if self._every_play else len(rows)
        at = self._told + 1 + (np.flatnonzero(passive) if self._every_play else np.arange(n))
        self._told += n
        due = last_due(self._told, self._refresh)
        if self._rows or due < self._told:
            self._rows.append(rows)
            self._rewards.append(rewards)
            self._at.append(at)
            if due > self._counted:
                rows, at = np.concatenate(self._rows), np.concatenate(self._at)
                rewards = np.concatenate(self._rewards)
                ready = int(np.searchsorted(at, due, side="right"))
                self._rows, self._rewards, self._at = [rows[ready:]], [rewards[ready:]], [at[ready:]]
                rows, rewards = rows[:ready], rewards[:ready]
        if due <= self._counted:
            return None
        self._counted = due
        return rows, rewards


def checked_refresh(refresh: int | None) -> int | None:
    """Return the option of that name once it is sound."""
    return None if refresh is None else whole_number("refresh", refresh, 1)


def last_due(told: int, refresh: int | None) -> int:
    """Return the last count at which intervals are to be worked out."""
    if refresh is not None or told <= 100:
        return told - told % (refresh or 1)
    step = int(math.log(told / 100) / math.log(1.01))
    return max(p for k in (step - 1, step, step + 1) if (p := int(100 * 1.01**k)) <= told)


def next_due(told: int, refresh: int | None) -> int:
    """Return the first count after `told` at which anything is to be worked out."""
    if refresh is not None or told < 100:
        return told + (refresh or 1) - told % (refresh or 1)
    step = int(math.log(told / 100) / math.log(1.01))
    return min(p for k in range(step, step + 3) if (p := int(100 * 1.01**k)) > told)
