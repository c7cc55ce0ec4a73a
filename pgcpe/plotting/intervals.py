"""Intervals of arms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pgcpe.plotting.axes import BEST, OTHER, escaped, key, pyplot

__all__ = ["plot_intervals"]

ARGUMENTS = {
    "direct plays": "ruled out by direct plays: it lost to the first one where both were played",
    "estimates": "ruled out by its estimated difference from the first one, in standard errors",
    "bets on the tables": "ruled out by bets: no tables that the plays allow make it better than the first one",
    "bets on the pair": "ruled out by bets on both: no probabilities that plays allow make it better than the first",
    "bets on the equations": "ruled out by bets: no coefficients that the plays allow make it better than the first",
}
"""What an argument of `Result.table` means, where no ends are compared."""


def plot_intervals(
    table: pd.DataFrame,
    *,
    epsilon: float = 0.0,
    minimise: bool = False,
    decimals: int = 3,
    title: str = "",
    ax: Any = None,
) -> Any:
    """Draw one horizontal interval for each arm with its numbers, the first row on top, and return the matplotlib axes.

    A dashed line stands where every other arm has to stay below for the first to be within epsilon of the best: at its
    lower end plus epsilon. Where the table says by what arms were ruled out, the line is at the lower end that decided,
    and a tick at the upper end that decided for each arm; arms that another argument ruled out are hollow. Where less
    is better it is the other way round: others have to stay above its upper end less epsilon.

    Parameters
    ----------
    table
        As `Result.table`: action, estimate, lower, upper, and where there are any "ruled out by" and "bound".
    epsilon
        The tolerance of the run.
    minimise
        Whether less is better.
    decimals
        How many decimals numbers are shown with.
    title
        The title.
    ax
        Axes to draw on, by default those of a new figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed (``pip install pgcpe[plot]``).
    ValueError
        If there is no row.
    """
    plt = pyplot()
    if len(table) == 0:
        raise ValueError("there must be at least one row to draw")
    figure = None
    if ax is None:
        figure, ax = plt.subplots(figsize=(9, 2.2 + 0.26 * len(table)), layout="constrained")
    height = np.arange(len(table))[::-1]
    first = np.arange(len(table)) == 0
    by = table.get("ruled out by", pd.Series("", table.index)).to_numpy()
    bound = table.get("bound", pd.Series(np.nan, table.index)).to_numpy(float)
    ax.hlines(height, table["lower"], table["upper"], colors=np.where(first, BEST, OTHER), linewidth=2.5)
    for label, which, look in _kinds(first, by):
        ax.scatter(table["estimate"][which], height[which], zorder=3, label=label, **look)
    compared = ~first & np.isin(by, ("", "bounds"))
    if compared.any():
        worst = bound[0] if np.isfinite(bound[0]) else table["upper" if minimise else "lower"].iloc[0]
        extreme, sign, ends = ("most", "less", "begins right") if minimise else ("least", "plus", "ends left")
        said = f"{worst:.{decimals}f} is the {extreme} that the first one may be, {sign} epsilon = {epsilon:g}:\n"
        said += f"an arm that {ends} of this line cannot be better than the first one by more than epsilon"
        ax.axvline(worst + (-epsilon if minimise else epsilon), color=BEST, linestyle="--", linewidth=1.2, label=said)
    if (ticked := compared & np.isfinite(bound)).any():
        extreme = "least" if minimise else "most"
        said = f"the {extreme} that this arm may be, worked out as far as the decision needs;\n"
        said += "the intervals hold for all arms at once, and are wider"
        ax.scatter(bound[ticked], height[ticked], marker="|", color="black", s=70, zorder=4, label=said)
    ax.set_ylim(-0.8, len(table) - 0.2)
    ax.set_yticks(height, [escaped(str(action)) for action in table["action"]])
    for y, row in zip(height, table.itertuples(index=False), strict=True):
        numbers = f"{row.estimate:.{decimals}f} [{row.lower:.{decimals}f}, {row.upper:.{decimals}f}]"
        ax.text(1.01, y, numbers, transform=ax.get_yaxis_transform(), va="center", fontsize="small")
    ax.set_xlabel("expected reward" + (" (less is better)" if minimise else ""))
    ax.set_title(escaped(title), fontsize="medium", loc="left", wrap=True)
    ax.spines[["top", "right"]].set_visible(False)
    key(ax, figure)
    return ax


def _kinds(first: NDArray[np.bool_], by: NDArray[Any]) -> Iterator[tuple[str, NDArray[np.bool_], dict[str, Any]]]:
    """Give the kinds of arms there are: what each is, which arms, and the look of their estimates."""
    yield "recommended: its estimate and interval", first, {"marker": "D", "color": BEST, "s": 36}
    argued = np.isin(by, list(ARGUMENTS))
    if (plain := ~first & ~argued).any():
        yield "another arm", plain, {"marker": "o", "color": OTHER, "s": 20}
    for argument, meaning in ARGUMENTS.items():
        if (mine := by == argument).any():
            yield meaning, mine, {"marker": "o", "facecolor": "white", "edgecolor": OTHER, "s": 34, "linewidth": 1.6}
