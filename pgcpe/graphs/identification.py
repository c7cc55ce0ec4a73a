"""Answers about a causal graph: which effects can be computed from observation, and how. Pure functions.

A graph is a pgmpy ``DAG`` or network, an ``ADMG`` (bidirected edges are hidden causes), or any networkx ``DiGraph``
without a cycle; its latent variables are ``graph.latents``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import networkx as nx
from pgmpy.base import DAG

from pgcpe.graphs.states import did_you_mean
from pgcpe.graphs.structure import States, checked_graph, latents_of, structure_of

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
]

MOST_ORDERED = 6
"""With more treatments the first sequence found is returned, not the smallest: there are 2^n sets of treatments."""

AdmissibleSteps = list[tuple[str, frozenset[str]]]
"""The pairs (X_i, Z_i) of an admissible sequence, in causal order (Definition 3)."""


def mutilated(graph: nx.DiGraph, *, under: Collection[str] = (), over: Collection[str] = ()) -> nx.DiGraph:
    """Return the graph without the edges out of `under` and into `over`: G with an underline and an overline."""
    return _cut(checked_graph(graph), under, over)


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
    return frozenset(_upstream(checked, names, outcome)[1])


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
    return frozenset(_upstream(checked, names, outcome)[0])


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
                f"outcome must be a variable of the graph, but got {outcome!r}{did_you_mean(outcome, pruned)}"
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
    return SequenceSearch(*checked_question(graph, treatments, outcome), outcome, states).run()


def is_admissible_sequence(graph: nx.DiGraph, sequence: Iterable[tuple[str, Iterable[str]]], outcome: str) -> bool:
    """Return whether the pairs (X_i, Z_i) are an admissible sequence for the outcome (Definition 3).

    The definition as printed lacks a condition without which the g-formula (Eq. 4) can be wrong: X_1, ..., X_k must be
    in a topological order of the graph. It is checked here.

    Raises
    ------
    ValueError
        If a name is unknown, a treatment latent or given twice, or the outcome a treatment.
    """
    pairs = [(x, frozenset(z)) for x, z in sequence]
    order = [x for x, _ in pairs]
    graph, _ = checked_question(graph, order, outcome)
    if len(set(order)) < len(order):
        raise ValueError(f"the treatments must be distinct, but got {order}")
    if unknown := frozenset().union(*(z for _, z in pairs)) - set(graph):
        raise ValueError(f"Z must hold variables of the graph, but got {sorted(map(str, unknown))}")
    given: set[str] = set()
    for i, (x, z) in enumerate(pairs):
        later = order[i + 1 :]
        below = set(order[i:]).union(*(nx.descendants(graph, v) for v in order[i:]))
        topological = not any(x in nx.descendants(graph, v) for v in later)
        given |= z
        if not topological or z & below or outcome in z or z & latents_of(graph):
            return False
        if not nx.is_d_separator(_cut(graph, [x], later), {x}, {outcome}, given):
            return False
        given.add(x)
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
    played, condition = frozenset(treatments), frozenset(given)
    graph, _ = checked_question(graph, (played | condition) - {variable}, variable)
    if variable in condition:
        raise ValueError(f"given must not hold the variable itself, but got {variable} in {sorted(condition)}")
    if variable in played:
        return False
    regimes = {("set", w): w for w in played}  # no name of a variable
    marked = nx.DiGraph(graph.edges)
    marked.add_nodes_from(graph)
    marked.add_edges_from(regimes.items())
    return not regimes or bool(nx.is_d_separator(marked, set(regimes), {variable}, set(condition)))


def number_of_cells(sequence: AdmissibleSteps, states: States | None = None) -> int:
    """Return how many cells the formula of a sequence has: the sum over its variables of the prefixes they split."""
    cells, prefixes = 0, 1
    for _, z in sequence:
        for variable in sorted(z):
            prefixes *= 2 if states is None else len(states[variable])
            cells += prefixes
    return cells


def checked_question(graph: nx.DiGraph, treatments: Iterable[str], outcome: str) -> tuple[DAG, frozenset[str]]:
    """Return the checked graph and the treatments as a set: known, observed, distinct from the outcome."""
    checked = checked_graph(graph)
    names = frozenset([treatments] if isinstance(treatments, str) else treatments)
    if unknown := sorted(map(str, (names | {outcome}) - set(checked))):
        raise ValueError(
            f"treatments and outcome must be variables of the graph, but got {', '.join(unknown)}"
            f"{did_you_mean(unknown[0], checked)}"
        )
    if hidden := sorted((names | {outcome}) & latents_of(checked)):
        raise ValueError(f"treatments and outcome must be observed, but {', '.join(hidden)} is latent")
    if outcome in names:
        raise ValueError(f"the outcome must not be a treatment, but got {outcome} for both")
    return checked, names


@dataclass
class SequenceSearch:
    """The search for the smallest admissible sequence, one step per treatment, remembered by what is left."""

    graph: nx.DiGraph
    treatments: frozenset[str]
    outcome: str
    states: States | None
    memory: dict[tuple[frozenset[str], frozenset[str]], AdmissibleSteps | None] = field(default_factory=dict)
    deepest: tuple[str, nx.DiGraph, frozenset[str]] = field(init=False)

    def __post_init__(self) -> None:
        # Variables that are no ancestors of a treatment or of the outcome can neither help nor matter.
        targets = {*self.treatments, self.outcome}
        ancestral = targets.union(*(nx.ancestors(self.graph, v) for v in targets))
        self.observed = frozenset(ancestral) - latents_of(self.graph) - {self.outcome}
        self.graph = nx.DiGraph(self.graph.subgraph(ancestral))
        self.below = {v: nx.descendants(self.graph, v) | {v} for v in self.treatments}
        self._deepest_done = -1

    def run(self) -> AdmissibleSteps | None:
        """Return the smallest sequence for all treatments."""
        return self.complete(frozenset(), self.treatments)

    def complete(self, chosen: frozenset[str], left: frozenset[str]) -> AdmissibleSteps | None:
        """Return the smallest way to treat `left` after the other treatments, with `chosen` conditioned on."""
        if not left:
            return []
        if (chosen, left) not in self.memory:
            done = chosen | (self.treatments - left)
            allowed = (self.observed - frozenset().union(*(self.below[v] for v in left))) | done
            best: AdmissibleSteps | None = None
            for x in sorted(left):
                if any(x in self.below[v] for v in left - {x}):
                    continue  # not next in any topological order
                if best is not None and len(self.treatments) > MOST_ORDERED:
                    break
                for z in self.separators(x, left - {x}, done, allowed):
                    rest = self.complete(chosen | z, left - {x})
                    if rest is not None and (best is None or self.size([(x, z), *rest]) < self.size(best)):
                        best = [(x, z), *rest]
            self.memory[chosen, left] = best
        return self.memory[chosen, left]

    def separators(
        self, x: str, later: frozenset[str], done: frozenset[str], allowed: frozenset[str]
    ) -> set[frozenset[str]]:
        """Return the minimal separators nearest to x and nearest to the outcome; none if x cannot be separated."""
        cut = _cut(self.graph, [x], later)
        found = set()
        for source, target in ((x, self.outcome), (self.outcome, x)):
            separator = nx.find_minimal_d_separator(cut, source, target, included=set(done), restricted=set(allowed))
            if separator is None:
                if len(done) > self._deepest_done:
                    closed = done | {x, self.outcome}
                    given = frozenset(closed).union(*(nx.ancestors(cut, v) for v in closed)) & allowed
                    self._deepest_done, self.deepest = len(done), (x, cut, given)
                break
            found.add(frozenset(separator) - done)
        return found

    def size(self, sequence: AdmissibleSteps) -> tuple[int, int, list[tuple[str, list[str]]]]:
        """Return what the smallest sequence is smallest in; the names last, so that the answer is always the same."""
        variables = sum(len(z) for _, z in sequence)
        return variables, number_of_cells(sequence, self.states), [(x, sorted(z)) for x, z in sequence]


def _cut(graph: nx.DiGraph, under: Collection[str], over: Collection[str]) -> nx.DiGraph:
    cut = nx.DiGraph(graph)
    cut.remove_edges_from([*graph.out_edges(under), *graph.in_edges(over)])
    return cut


def _upstream(graph: nx.DiGraph, treatments: Collection[str], outcome: str) -> tuple[set[str], set[str]]:
    """Return the outcome with all that reaches it without passing a treatment, and the treatments met on the way."""
    reached, met, open_nodes = {outcome}, set(), [outcome]
    while open_nodes:
        for parent in graph.predecessors(open_nodes.pop()):
            if parent in treatments:
                met.add(parent)
            elif parent not in reached:
                reached.add(parent)
                open_nodes.append(parent)
    return reached, met
