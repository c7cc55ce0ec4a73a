"""Why an effect can be computed from observation, or what stands in the way: in words, in LaTeX, as a path."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import networkx as nx

from pgcpe.graphs.identification import AdmissibleSteps, mutilated, search_for
from pgcpe.graphs.structure import States, checked_graph

__all__ = ["Explanation", "connecting_path", "explain"]


@dataclass(frozen=True)
class Explanation:
    """Why an effect can be computed from observation, or why not. ``str`` says so in a few lines.

    Attributes
    ----------
    treatments, outcome
        The question.
    sequence
        The admissible sequence, or None.
    words, latex
        The (sequential) g-formula, Eq. (4), in words and in LaTeX; without a sequence, what stands in the way, and an
        empty string.
    path
        Without a sequence: a path between a treatment and the outcome that stays open although all that may be
        conditioned on is; else empty.
    """

    treatments: tuple[str, ...]
    outcome: str
    sequence: AdmissibleSteps | None
    words: str
    latex: str = ""
    path: str = ""

    def _repr_markdown_(self) -> str:
        return self.words if self.sequence is None else f"{self.words}\n\n$${self.latex}$$"

    def __str__(self) -> str:
        return self.words if self.sequence is None else f"{self.words}\n{self.latex}"


def explain(graph: nx.DiGraph, treatments: Iterable[str], outcome: str, *, states: States | None = None) -> Explanation:
    """Return why the effect of the treatments can be computed from observation, or the path in the way.

    Examples
    --------
    >>> from pgmpy.base import DAG
    >>> print(explain(DAG([("U", "X"), ("U", "Y"), ("X", "Y")], latents={"U"}), ["X"], "Y"))
    E[Y | do(X)] has no admissible sequence: X <- U -> Y stays open given nothing, the most that may be conditioned on.
    """
    checked = checked_graph(graph)
    search = search_for(checked, treatments, outcome, states)
    sequence, names = search.run(), search.graph.names(search.treatments)
    question = f"E[{outcome} | do({', '.join(sorted(names))})]"
    if sequence is None:
        (x,), later, given = map(search.graph.names, search.deepest)
        path = connecting_path(mutilated(checked, under=[x], over=later), x, outcome, given)
        words = (
            f"{question} has no admissible sequence: {path} stays open given {', '.join(sorted(given)) or 'nothing'}, "
            "the most that may be conditioned on."
        )
        return Explanation(tuple(sorted(names)), outcome, None, words, path=path)
    letter = _letters([outcome, *(v for x, z in sequence for v in (x, *z))])
    factors: list[str] = []
    symbols: list[str] = []
    given_names: list[str] = []
    given_symbols: list[str] = []
    for x, z in sequence:
        if z:
            factors.append(f"P({', '.join(sorted(z))}{_bar(given_names)})")
            symbols.append(rf"P({', '.join(letter[v] for v in sorted(z))}{_bar(given_symbols, chr(92) + 'mid ')})")
        given_names += [*sorted(z), x]
        given_symbols += [*(letter[v] for v in sorted(z)), letter[x]]
    leaf = f"E[{outcome}{_bar(given_names)}]"
    if factors:
        words = f"{question} is by the g-formula the mean of {leaf} over {' '.join(factors)}."
    else:
        words = f"{question} = {leaf}: the mean where the treatments happen to have these states."
    adjusted = sorted(v for _, z in sequence for v in z)
    latex = (
        rf"E[{_name(outcome)} \mid do({', '.join(letter[x] for x, _ in sequence)})] = "
        + (rf"\sum_{{{', '.join(letter[v] for v in adjusted)}}} " if adjusted else "")
        + " ".join([f"E[{_name(outcome)}{_bar(given_symbols, chr(92) + 'mid ')}]", *symbols])
    )
    return Explanation(tuple(sorted(names)), outcome, sequence, words, latex)


def connecting_path(graph: nx.DiGraph, x: str, y: str, given: Collection[str]) -> str:
    """Return a shortest path that d-connects x and y given some variables, with its arrows; empty if there is none.

    Examples
    --------
    >>> connecting_path(nx.DiGraph([("X", "C"), ("Y", "C")]), "X", "Y", {"C"})
    'X -> C <- Y'
    """
    graph = checked_graph(graph)
    opened = set(given).union(*(nx.ancestors(graph, v) for v in given))  # colliders that let through
    start = (x, False)
    came_from: dict[tuple[str, bool], tuple[str, bool] | None] = {start: None}
    queue = deque([start])
    while queue:  # breadth first over (node, whether it was entered along an edge that points into it)
        node, inward = here = queue.popleft()
        if node == y:
            return _draw(came_from, here)
        steps = []
        if node not in given or node == x:
            steps += [(child, True) for child in graph.successors(node)]
        if node == x or (node in opened if inward else node not in given):
            steps += [(parent, False) for parent in graph.predecessors(node)]
        for step in steps:
            if step not in came_from:
                came_from[step] = here
                queue.append(step)
    return ""


def _draw(came_from: dict[tuple[str, bool], tuple[str, bool] | None], end: tuple[str, bool]) -> str:
    text, here = end[0], end
    while (before := came_from[here]) is not None:
        text = f"{before[0]} {'->' if here[1] else '<-'} {text}"
        here = before
    return text


def _bar(names: Sequence[str], bar: str = "| ") -> str:
    return f" {bar}{', '.join(names)}" if names else ""


def _name(variable: str) -> str:
    return r"\mathrm{" + variable.replace("_", r"\_") + "}"


def _letters(variables: Sequence[str]) -> dict[str, str]:
    """Return the symbols of values of variables: a lower-case letter where the name allows it and no other has it."""
    symbols = {}
    for variable in variables:
        match = re.fullmatch(r"([^\W\d_])_?(\d*)", variable)
        symbols[variable] = match[1].lower() + (f"_{{{match[2]}}}" if match[2] else "") if match else _name(variable)
    taken = Counter(symbols.values())
    return {v: symbol if taken[symbol] == 1 else _name(v) for v, symbol in symbols.items()}
