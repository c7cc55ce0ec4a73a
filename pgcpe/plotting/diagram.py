"""A causal graph as SVG: what is set, what is adjusted for and what is hidden, to be seen without colour."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx

from pgcpe.graphs.explanation import explain
from pgcpe.graphs.structure import States, causal_order, checked_graph, latents_of

__all__ = ["Diagram", "draw_graph", "drawn_part", "graph_as_svg"]

MOST_DRAWN = 40
"""A graph with more variables than that is drawn around the treatments and the reward alone."""

LETTER, HEIGHT, ACROSS, DOWN, MARGIN = 7.6, 30.0, 22.0, 44.0, 10.0
"""Sizes in pixels: the width of a letter, the height of a node, the gaps between nodes and between layers, the edge."""

SWEEPS = 12
"""How often layers are put in the order of their neighbours, which takes most crossings away."""

Point = tuple[float, float]


class Box(NamedTuple):
    """Where a node is: its middle, and half its width; its height is that of all. A bend of an arrow has no width."""

    x: float
    y: float
    half_width: float


@dataclass(frozen=True, repr=False)
class Diagram:
    """A drawing, which Jupyter shows.

    Attributes
    ----------
    svg
        The drawing as SVG.
    words
        What it shows, in words.
    """

    svg: str
    words: str

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return self.words

    def save(self, path: str | Path) -> None:
        """Write the drawing to an SVG file."""
        Path(path).write_text(self.svg, encoding="utf-8")


def draw_graph(
    graph: nx.DiGraph, *, reward: str, action: Mapping[str, Any] | None = None, states: States | None = None
) -> Diagram:
    """Return a drawing of a graph, with what an action sets cut off from its causes and what is adjusted for hatched.

    It needs no colour and no matplotlib: black boxes are set, dotted arrows are cut, hatched boxes are adjusted for
    where the effect is computed from observation, dashed ones are hidden, and the reward has a double border. Of a
    graph of more than forty variables the part around the action and the reward is drawn.

    Parameters
    ----------
    graph
        A pgmpy `DAG`, network or `ADMG`, or any networkx `DiGraph`.
    reward
        The reward.
    action
        What is set: an `Action`, or any mapping of variable to state.
    states
        As for `CausalBandit`; it breaks ties between adjustment sets.

    Examples
    --------
    >>> from pgmpy.base import DAG
    >>> graph = DAG([("severity", "drug"), ("severity", "recovered"), ("drug", "recovered")])
    >>> print(draw_graph(graph, reward="recovered", action={"drug": 1}))
    severity -> drug (cut), severity -> recovered, drug -> recovered; set: drug = 1; adjusted for: severity
    """
    checked = checked_graph(graph)
    values = {v: str(state) for v, state in (action or {}).items()}
    why = explain(checked, values, reward, states=states) if values else None
    adjusted = {v for _, z in (why.sequence if why else None) or [] for v in z}
    shown = drawn_part(checked, reward, list(values), adjusted)
    svg = graph_as_svg(checked, reward=reward, values=values, adjusted=adjusted, shown=shown)
    parts = [", ".join(f"{a} -> {b}{' (cut)' if b in values else ''}" for a, b in checked.subgraph(shown).edges)]
    if values:
        parts.append("set: " + ", ".join(f"{v} = {state}" for v, state in values.items()))
        parts.append(f"adjusted for: {', '.join(sorted(adjusted)) or 'nothing'}")
    if hidden := sorted(latents_of(checked) & shown):
        parts.append(f"hidden: {', '.join(hidden)}")
    return Diagram(svg, "; ".join(part for part in parts if part))


def drawn_part(
    graph: nx.DiGraph, reward: str, treatments: Collection[str], adjusted: Collection[str]
) -> frozenset[str]:
    """Return the variables to draw: all, or of a large graph what is named, its direct causes, and what is on the way.

    What is on the way lies on a directed path from a treatment to the reward.
    """
    if len(graph) <= MOST_DRAWN:
        return frozenset(graph)
    named = {reward, *treatments, *adjusted}
    below = set(treatments).union(*(nx.descendants(graph, v) for v in treatments))
    on_the_way = below & nx.ancestors(graph, reward)
    kept = named | on_the_way if len(named | on_the_way) <= MOST_DRAWN else named
    causes = {cause for v in named for cause in graph.predecessors(v)}
    return frozenset(kept | causes if len(kept | causes) <= MOST_DRAWN else kept)


def graph_as_svg(
    graph: nx.DiGraph,
    *,
    reward: str,
    values: Mapping[str, str],
    adjusted: Collection[str] = (),
    shown: Collection[str] | None = None,
) -> str:
    """Return a drawing of a graph, causes on top, which is narrow enough for most graphs to fit a phone.

    Parameters
    ----------
    graph
        The graph with its latents.
    reward
        The variable with a double border.
    values
        The text of the state of each variable that is set: black boxes, the arrows into which are dotted.
    adjusted
        The variables that are hatched.
    shown
        The variables to draw, by default all.
    """
    part = graph.subgraph(graph if shown is None else shown)
    if not len(part):
        raise ValueError("there must be at least one variable to draw")
    texts = {v: f"{v} = {values[v]}" if v in values else v for v in part}
    laid, ways = _with_bends(part)
    boxes, width, height = _places(laid, texts)
    hidden = latents_of(graph)
    lines = [_arrow(points, cut=way[-1] in values) for way, points in _routes(ways, boxes)]
    nodes = []
    for v in part:
        kind = "set" if v in values else "hidden" if v in hidden else "adjusted" if v in adjusted else "plain"
        nodes.append(_node(boxes[v], texts[v], kind, double=v == reward))
    title = f"The causal graph, {len(part)} of {len(graph)} variables"
    return (
        f'<svg class="graph" role="img" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" xmlns="http://www.w3.org/2000/svg" '
        f'font-family="system-ui, sans-serif" style="background:#fff"><title>{title}</title>'
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 1 L10 5 L0 9 z" fill="#333"/></marker>'
        '<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<rect width="6" height="6" fill="#fff"/><path d="M0 0 V6" stroke="#9bb" stroke-width="3"/></pattern></defs>'
        f"{''.join(lines)}{''.join(nodes)}</svg>"
    )


def _with_bends(part: nx.DiGraph) -> tuple[list[list[Any]], list[list[Any]]]:
    """Return the layers, by how many causes in a row come before a node, and the way of every arrow through them.

    Both hold the bends of arrows that pass a layer (Sugiyama et al. 1981); neighbours are near each other.
    """
    order = causal_order(part)
    layers: list[list[Any]] = [[v for v in order if v in set(some)] for some in nx.topological_generations(part)]
    depth = {v: k for k, layer in enumerate(layers) for v in layer}
    ways: list[list[Any]] = []
    laid = nx.DiGraph()
    for cause, effect in part.edges:
        bends: list[Any] = [(cause, effect, k) for k in range(depth[cause] + 1, depth[effect])]
        for bend in bends:
            layers[bend[2]].append(bend)
        ways.append([cause, *bends, effect])
        nx.add_path(laid, ways[-1])
    laid.add_nodes_from(part)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        near = laid.predecessors if down else laid.successors
        at = {v: k / max(len(layer) - 1, 1) for layer in layers for k, v in enumerate(layer)}
        for layer in layers if down else reversed(layers):
            pulls = {v: [at[u] for u in near(v)] or [at[v]] for v in layer}
            pull = {v: sum(some) / len(some) for v, some in pulls.items()}
            layer.sort(key=pull.__getitem__)
            at |= {v: k / max(len(layer) - 1, 1) for k, v in enumerate(layer)}
    return layers, ways


def _places(layers: Sequence[Sequence[Any]], texts: Mapping[str, str]) -> tuple[dict[Any, Box], float, float]:
    """Return where nodes and bends are, layer by layer, and the width and height of the drawing."""
    widths = {v: LETTER * max(len(text), 3) + 18.0 for v, text in texts.items()}
    needs = [sum(widths.get(v, 0.0) for v in layer) + ACROSS * (len(layer) - 1) for layer in layers]
    boxes: dict[Any, Box] = {}
    top = MARGIN
    for layer, need in zip(layers, needs, strict=True):
        gap = ACROSS + (max(needs) - need) / (len(layer) + 1)
        left = MARGIN + gap - ACROSS
        for v in layer:
            width = widths.get(v, 0.0)
            boxes[v] = Box(left + width / 2, top + HEIGHT / 2, width / 2)
            left += width + gap
        top += HEIGHT + DOWN
    return boxes, max(needs) + 2 * MARGIN, top - DOWN + MARGIN


def _routes(ways: Sequence[Sequence[Any]], boxes: Mapping[Any, Box]) -> Iterator[tuple[Sequence[Any], list[Point]]]:
    """Return the points of every arrow: it leaves a node below and enters the next above, side by side with others."""
    leaving: dict[Any, list[Any]] = {}
    entering: dict[Any, list[Any]] = {}
    for way in ways:
        leaving.setdefault(way[0], []).append(way)
        entering.setdefault(way[-1], []).append(way)

    def x(way: Sequence[Any], end: int, beside: list[Any]) -> float:
        """Return where on its node an arrow ends: in the order of where they go to, or come from."""
        box, neighbour = boxes[way[end]], 1 if end == 0 else -2
        ranked = sorted(beside, key=lambda other: boxes[other[neighbour]].x)
        return box.x + 1.2 * box.half_width * ((ranked.index(way) + 1) / (len(ranked) + 1) - 0.5)

    for way in ways:
        first, last = boxes[way[0]], boxes[way[-1]]
        points = [(x(way, 0, leaving[way[0]]), first.y + HEIGHT / 2)]
        for bend in way[1:-1]:
            points += [(boxes[bend].x, boxes[bend].y - HEIGHT / 2), (boxes[bend].x, boxes[bend].y + HEIGHT / 2)]
        points.append((x(way, -1, entering[way[-1]]), last.y - HEIGHT / 2 - 4.0))
        yield way, points


def _arrow(points: Sequence[Point], *, cut: bool) -> str:
    """Return an arrow through points, downwards in each; straight past a layer, and bent between two."""
    (x, y), path = points[0], f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for k, (to_x, to_y) in enumerate(points[1:]):
        middle = (y + to_y) / 2
        curve = f"C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}"
        path += f" {curve if k % 2 == 0 else f'V{to_y:.1f}'}"
        x, y = to_x, to_y
    style = ' stroke-dasharray="2 5" opacity="0.7"' if cut else ""
    return f'<path d="{path}" fill="none" stroke="#333" stroke-width="1.4" marker-end="url(#tip)"{style}/>'


def _node(box: Box, text: str, kind: str, *, double: bool) -> str:
    """Return a node: round, black and square where it is set, hatched where adjusted for, dashed where hidden."""
    x, y = box.x - box.half_width, box.y - HEIGHT / 2
    fill = {"set": "#222", "adjusted": "url(#hatch)"}.get(kind, "#fff")
    dashed = ' stroke-dasharray="5 4"' if kind == "hidden" else ""
    corner = 0 if kind == "set" else 9

    def frame(out: float, fill: str) -> str:
        """Return the outline of the box, so far outside of it."""
        return (
            f'<rect x="{x - out:.1f}" y="{y - out:.1f}" width="{2 * (box.half_width + out):.1f}" '
            f'height="{2 * (HEIGHT / 2 + out):.1f}" rx="{corner + out if corner else 0}" fill="{fill}" '
            f'stroke="#222" stroke-width="1.5"{dashed}/>'
        )

    halo = ' stroke="#fff" stroke-width="4" paint-order="stroke"' if kind == "adjusted" else ""
    return (
        f"{frame(3.5, '#fff') if double else ''}{frame(0.0, fill)}"
        f'<text x="{box.x:.1f}" y="{box.y + 4.5:.1f}" text-anchor="middle" font-size="13" '
        f'fill="{"#fff" if kind == "set" else "#111"}"{halo}>{escape(text)}</text>'
    )
