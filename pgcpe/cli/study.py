"""``pgcpe study``: a study of one's own, by the command line alone. Forms and plays are CSV."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pgcpe.cli.question import question
from pgcpe.cli.run import POLICIES
from pgcpe.graphs.states import did_you_mean
from pgcpe.study import Play, Study
from pgcpe.study.ledger import DISPUTED, NOT_PERFORMED
from pgcpe.study.rows import read_form

__all__ = ["REASONS", "STEPS", "carry_out"]

NOTHING_TO_PLAY = 3

REASONS = {
    "not-performed": NOT_PERFORMED,
    "lost": "lost",
    "invalid": "invalid before the outcome was seen",
    "disputed": DISPUTED,
}

WORDS = (
    (r"study\.(amend|cancel|withdraw)\((\d+)[^)]*\)", r"pgcpe study \1 STUDY --id \2"),
    (r"Study\.open\(path\) opens it( as it is)?", "pgcpe study status shows it, under another name you make a new one"),
    (r"Study\.open\(path, read_only=True\) reads it", "pgcpe study status reads it"),
    (r"Study\.create\(path, policy\) makes", "pgcpe study new makes"),
    (r"again=True tells", "--again tells"),
    (r"\breward_range\b", "--reward-range"),
)
"""What the package says to those who write Python, and what it says here."""


def carry_out(arguments: argparse.Namespace) -> int:
    """Carry out one step of a study; what goes wrong is said in the words of the command line."""
    try:
        return STEPS[arguments.step](arguments)
    except (ValueError, TypeError, OSError) as error:
        said = str(error)
        for python, command in WORDS:
            said = re.sub(python, command, said)
        if said == str(error):
            raise
        raise ValueError(said) from error


def new(arguments: argparse.Namespace) -> int:
    """Make the file of a study, and say what it asks and what has to be recorded."""
    _, bandit = question(arguments)
    policy = POLICIES[arguments.policy](bandit, epsilon=arguments.epsilon, delta=arguments.delta, seed=arguments.seed)
    study = Study.create(
        arguments.file, policy, max_plays=arguments.max_plays, max_cost=arguments.max_cost, until=arguments.until
    )
    status = study.status()
    if arguments.json:
        print(json.dumps(status.to_plain(), indent=2))
        return 0
    print(f"{arguments.file}: {status.question}")
    if "->" in arguments.network:
        print(f"States: {'; '.join(f'{v}: {_listed(own)}' for v, own in study.bandit.states.items())}.")
    print(f"To be recorded of every play: {', '.join([*study.bandit.required, study.bandit.reward])}.")
    print(f"Next: pgcpe study ask {arguments.file} --output form.csv")
    return 0


def ask(arguments: argparse.Namespace) -> int:
    """Print, or write, the form of plays to perform; say why where there are none."""
    _is_free(arguments.output)
    study = Study.open(arguments.file, read_only=arguments.pending)
    plays = study.pending if arguments.pending else study.ask(arguments.n, by=arguments.by, lease=arguments.lease)
    if arguments.json:
        print(json.dumps([_as_json(play) for play in plays], indent=2))
    elif plays:
        _write(study.form(plays), arguments.output)
    if plays:
        return 0
    status = study.status()
    why = status.reached or (status.result.stop_reason if status.stopped else "")
    if arguments.pending:
        why = "no play is pending"
    elif not why:
        why = f"{status.n_pending:,} plays are pending, and what comes next depends on their results"
    print(f"pgcpe: nothing to perform: {why}", file=sys.stderr)
    return NOTHING_TO_PLAY


def tell(arguments: argparse.Namespace) -> int:
    """Take the results of a form, or of one play."""
    study = Study.open(arguments.file)
    if (arguments.form is None) == (arguments.id is None):
        raise ValueError("say which form was filled in, or which play by --id with --value VARIABLE=STATE")
    if arguments.form is None:
        rows, left = pd.DataFrame([{"id": arguments.id, **_values(arguments.value, study)}]), 0
    elif arguments.value:
        raise ValueError("--value belongs to --id: a form holds its values itself")
    else:
        rows, left = read_form(arguments.form, study.bandit)
    told = study.tell(rows, by=arguments.by) if len(rows) else 0
    if arguments.json:
        print(json.dumps({"told": told, "told_before": len(rows) - told, "not_filled_in": left}))
        return 0
    before = f", {len(rows) - told} told before" if len(rows) > told else ""
    print(f"{told} {'play' if told == 1 else 'plays'} told{before}{f', {left} not filled in yet' if left else ''}.")
    status = study.status()
    if status.stopped:
        print(status.result.summary)
    return 0


def cancel(arguments: argparse.Namespace) -> int:
    """Give up plays that were not told."""
    Study.open(arguments.file).cancel(arguments.id, REASONS[arguments.reason], by=arguments.by)
    return 0


def withdraw(arguments: argparse.Namespace) -> int:
    """Take back the result of a play."""
    study = Study.open(arguments.file)
    study.withdraw(arguments.id, REASONS[arguments.reason], by=arguments.by, note=arguments.note)
    return 0


def amend(arguments: argparse.Namespace) -> int:
    """Correct values of a play."""
    study = Study.open(arguments.file)
    study.amend(arguments.id, _values(arguments.value, study), arguments.reason, by=arguments.by)
    return 0


def status(arguments: argparse.Namespace) -> int:
    """Print what is known, what that rests on, and whether to stop."""
    found = Study.open(arguments.file, read_only=True).status(
        needed=arguments.needed, measurements=arguments.measurements
    )
    print(json.dumps(found.to_plain(), indent=2) if arguments.json else found.to_string(arguments.rows))
    return 0


def report(arguments: argparse.Namespace) -> int:
    """Write the page."""
    if not Path(arguments.page).absolute().parent.is_dir():
        raise ValueError(f"PAGE must name a file in a folder that exists, but got {arguments.page}")
    Study.open(arguments.file, read_only=True).report(arguments.page, needed=not arguments.quick)
    print(f"Written to {arguments.page}.")
    return 0


def export(arguments: argparse.Namespace) -> int:
    """Print, or write, all plays."""
    _is_free(arguments.output)
    frame = Study.open(arguments.file, read_only=True).to_frame()
    if arguments.json:
        print(frame.to_json(orient="records", indent=2))
    else:
        _write(frame, arguments.output)
    return 0


def import_log(arguments: argparse.Namespace) -> int:
    """Take in plays of a log."""
    study = Study.open(arguments.file)
    n = study.import_log(
        arguments.log, arguments.action, missing=arguments.missing, again=arguments.again, by=arguments.by
    )
    print(json.dumps({"told": n}) if arguments.json else f"{n:,} plays told from {arguments.log}.")
    return 0


def backup(arguments: argparse.Namespace) -> int:
    """Write a copy."""
    Study.open(arguments.file, read_only=True).backup(arguments.copy)
    return 0


STEPS: dict[str, Callable[[argparse.Namespace], int]] = {
    "new": new,
    "ask": ask,
    "tell": tell,
    "cancel": cancel,
    "withdraw": withdraw,
    "amend": amend,
    "status": status,
    "report": report,
    "export": export,
    "import": import_log,
    "backup": backup,
}


def _values(texts: Sequence[str] | None, study: Study) -> dict[str, str]:
    """Return the values that several ``--value`` name; the longest variable that a text begins with is meant."""
    values: dict[str, str] = {}
    known = study.bandit.observed
    for text in texts or ():
        variable = max((v for v in known if re.match(rf"{re.escape(v)}\s*=", text)), key=len, default=None)
        if variable is None:
            named = text.partition("=")[0]
            raise ValueError(
                f"--value must be written like {study.bandit.reward}=STATE with an observed variable, "
                f"but got {text!r}{did_you_mean(named, known)}"
            )
        if variable in values:
            raise ValueError(f"--value must name a variable once, but {variable} is named twice")
        values[variable] = text[len(variable) :].lstrip().removeprefix("=").strip()
    return values


def _listed(states: Sequence[Any]) -> str:
    return ", ".join(map(str, states))


def _as_json(play: Play) -> dict[str, Any]:
    return {"id": play.id, "action": dict(play.action), "set": str(play.action), "until": play.until}


def _is_free(output: str | None) -> None:
    """Raise before anything is asked for if a file would be overwritten: it may be a form with results."""
    if output is None:
        return
    if Path(output).exists():
        raise ValueError(f"--output must name a file that does not exist, but {output} does")
    if not Path(output).absolute().parent.is_dir():
        raise ValueError(f"--output must name a file in a folder that exists, but got {output}")


def _write(frame: pd.DataFrame, output: str | None) -> None:
    if output is None:
        print(frame.to_csv(index=False), end="")
        return
    frame.to_csv(output, index=False, mode="x")
    print(f"{len(frame)} {'play' if len(frame) == 1 else 'plays'} written to {output}.", file=sys.stderr)
