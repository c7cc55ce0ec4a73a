"""sigma(theta, a) of the paper: how likely an outcome is under an action, in a network of binary regressions.

Three ways, chosen by what the network allows: propagation of means (linear, exact), contraction of the tables (any
link, exact) and simulation with common thresholds (any link, any graph).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgcpe._checks import whole_number
from pgcpe._numba import njit
from pgcpe.models.contraction import Contraction
from pgcpe.models.links import Link, probability_of, slope_of

__all__ = ["Regressions", "Sigma", "check_draws"]

Floats = NDArray[np.float64]

CUT = 1e-3
"""Probabilities of the identity link are kept this far from 0 and 1 where derivatives are simulated."""

DRAWS_AT_ONCE = 2_000_000
"""How many thresholds are drawn at once."""


@dataclass(frozen=True)
class Regressions:
    """Which variables each node is regressed on.

    Attributes
    ----------
    nodes
        The binary variables in causal order.
    parents
        For each node the positions of its parents.
    constant
        For each node whether it has an intercept (or a parent that is always 1). Its coefficients are that of the
        intercept, where there is one, then those of the parents.
    """

    nodes: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]
    constant: tuple[bool, ...]

    def columns(self, node: int) -> int:
        """Return the number of coefficients of a node, |Pa(X)| with the constant."""
        return len(self.parents[node]) + self.constant[node]

    @property
    def most_columns(self) -> int:
        """D, the largest number of coefficients of a node."""
        return max(self.columns(i) for i in range(len(self.nodes)))

    def design(self, node: int, values: NDArray[Any]) -> Floats:
        """Return the rows v for an array of the parents' values, of shape (rows, parents)."""
        ahead = np.ones((len(values), int(self.constant[node])))
        return np.concatenate([ahead, np.asarray(values, dtype=np.float64)], axis=1)

    def all_rows(self, node: int) -> Floats:
        """Return the rows v for all 2^|Pa| values of the parents, the last parent's changing fastest."""
        width = len(self.parents[node])
        return self.design(node, (np.arange(2**width)[:, None] >> np.arange(width)[::-1]) & 1)


class Sigma:
    """The probability of an outcome under each of a list of actions, as a function of the coefficients.

    Parameters
    ----------
    regressions
        The model.
    link
        The link f; probabilities of the identity are cut off at 0 and 1.
    outcome
        The position of the outcome.
    forced
        Integer array of shape (actions, nodes): the value that an action sets, -1 where it leaves the node free. The
        outcome is free.
    draws, seed
        Size and seed of the simulation where there is no exact way.

    Examples
    --------
    >>> from pgcpe.models.links import LINKS
    >>> chain = Regressions(("X", "Y"), ((), (0,)), (True, True))
    >>> sigma = Sigma(chain, LINKS["identity"], 1, np.array([[-1, -1], [1, -1]]))
    >>> sigma([np.array([0.5]), np.array([0.2, 0.6])])
    array([0.5, 0.8])
    """

    def __init__(
        self,
        regressions: Regressions,
        link: Link,
        outcome: int,
        forced: NDArray[Any],
        *,
        draws: int = 20_000,
        seed: int = 0,
    ) -> None:
        self.regressions, self.link, self.outcome = regressions, link, outcome
        self.forced = np.asarray(forced, dtype=np.int64)
        check_draws(draws)
        self.draws, self.seed = draws, seed
        self._contract = Contraction(regressions.parents, [2] * len(regressions.nodes), self.forced, outcome)
        self.relevant = self._contract.relevant

    def __call__(self, theta: Sequence[Floats]) -> Floats:
        """Return P(outcome = 1 | action) for every action, in [0, 1]."""
        return self.with_errors(theta)[0]

    def with_errors(self, theta: Sequence[Floats]) -> tuple[Floats, Floats]:
        """Return the probabilities and the standard errors of the simulation, 0 where they are exact."""
        if self._linear(theta):
            return self._means(theta)[self.outcome].copy(), np.zeros(len(self.forced))
        if self.exact:
            return np.clip(self._contract(self._tables(theta)), 0.0, 1.0), np.zeros(len(self.forced))
        p = self._simulate(theta, scores=False)[0]
        return p, np.sqrt(np.maximum(p * (1.0 - p), 1.0 / self.draws) / self.draws)

    def gradient(self, theta: Sequence[Floats]) -> list[Floats]:
        """Return the derivatives of the probabilities: for each node an array of shape (actions, coefficients).

        Where a probability of the identity link was cut off, its slope still counts as 1: the cut is no knowledge.
        """
        regressions = self.regressions
        zero = [np.zeros((len(self.forced), regressions.columns(i))) for i in range(len(regressions.nodes))]
        if self._linear(theta):
            self._linear_gradient(theta, zero)
        elif self.exact:
            tables = self._tables(theta)
            for node in self.relevant:
                rows = regressions.all_rows(node)
                slope = self.link.slope(rows @ theta[node])
                for k in range(regressions.columns(node)):
                    changed = self._table(node, slope * rows[:, k], -slope * rows[:, k])
                    zero[node][:, k] = self._contract({**tables, node: changed}, derivative_of=node)
        else:
            for node, derivative in enumerate(self._simulate(theta)[1]):
                zero[node][:] = derivative
        return zero

    # ------------------------------------------------------------------------------------------ propagation of means

    def _linear(self, theta: Sequence[Floats]) -> bool:
        """Return whether the model is linear and no probability has to be cut off."""
        if self.link.name != "identity":
            return False
        for node in self.relevant:
            first = int(self.regressions.constant[node])
            base, rest = theta[node][:first].sum(), theta[node][first:]
            if base + np.minimum(rest, 0.0).sum() < -1e-12 or base + np.maximum(rest, 0.0).sum() > 1.0 + 1e-12:
                return False
        return True

    def _means(self, theta: Sequence[Floats]) -> Floats:
        means = np.zeros((len(self.regressions.nodes), len(self.forced)))
        for node in self.relevant:
            first = int(self.regressions.constant[node])
            free = theta[node][:first].sum() + theta[node][first:] @ means[list(self.regressions.parents[node])]
            means[node] = np.where(self.forced[:, node] < 0, free, self.forced[:, node])
        return means

    def _linear_gradient(self, theta: Sequence[Floats], out: list[Floats]) -> None:
        """Write the total effect of each node on the outcome, avoiding what is set, times the means of its row."""
        means = self._means(theta)
        effect = np.zeros_like(means)
        effect[self.outcome] = 1.0
        for node in reversed(self.relevant):
            effect[node] *= self.forced[:, node] < 0
            first = int(self.regressions.constant[node])
            for parent, coefficient in zip(self.regressions.parents[node], theta[node][first:], strict=True):
                effect[parent] += coefficient * effect[node]
            row = np.concatenate([np.ones((first, len(self.forced))), means[list(self.regressions.parents[node])]])
            out[node][:] = (effect[node] * row).T

    # ---------------------------------------------------------------------------------------- contraction of the tables

    @property
    def exact(self) -> bool:
        """Whether the width of the graph allows the contraction."""
        return self._contract.exact

    def _tables(self, theta: Sequence[Floats]) -> dict[int, Floats]:
        """Return the table of every node: axes parents, then the node itself."""
        tables = {}
        for node in self.relevant:
            p = self.link.probability(self.regressions.all_rows(node) @ theta[node])
            tables[node] = self._table(node, p, 1.0 - p)
        return tables

    def _table(self, node: int, one: Floats, zero: Floats) -> Floats:
        """Return a table from its entries for 1 and 0; that of the outcome is for 1 alone."""
        shape = [2] * len(self.regressions.parents[node])
        if node == self.outcome:
            return one.reshape(shape)
        return np.stack([zero, one], axis=-1).reshape([*shape, 2])

    # ------------------------------------------------------------------------------------ simulation, common thresholds

    def _simulate(self, theta: Sequence[Floats], *, scores: bool = True) -> tuple[Floats, list[Floats]]:
        """Return probabilities and, from the scores, their derivatives, by simulation.

        A node is 1 where its threshold, uniform on [0, 1], is below its probability (the coupling in the proof of
        Lemma 1). All actions and all theta share the thresholds, so that differences are less noisy than values. The
        derivative is the covariance of the outcome with the score.
        """
        count = len(self.regressions.nodes)
        width = self.regressions.most_columns
        parents = np.full((count, width), -1, dtype=np.int64)
        coefficients, base = np.zeros((count, width)), np.zeros(count)
        for node in range(count):
            first = int(self.regressions.constant[node])
            parents[node, : len(self.regressions.parents[node])] = self.regressions.parents[node]
            coefficients[node, : len(theta[node]) - first] = theta[node][first:]
            base[node] = theta[node][:first].sum()
        ones = np.zeros(len(self.forced))
        sums = np.zeros((2, len(self.forced), count, width + 1))
        equations = Equations(np.array(self.relevant), parents, coefficients, base, self.link.code, self.outcome)
        rng = np.random.default_rng(self.seed)
        step = max(1, DRAWS_AT_ONCE // count)
        for start in range(0, self.draws, step):
            thresholds = rng.random((min(step, self.draws - start), count))
            _simulate(equations, self.forced, thresholds, ones, sums if scores else sums[:, :0])
        p = ones / self.draws
        covariance = (sums[1] - p[:, None, None] * sums[0]) / self.draws
        skip = [1 - constant for constant in self.regressions.constant]  # the first entry is that of the constant
        return p, [covariance[:, i, skip[i] : skip[i] + self.regressions.columns(i)] for i in range(count)]


def check_draws(draws: int) -> None:
    """Raise unless it is the size of a simulation."""
    whole_number("draws", draws, 1)


class Equations(NamedTuple):
    """The equations of all nodes as the simulation reads them."""

    nodes: NDArray[np.int64]
    parents: NDArray[np.int64]
    coefficients: Floats
    base: Floats
    code: int
    outcome: int


@njit(cache=True)
def _simulate(equations, forced, thresholds, ones, sums):  # type: ignore[no-untyped-def]
    """Add the outcomes of all draws to `ones` and the scores to `sums[0]` and, of those with outcome 1, `sums[1]`."""
    nodes, parents, coefficients, base, code, outcome = equations
    count, width = parents.shape
    value, residual = np.zeros(count), np.zeros(count)
    for a in range(len(forced)):
        for draw in range(len(thresholds)):
            for node in nodes:
                residual[node] = 0.0
                if forced[a, node] >= 0:
                    value[node] = forced[a, node]
                    continue
                z = base[node]
                for k in range(width):
                    if parents[node, k] >= 0:
                        z += coefficients[node, k] * value[parents[node, k]]
                p = probability_of(z, code)
                if sums.shape[1] > 0 and code == 0:
                    p = min(max(p, CUT), 1.0 - CUT)  # at 0 and 1 there are no scores
                value[node] = 1.0 if thresholds[draw, node] < p else 0.0
                if sums.shape[1] > 0 and 0.0 < p < 1.0:
                    residual[node] = (value[node] - p) / (p * (1.0 - p)) * slope_of(z, code)
            ones[a] += value[outcome]
            for part in range((1 + int(value[outcome])) * (sums.shape[1] > 0)):
                for node in nodes:
                    sums[part, a, node, 0] += residual[node]
                    for k in range(width):
                        if parents[node, k] >= 0 and value[parents[node, k]] == 1.0:
                            sums[part, a, node, k + 1] += residual[node]
