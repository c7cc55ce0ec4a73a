"""Expected rewards from observation alone, through admissible sequences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from pgcpe._checks import one_of
from pgcpe.bandit import CausalBandit
from pgcpe.confidence.intervals import Intervals, probability
from pgcpe.confidence.paper_radii import paper_observational_union, union_radius
from pgcpe.confidence.tree import plug_in_value, smoothed_value
from pgcpe.estimators.base import Comparison, IntervalEstimator, check_samples, started
from pgcpe.estimators.empirical_means import check_radius
from pgcpe.estimators.estimate import Contrast, Estimate
from pgcpe.estimators.forest import MOST_CELLS, Plays, count_plays, forest_of, shared_influences, tree_of
from pgcpe.estimators.forest_values import walk_plain
from pgcpe.estimators.schedule import Observations
from pgcpe.estimators.tree_bounds import Regions, TreeBounds
from pgcpe.graphs.explanation import explain
from pgcpe.graphs.structure import State, States, states_of, structure_of
from pgcpe.plays.actions import Action, with_states
from pgcpe.plays.encoding import Encoder, as_frame, check_question
from pgcpe.plays.frames import labels_of, rows_told
from pgcpe.plays.samples import Samples

__all__ = ["AdmissibleSequence"]


class AdmissibleSequence(IntervalEstimator):
    """mu_O of the paper: the reward of an arm from plays of ``do()``, by the g-formula of its admissible sequence.

    Eq. (4) is the (sequential) g-formula of Robins 1986; adjustment for a set is the case of one step.

    Every arm has a tree of cells (`pgcpe.estimators.forest`) with a level for each variable of Z_1, Z_2, ... in causal
    order, into which a play goes as far as the treatments before the level agree. T and r of Eqs. (8)-(10) are the
    counts and mean rewards of its leaves, n and p those of its inner nodes.

    Parameters
    ----------
    radius
        ``"lr"``: the exact likelihood-ratio interval of `likelihood_ratio_interval`. ``"paper"``:
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
    dropped_ : dict
        How many rows ``missing="drop"`` left out of the last `expected_reward`, by the variable that was missing.

    Examples
    --------
    One estimate, in an existing pgmpy workflow:

    >>> from pgcpe import SimulatedEnvironment, do, load_network
    >>> network = load_network("asia")
    >>> data = SimulatedEnvironment(network, seed=0).sample(do(), 10_000).to_frame()
    >>> estimate = AdmissibleSequence().fit(network, data).expected_reward(do(bronc="no"), "dysp", {"yes": 1, "no": 0})
    >>> round(estimate.value, 3), round(estimate.se, 3)
    (0.151, 0.005)
    """

    event: ClassVar[str] = "observational intervals"

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
        check_question(bandit)
        check_radius(self.radius, self.alpha, "lr")
        self.bandit_ = bandit
        self._forest, _ = forest_of(bandit)
        self._counts = self._forest.counts()
        self.served_ = np.diff(self._forest.treated_start) > 0
        self._observations = Observations(1 if self.refresh is None and self.radius == "paper" else self.refresh)
        self._counted = 0
        self._regions, self._bounds = Regions(self._forest, 1.0), TreeBounds(self._forest, self.served_)
        self._current: Intervals | None = None
        self._level = math.nan
        return self

    def update(self, samples: Samples) -> Self:
        """Count every play of ``do()`` (Algorithm 3, line 9); plays of other actions are no passive observations."""
        check_samples(samples)
        if (due := self._observations.add(samples)) is not None:
            codes, rewards = due
            plays = Plays(codes, np.zeros(len(codes), dtype=np.intp), rewards)
            count_plays(self._forest, self._counts, plays, self._forest.all_levels())
            self._counted += len(codes)
            self._current = None
        return self

    @property
    def n_events_(self) -> int:
        """The number of arms served, of all arms for the paper's radius."""
        return max(int(self.served_.sum()), 1) if self.radius == "lr" else len(self.served_)

    def intervals(self, level: float) -> Intervals:
        """Return intervals for the arms served; [0, 1] for the others.

        Those of the paper's radius are not cut off at 0 and 1, and infinite where nothing is known.
        """
        started(self)
        if self._current is None or level != self._level:
            self._level = probability("level", level)
            self._current = self._work_out(level)
        return self._current

    def bounds(self, level: float) -> Intervals:
        """Return the exact intervals as far as they were worked out, all of those with the paper's radius."""
        return self._bounds.known(level) if self.radius == "lr" else self.intervals(level)

    def tighten(self, level: float, asked: Comparison) -> bool:
        """Work out those ends of the exact intervals that a comparison turns on."""
        return self.radius == "lr" and self._bounds.tighten(self._counts, self._regions, self._counted, level, asked)

    def _work_out(self, level: float) -> Intervals:
        if self.radius == "lr":  # in place of Algorithm 3, line 11
            return self._bounds.now(self._counts, self._regions, level)
        unknown = Intervals.unbounded(len(self.served_))
        lower, upper = unknown.lower, unknown.upper
        value, smallest = self.plug_in()  # Algorithm 3, line 11: mu_O (Eq. 11) -+ beta_O(T_a)
        seen = smallest > 0
        radius = np.array([self._paper_radius(int(i), smallest[i], level) for i in np.flatnonzero(seen)])
        lower[seen], upper[seen] = value[seen] - radius, value[seen] + radius
        return Intervals(lower, upper)

    def _paper_radius(self, arm: int, smallest_cell: float, level: float) -> float:
        """Return beta_O (Eq. 12) of an arm."""
        treatments, levels, cells = (
            int(start[arm + 1] - start[arm])
            for start in (self._forest.treated_start, self._forest.level_start, self._forest.leaf_start)
        )
        union = paper_observational_union(treatments, levels - 1, cells, len(self.served_))
        alpha = 8.0 if self.alpha is None else self.alpha
        return float(union_radius(smallest_cell, union / (level * self.n_events_), self._counted, alpha))

    def plug_in(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mu_O (Eq. 11) and T_a, the plays of ``do()`` in the arm's least seen cell, of every arm.

        Both are 0 before all cells were seen, for ``do()``, and for an arm without a sequence.
        """
        started(self)
        value, _, _ = walk_plain(self._forest, self._counts, 0.0, 1.0, self._forest.walks())
        leaves = zip(self._forest.leaf_start[:-1], self._forest.leaf_start[1:], self.served_, strict=True)
        smallest = np.array([self._counts.n[a:b].min() if served else 0.0 for a, b, served in leaves])
        return np.where(smallest > 0, value, 0.0), smallest

    def observed_shares(self) -> NDArray[np.float64]:
        """Return the estimate of q_a of every arm: the share of the plays of ``do()`` in the arm's least seen cell."""
        return self.plug_in()[1] / max(self._counted, 1)

    def smoothed(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the estimate from smoothed frequencies and its variance, of every arm; 1/2 and infinity for others."""
        started(self)
        value, variance = np.full(len(self.served_), 0.5), np.full(len(self.served_), math.inf)
        for i in np.flatnonzero(self.served_):
            value[i], variance[i] = smoothed_value(tree_of(self._forest, self._counts, i))
        return value, variance

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
        """Take a graph and data to estimate from.

        Parameters
        ----------
        graph
            A pgmpy ``DAG`` or network with its latents.
        data
            A frame, or dicts, with one row a play. Columns that no formula needs may be missing.
        actions
            The action of all rows or one for each; by default those that the index names, as `Samples.to_frame` writes
            it, else all rows are passive observations. Rows of other actions are left out: the formula is one of
            observation.
        states
            The states of the variables of a bare graph, 0 and 1 for those not named.
        missing
            What an estimate does of rows that lack a value it needs: ``"raise"``, or ``"drop"``, which leaves them out
            and counts them in `dropped_`, but for those without the outcome. The estimate then rests on values that are
            missing independently of the outcome.
        """
        structure_of(graph)  # refuses what is no directed acyclic graph
        one_of("missing", missing, ("raise", "drop"))
        known = states_of(graph, states)
        self.graph_, self.states_, self.data_ = graph, known, _passive(data, actions, known)
        self.missing_ = missing
        return self

    def partial_fit(self, data: Any, actions: Action | Sequence[Action] | None = None) -> Self:
        """Take more data."""
        check_is_fitted(self, "graph_", msg="fit a graph first: partial_fit only adds data to it")
        passive = _passive(data, actions, self.states_)
        self.data_ = pd.concat([self.data_, passive], ignore_index=True) if len(self.data_) else passive
        return self

    def expected_reward(
        self,
        action: Action,
        outcome: str,
        outcome_values: Mapping[State, float] | None = None,
        outcome_range: tuple[float, float] | None = None,
    ) -> Estimate:
        """Return the estimate of E[outcome | action] and its standard error.

        The value is the formula at the frequencies in the data, unbiased where every cell of it has a row. A cell
        without takes the mean of the others, and the standard error grows by what it may be off by then: its
        probability times the range of the outcome. The variance (delta method) is that of frequencies drawn a little
        towards the mean of all cells, so that it is not 0 where all rows of a cell agree.

        Parameters
        ----------
        action
            The intervention.
        outcome, outcome_values
            The outcome and the value of each of its states, in [0, 1] or the range; 0 and 1 need no map.
        outcome_range
            The least and the largest value there can be. Without values of states the outcome is a number in the data.

        Raises
        ------
        ValueError
            If the effect has no admissible sequence; the message names the path in the way. If there is no passive
            observation.
        sklearn.exceptions.NotFittedError
            If nothing was fitted.
        """
        counted, _ = self._counted_for([action], outcome, outcome_values, outcome_range)
        low, high = counted._reward_range
        value, variance, off = plug_in_value(tree_of(counted._forest, counted._counts, 0), low, high)
        scale = counted.bandit_.reward_scale
        se = scale.width * math.hypot(math.sqrt(variance), off)
        return Estimate(float(scale.value(value)), se, (scale.low, scale.high))

    def contrast(
        self,
        a: Action,
        b: Action,
        outcome: str,
        outcome_values: Mapping[State, float] | None = None,
        outcome_range: tuple[float, float] | None = None,
    ) -> Contrast:
        """Return the estimate of E[outcome | a] - E[outcome | b] and its standard error.

        Both are estimated from the same rows, and rows that move both alike say nothing less of the difference: its
        variance is the sum over the rows of the square of what each moved the one less what it moved the other (delta
        method), and what `expected_reward` adds for small counts and for cells never seen. Two actions that have
        provably the same effect differ by 0.

        Parameters
        ----------
        a, b
            The interventions.
        outcome, outcome_values, outcome_range
            As for `expected_reward`, which says what is raised too.
        """
        counted, observed = self._counted_for([a, b], outcome, outcome_values, outcome_range)
        first, second = (counted.bandit_.index(counted.bandit_.action(action)) for action in (a, b))
        if first == second:
            return Contrast(0.0, 0.0)
        forest, walks = counted._forest, counted._forest.walks()
        value, variance, off = walk_plain(forest, counted._counts, *counted._reward_range, walks)
        trees = np.zeros(1, dtype=np.intp), np.zeros(2), value, np.ones(2, dtype=np.bool_)
        apart, alone, alone_first = shared_influences(
            forest, walks, _plays(observed), forest.all_levels(), trees, first, np.array([second])
        )
        spread = apart[0] + max(variance[first] - alone_first, 0.0) + max(variance[second] - alone[0], 0.0)
        width = counted.bandit_.reward_scale.width
        se = math.hypot(math.sqrt(spread), float(off.sum()))
        return Contrast(width * float(value[first] - value[second]), width * se, (-width, width))

    @property
    def _reward_range(self) -> tuple[float, float]:
        return float(self.bandit_.reward_array.min()), float(self.bandit_.reward_array.max())

    def _counted_for(
        self,
        actions: Sequence[Action],
        outcome: str,
        outcome_values: Mapping[State, float] | None,
        outcome_range: tuple[float, float] | None,
    ) -> tuple[Self, Samples]:
        """Return a copy that has counted the rows for the formulas of some actions, and these rows."""
        check_is_fitted(self, "graph_", msg="fit a graph and data first")
        measured = outcome_range is not None and outcome_values is None
        bandit = CausalBandit(
            self.graph_,
            reward=outcome,
            arms=actions,
            reward_values=outcome_values,
            reward_range=outcome_range,
            states={v: own for v, own in self.states_.items() if not (measured and v == outcome)},
        )
        for sequence, canonical in zip(bandit.sequences, bandit.canonical, strict=True):
            if sequence is None:
                raise ValueError(str(explain(bandit.graph, canonical, outcome)))
        if self.data_.empty:
            raise ValueError("there is no passive observation to estimate from")
        estimator = clone(self).set_params(refresh=1).start(bandit)
        encoder = Encoder(bandit)
        observed = encoder.encode(Action(), self.data_, missing=self.missing_)
        if not len(observed):
            raise ValueError("every passive observation lacks a value that the estimate needs")
        estimator.update(observed)
        self.dropped_ = dict(encoder.dropped)
        for arm, size in zip(bandit.arms, np.diff(estimator._forest.node_start), strict=True):
            if size == 0:
                raise ValueError(f"the formula for {arm} has more than {MOST_CELLS:,} cells")
        return estimator, observed


def _plays(observed: Samples) -> Plays:
    """Return rows of passive observation as the loops read them."""
    return Plays(observed.codes, np.zeros(len(observed), dtype=np.intp), observed.known_rewards)


def _passive(data: Any, actions: Action | Sequence[Action] | None, states: States) -> pd.DataFrame:
    """Return a copy of the rows of passive observation, without their index."""
    frame = as_frame(data)
    if actions is None and labels_of(frame) is None:
        actions = Action()
    distinct, which = rows_told(actions, frame, lambda action: with_states(action, states))
    null = np.array([not action for action in distinct], dtype=np.bool_)
    return frame.loc[null[which]].reset_index(drop=True) if len(frame) else frame.reset_index(drop=True)
