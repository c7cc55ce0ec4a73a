"""The equations of a binary network, fitted node by node: what `BGLM` learns, apart from its contracts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pgcpe._checks import one_of
from pgcpe.graphs.identification import drop_exogenous_noise
from pgcpe.graphs.states import shown
from pgcpe.graphs.structure import State, States, causal_order, checked_graph, latents_of, pgmpy_part, structure_of
from pgcpe.models.contraction import WIDEST_TABLE
from pgcpe.models.glm import METHODS, WeightedRows, coefficient_variance, fit_rows, independent_columns
from pgcpe.models.links import link_named
from pgcpe.models.sigma import Regressions, Sigma
from pgcpe.plays.actions import Action

__all__ = ["INTERCEPT", "NodeEquations", "modelled_graph", "state_of_one"]

Floats = NDArray[np.float64]

INTERCEPT = "(intercept)"
"""The parent under which an intercept stands in a table of coefficients."""

ROUNDING = 1e-12
"""Relative to its terms a difference of derivatives this small is none."""

YES = {"1", "1.0", "true", "yes"}


def modelled_graph(graph: nx.DiGraph, states: States, outcome: str | None, constant: str | None) -> nx.DiGraph:
    """Return the part of a graph that is modelled, the ancestors of an outcome or all, once it fits the model.

    Raises
    ------
    ValueError
        If a hidden variable is left that confounds others, a node has not two states, or the constant is no root.
    """
    seen = structure_of(graph)
    if constant is not None:
        if constant not in seen:
            raise ValueError(f"constant must be a variable of the graph, but got {shown(constant)}")
        if seen.in_degree(constant) or constant == outcome:
            odd = "is the reward" if constant == outcome else "has causes in the graph"
            raise ValueError(f"{constant} is to be the constant, but {odd}")
        seen.latents = set(seen.latents) - {constant}
    modelled = drop_exogenous_noise(seen, outcome)
    if hidden := sorted(latents_of(modelled)):
        raise ValueError(
            "BGLM needs a graph whose hidden variables (bidirected edges) are the noise of single nodes, but "
            f"{', '.join(hidden)} is hidden; AdmissibleSequence takes hidden variables"
        )
    if outcome is not None and outcome not in states:
        raise ValueError(
            f"BGLM needs nodes of two states, but the reward {outcome} is measured (reward_range); "
            "AdmissibleSequence and trees take any reward, or reward_values says what two states of it are worth"
        )
    if more := [v for v in modelled if len(states[v]) != 2]:
        raise ValueError(
            f"BGLM needs nodes of two states, but {more[0]} has {list(states[more[0]])}; "
            "AdmissibleSequence takes any number"
        )
    return checked_graph(modelled)


class NodeEquations:
    """For every node of a graph its data and its coefficients.

    Attributes
    ----------
    graph, states, link, constant
        What is modelled.
    one
        The state of each variable that counts as 1: the only one called 1, true or yes, else the second.
    regressions
        The nodes, without the constant, and what each is regressed on.
    theta
        The coefficients of the nodes: zeros before `fit`.
    determined
        Boolean array over the nodes: whether the rows seen determine all coefficients.
    """

    def __init__(self, graph: nx.DiGraph, states: States, *, link: str, method: str, constant: str | None) -> None:
        self.link = link_named(link)
        one_of("method", method, METHODS)
        self.graph, self.states, self._method, self.constant = graph, {v: states[v] for v in graph}, method, constant
        self.one = {v: state_of_one(states[v]) for v in graph}
        nodes = tuple(v for v in causal_order(graph) if v != constant)
        position = {v: i for i, v in enumerate(nodes)}
        self.regressions = Regressions(
            nodes,
            tuple(tuple(position[p] for p in graph.predecessors(v) if p != constant) for v in nodes),
            tuple(constant is None or graph.has_edge(constant, v) for v in nodes),
        )
        self._one_code = np.array([states[v].index(self.one[v]) for v in nodes])
        self.rows = [WeightedRows(len(parents)) for parents in self.regressions.parents]
        self.theta = [np.zeros(self.regressions.columns(i)) for i in range(len(nodes))]
        self.determined = np.zeros(len(nodes), dtype=np.bool_)

    def count(self, codes: NDArray[Any], forced: NDArray[Any] | None = None) -> None:
        """Add plays.

        Parameters
        ----------
        codes
            Integer array of shape (plays, nodes).
        forced
            The same for the codes that the actions force, -1 where they leave a node free; a play says nothing of the
            equation of a node that it sets. By default all nodes were free.
        """
        values = codes == self._one_code
        for i, parents in enumerate(self.regressions.parents):
            free = slice(None) if forced is None else forced[:, i] < 0
            self.rows[i].add(values[free][:, list(parents)], values[free, i])

    def fit(self) -> None:
        """Work out all coefficients anew."""
        data = [self._data(i) for i in range(len(self.rows))]
        self.theta = [fit_rows(self.link, *some, self._method) for some in data]
        self.determined = np.array([independent_columns(design).all() for design, _, _ in data])

    def _data(self, node: int, extra: float = 0.0) -> tuple[Floats, Floats, Floats]:
        rows = self.rows[node]
        return self.regressions.design(node, rows.values), rows.ones + extra, rows.zeros + extra

    def sigma(self, actions: Iterable[Action], outcome: str, draws: int) -> Sigma:
        """Return sigma(theta, a) for the actions."""
        nodes = self.regressions.nodes
        forced = [[-1 if v not in action else int(action[v] == self.one[v]) for v in nodes] for action in actions]
        return Sigma(self.regressions, self.link, nodes.index(outcome), np.array(forced), draws=draws)

    def variances(self, sigma: Sigma, weights: Floats) -> Floats:
        """Return the variances of weighted sums of sigma(theta, a) by the delta method, infinite where undetermined.

        They are taken at a fit with one play more for every node, spread over the rows that were seen, half of it 1 and
        half 0: at frequencies of 0 and 1 the variance would be 0. ``weights`` has shape (sums, actions).
        """
        nodes = range(len(self.rows))
        data = [self._data(i, 0.5 / max(len(self.rows[i].ones), 1)) for i in nodes]
        theta = [fit_rows(self.link, *data[i], self._method) for i in nodes]
        total = np.zeros(len(weights))
        for i, gradient in enumerate(sigma.gradient(theta)):
            directions, terms = weights @ gradient, np.abs(weights) @ np.abs(gradient)
            directions[np.abs(directions) <= ROUNDING * terms] = 0.0
            for k, direction in enumerate(directions):
                if direction.any():
                    total[k] += coefficient_variance(self.link, *data[i], theta[i], direction, self._method)
        return total

    def codes_of(self, variable: str) -> list[int]:
        """Return the codes of 0 and of 1 of a variable."""
        one = self.states[variable].index(self.one[variable])
        return [1 - one, one]

    def coefficients(self) -> pd.DataFrame:
        """Return a row for each coefficient: node, parent, theta."""
        regressions = self.regressions
        first = INTERCEPT if self.constant is None else self.constant
        rows = []
        for i, node in enumerate(regressions.nodes):
            parents = [first] * regressions.constant[i] + [regressions.nodes[p] for p in regressions.parents[i]]
            rows += [(node, parent, float(theta)) for parent, theta in zip(parents, self.theta[i], strict=True)]
        return pd.DataFrame(rows, columns=["node", "parent", "theta"])

    def network(self) -> Any:
        """Return the pgmpy network with these tables."""
        network = pgmpy_part("models").DiscreteBayesianNetwork()
        network.add_nodes_from(self.graph.nodes)
        network.add_edges_from(self.graph.edges)
        for i, node in enumerate(self.regressions.nodes):
            parents = [self.regressions.nodes[p] for p in self.regressions.parents[i]]
            if len(parents) > WIDEST_TABLE:
                raise ValueError(f"{node} has {len(parents)} parents, too many for a table; expected_reward needs none")
            p = self.link.probability(self.regressions.all_rows(i) @ self.theta[i])
            values = np.stack([1.0 - p, p]).reshape([2] * (len(parents) + 1))
            if self.constant is not None and self.regressions.constant[i]:
                parents, values = [self.constant, *parents], np.stack([values, values], axis=1)
            network.add_cpds(self._table(node, parents, values))
        if self.constant is not None:
            network.add_cpds(self._table(self.constant, [], np.array([0.0, 1.0])))
        return network

    def _table(self, node: str, parents: list[str], values: Floats) -> Any:
        """Return a pgmpy table from values for 0 and 1, its axes in the order of the states."""
        for axis, variable in enumerate([node, *parents]):
            values = values.take(self.codes_of(variable), axis=axis)  # a swap of two is its own inverse
        return pgmpy_part("factors.discrete").TabularCPD(
            node,
            2,
            values.reshape(2, -1),
            evidence=parents,
            evidence_card=[2] * len(parents),
            state_names={v: list(self.states[v]) for v in (node, *parents)},
        )


def state_of_one(states: Sequence[State]) -> State:
    """Return the state that counts as 1: the only one called 1, true or yes, else the second."""
    named = [s for s in states if s == 1 or str(s).lower() in YES]
    return named[0] if len(named) == 1 else states[1]
