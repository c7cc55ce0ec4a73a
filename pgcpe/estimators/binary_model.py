"""Equations of binary nodes, fitted to data by themselves: what an intervention would give, with standard errors."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from pgcpe.bandit import CausalBandit
from pgcpe.estimators.estimate import Contrast, Estimate
from pgcpe.estimators.node_equations import NodeEquations, modelled_graph, state_of_one
from pgcpe.graphs.states import shown
from pgcpe.graphs.structure import State, States, states_of, structure_of
from pgcpe.models.sigma import Sigma, check_draws
from pgcpe.plays.actions import Action, with_states
from pgcpe.plays.encoding import Encoder, as_frame
from pgcpe.plays.frames import encode_column, labels_of
from pgcpe.plays.samples import Coding, ForcedCodes, Samples
from pgcpe.plotting import plot_graph

__all__ = ["BinaryModel"]


class BinaryModel:
    """Every node is 1 with probability f(theta . parents): what `BGLM` is to a user without a bandit.

    Parameters
    ----------
    link, method, constant, draws
        As of `BGLM`.
    """

    def __init__(self, link: str, *, method: str, constant: str | None, draws: int) -> None:
        self.link = link
        self.method = method
        self.constant = constant
        self.draws = draws

    def fit(
        self,
        graph: nx.DiGraph,
        data: Any,
        actions: Action | Sequence[Action] | None = None,
        *,
        states: Mapping[str, Sequence[State]] | None = None,
        missing: str = "raise",
    ) -> Self:
        """Fit all nodes of a graph to data.

        Parameters
        ----------
        graph
            A pgmpy ``DAG`` or network; its tables are not read.
        data
            `Samples`, a frame, or dicts, with one row a play and a column for each node.
        actions
            The action of all rows or one for each; by default those that the index names, as `Samples.to_frame` writes
            it, else all rows are passive observations. A row of ``do(X=1)`` serves all nodes but X.
        states
            The states of the variables of a bare graph, 0 and 1 for those not named.
        missing
            ``"raise"``, or ``"drop"``: rows that lack the value of a node are left out and counted in `dropped_`. What
            is learned then rests on values that are missing independently of the others.

        Raises
        ------
        ValueError
            If a node has not two states, a hidden variable confounds others, or the data do not fit the graph.
        """
        structure_of(graph)  # refuses what is no directed acyclic graph
        known = states_of(graph, states)
        modelled = modelled_graph(graph, known, None, self.constant)
        samples, dropped = _coded(modelled, known, self.constant, data, actions, missing)
        self._prepare(modelled, known)
        self._missing, self.dropped_ = missing, dict(dropped)
        return self._learn(samples)

    def partial_fit(self, data: Any, actions: Action | Sequence[Action] | None = None) -> Self:
        """Add data and fit again, missing values as in `fit`; the cost does not depend on what was fitted before."""
        known = self._fitted()
        samples, dropped = _coded(known.graph, known.states, known.constant, data, actions, self._missing)
        self.dropped_ = dict(dropped + Counter(self.dropped_))
        return self._learn(samples)

    def _learn(self, samples: Samples) -> Self:
        equations, variables = self._equations, samples.coding.variables
        columns = [variables.index(v) for v in equations.regressions.nodes]
        forced = ForcedCodes(variables, samples.coding.states)
        forced_rows = forced.rows(samples.actions)[samples.which]
        equations.count(samples.codes[:, columns], forced.table[:, columns][forced_rows])
        equations.fit()
        self.graph_ = equations.graph
        return self

    @property
    def coef_(self) -> pd.DataFrame:
        """The coefficients: columns node, parent, theta."""
        return self._fitted().coefficients()

    def expected_reward(
        self, action: Action, outcome: str, outcome_values: Mapping[State, float] | None = None
    ) -> Estimate:
        """Return the estimate of E[outcome | action] and its standard error; see `expected_rewards`."""
        row = self.expected_rewards([action], outcome, outcome_values).iloc[0]
        return Estimate(float(row["value"]), float(row["se"]))

    def expected_rewards(
        self, actions: Sequence[Action], outcome: str, outcome_values: Mapping[State, float] | None = None
    ) -> pd.DataFrame:
        """Return the estimates of E[outcome | action] for many actions at once.

        Parameters
        ----------
        actions
            The interventions.
        outcome, outcome_values
            The outcome and the value in [0, 1] of each of its states; 0 and 1 need no map.

        Returns
        -------
        pandas.DataFrame
            Columns action; value; se, its standard error (delta method), infinite where the data do not determine the
            value; simulation_se, what of it is due to simulation, 0 where the value is computed exactly. The standard
            error is that of a fit with one play more for every node, half 1 and half 0 and spread over what was seen,
            so that it is never 0 by chance.

        Raises
        ------
        ValueError
            If a name or a state is unknown, an action sets the outcome or the constant, or there were no data.
        sklearn.exceptions.NotFittedError
            If nothing was fitted.
        """
        if not isinstance(actions, Sequence) or isinstance(actions, (Action, str)):
            raise TypeError(f"actions must be a list of actions, but got {shown(actions)}")
        bandit, sigma = self._asked(actions, outcome, outcome_values)
        p, simulation = sigma.with_errors(self._equations.theta)
        scale = float(np.ptp(bandit.reward_array))
        table = pd.DataFrame(
            {
                "action": list(bandit.arms),
                "value": self._reward(bandit, p),
                "se": scale * np.sqrt(self._equations.variances(sigma, np.eye(len(p))) + simulation**2),
                "simulation_se": scale * simulation,
            }
        )
        return table.iloc[[bandit.arms.index(bandit.action(a)) for a in actions]].reset_index(drop=True)

    def contrast(
        self, a: Action, b: Action, outcome: str, outcome_values: Mapping[State, float] | None = None
    ) -> Contrast:
        """Return the estimate of E[outcome | a] - E[outcome | b] and its standard error.

        Both are functions of one fit: the variance is that of the difference of their gradients (delta method). Where
        values are simulated the errors of the two simulations are added up, which is the most that they can be.

        Parameters
        ----------
        a, b
            The interventions.
        outcome, outcome_values
            As for `expected_rewards`, which says what is raised too.
        """
        bandit, sigma = self._asked([a, b], outcome, outcome_values)
        first, second = (bandit.arms.index(bandit.action(action)) for action in (a, b))
        difference = np.zeros((1, len(bandit.arms)))
        difference[0, first] += 1.0
        difference[0, second] -= 1.0
        p, simulation = sigma.with_errors(self._equations.theta)
        fit, simulated = self._equations.variances(sigma, difference), np.abs(difference) @ simulation
        scale = float(np.ptp(bandit.reward_array))
        value = float(difference[0] @ self._reward(bandit, p))
        return Contrast(value, scale * math.hypot(math.sqrt(fit[0]), simulated[0]))

    def _asked(
        self, actions: Sequence[Action], outcome: str, outcome_values: Mapping[State, float] | None
    ) -> tuple[CausalBandit, Sigma]:
        """Return the bandit and the probabilities that a question to the fitted model is about."""
        equations = self._fitted()
        if equations.constant is not None and outcome == equations.constant:
            raise ValueError(f"{outcome} is the constant and no outcome")
        bandit = CausalBandit(
            equations.graph,
            reward=outcome,
            arms=actions,
            reward_values=outcome_values,
            states=equations.states,
            merge_equal=False,
        )
        if not any(len(rows.ones) for rows in equations.rows):
            raise ValueError("there is no play to estimate from")
        return bandit, self._sigma_of(bandit)

    def to_network(self) -> Any:
        """Return the fit as a pgmpy ``DiscreteBayesianNetwork``, for every inference that pgmpy has.

        Raises
        ------
        ValueError
            If a node has so many parents that its table would be too large.
        """
        return self._fitted().network()

    def plot(self, ax: Any = None) -> Any:
        """Draw the graph with the coefficients on its edges and the intercepts in its nodes; return the axes."""
        nodes = {v: v for v in self._fitted().regressions.nodes}
        edges = {}
        for node, parent, theta in self.coef_.itertuples(index=False):
            if parent in nodes:
                edges[parent, node] = theta
            else:
                nodes[node] += f"\n{theta:.2f}"
        return plot_graph(
            nodes, edges, title=f"Coefficients ({self._equations.link.name} link), intercepts in the nodes", ax=ax
        )

    # -------------------------------------------------------------------------------------------- to build on

    def _prepare(self, graph: nx.DiGraph, states: States) -> None:
        """Begin anew; a fit does not outlast a start in a policy, nor the other way round."""
        for learned in ("graph_", "bandit_", "dropped_"):
            self.__dict__.pop(learned, None)
        self._equations = NodeEquations(graph, states, link=self.link, method=self.method, constant=self.constant)
        check_draws(self.draws)
        self.ones_ = {v: one for v, one in self._equations.one.items() if v != self.constant}

    def _sigma_of(self, bandit: CausalBandit) -> Sigma:
        if any(self._equations.constant in arm for arm in bandit.canonical):
            raise ValueError(f"{self._equations.constant} is always 1 and cannot be set")
        return self._equations.sigma(bandit.canonical, bandit.reward, self.draws)

    def _reward(self, bandit: CausalBandit, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return expected rewards from the probabilities that the reward variable is 1."""
        zero, one = bandit.reward_array[self._equations.codes_of(bandit.reward)]
        return np.asarray(zero + (one - zero) * p)

    def _fitted(self) -> NodeEquations:
        check_is_fitted(self, "graph_", msg="fit a graph and data first")
        return self._equations


class _Model(NamedTuple):
    """What stands for a bandit where a model is fitted by itself: all nodes are wanted, and nothing is a reward."""

    graph: nx.DiGraph
    states: States
    coding: Coding
    constant: str | None
    reward_array: None = None

    @property
    def required(self) -> tuple[str, ...]:
        """All."""
        return self.coding.variables

    @property
    def factors(self) -> list[tuple[str, frozenset[str]]]:
        """Every node given its parents."""
        return [(v, frozenset(self.graph.predecessors(v))) for v in self.graph if v != self.constant]

    def action(self, action: Action | str) -> Action:
        """Return an action on nodes that have an equation, with the states of the graph."""
        found = with_states(action, self.states, partly=True)
        if unknown := [v for v in found if v not in self.graph or v == self.constant]:
            raise ValueError(f"{found} sets {', '.join(unknown)}, which has no equation in the model")
        return found


def _coded(
    graph: nx.DiGraph, states: States, constant: str | None, data: Any, actions: Any, missing: str
) -> tuple[Samples, Counter[str]]:
    """Return data as samples of the nodes of a graph, once every row fits its action, its label and the constant; and
    how many rows were left out, by the variable that was missing.
    """
    frame = as_frame(data)
    variables = tuple(v for v in graph if v != constant or v in frame.columns)
    if actions is None and labels_of(frame) is None:
        actions = Action()
    coding = Coding(variables, tuple(tuple(states[v]) for v in variables))
    encoder = Encoder(_Model(graph, states, coding, constant))
    if constant is not None and constant in variables:
        one, told = state_of_one(states[constant]), encode_column(frame[constant], states[constant], constant)
        if (other := (told >= 0) & (told != states[constant].index(one))).any():
            raise ValueError(f"row {int(np.argmax(other))} has another {constant} than 1, but it is the constant")
    return encoder.encode(actions, frame, missing=missing), encoder.dropped
