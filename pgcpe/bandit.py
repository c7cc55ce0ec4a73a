"""CausalBandit: the graph, the reward and the candidate actions, checked once."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from numbers import Real
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from pgcpe.graphs.identification import AdmissibleSteps, admissible_sequence, is_invariant_under, relevant_treatments
from pgcpe.graphs.states import did_you_mean, find_state, shown, state_name
from pgcpe.graphs.structure import State, checked_graph, latents_of, states_of
from pgcpe.plays.actions import Action, with_states
from pgcpe.plays.encoding import Encoder
from pgcpe.plays.samples import Coding, Samples

__all__ = ["CausalBandit"]

NULL = Action()

LESS_AND_MORE = [("false", "true"), ("no", "yes"), ("bad", "good"), ("low", "high"), ("absent", "present")]
LESS_AND_MORE += [("negative", "positive"), ("failure", "success"), ("off", "on"), ("0", "1")]
"""Names of two states of which the second says that there is more of what the variable is called."""


class CausalBandit:
    """A causal graph with a reward and the interventions among which to find the best.

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
    listed : tuple of Action
        All arms as they were listed, merged or not.
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
        self.observed = tuple(v for v in self.graph.nodes if v not in self._latents)
        if not isinstance(reward, str) or reward not in self.observed:
            raise ValueError(
                f"reward must be an observed variable of the graph, but got {shown(reward)}"
                f"{did_you_mean(reward, self.observed)}; there are {shown(*self.observed, show=str)}"
            )
        self.reward = reward
        self._recorded: frozenset[str] | None = None
        self.reward_array = _reward_array(self.states[reward], reward, reward_values)
        self.reward_array.setflags(write=False)
        self._resolved: dict[Action, Action] = {}
        self._canonical: dict[Action, Action] = {}
        self._arm: dict[Action, int] = {}
        self._shows: dict[tuple[frozenset[str], str, frozenset[str]], bool] = {}
        self._relevant: dict[tuple[str, ...], tuple[str, ...]] = {}
        self.merges = merge_equal
        self._merge(self._actions("arms", arms))
        self.playable = tuple(
            dict.fromkeys([NULL, *self.arms]) if playable is None else self._actions("playable", playable)
        )
        self.costs = self._checked_costs({} if costs is None else costs)

    def _merge(self, listed: list[Action]) -> None:
        """Gather the listed arms in classes of provably equal effect."""
        if not listed:
            raise ValueError("arms must hold at least one action, but is empty")
        classes: dict[Action, list[Action]] = {}
        for arm in listed:
            classes.setdefault(self.canonical_of(arm) if self.merges else arm, []).append(arm)
        self.arms = tuple(members[0] for members in classes.values())
        self.merged = {members[0]: tuple(members) for members in classes.values()}
        self.canonical = tuple(self.canonical_of(arm) for arm in self.arms)
        self._index = {key: i for i, key in enumerate(classes)}
        self.listed = tuple(listed)
        self._listed_index = {arm: i for i, arm in enumerate(listed)}
        arm_of = {arm: i for i, members in enumerate(classes.values()) for arm in members}
        self.arm_of_listed = np.array([arm_of[arm] for arm in listed], dtype=np.int64)

    def __repr__(self) -> str:
        n = sum(map(len, self.merged.values()))
        arms = f"{len(self.arms)} arms" + (f" merged from {n}" if n > len(self.arms) else "")
        return f"CausalBandit(reward={self.reward!r}, {arms}, {len(self.graph)} variables)"

    def __deepcopy__(self, memo: dict[int, Any]) -> CausalBandit:
        """Return itself: it does not change, and copies of a policy ask the same question."""
        return self

    # ------------------------------------------------------------------------------------------------------ actions

    @property
    def may_observe(self) -> bool:
        """Whether ``do()`` may be played."""
        return NULL in self.costs  # costs: of every playable action

    def _actions(self, name: str, actions: Iterable[Action | str]) -> list[Action]:
        """Return distinct actions in the order listed, with the network's states."""
        if isinstance(actions, (Action, str)):
            raise TypeError(f"{name} must be a list of actions, but got one: write [{shown(actions, show=str)}]")
        if not isinstance(actions, Iterable):
            raise TypeError(f"{name} must be a list of actions, but got {shown(actions)}")
        return list(dict.fromkeys(self.action(a) for a in actions))

    def action(self, action: Action | str) -> Action:
        """Return the action with the network's states: ``do(X=1)`` finds the state ``"1"``; text is parsed.

        Raises
        ------
        TypeError
            If it is neither an `Action` nor text.
        ValueError
            If it sets an unknown variable, a latent one or the reward, or a value is no state.
        """
        known = self._resolved.get(action) if isinstance(action, Action) else None
        if known is None:
            known = with_states(action, self.states)
            for variable in known:
                if variable == self.reward or variable in self._latents:
                    kind = "the reward" if variable == self.reward else "latent"
                    raise ValueError(f"{shown(known, show=str)} sets {variable}, which is {kind} and cannot be set")
            if isinstance(action, Action):
                self._resolved[action] = known
        return known

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

    def listed_index(self, action: Action) -> int:
        """Return the index of an action among the listed arms, or -1: by name, not by effect."""
        return self._listed_index.get(action, -1)

    def arm_index(self, action: Action) -> int:
        """Return the index of the arm for which an action is listed, or -1: what counts as a direct play of it."""
        i = self.listed_index(action)
        return int(self.arm_of_listed[i]) if i >= 0 else -1

    @property
    def merges_arms(self) -> bool:
        """Whether some arm stands for others of equal effect."""
        return len(self.listed) > len(self.arms)

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
    def factors(self) -> frozenset[tuple[str, frozenset[str]]]:
        """The factors of the arms' formulas (Eq. 4): P(variable | given) for each of these pairs."""
        found = set()
        for sequence in self.sequences:
            given: set[str] = set()
            for treatment, adjusted in sequence or []:
                for variable in sorted(adjusted):
                    found.add((variable, frozenset(given)))
                    given.add(variable)
                given.add(treatment)
            if sequence is not None:
                found.add((self.reward, frozenset(given)))
        return frozenset(found)

    @cached_property
    def formula_variables(self) -> tuple[str, ...]:
        """The variables, other than the reward, that the arms' formulas hold; in the order of the graph."""
        needed = set().union(*({v, *given} for v, given in self.factors))
        return tuple(v for v in self.observed if v in needed and v != self.reward)

    @cached_property
    def required(self) -> tuple[str, ...]:
        """The variables, other than the reward, that must be told: those of the formulas unless `recording` says so."""
        if self._recorded is None:
            return self.formula_variables
        return tuple(v for v in self.observed if v in self._recorded)

    def recording(self, variables: Iterable[str]) -> CausalBandit:
        """Return the same question with other required variables: those that a policy's estimators need.

        Raises
        ------
        ValueError
            If one of them is latent or unknown.
        """
        names = [variables] if isinstance(variables, str) or not isinstance(variables, Iterable) else list(variables)
        if wrong := [v for v in names if not isinstance(v, str)]:
            raise TypeError(f"variables must be a list of names, but got {shown(wrong[0])}")
        needed = set(names) - {self.reward}
        if odd := sorted(needed.difference(self.observed)):
            raise ValueError(
                f"only observed variables can be recorded, but got {shown(*odd, show=str)}"
                f"{did_you_mean(odd[0], self.observed)}"
            )
        if needed == set(self.required):
            return self
        other = copy.copy(self)
        for derived in ("required", "coding", "_encoder"):
            other.__dict__.pop(derived, None)
        other._recorded = frozenset(needed)
        return other

    # ------------------------------------------------------------------------------------------------------ samples

    @cached_property
    def coding(self) -> Coding:
        """The coding of what policies are told: the variables required, those of the formulas and, last, the reward."""
        kept = {*self.required, *self.formula_variables}
        variables = (*(v for v in self.observed if v in kept), self.reward)
        return Coding(variables, tuple(self.states[v] for v in variables))

    @cached_property
    def _encoder(self) -> Encoder:
        return Encoder(self)

    def forced_codes(self, actions: Iterable[Action]) -> NDArray[np.int32]:
        """Return the codes that actions force on the variables of `coding`, -1 where they leave them free."""
        return self._encoder.forced_codes(actions)

    def encode(self, actions: Any, samples: Any = None) -> Samples:
        """Return what was told as samples with the bandit's coding, or raise: see `Encoder.encode`."""
        return self._encoder.encode(actions, samples)

    def _checked_costs(self, costs: Mapping[Action, float]) -> dict[Action, float]:
        if not isinstance(costs, Mapping):
            raise TypeError(f"costs must map actions to costs, as in {{do(): 0.1}}, but got {shown(costs)}")
        if odd := [f"{action}: {shown(cost)}" for action, cost in costs.items() if not isinstance(cost, Real)]:
            raise TypeError(f"costs must be numbers, but got {shown(*odd, show=str)}")
        given = {self.action(action): float(cost) for action, cost in costs.items()}
        if wrong := [str(action) for action in given if action not in self.playable]:
            raise ValueError(f"costs must be those of playable actions, but names {', '.join(wrong)}")
        if wrong := [f"{action}: {cost}" for action, cost in given.items() if not 0 < cost < np.inf]:
            raise ValueError(f"costs must be positive, but got {', '.join(wrong)}")
        return {action: given.get(action, 1.0) for action in self.playable}


def _reward_array(states: Sequence[State], reward: str, values: Mapping[State, float] | None) -> NDArray[np.float64]:
    """Return the value of each state of the reward."""
    way = f"as in reward_values={_example(states)}"
    if values is None:
        if {state_name(s) for s in states} != {"0", "1"}:
            raise ValueError(f"{reward} has the states {shown(*states)}; say what they are worth, {way}")
        return np.array([float(state_name(s)) for s in states])
    if not isinstance(values, Mapping):
        raise TypeError(f"reward_values must map each state of {reward} to its value, {way}, but got {shown(values)}")
    array = np.full(len(states), np.nan)
    for state, value in values.items():
        code = find_state(states, state, reward)
        if not isinstance(value, Real):
            raise TypeError(f"reward_values must be numbers in [0, 1], but {shown(state)} has {shown(value)}")
        if not np.isnan(array[code]):
            raise ValueError(f"reward_values must give every state of {reward} one value, but {shown(state)} has two")
        if not 0 <= value <= 1:
            raise ValueError(f"reward_values must lie in [0, 1], but {shown(state)} has {shown(value)}")
        array[code] = value
    if lacking := [s for s, value in zip(states, array, strict=True) if np.isnan(value)]:
        raise ValueError(f"reward_values must give every state of {reward} a value, but lacks [{shown(*lacking)}]")
    return array


def _example(states: Sequence[State]) -> str:
    """Return an example of reward values, with numbers where the names of the states say which is the larger."""
    names = [state_name(s).lower() for s in states]
    pair = next((pair for pair in LESS_AND_MORE if set(pair) == set(names)), None)
    values = ["..."] * len(states) if pair is None else [f"{pair.index(name)}" for name in names]
    items = shown(*zip(states, values, strict=True), show=lambda item: f"{shown(item[0])}: {item[1]}")
    return f"{{{items}}}" + ("" if pair else ", with a number in [0, 1] for each")
