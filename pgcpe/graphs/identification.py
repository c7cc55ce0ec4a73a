"""Answers about a causal graph: which effects can be computed from observation, and how. Pure functions.

A graph is a pgmpy ``DAG`` or network, an ``ADMG`` (bidirected edges are hidden causes), or any networkx ``DiGraph``
without a cycle; its latent variables are ``graph.latents``.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Collection, Iterable
from typing import Any

import networkx as nx
from pgmpy.base import DAG

from pgcpe.graphs.bitsets import BitGraph, bit_graph, members
from pgcpe.graphs.states import did_you_mean, is_several, shown
from pgcpe.graphs.structure import States, checked_graph, latents_of, structure_of, variable_names

__all__ = [
    "AdmissibleSteps",
    "SequenceSearch",
    "admissible_sequence",
    "checked_question",
    "drop_exogenous_noise",
    "is_admissible_sequence",
    "is_invariant_under",
    "mutilated",
    "nodes_on_paths",
    "number_of_cells",
    "relevant_treatments",
    "search_for",
]

MOST_ORDERED = 6
"""With more treatments the first sequence found is returned, not the smallest: there are 2^n sets of treatments."""

AdmissibleSteps = list[tuple[str, frozenset[str]]]
"""The pairs (X_i, Z_i) of an admissible sequence, in causal order (Definition 3)."""

Step = tuple[int, int]
"""The same on bit sets: the number of X_i, and Z_i."""


def mutilated(graph: nx.DiGraph, *, under: Collection[str] = (), over: Collection[str] = ()) -> nx.DiGraph:
    """Return the graph without the edges out of `under` and into `over`: G with an underline and an overline."""
    cut = nx.DiGraph(checked_graph(graph))
    cut.remove_edges_from([*cut.out_edges(under), *cut.in_edges(over)])
    return cut


def relevant_treatments(graph: nx.DiGraph, treatments: Iterable[str], outcome: str) -> frozenset[str]:
    """Return the treatments that can matter for the outcome.

    A treatment matters only if a directed path leads from it to the outcome that avoids the other treatments (rule 3
    of the do-calculus; dropping one that does not cannot make another one matter less or more).

    Examples
    --------
    >>> relevant_treatments(nx.DiGraph([("A", "B"), ("B", "Y")]), ["A", "B"], "Y")
    frozenset({'B'})
    """
    checked, names = checked_question(graph, treatments, outcome)
    bits = bit_graph(checked)
    return bits.names(bits.relevant(bits.bits(names), bits.bit[outcome]))


def nodes_on_paths(graph: nx.DiGraph, treatments: Iterable[str], outcome: str) -> frozenset[str]:
    """Return N_{S,Y}: the outcome and the variables with a directed path to it that avoids the treatments.

    Only their equations matter for the effect (Lemma 1 of the paper).

    Examples
    --------
    >>> from pgmpy.base import DAG
    >>> sorted(nodes_on_paths(DAG([("A", "B"), ("B", "Y"), ("C", "Y")]), ["B"], "Y"))
    ['C', 'Y']
    """
    checked, names = checked_question(graph, treatments, outcome)
    bits = bit_graph(checked)
    return bits.names(bits.ancestors(bits.bit[outcome], past=bits.bits(names)))


def drop_exogenous_noise(graph: nx.DiGraph, outcome: str | None = None) -> nx.DiGraph:
    """Return the graph on the ancestors of an outcome, without hidden variables that matter to one node at most.

    A hidden cause of a single node is its noise, and a hidden variable without children none of our business: leaving
    them out changes no distribution of the others. Without an outcome no other variable is left out.

    Raises
    ------
    ValueError
        If there is no such outcome.
    """
    pruned = structure_of(graph)
    if outcome is not None:
        if outcome not in pruned:
            raise ValueError(
                f"outcome must be a variable of the graph, but got {shown(outcome)}{did_you_mean(outcome, pruned)}"
            )
        pruned = structure_of(pruned.subgraph(nx.ancestors(pruned, outcome) | {outcome}))
    hidden = latents_of(graph) & set(pruned)
    while noise := [v for v in hidden if pruned.out_degree(v) <= (pruned.in_degree(v) == 0)]:
        pruned.remove_nodes_from(noise)
        hidden -= set(noise)
    pruned.latents = set(hidden)
    return pruned


def admissible_sequence(
    graph: nx.DiGraph, treatments: Iterable[str], outcome: str, *, states: States | None = None
) -> AdmissibleSteps | None:
    """Return an admissible sequence for the treatments and the outcome, or None: then none exists.

    Parameters
    ----------
    graph
        The graph with its latent variables, which no sequence uses.
    treatments
        The variables S that are set; none is dropped (see `relevant_treatments`). An action will do.
    outcome
        The reward variable.
    states
        The states of the variables, where known: among the sequences of equally few variables that the search meets,
        the one with the fewest cells is returned.

    Returns
    -------
    list of (str, frozenset of str), or None
        The pairs (X_i, Z_i) in a topological order of the graph. On the random graphs of the tests none is smaller;
        that it is always the smallest is not proved. With more than six treatments the first one found is returned;
        that there is none can then take long to find out.

    Raises
    ------
    ValueError
        If a name is unknown or latent, or the outcome is a treatment.

    Notes
    -----
    The paper says that no efficient algorithm is known. For one order of the treatments there is one (Pearl and Robins
    1995; Pearl 2009, Theorem 4.4.6 and Corollary 4.4.5): take for Z_k any minimal separator among the variables that
    may be used, and no choice spoils a later step. Orders that agree on what was done share what is left to do, so
    the search goes over sets of treatments and not over their orders.

    Examples
    --------
    >>> from pgmpy.base import DAG
    >>> admissible_sequence(DAG([("Z", "X"), ("Z", "Y"), ("X", "Y")]), ["X"], "Y")
    [('X', frozenset({'Z'}))]
    """
    return search_for(graph, treatments, outcome, states).run()


def is_admissible_sequence(graph: nx.DiGraph, sequence: Iterable[tuple[str, Iterable[str]]], outcome: str) -> bool:
    """Return whether the pairs (X_i, Z_i) are an admissible sequence for the outcome (Definition 3).

    The definition as printed lacks a condition without which the g-formula (Eq. 4) can be wrong: X_1, ..., X_k must be
    in a topological order of the graph. It is checked here.

    Raises
    ------
    ValueError
        If a name is unknown, a treatment latent or given twice, or the outcome a treatment.
    """
    pairs = _pairs(sequence)
    order = [x for x, _ in pairs]
    graph, _ = checked_question(graph, order, outcome)
    if len(set(order)) < len(order):
        raise ValueError(f"the treatments must be distinct, but got {order}")
    if unknown := frozenset().union(*(z for _, z in pairs)) - set(graph):
        raise ValueError(f"Z must hold variables of the graph, but got {shown(*sorted(unknown), show=str)}")
    bits = bit_graph(graph)
    target, left, given = bits.bit[outcome], bits.bits(order), 0
    for x, z in ((bits.bit[x], bits.bits(z)) for x, z in pairs):
        topological, below = not bits.ancestors(x) & left & ~x, bits.descendants(left)
        left, given = left & ~x, given | z
        if not topological or z & (below | target | bits.latents):
            return False
        if not bits.cut(under=x, over=left).separates(given, x, target):
            return False
        given |= x
    return True


def is_invariant_under(graph: nx.DiGraph, treatments: Iterable[str], variable: str, given: Iterable[str]) -> bool:
    """Return whether plays that set the treatments show P(variable | given) as passive observation does.

    They do if the variable is none of them and d-separated, given `given`, from an indicator of the intervention added
    as a cause of each treatment; where it is not separated the two distributions differ in general. Values in `given`
    that contradict those of the treatments have no plays, which this does not say.

    Parameters
    ----------
    graph
        The graph with its latent variables.
    treatments
        The variables W of an action as it is *played*: a treatment without effect on the outcome matters too. An action
        will do.
    variable, given
        The factor.

    Raises
    ------
    ValueError
        If a name is unknown or latent, or the variable is among `given`.

    Examples
    --------
    >>> from pgmpy.base import DAG
    >>> graph = DAG([("Z", "X"), ("Z", "Y"), ("X", "Y")])
    >>> is_invariant_under(graph, ["X"], "Y", ["X", "Z"]), is_invariant_under(graph, ["X"], "Z", [])
    (True, True)
    >>> is_invariant_under(graph, ["X"], "Y", ["X"])
    False
    """
    played = frozenset(variable_names("treatments", treatments))
    condition = frozenset(variable_names("the variables given", given))
    graph, _ = checked_question(graph, (played | condition) - {variable}, variable)
    if variable in condition:
        raise ValueError(f"given must not hold the variable itself, but got {variable} in {sorted(condition)}")
    bits = bit_graph(graph)
    return not bits.disturbing(bits.bit[variable], bits.bits(condition)) & bits.bits(played)


def number_of_cells(sequence: AdmissibleSteps, states: States | None = None) -> int:
    """Return how many cells the formula of a sequence has: the sum over its variables of the prefixes they split."""
    adjusted = [v for _, z in sequence for v in sorted(z)]
    return _cells(2 if states is None else len(states[v]) for v in adjusted)


def _pairs(sequence: Iterable[tuple[str, Iterable[str]]]) -> list[tuple[str, frozenset[str]]]:
    """Return the pairs (X_i, Z_i) of a sequence, each Z_i a set."""
    pairs: list[Any] = list(sequence) if is_several(sequence) else [sequence]
    if odd := [pair for pair in pairs if not isinstance(pair, (list, tuple)) or len(pair) != 2]:
        raise TypeError(f"a sequence must be a list of pairs, as in [('X', {{'Z'}})], but got {shown(odd[0])}")
    return [(x, frozenset(variable_names("the variables of a sequence", z))) for x, z in pairs]


def checked_question(graph: nx.DiGraph, treatments: Iterable[str], outcome: str) -> tuple[DAG, frozenset[str]]:
    """Return the checked graph and the treatments as a set: known, observed, distinct from the outcome."""
    checked = checked_graph(graph)
    names = frozenset(variable_names("treatments", treatments))
    variable_names("the outcome", (outcome,))
    known = bit_graph(checked)
    if unknown := sorted(map(str, (names | {outcome}) - known.bit.keys())):
        raise ValueError(
            f"treatments and outcome must be variables of the graph, but got {shown(*unknown, show=str)}"
            f"{did_you_mean(unknown[0], checked)}"
        )
    if hidden := sorted(known.names(known.bits({*names, outcome}) & known.latents)):
        raise ValueError(f"treatments and outcome must be observed, but {', '.join(hidden)} is latent")
    if outcome in names:
        raise ValueError(f"the outcome must not be a treatment, but got {outcome} for both")
    return checked, names


def search_for(graph: nx.DiGraph, treatments: Iterable[str], outcome: str, states: States | None) -> SequenceSearch:
    """Return the search for an admissible sequence that answers a question, checked."""
    checked, names = checked_question(graph, treatments, outcome)
    bits = bit_graph(checked)
    return SequenceSearch(bits, bits.bits(names), bits.bit[outcome], states)


class SequenceSearch:
    """The search for the smallest admissible sequence, one step per treatment, remembered by what is left.

    Parameters
    ----------
    graph, treatments, outcome
        The question, on bit sets.
    states
        As for `admissible_sequence`.

    Attributes
    ----------
    deepest
        Where no step was possible, the one that failed after the most treatments: its treatment, those left to treat
        later, and all that may be conditioned on.
    """

    def __init__(self, graph: BitGraph, treatments: int, outcome: int, states: States | None) -> None:
        self.graph, self.treatments, self.outcome = graph, treatments, outcome
        known = {} if states is None else states  # an outcome that is measured has no states, and is in no set
        self.arity = [len(known.get(v, (0, 1))) for v in graph.variables]
        # Variables that are no ancestors of a treatment or of the outcome can neither help nor matter.
        self.observed = graph.ancestors(treatments | outcome) & ~graph.latents & ~outcome
        self.above = {i: graph.ancestors(1 << i) for i in members(treatments)}
        self.deepest = 0, 0, 0
        self._memory: dict[tuple[int, int], list[Step] | None] = {}
        self._deepest_done = -1

    def run(self) -> AdmissibleSteps | None:
        """Return the smallest sequence for all treatments."""
        found = self.complete(0, self.treatments)
        return None if found is None else [(self.graph.variables[x], self.graph.names(z)) for x, z in found]

    def complete(self, chosen: int, left: int) -> list[Step] | None:
        """Return the smallest way to treat `left` after the other treatments, with `chosen` conditioned on."""
        if not left:
            return []
        if (chosen, left) not in self._memory:
            self._memory[chosen, left] = min(self._ways(chosen, left), key=self.size, default=None)
        return self._memory[chosen, left]

    def _ways(self, chosen: int, left: int) -> list[list[Step]]:
        """Return a way to treat `left` for every treatment that may be next and every separator for it."""
        ways: list[list[Step]] = []
        done = chosen | (self.treatments & ~left)
        allowed = self.observed & ~self.graph.descendants(left) | done
        for x in members(left):
            later = left & ~(1 << x)
            if self.above[x] & later:
                continue  # not next in any topological order
            if ways and self.treatments.bit_count() > MOST_ORDERED:
                break
            for z in self.separators(1 << x, later, done, allowed):
                if (rest := self.complete(chosen | z, later)) is not None:
                    ways.append([(x, z), *rest])
        return ways

    def separators(self, x: int, later: int, done: int, allowed: int) -> set[int]:
        """Return the minimal separators nearest to x and nearest to the outcome; none if x cannot be separated.

        Source: van der Zander and Liskiewicz 2020.
        """
        cut, y = self.graph.cut(under=x, over=later), self.outcome
        within = cut.ancestors(x | y | done)
        usable = allowed & within
        if (near_x := cut.reach(x, within, usable)) & y:
            if done.bit_count() > self._deepest_done:
                self._deepest_done, self.deepest = done.bit_count(), (x, later, usable)
            return set()
        close_to_x = usable & (near_x | done)
        if not (nearest_x := close_to_x & ~done & cut.reach(y, within, close_to_x)):
            return {0}  # the only minimal one
        close_to_y = usable & (cut.reach(y, within, usable) | done)
        return {nearest_x, close_to_y & ~done & cut.reach(x, within, close_to_y)}

    def size(self, steps: list[Step]) -> tuple[int, int, list[tuple[int, list[int]]]]:
        """Return what the smallest sequence is smallest in; the names last, so that the answer is always the same."""
        adjusted = [(x, list(members(z))) for x, z in steps]
        cells = _cells(self.arity[v] for _, z in adjusted for v in z)
        return sum(len(z) for _, z in adjusted), cells, adjusted


def _cells(arities: Iterable[int]) -> int:
    """Return the number of prefixes that variables of these numbers of states split, one after the other."""
    return sum(itertools.accumulate(arities, operator.mul))
