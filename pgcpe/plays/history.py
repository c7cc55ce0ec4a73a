"""Plays from a file: what `policy.history` wrote to CSV comes back as it was."""

from __future__ import annotations

import os
from typing import IO, Any

import numpy as np
import pandas as pd

from pgcpe.graphs.states import shown, state_name
from pgcpe.plays.encoding import Question, check_question
from pgcpe.plays.frames import MISSING, History, columns_of, encode_column, separator_of
from pgcpe.plays.reward_scale import measured_values

__all__ = ["read_history"]


def read_history(path: str | os.PathLike[str] | IO[str], bandit: Question) -> History:
    r"""Return the plays in a CSV file with the states of a bandit: the inverse of ``policy.history.to_csv(path)``.

    Every field is read as text and found among the states, so that a state named ``"None"``, ``"01"`` or ``"TRUE"``
    stays what it is. Other names for missing values, and empty fields, are missing values. A file in which a
    spreadsheet wrote semicolons or tabs is read as well; in it a comma in a number is a decimal point.

    Parameters
    ----------
    path
        A file, or an open one, with a header. The column ``action`` holds the actions as text; a log without it is told
        with the action of its rows, as in ``policy.tell(do(), read_history("log.csv", bandit))``.
    bandit
        Whose variables are read; other columns are left out.

    Returns
    -------
    History
        A frame indexed by action, to be told as it is: ``policy.tell(read_history("plays.csv", bandit))``.

    Raises
    ------
    ValueError
        If the file is no table, a column stands twice, a text is no action of the bandit or a value no state.

    Examples
    --------
    >>> import io
    >>> from pgmpy.base import DAG
    >>> from pgcpe import CausalBandit, do, read_history
    >>> bandit = CausalBandit(DAG([("X", "Y")]), reward="Y", arms=[do(X="01")], states={"X": ("1", "01")})
    >>> read_history(io.StringIO('action,X,Y\ndo(),01,0\ndo(X=01),01,1\n'), bandit)
                 X  Y
    action
    do()        01  0
    do(X="01")  01  1
    """
    check_question(bandit)
    if not isinstance(path, (str, os.PathLike)) and not hasattr(path, "read"):
        raise TypeError(f"path must name a file, or be one that is open, but got {shown(path)}")
    if isinstance(path, str) and "\n" in path:
        raise ValueError(
            "path must name a file: read a text that is no file as read_history(io.StringIO(text), bandit)"
        )
    separator = _separator(path)
    table = pd.read_csv(path, header=None, dtype=str, keep_default_na=False, sep=separator)
    header, table = [str(name) for name in table.iloc[0]], table.iloc[1:].reset_index(drop=True)
    label = _label(header, table, bandit)
    place = {name: j for j, name in enumerate(header) if j != label}
    measured = bandit.coding.measured
    named = {*bandit.states, *bandit.coding.columns}
    known = [v for j, v in enumerate(header) if v in named and j != label]
    wanted = [v for v in known if v in bandit.states]
    if twice := sorted({v for v in known if known.count(v) > 1}):
        raise ValueError(f"the file must have distinct columns, but [{shown(*twice)}] come twice")
    index: pd.Index[Any] = pd.RangeIndex(len(table))
    if label is not None:
        index = pd.Index([_action(text, row, bandit) for row, text in enumerate(table[label])], dtype=object)
        index.name = "action"
    codes = np.empty((len(table), len(wanted)), dtype=np.int32)
    for j, variable in enumerate(wanted):
        states, column = bandit.states[variable], table[place[variable]]
        nothing = MISSING.difference(map(state_name, states))
        codes[:, j] = encode_column(column.where(~column.isin(nothing)), states, variable)
    history = columns_of(codes, {v: bandit.states[v] for v in wanted}, index)
    if measured is not None and measured.variable in known:
        values = table[place[measured.variable]]
        values = values if separator == "," else values.str.replace(",", ".", regex=False)
        history[measured.variable] = measured_values(values, measured)
    return history


def _separator(path: str | os.PathLike[str] | IO[str]) -> str:
    """Return what stands between the columns: a comma unless the header of a file of text has none."""
    if not isinstance(path, (str, os.PathLike)) or not os.path.isfile(path):
        return ","
    try:
        with open(path, encoding="utf-8-sig") as file:
            header = file.readline()
    except UnicodeDecodeError:  # a file that pandas unpacks
        return ","
    return "," if "," in header else separator_of(header)


def _label(header: list[str], table: pd.DataFrame, bandit: Question) -> int | None:
    """Return which column names the actions: the first called so, unless it is alone and that of a variable."""
    if "action" not in header:
        return None
    first = header.index("action")
    if "action" in bandit.states and header.count("action") == 1 and not table[first].str.startswith("do(").all():
        return None
    return first


def _action(text: str, row: int, bandit: Question) -> str:
    try:
        return str(bandit.action(text))
    except (ValueError, TypeError) as error:
        raise ValueError(f"row {row}: {error}") from None
