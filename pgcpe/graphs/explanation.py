"""Why an effect can be computed from observation, or what stands in the way and what to record to get past it."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import networkx as nx
from pgmpy.base import DAG

from pgcpe.graphs.identification import AdmissibleSteps, mutilated, search_for
from pgcpe.graphs.structure import States, checked_graph, latents_of, structure_of

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
    words
        The (sequential) g-formula, Eq. (4), in words; without a sequence, what stands in the way.
    formula, latex
        The formula as a line of text and in LaTeX; empty without a sequence.
    path
        Without a sequence: a path between a treatment and the outcome that stays open although all that may be
        conditioned on is; else empty.
    measure
        Without a sequence: the hidden variables of which one, if it were recorded, would give a sequence.
    """

    treatments: tuple[str, ...]
    outcome: str
    sequence: AdmissibleSteps | None
    words: str
    formula: str = ""
    latex: str = ""
    path: str = ""
    measure: tuple[str, ...] = ()

    def _repr_markdown_(self) -> str:
        return self.words if self.sequence is None else f"{self.words}\n\n$${self.latex}$$"

    def __str__(self) -> str:
        return self.words if self.sequence is None else f"{self.words}\n{self.formula}"


def explain(graph: nx.DiGraph, treatments: Iterable[str], outcome: str, *, states: States | None = None) -> Explanation:
    """Return why the effect of the treatments can be computed from observation, or the path in the way.

    Examples
    --------
    >>> from pgmpy.base import DAG
    >>> print(explain(DAG([("Z", "X"), ("Z", "Y"), ("X", "Y")]), ["X"], "Y"))
    E[Y | do(X)] is by the g-formula the mean of E[Y | Z, X] over P(Z).
    E[Y | do(x)] = sum_z E[Y | z, x] P(z)
    >>> print(explain(DAG([("U", "X"), ("U", "Y"), ("X", "Y")], latents={"U"}), ["X"], "Y"))
    E[Y | do(X)] has no admissible sequence: X <- U -> Y stays open given nothing, the most that may be conditioned on.
    Recording U would give one.
    """
    checked = checked_graph(graph)
    search = search_for(checked, treatments, outcome, states)
    sequence, names = search.run(), search.graph.names(search.treatments)
    question = f"E[{outcome} | do({', '.join(sorted(names))})]"
    if sequence is None:
        (x,), later, given = map(search.graph.names, search.deepest)
        path = connecting_path(mutilated(checked, under=[x], over=later), x, outcome, given)
        measure = _worth_recording(checked, names, outcome)
        words = (
            f"{question} has no admissible sequence: {path} stays open given {', '.join(sorted(given)) or 'nothing'}, "
            f"the most that may be conditioned on.{_advice(measure, checked)}"
        )
        return Explanation(tuple(sorted(names)), outcome, None, words, path=path, measure=measure)
    leaf, factors = _written(outcome, sequence, lambda v: v)
    if factors:
        words = f"{question} is by the g-formula the mean of {leaf} over {' '.join(factors)}."
    else:
        words = f"{question} = {leaf}: the mean where the treatments happen to have these states."
    formula, latex = _formula(outcome, sequence, _plain), _formula(outcome, sequence, _set)
    return Explanation(tuple(sorted(names)), outcome, sequence, words, formula, latex)


def _worth_recording(checked: DAG, treatments: Collection[str], outcome: str) -> tuple[str, ...]:
    """Return the latent variables each of which, were it recorded, would by itself give an admissible sequence."""
    found = []
    for variable in sorted(latents_of(checked)):
        recorded = structure_of(checked)
        recorded.latents = latents_of(checked) - {variable}
        if search_for(recorded, treatments, outcome, None).run() is not None:
            found.append(variable)
    return tuple(found)


def _advice(measure: Sequence[str], checked: DAG) -> str:
    """Return what to record, as the end of an explanation."""
    if measure:
        *rest, last = measure
        return f" Recording {', '.join(rest)}{' or ' if rest else ''}{last} would give one."
    return " Recording no single hidden variable would give one." if latents_of(checked) else ""


def _written(
    outcome: str, sequence: AdmissibleSteps, name: Callable[[str], str], bar: str = "| "
) -> tuple[str, list[str]]:
    """Return the mean in the cells of a formula and the probabilities of them, with the names given."""
    factors, given = [], list[str]()
    for x, z in sequence:
        adjusted = [name(v) for v in sorted(z)]
        if adjusted:
            factors.append(f"P({', '.join(adjusted)}{_bar(given, bar)})")
        given += [*adjusted, name(x)]
    return f"E[{outcome}{_bar(given, bar)}]", factors


def _formula(outcome: str, sequence: AdmissibleSteps, script: _Script) -> str:
    """Return the g-formula of a sequence with symbols for the values."""
    letter = _letters([outcome, *(v for x, z in sequence for v in (x, *z))], script)
    leaf, factors = _written(script.name(outcome), sequence, letter.__getitem__, script.bar)
    bound = [letter[v] for v in sorted(v for _, z in sequence for v in z)]
    treated = ", ".join(letter[x] for x, _ in sequence)
    total = script.sum_over(bound) if bound else ""
    return f"E[{script.name(outcome)} {script.bar}do({treated})] = {total}{' '.join([leaf, *factors])}"


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


def _bar(names: Sequence[str], bar: str) -> str:
    return f" {bar}{', '.join(names)}" if names else ""


class _Script(NamedTuple):
    """How a formula is written.

    Attributes
    ----------
    bar
        What stands before a condition.
    name
        How the name of a variable is written.
    indexed
        How a letter with a number is.
    sum_over
        How a sum over some symbols begins.
    """

    bar: str
    name: Callable[[str], str]
    indexed: Callable[[str, str], str]
    sum_over: Callable[[Sequence[str]], str]


_plain = _Script(
    "| ",
    lambda variable: variable,
    lambda letter, number: letter + number,
    lambda bound: f"sum_{bound[0]} " if len(bound) == 1 else f"sum_{{{', '.join(bound)}}} ",
)
_set = _Script(
    r"\mid ",
    lambda variable: r"\mathrm{" + variable.replace("_", r"\_") + "}",
    lambda letter, number: letter + (f"_{{{number}}}" if number else ""),
    lambda bound: rf"\sum_{{{', '.join(bound)}}} ",
)


def _letters(variables: Sequence[str], script: _Script) -> dict[str, str]:
    """Return the symbols of values of variables: a lower-case letter where the name allows it and no other has it."""
    symbols = {}
    for variable in variables:
        match = re.fullmatch(r"([^\W\d_])_?(\d*)", variable)
        symbols[variable] = script.indexed(match[1].lower(), match[2]) if match else script.name(variable)
    taken = Counter(symbols.values())
    return {v: symbol if taken[symbol] == 1 else script.name(v) for v, symbol in symbols.items()}
