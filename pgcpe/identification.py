"""Answers about a causal graph: which effects can be computed from observation, and how. Pure functions.

A graph is a pgmpy ``DAG`` or network (or any networkx ``DiGraph``); its latent variables are ``graph.latents``.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

import networkx as nx

from pgcpe.actions import Action
from pgcpe.networks import States, latents_of

__all__ = [
    "AdmissibleSteps",
    "Explanation",
    "admissible_sequence",
    "checked_question",
    "connecting_path",
    "equal_effect",
    "explain",
    "is_admissible_sequence",
    "mutilated",
    "number_of_cells",
]

MOST_ORDERED = 6
"""With more treatments the first sequence found is returned, not the smallest: there are 2^n sets of treatments."""

AdmissibleSteps = list[tuple[str, frozenset[str]]]
"""The pairs (X_i, Z_i) of an admissible sequence, in causal order (Definition 3)."""


def mutilated(graph: nx.DiGraph, *, under: Collection[str] = (), over: Collection[str] = ()) -> nx.DiGraph:
    """Return the graph without the edges out of `under` and into `over`: G with an underline and an overline."""
    cut = nx.DiGraph(graph)
    cut.remove_edges_from([*graph.out_edges(under), *graph.in_edges(over)])
    return cut


def equal_effect(graph: nx.DiGraph, action: Action, outcome: str) -> Action:
    """Return the smallest action that provably has the same effect on the outcome.

    A treatment matters only if a directed path leads from it to the outcome that avoids the other treatments (rule 3
    of the do-calculus; dropping one that does not cannot make another one matter less or more).

    Examples
    --------
    >>> from pgmpy.base import DAG
    >>> equal_effect(DAG([("A", "B"), ("B", "Y")]), Action({"A": 1, "B": 0}), "Y")
    do(B=0)
    """
    treatments = checked_question(graph, action, outcome)
    matters: set[str] = set()
    reached, open_nodes = {outcome}, [outcome]
    while open_nodes:
        for parent in graph.predecessors(open_nodes.pop()):
            if parent in treatments:
                matters.add(parent)
            elif parent not in reached:
                reached.add(parent)
                open_nodes.append(parent)
    return Action({v: s for v, s in action.items() if v in matters})


def admissible_sequence(
    graph: nx.DiGraph, treatments: Iterable[str], outcome: str, *, states: States | None = None
) -> AdmissibleSteps | None:
    """Return an admissible sequence for the treatments and the outcome, or None: then none exists.

    Parameters
    ----------
    graph
        The graph with its latent variables, which no sequence uses.
    treatments
        The variables S that are set; none is dropped (see `equal_effect`). An action will do.
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
    return _Search(graph, checked_question(graph, treatments, outcome), outcome, states).run()


def is_admissible_sequence(graph: nx.DiGraph, sequence: Iterable[tuple[str, Iterable[str]]], outcome: str) -> bool:
    """Return whether the pairs (X_i, Z_i) are an admissible sequence for the outcome (Definition 3).

    The definition as printed lacks a condition without which the formula can be wrong: X_1, ..., X_k must be in a
    topological order of the graph. It is checked here.

    Raises
    ------
    ValueError
        If a name is unknown, a treatment latent or given twice, or the outcome a treatment.
    """
    pairs = [(x, frozenset(z)) for x, z in sequence]
    order = [x for x, _ in pairs]
    checked_question(graph, order, outcome)
    if len(set(order)) < len(order):
        raise ValueError(f"the treatments must be distinct, but got {order}")
    if unknown := frozenset().union(*(z for _, z in pairs)) - set(graph):
        raise ValueError(f"Z must hold variables of the graph, but got {sorted(unknown)}")
    given: set[str] = set()
    for i, (x, z) in enumerate(pairs):
        later = order[i + 1 :]
        below = set(order[i:]).union(*(nx.descendants(graph, v) for v in order[i:]))
        topological = not any(x in nx.descendants(graph, v) for v in later)
        given |= z
        if not topological or z & below or outcome in z or z & latents_of(graph):
            return False
        if not nx.is_d_separator(mutilated(graph, under=[x], over=later), {x}, {outcome}, given):
            return False
        given.add(x)
    return True


def number_of_cells(sequence: AdmissibleSteps, states: States | None = None) -> int:
    """Return how many cells the formula of a sequence has: the sum over its variables of the prefixes they split."""
    cells, prefixes = 0, 1
    for _, z in sequence:
        for variable in sorted(z):
            prefixes *= 2 if states is None else len(states[variable])
            cells += prefixes
    return cells


@dataclass(frozen=True)
class Explanation:
    """Why an effect can be computed from observation, or why not. ``str`` tells it in a few lines.

    Attributes
    ----------
    treatments, outcome
        The question.
    sequence
        The admissible sequence, or None.
    words, latex
        The formula (Eq. 4) in words and in LaTeX; without a sequence, what stands in the way, and an empty string.
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
    names = checked_question(graph, treatments, outcome)
    search = _Search(graph, names, outcome, states)
    sequence = search.run()
    question = f"E[{outcome} | do({', '.join(sorted(names))})]"
    if sequence is None:
        x, cut, given = search.deepest
        path = connecting_path(cut, x, outcome, given)
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
        words = f"{question} is the mean of {leaf} over {' '.join(factors)}."
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


def checked_question(graph: nx.DiGraph, treatments: Iterable[str], outcome: str) -> frozenset[str]:
    """Return the treatments as a set once the question makes sense: known, observed, distinct from the outcome."""
    names = frozenset([treatments] if isinstance(treatments, str) else treatments)
    if odd := [v for v in graph if not isinstance(v, str)]:
        raise TypeError(f"variables must be named by strings, but got {odd[0]!r}")
    if unknown := sorted(map(str, (names | {outcome}) - set(graph))):
        raise ValueError(f"treatments and outcome must be variables of the graph, but got {', '.join(unknown)}")
    if hidden := sorted((names | {outcome}) & latents_of(graph)):
        raise ValueError(f"treatments and outcome must be observed, but {', '.join(hidden)} is latent")
    if outcome in names:
        raise ValueError(f"the outcome must not be a treatment, but got {outcome} for both")
    return names


# ---------------------------------------------------------------------------------------------------------- private


@dataclass
class _Search:
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
        cut = mutilated(self.graph, under=[x], over=later)
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
