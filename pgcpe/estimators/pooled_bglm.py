"""A binary generalised linear model from all plays: estimates, their differences, and whether the link is refuted."""

from __future__ import annotations

import itertools
import math
from typing import Self

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, xlogy

from pgcpe.bandit import CausalBandit
from pgcpe.estimators.base import GRAPH, Arms, Estimated, PairwiseEstimator, Rejected, check_samples, started
from pgcpe.estimators.bglm import BGLM
from pgcpe.estimators.node_equations import modelled_graph, state_of_one
from pgcpe.estimators.schedule import checked_refresh, next_due
from pgcpe.estimators.table_model import TableCounts
from pgcpe.models.derivatives import Derivatives
from pgcpe.models.glm import fisher_scoring, fit_rows, influence, mean_and_slope
from pgcpe.models.links import link_named
from pgcpe.models.tilted_equations import Equations
from pgcpe.plays.encoding import check_question
from pgcpe.plays.samples import Samples

__all__ = ["PooledBGLM"]

Floats = NDArray[np.float64]

RIDGE = 0.05
"""What is added to the information about each coefficient, so that those not seen yet stay near 0."""

CLOSE = 1e-9
"""The last step of a fit moves no coefficient by more, relative to one more than the largest."""

LEAST = 1e-12
"""Probabilities are kept this far from 0 and 1 in likelihoods."""


class PooledBGLM(PairwiseEstimator):
    """The equations of a `BGLM`, each fitted to every play that leaves its node free.

    The model is the user's assertion: no hidden common cause among the ancestors of the reward, two states a node, and
    this link. Fits are by maximum likelihood with one play more a node, half 1 and half 0, and a little ridge. Of all
    plays the information is that of Fisher; variances are those of the delta method.

    Parameters
    ----------
    model
        Its link and constant are those of the model, other options concern the paper's algorithm alone.
    refresh
        As for `PooledTrees`: fits are made anew at these plays.

    Attributes
    ----------
    theta_ : list of arrays
        The coefficients of the nodes: the intercept, where there is one, then those of the parents.
    inverse_ : list of arrays
        The inverse of the information about them.
    equations : Equations
        How the tables depend on them.
    """

    def __init__(self, model: BGLM, refresh: int | None = None) -> None:
        self.model = model
        self.refresh = refresh

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The graph, and the form of the equations."""
        return (GRAPH, f"the {self.model.link} link")

    def required(self, bandit: CausalBandit) -> tuple[str, ...]:
        """Return the ancestors of the reward, but for its noise and the constant."""
        return tuple(v for v in self._graph(bandit)[0] if v != bandit.reward)

    def _graph(self, bandit: CausalBandit) -> tuple[nx.DiGraph, set[str]]:
        """Return the graph without the constant, and which nodes have an intercept."""
        constant = self.model.constant
        graph = modelled_graph(bandit.graph, bandit.states, bandit.reward, constant)
        if constant is None:
            return graph, set(graph)
        with_intercept = set(graph.successors(constant)) if constant in graph else set()
        graph = nx.DiGraph(graph)
        graph.remove_nodes_from([constant])
        return graph, with_intercept

    def start(self, bandit: CausalBandit) -> Self:
        """Forget everything and prepare for the arms of a bandit that records the ancestors of the reward.

        Raises
        ------
        ValueError
            If the model does not fit the graph, or the network has too many configurations.
        """
        check_question(bandit)
        graph, with_intercept = self._graph(bandit)
        self._link = link_named(self.model.link)
        self.bandit_ = bandit
        self._tables = TableCounts(graph, bandit)
        if not self._tables.layout.small:
            raise ValueError("the ancestors of the reward have too many configurations to compare arms by this model")
        nodes, parents = self._tables.nodes, self._tables.parents
        self._ones = np.array([list(bandit.states[v]).index(state_of_one(bandit.states[v])) for v in nodes])
        self._designs = [
            _design(self._ones[list(ps)], v in with_intercept) for v, ps in zip(nodes, parents, strict=True)
        ]
        at = self._tables.layout.entry_start
        self._entries = []  # of each node, a row for each of its parents' values: the places of 0 and of 1
        for i, one in enumerate(self._ones):
            places = np.arange(at[i], at[i + 1]).reshape(-1, 2)
            self._entries.append(places if one == 1 else places[:, ::-1])
        self._places = np.concatenate(self._entries)
        self.equations = Equations(self._link, self._designs, self._places, RIDGE)
        self._rows = [slice(*ends) for ends in itertools.pairwise(self._tables.layout.row_start)]
        self._more = np.concatenate([np.full(len(design), 0.5 / len(design)) for design in self._designs])
        self._p = np.empty(len(self._tables.counts))
        self.inverse_: list[Floats] = [np.empty((0, 0))] * len(nodes)
        self._refresh = checked_refresh(self.refresh)
        self._plays = 0
        self.theta_ = [np.zeros(design.shape[1]) for design in self._designs]
        if self._link.name == "identity":
            for theta, v in zip(self.theta_, nodes, strict=True):
                theta[:1] = 0.5 if v in with_intercept else 0.0
        self.served_ = np.ones(len(bandit.arms), np.bool_)
        self._fit()
        return self

    def update(self, samples: Samples) -> Self:
        """Count every play for the nodes it leaves free."""
        check_samples(samples)
        start, end = self._plays, self._plays + len(samples)
        while self._plays < end:
            due = next_due(self._plays, self._refresh)
            until = min(end, due)
            self._tables.add(samples.rows(slice(self._plays - start, until - start)))
            self._plays = until
            if until == due:
                self._fit()
        return self

    @property
    def table_counts(self) -> TableCounts:
        """What counts the plays."""
        started(self)
        return self._tables

    def _fit(self) -> None:
        """Fit all nodes; set the probabilities of all entries and the inverse information of each node."""
        zeros, ones = self._tables.counts[self._places].T
        n, predictor = zeros + ones, np.empty(len(zeros))
        likelihood, code, floor = True, self._link.code, 1.0 / (n + 2.0 * self._more + 4.0)
        zeros, ones = zeros + self._more, ones + self._more
        for i, (design, rows) in enumerate(zip(self._designs, self._rows, strict=True)):
            self.theta_[i], self.inverse_[i] = fisher_scoring(
                design, ones[rows], zeros[rows], self.theta_[i], code, likelihood, RIDGE, floor[rows], CLOSE
            )
            predictor[rows] = design @ self.theta_[i]
        # no nearer to 0 and 1 than n plays allow to say
        p, self._slope = mean_and_slope(predictor, 1.0 / (n + 4.0), code)
        self._p[self._places] = np.stack([1.0 - p, p], axis=1)
        self._found: Derivatives | None = None

    # ------------------------------------------------------------------------------------------------ arms in pairs

    def estimates(self, rejected: Rejected = None) -> Floats:
        """Return the estimate of every arm; NaN where it is rejected."""
        found, _ = self._directions()
        return np.where(False if rejected is None else rejected, np.nan, found.mean[: len(self.bandit_.arms)])

    def plug_in(self, rejected: Rejected = None) -> Estimated:
        """Return the estimate of every arm and its variance; a model that holds is not off."""
        found, directions = self._directions()
        variance = np.where(False if rejected is None else rejected, np.inf, self._variances(directions))
        return Estimated(found.mean[: len(variance)].copy(), variance, np.zeros(len(variance)))

    def differences(
        self, leader: int, rejected: Rejected = None, epsilon: float | None = None, arms: Arms = None
    ) -> Estimated:
        """Return how far the estimates of arms are below the leader's, and the variance; coefficients are shared."""
        found, directions = self._directions()
        arms = np.arange(len(self.bandit_.arms)) if arms is None else arms
        variance = self._variances([d[leader] - d[arms] for d in directions])
        gap = found.mean[leader] - found.mean[arms]
        doubted = False if rejected is None else rejected[arms] | rejected[leader]
        if epsilon is not None:
            variance = np.maximum(variance, self._variances_if_equal(leader, gap + epsilon, arms))
        return Estimated(gap, np.where(doubted, np.inf, variance), np.zeros(len(variance)))

    def variance_reduction(
        self, leader: int, weights: Floats, rejected: Rejected = None, pending: Floats | None = None
    ) -> Floats:
        """Return for each playable action what one play takes off the variances of the differences to the leader."""
        found, directions = self._directions()
        reach = found.reach[self._tables.playable]
        counted = np.flatnonzero(weights)
        out = np.zeros(len(reach))
        for i, (design, d) in enumerate(zip(self._designs, directions, strict=True)):
            p = self._p[self._entries[i][:, 1]]
            of_row = self._slope[self._rows[i]] ** 2 / (p * (1.0 - p))  # information of a play in each row
            inverse = self.inverse_[i]
            if pending is not None:
                more = (pending @ reach[:, self._rows[i]] * of_row)[:, None] * design
                inverse = np.linalg.inv(np.linalg.inv(inverse) + design.T @ more)
            moved = (d[leader] - d[counted]) @ inverse @ design.T
            worth = weights[counted] @ moved**2 * of_row
            out += reach[:, self._rows[i]] @ worth
        return out

    def _directions(self) -> tuple[Derivatives, list[Floats]]:
        """Return the derivatives of the arms' rewards by the probabilities, and for each node by its coefficients."""
        started(self)
        if self._found is None:
            found = self._tables.layout.derivatives(self._p, self.bandit_.reward_array)
            self._by_row = np.diff(found.slope[: len(self._tables.forced), self._places], axis=-1)[..., 0]
            self._by_theta = [
                (self._by_row[:, rows] * self._slope[rows]) @ design
                for rows, design in zip(self._rows, self._designs, strict=True)
            ]
            self._found = found
        return self._found, self._by_theta

    def _variances_if_equal(self, leader: int, gap: Floats, arms: NDArray[np.intp]) -> Floats:
        """Return the variances at the nearest coefficients where `gap` is 0; where it is not positive nothing is moved.

        With c the gradient of the difference and I the information these are ``-gap I^-1 c / (c' I^-1 c)`` away. The
        step is taken in the probabilities, to first order, as the difference is nearly linear in them: where they are
        near 0 a step as long in the coefficients of a logit would leap over to 1. It is taken twice from the fit, by c
        and I at the fit and by those where that led to: at the fit a row of zeros alone is too sure of itself to move.
        """
        apart, n = self._by_row[leader] - self._by_row[arms], self._tables.counts[self._places].sum(axis=1)
        least, plays = 1.0 / (n + 4.0), n + 2.0 * self._more
        fit, slope = self._p[None, self._places[:, 1]], self._slope[None]
        p = fit
        for _ in range(3):
            parts = [
                influence(design, plays[rows], p[:, rows], slope[:, rows], apart[:, rows], RIDGE)
                for design, rows in zip(self._designs, self._rows, strict=True)
            ]
            moved, variance = np.hstack([part[0] for part in parts]), np.sum([part[1] for part in parts], axis=0)
            rate = np.divide(np.maximum(gap, 0.0), variance, out=np.zeros_like(gap), where=variance > 0)
            p = np.clip(fit - rate[:, None] * moved, least, 1.0 - least)
            slope = self._link.slope(self._link.predictor(p))
        return np.asarray(variance)

    def _variances(self, directions: list[Floats]) -> Floats:
        """Return the variances at the fit of what moves by the coefficients of each node in these directions."""
        by_node = [((d @ inverse) * d).sum(axis=1) for d, inverse in zip(directions, self.inverse_, strict=True)]
        return np.asarray(np.sum(by_node, axis=0))

    # ------------------------------------------------------------------------------------------------ is it refuted

    def refuted(self, alpha: float) -> bool:
        """Return whether the plays contradict the link, or that the parents add up; by chance with probability alpha.

        At all times together: the mixture of tables without any link has a likelihood of ``1 / alpha`` times that of
        every choice of coefficients, over which it is a martingale.
        """
        zeros, ones = self._tables.counts[self._places].T
        mixture = float((betaln(ones + 0.5, zeros + 0.5) - math.log(math.pi)).sum())
        if mixture - self._unridged(self.theta_) < -math.log(alpha):
            return False
        fits = zip(self._designs, self._rows, strict=True)
        best = [fit_rows(self._link, design, ones[rows], zeros[rows]) for design, rows in fits]
        return mixture - self._unridged(best) >= -math.log(alpha)

    def _unridged(self, theta: list[Floats]) -> float:
        """Return the log-likelihood of coefficients, without ridge and added plays."""
        predictors = [design @ of_node for design, of_node in zip(self._designs, theta, strict=True)]
        p = np.clip(self._link.probability(np.concatenate(predictors)), LEAST, 1.0 - LEAST)
        return float(xlogy(self._tables.counts[self._places], np.stack([1.0 - p, p], axis=1)).sum())


def _design(ones: NDArray[np.int64], intercept: bool) -> Floats:
    """Return the rows v for all values of binary parents, the codes of the last changing fastest."""
    width = len(ones)
    codes = (np.arange(2**width)[:, None] >> np.arange(width)[::-1]) & 1
    return np.concatenate([np.ones((2**width, int(intercept))), codes == ones], axis=1)
