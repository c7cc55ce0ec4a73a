"""Rows that people tell: the id of a play, what was observed, and columns of their own; forms that ask for them."""

from __future__ import annotations

import io
import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pgcpe.bandit import CausalBandit
from pgcpe.graphs.states import did_you_mean, is_several, plain, shown, state_name
from pgcpe.graphs.structure import State
from pgcpe.plays.actions import Action
from pgcpe.plays.frames import MISSING, encode_column, separator_of
from pgcpe.plays.reward_scale import measured_values
from pgcpe.study.ledger import Play

__all__ = ["RESERVED", "Row", "form", "read_form", "rows_told", "values_of"]

RESERVED = ("id", "action", "state", "asked_by", "asked_at", "until", "told_by", "told_at", "left_out", "amended")
"""Columns that a study has of its own."""

OBSERVE = "nothing: observe"


class Row(NamedTuple):
    """What was told of one play: its id, its action if the row names it, values, and the user's own columns."""

    id: int
    action: str
    values: dict[str, State]
    extra: dict[str, Any]


def rows_told(plays: Any, values: Any, bandit: CausalBandit) -> list[Row]:
    """Return what was told, checked but for the plays.

    Parameters
    ----------
    plays
        A frame with a column ``id``, or an id with a dict of values, or ids with a list of dicts or a frame.
    values
        What was observed; None where `plays` is a frame.
    bandit
        Whose observed variables are values; other columns are the user's own.

    Raises
    ------
    TypeError, ValueError
        If it is none of these, a column or an id stands twice, an id is none, or a value is no state.
    """
    frame = _as_frame(plays, values)
    if not frame.columns.is_unique:
        twice = sorted({str(c) for c in frame.columns[frame.columns.duplicated()]})
        raise ValueError(f"the rows must have distinct columns, but [{shown(*twice)}] come twice")
    if odd := [c for c in frame.columns if not isinstance(c, str)]:
        raise TypeError(f"columns must be named by text, but got {shown(odd[0])}")
    if own := [c for c in frame.columns if c in RESERVED[2:]]:
        raise ValueError(f"the columns {', '.join(own)} are those of a study itself: leave them out, or rename them")
    ids = [_id(value) for value in frame["id"]]
    if several := [i for i, n in Counter(ids).items() if n > 1]:
        raise ValueError(f"each play must be told in one row, but [{shown(*several)}] come twice")
    actions = [str(a) if _is_given(a) else "" for a in frame["action"]] if "action" in frame else [""] * len(ids)
    frame = frame.drop(columns=[c for c in ("id", "action") if c in frame]).set_axis(pd.Index(ids, name="id"), axis=0)
    variables = [v for v in bandit.observed if v in frame.columns]
    observed = values_of(frame[variables], bandit)
    extra = frame.drop(columns=variables)
    return [
        Row(i, action, own, _extra(more))
        for i, action, own, more in zip(ids, actions, observed, extra.to_dict("records"), strict=True)
    ]


def values_of(frame: pd.DataFrame, bandit: CausalBandit) -> list[dict[str, State]]:
    """Return for each row of a frame of variables the states that it has, by variable; without what is missing.

    A reward that is measured has a number, in the user's unit.

    Raises
    ------
    ValueError
        If a value is no state; the row is named.
    """
    out: list[dict[str, State]] = [{} for _ in range(len(frame))]
    for variable in frame.columns:
        if bandit.worth.measured is not None and variable == bandit.reward:
            for row, value in enumerate(measured_values(frame[variable], bandit.worth.measured).tolist()):
                if not math.isnan(value):
                    out[row][variable] = value
            continue
        states = bandit.states[variable]
        blank = "" not in map(state_name, states)
        column = frame[variable]
        if blank and not pd.api.types.is_numeric_dtype(column):
            column = column.where(column.map(lambda value: not (isinstance(value, str) and value.strip() == "")))
        for row, code in enumerate(encode_column(column, states, variable).tolist()):
            if code >= 0:
                out[row][variable] = plain(states[code])
    return out


def form(plays: Sequence[Play], bandit: CausalBandit) -> pd.DataFrame:
    """Return the form of plays to perform: id, action, what to set in words, and the columns to record.

    What a play sets is filled in; what is to be recorded is empty.
    """
    variables = [*bandit.required, bandit.reward]
    columns: dict[str, list[Any]] = {
        "id": [play.id for play in plays],
        "action": [str(play.action) for play in plays],
        "set": [", ".join(f"{v} = {s}" for v, s in play.action.items()) or OBSERVE for play in plays],
    }
    columns |= {v: [play.action.get(v, "") for play in plays] for v in variables}
    return pd.DataFrame(columns, dtype=object)


def read_form(path: str | os.PathLike[str], bandit: CausalBandit) -> tuple[pd.DataFrame, int]:
    """Return the rows of a form (CSV) that were filled in, to be told, and how many were not.

    Every field is read as text: a state named ``"None"`` or ``"01"`` stays what it is. A row whose columns to record
    are all empty was not filled in. Where semicolons or tabs part the columns, a comma in a number is a decimal point.

    Raises
    ------
    ValueError
        If it is no table with a column ``id``.
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            text = file.read()
        separator = separator_of(text.partition("\n")[0])
        table = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False, sep=separator)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} must be a table (CSV, in UTF-8), but {error}") from None
    table.columns = table.columns.str.strip()
    if "id" not in table.columns:
        raise ValueError(f"{path} must have a column id, as the forms of ask have, but has {shown(*table.columns)}")
    table = table.drop(columns=["set"], errors="ignore")
    for variable in table.columns.intersection(list(bandit.observed)):
        nothing = MISSING.difference(map(state_name, bandit.states.get(variable, ())))
        written = table[variable].str.strip()
        if variable not in bandit.states and separator != ",":
            written = written.str.replace(",", ".", regex=False)
        table[variable] = written.astype(object).where(~written.isin(nothing), np.nan)
    recorded = [v for v in (*bandit.required, bandit.reward) if v in table.columns]
    if bandit.reward not in recorded:
        raise ValueError(f"{path} must have a column {bandit.reward}, the reward, but has {shown(*table.columns)}")
    settings = [_settings(text) for text in table["action"]] if "action" in table.columns else [()] * len(table)
    filled = np.array(
        [
            any(isinstance(value, str) for v, value in zip(recorded, row, strict=True) if v not in set_)
            for row, set_ in zip(table[recorded].itertuples(index=False), settings, strict=True)
        ],
        dtype=np.bool_,
    )
    return table[filled], int((~filled).sum())


def _settings(action: str) -> tuple[str, ...]:
    """Return the variables that an action in words sets; none if it is no action."""
    try:
        return Action.parse(action).variables
    except ValueError:
        return ()


def _as_frame(plays: Any, values: Any) -> pd.DataFrame:
    if isinstance(plays, pd.DataFrame) and values is None:
        if "id" not in plays.columns:
            raise ValueError(
                f"the rows must have a column id, the number that ask gave the play, but have "
                f"{shown(*map(str, plays.columns))}{did_you_mean('id', map(str, plays.columns))}"
            )
        return plays
    if values is None:
        raise TypeError("tell a play as study.tell(id, {variable: state}), or rows as a DataFrame with a column id")
    if isinstance(plays, (Real, str, Play)) and isinstance(values, Mapping):
        plays, values = [plays], [values]
    if isinstance(plays, pd.DataFrame) or not is_several(plays):
        raise TypeError(f"plays must be named by their ids, but got {shown(plays)}")
    ids: list[Any] = list(plays)
    if isinstance(values, pd.DataFrame):
        frame = values.reset_index(drop=True)
    elif is_several(values) and all(isinstance(row, Mapping) for row in values):
        frame = pd.DataFrame([dict(row) for row in values], index=range(len(list(values))), dtype=object)
    else:
        raise TypeError(f"values must be a dict {{variable: state}} for each play, but got {shown(values)}")
    if len(frame) != len(ids):
        raise ValueError(f"there must be one row for each play, but got {len(ids)} ids and {len(frame)} rows")
    if "id" in frame.columns:
        raise ValueError("the rows name ids of their own: tell them alone, as study.tell(rows)")
    frame.insert(0, "id", pd.Series(ids, dtype=object))
    return frame


def _id(value: Any) -> int:
    if isinstance(value, Play):
        return value.id
    value = plain(value)
    text = value.strip() if isinstance(value, str) else value
    if isinstance(text, str) and text.isdecimal():
        return int(text)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ValueError(f"an id must be the number that ask gave the play, but got {shown(value)}")


def _is_given(value: Any) -> bool:
    return not (value is None or value is pd.NA or value is pd.NaT or value == "" or value != value)


def _extra(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a user's own columns as JSON has them; others than numbers and truth values as text."""
    out = {}
    for name, value in row.items():
        value = plain(value)
        if not _is_given(value):
            continue
        native = isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value))
        out[str(name)] = value if native else str(value)
    return out


def checked_ids(plays: Any) -> list[int]:
    """Return the ids of one play or several."""
    some: Iterable[Any] = plays if is_several(plays) else [plays]
    return [_id(play) for play in some]
