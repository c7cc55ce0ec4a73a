"""The oracle: questions about a graph answered by networkx's own separators, ancestors and edges."""

import networkx as nx

from pgcpe.graphs.identification import number_of_cells


def cut(graph, under, over):
    less = nx.DiGraph(graph.edges)
    less.add_nodes_from(graph)
    less.remove_edges_from([*graph.out_edges(under), *graph.in_edges(over)])
    return less


def is_invariant_under(graph, treatments, variable, given):
    """Whether indicators of the intervention, causes of the treatments, are d-separated from the variable."""
    marked = cut(graph, (), ())
    marked.add_edges_from((("set", w), w) for w in treatments)
    if variable in treatments or not treatments:
        return variable not in treatments
    return nx.is_d_separator(marked, {("set", w) for w in treatments}, {variable}, set(given))


def admissible_sequence(graph, treatments, outcome, states=None):
    """The search of `pgcpe.admissible_sequence`: every treatment that may be next, with the two nearest separators."""
    targets = {*treatments, outcome}
    graph_above = targets.union(*(nx.ancestors(graph, v) for v in targets))
    observed = graph_above - graph.latents - {outcome}
    below = {v: nx.descendants(graph, v) | {v} for v in treatments}

    def size(steps):
        return sum(len(z) for _, z in steps), number_of_cells(steps, states), [(x, sorted(z)) for x, z in steps]

    def complete(chosen, left):
        if not left:
            return []
        done = chosen | (set(treatments) - left)
        allowed = (observed - set().union(*(below[v] for v in left))) | done
        ways = []
        for x in left:
            later = left - {x}
            if any(x in below[v] for v in later):
                continue
            for source, target in ((x, outcome), (outcome, x)):
                less = cut(graph, [x], later)
                z = nx.find_minimal_d_separator(less, source, target, included=done, restricted=allowed)
                rest = None if z is None else complete(done - {*treatments} | z - {*treatments}, later)
                if rest is not None:
                    ways.append([(x, frozenset(z - done)), *rest])
        return min(ways, key=size, default=None)

    return complete(frozenset(), frozenset(treatments))
