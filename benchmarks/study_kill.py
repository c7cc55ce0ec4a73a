"""SIGKILL at random moments under four processes that ask and tell in one file: is any told play lost or doubled?

    python benchmarks/study_kill.py --runs 200 --rows data/results/study_kill.csv

Four processes share a study. Each asks for two plays, performs them and tells them, over and over; what `tell` returned
for it notes in a file of its own. At a random moment one of them is killed and another one takes its place; once in ten
times all four are. In the end the file is opened anew. The results of a play are a function of its id, so that every
play that counts can be checked, and an uninterrupted study of the same plays in the same order be told the same.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import tempfile
import time
import warnings
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from frame import as_markdown, parser_of, write

from pgcpe import LUCB, Study
from pgcpe.paper import parallel
from pgcpe.plays.actions import Action

PROCESSES, AT_A_TIME, ALL = 4, 2, 10
SECONDS = (0.02, 0.4)
"""Between two kills."""


def policy() -> LUCB:
    """Return the policy of the study, told nothing; it does not stop."""
    question = parallel([0.5, 0.5], [0.5, 0.1], 0.2)
    return LUCB(question.bandit, epsilon=0.0, delta=1e-300)


def outcome(number: int, action: Action) -> dict[str, int]:
    """Return the result of a play: a function of its id and action."""
    rng = np.random.default_rng(number)
    return {"X1": 0, "X2": 0, **action, "Y": int(rng.random() < 0.3 + 0.4 * action.get("X1", 0))}


def worker(path: Path, notes: Path) -> None:
    """Ask, perform and tell until killed; note what was told after it was."""
    warnings.simplefilter("ignore")
    study = Study.open(path)
    with open(notes, "a", buffering=1) as note:
        while True:
            plays = study.ask(AT_A_TIME, by=str(os.getpid()))
            study.tell(plays, [outcome(play.id, play.action) for play in plays], by=str(os.getpid()))
            note.write("".join(f"{play.id}\n" for play in plays))


def killed(runs: int, seed: int, folder: Path) -> list[dict[str, Any]]:
    """Return a row for each moment: how many were killed, what the file held, and whether it was whole."""
    path, rng = folder / "killed.pgcpe", np.random.default_rng(seed)
    Study.create(path, policy())
    context = multiprocessing.get_context("fork")
    number, rows = 0, []

    def started() -> Any:
        nonlocal number
        number += 1
        process = context.Process(target=worker, args=(path, folder / f"{number}.told"), daemon=True)
        process.start()
        return process

    alive = [started() for _ in range(PROCESSES)]
    for moment in range(runs):
        time.sleep(float(rng.uniform(*SECONDS)))
        hit = range(PROCESSES) if moment % ALL == ALL - 1 else [int(rng.integers(PROCESSES))]
        for i in hit:
            os.kill(alive[i].pid, signal.SIGKILL)
        for i in hit:
            alive[i].join()
        rows.append({"moment": moment, "killed": len(hit), **checked(path, folder)})
        for i in hit:
            alive[i] = started()
    for process in alive:
        process.kill()
        process.join()
    return rows


def checked(path: Path, folder: Path) -> dict[str, Any]:
    """Return what the file holds, beside what its writers noted before."""
    noted = [int(line) for file in folder.glob("*.told") for line in file.read_text().splitlines()]
    with closing(sqlite3.connect(path, timeout=30)) as connection:
        (whole,) = connection.execute("PRAGMA integrity_check").fetchone()
        told = [play for (play,) in connection.execute("SELECT play FROM event WHERE kind = 'told'")]
    return {
        "told": len(told),
        "lost": len(set(noted) - set(told)),
        "doubled": len(told) - len(set(told)),
        "file": whole,
    }


def finished(path: Path) -> dict[str, Any]:
    """Return whether the study opens, every result is that of its play, and an uninterrupted one agrees with it."""
    study, alone = Study.open(path), policy()
    frame = study.to_frame()
    told = frame[frame["state"] == "told"].set_index("id")
    wrong = sum(row["Y"] != outcome(i, Action.parse(row["action"]))["Y"] for i, row in told.iterrows())
    order = [event.play for event in study._replay.journal.events() if event.kind == "told"]
    for i in order:  # one by one
        alone.tell(Action.parse(told.loc[i, "action"]), outcome(i, Action.parse(told.loc[i, "action"])))
    same = alone.recommendation == study.policy.recommendation and alone.ask() == study.policy.ask()
    ends = [np.array_equal(getattr(alone.intervals, e), getattr(study.policy.intervals, e)) for e in ("lower", "upper")]
    return {"plays": len(told), "wrong": wrong, "same": bool(same and all(ends))}


def run(runs: int, seed: int = 0) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the rows of all moments, and how the study was in the end."""
    with tempfile.TemporaryDirectory() as folder:
        rows = pd.DataFrame(killed(runs, seed, Path(folder)))
        return rows, finished(Path(folder) / "killed.pgcpe")


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the sums of the rows."""
    line = {
        "moments": f"{len(rows)}",
        "processes killed": f"{rows['killed'].sum()}",
        "plays told": f"{rows['told'].max():,}",
        "lost": f"{rows['lost'].max()}",
        "doubled": f"{rows['doubled'].max()}",
        "file whole": f"{(rows['file'] == 'ok').sum()} of {len(rows)}",
        "results of another play": f"{rows['wrong'].max()}",
        "same as uninterrupted": "yes" if rows["same"].all() else "no",
    }
    return pd.DataFrame([line])


def main() -> None:
    """Kill, or draw the table of what was found."""
    parser = parser_of(__doc__)
    parser.add_argument("--runs", type=int, default=200, help="moments (default %(default)s)")
    arguments = parser.parse_args()
    if arguments.redraw:
        rows = pd.read_csv(arguments.redraw)
    else:
        rows, end = run(arguments.runs)
        rows = rows.assign(wrong=end["wrong"], same=end["same"])
        if arguments.rows:
            write(rows, arguments.rows)
    print(as_markdown(table(rows)) if arguments.markdown else table(rows).to_string(index=False))


if __name__ == "__main__":
    main()
