"""The bets of every arm on the tables of a network without hidden common causes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pgcpe.estimators.table_model import TableCounts
from pgcpe.estimators.tilted_bets import BetsByArm, RowwiseBets, unit_rewards
from pgcpe.models.derivatives import Layout
from pgcpe.models.second_order import PairOfActions

__all__ = ["MOST_CONFIGURATIONS", "TiltedTables"]

Floats = NDArray[np.float64]

MOST_CONFIGURATIONS = 2**18
"""Networks with more, summed over the actions, take minutes to search."""


class TiltedTables(BetsByArm, RowwiseBets):
    """The bets of every arm on the tables of a network, along its difference to the leader of each epoch.

    Parameters
    ----------
    tables
        What counts the plays.
    rewards
        The reward of each state of the last node.
    n_arms
        How many of the actions are arms; they come first.
    epsilon
        How much worse than the leader than that an arm is not to be to be ruled out.
    """

    bet_on = "the tables"

    def __init__(self, tables: TableCounts, rewards: Floats, n_arms: int, epsilon: float) -> None:
        self._tables, self._unit = tables, np.array([0.0, 1.0])
        values, width = unit_rewards(rewards)
        self._layout = Layout(tables.parents, (*tables.cards[:-1], 2), tables.layout.forced[:n_arms])
        self._reward_entry = self._layout.entry_start[-2]
        pair, reward_row = PairOfActions(self._layout, self._unit), int(self._layout.row_start[-2])
        super().__init__(pair, self._layout.width, reward_row, values, epsilon / width)

    def _counts(self) -> tuple[Floats, Floats]:
        counts = self._tables.counts
        by_state = counts[self._reward_entry :].reshape(-1, len(self._values))
        ends = np.stack([by_state @ (1.0 - self._values), by_state @ self._values], axis=1)
        return np.concatenate([counts[: self._reward_entry], ends.ravel()]), by_state.copy()

    def _apart(self, tables: Floats, leader: int) -> tuple[Floats, Floats]:
        found = self._layout.derivatives(tables, self._unit)
        return found.mean[leader] - found.mean, found.slope[leader] - found.slope
