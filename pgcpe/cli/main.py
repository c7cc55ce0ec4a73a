"""The command line: ``pgcpe run``, ``plan``, ``arms``, ``identify``, ``check``, ``figure``, ``study``."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module

from pgcpe.cli.arguments import parser

__all__ = ["main"]

BAD_INPUT, INTERRUPTED = 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    0: the stopping rule was satisfied. 2: bad input, with one line that says what. 3: the budget is spent, or the graph
    refuted, without a certificate. 130: interrupted; ``pgcpe run`` has printed the result so far.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="pgmpy")
        warnings.showwarning = lambda message, *_, **__: print(f"pgcpe: warning: {message}", file=sys.stderr)
        try:
            arguments = parser().parse_args(argv)
            return int(import_module(f"pgcpe.cli.{arguments.command}").carry_out(arguments))
        except (ValueError, TypeError, OSError, ImportError) as error:
            print(f"pgcpe: {' '.join(str(error).split())}", file=sys.stderr)
            return BAD_INPUT
        except KeyboardInterrupt:
            print("pgcpe: interrupted", file=sys.stderr)
            return INTERRUPTED
