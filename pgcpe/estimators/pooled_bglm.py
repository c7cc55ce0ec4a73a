"""A binary generalised linear model from all plays: estimates, their differences, and an exact region for them."""

from __future__ import annotations

import itertools
import math
from typing import Self

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag
from scipy.special import betaln, xlogy

from pgcpe.bandit import CausalBandit
from pgcpe.estimators.base import GRAPH, Arms, Estimated, PairwiseEstimator, Rejected, check_samples, started
from pgcpe.estimators.bglm import BGLM
from pgcpe.estimators.node_equations import modelled_graph, state_of_one
from pgcpe.estimators.schedule import FIRST_SNAPSHOT, GROWTH, MAX_SNAPSHOTS, checked_refresh, next_due, snapshot_share
from pgcpe.estimators.table_model import TableCounts
from pgcpe.models.derivatives import Derivatives, Layout
from pgcpe.models.glm import fisher_scoring, fit_rows, influence, mean_and_slope
from pgcpe.models.links import link_named
from pgcpe.models.search import minimise, starts_in_ball
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

FEASIBLE = 1e-6
"""The region is widened by this, in nats, and an end point may be outside of it by as much."""


class PooledBGLM(PairwiseEstimator):
    """The equations of a `BGLM`, each fitted to every play that leaves its node free.

    The model is the user's assertion: no hidden common cause among the ancestors of the reward, two states a node, and
    this link. Fits are by maximum likelihood with one play more a node, half 1 and half 0, and a little ridge. Of all
    plays the information is that of Fisher; variances are those of the delta method.

    `certifies` looks for the largest difference of two arms over a region that holds all coefficients at once at all
    times: those whose likelihood is not far below what was bet by the fits of the past (a prequential likelihood-ratio
    set, Emmenegger, Mutny and Krause 2023). The region is exact, the search for the maximum numerical.

    Parameters
    ----------
    model
        Its link and constant are those of the model, other options concern the paper's algorithm alone.
    refresh
        As for `PooledTrees`: fits, and the bets on what comes next, are made anew at these plays.

    Attributes
    ----------
    theta_ : list of arrays
        The coefficients of the nodes: the intercept, where there is one, then those of the parents.
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
        self._rows = [slice(*ends) for ends in itertools.pairwise(self._tables.layout.row_start)]
        self._more = np.concatenate([np.full(len(design), 0.5 / len(design)) for design in self._designs])
        self._p = np.empty(len(self._tables.counts))
        self._inverse: list[Floats] = [np.empty((0, 0))] * len(nodes)
        self._refresh = checked_refresh(self.refresh)
        self._plays, self._next_snapshot = 0, FIRST_SNAPSHOT
        self.theta_ = [np.zeros(design.shape[1]) for design in self._designs]
        if self._link.name == "identity":
            for theta, v in zip(self.theta_, nodes, strict=True):
                theta[:1] = 0.5 if v in with_intercept else 0.0
        self._bet = 0.0  # the log-likelihood of all plays under the fits made before them
        self._snapshots = [(0, self._tables.counts.copy(), 0.0)]
        self.served_ = np.ones(len(bandit.arms), np.bool_)
        self._fit()
        return self

    def update(self, samples: Samples) -> Self:
        """Count every play for the nodes it leaves free, and bet on it before."""
        check_samples(samples)
        start, end = self._plays, self._plays + len(samples)
        while self._plays < end:
            due = next_due(self._plays, self._refresh)
            until = min(end, due, self._next_snapshot)
            before = self._tables.counts.copy()
            self._tables.add(samples.rows(slice(self._plays - start, until - start)))
            self._bet += self._log_likelihood(self._p, self._tables.counts - before)
            self._plays = until
            if until == due:
                self._fit()
            if until == self._next_snapshot:
                fresh = self._snapshots[-1][0] + 1, self._tables.counts.copy(), self._bet
                self._snapshots = [self._snapshots[0], *self._snapshots[1:][1 - MAX_SNAPSHOTS :], fresh]
                self._next_snapshot *= GROWTH
        return self

    def _fit(self) -> None:
        """Fit all nodes; set the probabilities of all entries and the inverse information of each node."""
        zeros, ones = self._tables.counts[self._places].T
        n, predictor = zeros + ones, np.empty(len(zeros))
        likelihood, code, floor = True, self._link.code, 1.0 / (n + 2.0 * self._more + 4.0)
        zeros, ones = zeros + self._more, ones + self._more
        for i, (design, rows) in enumerate(zip(self._designs, self._rows, strict=True)):
            self.theta_[i], self._inverse[i] = fisher_scoring(
                design, ones[rows], zeros[rows], self.theta_[i], code, likelihood, RIDGE, floor[rows], CLOSE
            )
            predictor[rows] = design @ self.theta_[i]
        # no nearer to 0 and 1 than n plays allow to say
        p, self._slope = mean_and_slope(predictor, 1.0 / (n + 4.0), code)
        self._p[self._places] = np.stack([1.0 - p, p], axis=1)
        self._found: Derivatives | None = None

    def _log_likelihood(self, p: Floats, counts: Floats) -> float:
        return float(xlogy(counts, np.maximum(p, LEAST)).sum())

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
            inverse = self._inverse[i]
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
        by_node = [((d @ inverse) * d).sum(axis=1) for d, inverse in zip(directions, self._inverse, strict=True)]
        return np.asarray(np.sum(by_node, axis=0))

    # -------------------------------------------------------------------------------------------- the exact region

    def evidence(self, leader: int, epsilon: float, alpha: float) -> tuple[Floats, float]:
        """Return what the fit says against each arm, to second order, and how much the region asks for, in nats.

        Of the regions begun at snapshots it is the one that asks for least of what was seen since.
        """
        gap, variance, _ = self.differences(leader)
        gap = np.maximum(gap + epsilon, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            evidence = np.where(gap > 0, gap**2 / (2.0 * variance), 0.0)
        evidence[leader] = math.inf
        return evidence, min(self._asked(j, alpha) for j in range(len(self._snapshots)))

    def _asked(self, j: int, alpha: float) -> float:
        """Return how far the likelihood may fall below that of the fit, for all plays in place of those since."""
        number, before, bet = self._snapshots[j]
        since = self._tables.counts - before
        room = self._log_likelihood(self._p, since) - (self._bet - bet) - math.log(alpha * snapshot_share(number))
        share = since.sum() / max(self._tables.counts.sum(), 1.0)
        return math.inf if share <= 0 else max(room, 0.0) / share

    def certifies(self, leader: int, epsilon: float, alpha: float) -> bool:
        """Return whether no coefficients in the region make another arm better than the leader by more than epsilon.

        All arms are looked at, each from several starts; a search that fails, or ends outside the region, is taken for
        one that found such coefficients.
        """
        started(self)
        j = min(range(len(self._snapshots)), key=lambda j: self._asked(j, alpha))
        evidence, _ = self.evidence(leader, epsilon, alpha)
        region = _Region(self, j, alpha)
        return all(region.largest(leader, other) <= epsilon for other in np.argsort(evidence) if other != leader)

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


class _Region:
    """The coefficients whose likelihood since a snapshot is not far below what was bet; where arms differ most there.

    A point is given by u, with the coefficients of each node at the fit plus the root of the inverse information times
    u: there the region is about a ball.
    """

    def __init__(self, model: PooledBGLM, j: int, alpha: float) -> None:
        number, before, bet = model._snapshots[j]
        self._tables, self._values, self._link = model._tables, model.bandit_.reward_array, model._link
        self._since = model._tables.counts - before
        self._least = model._bet - bet + math.log(alpha * snapshot_share(number)) - FEASIBLE
        self._zero, self._one = model._places.T
        design = block_diag(*model._designs)
        self._center = design @ np.concatenate(model.theta_)
        self._by_u = design @ block_diag(*(np.linalg.cholesky(inverse) for inverse in model._inverse))
        self._radius = math.sqrt(2.0 * max(model._asked(j, alpha), 1.0))

    def largest(self, leader: int, other: int) -> float:
        """Return how much better than the leader the other arm can be; infinity where the search cannot be trusted."""
        pair = Layout(self._tables.parents, self._tables.cards, self._tables.forced[[leader, other]])

        def objective(u: Floats) -> tuple[float, Floats]:
            """Return the leader's reward less the other's, and the gradient."""
            p, slope = self._entries(u)
            found = pair.derivatives(p, self._values)
            return float(found.mean[0] - found.mean[1]), self._gradient(found.slope[0] - found.slope[1], slope)

        starts = starts_in_ball(objective, self._by_u.shape[1], self._radius)
        return -minimise(objective, starts, self._room, slack=FEASIBLE)

    def _entries(self, u: Floats) -> tuple[Floats, Floats]:
        """Return the probabilities of all entries and the slopes of the rows."""
        z = self._center + self._by_u @ u
        one = np.clip(self._link.probability(z), LEAST, 1.0 - LEAST)
        p = np.empty(len(self._since))
        p[self._one], p[self._zero] = one, 1.0 - one
        return p, np.where((one > LEAST) & (one < 1.0 - LEAST), self._link.slope(z), 0.0)  # cut off: flat

    def _gradient(self, by_entry: Floats, slope: Floats) -> Floats:
        return np.asarray(((by_entry[self._one] - by_entry[self._zero]) * slope) @ self._by_u)

    def _room(self, u: Floats) -> tuple[float, Floats]:
        """Return by how many nats the likelihood is above the least allowed, and the gradient."""
        p, slope = self._entries(u)
        return float(xlogy(self._since, p).sum()) - self._least, self._gradient(self._since / p, slope)


def _design(ones: NDArray[np.int64], intercept: bool) -> Floats:
    """Return the rows v for all values of binary parents, the codes of the last changing fastest."""
    width = len(ones)
    codes = (np.arange(2**width)[:, None] >> np.arange(width)[::-1]) & 1
    return np.concatenate([np.ones((2**width, int(intercept))), codes == ones], axis=1)
