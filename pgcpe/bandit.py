"""CausalBandit: the graph, the reward and the candidate actions, checked once."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pgcpe.graphs.identification import AdmissibleSteps, admissible_sequence, is_invariant_under, relevant_treatments
from pgcpe.graphs.structure import State, checked_graph, find_state, latents_of, states_of
from pgcpe.plays.actions import Action
from pgcpe.plays.samples import (
    Coding,
    ForcedCodes,
    Samples,
    actions_of_rows,
    as_frame,
    distinct_actions,
    first_contradiction,
)

__all__ = ["CausalBandit"]

NULL = Action()


class CausalBandit:
    """A causal graph with a reward and the interventions among which the best is sought.

    Everything is checked here, once; the conditional distributions of a network are dropped, so that no policy can
    read them. Arms of provably equal effect are merged and stand under the one that was listed first.

    Parameters
    ----------
    graph
        A pgmpy ``DAG`` or ``DiscreteBayesianNetwork``; its latent variables are ``graph.latents``.
    reward
        The reward variable.
    arms
        The candidate actions, one of which is to be returned.
    playable
        The actions that may be played; by default the arms and ``do()``.
    costs
        The cost of one play of an action, positive, 1 for those not named. Results report the total; `PooledCCPE`
        weighs what a play adds by it, the other policies count plays.
    states
        The states of the variables of a bare graph, 0 and 1 for those not named.
    reward_values
        The value in [0, 1] of each state of the reward. States 0 and 1 (or ``"0"`` and ``"1"``) need no map.
    merge_equal
        Whether arms of provably equal effect are merged.

    Attributes
    ----------
    graph : pgmpy.base.DAG
        The structure alone.
    states : dict
        The states of every variable.
    arms : tuple of Action
        One arm for each class of equal arms, in the order listed; its states are the network's.
    merged : dict of Action to tuple of Action
        For each arm, all listed arms of its class, itself first.
    canonical : tuple of Action
        For each arm the smallest action of equal effect. It serves identification only.
    merges : bool
        Whether actions of provably equal effect are taken for one.
    playable : tuple of Action
    costs : dict of Action to float

    Raises
    ------
    ValueError
        If a name or a state is unknown, the reward has no values in [0, 1], an arm sets the reward or a latent
        variable, there is no arm, or the graph has a cycle.

    Examples
    --------
    >>> from pgmpy.base import DAG
    >>> from pgcpe import CausalBandit, do, interventions
    >>> graph = DAG([("A", "B"), ("B", "Y")])
    >>> bandit = CausalBandit(graph, reward="Y", arms=interventions(graph, reward="Y", max_size=2))
    >>> bandit
    CausalBandit(reward='Y', 5 arms merged from 9, 3 variables)
    >>> bandit.merged[do(B=0)]
    (do(B=0), do(A=0, B=0), do(A=1, B=0))
    """

    def __init__(
        self,
        graph: nx.DiGraph,
        *,
        reward: str,
        arms: Iterable[Action],
        playable: Iterable[Action] | None = None,
        costs: Mapping[Action, float] | None = None,
        states: Mapping[str, Sequence[State]] | None = None,
        reward_values: Mapping[State, float] | None = None,
        merge_equal: bool = True,
    ) -> None:
        self.graph = checked_graph(graph)
        self.states = states_of(graph, states)
        self._latents = latents_of(self.graph)
        if reward not in self.graph or reward in self._latents:
            raise ValueError(
                f"reward must be an observed variable of the graph, but got {reward!r}; "
                f"there are {', '.join(v for v in self.graph if v not in self._latents)}"
            )
        self.reward = reward
        self._recorded: frozenset[str] = frozenset()
        self.observed = tuple(v for v in self.graph.nodes if v not in self._latents)
        self.reward_array = _reward_array(self.states[reward], reward, reward_values)
        self.reward_array.setflags(write=False)
        self._resolved: dict[Action, Action] = {}
        self._canonical: dict[Action, Action] = {}
        self._arm: dict[Action, int] = {}
        self._shows: dict[tuple[frozenset[str], str, frozenset[str]], bool] = {}
        self._relevant: dict[tuple[str, ...], tuple[str, ...]] = {}
        listed = list(dict.fromkeys(self.action(a) for a in arms))
        if not listed:
            raise ValueError("arms must hold at least one action, but is empty")
        classes: dict[Action, list[Action]] = {}
        for arm in listed:
            classes.setdefault(self.canonical_of(arm) if merge_equal else arm, []).append(arm)
        self.arms = tuple(members[0] for members in classes.values())
        self.merged = {members[0]: tuple(members) for members in classes.values()}
        self.canonical = tuple(self.canonical_of(arm) for arm in self.arms)
        self.merges = merge_equal
        self._index = {key: i for i, key in enumerate(classes)}
        self.playable = tuple(
            dict.fromkeys([NULL, *self.arms] if playable is None else [self.action(a) for a in playable])
        )
        self.costs = self._checked_costs(costs or {})
        self._seen: tuple[Coding, NDArray[np.intp], list[tuple[int, NDArray[np.int32]]]] | None = None

    def __repr__(self) -> str:
        n = sum(map(len, self.merged.values()))
        arms = f"{len(self.arms)} arms" + (f" merged from {n}" if n > len(self.arms) else "")
        return f"CausalBandit(reward={self.reward!r}, {arms}, {len(self.graph)} variables)"

    # ------------------------------------------------------------------------------------------------------ actions

    def action(self, action: Action | str) -> Action:
        """Return the action with the network's states: ``do(X=1)`` finds the state ``"1"``; text is parsed.

        Raises
        ------
        TypeError
            If it is neither an `Action` nor text.
        ValueError
            If it sets an unknown variable, a latent one or the reward, or a value is no state.
        """
        if isinstance(action, str):
            action = Action.parse(action)
        if not isinstance(action, Action):
            raise TypeError(f"an action must be written do(X=1), but got {action!r}")
        if action not in self._resolved:
            self._resolved[action] = self._resolve(action)
        return self._resolved[action]

    def _resolve(self, action: Action) -> Action:
        for variable in action:
            if variable not in self.states:
                raise ValueError(f"{action} sets {variable}, which is no variable of the graph")
            if variable == self.reward or variable in self._latents:
                kind = "the reward" if variable == self.reward else "latent"
                raise ValueError(f"{action} sets {variable}, which is {kind} and cannot be set")
        found = {v: self.states[v][find_state(self.states[v], s, v)] for v, s in action.items()}
        same = all(type(s) is type(action[v]) and s == action[v] for v, s in found.items())
        return action if same else Action(found)  # the same object is found fastest

    def canonical_of(self, action: Action) -> Action:
        """Return the smallest action of provably equal effect, for an action with the network's states."""
        if action not in self._canonical:
            if action.variables not in self._relevant:
                matters = relevant_treatments(self.graph, action.variables, self.reward)
                self._relevant[action.variables] = tuple(v for v in action.variables if v in matters)
            relevant = self._relevant[action.variables]
            self._canonical[action] = (
                action if len(relevant) == len(action) else Action({v: action[v] for v in relevant})
            )
        return self._canonical[action]

    def index(self, action: Action) -> int:
        """Return the index of the arm whose expected reward is provably that of the action, or -1."""
        if action not in self._arm:
            self._arm[action] = self._index.get(self.canonical_of(action) if self.merges else action, -1)
        return self._arm[action]

    # ----------------------------------------------------------------------------------------------- identification

    @cached_property
    def sequences(self) -> tuple[AdmissibleSteps | None, ...]:
        """For each arm the admissible sequence of its canonical action, or None where there is none."""
        known: dict[tuple[str, ...], AdmissibleSteps | None] = {}
        for action in self.canonical:
            if action.variables not in known:
                known[action.variables] = admissible_sequence(
                    self.graph, action.variables, self.reward, states=self.states
                )
        return tuple(known[action.variables] for action in self.canonical)

    def is_invariant_under(self, played: frozenset[str], variable: str, given: frozenset[str]) -> bool:
        """Return whether plays that set some variables show P(variable | given) as observation does."""
        question = played, variable, given
        if question not in self._shows:
            self._shows[question] = is_invariant_under(self.graph, *question)
        return self._shows[question]

    @cached_property
    def required(self) -> tuple[str, ...]:
        """The variables, other than the reward, whose values some formula needs; in the order of the graph."""
        needed = set(self._recorded)
        for sequence in self.sequences:
            for treatment, adjusted in sequence or []:
                needed |= {treatment, *adjusted}
        return tuple(v for v in self.observed if v in needed)

    def recording(self, variables: Iterable[str]) -> CausalBandit:
        """Return the same question with more required variables: those that an estimator needs besides.

        Raises
        ------
        ValueError
            If one of them is latent or unknown.
        """
        more = {variables} if isinstance(variables, str) else set(variables)
        more.discard(self.reward)
        if odd := sorted(more - set(self.observed)):
            raise ValueError(f"only observed variables can be recorded, but got {', '.join(odd)}")
        if more <= set(self.required):
            return self
        wider = copy.copy(self)
        for derived in ("required", "coding", "_forced", "_cardinalities"):
            wider.__dict__.pop(derived, None)
        wider._recorded, wider._seen = self._recorded | more, None
        return wider

    # ------------------------------------------------------------------------------------------------------ samples

    @cached_property
    def coding(self) -> Coding:
        """The coding of what policies are told: the required variables and, last, the reward."""
        variables = (*self.required, self.reward)
        return Coding(variables, tuple(self.states[v] for v in variables))

    @cached_property
    def _forced(self) -> ForcedCodes:
        return ForcedCodes(self.coding.variables, self.coding.states)

    def forced_codes(self, actions: Iterable[Action]) -> NDArray[np.int32]:
        """Return the codes that actions force on the variables of `coding`, -1 where they leave them free."""
        rows = self._forced.rows(actions)  # may lay out a larger table
        return self._forced.table[rows]

    @cached_property
    def _cardinalities(self) -> NDArray[np.int32]:
        return np.array([len(states) for states in self.coding.states], dtype=np.int32)

    def encode(self, actions: Action | str | Sequence[Action | str], samples: Any) -> Samples:
        """Return what was told as samples with the bandit's coding, or raise.

        Parameters
        ----------
        actions
            The action of all plays, or one for each; text is parsed.
        samples
            `Samples`, a DataFrame, a dict {variable: state} or a list of such dicts, with the reward and the required
            variables; others are left out.

        Raises
        ------
        ValueError
            If a column or a value is missing, a value is no state or contradicts its action, an action is not one on
            observed variables, or the numbers of actions and plays differ. The row is named.
        TypeError
            If `samples` or an action is of another type.
        """
        if isinstance(samples, Samples):
            distinct, which = self._match(actions, samples)
            codes = self._columns(samples)
        else:
            frame = as_frame(samples)
            distinct, which = self._actions_told(actions, frame)
            codes = self._coded(frame, distinct, which)
        rows = self._forced.rows(distinct)
        if (wrong := first_contradiction(codes, self._cardinalities, self._forced.table, rows, which)) >= 0:
            row, column = divmod(wrong, codes.shape[1])
            if not 0 <= codes[row, column] < self._cardinalities[column]:
                raise ValueError(f"row {row} has the code {codes[row, column]} for {self.coding.variables[column]}")
            raise self._contradiction(row, self.coding.variables[column], codes[row, column], distinct[which[row]])
        return Samples(self.coding, codes, distinct, which, self.reward_array[codes[:, -1]])

    def _contradiction(self, row: int, variable: str, code: int, action: Action) -> ValueError:
        value = self.states[variable][code]
        return ValueError(f"row {row} has {variable}={value}, which contradicts its action {action}")

    def _actions_told(
        self, actions: Action | str | Sequence[Action | str], frame: pd.DataFrame
    ) -> tuple[tuple[Action, ...], NDArray[np.intp]]:
        """Return the actions of a frame; where its index names them, those given must be the same."""
        given = self.action(actions) if isinstance(actions, (Action, str)) else [self.action(a) for a in actions]
        distinct, which = distinct_actions(given, len(frame))
        if (named := actions_of_rows(frame)) is not None:
            for row, (own, i) in enumerate(zip(named, which.tolist(), strict=True)):
                if self.action(own) != distinct[i]:
                    raise ValueError(f"row {row} is labelled {own}, which contradicts the action told, {distinct[i]}")
        return distinct, which

    def _coded(self, frame: pd.DataFrame, distinct: tuple[Action, ...], which: NDArray[np.intp]) -> NDArray[np.int32]:
        """Return the codes of the bandit's columns; set variables that are recorded beside them are checked as well."""
        needed = self.coding.variables
        beside = [v for v in sorted(set().union(*distinct) - set(needed)) if v in frame.columns]
        codes = Samples.from_frame(frame, {v: self.states[v] for v in (*needed, *beside)}, NULL).codes
        for j, variable in enumerate(beside, start=len(needed)):
            for row in range(len(frame)):
                action = distinct[which[row]]
                if variable in action and self.states[variable][codes[row, j]] != action[variable]:
                    raise self._contradiction(row, variable, codes[row, j], action)
        return np.ascontiguousarray(codes[:, : len(needed)])

    def _match(
        self, actions: Action | str | Sequence[Action | str], samples: Samples
    ) -> tuple[tuple[Action, ...], NDArray[np.intp]]:
        """Return the actions of samples that carry their own; those given must be the same."""
        named = samples.which.tolist()
        if len(named) != len(samples.codes) or (named and not 0 <= min(named) <= max(named) < len(samples.actions)):
            raise ValueError(f"samples must name one of their {len(samples.actions)} actions for each play")
        own = tuple([self.action(a) for a in samples.actions])
        if isinstance(actions, (Action, str)):
            same = all(own[i] == self.action(actions) for i in set(named))
        else:
            same = len(actions) == len(samples) and all(
                given is own[i] or self.action(given) == own[i] for given, i in zip(actions, named, strict=True)
            )
        if not same:
            raise ValueError(f"the actions told must be those of the {len(samples)} samples, but differ from them")
        return own, samples.which

    def _columns(self, samples: Samples) -> NDArray[np.int32]:
        """Return the codes of the bandit's columns; how they lie in the samples is worked out once for each coding."""
        if self._seen is None or self._seen[0] is not samples.coding:
            position = {v: j for j, v in enumerate(samples.coding.variables)}
            if missing := [v for v in self.coding.variables if v not in position]:
                raise ValueError(f"the samples must have the columns {list(self.coding.variables)}, but lack {missing}")
            columns = np.array([position[v] for v in self.coding.variables], dtype=np.intp)
            recode = [
                (j, np.array([find_state(states, s, v) for s in samples.coding.states[columns[j]]], dtype=np.int32))
                for j, (v, states) in enumerate(zip(self.coding.variables, self.coding.states, strict=True))
                if samples.coding.states[columns[j]] != states
            ]
            self._seen = (samples.coding, columns, recode)
        _, columns, recode = self._seen
        if samples.codes.dtype != np.int32:
            raise TypeError(f"samples must have int32 codes, but have {samples.codes.dtype}")
        codes = samples.codes.take(columns, axis=1)
        for j, table in recode:
            known = (codes[:, j] >= 0) & (codes[:, j] < len(table))
            codes[:, j] = np.where(known, table[np.where(known, codes[:, j], 0)], -1)  # -1 is refused by `encode`
        return codes

    def _checked_costs(self, costs: Mapping[Action, float]) -> dict[Action, float]:
        given = {self.action(action): float(cost) for action, cost in costs.items()}
        if wrong := [str(action) for action in given if action not in self.playable]:
            raise ValueError(f"costs must be those of playable actions, but names {', '.join(wrong)}")
        if wrong := [f"{action}: {cost}" for action, cost in given.items() if not 0 < cost < np.inf]:
            raise ValueError(f"costs must be positive, but got {', '.join(wrong)}")
        return {action: given.get(action, 1.0) for action in self.playable}


def _reward_array(states: Sequence[State], reward: str, values: Mapping[State, float] | None) -> NDArray[np.float64]:
    """Return the value of each state of the reward."""
    if values is None:
        if {str(s) for s in states} != {"0", "1"}:
            example = ", ".join(f"{s!r}: {round(i / (len(states) - 1), 2):g}" for i, s in enumerate(states[:3]))
            raise ValueError(
                f"{reward} has the states {', '.join(map(repr, states))}; say what they are worth, as in "
                f"reward_values={{{example}{', ...' if len(states) > 3 else ''}}}"
            )
        return np.array([float(str(s)) for s in states])
    array = np.full(len(states), np.nan)
    for state, value in values.items():
        code = find_state(states, state, reward)
        if not np.isnan(array[code]):
            raise ValueError(f"reward_values must give every state of {reward} one value, but {state!r} has two")
        array[code] = value
    if missing := [s for s, value in zip(states, array, strict=True) if np.isnan(value)]:
        raise ValueError(f"reward_values must give every state of {reward} a value, but lacks {missing}")
    if array.min() < 0 or array.max() > 1:
        raise ValueError(f"reward_values must lie in [0, 1], but got {dict(values)}")
    return array
