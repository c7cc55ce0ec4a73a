"""Rows of experiments: their columns and types, and a CSV file of them that grows while an experiment runs."""

from __future__ import annotations

import csv
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
from filelock import BaseFileLock, FileLock

from pgcpe.graphs.states import shown

__all__ = ["COLUMNS", "append_rows", "checked_file", "frame_of", "kept_rows", "mend", "read_rows"]

TEXTS = ("experiment", "policy", "parameters", "radius", "certificate", "recommendation")
INTEGERS = ("arms", "seed", "budget", "plays", "conflicts")
NUMBERS = ("epsilon", "delta", "cost", "regret")
COLUMNS = (
    *("experiment", "policy", "parameters", "radius", "epsilon", "delta", "arms", "seed", "budget", "plays", "cost"),
    *("certificate", "recommendation", "regret", "correct", "conflicts", "stopped"),
)
"""The columns of a file; the last one is never empty, so that a line that was cut shows."""

KEY = ["experiment", "policy", "seed", "budget"]
MAY_BE_MISSING = ("epsilon", "delta", "regret", "correct")
TRUTH = {"True": True, "False": False}


def read_rows(file: str | Path) -> pd.DataFrame:
    """Return the rows of a file as `repeat` returned them; of rows that come twice the last.

    What `repeat` would resume is read: a last line that is cut is left out, and a file without rows gives none.

    Parameters
    ----------
    file
        A file that `repeat` writes, at any moment, or a compressed copy (.gz, .xz, .bz2, .zip).

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If what it has are not such rows; the line is named.
    """
    if not isinstance(file, (str, os.PathLike)):
        raise TypeError(f"file must be a path, but got {shown(file)}")
    path = Path(file).expanduser()
    source: Any = path
    if path.suffix == ".csv":  # `repeat` writes no other
        text = path.read_bytes()
        _check_names(text, file)
        if not (whole := _whole(text)):
            return frame_of([])
        source = io.BytesIO(whole)
    try:
        texts = pd.read_csv(source, dtype=str, keep_default_na=False, na_filter=False)
    except (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.ReadError, ValueError) as error:
        raise ValueError(f"{file} cannot be read: {' '.join(str(error).split())}") from None
    if missing := [name for name in COLUMNS if name not in texts]:
        raise ValueError(f"rows must be those of `repeat`, but {file} lacks {', '.join(missing)}")
    return frame_of(_typed(texts, file)).drop_duplicates(KEY, keep="last", ignore_index=True)


def frame_of(rows: Sequence[Mapping[str, Any]] | pd.DataFrame) -> pd.DataFrame:
    """Return rows as a frame with the columns of `repeat`; ``correct`` can be missing where some do not know it."""
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    frame["regret"] = frame["regret"].astype(float)
    frame["correct"] = frame["correct"].astype("boolean" if frame["correct"].isna().any() else bool)
    return frame


def checked_file(file: str | Path) -> Path:
    """Return the path of a file that rows can be appended to.

    Raises
    ------
    ValueError
        If it is no CSV file in an existing folder, or has something else than rows in it; it is not touched.
    """
    if not isinstance(file, (str, os.PathLike)):
        raise TypeError(f"file must be a path, but got {shown(file)}")
    path = Path(file).expanduser()
    if path.suffix != ".csv" or path.is_dir() or not path.parent.is_dir():
        raise ValueError(f"rows are appended to a .csv file in an existing folder, but got {shown(str(file))}")
    if path.exists():
        with path.open("rb") as lines:
            _check_names(lines.readline(10_000), file)
    return path


def _check_names(text: bytes, file: str | Path) -> None:
    """Raise unless a file begins with the line of names, or that line is cut."""
    first = text.partition(b"\n")[0].decode(errors="replace")
    names = ",".join(COLUMNS)
    if first.rstrip("\r") != names and (b"\n" in text or not names.startswith(first)):
        raise ValueError(f"{file} must be empty or have the rows of `repeat`, but begins with {first[:30]!r}")


def kept_rows(
    path: Path,
    experiment: str,
    parameters: Mapping[str, str],
    budgets: Mapping[str, Sequence[int]],
    seeds: Sequence[int],
) -> pd.DataFrame:
    """Return the rows of an experiment that need not be run again: those of seeds and policies that are complete.

    Raises
    ------
    ValueError
        If the file has rows of one of the policies with other parameters; it is not touched then.
    """
    if not path.exists():
        return frame_of([])
    rows = read_rows(path)
    rows = rows[(rows["experiment"] == experiment) & rows["policy"].isin(list(parameters))]
    for policy, others in rows.groupby("policy")["parameters"].unique().items():
        if strange := [text for text in others if text != parameters[str(policy)]]:
            raise ValueError(
                f"{path} has rows of {policy} as {strange[0]}, not as {parameters[str(policy)]}; "
                "give the policy or the experiment another name, or take another file"
            )
    known = [budget in budgets[policy] for budget, policy in zip(rows["budget"], rows["policy"], strict=True)]
    rows = rows[rows["seed"].isin(list(seeds)) & np.array(known, dtype=np.bool_)]
    found = rows.groupby(["seed", "policy"])["budget"].transform("size")
    return rows[found == rows["policy"].map({policy: len(chosen) for policy, chosen in budgets.items()})]


def append_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Append rows to a file, whole lines at once, and have them written out before it returns.

    Writers of one file, in whatever processes, take turns by a lock on ``<file>.lock``, which the system gives back
    when a process dies. Who finds the last line cut takes it off; an empty file gets the line of names first.
    """
    with _lock(path):
        if path.exists():
            _mend(path)
        with path.open("ab") as lines:
            text = pd.DataFrame(list(rows), columns=list(COLUMNS)).to_csv(header=lines.tell() == 0, index=False)
            lines.write(text.encode())
            lines.flush()
            os.fsync(lines.fileno())


def mend(path: Path) -> None:
    """Take a last line that was cut off a file; give the last line its end where that alone is missing."""
    if path.exists():
        with _lock(path):
            _mend(path)


def _lock(path: Path) -> BaseFileLock:
    return FileLock(f"{path}.lock")


def _mend(path: Path) -> None:
    with path.open("r+b") as lines:
        if lines.seek(0, os.SEEK_END) == 0 or (lines.seek(-1, os.SEEK_END) >= 0 and lines.read(1) == b"\n"):
            return
        lines.seek(0)
        text = lines.read()
        whole = _whole(text)
        lines.truncate(min(len(whole), len(text)))
        lines.write(whole[len(text) :])


def _whole(text: bytes) -> bytes:
    """Return a file without a last line that was cut; with an end to the last line.

    No text of a row has an end of line within, so that what follows the last one is a row, or was to be one.
    """
    start = text.rfind(b"\n") + 1
    if start == len(text):
        return text
    try:
        fields = next(csv.reader([text[start:].decode()], strict=True), [])
    except (csv.Error, UnicodeDecodeError):  # cut within quotes, or within a character
        fields = []
    complete = len(fields) == len(COLUMNS) and fields[-1] in (*TRUTH, COLUMNS[-1])
    return text + b"\n" if complete else text[:start]


def _typed(texts: pd.DataFrame, file: Any) -> pd.DataFrame:
    """Return the columns of a file as numbers and truths."""
    columns: dict[str, Any] = {}
    for name in COLUMNS:
        values = texts[name]
        if name in TEXTS:
            columns[name] = values
            continue
        empty = (values == "") & (name in MAY_BE_MISSING)
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
