"""Samples: what was observed in plays, as integer codes, with the action of each play."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numba import njit
from numpy.typing import NDArray

from pgcpe.graphs.structure import State, find_state
from pgcpe.plays.actions import Action

__all__ = [
    "Coding",
    "ForcedCodes",
    "Samples",
    "SamplesBuffer",
    "actions_of_rows",
    "as_frame",
    "distinct_actions",
    "first_contradiction",
    "told_actions",
]

Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Coding:
    """How values are coded: state ``states[j][c]`` of variable ``variables[j]`` has the code c in column j."""

    variables: tuple[str, ...]
    states: tuple[tuple[State, ...], ...]


@dataclass(frozen=True, eq=False)
class Samples:
    """The values of variables in a number of plays.

    Attributes
    ----------
    coding
        The variables and their states.
    codes
        Integer array of shape (plays, variables).
    actions
        The distinct actions performed.
    which
        Integer array of shape (plays,): play i performed ``actions[which[i]]``.
    rewards
        Float array of shape (plays,): what the plays were worth; None where no reward is defined.

    Examples
    --------
    >>> frame = pd.DataFrame({"X": ["no", "yes"], "Y": [0, 1]})
    >>> samples = Samples.from_frame(frame, {"X": ("no", "yes"), "Y": (0, 1)}, Action())
    >>> samples.codes.tolist()
    [[0, 0], [1, 1]]
    >>> samples.to_frame()
                X  Y
    action
    do()     no   0
    do()     yes  1
    """

    coding: Coding
    codes: Codes
    actions: tuple[Action, ...]
    which: NDArray[np.intp]
    rewards: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.codes)

    def rows(self, chosen: NDArray[Any] | slice) -> Samples:
        """Return the plays that a mask, an index or a slice chooses."""
        rewards = None if self.rewards is None else self.rewards[chosen]
        return Samples(self.coding, self.codes[chosen], self.actions, self.which[chosen], rewards)

    @property
    def known_rewards(self) -> NDArray[np.float64]:
        """The rewards of samples that have them.

        Raises
        ------
        ValueError
            If they have none: only a bandit says what a play is worth (`CausalBandit.encode`).
        """
        if self.rewards is None:
            raise ValueError("the samples must have rewards, but have none: encode them with bandit.encode first")
        return self.rewards

    def to_frame(self) -> pd.DataFrame:
        """Return one row a play and one column a variable, with its states; the index is the action of the play."""
        named = np.array([str(action) for action in self.actions], dtype=object)
        columns = {
            variable: pd.Series(_objects(states)[self.codes[:, j]]).infer_objects()
            for j, (variable, states) in enumerate(zip(self.coding.variables, self.coding.states, strict=True))
        }
        frame = pd.DataFrame(columns, index=range(len(self)), columns=list(self.coding.variables))
        return frame.set_axis(pd.Index(named[self.which], name="action", dtype=object), axis=0)

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        states: Mapping[str, Sequence[State]],
        actions: Action | Sequence[Action] | None = None,
    ) -> Samples:
        """Return the samples of a frame with one row a play.

        Parameters
        ----------
        frame
            Its columns must hold the variables that `states` names; others are left out.
        states
            The variables wanted and their states.
        actions
            The action of all rows, or one for each; by default the index of the frame, as `to_frame` writes it.

        Raises
        ------
        ValueError
            If a column is missing, a value is missing or no state (the row is named), or actions do not fit.
        """
        if missing := [v for v in states if v not in frame.columns]:
            raise ValueError(f"the samples must have the columns {list(states)}, but lack {missing}")
        if not frame.columns.is_unique:
            twice = sorted({str(c) for c in frame.columns[frame.columns.duplicated()]})
            raise ValueError(f"the samples must have distinct columns, but {twice} come twice")
        if actions is None and (actions := actions_of_rows(frame)) is None:
            raise ValueError("give the actions of the rows: the frame has no index named 'action'")
        coding = Coding(tuple(states), tuple(tuple(s) for s in states.values()))
        codes = np.empty((len(frame), len(states)), dtype=np.int32)
        for j, (variable, names) in enumerate(states.items()):
            codes[:, j] = _encode(frame[variable], tuple(names), variable)
        return cls(coding, codes, *distinct_actions(actions, len(frame)))


class ForcedCodes:
    """The codes that actions force on variables, -1 where they leave them free: a row for every action met so far.

    Attributes
    ----------
    table
        Integer array with a column for each variable; the rows beyond those handed out are empty.
    """

    def __init__(self, variables: Sequence[str], states: Sequence[Sequence[State]]) -> None:
        self._columns = list(zip(variables, states, strict=True))
        self._row: dict[Action, int] = {}
        self.table = np.empty((16, len(variables)), dtype=np.int32)

    def rows(self, actions: Iterable[Action]) -> NDArray[np.intp]:
        """Return the rows of `table` that belong to the actions.

        Raises
        ------
        ValueError
            If a value is no state of its variable.
        """
        known = self._row
        return np.array([known[a] if a in known else self._add(a) for a in actions], dtype=np.intp)

    def _add(self, action: Action) -> int:
        forced = [find_state(states, action[v], v) if v in action else -1 for v, states in self._columns]
        row = len(self._row)
        if row == len(self.table):
            self.table = np.concatenate([self.table, np.empty_like(self.table)])
        self.table[row] = forced
        self._row[action] = row
        return row


class SamplesBuffer:
    """Samples that grow: what a policy was told, in the order it was told."""

    def __init__(self, coding: Coding) -> None:
        self.coding = coding
        self._codes = np.empty((64, len(coding.variables)), dtype=np.int32)
        self._which = np.empty(64, dtype=np.intp)
        self._rewards = np.empty(64)
        self._actions: dict[Action, int] = {}
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def append(self, samples: Samples) -> None:
        """Add the plays of `samples`, which has the coding of the buffer and rewards."""
        start, end = self._length, self._length + len(samples)
        if end > len(self._codes):
            room = max(end, 2 * len(self._codes))
            self._codes = np.concatenate(
                [self._codes[:start], np.empty((room - start, self._codes.shape[1]), np.int32)]
            )
            self._which = np.concatenate([self._which[:start], np.empty(room - start, np.intp)])
            self._rewards = np.concatenate([self._rewards[:start], np.empty(room - start)])
        self._codes[start:end], self._rewards[start:end] = samples.codes, samples.known_rewards
        number = np.array([self._actions.setdefault(action, len(self._actions)) for action in samples.actions])
        self._which[start:end] = number[samples.which] if len(samples) else 0
        self._length = end

    def samples(self) -> Samples:
        """Return all plays so far."""
        now = slice(self._length)
        return Samples(
            self.coding,
            self._codes[now].copy(),
            tuple(self._actions),
            self._which[now].copy(),
            self._rewards[now].copy(),
        )

    def plays_by_action(self) -> dict[Action, int]:
        """Return how often each action was played, in the order of first play."""
        counts = np.bincount(self._which[: self._length], minlength=len(self._actions))
        return {action: n for action, n in zip(self._actions, counts.tolist(), strict=True) if n}


def distinct_actions(actions: Action | Sequence[Action], n_rows: int) -> tuple[tuple[Action, ...], NDArray[np.intp]]:
    """Return the distinct actions of `n_rows` plays and which of them each play performed."""
    if isinstance(actions, Action):
        return (actions,), np.zeros(n_rows, dtype=np.intp)
    if len(actions) != n_rows:
        raise ValueError(f"there must be one action for each play, but got {len(actions)} actions for {n_rows} plays")
    number: dict[Action, int] = {}
    which = np.array([number.setdefault(action, len(number)) for action in actions], dtype=np.intp)
    return tuple(number), which


def told_actions(actions: Any, frame: pd.DataFrame) -> Action | list[Action]:
    """Return the actions of a frame, one or one for each row: those given, text parsed, else those its index names.

    Raises
    ------
    TypeError
        If one of them is no action.
    """
    if actions is None:
        return actions_of_rows(frame) or Action()
    some = [actions] if isinstance(actions, (Action, str)) else list(actions)
    parsed = [Action.parse(a) if isinstance(a, str) else a for a in some]
    if odd := [a for a in parsed if not isinstance(a, Action)]:
        raise TypeError(f"an action must be written do(X=1), but got {odd[0]!r}")
    return parsed[0] if isinstance(actions, (Action, str)) else parsed


def actions_of_rows(frame: pd.DataFrame) -> list[Action] | None:
    """Return the actions that the index of a frame names, as `Samples.to_frame` writes it; None if it names none."""
    if frame.index.name != "action":
        return None
    known = {text: Action.parse(str(text)) for text in dict.fromkeys(frame.index)}
    return [known[text] for text in frame.index]


def as_frame(samples: Any) -> pd.DataFrame:
    """Return what was told as a frame: a frame, one dict for a single play, a list of dicts, or a dict of columns.

    Raises
    ------
    TypeError
        If it is none of these.
    """
    if isinstance(samples, pd.DataFrame):
        return samples
    if isinstance(samples, Samples):
        return samples.to_frame()
    if isinstance(samples, Mapping):
        columns = any(isinstance(v, (list, tuple, np.ndarray, pd.Series)) for v in samples.values())
        return pd.DataFrame(dict(samples)) if columns else pd.DataFrame([dict(samples)], dtype=object)
    if isinstance(samples, Iterable) and not isinstance(samples, (str, bytes)):
        plays = list(samples)
        if all(isinstance(play, Mapping) for play in plays):
            return pd.DataFrame([dict(play) for play in plays], dtype=object)
    raise TypeError(
        "samples must be Samples, a DataFrame, a dict {variable: state} or a list of such dicts, "
        f"but got {type(samples).__name__}"
    )


def _objects(states: Sequence[State]) -> NDArray[Any]:
    """Return the states as an object array, whatever they are."""
    array = np.empty(len(states), dtype=object)
    array[:] = states
    return array


def _encode(column: pd.Series[Any], states: tuple[State, ...], variable: str) -> NDArray[np.int32]:
    """Return the codes of a column; every distinct value is looked up once."""
    try:
        positions, values = pd.factorize(column, use_na_sentinel=True)
    except TypeError as error:
        raise ValueError(f"column {variable} must hold states, but {error}") from None
    if (positions < 0).any():
        row = int(np.argmax(positions < 0))
        raise ValueError(f"row {row} (label {column.index[row]!r}) has no value for {variable}")
    codes = np.empty(len(values), dtype=np.int32)
    for i, value in enumerate(values):
        try:
            codes[i] = find_state(states, value, variable)
        except ValueError as error:
            row = int(np.argmax(positions == i))
            raise ValueError(f"row {row} (label {column.index[row]!r}): {error}") from None
    return codes[positions]


@njit(cache=True)
def first_contradiction(codes, cardinalities, forced, action, which):  # type: ignore[no-untyped-def]
    """Return the flat position of the first code that is none or not what the action of its row forces, or -1."""
    rows, columns = codes.shape
    for i in range(rows):
        for j in range(columns):
            f = forced[action[which[i]], j]
            if (f >= 0 and codes[i, j] != f) or not 0 <= codes[i, j] < cardinalities[j]:
                return i * columns + j
    return -1
