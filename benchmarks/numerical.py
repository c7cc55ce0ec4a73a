"""Plays until the numerical rule for tables stops, on the questions of stops.py, made as there.

    python benchmarks/numerical.py --rows data/results/numerical.csv

epsilon = 0, delta = .05, a new graph each run but for Experiment 3. What to play was chosen on seeds 0 to 19, so that
these begin at another.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import frame
import pandas as pd
import stops

from pgcpe import PooledCCPE
from pgcpe.experiments import read_rows

NUMERICAL = {"PooledCCPE, numerical": partial(PooledCCPE, guarantee="numerical", refresh=stops.NEVER, **stops.FIXED)}
FIRST_SEED = 1000
NAMES = ["Experiment 3, n = 5", "Experiment 2"]


def study(runs: int, jobs: int) -> pd.DataFrame:
    """Return the rows."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "rows.csv"
        for name in NAMES:
            stops.run(name, NUMERICAL, runs, jobs, file, FIRST_SEED)
        return read_rows(file)


def markdown(rows: pd.DataFrame) -> str:
    """Return the table of the README."""
    lines = [
        {
            "experiment": line.experiment,
            "arms": line.arms,
            "runs": line.runs,
            "plays to stop (95 %)": f"{line.plays:,.0f} ({line.low:,.0f} to {line.high:,.0f})",
            "wrong": line.wrong,
        }
        for line in stops.table(rows).itertuples()
    ]
    return frame.as_markdown(pd.DataFrame(lines).astype(str))


if __name__ == "__main__":
    frame.main(__doc__, study=study, table=stops.table, markdown=markdown, runs=20)
