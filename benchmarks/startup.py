"""Time of an import and of short commands, each in a fresh process: seconds of CPU and of a clock.

    python benchmarks/startup.py --version now --rows data/results/startup.csv

Of all repeats the least counts. The first run compiles the loops into an empty folder; all others find them compiled.
Rows in the file are kept, but those of the same version; those of an older version come from this script with
PYTHONPATH set to a checkout of it.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pandas as pd
from frame import as_markdown, write

PGCPE = ["-m", "pgcpe"]
PGMPY, FIRST = "import pgmpy's networks", "first pgcpe run"
COMMANDS = {
    PGMPY: ["-c", "from pgmpy.models import DiscreteBayesianNetwork"],
    "import pgcpe": ["-c", "import pgcpe"],
    "pgcpe --help": [*PGCPE, "--help"],
    "pgcpe identify": [*PGCPE, "identify", "asia", "--reward", "dysp", "--do", "smoke=yes"],
    "pgcpe run": [*PGCPE, "run", "asia", "--reward", "dysp=yes", "--budget", "100"],
    FIRST: [*PGCPE, "run", "asia", "--reward", "dysp=yes", "--budget", "100"],
}
"""What follows the name of the interpreter."""

VERSIONS = ["eager", "before", "now"]
"""The commit 8a865db, when all was imported at once; b2ee6af; and this one."""

UNFINISHED = 3
"""What ``pgcpe run`` returns when the budget is spent before it stops."""


def seconds(command: list[str], cache: str | None = None) -> tuple[float, float]:
    """Run a command in a process of its own; return its seconds of CPU and of the clock.

    Parameters
    ----------
    command
        What follows the name of the interpreter.
    cache
        Where compiled loops are kept, if not where they are.
    """
    environment = os.environ | ({} if cache is None else {"NUMBA_CACHE_DIR": cache})
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    elsewhere = tempfile.gettempdir()  # the folder that one is in comes before PYTHONPATH
    done = subprocess.run([sys.executable, *command], env=environment, cwd=elsewhere, capture_output=True, text=True)
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - start
    if done.returncode not in (0, UNFINISHED):
        raise RuntimeError(f"{command} must succeed, but said {done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def row_of(version: str, name: str, repeats: int) -> dict[str, Any]:
    """Return the least times of a command."""
    times = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as empty:
            times.append(seconds(COMMANDS[name], empty if name == FIRST else None))
    cpu, wall = (min(column) for column in zip(*times, strict=True))
    return {"version": version, "command": name, "cpu": round(cpu, 3), "wall": round(wall, 3), "repeats": repeats}


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return seconds by version, and CPU now beside that of importing pgmpy's networks."""
    lines = []
    for name in COMMANDS:
        line = {"command": name}
        for kind in ("cpu", "wall"):
            for version in VERSIONS:
                some = rows[(rows["command"] == name) & (rows["version"] == version)]
                line[f"{kind}, {version}"] = f"{some[kind].iloc[0]:.2f}" if len(some) else ""
        now = rows[rows["version"] == "now"].set_index("command")["cpu"]
        lines.append(line | {"ratio": f"{now[name] / now[PGMPY]:.2f}" if {name, PGMPY} <= set(now.index) else ""})
    return pd.DataFrame(lines)


def main() -> None:
    """Measure, or draw the table of what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", default="now", choices=VERSIONS, help="default %(default)s")
    parser.add_argument("--repeats", type=int, default=3, help="default %(default)s")
    parser.add_argument("--rows", type=Path, help="add the rows to this CSV file")
    parser.add_argument("--redraw", type=Path, help="print the table of the rows in this CSV file")
    parser.add_argument("--markdown", action="store_true", help="print the table of the README")
    arguments = parser.parse_args()
    if arguments.redraw:
        rows = pd.read_csv(arguments.redraw)
    else:
        for name in COMMANDS:
            if name != FIRST:
                seconds(COMMANDS[name])  # once, so that all is compiled and in memory
        rows = pd.DataFrame([row_of(arguments.version, name, arguments.repeats) for name in COMMANDS])
        if arguments.rows:
            if arguments.rows.exists():
                kept = pd.read_csv(arguments.rows)
                rows = pd.concat([kept[kept["version"] != arguments.version], rows], ignore_index=True)
            write(rows, arguments.rows)
    drawn = table(rows)
    print(as_markdown(drawn) if arguments.markdown else drawn.to_string(index=False))


if __name__ == "__main__":
    main()
