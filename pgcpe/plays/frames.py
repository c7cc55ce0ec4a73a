"""Frames with one row a play: their columns as codes of states and back, their index as actions, their way to CSV."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pgcpe.graphs.states import find_state, is_hashable, is_several, shown, state_name
from pgcpe.graphs.structure import State
from pgcpe.plays.actions import Action

__all__ = [
    "MISSING",
    "History",
    "Rows",
    "columns_of",
    "distinct_actions",
    "encode_column",
    "labels_of",
    "row_named",
    "rows_told",
    "separator_of",
    "told_actions",
]

MISSING = frozenset(
    [
        "#N/A",
        "#N/A N/A",
        "#NA",
        "-1.#IND",
        "-1.#QNAN",
        "-NaN",
        "-nan",
        "1.#IND",
        "1.#QNAN",
        "<NA>",
        "N/A",
        "NA",
        "NULL",
        "NaN",
        "None",
        "n/a",
        "nan",
        "null",
        "",
    ]
)
"""What pandas reads as a missing value, unless told otherwise."""

MOST_STATES = 20
"""A column of more distinct fractions is taken for a continuous one where its error is worded."""


Rows = tuple[tuple[Action, ...], NDArray[np.intp]]
"""The distinct actions of some plays, and which of them each play performed."""


class History(pd.DataFrame):
    """Plays, one row each, indexed by action, as a frame that survives CSV.

    `to_csv` puts a state in JSON's quotes where pandas would read something else back: ``"None"``, and ``"01"`` beside
    ``"1"``. What is read from such a file, by `pandas.read_csv` or by `read_history`, can be told.
    """

    _metadata: ClassVar[list[str]] = ["_states"]
    _states: Mapping[str, Sequence[State]] = {}

    @property
    def _constructor(self) -> type[History]:
        return History

    def to_csv(self, *args: Any, **options: Any) -> Any:
        """Write the frame as `pandas.DataFrame.to_csv` does, every state by a name that can be read back."""
        text = pd.DataFrame(self).copy(deep=False)
        for variable in text.columns.intersection(list(self._states)):
            names = {state: _written(state, self._states[variable]) for state in self._states[variable]}
            text[variable] = [names.get(state, state) for state in text[variable]]
        return text.to_csv(*args, **options)


def columns_of(codes: NDArray[np.int32], states: Mapping[str, Sequence[State]], actions: pd.Index[Any]) -> History:
    """Return the frame of codes, with the states of the variables; -1 is a missing value.

    Parameters
    ----------
    codes
        Integer array of shape (plays, variables).
    states
        The states of the variables, in the order of the columns.
    actions
        The index.
    """
    columns = {}
    for j, (variable, names) in enumerate(states.items()):
        values = np.empty(len(names) + 1, dtype=object)  # filled one by one: a state may be a tuple
        for code, state in enumerate((*names, np.nan)):
            values[code] = state
        columns[variable] = pd.Series(values[codes[:, j]], dtype=object).infer_objects()
    frame = History(pd.DataFrame(columns, index=range(len(codes)), columns=list(states)).set_axis(actions, axis=0))
    frame._states = dict(states)
    return frame


def encode_column(column: pd.Series[Any], states: Sequence[State], variable: str) -> NDArray[np.int32]:
    """Return the codes of a column, -1 where a value is missing; every distinct value is looked up once.

    Raises
    ------
    ValueError
        If a value is no state, or a number that several states are worth: how it was written is no longer known. The
        row is named.
    """
    typed = pd.api.types.is_numeric_dtype(column)
    try:
        positions, values = pd.factorize(column if typed else np.asarray(column, dtype=object))
    except TypeError:
        odd = next(value for value in column if not is_hashable(value))
        raise ValueError(f"column {variable} must hold states, one value each, but has {shown(odd)}") from None
    codes = np.full(len(values) + 1, -1, dtype=np.int32)  # the last stands for what is missing
    for i, value in enumerate(values):
        try:
            codes[i] = find_state(states, value, variable, by_name=not typed)
        except ValueError as error:
            row = int(np.argmax(positions == i))
            hint = (
                f"; a continuous column is cut into states first, as by pandas.cut(frame[{variable!r}], 3)"
                if pd.api.types.is_float_dtype(column) and len(values) > MOST_STATES
                else ""
            )
            raise ValueError(f"{row_named(row, column.index)}: {error}{hint}") from None
    return codes[positions]


def row_named(row: int, index: pd.Index[Any]) -> str:
    """Return how an error names a row of a frame: by its number and label, or by the id of its play."""
    if index.name == "id":
        return f"play {index[row]}"
    return f"row {row} (label {shown(index[row])})"


def separator_of(header: str) -> str:
    """Return what stands between the columns of a table, by its first line.

    Where a comma is the decimal point spreadsheets write semicolons.
    """
    return max(",;\t", key=header.count)


def distinct_actions(actions: Sequence[Action]) -> Rows:
    """Return the distinct actions of plays and which of them each play performed."""
    number: dict[Action, int] = {}
    which = np.array([number.setdefault(action, len(number)) for action in actions], dtype=np.intp)
    return tuple(number), which


def labels_of(frame: pd.DataFrame) -> list[Action | str] | None:
    """Return the actions that the index of a frame names, as `Samples.to_frame` writes it; None if it names none."""
    if frame.index.name != "action":
        return None
    return [label if isinstance(label, Action) else str(label) for label in frame.index]


def rows_told(actions: Any, frame: pd.DataFrame, read: Callable[[Action | str], Action]) -> Rows:
    """Return the actions of the rows of a frame; where its index names them, those given must be the same.

    Parameters
    ----------
    actions
        The action of all rows, or one for each, or None: those that the index names.
    frame
        One row a play.
    read
        What returns an action with the states of the graph.

    Raises
    ------
    ValueError
        If there are no actions, too few or too many, or a row is labelled otherwise.
    TypeError
        If one of them is no action.
    """
    named = labels_of(frame)
    if actions is not None:
        told = told_actions(actions)
    elif named is not None:
        told = list(named)
    else:
        raise ValueError("give the actions of the plays, such as do(): the samples have no index named 'action'")
    distinct: tuple[Action, ...]
    if isinstance(told, (Action, str)):
        distinct, which = (read(told),), np.zeros(len(frame), dtype=np.intp)
    else:
        known = {a: read(a) for a in dict.fromkeys(told)}
        if len(told) != len(frame):
            raise ValueError(
                f"there must be one action for each play, but got {len(told)} actions for {len(frame)} plays"
            )
        distinct, which = distinct_actions([known[a] for a in told])
    if actions is not None and named is not None:
        labels = {label: read(label) for label in dict.fromkeys(named)}
        for row, (own, i) in enumerate(zip(named, which.tolist(), strict=True)):
            if labels[own] != distinct[i]:
                raise ValueError(
                    f"row {row} is labelled {shown(own, show=str)}, which contradicts the action given, "
                    f"{shown(distinct[i], show=str)}"
                )
    return distinct, which


def told_actions(actions: Any) -> Action | str | list[Action | str]:
    """Return what was told as an action or a list of them, each an `Action` or text.

    Raises
    ------
    TypeError
        If it is none.
    """
    if isinstance(actions, (Action, str)):
        return actions
    several = is_several(actions) and not isinstance(actions, Mapping)
    some = list(actions) if several else [actions]
    if odd := [a for a in some if not isinstance(a, (Action, str))] if several else [actions]:
        raise TypeError(f"an action must be written do(X=1) or do({{'X': 1}}), but got {shown(odd[0])}")
    return some


def _written(state: State, states: Sequence[State]) -> str:
    """Return the name of a state, in JSON's quotes where something else might be read back."""
    name = state_name(state)
    if not isinstance(state, str) or all(_finds(states, read, state) for read in _readings(name)):
        return name
    return json.dumps(name, ensure_ascii=False)


def _readings(text: str) -> list[Any]:
    """Return what pandas may take a text in CSV for, by the company it finds it in."""
    readings: list[Any] = [None] if text in MISSING else [text]
    if "\r" in text:
        readings.append(None)  # an end of the line where nothing else calls for quotes
    try:
        readings.append(float(text))
    except ValueError:
        if text.lower() in ("true", "false"):
            readings.append(text.lower() == "true")
    return readings


def _finds(states: Sequence[State], value: Any, state: State) -> bool:
    try:
        return value is not None and bool(
            states[find_state(states, value, "", by_name=isinstance(value, str))] == state
        )
    except ValueError:
        return False
