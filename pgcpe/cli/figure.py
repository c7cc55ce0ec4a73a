"""``pgcpe figure``: a figure of the paper, from rows, new runs, or rows continued by new runs."""

from __future__ import annotations

import argparse
import sys

from pgcpe.cli.question import check_picture
from pgcpe.experiments import read_rows
from pgcpe.paper.figures import FIGURES

__all__ = ["carry_out"]


def carry_out(arguments: argparse.Namespace) -> int:
    """Draw a figure of the paper, from rows, new runs, or rows continued by new runs, and print its numbers."""
    drawn = FIGURES[arguments.name]
    picture = arguments.plot or f"figure_{arguments.name}.png"
    check_picture(picture)
    if arguments.runs is None and arguments.rows is None:
        raise ValueError("say --rows FILE to redraw rows, --runs N to compute them, or both to continue a file")
    if arguments.runs is None:
        rows = read_rows(arguments.rows)
    else:
        rows = drawn.rows(arguments.runs, file=arguments.rows, n_jobs=arguments.jobs)
    numbers = drawn.numbers(rows)
    if arguments.json:
        print(numbers.to_json(orient="records", indent=2))
    else:
        print(f"{drawn.title}\nThe paper: {drawn.claim}\n")
        for panel, mine in numbers.groupby("panel", sort=False):
            table = mine.pivot(index="x", columns="policy", values="y")[list(dict.fromkeys(mine["policy"]))]
            runs = " to ".join(f"{n:,}" for n in sorted({mine["runs"].min(), mine["runs"].max()}))
            print(f"{panel}, {runs} runs\n{table.to_string(float_format='{:,.4g}'.format)}\n")
        print("Best first; < where the 95 % intervals are apart, ~ where they are not:\n")
        print(drawn.order(rows).to_string(index=False))
    drawn.draw(rows).savefig(picture, dpi=150)
    print(f"\ndrawn to {picture}", file=sys.stderr)
    return 0
