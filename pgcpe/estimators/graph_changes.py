"""What may be wrong with a graph: a missing edge, a missing hidden cause, an edge that points the wrong way."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from pgcpe.estimators.graph_statements import Statement
from pgcpe.graphs.bitsets import BitGraph

__all__ = ["Change", "Explanation", "explanations_of", "unnoticed"]

CHANGES = ("edge", "hidden cause", "reversal")

MOST_EXPLAINED = 20
"""So many of the strongest refuted statements are explained."""


@dataclass(frozen=True)
class Change:
    """A change of a graph.

    Attributes
    ----------
    kind
        ``"edge"``: from `first` to `second`, added. ``"hidden cause"``: of both, added. ``"reversal"``: the edge from
        `first` to `second` turned round.
    first, second
        The two variables.
    """

    kind: str
    first: str
    second: str

    def __str__(self) -> str:
        if self.kind == "edge":
            return f"an edge {self.first} -> {self.second}"
        if self.kind == "hidden cause":
            return f"a hidden cause of {self.first} and {self.second}"
        return f"{self.second} -> {self.first} in place of {self.first} -> {self.second}"

    def made_in(self, graph: BitGraph) -> BitGraph | None:
        """Return the graph with the change; None where it makes a cycle."""
        parents, children = list(graph.parents), list(graph.children)
        a, b = graph.bit[self.first], graph.bit[self.second]
        i, j = a.bit_length() - 1, b.bit_length() - 1
        if self.kind == "hidden cause":
            hidden = 1 << len(parents)
            parents[i], parents[j] = parents[i] | hidden, parents[j] | hidden
            variables, bit = (*graph.variables, ""), {**graph.bit, "": hidden}
            latents = graph.latents | hidden
            return graph._replace(
                variables=variables, bit=bit, latents=latents, parents=[*parents, 0], children=[*children, a | b]
            )
        if self.kind == "reversal":
            parents[j], children[i] = parents[j] & ~a, children[i] & ~b
            (a, i), (b, j) = (b, j), (a, i)
        parents[j], children[i] = parents[j] | a, children[i] | b
        made = graph._replace(parents=parents, children=children)
        return None if made.ancestors(a) & b else made


@dataclass(frozen=True)
class Explanation:
    """A change of the graph that would explain what was refuted.

    Attributes
    ----------
    change
        The change.
    explains
        The refuted statements that the changed graph does not make.
    of
        How many statements were refuted, of those looked at.
    also_denies
        How many statements that were not refuted it does not make either.
    is_of_strongest
        Whether it is a change between the two variables of the strongest refuted statement.
    """

    change: Change
    explains: tuple[Statement, ...]
    of: int
    also_denies: int
    is_of_strongest: bool

    @property
    def rank(self) -> tuple[int, bool, int, int]:
        """The smaller, the better it explains."""
        return -len(self.explains), not self.is_of_strongest, self.also_denies, CHANGES.index(self.change.kind)

    def __str__(self) -> str:
        return f"{self.change} (explains {len(self.explains)} of {self.of} refuted)"


def explanations_of(
    graph: BitGraph, refuted: Sequence[Statement], others: Sequence[Statement], variables: Collection[str]
) -> list[Explanation]:
    """Return the single changes that explain refuted statements.

    Those that explain most come first; of these those between the variables of the strongest one, then those that deny
    fewest other statements, then an edge before a hidden cause before a reversal.

    Parameters
    ----------
    graph
        The graph.
    refuted
        The refuted statements, the strongest first.
    others
        Those that were not.
    variables
        Between which changes are sought.
    """
    refuted, found = refuted[:MOST_EXPLAINED], []
    for change, changed in changes_of(graph, variables):
        if explained := tuple(s for s in refuted if not s.holds_in(changed)):
            found.append((change, changed, explained))
    most = max((len(explained) for _, _, explained in found), default=0)
    explanations = [
        Explanation(
            change,
            explained,
            len(refuted),
            sum(not s.holds_in(changed) for s in others) if len(explained) == most else len(others),
            {change.first, change.second} <= refuted[0].pair,
        )
        for change, changed, explained in found
    ]
    return sorted(explanations, key=lambda e: e.rank)


def unnoticed(graph: BitGraph, tested: Sequence[Statement], variables: Collection[str]) -> tuple[Change, ...]:
    """Return the edges and hidden causes that may be missing without any tested statement being false."""
    return tuple(
        change
        for change, changed in changes_of(graph, variables)
        if change.kind != "reversal" and all(s.holds_in(changed) for s in tested)
    )


def changes_of(graph: BitGraph, variables: Collection[str]) -> Iterator[tuple[Change, BitGraph]]:
    """Return the changes between variables that make no cycle, each with the changed graph."""
    names = [v for v in graph.variables if v in variables]
    for i, second in enumerate(names):
        for first in names[:i]:
            for change in _between(graph, first, second):
                if (changed := change.made_in(graph)) is not None:
                    yield change, changed


def _between(graph: BitGraph, first: str, second: str) -> list[Change]:
    """Return the changes between two variables."""
    a, b = graph.bit[first], graph.bit[second]
    hidden = [] if _share_a_hidden_cause(graph, a, b) else [Change("hidden cause", first, second)]
    if graph.parents_of(b) & a:
        return [*hidden, Change("reversal", first, second)]
    if graph.parents_of(a) & b:
        return [*hidden, Change("reversal", second, first)]
    return [Change("edge", first, second), Change("edge", second, first), *hidden]


def _share_a_hidden_cause(graph: BitGraph, a: int, b: int) -> bool:
    return bool(graph.parents_of(a) & graph.parents_of(b) & graph.latents)
