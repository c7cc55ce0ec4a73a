"""Drawings of tables. matplotlib is imported only when something is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

__all__ = ["plot_intervals"]


def plot_intervals(table: pd.DataFrame, *, epsilon: float = 0.0, title: str = "", ax: Any = None) -> Any:
    """Draw one horizontal interval for each arm, the first row on top, and return the matplotlib axes.

    The first arm is drawn in another colour, with a dashed line at the height that every other interval must stay below
    for it to be certified: its lower end plus epsilon.

    Parameters
    ----------
    table
        As `Result.table`: action, estimate, lower, upper.
    epsilon
        The tolerance of the run.
    title
        The title.
    ax
        Axes to draw on, by default those of a new figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed (``pip install pgcpe[plot]``).
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'pgcpe[plot]'") from error
    if len(table) == 0:
        raise ValueError("there must be at least one row to draw")
    if ax is None:
        _, ax = plt.subplots(figsize=(8, 1.2 + 0.26 * len(table)), layout="constrained")
    height = np.arange(len(table))[::-1]
    colours = ["tab:orange", *["tab:blue"] * (len(table) - 1)]
    ax.hlines(height, table["lower"], table["upper"], colors=colours, linewidth=2.5)
    ax.scatter(table["estimate"], height, color=colours, s=18, zorder=3)
    ax.axvline(
        table["lower"].iloc[0] + epsilon,
        color="tab:orange",
        linestyle="--",
        linewidth=1,
        label=f"lower end of the first + {epsilon:g}:\ncertified once all others end before",
    )
    ax.set_ylim(-0.8, len(table) - 0.2)
    ax.legend(loc="upper left", fontsize="small")  # the best arms are on top, and on the right
    ax.set_yticks(height, [str(action).replace("$", r"\$") for action in table["action"]])
    ax.set_xlabel("expected reward")
    ax.set_title(title.replace("$", r"\$"), fontsize="medium", loc="left", wrap=True)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
