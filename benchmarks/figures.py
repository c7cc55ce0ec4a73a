"""The numbers of the paper's figures as tables, from the rows that are kept.

    python benchmarks/figures.py

The rows themselves are computed, continued and drawn by ``pgcpe figure``.
"""

from __future__ import annotations

from pathlib import Path

import frame
import pandas as pd

from pgcpe.experiments import read_rows
from pgcpe.paper.figures import FIGURES

RESULTS = Path(__file__).parent.parent / "data" / "results"


def markdown(name: str) -> str:
    """Return the tables of a figure, one for each panel."""
    parts = []
    for panel, mine in FIGURES[name].numbers(read_rows(RESULTS / f"figure_{name}.csv.gz")).groupby("panel", sort=False):
        places = sorted(set(mine["x"]))
        axis = "n = " if name == "3a" else ""
        lines = []
        for policy, curve in mine.groupby("policy", sort=False):
            values = curve.set_index("x")["y"]
            cells = {x: f"{values[x]:,.0f}" if name == "3a" else f"{values[x]:.3f}".removeprefix("0") for x in places}
            lines.append({"policy": policy, **{f"{axis}{x:g}": cell for x, cell in cells.items()}})
        runs = " to ".join(f"{n:,}" for n in sorted({mine["runs"].min(), mine["runs"].max()}))
        parts.append(f"**{panel}** ({runs} runs)\n\n{frame.as_markdown(pd.DataFrame(lines))}")
    return "\n\n".join(parts)


if __name__ == "__main__":
    for name in FIGURES:
        print(f"### {FIGURES[name].title}\n\n{markdown(name)}\n")
