"""CausalBandit: the graph, the reward and the candidate actions, checked once."""

from __future__ import annotations

import copy
import operator
from collections.abc import Iterable, Mapping, Sequence, Sized
from functools import cached_property
from numbers import Real
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from pgcpe._checks import flag
from pgcpe.graphs.answers import Factor, GraphAnswers, factors_of
from pgcpe.graphs.identification import AdmissibleSteps
from pgcpe.graphs.states import did_you_mean, is_several, shown
from pgcpe.graphs.structure import State, checked_graph, latents_of, states_of, structure_of
from pgcpe.plays.actions import Action, with_states
from pgcpe.plays.encoding import Encoder
from pgcpe.plays.reward_scale import RewardScale
from pgcpe.plays.reward_values import RewardWorth
from pgcpe.plays.samples import Coding, Samples

__all__ = ["CausalBandit"]

NULL = Action()

FEW = 1_000
"""So many arms are checked within a second."""


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
        The value of each state of the reward, in [0, 1] or the `reward_range`. States 0 and 1 (or ``"0"`` and ``"1"``)
        need no map.
    reward_range
        The least and the largest reward there can be, in the user's unit: ``(0, 60)`` for minutes of an hour. Without
        `reward_values` the reward is then measured: told are numbers, and states that a network has for it are left
        aside. What holds for it holds for any distribution on the range; the narrower that is, the fewer plays.
    minimise
        Whether less of the reward is better. Results, intervals and epsilon are in the user's unit and direction.
    merge_equal
        Whether arms of provably equal effect are merged.

    Attributes
    ----------
    graph : pgmpy.base.DAG
        The structure alone.
    states : dict
        The states of every variable; a reward that is measured has none.
    worth : RewardWorth
        The range of the reward, its direction, and the values of its states.
    arms : tuple of Action
        One arm for each class of equal arms, in the order listed; its states are the network's.
    listed : tuple of Action
        All arms as they were listed, merged or not.
    canonical : tuple of Action
        For each arm the smallest action of equal effect. It serves identification only.
    merges : bool
        Whether actions of provably equal effect are taken for one.
    playable : tuple of Action
    costs : dict of Action to float

    Raises
    ------
    ValueError
        If a name or a state is unknown, the reward has no values in [0, 1] or its `reward_range`, an arm sets the
        reward or a latent variable, there is no arm, or the graph has a cycle.

    Notes
    -----
    What the graph says is worked out once for each set of variables and shared by the actions that set them to other
    states. Memory is linear in the arms: about 350 bytes for each listed arm with its action, merged or not
    (``benchmarks/first_ask.py``, 100,000 arms that set up to three of 35 variables).

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
        reward_range: tuple[float, float] | None = None,
        minimise: bool = False,
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
        named = () if states is None else states
        self.worth = RewardWorth.of(
            reward, self.states[reward], reward_values, reward_range, minimise=minimise, named=reward in named
        )
        if self.worth.measured is not None:
            del self.states[reward]
        self._answers = GraphAnswers(self.graph, reward, self.states)
        self._meant: dict[tuple[str, type, State], State] = {}
        self._listed_index: dict[Action, int] = {}
        self.merges = flag("merge_equal", merge_equal)
        self._merge(self._actions("arms", arms))
        self._plays_listed = playable is None
        self.playable = tuple(
            dict.fromkeys([NULL, *self.arms]) if playable is None else self._actions("playable", playable)
        )
        self.costs = self._checked_costs({} if costs is None else costs)

    def _merge(self, listed: list[Action]) -> None:
        """Gather the listed arms in classes of provably equal effect."""
        if not listed:
            raise ValueError("arms must hold at least one action, but is empty")
        shared: dict[Action, Action] = {}
        canonical = [shared.setdefault(c, c) for c in map(self.canonical_of, _with_progress(listed, "merging arms"))]
        self._index: dict[Action, int] = {}
        classes = canonical if self.merges else listed
        self.arm_of_listed = np.array([self._index.setdefault(key, len(self._index)) for key in classes], np.int64)
        first: list[int] = np.unique(self.arm_of_listed, return_index=True)[1].tolist()
        self.arms = tuple([listed[i] for i in first])
        self.canonical = tuple([canonical[i] for i in first])
        self.listed = tuple(listed) if len(first) < len(listed) else self.arms
        self._listed_index = {arm: i for i, arm in enumerate(listed)} if self.merges else self._index

    def __repr__(self) -> str:
        arms = f"{len(self.arms)} arms" + (f" merged from {len(self.listed)}" if self.merges_arms else "")
        return f"CausalBandit(reward={self.reward!r}, {arms}, {len(self.graph)} variables)"

    def __deepcopy__(self, memo: dict[int, Any]) -> CausalBandit:
        """Return itself: it does not change, and copies of a policy ask the same question."""
        return self

    def unmerged(self) -> CausalBandit:
        """Return the same question about every listed arm by itself; the same one each time."""
        return self._unmerged

    @cached_property
    def _unmerged(self) -> CausalBandit:
        return CausalBandit(
            self.graph,
            reward=self.reward,
            arms=self.listed,
            playable=None if self._plays_listed else self.playable,
            costs=self.costs,
            states=self.states,
            **self.worth.options,
            merge_equal=False,
        ).recording(self.required)

    def leaving_out(self, variables: Iterable[str]) -> CausalBandit:
        """Return the same question where some variables are not recorded: they are hidden, as others are.

        Raises
        ------
        ValueError
            If one of them is unknown, the reward, or set by an arm or a playable action.
        """
        left = self._names(variables)
        if fixed := sorted(left & {self.reward, *self.settable}):
            what = "the reward" if fixed[0] == self.reward else "set by arms or playable actions"
            raise ValueError(f"only what is merely recorded can be left out, but {fixed[0]} is {what}")
        graph = structure_of(self.graph)
        graph.latents = self._latents | left
        return CausalBandit(
            graph,
            reward=self.reward,
            arms=self.listed,
            playable=None if self._plays_listed else self.playable,
            costs=self.costs,
            states=self.states,
            **self.worth.options,
            merge_equal=self.merges,
        )

    @property
    def settable(self) -> frozenset[str]:
        """The variables that an arm or a playable action sets."""
        return frozenset().union(*self.listed, *self.playable)

    # ------------------------------------------------------------------------------------------------------ actions

    def may_play(self, action: Action) -> bool:
        """Return whether an action may be played; if `playable` was not said, all listed arms may, merged or not."""
        return action in self.costs or (self._plays_listed and self.listed_index(action) >= 0)

    @property
    def reward_scale(self) -> RewardScale:
        """The range of the reward and its direction."""
        return self.worth.scale

    @property
    def reward_array(self) -> NDArray[np.float64]:
        """Of each state of the reward its share of the range, 1 for the best there is; 0 and 1 if it is measured."""
        return self.worth.shares

    @property
    def may_observe(self) -> bool:
        """Whether ``do()`` may be played."""
        return NULL in self.costs  # costs: of every playable action

    def _actions(self, name: str, actions: Iterable[Action | str]) -> list[Action]:
        """Return distinct actions in the order listed, with the network's states."""
        if isinstance(actions, (Action, str)):
            raise TypeError(f"{name} must be a list of actions, but got one: write [{shown(actions, show=str)}]")
        if not is_several(actions):
            raise TypeError(f"{name} must be a list of actions, but got {shown(actions)}")
        return list(dict.fromkeys(self.action(a) for a in _with_progress(actions, name)))

    def action(self, action: Action | str) -> Action:
        """Return the action with the network's states: ``do(X=1)`` finds the state ``"1"``; text is parsed.

        Raises
        ------
        TypeError
            If it is neither an `Action` nor text.
        ValueError
            If it sets an unknown variable, a latent one or the reward, or a value is no state.
        """
        if not isinstance(action, Action):
            return self._with_states(action)
        if (i := self.listed_index(action)) >= 0:
            return self.listed[i]
        given = [(v, type(s), s) for v, s in zip(action.variables, action.states, strict=True)]
        if not all(setting in self._meant for setting in given):
            found = self._with_states(action)
            self._meant |= zip(given, found.states, strict=True)
        states = tuple([self._meant[setting] for setting in given])
        return action if all(map(operator.is_, states, action.states)) else Action.of(action.variables, states)

    def _with_states(self, action: Action | str) -> Action:
        if self.worth.measured is not None and isinstance(action, (Action, str)):
            self._settable(Action.parse(action) if isinstance(action, str) else action)
        return self._settable(with_states(action, self.states))

    def _settable(self, action: Action) -> Action:
        """Return an action if all that it sets can be set, or raise."""
        for variable in action:
            if variable == self.reward or variable in self._latents:
                kind = "the reward" if variable == self.reward else "latent"
                raise ValueError(f"{shown(action, show=str)} sets {variable}, which is {kind} and cannot be set")
        return action

    @cached_property
    def merged(self) -> dict[Action, tuple[Action, ...]]:
        """For each arm, all listed arms of its class, itself first."""
        members: list[list[Action]] = [[] for _ in self.arms]
        for arm, i in zip(self.listed, self.arm_of_listed.tolist(), strict=True):
            members[i].append(arm)
        return {arm: tuple(own) for arm, own in zip(self.arms, members, strict=True)}

    def canonical_of(self, action: Action) -> Action:
        """Return the smallest action of provably equal effect, for an action with the network's states."""
        relevant = self._answers.relevant(action.variables)
        if len(relevant) == len(action):
            return action
        return Action.of(relevant, tuple([action[v] for v in relevant]))

    def index(self, action: Action) -> int:
        """Return the index of the arm whose expected reward is provably that of the action, or -1."""
        return self._index.get(self.canonical_of(action) if self.merges else action, -1)

    def listed_index(self, action: Action) -> int:
        """Return the index of an action among the listed arms, or -1: by name, not by effect."""
        try:
            return self._listed_index.get(action, -1)
        except TypeError:
            raise TypeError(f"an action must be written do(X=1) or do({{'X': 1}}), but got {shown(action)}") from None

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
    def sequence_of_set(self) -> dict[tuple[str, ...], AdmissibleSteps | None]:
        """For each set of variables that a canonical action sets its admissible sequence, or None: there is none."""
        sets = dict.fromkeys(action.variables for action in self.canonical)
        return {variables: self._answers.sequence(variables) for variables in _with_progress(sets, "identification")}

    @cached_property
    def sequences(self) -> tuple[AdmissibleSteps | None, ...]:
        """For each arm the admissible sequence of its canonical action, or None where there is none."""
        return tuple([self.sequence_of_set[action.variables] for action in self.canonical])

    def is_invariant_under(self, played: frozenset[str], variable: str, given: frozenset[str]) -> bool:
        """Return whether plays that set some variables show P(variable | given) as observation does."""
        return self._answers.is_invariant_under(played, variable, given)

    @cached_property
    def factors(self) -> frozenset[Factor]:
        """The factors of the arms' formulas (Eq. 4): P(variable | given) for each of these pairs."""
        known = [sequence for sequence in self.sequence_of_set.values() if sequence is not None]
        return frozenset(factor for sequence in known for factor in factors_of(sequence, self.reward))

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
        needed = self._names(variables) - {self.reward}
        if needed == set(self.required):
            return self
        other = copy.copy(self)
        for derived in ("required", "coding", "_encoder", "_unmerged"):
            other.__dict__.pop(derived, None)
        other._recorded = frozenset(needed)
        return other

    def _names(self, variables: Iterable[str]) -> set[str]:
        """Return variables that can be recorded, or raise."""
        names: list[Any] = list(variables) if is_several(variables) else [variables]
        if wrong := [v for v in names if not isinstance(v, str)]:
            raise TypeError(f"variables must be a list of names, but got {shown(wrong[0])}")
        if odd := sorted(set(names).difference(self.observed)):
            raise ValueError(
                f"only observed variables can be recorded, but got {shown(*odd, show=str)}"
                f"{did_you_mean(odd[0], self.observed)}"
            )
        return set(names)

    # ------------------------------------------------------------------------------------------------------ samples

    @cached_property
    def coding(self) -> Coding:
        """The coding of what policies are told: the variables required, those of the formulas and, last, the reward.

        A reward that is measured has no codes.
        """
        kept = {*self.required, *self.formula_variables}
        variables = tuple(v for v in self.observed if v in kept)
        measured = self.worth.measured
        if measured is None:
            variables = (*variables, self.reward)
        return Coding(variables, tuple(self.states[v] for v in variables), measured)

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
        costs_of_all = dict.fromkeys(self.playable, 1.0)
        if wrong := [str(action) for action in given if action not in costs_of_all]:
            raise ValueError(f"costs must be those of playable actions, but names {', '.join(wrong)}")
        if wrong := [f"{action}: {cost}" for action, cost in given.items() if not 0 < cost < np.inf]:
            raise ValueError(f"costs must be positive, but got {', '.join(wrong)}")
        return costs_of_all | given


def _with_progress(items: Iterable[Any], what: str) -> Iterable[Any]:
    """Return the items, with a progress bar on a terminal or in a notebook once they take more than a second.

    Few items do without: every bar, shown or not, takes a lock that forked processes share, and a process killed
    while it holds the lock would keep all others waiting.
    """
    if isinstance(items, Sized) and len(items) < FEW:
        return items
    return tqdm(items, what, delay=1.0, disable=None, leave=False)
