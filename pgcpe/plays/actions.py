"""Interventions as values, and sets of interventions as lists."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any

import networkx as nx

from pgcpe._checks import flag
from pgcpe.graphs.identification import relevant_treatments
from pgcpe.graphs.states import did_you_mean, find_state, is_hashable, is_several, plain, shown
from pgcpe.graphs.structure import State, States, checked_graph, latents_of, states_of

__all__ = ["Action", "do", "equal_effect", "interventions", "with_states"]

NUMBER = re.compile(r"[-+]?(\d+\.?\d*([eE][-+]?\d+)?|\.\d+([eE][-+]?\d+)?|inf|nan)")
QUOTED = r'\s*"(?:[^"\\]|\\.)*"\s*'
ITEM = re.compile(rf'({QUOTED}|[^=",]*)=({QUOTED}|[^,"]*)(,|$)', re.DOTALL)
MOST_ARMS = 1_000_000


class Action(Mapping[str, State]):
    """An intervention ``do(S=s)``: a frozen, hashable mapping of variable to state.

    Two actions are equal when they set the same variables to equal states, in whatever order they were written.
    ``str(action)`` is the paper's notation and `parse` reads it back.

    Parameters
    ----------
    settings
        The variables and the states they are set to; none for the null intervention ``do()``.

    Examples
    --------
    >>> Action({"X2": 0, "X1": 1})
    do(X1=1, X2=0)
    >>> Action.parse("do(X1=1, X2=0)") == do(X2=0, X1=1)
    True
    """

    __slots__ = ("_states", "_variables")

    def __init__(self, settings: Mapping[str, State] = {}) -> None:
        if not isinstance(settings, Mapping):
            raise TypeError(f"an action must be written do(X=1) or do({{'X': 1}}), but got {shown(settings)}")
        own = {v: plain(s) for v, s in settings.items()}
        for variable, state in own.items():
            if not is_hashable(state):
                raise TypeError(f"a state must be one value, but {variable} is set to the unhashable {shown(state)}")
            if not isinstance(variable, str) or variable == "":
                raise TypeError(f"a variable must be named by a string that is not empty, but got {shown(variable)}")
        self._variables = tuple(sorted(own))
        self._states = tuple([own[v] for v in self._variables])

    @classmethod
    def of(cls, variables: tuple[str, ...], states: tuple[State, ...]) -> Action:
        """Return the action that sets variables, sorted by name, to states in their order; nothing is checked.

        The tuples are kept as they are: a hundred thousand actions on the same sets share those of their variables.
        """
        action = cls.__new__(cls)
        action._variables, action._states = variables, states
        return action

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that are set, sorted by name: S of ``do(S=s)``."""
        return self._variables

    @property
    def states(self) -> tuple[State, ...]:
        """The states they are set to, in the same order: s of ``do(S=s)``."""
        return self._states

    def __getitem__(self, variable: str) -> State:
        if variable not in self._variables:
            raise KeyError(variable)
        return self._states[self._variables.index(variable)]

    def __contains__(self, variable: object) -> bool:
        return variable in self._variables

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def __hash__(self) -> int:
        return hash((self._variables, self._states))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Action) and self._variables == other._variables and self._states == other._states

    def __reduce__(self) -> tuple[Any, tuple[tuple[str, ...], tuple[State, ...]]]:
        return Action.of, (self._variables, self._states)

    def __str__(self) -> str:
        items = (f"{_quote(v, '=')}={_written(s)}" for v, s in self.items())
        return f"do({', '.join(items)})"

    __repr__ = __str__

    @classmethod
    def parse(cls, text: str) -> Action:
        """Return the action that `text` writes, as ``str`` gives it.

        Every item is split at its first ``=``. An unquoted state that is a number without leading zeros is read as one,
        anything else as a string; double quotes (JSON's) protect strings that look like a number or hold a comma, a
        quote or blanks at the ends. A state of another type is read back as its name, by which a bandit finds it.

        Raises
        ------
        ValueError
            If `text` is no action, or sets a variable twice.
        """
        return cls({v: s if quoted else _number(s) for v, (s, quoted) in _settings(text).items()})


def do(settings: Mapping[str, State] | None = None, /, **more: State) -> Action:
    """Return the action that sets variables to states: ``do()``, ``do(X=1)``, ``do({"X-1": "high"}, Y=0)``.

    Raises
    ------
    ValueError
        If a variable is set twice.
    """
    settings = Action({} if settings is None else settings)
    if twice := sorted(set(settings) & set(more)):
        raise ValueError(f"a variable must be set once, but {twice} are set twice")
    return Action({**settings, **more})


def with_states(action: Action | str, states: States, *, partly: bool = False) -> Action:
    """Return an action with the states of its variables as they are named there.

    Text is read with every state as it is written: ``do(X=1e3)`` finds ``"1e3"``, and not ``"1000"``.

    Parameters
    ----------
    action
        The action, or its text.
    states
        The states of the variables.
    partly
        Whether other variables may be set as well; they are left as they are.

    Raises
    ------
    TypeError
        If it is neither an `Action` nor text.
    ValueError
        If it sets an unknown variable, or a value is no state.
    """
    if isinstance(action, str):
        written = {v: (s if v in states or quoted else _number(s)) for v, (s, quoted) in _settings(action).items()}
        action = Action(written)
    if not isinstance(action, Action):
        raise TypeError(f"an action must be written do(X=1) or do({{'X': 1}}), but got {shown(action)}")
    for variable in () if partly else action:
        if variable not in states:
            raise ValueError(
                f"{shown(action, show=str)} sets {shown(variable, show=str)}, which is no variable of the graph"
                f"{did_you_mean(variable, states)}"
            )
    found = {v: plain(states[v][find_state(states[v], s, v)]) if v in states else s for v, s in action.items()}
    same = all(type(s) is type(action[v]) and s == action[v] for v, s in found.items())
    return action if same else Action(found)  # the same object is found fastest


def equal_effect(graph: nx.DiGraph, action: Action, outcome: str) -> Action:
    """Return the smallest action that provably has the same effect on the outcome (`relevant_treatments`).

    Examples
    --------
    >>> from pgmpy.base import DAG
    >>> equal_effect(DAG([("A", "B"), ("B", "Y")]), do(A=1, B=0), "Y")
    do(B=0)
    """
    if not isinstance(action, Mapping):
        raise TypeError(f"an action must be written do(X=1) or do({{'X': 1}}), but got {shown(action)}")
    matters = relevant_treatments(graph, action, outcome)
    return Action({v: s for v, s in action.items() if v in matters})


def interventions(
    graph: nx.DiGraph,
    *,
    reward: str,
    variables: Iterable[str] | None = None,
    size: int | None = None,
    max_size: int | None = None,
    values: Sequence[State] | Mapping[str, Sequence[State]] | None = None,
    states: Mapping[str, Sequence[State]] | None = None,
    null: bool = True,
) -> list[Action]:
    """Return all interventions on small sets of observed variables.

    Parameters
    ----------
    graph
        A pgmpy ``DAG`` or network; a bare graph has the states 0 and 1 unless `states` says otherwise.
    reward
        The reward variable, which is never intervened on.
    variables
        The variables that may be set; by default all that are observed, the reward excepted.
    size, max_size
        How many variables are set at once: exactly `size`, or from one up to `max_size` (1 if neither is given).
    values
        The states that may be used: one list for all variables, or a mapping that restricts those it names.
    null
        Whether the null intervention ``do()`` comes first.

    Returns
    -------
    list of Action
        By number of variables, then in the order of the graph's nodes, then of their states.

    Raises
    ------
    ValueError
        If a name is unknown, the reward or latent; if a value is no state; if sizes make no sense; or if there would
        be more than a million actions.

    Examples
    --------
    >>> from pgmpy.base import DAG
    >>> interventions(DAG([("X1", "X2"), ("X2", "Y")]), reward="Y", size=1, values=[1])
    [do(), do(X1=1), do(X2=1)]
    """
    known = {v: tuple(map(plain, some)) for v, some in states_of(graph, states).items()}
    graph = checked_graph(graph)
    allowed = _settable(graph, reward, variables)
    if size is not None and max_size is not None:
        raise ValueError(f"give size or max_size, but got size={size} and max_size={max_size}")
    largest = size if size is not None else max_size if max_size is not None else 1
    if not isinstance(largest, Integral):
        raise TypeError(f"size must be an integer, but got {shown(largest)}")
    if not 0 <= largest <= len(allowed):
        raise ValueError(f"size must be between 0 and {len(allowed)}, the number of variables, but got {largest}")
    options = _options(allowed, known, values)
    sizes = range(1, largest + 1) if size is None else [largest] * (largest > 0)
    if _count([len(options[v]) for v in allowed], sizes) > MOST_ARMS:
        raise ValueError(f"there are over {MOST_ARMS:,} such interventions: restrict variables, values or the size")
    actions = [do()] if flag("null", null) or size == 0 else []
    for n in sizes:
        for chosen in itertools.combinations(allowed, n):
            variables = tuple(sorted(chosen))
            place = [chosen.index(v) for v in variables]
            for setting in itertools.product(*(options[v] for v in chosen)):
                actions.append(Action.of(variables, tuple([setting[i] for i in place])))
    return actions


def _settable(graph: nx.DiGraph, reward: str, variables: Iterable[str] | None) -> list[str]:
    """Return the observed variables other than the reward that may be set, in the order of the graph."""
    hidden = latents_of(graph)
    if reward not in graph or reward in hidden:
        known_names = [v for v in graph if v not in hidden]
        raise ValueError(
            f"reward must be a variable of the graph that is observed, but got {shown(reward)}"
            f"{did_you_mean(reward, known_names)}; there are {shown(*known_names, show=str)}"
        )
    allowed = [v for v in graph.nodes if v != reward and v not in hidden]
    if variables is not None:
        names = list(variables) if is_several(variables) else [variables]
        if odd := [v for v in names if not isinstance(v, str)]:
            raise TypeError(f"variables must be a list of names, but got {shown(odd[0])}")
        chosen = set(names)
        if wrong := sorted(map(str, chosen - set(allowed))):
            raise ValueError(
                f"variables must be observed variables other than the reward, but got {shown(*wrong, show=str)}"
                f"{did_you_mean(wrong[0], allowed)}; there are {shown(*allowed, show=str)}"
            )
        allowed = [v for v in allowed if v in chosen]
    return allowed


def _options(allowed: list[str], states: dict[str, tuple[State, ...]], values: Any) -> dict[str, tuple[State, ...]]:
    """Return the states each variable may be set to."""
    if values is None:
        return {v: states[v] for v in allowed}
    lists = list(values.values()) if isinstance(values, Mapping) else [values]
    if odd := [some for some in lists if not is_several(some)]:
        got = shown(odd[0])
        raise TypeError(f"values must be a list of states or a mapping of variable to such lists, but got {got}")
    if isinstance(values, Mapping):
        values = {v: tuple(some) for v, some in values.items()}
        if wrong := sorted(map(str, set(values) - set(allowed))):
            raise ValueError(
                f"values names {shown(*wrong, show=str)}, which may not be set{did_you_mean(wrong[0], allowed)}"
            )
    else:
        values = dict.fromkeys(allowed, tuple(values))
    if empty := sorted(v for v, some in values.items() if len(some) == 0):
        raise ValueError(f"values must name at least one state, but names none for {shown(*empty, show=str)}")
    return {
        v: tuple(dict.fromkeys(states[v][find_state(states[v], s, v)] for s in values[v])) if v in values else states[v]
        for v in allowed
    }


def _count(numbers: list[int], sizes: Iterable[int]) -> int:
    """Return how many ways there are to choose `sizes` variables and a state of each (elementary symmetric sums)."""
    sums = [1, *([0] * len(numbers))]
    for number in numbers:
        for k in range(len(numbers), 0, -1):
            sums[k] += sums[k - 1] * number
    return sum(sums[k] for k in sizes)


def _quote(name: str, also: str = "") -> str:
    """Return a name as it is where `Action.parse` would read it so, else in JSON's quotes."""
    plain = name.strip() == name != "" and not re.search(f'[,"{also}\\n\\r]', name)
    return name if plain and (also or not NUMBER.fullmatch(name)) else json.dumps(name, ensure_ascii=False)


def _written(state: State) -> str:
    """Return a state as `Action.parse` reads it back, or else reads its name."""
    return str(state) if isinstance(state, (int, float)) else _quote(str(state))


def _settings(text: str) -> dict[str, tuple[str, bool]]:
    """Return for each variable that an action's text sets the state as it is written, and whether in quotes."""
    if not isinstance(text, str):
        raise TypeError(f"an action must be read from a string, but got {shown(text)}")
    wrong = f"an action must be written like 'do(X1=1, X2=yes)', but got {shown(text)}"
    match = re.fullmatch(r"\s*do\((.*)\)\s*", text, re.DOTALL)
    if not match:
        raise ValueError(wrong)
    settings: dict[str, tuple[str, bool]] = {}
    rest = match[1].strip()
    while rest:
        item = ITEM.match(rest)
        if not item or not item[1].strip() or (item[3] == "," and not rest[item.end() :].strip()):
            raise ValueError(wrong)
        (variable, _), state = (_unquoted(part.strip()) for part in item.group(1, 2))
        if variable in settings:
            raise ValueError(f"{shown(text)} sets {shown(variable, show=str)} twice")
        settings[variable] = state
        rest = rest[item.end() :]
    return settings


def _unquoted(text: str) -> tuple[str, bool]:
    return (json.loads(text), True) if text.startswith('"') else (text, False)


def _number(text: str) -> State:
    """Return the number that a text writes; another text, and a code with leading zeros, as it is."""
    if not NUMBER.fullmatch(text) or re.match(r"[-+]?0\d", text):
        return text
    number = float(text)
    return int(text) if re.fullmatch(r"[-+]?\d+", text) else number if math.isfinite(number) else text
