"""A CSV file of rows that grows while an experiment runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["append_rows", "kept_rows", "read_rows"]

TEXTS = ("experiment", "policy", "parameters", "radius", "certificate", "recommendation")


def read_rows(file: str | Path) -> pd.DataFrame:
    """Return the rows of a file, compressed or not, as `repeat` returned them.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it has no rows.
    """
    try:
        rows = pd.read_csv(
            file,
            dtype=dict.fromkeys(TEXTS, str),
            keep_default_na=False,
            na_values={"regret": [""], "correct": [""]},
        )
    except pd.errors.EmptyDataError:
        raise ValueError(f"{file} must have rows, but is empty") from None
    unknown = [name for name in ("regret", "correct") if name in rows and bool(rows[name].isna().all())]
    return rows.drop(columns=unknown)


def kept_rows(
    file: str | Path | None,
    experiment: str,
    parameters: Mapping[str, str],
    budgets: Mapping[str, Sequence[int]],
    seeds: Sequence[int],
) -> pd.DataFrame:
    """Return the rows of an experiment that need not be run again: those of seeds and policies that are complete.

    A last line that was cut in writing is taken off the file.
    """
    none = pd.DataFrame({"seed": [], "policy": [], "budget": []})
    if file is None or not _mended(Path(file)):
        return none
    rows = read_rows(file)
    rows = rows[(rows["experiment"] == experiment) & rows["policy"].isin(list(parameters))]
    for policy, others in rows.groupby("policy")["parameters"].unique().items():
        if strange := [text for text in others if text != parameters[str(policy)]]:
            raise ValueError(
                f"{file} has rows of {policy} with the parameters ({strange[0]}), not ({parameters[str(policy)]}); "
                "give the policy or the experiment another name, or take another file"
            )
    known = [budget in budgets[policy] for budget, policy in zip(rows["budget"], rows["policy"], strict=True)]
    rows = rows[rows["seed"].isin(list(seeds)) & np.array(known, dtype=np.bool_)]
    rows = rows.drop_duplicates(["seed", "policy", "budget"], keep="last")
    found = rows.groupby(["seed", "policy"])["budget"].transform("size")
    rows = rows[found == rows["policy"].map({policy: len(chosen) for policy, chosen in budgets.items()})]
    return rows if len(rows) else none


def append_rows(file: str | Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Append rows to a file; the first ones after a line of names."""
    path = Path(file)
    pd.DataFrame(list(rows)).to_csv(path, mode="a", header=not path.exists() or path.stat().st_size == 0, index=False)


def _mended(path: Path) -> bool:
    """Take a last line without an end off a file, and return whether any rows are left."""
    if path.suffix not in (".csv", ".txt"):
        raise ValueError(f"rows are appended to a .csv file, but got {path}")
    if not path.exists():
        return False
    text = path.read_bytes()
    whole = text[: text.rfind(b"\n") + 1]
    if len(whole) < len(text):
        path.write_bytes(whole)
    return whole.count(b"\n") > 1
