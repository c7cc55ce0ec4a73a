"""Logs that a study begins with, or takes in later: plays that nobody asked for."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pgcpe._checks import one_of
from pgcpe.bandit import CausalBandit
from pgcpe.plays.encoding import as_frame
from pgcpe.plays.frames import rows_told
from pgcpe.plays.history import read_history
from pgcpe.study.rows import values_of

__all__ = ["Log", "read_log"]


class Log(NamedTuple):
    """A log as a study keeps it: of each row action and values; where it is from; how many rows lacked what."""

    rows: list[dict[str, Any]]
    source: str
    lacking: dict[str, int]


def read_log(log: Any, actions: Any, bandit: CausalBandit, missing: str) -> Log:
    """Return the plays of a log, checked: see `Study.import_log`."""
    one_of("missing", missing, ("raise", "drop"))
    source = ""
    if isinstance(log, (str, os.PathLike)):
        source, log = Path(log).name, read_history(log, bandit)
    frame = as_frame(log)
    if "action" in frame.columns and "action" not in bandit.states:
        frame = frame.set_index("action")
    distinct, which = rows_told(actions, frame, bandit.action)
    variables = [v for v in bandit.observed if v in frame.columns]
    values = values_of(pd.DataFrame(frame)[variables].astype(object), bandit)
    lacking: Counter[str] = Counter()
    kept = []
    for row, (own, k) in enumerate(zip(values, which.tolist(), strict=True)):
        absent = [v for v in bandit.required if v not in own and v not in distinct[k]]
        lacking.update(absent[:1] if missing == "drop" else ())
        if not absent or missing == "raise":
            kept.append(row)
    bandit.encode([distinct[k] for k in which[kept]], pd.DataFrame(frame).iloc[np.array(kept, dtype=np.intp)])
    return Log([{"action": dict(distinct[which[row]]), "values": values[row]} for row in kept], source, dict(lacking))
