"""Rows of experiments: their columns and types, and a CSV file of them that grows while an experiment runs."""

from __future__ import annotations

import io
import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["COLUMNS", "append_rows", "checked_file", "frame_of", "kept_rows", "read_rows"]

TEXTS = ("experiment", "policy", "parameters", "radius", "certificate", "recommendation")
INTEGERS = ("arms", "seed", "budget", "plays", "conflicts")
NUMBERS = ("epsilon", "delta", "cost", "regret")
COLUMNS = (
    *("experiment", "policy", "parameters", "radius", "epsilon", "delta", "arms", "seed", "budget", "plays", "cost"),
    *("certificate", "recommendation", "regret", "correct", "conflicts", "stopped"),
)
"""The columns of a file; the last one is never empty, so that a line that was cut shows."""

KEY = ["experiment", "policy", "seed", "budget"]
TRUTH = {"True": True, "False": False}


def read_rows(file: str | Path) -> pd.DataFrame:
    """Return the rows of a file, compressed or not, as `repeat` returned them; of rows that come twice the last.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it has no rows, or what it has are not such rows; the line is named.
    """
    return _parsed(file, file)


def _parsed(source: Any, file: str | Path) -> pd.DataFrame:
    """Return the rows of what pandas can read, which errors call `file`."""
    try:
        texts = pd.read_csv(source, dtype=str, keep_default_na=False, na_filter=False)
    except pd.errors.EmptyDataError:
        raise ValueError(f"{file} must have rows, but is empty") from None
    except (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.ReadError, ValueError) as error:
        raise ValueError(f"{file} cannot be read: {' '.join(str(error).split())}") from None
    if missing := [name for name in COLUMNS if name not in texts]:
        raise ValueError(f"rows must be those of `repeat`, but {file} lacks {', '.join(missing)}")
    return frame_of(_typed(texts, file)).drop_duplicates(KEY, keep="last", ignore_index=True)


def frame_of(rows: Sequence[Mapping[str, Any]] | pd.DataFrame) -> pd.DataFrame:
    """Return rows as a frame with the columns of `repeat`; those of the truth only where it is known somewhere."""
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    frame["regret"] = frame["regret"].astype(float)
    unknown = frame["correct"].isna()
    if unknown.all():
        return frame.drop(columns=["regret", "correct"])
    frame["correct"] = frame["correct"].astype("boolean" if unknown.any() else bool)
    return frame


def checked_file(file: str | Path) -> Path:
    """Return the path of a file that rows can be appended to.

    Raises
    ------
    ValueError
        If it is no CSV file in an existing folder, or has something else than rows in it; it is not touched.
    """
    path = Path(file).expanduser()
    if path.suffix != ".csv" or path.is_dir() or not path.parent.is_dir():
        raise ValueError(f"rows are appended to a .csv file in an existing folder, but got {file}")
    if path.exists() and path.stat().st_size > 0:
        with path.open("rb") as lines:
            first = lines.readline(10_000).decode(errors="replace")
        names = ",".join(COLUMNS)
        if first.rstrip("\r\n") != names and not names.startswith(first):  # or cut in the first line
            raise ValueError(f"{file} must be empty or have the rows of `repeat`, but begins with {first[:30]!r}")
    return path


def kept_rows(
    path: Path,
    experiment: str,
    parameters: Mapping[str, str],
    budgets: Mapping[str, Sequence[int]],
    seeds: Sequence[int],
) -> pd.DataFrame:
    """Return the rows of an experiment that need not be run again: those of seeds and policies that are complete.

    A last line that was cut in writing is taken off the file; one without an end gets it.

    Raises
    ------
    ValueError
        If the file has rows of one of the policies with other parameters; it is not touched then.
    """
    if not path.exists() or path.stat().st_size == 0:
        return frame_of([])
    text = path.read_bytes()
    whole = _whole(text)
    rows = _parsed(io.BytesIO(whole), path) if whole.count(b"\n") > 1 else frame_of([])
    rows = rows[(rows["experiment"] == experiment) & rows["policy"].isin(list(parameters))]
    for policy, others in rows.groupby("policy")["parameters"].unique().items():
        if strange := [text for text in others if text != parameters[str(policy)]]:
            raise ValueError(
                f"{path} has rows of {policy} as {strange[0]}, not as {parameters[str(policy)]}; "
                "give the policy or the experiment another name, or take another file"
            )
    if whole != text:
        path.write_bytes(whole)
    known = [budget in budgets[policy] for budget, policy in zip(rows["budget"], rows["policy"], strict=True)]
    rows = rows[rows["seed"].isin(list(seeds)) & np.array(known, dtype=np.bool_)]
    found = rows.groupby(["seed", "policy"])["budget"].transform("size")
    return rows[found == rows["policy"].map({policy: len(chosen) for policy, chosen in budgets.items()})]


def append_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Append rows to a file, the first ones after a line of names, and have them written out."""
    table = pd.DataFrame(list(rows), columns=list(COLUMNS))
    text = table.to_csv(header=not path.exists() or path.stat().st_size == 0, index=False)
    with path.open("a", encoding="utf-8", newline="") as lines:
        lines.write(text)
        lines.flush()
        os.fsync(lines.fileno())


def _whole(text: bytes) -> bytes:
    """Return a file without the line that was cut at its end, if one was; with an end to the last line."""
    end = len(text)
    while (end := text.rfind(b"\n", 0, end)) >= 0 and text.count(b'"', 0, end) % 2:
        pass  # within a quoted text a new line is no end
    last = text[end + 1 :]
    unquoted = last.count(b'"') % 2 == 0 and last.count(b",") >= len(COLUMNS) - 1
    if unquoted and last.rpartition(b",")[2] in (b"True", b"False"):
        return text + b"\n"
    return text[: end + 1]


def _typed(texts: pd.DataFrame, file: Any) -> pd.DataFrame:
    """Return the columns of a file as numbers and truths."""
    columns: dict[str, Any] = {}
    for name in COLUMNS:
        values = texts[name]
        if name in TEXTS:
            columns[name] = values
            continue
        empty = (values == "") & (name in ("regret", "correct"))
        if name in INTEGERS or name in NUMBERS:
            numbers = pd.to_numeric(values, errors="coerce")
            bad = numbers.isna() & ~empty
            if name in INTEGERS:
                bad |= numbers.astype(float) % 1 != 0
        else:
            bad = ~values.isin(list(TRUTH)) & ~empty
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise ValueError(f"{name} must be {_kind(name)}, but row {row} of {file} has {values.iloc[row]!r}")
        if name in INTEGERS:
            columns[name] = values.astype(np.int64)
        elif name in NUMBERS:
            columns[name] = [float(value) if value else np.nan for value in values]
        else:
            columns[name] = [TRUTH.get(value) for value in values]
            if name == "stopped":
                columns[name] = np.array(columns[name], dtype=np.bool_)
    return pd.DataFrame(columns)


def _kind(name: str) -> str:
    if name in INTEGERS:
        return "an integer"
    return "a number" if name in NUMBERS else "True or False"
