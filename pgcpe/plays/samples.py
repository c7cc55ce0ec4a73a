"""Samples: what was observed in plays, as integer codes, with the action of each play."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pgcpe.graphs.states import find_state, shown
from pgcpe.graphs.structure import State
from pgcpe.plays.actions import Action, with_states
from pgcpe.plays.frames import History, columns_of, encode_column, row_named, rows_told
from pgcpe.plays.reward_scale import Measured, measured_shares, numbers_of

__all__ = ["Coding", "ForcedCodes", "Samples", "SamplesBuffer"]

Codes = NDArray[np.int32]

SHOWN = 20
"""How many plays are displayed in Jupyter."""


@dataclass(frozen=True, eq=False)
class Coding:
    """How values are coded: state ``states[j][c]`` of variable ``variables[j]`` has the code c in column j.

    A reward that is `measured` is no column of codes: its values are the rewards of the samples.
    """

    variables: tuple[str, ...]
    states: tuple[tuple[State, ...], ...]
    measured: Measured | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The variables that plays have values of, a measured reward last."""
        return self.variables if self.measured is None else (*self.variables, self.measured.variable)


@dataclass(frozen=True, eq=False, repr=False)
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
        Float array of shape (plays,): what the plays were worth, in [0, 1] (`RewardScale.share`); None where no reward
        is defined.

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

    def __init__(
        self,
        coding: Coding,
        codes: Codes,
        actions: tuple[Action, ...],
        which: NDArray[np.intp],
        rewards: NDArray[np.float64] | None = None,
    ) -> None:
        """Set the fields: .4 microseconds in place of the 1.1 of a frozen dataclass's constructor."""
        vars(self).update(coding=coding, codes=codes, actions=actions, which=which, rewards=rewards)

    def __repr__(self) -> str:
        plays, actions = len(self), len(self.actions)
        return (
            f"Samples({plays:,} {'play' if plays == 1 else 'plays'} of {actions:,} "
            f"{'action' if actions == 1 else 'actions'}, {len(self.coding.variables)} variables)"
        )

    def _repr_html_(self) -> str:
        shown = self.rows(slice(0, SHOWN)).to_frame().to_html(border=0)
        return f"<p>{escape(repr(self))}</p>{shown}"

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

    def measured(self, reward: Measured) -> NDArray[np.float64]:
        """Return the rewards as shares of a range: from those measured, or from states that are named by numbers.

        Raises
        ------
        ValueError
            If a value is missing, no number or out of the range.
        """
        own = self.coding.measured
        if own is not None and own == reward:
            return self.known_rewards
        if own is not None and own.variable == reward.variable:
            values = own.scale.told(self.known_rewards)
        else:
            j = self.coding.variables.index(reward.variable)
            values = np.append(numbers_of(self.coding.states[j], reward), np.nan)[self.codes[:, j]]
        return measured_shares(pd.Series(values), reward)

    def to_frame(self) -> History:
        """Return one row a play and one column a variable, with its states; the index is the action of the play.

        A reward that is measured is the last column, in the user's unit.
        """
        named = np.array([str(action) for action in self.actions], dtype=object)
        states = dict(zip(self.coding.variables, self.coding.states, strict=True))
        frame = columns_of(self.codes, states, pd.Index(named[self.which], name="action", dtype=object))
        if self.coding.measured is not None:
            frame[self.coding.measured.variable] = self.coding.measured.scale.told(self.known_rewards)
        return frame

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        states: Mapping[str, Sequence[State]],
        actions: Action | Sequence[Action | str] | None = None,
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
        if not isinstance(frame, pd.DataFrame) or not isinstance(states, Mapping):
            raise TypeError(
                "samples come from a DataFrame and a mapping of variables to their states, but got "
                f"{type(frame).__name__} and {type(states).__name__}"
            )
        if missing := [v for v in states if v not in frame.columns]:
            raise ValueError(f"the samples must have the columns [{shown(*states)}], but lack [{shown(*missing)}]")
        if not frame.columns.is_unique:
            twice = sorted({str(c) for c in frame.columns[frame.columns.duplicated()]})
            raise ValueError(f"the samples must have distinct columns, but [{shown(*twice)}] come twice")
        coding = Coding(tuple(states), tuple(tuple(s) for s in states.values()))
        named = dict(zip(coding.variables, coding.states, strict=True))
        rows = rows_told(actions, frame, lambda action: with_states(action, named, partly=True))
        codes = np.empty((len(frame), len(states)), dtype=np.int32)
        for j, (variable, names) in enumerate(states.items()):
            codes[:, j] = encode_column(frame[variable], names, variable)
            if (codes[:, j] < 0).any():
                row = int(np.argmax(codes[:, j] < 0))
                raise ValueError(f"{row_named(row, frame.index)} has no value for {variable}")
        return cls(coding, codes, *rows)


class ForcedCodes:
    """The codes that actions force on variables, -1 where they leave them free: a row for every action met so far.

    Attributes
    ----------
    table
        Integer array with a column for each variable; the rows beyond those handed out are empty.
    """

    def __init__(self, variables: Sequence[str], states: Sequence[Sequence[State]]) -> None:
        self._columns = {v: (j, states) for j, (v, states) in enumerate(zip(variables, states, strict=True))}
        self._row: dict[Action, int] = {}
        self.table = np.empty((16, len(variables)), dtype=np.int32)

    def rows(self, actions: Iterable[Action]) -> NDArray[np.intp]:
        """Return the rows of `table` that belong to the actions.

        Raises
        ------
        ValueError
            If a value is no state of its variable.
        """
        known = self._row.get
        return np.array([self._add(a) if (row := known(a)) is None else row for a in actions], dtype=np.intp)

    def _add(self, action: Action) -> int:
        row = len(self._row)
        if row == len(self.table):
            self.table = np.concatenate([self.table, np.empty_like(self.table)])
        self.table[row] = -1
        for variable, state in zip(action.variables, action.states, strict=True):
            if variable in self._columns:
                column, states = self._columns[variable]
                self.table[row, column] = find_state(states, state, variable)
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

    def actions(self, start: int = 0) -> tuple[Action, ...]:
        """Return the distinct actions in the order of first play, from the one of that number on."""
        return tuple(itertools.islice(self._actions, start, None))

    def arrays(self) -> tuple[NDArray[np.int32], NDArray[np.intp], NDArray[np.float64]]:
        """Return the codes, the numbers of the actions and the rewards of all plays so far, as views to be read."""
        now = slice(self._length)
        return self._codes[now], self._which[now], self._rewards[now]

    def samples(self) -> Samples:
        """Return all plays so far."""
        codes, which, rewards = self.arrays()
        return Samples(self.coding, codes.copy(), self.actions(), which.copy(), rewards.copy())

    def samples_between(self, start: int, end: int) -> Samples:
        """Return the plays from one number to another as views, to be read."""
        codes, which, rewards = self.arrays()
        some = slice(start, end)
        return Samples(self.coding, codes[some], self.actions(), which[some], rewards[some])

    def plays_by_action(self) -> dict[Action, int]:
        """Return how often each action was played, in the order of first play."""
        counts = np.bincount(self._which[: self._length], minlength=len(self._actions))
        return {action: n for action, n in zip(self._actions, counts.tolist(), strict=True) if n}
