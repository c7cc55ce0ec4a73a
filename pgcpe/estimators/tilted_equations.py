"""The bets of every arm on the equations of a binary generalised linear model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag
from scipy.special import xlogy

from pgcpe.estimators.pooled_bglm import PooledBGLM
from pgcpe.estimators.tilted_bets import BetsByArm, unit_rewards
from pgcpe.models.derivatives import Layout
from pgcpe.models.second_order import PairOfActions
from pgcpe.models.tilted_equations import AlongCoefficients, BetsOnEquations

__all__ = ["TiltedEquations"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class TiltedEquations(BetsByArm):
    """The bets of every arm on the equations of a model, along its difference to the leader of each epoch.

    The rows of a node are a bracket. What is predicted in an epoch is what the fit at its start says.

    Parameters
    ----------
    model
        What fits the equations; nothing but its fits so far is used.
    epsilon
        How much worse than the leader than that an arm is not to be to be ruled out.
    """

    bet_on = "the equations"

    def __init__(self, model: PooledBGLM, epsilon: float) -> None:
        tables, bandit = model.table_counts, model.bandit_
        self.model, self._tables = model, tables
        values, width = unit_rewards(bandit.reward_array)
        layout = Layout(tables.parents, tables.cards, tables.forced)
        self._layout, self._pair, self._reward = layout, PairOfActions(layout, values), values
        self._equations = model.equations
        n_rows = len(layout.width)  # each by the probabilities of both states: none by its mean alone
        super().__init__(layout.width, self._equations.node_of_row, n_rows, values, epsilon / width)

    def _counts(self) -> tuple[Floats, Floats]:
        return self._tables.counts.copy(), np.zeros((0, len(self._values)))

    def _apart(self, tables: Floats, leader: int) -> tuple[Floats, Floats]:
        found = self._layout.derivatives(tables, self._reward)
        return found.mean[leader] - found.mean, found.slope[leader] - found.slope

    def _estimated(self, leader: int, plays: int, share: Floats) -> tuple[Floats, Floats, Floats]:
        equations = self._equations
        theta = np.concatenate(self.model.theta_)
        now = equations.at(equations.design @ theta, 1.0 / (share * plays + 4.0))
        gap, slopes = self._apart(equations.entries(now.mean), leader)
        by_theta = (equations.by_mean(slopes) * now.slope) @ equations.design
        information = equations.information(share * now.information, equations.ridge / plays)
        return theta, gap, np.einsum("ka,ka->k", by_theta, np.linalg.solve(information, by_theta.T).T)

    def _predictive(self, counts: Floats) -> Floats:
        """Return the log-likelihood of all plays, of each epoch at the fit at its start."""
        if not self.epochs:
            return np.zeros(self._bracket[-1] + 1)
        last, equations = self.epochs[-1], self._equations
        mean = equations.at(equations.design @ last.estimate, 1.0 / (self._by_row(last.counts) + 4.0)).mean
        by_row = self._by_row(np.asarray(xlogy(counts - last.counts, equations.entries(mean)), dtype=np.float64))
        return last.predictive + np.bincount(self._bracket, by_row)

    def of(self, arm: int) -> BetsOnEquations:
        """Return the bets of an arm as a function of the coefficients."""
        stake, estimates, actions = self._stakes(arm)
        share = np.array([epoch.share for epoch in self.epochs])
        plays = np.array([epoch.plays for epoch in self.epochs], dtype=np.float64)
        return BetsOnEquations(self._bets(arm), self._equations, self._pair, estimates, actions, stake, share, plays)

    def _coordinates(self, moved: Bools) -> AlongCoefficients:
        covariance = block_diag(*(self.model.inverse_[node] for node in np.flatnonzero(moved)))
        return AlongCoefficients(
            np.concatenate(self.model.theta_), moved[self._equations.node_of_coefficient], covariance
        )
