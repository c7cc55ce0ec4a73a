"""Answers about sets of variables: what all actions that set the same variables share is asked once for the set."""

from __future__ import annotations

import networkx as nx

from pgcpe.graphs.bitsets import bit_graph
from pgcpe.graphs.identification import AdmissibleSteps, SequenceSearch
from pgcpe.graphs.structure import States

__all__ = ["Factor", "GraphAnswers", "factors_of"]

Factor = tuple[str, frozenset[str]]
"""A variable and what it is conditioned on."""


class GraphAnswers:
    """What a graph says of sets of treatments and an outcome, all of them observed variables of it.

    Parameters
    ----------
    graph, outcome, states
        As for `admissible_sequence`.
    """

    def __init__(self, graph: nx.DiGraph, outcome: str, states: States) -> None:
        self._graph, self._states = bit_graph(graph), states
        self._outcome = self._graph.bit[outcome]
        self._relevant: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._named: dict[int, tuple[str, ...]] = {}
        self._disturbing: dict[Factor, int] = {}
        self._bits: dict[frozenset[str], int] = {}

    def relevant(self, treatments: tuple[str, ...]) -> tuple[str, ...]:
        """Return the treatments that can matter, sorted (see `relevant_treatments`): one tuple for all that say so."""
        if treatments not in self._relevant:
            some = self._graph.relevant(self._graph.bits(treatments), self._outcome)
            self._relevant[treatments] = self._named.setdefault(some, tuple(sorted(self._graph.names(some))))
        return self._relevant[treatments]

    def sequence(self, treatments: tuple[str, ...]) -> AdmissibleSteps | None:
        """Return an admissible sequence, or None (see `admissible_sequence`)."""
        return SequenceSearch(self._graph, self._graph.bits(treatments), self._outcome, self._states).run()

    def is_invariant_under(self, played: frozenset[str], variable: str, given: frozenset[str]) -> bool:
        """Return whether plays that set some variables show a factor as observation does (see the function)."""
        factor = variable, given
        if factor not in self._disturbing:
            self._disturbing[factor] = self._graph.disturbing(self._graph.bit[variable], self._graph.bits(given))
        if played not in self._bits:
            self._bits[played] = self._graph.bits(played)
        return not self._disturbing[factor] & self._bits[played]


def factors_of(sequence: AdmissibleSteps, outcome: str) -> list[Factor]:
    """Return the factors of the formula of a sequence (Eq. 4) in their order, that of the outcome last."""
    factors: list[Factor] = []
    given: set[str] = set()
    for treatment, adjusted in sequence:
        for variable in sorted(adjusted):
            factors.append((variable, frozenset(given)))
            given.add(variable)
        given.add(treatment)
    return [*factors, (outcome, frozenset(given))]
