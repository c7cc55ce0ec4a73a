"""Ancestors, descendants and d-separation on sets of variables that are integers: bit i stands for variable i."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import networkx as nx

from pgcpe.graphs.structure import checked_graph, latents_of

__all__ = ["BitGraph", "bit_graph", "members"]


class BitGraph(NamedTuple):
    """A directed acyclic graph whose variables are numbered in the order of their names.

    Every set below is an integer; ``bits`` and ``names`` lead there and back.

    Attributes
    ----------
    variables
        The variables by number.
    bit
        For each variable the set of it alone.
    latents
        The set of latent variables.
    parents, children
        For each number the set of parents, and of children.
    """

    variables: tuple[str, ...]
    bit: dict[str, int]
    latents: int
    parents: list[int]
    children: list[int]

    def bits(self, names: Iterable[str]) -> int:
        """Return the set of some variables."""
        found = 0
        for name in names:
            found |= self.bit[name]
        return found

    def names(self, some: int) -> frozenset[str]:
        """Return the names of the variables of a set."""
        return frozenset([self.variables[i] for i in members(some)])

    def ancestors(self, some: int, past: int = 0) -> int:
        """Return a set with all that has a directed path into it; no path goes through `past`."""
        return _closed(self.parents, some, past)

    def descendants(self, some: int) -> int:
        """Return a set with all that has a directed path from it."""
        return _closed(self.children, some)

    def parents_of(self, some: int) -> int:
        """Return all parents of a set."""
        return _union(self.parents, some)

    def relevant(self, treatments: int, outcome: int) -> int:
        """Return the treatments from which a directed path leads to the outcome past the others."""
        return self.parents_of(self.ancestors(outcome, past=treatments)) & treatments

    def cut(self, under: int, over: int) -> BitGraph:
        """Return the graph without the edges out of `under` and into `over`."""
        parents = [0 if over >> i & 1 else known & ~under for i, known in enumerate(self.parents)]
        children = [0 if under >> i & 1 else known & ~over for i, known in enumerate(self.children)]
        return self._replace(parents=parents, children=children)

    def reach(self, source: int, within: int, blocked: int) -> int:
        """Return what `source` is connected to in the moral graph of an ancestral set, by paths that `blocked` ends.

        The moral graph joins the members of a family, a variable with its parents. With all ancestors of `source`, of a
        target and of `blocked` for the ancestral set, the target is reached iff `blocked` does not d-separate the two
        (Lauritzen et al. 1990).
        """
        reached, joined, fresh = source, 0, source & ~blocked
        while fresh:
            families = (fresh | _union(self.children, fresh) & within) & ~joined
            near = (families | _union(self.parents, families)) & ~reached
            reached, joined, fresh = reached | near, joined | families, near & ~blocked
        return reached

    def separates(self, given: int, some: int, others: int) -> bool:
        """Return whether `given` d-separates two sets, of which it holds no member."""
        return not self.reach(some, self.ancestors(some | others | given), given) & others

    def disturbing(self, variable: int, given: int) -> int:
        """Return what must not be set if plays are to show P(variable | given) as passive observation does.

        An indicator of an intervention is a cause of what is set, and in the moral graph next to its whole family: it
        is connected to the variable iff some member of the family is that is not given.
        """
        within = self.ancestors(variable | given)
        connected = self.reach(variable, within, given) & ~given
        return connected | _union(self.children, connected) & within


def bit_graph(graph: nx.DiGraph) -> BitGraph:
    """Return a graph on bit sets; that of a checked graph is made once and kept with it."""
    checked = checked_graph(graph)
    if not hasattr(checked, "on_bits"):
        variables = tuple(sorted(checked))
        bit = {v: 1 << i for i, v in enumerate(variables)}
        none = BitGraph(variables, bit, 0, [], [])
        checked.on_bits = none._replace(
            latents=none.bits(latents_of(checked)),
            parents=[none.bits(checked.predecessors(v)) for v in variables],
            children=[none.bits(checked.successors(v)) for v in variables],
        )
    known: BitGraph = checked.on_bits
    return known


def members(some: int) -> Iterator[int]:
    """Return the numbers of the variables of a set, the smallest first."""
    while some:
        lowest = some & -some
        yield lowest.bit_length() - 1
        some ^= lowest


def _union(links: Sequence[int], some: int) -> int:
    """Return all that is linked to a member of a set."""
    found = 0
    while some:
        lowest = some & -some
        found |= links[lowest.bit_length() - 1]
        some ^= lowest
    return found


def _closed(links: Sequence[int], some: int, past: int = 0) -> int:
    """Return a set with all that links lead to from it, without `past`."""
    found = fresh = some
    while fresh:
        lowest = fresh & -fresh
        new = links[lowest.bit_length() - 1] & ~found & ~past
        found |= new
        fresh ^= lowest | new
    return found
