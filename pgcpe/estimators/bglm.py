"""Binary generalised linear models: expected rewards from the equations of the nodes (Algorithm 2 of the paper)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from pgcpe._checks import one_of
from pgcpe.bandit import CausalBandit
from pgcpe.confidence.intervals import Intervals, probability
from pgcpe.confidence.paper_radii import BGLM_RADII, paper_bglm_radius
from pgcpe.estimators.base import IntervalEstimator, check_samples, started
from pgcpe.estimators.estimate import Contrast, Estimate
from pgcpe.estimators.node_equations import NodeEquations, modelled_graph, state_of_one
from pgcpe.estimators.schedule import Observations
from pgcpe.graphs.identification import nodes_on_paths
from pgcpe.graphs.states import shown
from pgcpe.graphs.structure import State, States, states_of, structure_of
from pgcpe.models.sigma import Sigma, check_draws
from pgcpe.plays.actions import Action, with_states
from pgcpe.plays.encoding import Encoder, as_frame, check_question
from pgcpe.plays.frames import encode_column, labels_of
from pgcpe.plays.samples import Coding, ForcedCodes, Samples
from pgcpe.plotting import plot_graph

__all__ = ["BGLM"]

RARE = 0.05
"""kappa is by default the smallest slope where probabilities lie in [RARE, 1 - RARE]."""


class BGLM(IntervalEstimator):
    """Every node is 1 with probability f(theta . parents): fitted node by node, then followed through the graph.

    The model is the user's assertion, like the graph: no hidden common cause, two states a node and this link. Hidden
    causes of a single node are its noise and are left out; for all else there is `AdmissibleSequence`. Only the
    ancestors of the reward matter to a policy, and only they have to fit.

    A node is 1 in the state called 1, true or yes, else in its second; `ones_` says which. (``states=`` of
    `fit` and of `CausalBandit` gives the order.)

    Parameters
    ----------
    link
        ``"identity"``, ``"logit"``, ``"probit"`` or ``"cloglog"``.
    method
        ``"mle"``: maximum likelihood. ``"estimating_equation"``: the paper's ``sum (X - f(V theta)) V = 0``, which is
        the same for the logit link; for the identity it is least squares and needs a quarter more plays.
    constant
        The paper's global parent X_0: a root of the graph that is always 1. The equations then hold what the graph
        says and need no column for it. Without it every node has an intercept.
    radius
        How beta_O of Eq. (6) is read in a policy: ``"proved"``, ``"printed"``, ``"ell_D"``, ``"ell"`` or ``"plain"``;
        `paper_bglm_radius` says what each is worth. All are heuristic. At the constants of the
        theorem the first two say nothing before millions of plays; ``radius="ell", alpha=0.05`` is what fits the
        paper's Experiment 1, and is too narrow elsewhere.
    alpha
        The factor of the radius, by default 6 sqrt(2), the constant of the theorem.
    eta
        The probability of Assumption 3: every parent takes either value with at least this probability, whatever the
        other parents are. A policy reads no tables, so the user has to say it.
    kappa
        The smallest slope of f (Assumption 2), by default that where probabilities lie in [.05, .95].
    burn_in
        The constant c of Algorithm 1. Observational intervals are [0, 1] until its number of observations is reached
        (line 5; direct plays alone may stop before that). By default there is no burn-in.
    refresh
        The model is fitted anew at every `refresh`-th play told, of whatever action (50 in Experiment 1). By default
        at every play up to a hundred, then whenever their number has grown by a hundredth.
    draws
        Size of the simulation where the graph is too wide for an exact computation.

    Attributes
    ----------
    coef_ : pandas.DataFrame
        Columns node, parent, theta: one row a coefficient, parent ``"(intercept)"`` for the intercepts. A parent that
        never varied, or is a linear function of those before it, has the coefficient 0. After `fit`.
    ones_ : dict
        The state of each node that counts as 1.
    dropped_ : dict
        How many rows ``missing="drop"`` left out, by the variable that was missing. After `fit`.

    Examples
    --------
    >>> from pgcpe import SimulatedEnvironment, do, load_network
    >>> network = load_network("cancer")
    >>> data = SimulatedEnvironment(network, seed=0).sample(do(), 20_000)
    >>> model = BGLM("logit").fit(network, data)
    >>> model.coef_[model.coef_.node == "Dyspnoea"].round(2)
           node       parent  theta
    7  Dyspnoea  (intercept)  -0.88
    8  Dyspnoea       Cancer   1.66
    >>> estimate = model.expected_reward(do(Smoker="True"), "Dyspnoea", {"True": 1, "False": 0})
    >>> round(estimate.value, 3), round(estimate.se, 3)
    (0.304, 0.003)
    """

    event: ClassVar[str] = "observational intervals"

    def __init__(
        self,
        link: str = "logit",
        *,
        method: str = "mle",
        constant: str | None = None,
        radius: str = "proved",
        alpha: float | None = None,
        eta: float = 0.05,
        kappa: float | None = None,
        burn_in: float | None = None,
        refresh: int | None = None,
        draws: int = 20_000,
    ) -> None:
        self.link = link
        self.method = method
        self.constant = constant
        self.radius = radius
        self.alpha = alpha
        self.eta = eta
        self.kappa = kappa
        self.burn_in = burn_in
        self.refresh = refresh
        self.draws = draws

    @property
    def certificate(self) -> str:
        """``"heuristic"``: no reading of the paper's radius has a full guarantee."""
        return "heuristic"

    # -------------------------------------------------------------------------------------------------- in a policy

    def required(self, bandit: CausalBandit) -> tuple[str, ...]:
        """Return the ancestors of the reward, but for its noise and the constant."""
        graph = modelled_graph(bandit.graph, bandit.states, bandit.reward, self.constant)
        return tuple(v for v in graph if v not in (self.constant, bandit.reward))

    def start(self, bandit: CausalBandit) -> Self:
        """Forget everything and prepare for the arms of a bandit that records the ancestors of the reward.

        Raises
        ------
        ValueError
            If the model does not fit the graph, a variable it needs is not recorded (`CausalBandit.recording`), or
            an option is out of range.
        """
        check_question(bandit)
        graph = modelled_graph(bandit.graph, bandit.states, bandit.reward, self.constant)
        self._prepare(graph, bandit.states)
        self._check_options()
        nodes = self._equations.regressions.nodes
        if missing := [v for v in nodes if v not in (*bandit.required, bandit.reward)]:
            needed = list(self.required(bandit))
            raise ValueError(f"the bandit must record {', '.join(missing)}: use bandit.recording({needed})")
        self._columns = np.array([bandit.coding.variables.index(v) for v in nodes])
        self._sigma = self._sigma_of(bandit)
        if barred := [str(action) for action in bandit.playable if self.constant in action]:
            raise ValueError(f"{self.constant} is always 1 and cannot be set, but {barred[0]} is playable")
        on_paths = [nodes_on_paths(graph, arm, bandit.reward) for arm in bandit.canonical]
        self._on_paths = np.array([[v in some for v in nodes] for some in on_paths])  # N_{S,Y}, arms x nodes
        self._observations = Observations(self.refresh, every_play=True)
        self.bandit_ = bandit
        self._counted, self._level = 0, math.nan
        self._current: Intervals | None = None
        return self

    def update(self, samples: Samples) -> Self:
        """Count every play of ``do()`` (Algorithm 1, line 9), which fits passive observations alone."""
        check_samples(samples)
        started(self)
        due = self._observations.add(samples)
        if due is not None and len(due[0]):
            self._equations.count(due[0][:, self._columns])
            self._counted += len(due[0])
            self._current = None
        return self

    @property
    def n_events_(self) -> int:
        """1: beta_O has no union over the arms, for their intervals are functions of one estimate."""
        return 1

    def intervals(self, level: float) -> Intervals:
        """Return ``sigma(theta, a) -+ beta_O``, not cut off at 0 and 1.

        It is infinite during the burn-in, and for an arm as long as the observations do not determine the equations on
        its paths to the reward.
        """
        started(self)
        if self._current is None or level != self._level:
            self._level = probability("level", level)
            self._current = self._work_out(level)
        return self._current

    def _work_out(self, delta: float) -> Intervals:
        if self._counted == 0 or self._counted < self._burn_in(delta):
            return Intervals.unbounded(len(self._on_paths))
        self._equations.fit()  # Algorithm 1, line 10: BGLM-estimate (Algorithm 2)
        mean = self._reward(self.bandit_, self._sigma(self._equations.theta))
        radius = paper_bglm_radius(
            self._counted,
            self._on_paths.sum(axis=1),
            self._equations.regressions.most_columns,
            len(self._equations.regressions.nodes),
            delta,
            reading=self.radius,
            alpha=6.0 * math.sqrt(2.0) if self.alpha is None else self.alpha,
            slope_ratio=self._equations.link.largest_slope / self._kappa,
            eta=self.eta,
        )
        radius[(self._on_paths & ~self._equations.determined).any(axis=1)] = math.inf
        # Algorithm 1, line 11: sigma(theta, S) -+ beta_O
        return Intervals(mean - radius, mean + radius)

    def _burn_in(self, delta: float) -> float:
        """Return how many observations Algorithm 1, line 5 asks for by now."""
        if self.burn_in is None:
            return 0.0
        t, n = float(self._counted), len(self._equations.regressions.nodes)
        d = float(self._equations.regressions.most_columns)
        first = self.burn_in * d / self.eta**2 * math.log(n * t**2 / delta)
        curved = 1024 * self._equations.link.largest_curvature**2 * (4 * d**2 - 3) * d / (self._kappa**4 * self.eta)
        return max(first, curved * (d**2 + math.log(3 * n * t**2 / delta)))

    @property
    def _kappa(self) -> float:
        return self._equations.link.smallest_slope(RARE) if self.kappa is None else self.kappa

    def _check_options(self) -> None:
        one_of("radius", self.radius, BGLM_RADII)
        for name in ("alpha", "kappa", "burn_in", "eta"):
            value = getattr(self, name)
            if value is None and name != "eta":
                continue
            if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 < value < math.inf:
                raise ValueError(f"{name} must be a positive number, but got {shown(value)}")
        if self.eta > 0.5:
            raise ValueError(f"eta must be above 0 and at most .5, but got {self.eta}")

    # --------------------------------------------------------------------------------------------------- stand-alone

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

    # -------------------------------------------------------------------------------------------------------- shared

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
