"""Drawings of tables. matplotlib is imported only when something is drawn."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

__all__ = ["plot_curves", "plot_doubts", "plot_graph", "plot_intervals"]

CURVED = "arc3,rad=0.2"
"""Edges are arcs: a straight one that skips a layer would run through the nodes between."""


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
    plt = _pyplot()
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
        label=f"lower end of the first + {epsilon:g}:\narms that end below it are separated",
    )
    ax.set_ylim(-0.8, len(table) - 0.2)
    ax.legend(loc="upper left", fontsize="small")  # the best arms are on top, and on the right
    ax.set_yticks(height, [str(action).replace("$", r"\$") for action in table["action"]])
    ax.set_xlabel("expected reward")
    ax.set_title(title.replace("$", r"\$"), fontsize="medium", loc="left", wrap=True)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def plot_graph(
    nodes: Mapping[str, str], edges: Mapping[tuple[str, str], float], *, title: str = "", ax: Any = None
) -> Any:
    """Draw a directed graph in layers, causes on the left, with a number on each edge, and return the axes.

    Positive numbers are blue and negative ones orange; the wider the edge, the larger the number.

    Parameters
    ----------
    nodes
        The text in each node.
    edges
        The number on each edge.
    title
        The title.
    ax
        Axes to draw on, by default those of a new figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed (``pip install pgcpe[plot]``).
    ValueError
        If there is no node, or a cycle.
    """
    graph = nx.DiGraph(list(edges))
    graph.add_nodes_from(nodes)
    place, ax = _in_layers(graph, ax)
    largest = max(map(abs, edges.values()), default=0.0) or 1.0
    _draw_nodes(graph, place, ax, nodes)
    for colour, some in (
        ("tab:blue", [e for e, value in edges.items() if value >= 0]),
        ("tab:orange", [e for e, value in edges.items() if value < 0]),
    ):
        if some:
            nx.draw_networkx_edges(
                graph,
                place,
                edgelist=some,
                ax=ax,
                edge_color=colour,
                width=[1.0 + 3.0 * abs(edges[e]) / largest for e in some],
                node_size=1800,
                connectionstyle=CURVED,
            )
    nx.draw_networkx_edge_labels(
        graph, place, {e: f"{v:.2f}" for e, v in edges.items()}, ax=ax, font_size=8, connectionstyle=CURVED
    )
    ax.set_title(title.replace("$", r"\$"), fontsize="medium", loc="left")
    ax.margins(0.15)
    ax.set_axis_off()
    return ax


def plot_doubts(
    edges: Iterable[tuple[str, str]],
    hidden: Collection[str],
    doubts: Mapping[tuple[str, str], str],
    *,
    title: str = "",
    ax: Any = None,
) -> Any:
    """Draw a directed graph in layers, with dashed red lines between doubtful pairs, and return the axes.

    Parameters
    ----------
    edges
        The edges.
    hidden
        Nodes that are drawn dotted.
    doubts
        Pairs of nodes, each with the text on its line.
    title
        The title.
    ax
        Axes to draw on, by default those of a new figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed (``pip install pgcpe[plot]``).
    ValueError
        If there is no node, or a cycle.
    """
    graph = nx.DiGraph(list(edges))
    graph.add_nodes_from(v for pair in doubts for v in pair)
    place, ax = _in_layers(graph, ax)
    _draw_nodes(graph, place, ax, {}, hidden)
    nx.draw_networkx_edges(graph, place, ax=ax, edge_color="#666666", node_size=1800, connectionstyle=CURVED)
    between = nx.Graph(list(doubts))
    between.add_nodes_from(graph)
    nx.draw_networkx_edges(between, place, ax=ax, edge_color="tab:red", width=2.0, style="dashed")
    nx.draw_networkx_edge_labels(between, place, dict(doubts), ax=ax, font_size=8, font_color="tab:red")
    ax.set_title(title.replace("$", r"\$"), fontsize="medium", loc="left", wrap=True)
    ax.margins(0.15)
    ax.set_axis_off()
    return ax


def _draw_nodes(graph: nx.DiGraph, place: Any, ax: Any, texts: Mapping[str, str], hidden: Collection[str] = ()) -> None:
    """Draw the nodes, by default with their names; hidden ones dotted."""
    for dotted in (False, True):
        some = [v for v in graph if (v in hidden) == dotted]
        drawn = nx.draw_networkx_nodes(
            graph, place, some, ax=ax, node_size=1800, node_color="#eeeeee", edgecolors="#666666"
        )
        drawn.set_linestyle(":" if dotted else "-")
    nx.draw_networkx_labels(graph, place, {v: texts.get(v, v).replace("$", r"\$") for v in graph}, ax=ax, font_size=9)


def _in_layers(graph: nx.DiGraph, ax: Any) -> tuple[Any, Any]:
    """Return where the nodes stand, causes on the left, and the axes to draw on."""
    plt = _pyplot()
    if not graph or not nx.is_directed_acyclic_graph(graph):
        raise ValueError("there must be at least one node and no cycle to draw")
    layers = dict(enumerate(nx.topological_generations(graph)))
    if ax is None:
        tallest = max(map(len, layers.values()))
        _, ax = plt.subplots(figsize=(2.2 + 1.7 * len(layers), 1.5 + 1.1 * tallest), layout="constrained")
    return nx.multipartite_layout(graph, subset_key=layers), ax


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
        Policy to the number of its colour and marker, by default its place among the policies.
    logarithmic_x, logarithmic_y
        Whether the axes are.

    Raises
    ------
    ImportError
        If matplotlib is not installed (``pip install pgcpe[plot]``).
    ValueError
        If there is nothing to draw.
    """
    plt = _pyplot()
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
    shown = {label: line for ax in axes.flat for line, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(
        list(shown.values()), list(shown), loc="outside lower center", ncols=2, fontsize="small", frameon=False
    )
    figure.suptitle(title, fontsize="medium")
    return figure


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'pgcpe[plot]'") from error
    return plt
