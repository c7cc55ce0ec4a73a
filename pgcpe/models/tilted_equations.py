"""Bets along the differences of arms in a binary generalised linear model, as a function of its coefficients.

With f the link, v_r the row of the design for the parents' values r, theta the coefficients, p_r = f(v_r theta) and I
the Fisher information of a play, the difference D of two arms is estimated with the influence

    f'(v_r theta) v_r' I^-1 grad D / (p_r (1 - p_r))

of an outcome 1 in row r, less p_r times that: what is bet on that outcome is in proportion to it, at the midpoint of
theta and the estimate of then. Since the exponents of an epoch are known at its start for every theta, what is bet on a
play has mean 1 given its row, at the true coefficients.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from pgcpe.confidence.tilted import Bets, log_evidence
from pgcpe.models.links import Link
from pgcpe.models.second_order import DifferenceOfActions

__all__ = ["AlongCoefficients", "BetsOnEquations", "Equations"]

Floats = NDArray[np.float64]

LEAST = 1e-12
"""Probabilities are kept this far from 0 and 1 where something is to be refuted."""


class AtRows(NamedTuple):
    """A link at the predictors of all rows, with probabilities kept off 0 and 1.

    Attributes
    ----------
    mean, by_mean
        The probability of 1, and its derivative: 0 where it was cut off.
    slope, curvature
        The first two derivatives of the link.
    score, by_score
        ``slope / (mean (1 - mean))`` and its derivative.
    information, by_information
        The same of ``slope^2 / (mean (1 - mean))``.
    """

    mean: Floats
    by_mean: Floats
    slope: Floats
    curvature: Floats
    score: Floats
    by_score: Floats
    information: Floats
    by_information: Floats


class Equations:
    """The equations of all nodes: which entries of the tables are functions of which coefficients.

    Parameters
    ----------
    link
        That of all nodes.
    designs
        Of each node the rows v, an array of shape (rows, coefficients).
    places
        Integer array of shape (rows, 2): where the entries of 0 and of 1 of each row stand.
    ridge
        What is added to the information about each coefficient.
    """

    def __init__(self, link: Link, designs: list[Floats], places: NDArray[np.int64], ridge: float) -> None:
        self.link, self.design, self.ridge = link, np.asarray(block_diag(*designs)), ridge
        self.zero, self.one = places.T.copy()
        self.node_of_row = np.repeat(np.arange(len(designs)), [len(design) for design in designs])
        self.node_of_coefficient = np.repeat(np.arange(len(designs)), [design.shape[1] for design in designs])

    def at(self, predictor: Floats, least: Floats | float) -> AtRows:
        """Return the link at predictors, of shape (..., rows), with probabilities `least` off 0 and 1."""
        exact = self.link.probability(predictor)
        mean = np.clip(exact, least, 1.0 - least)
        slope, curvature = np.maximum(self.link.slope(predictor), 1e-300), self.link.curvature(predictor)
        by_mean = np.where(exact == mean, slope, 0.0)
        if self.link.name == "identity":  # cut off at 0 and 1 before
            by_mean = np.where(predictor == mean, slope, 0.0)
        variance, by_variance = mean * (1.0 - mean), (1.0 - 2.0 * mean) * by_mean
        score, information = slope / variance, slope**2 / variance
        by_score = (curvature - score * by_variance) / variance
        by_information = (2.0 * slope * curvature - information * by_variance) / variance
        return AtRows(mean, by_mean, slope, curvature, score, by_score, information, by_information)

    def entries(self, mean: Floats) -> Floats:
        """Return the probabilities of all entries from those of 1, arrays of shape (..., rows)."""
        out = np.empty((*mean.shape[:-1], 2 * mean.shape[-1]))
        out[..., self.one], out[..., self.zero] = mean, 1.0 - mean
        return out

    def by_mean(self, by_entry: Floats) -> Floats:
        """Return derivatives by the probabilities of 1 from those by the entries."""
        return np.asarray(by_entry[..., self.one] - by_entry[..., self.zero])

    def of_means(self, direction: Floats) -> Floats:
        """Return the direction of the entries in which the probabilities of 1 go."""
        out = np.empty((*direction.shape[:-1], 2 * direction.shape[-1]))
        out[..., self.one], out[..., self.zero] = direction, -direction
        return out

    def information(self, of_rows: Floats, ridge: Floats | float) -> Floats:
        """Return the information about the coefficients from that of the rows, of shape (..., rows), and a ridge."""
        full = (self.design.T * of_rows[..., None, :]) @ self.design
        return np.asarray(full + np.multiply.outer(ridge, np.eye(self.design.shape[1])))


class BetsOnEquations:
    """What was bet for an arm, as a function of all coefficients.

    Parameters
    ----------
    bets
        What came, and what was predicted.
    equations
        The model.
    pair
        Differences of expected rewards.
    estimates
        Array of shape (epochs, coefficients): at the start of each epoch.
    actions
        Integer array of shape (epochs, 2): the leader of each epoch, and the arm.
    stake, share
        As in `RowBets`.
    plays
        Array over the epochs: the plays before.
    """

    def __init__(
        self, bets: Bets, equations: Equations, pair: DifferenceOfActions, estimates: Floats,
        actions: NDArray[np.int64], stake: Floats, share: Floats, plays: Floats,
    ) -> None:  # fmt: skip
        self._bets, self._equations, self._pair, self._actions = bets, equations, pair, actions
        self._before, self._stake, self._share = estimates @ equations.design.T, stake[:, None], share
        self._least = 1.0 / (share * plays[:, None] + 4.0)
        self._ridge = equations.ridge / plays

    def difference(self, parameters: Floats, first: int, second: int) -> tuple[float, Floats]:
        """Return how much more the first action is worth than the second, and the derivative by every coefficient."""
        equations = self._equations
        now = equations.at(equations.design @ parameters, LEAST)
        value, by_entry = self._pair.difference(equations.entries(now.mean), first, second)
        return value, (equations.by_mean(by_entry) * now.by_mean) @ equations.design

    def log_evidence(self, parameters: Floats) -> tuple[float, Floats]:
        """Return the logarithm of the evidence against coefficients, and the derivative by each.

        With a_r = f' dD/dp_r, G = V' a, u = I^-1 G and x_r = stake s_r v_r u the derivatives go back through the same
        steps: for those by x, ``w = I^-1 V' (stake s x')`` is that by G, and ``-w u'`` that by I.
        """
        equations, design = self._equations, self._equations.design
        predictor = design @ parameters
        now, then = equations.at(predictor, LEAST), equations.at(0.5 * (predictor + self._before), self._least)
        centre = equations.entries(then.mean)
        by_row = equations.by_mean(self._pair.slopes(centre, self._actions))
        information = equations.information(self._share * then.information, self._ridge)
        along = np.linalg.solve(information, ((by_row * then.slope) @ design)[:, :, None])[:, :, 0] @ design.T
        exponents = np.zeros_like(centre)
        exponents[:, equations.one] = self._stake * then.score * along
        value, by_p, by_exponent = log_evidence(self._bets, equations.entries(now.mean), exponents)
        bet = self._stake * by_exponent[:, equations.one]
        back = np.linalg.solve(information, ((bet * then.score) @ design)[:, :, None])[:, :, 0] @ design.T
        moved = self._pair.products(centre, self._actions, equations.of_means(back * then.slope))
        by_then = (
            bet * along * then.by_score
            + back * by_row * then.curvature
            - self._share * back * along * then.by_information
            + equations.by_mean(moved) * then.by_mean
        )
        by_predictor = equations.by_mean(by_p) * now.by_mean + 0.5 * by_then.sum(axis=0)
        return value, by_predictor @ design


class AlongCoefficients:
    """Coefficients from their fit on, in standard errors of some of them; the others stay where they are.

    Parameters
    ----------
    fit
        All coefficients.
    moved
        Boolean array: which may move.
    covariance
        Of these.
    """

    bounds = None

    def __init__(self, fit: Floats, moved: NDArray[np.bool_], covariance: Floats) -> None:
        self._fit, self._moved, self._root = fit, moved, np.linalg.cholesky(covariance)
        self.n = len(covariance)

    def parameters(self, point: Floats) -> Floats:
        """Return the coefficients at a point."""
        out = self._fit.copy()
        out[self._moved] += self._root @ point
        return out

    def point(self, parameters: Floats) -> Floats:
        """Return the point of coefficients."""
        return np.asarray(np.linalg.solve(self._root, (parameters - self._fit)[self._moved]))

    def gradient(self, point: Floats, by_parameter: Floats) -> Floats:
        """Return derivatives by the coordinates from those by the coefficients."""
        return np.asarray(by_parameter[self._moved] @ self._root)

    def inside(self, point: Floats) -> Floats:
        """Return the point: there are no edges."""
        return point
