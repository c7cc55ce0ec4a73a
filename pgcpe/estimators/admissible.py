"""Expected rewards from observation alone, through admissible sequences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import networkx as nx
import numpy as np
import pandas as pd
from numba import njit
from numpy.typing import NDArray
from sklearn.base import clone

from pgcpe.actions import Action
from pgcpe.bandit import CausalBandit
from pgcpe.confidence import Intervals, paper_observational_union, union_radius
from pgcpe.estimators.base import Estimate, Estimator, check_radius
from pgcpe.identification import explain
from pgcpe.networks import State
from pgcpe.samples import Samples, as_frame
from pgcpe.trees import smoothed_value, tree_interval

__all__ = ["AdmissibleSequence"]

MOST_CELLS = 1_000_000
"""An arm whose table would have more cells is not served: no study fills them."""


class AdmissibleSequence(Estimator):
    """mu_O of the paper: the reward of an arm from plays of ``do()``, through its admissible sequence (Eq. 4).

    There is one contingency table for each intervened set S, with an axis for every variable in causal order: Z_1,
    X_1, Z_2, X_2, .... It holds the number of plays and the sum of rewards in each cell and, level by level, the
    marginals of its prefixes. T, r, n and p of Eqs. (8)-(10) are entries of it, for all values s at once.

    Parameters
    ----------
    radius
        ``"lr"``: the exact likelihood-ratio interval of `pgcpe.confidence.likelihood_ratio_interval`. ``"paper"``:
        beta_O of Eq. (12) around the plug-in estimate (Eq. 11), [0, 1] until every cell has been seen.
    alpha
        The factor of the paper's radius, by default 8, the constant of its theorem.
    refresh
        The intervals are worked out anew at every `refresh`-th observation. By default at every one for the paper's
        radius; for the exact interval, which costs more, at every one up to a hundred, then whenever their number
        has grown by a hundredth. Rows in between wait: what is returned depends on the rows alone, not on how they
        were handed over.

    Attributes
    ----------
    served_
        Boolean array over the arms: which of them have an interval. ``do()`` itself does not; its own plays are the
        same data.

    Examples
    --------
    One estimate, in an existing pgmpy workflow:

    >>> from pgcpe import SimulatedEnvironment, do, load_network
    >>> network = load_network("asia")
    >>> data = SimulatedEnvironment(network, seed=0).sample(do(), 10_000).to_frame()
    >>> estimate = AdmissibleSequence().fit(network, data).expected_reward(do(bronc="no"), "dysp", {"yes": 1, "no": 0})
    >>> round(estimate.value, 3), round(estimate.se, 3)
    (0.148, 0.005)
    """

    def __init__(self, radius: str = "lr", alpha: float | None = None, refresh: int | None = None) -> None:
        self.radius = radius
        self.alpha = alpha
        self.refresh = refresh

    @property
    def certificate(self) -> str:
        """``"exact"`` for the likelihood-ratio interval."""
        return "exact" if self.radius == "lr" else "heuristic"

    # -------------------------------------------------------------------------------------------------- in a policy

    def start(self, bandit: CausalBandit) -> Self:
        """Forget everything and lay out the tables for the arms of a bandit."""
        check_radius(self.radius, self.alpha, "lr")
        if self.refresh is not None and self.refresh < 1:
            raise ValueError(f"refresh must be at least 1, but got {self.refresh}")
        self.bandit_ = bandit
        self._layout = _Layout(bandit)
        self.served_ = np.array([t > 0 for t in self._layout.table_of])
        self._waiting: list[NDArray[np.int32]] = []
        self._told = self._counted = 0
        self._current: Intervals | None = None
        self._delta = math.nan
        return self

    def update(self, samples: Samples) -> Self:
        """Count every play of ``do()``; plays of other actions are no passive observations."""
        null = [i for i, action in enumerate(samples.actions) if not action]
        if not null:
            return self
        rows = samples.codes if len(samples.actions) == 1 else samples.codes[samples.which == null[0]]
        self._told += len(rows)
        self._waiting.append(rows)
        if (due := self._due(self._told)) > self._counted:
            if len(self._waiting) > 1:
                rows = np.concatenate(self._waiting)
            self._waiting = [rows[due - self._counted :]]
            self._layout.count(rows[: due - self._counted], self.bandit_.reward_array)
            self._counted, self._current = due, None
        return self

    def intervals(self, delta: float) -> Intervals:
        """Return intervals that hold for the arms served, each at delta over their number; [0, 1] for the others."""
        if self._current is None or delta != self._delta:
            self._delta = delta
            self._current = self._work_out(delta)
        return self._current

    def _due(self, told: int) -> int:
        """Return how many observations the intervals after `told` of them are to rest on."""
        if self.refresh is not None or self.radius == "paper" or told <= 100:
            return told - told % (self.refresh or 1)
        step = int(math.log(told / 100) / math.log(1.01))
        return max(p for k in (step - 1, step, step + 1) if (p := int(100 * 1.01**k)) <= told)

    def _work_out(self, delta: float) -> Intervals:
        layout = self._layout
        if self.radius == "lr":
            served = max(int(self.served_.sum()), 1)
            return Intervals(*_lr_intervals(*layout.arrays, math.log(served / delta)))
        alpha = 8.0 if self.alpha is None else self.alpha
        return Intervals(*_paper_intervals(*layout.arrays, layout.union / delta, self._counted, alpha))

    # --------------------------------------------------------------------------------------------------- stand-alone

    def fit(
        self,
        graph: nx.DiGraph,
        data: Any,
        actions: Action | Sequence[Action] | None = None,
        *,
        states: Mapping[str, Sequence[State]] | None = None,
    ) -> Self:
        """Take a graph and data to estimate from.

        Parameters
        ----------
        graph
            A pgmpy ``DAG`` or network with its latents.
        data
            A frame, or dicts, with one row a play. Columns that no formula needs may be missing.
        actions
            The action of all rows or one for each; by default all are passive observations. Rows of other actions are
            left out: the formula is one of observation.
        states
            The states of the variables of a bare graph, 0 and 1 for those not named.
        """
        self.graph_, self.states_ = graph, states
        self.data_ = pd.DataFrame()
        return self.partial_fit(data, actions)

    def partial_fit(self, data: Any, actions: Action | Sequence[Action] | None = None) -> Self:
        """Take more data."""
        if not hasattr(self, "graph_"):
            raise RuntimeError("fit a graph first: partial_fit only adds data to it")
        frame = as_frame(data)
        if actions is not None and not isinstance(actions, Action):
            if len(actions) != len(frame):
                raise ValueError(f"there must be one action for each row, but got {len(actions)} for {len(frame)}")
            frame = frame[[not action for action in actions]]
        elif actions:
            frame = frame.iloc[:0]
        self.data_ = frame if self.data_.empty else pd.concat([self.data_, frame], ignore_index=True)
        return self

    def expected_reward(
        self, action: Action, outcome: str, outcome_values: Mapping[State, float] | None = None
    ) -> Estimate:
        """Return the estimate of E[outcome | action] and its standard error (delta method, smoothed cells).

        Parameters
        ----------
        action
            The intervention.
        outcome, outcome_values
            The outcome and the value in [0, 1] of each of its states; 0 and 1 need no map.

        Raises
        ------
        ValueError
            If the effect has no admissible sequence; the message names the path in the way.
        RuntimeError
            If nothing was fitted.
        """
        if not hasattr(self, "graph_"):
            raise RuntimeError("fit a graph and data first")
        bandit = CausalBandit(
            self.graph_, reward=outcome, arms=[action], reward_values=outcome_values, states=self.states_
        )
        if bandit.sequences[0] is None:
            raise ValueError(str(explain(bandit.graph, bandit.canonical[0], outcome)))
        estimator = clone(self).set_params(refresh=1).start(bandit)
        estimator.update(bandit.encode(Action(), self.data_))
        if estimator._layout.table_of[0] < 0:
            raise ValueError(f"the formula for {action} has more than {MOST_CELLS:,} cells")
        value, variance = _estimate(*estimator._layout.arrays, 0)
        return Estimate(value, math.sqrt(variance))


class _Layout:
    """The tables of all sets S, laid out flat for the loops below.

    Table t has the axes ``axis[t] : axis[t + 1]``; its counts start at ``node[t]``, level by level: the total, then the
    marginals of the first axis, of the first two, ..., the cells. Its reward sums start at ``leaf[t]``, one for each
    cell. Table 0 is that of ``do()``, a single cell.
    """

    def __init__(self, bandit: CausalBandit) -> None:
        column = {v: j for j, v in enumerate(bandit.coding.variables)}
        cards = {v: len(bandit.states[v]) for v in bandit.coding.variables}
        tables: dict[tuple[str, ...], int] = {(): 0}
        order: list[list[str]] = [[]]
        treated: list[list[bool]] = [[]]
        self.table_of, states, state_start = [], [], [0]
        self.union = np.zeros(len(bandit.arms))
        for i, (action, sequence) in enumerate(zip(bandit.canonical, bandit.sequences, strict=True)):
            variables = [v for x, z in sequence or [] for v in (*sorted(z), x)]
            if sequence is None or math.prod(cards[v] for v in variables) > MOST_CELLS:
                self.table_of.append(-1)
            else:
                if action.variables not in tables:
                    tables[action.variables] = len(order)
                    order.append(variables)
                    treated.append([v in action for v in variables])
                self.table_of.append(tables[action.variables])
                states += [bandit.states[x].index(action[x]) for x, _ in sequence]
                adjusted = [v for _, z in sequence for v in z]
                leaves = math.prod(cards[v] for v in adjusted)
                self.union[i] = paper_observational_union(len(sequence), len(adjusted), leaves, len(bandit.arms))
            state_start.append(len(states))
        levels = [np.cumprod([1, *(cards[v] for v in variables)]) for variables in order]
        self.arrays = (
            np.array(self.table_of, dtype=np.int64),
            np.array(state_start, dtype=np.int64),
            np.array(states, dtype=np.int64),
            np.cumsum([0, *map(len, order)]),  # axis
            np.array([cards[v] for variables in order for v in variables], dtype=np.int64),
            np.array([t for flags in treated for t in flags], dtype=np.bool_),
            np.cumsum([0, *(level.sum() for level in levels)]),  # node
            np.cumsum([0, *(level[-1] for level in levels)]),  # leaf
            np.zeros(sum(int(level.sum()) for level in levels)),  # counts
            np.zeros(sum(int(level[-1]) for level in levels)),  # reward sums
        )
        self._columns = np.array([column[v] for variables in order for v in variables], dtype=np.int64)

    def count(self, codes: NDArray[np.int32], reward_values: NDArray[np.float64]) -> None:
        """Add passive observations to all tables."""
        _, _, _, axis, cards, _, node, leaf, counts, rewards = self.arrays
        _count(codes, reward_values, self._columns, axis, cards, node, leaf, counts, rewards)


@njit(cache=True)
def _count(codes, reward_values, columns, axis, cards, node, leaf, counts, rewards):  # type: ignore[no-untyped-def]
    last = codes.shape[1] - 1
    for t in range(len(axis) - 1):
        for row in range(len(codes)):
            start, size, cell = node[t], 1, 0
            counts[start] += 1
            for a in range(axis[t], axis[t + 1]):
                start += size
                size *= cards[a]
                cell = cell * cards[a] + codes[row, columns[a]]
                counts[start + cell] += 1
            rewards[leaf[t] + cell] += reward_values[codes[row, last]]


@njit(cache=True)
def _gather(t, states, axis, cards, treated, node, leaf, counts, rewards, scratch):  # type: ignore[no-untyped-def]
    """Read the tree of one arm off its table: at every treatment only the branch of its state is followed.

    Returns arity, into, n and x as `pgcpe.trees.tree_interval` takes them, as views of the scratch arrays.
    """
    arity, cells, into, n, x = scratch
    start, size = node[t], 1
    depth, filled, width, k = 0, 1, 1, 0
    into[0], cells[0] = counts[start], 0
    for a in range(axis[t], axis[t + 1]):
        start += size
        size *= cards[a]
        if treated[a]:
            for i in range(width):
                cells[i] = cells[i] * cards[a] + states[k]
            k += 1
        else:
            for i in range(width - 1, -1, -1):
                prefix = cells[i]
                for c in range(cards[a]):
                    cells[i * cards[a] + c] = prefix * cards[a] + c
            width *= cards[a]
            for i in range(width):
                into[filled + i] = counts[start + cells[i]]
            arity[depth] = cards[a]
            depth += 1
            filled += width
    for i in range(width):
        n[i] = counts[start + cells[i]]
        x[i] = min(rewards[leaf[t] + cells[i]], n[i])
    return arity[:depth], into[:filled], n[:width], x[:width]


@njit(cache=True)
def _scratch(axis, node):  # type: ignore[no-untyped-def]
    """Return scratch arrays for the largest table."""
    axes = nodes = 1
    for t in range(len(axis) - 1):
        axes, nodes = max(axes, axis[t + 1] - axis[t]), max(nodes, node[t + 1] - node[t])
    integers = np.empty(axes, dtype=np.int64), np.empty(nodes, dtype=np.int64)
    return integers[0], integers[1], np.empty(nodes), np.empty(nodes), np.empty(nodes)


@njit(cache=True)
def _lr_intervals(  # type: ignore[no-untyped-def]
    table_of, first, states, axis, cards, treated, node, leaf, counts, rewards, log_inverse_alpha
):
    lower, upper = np.zeros(len(table_of)), np.ones(len(table_of))
    scratch = _scratch(axis, node)
    for i in range(len(table_of)):
        t = table_of[i]
        if t > 0 and counts[node[t]] > 0:
            arity, into, n, x = _gather(
                t, states[first[i] :], axis, cards, treated, node, leaf, counts, rewards, scratch
            )
            lower[i], upper[i] = tree_interval(arity, into, n, x, log_inverse_alpha)
    return lower, upper


@njit(cache=True)
def _paper_intervals(  # type: ignore[no-untyped-def]
    table_of, first, states, axis, cards, treated, node, leaf, counts, rewards, union_over_delta, observations, alpha
):
    """Return mu_O (Eq. 11) -+ beta_O of every arm; [0, 1] where there is no table or T_a = 0."""
    lower, upper = np.zeros(len(table_of)), np.ones(len(table_of))
    scratch = _scratch(axis, node)
    for i in range(len(table_of)):
        t = table_of[i]
        if t <= 0:
            continue
        arity, into, v, x = _gather(t, states[first[i] :], axis, cards, treated, node, leaf, counts, rewards, scratch)
        width, smallest = len(v), v[0]  # T_a, the plays of the least seen leaf
        for j in range(width):
            smallest = min(smallest, v[j])
        if smallest == 0:
            continue
        for j in range(width):
            v[j] = x[j] / v[j]  # r of Eq. (8)
        filled = len(into)
        for d in range(len(arity) - 1, -1, -1):
            filled -= width
            width //= arity[d]
            for j in range(width):
                total = mean = 0.0
                for c in range(j * arity[d], (j + 1) * arity[d]):
                    total += into[filled + c]
                    mean += into[filled + c] * v[c]  # p of Eq. (10) is into / total
                v[j] = mean / total
        radius = union_radius(smallest, union_over_delta[i], observations, alpha)
        lower[i], upper[i] = max(v[0] - radius, 0.0), min(v[0] + radius, 1.0)
    return lower, upper


@njit(cache=True)
def _estimate(table_of, first, states, axis, cards, treated, node, leaf, counts, rewards, i):  # type: ignore[no-untyped-def]
    """Return the smoothed estimate of arm i and its variance."""
    scratch = _scratch(axis, node)
    return smoothed_value(
        *_gather(table_of[i], states[first[i] :], axis, cards, treated, node, leaf, counts, rewards, scratch)
    )
