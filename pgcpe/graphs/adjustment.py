"""The paper's named ways to an admissible sequence, each with its theorem.

`admissible_sequence` finds one whenever there is one; these say which classical result a graph
falls under, and their answers are checked against the definition before they are returned.
"""

from __future__ import annotations

from collections.abc import Iterable

import networkx as nx

from pgcpe.graphs.identification import AdmissibleSteps, checked_question, is_admissible_sequence
from pgcpe.graphs.structure import latents_of

__all__ = ["adjustment_set", "causal_tree_sequence", "is_adjustment_set", "parents_sequence"]


def adjustment_set(graph: nx.DiGraph, treatments: Iterable[str], outcome: str) -> frozenset[str] | None:
    """Return a minimal adjustment set for a set of treatments, or None: then none exists.

    Theorem (van der Zander, Liskiewicz and Textor 2014): Z is an adjustment set iff it holds no node on, or below one
    on, a proper causal path (one that leaves the treatments at its start), and separates treatments and outcome in the
    graph without the first edges of those paths.

    Raises
    ------
    ValueError
        If a name is unknown or latent, or the outcome is a treatment.

    Examples
    --------
    >>> adjustment_set(nx.DiGraph([("Z", "X"), ("Z", "Y"), ("X", "Y")]), ["X"], "Y")
    frozenset({'Z'})
    """
    graph, names = checked_question(graph, treatments, outcome)
    cut, forbidden = _proper_backdoor(graph, names, outcome)
    allowed = set(graph) - names - {outcome} - forbidden - latents_of(graph)
    found = nx.find_minimal_d_separator(cut, set(names), {outcome}, restricted=allowed) if names else set()
    return None if found is None else frozenset(found)


def is_adjustment_set(graph: nx.DiGraph, treatments: Iterable[str], outcome: str, adjusted: Iterable[str]) -> bool:
    """Return whether a set of observed variables is an adjustment set, by the theorem of `adjustment_set`."""
    (graph, names), z = checked_question(graph, treatments, outcome), set(adjusted)
    if unknown := sorted(map(str, z - set(graph))):
        raise ValueError(f"the adjusted variables must be variables of the graph, but got {', '.join(unknown)}")
    cut, forbidden = _proper_backdoor(graph, names, outcome)
    if z & (forbidden | names | {outcome} | latents_of(graph)):
        return False
    return not names or bool(nx.is_d_separator(cut, set(names), {outcome}, z))


def parents_sequence(graph: nx.DiGraph, treatments: Iterable[str], outcome: str) -> AdmissibleSteps | None:
    """Return ``Z_i = Pa(X_i)`` without what was used before, in a topological order; None if the outcome is in it.

    Theorem 4 of the paper: without hidden variables this is an admissible sequence.

    Raises
    ------
    ValueError
        If the graph has latent variables, a name is unknown, or the outcome is a treatment.

    Examples
    --------
    >>> parents_sequence(nx.DiGraph([("Z", "X"), ("Z", "Y"), ("X", "Y")]), ["X"], "Y")
    [('X', frozenset({'Z'}))]
    """
    graph, names = checked_question(graph, treatments, outcome)
    if hidden := latents_of(graph):
        raise ValueError(f"the theorem is for graphs without hidden variables, but {sorted(hidden)} are latent")
    sequence: AdmissibleSteps = []
    used: set[str] = set()
    for x in nx.topological_sort(graph):
        if x in names:
            z = frozenset(graph.predecessors(x)) - used
            sequence.append((x, z))
            used |= {x, *z}
    return sequence if is_admissible_sequence(graph, sequence, outcome) else None


def causal_tree_sequence(graph: nx.DiGraph, treatments: Iterable[str], outcome: str) -> AdmissibleSteps | None:
    """Return the sequence of the paper's Appendix A for a causal tree with confounders; None where it is none.

    The observed variables form a directed tree, and every hidden one is a cause of two variables of the same layer.
    ``Z_i`` is ``C(S_i) | Pa(C(S_i))`` without ``S_i`` and what was used before, where S_i are the treatments in layer i
    and C(T) all that confounders connect to T. The paper leaves S_i in, and does not exclude the outcome.

    Raises
    ------
    ValueError
        If the graph is no such tree, a name is unknown, or the outcome is a treatment.
    """
    graph, names = checked_question(graph, treatments, outcome)
    hidden = latents_of(graph)
    tree = nx.DiGraph(graph.subgraph(set(graph) - hidden))
    if not nx.is_arborescence(tree):
        raise ValueError("the observed variables must form a directed tree with its edges pointing away from the root")
    root = next(v for v in tree if tree.in_degree(v) == 0)
    layer = nx.single_source_shortest_path_length(tree, root)
    confounded = nx.Graph()
    confounded.add_nodes_from(tree)
    for u in hidden:
        pair = list(graph.successors(u))
        if graph.in_degree(u) or len(pair) != 2 or layer.get(pair[0], -1) != layer.get(pair[1], -2):
            raise ValueError(f"a hidden variable must be a cause of two variables of one layer, but {u} causes {pair}")
        confounded.add_edge(*pair)
    sequence: AdmissibleSteps = []
    used: set[str] = set()
    for depth in sorted({layer[x] for x in names}):
        here = sorted(x for x in names if layer[x] == depth)
        component = set().union(*(nx.node_connected_component(confounded, x) for x in here))
        z = frozenset(component.union(*(tree.predecessors(v) for v in component))) - used - set(here)
        used |= {*here, *z}
        sequence += [(here[0], z), *((x, frozenset()) for x in here[1:])]
    return sequence if is_admissible_sequence(graph, sequence, outcome) else None


def _proper_backdoor(graph: nx.DiGraph, names: frozenset[str], outcome: str) -> tuple[nx.DiGraph, set[str]]:
    """Return the graph without the first edges of proper causal paths, and what must not be adjusted for."""
    past_treatments = nx.DiGraph(graph)
    past_treatments.remove_edges_from(list(graph.in_edges(names)))
    below = set().union(*(nx.descendants(past_treatments, x) for x in names)) - names
    before_treatments = nx.DiGraph(graph)
    before_treatments.remove_edges_from(list(graph.out_edges(names)))
    on_paths = below & (nx.ancestors(before_treatments, outcome) | {outcome})
    cut = nx.DiGraph(graph)
    cut.remove_edges_from([(x, v) for x, v in graph.out_edges(names) if v in on_paths])
    return cut, on_paths.union(*(nx.descendants(graph, v) for v in on_paths))
