"""The arguments of the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version

from pgcpe.experiments import STOPPING_POLICIES
from pgcpe.graphs.load import shipped_networks
from pgcpe.paper.figures import FIGURES

__all__ = ["parser"]

Command = Callable[[argparse.Namespace], int]


def parser(commands: Mapping[str, Command], policies: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of the command line.

    Parameters
    ----------
    commands
        Name to what carries it out; ``command`` of the parsed arguments is the one chosen.
    policies
        The names for ``--policy`` of ``run``.
    """
    parser = argparse.ArgumentParser(
        prog="pgcpe", description="Find the best intervention on a known causal graph, with a guarantee."
    )
    parser.add_argument("--version", action="version", version=f"pgcpe {version('pgcpe')}")
    add = parser.add_subparsers(required=True, metavar="COMMAND").add_parser
    network = argparse.ArgumentParser(add_help=False)
    network.add_argument(
        "network", metavar="NETWORK", help=f"a BIF or XMLBIF file, or one of {', '.join(shipped_networks())}"
    )
    network.add_argument("--latents", metavar="U1,U2", help="variables that nobody observes")
    network.add_argument("--json", action="store_true", help="print JSON")
    question = argparse.ArgumentParser(add_help=False)
    question.add_argument(
        "--reward",
        required=True,
        metavar="VARIABLE=STATE",
        help="STATE counts 1, the others 0; VARIABLE for 0/1 states",
    )
    question.add_argument("--size", type=int, help="how many variables an intervention sets")
    question.add_argument("--max-size", type=int, help="how many it sets at most (default 1)")
    question.add_argument("--variables", metavar="A,B", help="the variables that may be set (default: all)")
    question.add_argument("--values", metavar="yes,no", help="the states they may be set to (default: all)")

    question.add_argument("--epsilon", type=float, default=0.05, help="tolerance (default %(default)s)")
    level = argparse.ArgumentParser(add_help=False)
    level.add_argument("--delta", type=float, default=0.05, help="error probability (default %(default)s)")

    command = add("run", parents=[network, question, level], help="simulate a study until it stops")
    command.add_argument("--policy", choices=policies, default="pooled", help="default %(default)s")
    command.add_argument("--seed", type=int, default=0, help="of the environment and of ties (default %(default)s)")
    command.add_argument("--budget", type=int, help="the most plays (default: no limit)")
    command.add_argument("--rows", type=int, default=10, help="arms to print (default %(default)s)")
    command.add_argument("--plot", metavar="FILE", help="draw the intervals to a PNG, SVG or PDF file")
    command.set_defaults(command=commands["run"])

    command = add(
        "plan", parents=[network, question, level], help="say how many plays a study would take, NETWORK being a guess"
    )
    command.add_argument(
        "--policy", choices=list(STOPPING_POLICIES), action="append", help="may be repeated (default: all)"
    )
    command.add_argument("--runs", type=int, default=20, help="simulated studies of each (default %(default)s)")
    command.add_argument("--budget", type=int, default=20_000, help="plays to break off after (default %(default)s)")
    command.add_argument("--seed", type=int, default=0, help="the first of the seeds (default %(default)s)")
    command.set_defaults(command=commands["plan"])

    command = add("arms", parents=[network, question], help="list the arms and what is known of them")
    command.set_defaults(command=commands["arms"])

    command = add("identify", parents=[network], help="say how an effect follows from observation")
    command.add_argument("--reward", required=True, metavar="VARIABLE", help="the outcome")
    command.add_argument("--do", action="append", required=True, metavar='"A=1"', help="a treatment; may be repeated")
    command.set_defaults(command=commands["identify"])
    command = add(
        "figure",
        help="draw a figure of the paper's experiments, from rows or anew",
        description="Draw a figure of the paper's experiments. Rows of the project itself are in its data/results.",
    )
    command.add_argument("name", choices=list(FIGURES), help="the figure")
    command.add_argument("--rows", metavar="FILE", help="rows to draw; with --runs: continued until there are N runs")
    command.add_argument("--runs", type=int, metavar="N", help="compute this many runs of every point")
    command.add_argument("--jobs", type=int, default=1, help="how many runs at once (default %(default)s)")
    command.add_argument("--plot", metavar="FILE", help="PNG, SVG or PDF file (default: figure_NAME.png)")
    command.add_argument("--json", action="store_true", help="print JSON")
    command.set_defaults(command=commands["figure"])
    return parser
