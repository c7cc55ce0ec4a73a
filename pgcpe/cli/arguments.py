"""The arguments of the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib.metadata import version
from typing import NoReturn, TypeAlias

from pgcpe.cli.choices import FIGURES, PLANNED, POLICIES, REASONS
from pgcpe.graphs.shipped import shipped_networks

__all__ = ["parser"]

Steps: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


class Parser(argparse.ArgumentParser):
    """A parser that raises ValueError, so that arguments and what they name are refused in one way."""

    def error(self, message: str) -> NoReturn:
        """Raise the message, ``argument --seed: must be ...`` as a sentence, with the way to the help."""
        sentence = message.removeprefix("argument ").replace(": must ", " must ", 1)
        raise ValueError(f"{sentence} (see {self.prog} --help)")


def parser() -> Parser:
    """Return the parser of the command line; ``command`` of the parsed arguments is the name of the one chosen."""
    parser = Parser(prog="pgcpe", description="Find the best intervention on a known causal graph, with a guarantee.")
    parser.add_argument("--version", action="version", version=f"pgcpe {version('pgcpe')}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    network, question, level = _network(), _question(), _level()
    drawn = _network(", or edges like 'dose -> cured; diet -> cured' with --states")
    _add_run(commands.add_parser("run", parents=[network, question, level], help="simulate a study until it stops"))
    _add_plan(
        commands.add_parser(
            "plan",
            parents=[network, question, level],
            help="say how many plays a study would take, NETWORK being a guess",
        )
    )
    commands.add_parser("arms", parents=[network, question], help="list the arms and what is known of them")
    _add_identify(commands.add_parser("identify", parents=[network], help="say how an effect follows from observation"))
    _add_check(
        commands.add_parser(
            "check", parents=[network], help="say what logged plays refute of a graph; exit code 3 if they do"
        )
    )
    _add_figure(
        commands.add_parser(
            "figure",
            help="draw a figure of the paper's experiments, from rows or anew",
            description="Draw a figure of the paper's experiments. Rows of the project itself are in its data/results.",
        )
    )
    _add_study(
        commands.add_parser(
            "study",
            help="carry out a study of your own: ask for plays, perform them, tell the results",
            description="Carry out a study of your own, which is kept in a file: new makes one, ask says which plays "
            "to perform, tell takes the results, status says what is known and whether to stop.",
        ),
        [drawn, question, level],
    )
    return parser


def _network(other: str = "") -> Parser:
    network = Parser(add_help=False)
    network.add_argument(
        "network", metavar="NETWORK", help=f"a BIF or XMLBIF file, or one of {', '.join(shipped_networks())}{other}"
    )
    network.add_argument(
        "--latents", metavar="U1,U2", help='variables that nobody observes; quote names with commas: U1,"dose, in mg"'
    )
    network.add_argument("--json", action="store_true", help="print JSON")
    return network


def _question() -> Parser:
    question = Parser(add_help=False)
    question.add_argument(
        "--reward",
        required=True,
        metavar="VARIABLE=STATE",
        help="STATE counts 1, the others 0; VARIABLE for 0/1 states, or a number (see --reward-range)",
    )
    question.add_argument(
        "--reward-range",
        nargs=2,
        type=float,
        metavar=("LOW", "HIGH"),
        help="the reward is a number, never below LOW or above HIGH, as in --reward-range 0 60 for minutes",
    )
    question.add_argument("--minimise", "--minimize", action="store_true", help="less of the reward is better")
    question.add_argument("--size", type=_integer(0), help="how many variables an intervention sets")
    question.add_argument("--max-size", type=_integer(0), help="how many it sets at most (default 1)")
    question.add_argument("--variables", metavar="A,B", help="the variables that may be set (default: all)")
    question.add_argument("--values", metavar="yes,no", help="the states they may be set to (default: all)")
    question.add_argument(
        "--epsilon", type=float, help="tolerance, in the unit of the reward (default: a twentieth of its range)"
    )
    return question


def _level() -> Parser:
    level = Parser(add_help=False)
    level.add_argument("--delta", type=float, default=0.05, help="error probability (default %(default)s)")
    return level


def _add_run(run: argparse.ArgumentParser) -> None:
    run.add_argument("--policy", choices=POLICIES, default="pooled", help="default %(default)s")
    run.add_argument("--seed", type=_integer(0), default=0, help="of the environment and of ties (default %(default)s)")
    run.add_argument("--budget", type=int, help="the most plays (default: no limit)")
    run.add_argument("--rows", type=_integer(1), default=10, help="arms to print (default %(default)s)")
    run.add_argument("--plot", metavar="FILE", help="draw the intervals to a PNG, SVG or PDF file")


def _add_plan(plan: argparse.ArgumentParser) -> None:
    plan.add_argument("--policy", choices=PLANNED, action="append", help="may be repeated (default: all)")
    plan.add_argument("--runs", type=_integer(1), default=20, help="simulated studies of each (default %(default)s)")
    plan.add_argument("--budget", type=int, default=20_000, help="plays to break off after (default %(default)s)")
    plan.add_argument("--seed", type=_integer(0), default=0, help="the first of the seeds (default %(default)s)")
    plan.add_argument("--recording", metavar="A,B", help="what is recorded besides what is set (default: all)")
    plan.add_argument(
        "--measurements",
        action="store_true",
        help="say what leaving out each measurement would cost PooledCCPE in plays",
    )


def _add_identify(identify: argparse.ArgumentParser) -> None:
    identify.add_argument("--reward", required=True, metavar="VARIABLE", help="the outcome")
    identify.add_argument("--do", action="append", required=True, metavar='"A=1"', help="a treatment; may be repeated")


def _add_check(check: argparse.ArgumentParser) -> None:
    check.add_argument(
        "log", metavar="LOG", help="a CSV file, one row a play; its column action, if any, holds actions like do(A=1)"
    )
    check.add_argument(
        "--level", type=float, default=0.05, help="how probably a right graph is refuted (default %(default)s)"
    )
    check.add_argument("--rows", type=_integer(1), default=10, help="statements to print (default %(default)s)")
    check.add_argument("--drop-missing", action="store_true", help="leave out rows that lack a value")
    check.add_argument("--plot", metavar="FILE", help="draw the graph and its doubtful pairs to a PNG, SVG or PDF file")


def _add_figure(figure: argparse.ArgumentParser) -> None:
    figure.add_argument("name", choices=FIGURES, help="the figure")
    figure.add_argument("--rows", metavar="FILE", help="rows to draw; with --runs: continued until there are N runs")
    figure.add_argument("--runs", type=_integer(1), metavar="N", help="compute this many runs of every point")
    figure.add_argument("--jobs", type=_integer(1), default=1, help="how many runs at once (default %(default)s)")
    figure.add_argument("--plot", metavar="FILE", help="PNG, SVG or PDF file (default: figure_NAME.png)")
    figure.add_argument("--json", action="store_true", help="print JSON")


def _add_study(study: argparse.ArgumentParser, question: list[Parser]) -> None:
    """Add the steps of a study: each takes its file first."""
    steps = study.add_subparsers(required=True, metavar="STEP", dest="step")
    file, shown, person = Parser(add_help=False), Parser(add_help=False), Parser(add_help=False)
    file.add_argument("file", metavar="STUDY", help="the file of the study")
    shown.add_argument("--json", action="store_true", help="print JSON")
    person.add_argument("--by", metavar="NAME", help="who you are")
    _add_new(steps.add_parser("new", parents=[file, *question], help="make the file of a study"))
    _add_plays(steps, file, shown, person)
    _add_changes(steps, file, person)
    _add_known(steps, file, shown)


def _add_new(new: argparse.ArgumentParser) -> None:
    new.add_argument("--states", action="append", metavar="A=low,high", help="of a graph written as edges; repeated")
    new.add_argument("--policy", choices=POLICIES, default="pooled", help="default %(default)s")
    new.add_argument("--seed", type=_integer(0), default=0, help="of ties (default %(default)s)")
    new.add_argument("--cost", action="append", metavar='"do()=0.1"', help="of a play of an action; repeated")
    new.add_argument("--max-plays", type=_integer(1), metavar="N", help="end after so many plays")
    new.add_argument("--max-cost", type=float, metavar="COST", help="end at such a cost")
    new.add_argument("--until", metavar="TIME", help="end at such a time, as in '2026-05-31 18:00'")


def _add_plays(steps: Steps, file: Parser, shown: Parser, person: Parser) -> None:
    """Add what asks for plays and tells them."""
    ask = steps.add_parser("ask", parents=[file, person, shown], help="print a form of plays to perform (CSV)")
    ask.add_argument("-n", type=_integer(1), help="how many (default: what the policy would play at once)")
    ask.add_argument("--lease", metavar="'2 days'", help="after what time others may be given them (default: never)")
    ask.add_argument("--output", metavar="FORM", help="write the form to a file that does not exist")
    ask.add_argument("--pending", action="store_true", help="ask for nothing: the form of all pending plays again")

    tell = steps.add_parser("tell", parents=[file, person, shown], help="take the results of a form that was filled in")
    tell.add_argument("form", metavar="FORM", nargs="?", help="the form (CSV); rows that are not filled in are left")
    tell.add_argument("--id", type=_integer(1), help="in place of a form: the play")
    _add_values(tell, required=False)

    log = steps.add_parser("import", parents=[file, person, shown], help="take in plays of a log (CSV)")
    log.add_argument("log", metavar="LOG", help="a row a play, with a column action unless --action says it")
    log.add_argument("--action", metavar='"do()"', help='what all rows did, "do()" for passive observation')
    log.add_argument("--missing", choices=("raise", "drop"), default="raise", help="rows that lack a value")
    log.add_argument("--again", action="store_true", help="the very same log may be told twice")


def _add_changes(steps: Steps, file: Parser, person: Parser) -> None:
    """Add what goes otherwise."""
    several, one = Parser(add_help=False), Parser(add_help=False)
    several.add_argument("--id", type=_integer(1), action="append", required=True, help="the play; may be repeated")
    one.add_argument("--id", type=_integer(1), required=True, help="the play")
    cancel = steps.add_parser("cancel", parents=[file, several, person], help="give up plays that were not told")
    cancel.add_argument("--reason", choices=("not-performed", *REASONS), default="not-performed", help=_REASONS)
    withdraw = steps.add_parser("withdraw", parents=[file, one, person], help="take back the result of a play")
    withdraw.add_argument("--reason", choices=REASONS, required=True, help=_REASONS)
    withdraw.add_argument("--note", default="", help="anything else")
    amend = steps.add_parser("amend", parents=[file, one, person], help="correct values of a play")
    amend.add_argument("--reason", required=True, help="why, in words")
    _add_values(amend, required=True)


def _add_known(steps: Steps, file: Parser, shown: Parser) -> None:
    """Add what shows and copies."""
    status = steps.add_parser("status", parents=[file, shown], help="say what is known, and whether to stop")
    status.add_argument("--needed", action="store_true", help="say how many plays more it takes (takes a while)")
    status.add_argument(
        "--measurements", action="store_true", help="say what leaving out each measurement would cost in plays"
    )
    status.add_argument("--rows", type=_integer(1), default=10, help="arms to print (default %(default)s)")
    report = steps.add_parser("report", parents=[file], help="write a page (HTML) of where the study stands")
    report.add_argument("page", metavar="PAGE", help="where it goes, as in report.html; one that exists is replaced")
    report.add_argument("--quick", action="store_true", help="do not work out how many plays more it takes")
    export = steps.add_parser("export", parents=[file, shown], help="print all plays (CSV)")
    export.add_argument("--output", metavar="PLAYS", help="write them to a file that does not exist")
    backup = steps.add_parser("backup", parents=[file], help="write a copy, whoever writes meanwhile")
    backup.add_argument("copy", metavar="COPY", help="a file that does not exist")


_REASONS = "disputed: because of its outcome, which the certificate will say; else lost, or invalid before it was seen"


def _add_values(parser: argparse.ArgumentParser, *, required: bool) -> None:
    parser.add_argument(
        "--value", action="append", required=required, metavar="VARIABLE=STATE", help="what was observed; repeated"
    )


def _integer(least: int) -> Callable[[str], int]:
    """Return what reads an integer of at least `least`."""

    def read(text: str) -> int:
        """Return a whole number written as one, or say what it must be."""
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be an integer, but got {text!r}") from None
        if number < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, but got {number}")
        return number

    return read
