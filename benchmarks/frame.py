"""What the studies share: run to rows, or redraw from rows; print a table, or that of the documentation."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import pandas as pd


def main(
    description: str | None,
    *,
    study: Callable[[int, int], pd.DataFrame],
    table: Callable[[pd.DataFrame], pd.DataFrame],
    markdown: Callable[[pd.DataFrame], str],
    runs: int,
) -> None:
    """Parse the arguments and do what they say.

    Parameters
    ----------
    description
        What the script says of itself.
    study
        ``study(runs, jobs)`` returns the rows.
    table, markdown
        Sum rows up: a frame, and the table of the documentation.
    runs
        How many runs by default.
    """
    parser = parser_of(description)
    parser.add_argument("--runs", type=int, default=runs, help="default %(default)s")
    parser.add_argument("--jobs", type=int, default=2, help="default %(default)s")
    arguments = parser.parse_args()
    if arguments.redraw:
        rows = read(arguments.redraw)
    else:
        rows = study(arguments.runs, arguments.jobs)
        if arguments.rows:
            write(rows, arguments.rows)
    print(markdown(rows) if arguments.markdown else table(rows).to_string(index=False, float_format="{:.3f}".format))


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the arguments that every study has: where rows go, and what is drawn of them."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=Path, help="write the rows to this CSV file, compressed if it ends in .gz")
    parser.add_argument("--redraw", type=Path, help="print the table of the rows in this CSV file")
    parser.add_argument("--markdown", action="store_true", help="print the table of the documentation")
    return parser


def as_markdown(table: pd.DataFrame) -> str:
    """Return a table of texts as Markdown; texts that look like numbers stay as they are written."""
    return table.to_markdown(index=False, tablefmt="github", disable_numparse=True)


def read(path: Path) -> pd.DataFrame:
    """Return the rows of a file."""
    return pd.read_csv(path, keep_default_na=False)


def write(rows: pd.DataFrame, path: Path) -> None:
    """Write rows to a file, the same bytes for the same rows."""
    rows.to_csv(path, index=False, compression={"method": "gzip", "mtime": 1} if path.suffix == ".gz" else None)
