"""Directed graphs in layers, with numbers on their edges or doubts between their nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import networkx as nx

from pgcpe.plotting.axes import escaped, pyplot

__all__ = ["plot_doubts", "plot_graph"]

CURVED = "arc3,rad=0.2"
"""Edges are arcs: a straight one that skips a layer would run through the nodes between."""


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
    ax.set_title(escaped(title), fontsize="medium", loc="left")
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
    ax.set_title(escaped(title), fontsize="medium", loc="left", wrap=True)
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
    nx.draw_networkx_labels(graph, place, {v: escaped(texts.get(v, v)) for v in graph}, ax=ax, font_size=9)


def _in_layers(graph: nx.DiGraph, ax: Any) -> tuple[Any, Any]:
    """Return where the nodes stand, causes on the left, and the axes to draw on."""
    plt = pyplot()
    if not graph or not nx.is_directed_acyclic_graph(graph):
        raise ValueError("there must be at least one node and no cycle to draw")
    layers = dict(enumerate(nx.topological_generations(graph)))
    if ax is None:
        tallest = max(map(len, layers.values()))
        _, ax = plt.subplots(figsize=(2.2 + 1.7 * len(layers), 1.5 + 1.1 * tallest), layout="constrained")
    return nx.multipartite_layout(graph, subset_key=layers), ax
