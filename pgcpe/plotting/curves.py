"""Curves of policies, in panels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from pgcpe.plotting.axes import pyplot

__all__ = ["plot_curves"]


def plot_curves(
    table: pd.DataFrame,
    *,
    title: str,
    x: str,
    y: str,
    columns: int = 2,
    styles: Mapping[str, int] | None = None,
    logarithmic_x: bool = False,
    logarithmic_y: bool = False,
) -> Any:
    """Draw a curve for each policy with its intervals, in one panel or several of the same axes; return the figure.

    Parameters
    ----------
    table
        ``panel``, ``policy``, ``x``, ``y``, ``low`` and ``high``; panels in the order of first appearance, filled row
        by row. A column ``note`` has a text to stand below each point.
    title, x, y
        The title, and what the axes show.
    columns
        How many panels stand side by side.
    styles
        Policy to the number of its colour and marker, by default its place among the policies. Those of one number have
        one entry in the legend: the same policy with other constants in another panel.
    logarithmic_x, logarithmic_y
        Whether the axes are.

    Raises
    ------
    ImportError
        If matplotlib is not installed (``pip install pgcpe[plot]``).
    ValueError
        If there is nothing to draw.
    """
    plt = pyplot()
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    if len(table) == 0:
        raise ValueError("there must be at least one row to draw")
    panels, policies = list(dict.fromkeys(table["panel"])), list(dict.fromkeys(table["policy"]))
    columns = min(columns, len(panels))
    lines = -(-len(panels) // columns)
    figure, axes = plt.subplots(
        lines,
        columns,
        figsize=(max(5.2 * columns, 7.0), 3.6 * lines + 0.9),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for ax, panel in zip(axes.flat, panels, strict=False):
        for place, policy in enumerate(policies):
            i = (styles or {}).get(policy, place)
            mine = table[(table["panel"] == panel) & (table["policy"] == policy)]
            if len(mine):
                style = {"color": f"C{i}", "marker": "osD^vP*X"[i % 8], "markersize": 4.5}
                around = [(mine["y"] - mine["low"]).clip(lower=0), (mine["high"] - mine["y"]).clip(lower=0)]
                ax.errorbar(mine["x"], mine["y"], yerr=around, label=policy, linewidth=1.4, capsize=2, **style)
                for at, height, note in zip(mine["x"], mine["y"], mine.get("note", [""] * len(mine)), strict=True):
                    ax.annotate(
                        note, (at, height), xytext=(4, -14), textcoords="offset points", ha="center", fontsize=7.5
                    )
        ax.set_title(panel, fontsize="medium", loc="left")
        ax.grid(alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
        if logarithmic_y:
            ax.set_yscale("log")
            ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            ax.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
            ax.yaxis.set_minor_locator(NullLocator())
        else:
            ax.set_ylim(-0.02, 1.02)
        if logarithmic_x:
            ax.set_xscale("log")
        places = sorted(set(table["x"])) if logarithmic_x or table["x"].nunique() < 5 else None
        if places is not None:
            ax.set_xticks(places, [f"{place:g}" for place in places])
            ax.xaxis.set_minor_locator(NullLocator())
    for ax in axes[-1]:
        ax.set_xlabel(x)
    for ax in axes[:, 0]:
        ax.set_ylabel(y)
    shown: dict[int, tuple[Any, list[str]]] = {}
    for ax in axes.flat:
        for line, label in zip(*ax.get_legend_handles_labels(), strict=True):
            _, names = shown.setdefault((styles or {}).get(label, policies.index(label)), (line, []))
            names.extend({label}.difference(names))
    figure.legend(
        [line for line, _ in shown.values()],
        [" / ".join(names) for _, names in shown.values()],
        loc="outside lower center",
        ncols=2,
        fontsize="small",
        frameon=False,
    )
    figure.suptitle(title, fontsize="medium")
    return figure
