"""What a graph says that plays can refute: separations, invariances, and actions of equal effect."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import networkx as nx

from pgcpe.graphs.answers import Factor
from pgcpe.graphs.bitsets import BitGraph, bit_graph
from pgcpe.graphs.structure import States, causal_order
from pgcpe.plays.actions import Action

__all__ = ["KINDS", "Statement", "inseparable_pairs", "statements_of"]

KINDS = ("separation", "invariance", "merging")

MOST_ENTRIES = 4096
"""A statement whose table of counts has more entries cannot be tested: there are hardly two plays in a cell."""


@dataclass(frozen=True)
class Statement:
    """One thing that a graph says of the plays: within a cell, a variable has one distribution in all groups.

    Attributes
    ----------
    kind
        ``"separation"``: the variable is independent of another one, given some. ``"invariance"``: its distribution
        given some is not changed by setting another one. ``"merging"``: its distribution is the same under all of
        several actions; or, where there is another variable, under actions that differ in the setting of that alone.
    variable
        The one whose distribution it is.
    other
        The other one; None where actions are named.
    given
        What is conditioned on, sorted.
    members
        The actions.
    """

    kind: str
    variable: str
    other: str | None
    given: tuple[str, ...] = ()
    members: tuple[Action, ...] = ()

    def __str__(self) -> str:
        given = f" given {', '.join(self.given)}" if self.given else ""
        if self.kind == "separation":
            return f"{self.variable} is independent of {self.other}{given}"
        if self.kind == "invariance":
            return f"setting {self.other} leaves {self.variable}{given} as it is"
        if self.other is not None:
            return f"setting {self.other} beside others changes nothing of {self.variable}"
        first, *more = map(str, self.members)
        rest = f"{', '.join(more[:2])} and {len(more) - 2} more" if len(more) > 2 else ", ".join(more)
        return f"{first} has the same effect on {self.variable} as {rest}"

    @property
    def pair(self) -> frozenset[str]:
        """The variables that it is about: two, or for named actions the variable and all that some of them set."""
        return frozenset(
            {self.variable, self.other} if self.other is not None else {self.variable}.union(*self.members)
        )

    def holds_in(self, graph: BitGraph) -> bool:
        """Return whether a graph says so, too."""
        variable = graph.bit[self.variable]
        if self.kind == "merging":
            smallest = [_canonical(graph, action, variable) for action in self.members]
            if self.other is None:
                return len(set(smallest)) == 1
            return all(self.other not in action for action in smallest)
        given, other = graph.bits(self.given), graph.bit[str(self.other)]
        if self.kind == "separation":
            return graph.separates(given, variable, other)
        return not graph.disturbing(variable, given) & other


def statements_of(
    graph: nx.DiGraph,
    states: States,
    actions: Collection[Action] = (),
    *,
    variables: Collection[str] | None = None,
    reward: str | None = None,
    factors: Iterable[Factor] = (),
) -> list[Statement]:
    """Return the statements of a graph about variables and actions: all true if the graph is right.

    Parameters
    ----------
    graph
        The graph, with its latent variables.
    states
        The states of the variables.
    actions
        The actions that may be played. Invariance is asked of the variables that some of them set.
    variables
        Those that are recorded; by default all observed ones.
    reward
        If given, actions of equal effect are compared by it alone; otherwise by every variable, but for those without
        any effect on it, of which invariance speaks.
    factors
        Pairs of a variable and what it is conditioned on, of whose invariance is asked besides that of every variable
        given nothing, and given its parents where none is hidden.
    """
    bits = bit_graph(graph)
    known = bits.names(~bits.latents & bits.bits(bits.variables))
    recorded = known if variables is None else known.intersection(variables)
    order = [v for v in causal_order(graph) if v in recorded]
    settable = sorted(known & frozenset[str]().union(*actions))
    found = [*_separations(bits, states, order), *_invariances(bits, order, settable, factors)]
    for outcome in order if reward is None else [reward]:
        found += _mergers(bits, outcome, settable, actions, null=reward is not None)
    return [s for s in found if s.kind == "merging" or _entries(s, states) <= MOST_ENTRIES]


def inseparable_pairs(graph: nx.DiGraph, variables: Collection[str]) -> list[tuple[str, str]]:
    """Return the pairs of recorded variables without an edge that no set of recorded variables separates."""
    bits, order = bit_graph(graph), [v for v in causal_order(graph) if v in variables]
    allowed = bits.bits(order)
    return [(w, v) for w, v in _apart(bits, order) if not _separators(bits, bits.bit[v], bits.bit[w], allowed)]


def _separations(bits: BitGraph, states: States, order: Sequence[str]) -> list[Statement]:
    """Return a separation of every pair of variables that has one, by the separator of fewest cells."""
    allowed, found = bits.bits(order), []
    for w, v in _apart(bits, order):
        ways = _separators(bits, bits.bit[v], bits.bit[w], allowed)
        if ways:
            named = [tuple(sorted(bits.names(z))) for z in ways]
            given = min(named, key=lambda z: (math.prod(len(states[u]) for u in z), z))
            found.append(Statement("separation", v, w, given))
    return found


def _apart(bits: BitGraph, order: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs of variables, the earlier one first, between which there is no edge."""
    return [(w, v) for j, v in enumerate(order) for w in order[:j] if not bits.parents_of(bits.bit[v]) & bits.bit[w]]


def _separators(bits: BitGraph, v: int, w: int, allowed: int) -> set[int]:
    """Return the minimal separators nearest to either of two variables; none if they cannot be separated.

    Source: van der Zander and Liskiewicz 2020.
    """
    within = bits.ancestors(v | w)
    usable = allowed & within & ~v & ~w
    near = bits.reach(v, within, usable)
    if near & w:
        return set()
    close_to_v, close_to_w = usable & near, usable & bits.reach(w, within, usable)
    return {close_to_v & bits.reach(w, within, close_to_v), close_to_w & bits.reach(v, within, close_to_w)}


def _invariances(
    bits: BitGraph, order: Sequence[str], settable: Sequence[str], factors: Iterable[Factor]
) -> list[Statement]:
    """Return for every variable, given nothing, its parents, or as in a factor, what may be set without changing it."""
    recorded = bits.bits(order)
    pairs = {(v, frozenset[str]()) for v in order}
    pairs |= {(v, z) for v, z in factors if recorded & bits.bit[v] and not bits.bits(z) & ~recorded}
    for v in order:
        if not (parents := bits.parents_of(bits.bit[v])) & ~recorded:
            pairs.add((v, bits.names(parents)))
    place = {v: i for i, v in enumerate(order)}
    found = []
    for v, given in sorted(pairs, key=lambda pair: (place[pair[0]], len(pair[1]), sorted(pair[1]))):
        disturbing = bits.disturbing(bits.bit[v], bits.bits(given))
        some = [w for w in settable if w != v and not disturbing & bits.bit[w]]
        found += [Statement("invariance", v, w, tuple(sorted(given))) for w in some]
    return found


def _mergers(
    bits: BitGraph, outcome: str, settable: Sequence[str], actions: Collection[Action], *, null: bool
) -> list[Statement]:
    """Return which actions have the same effect on an outcome, by class and by what is set without effect."""
    classes: dict[Action, list[Action]] = {}
    for action in actions:
        if outcome not in action:
            classes.setdefault(_canonical(bits, action, bits.bit[outcome]), []).append(action)
    several = {key: some for key, some in classes.items() if len(some) > 1 and (null or key)}
    found = [Statement("merging", outcome, None, members=tuple(some)) for some in several.values()]
    for w in settable:
        idle = [{a.get(w) for a in some} for key, some in several.items() if w not in key]
        if sum(len(settings) > 1 for settings in idle) > 1:  # of a single class its own statement says it all
            members = [a for key, some in several.items() if w not in key for a in some]
            found.append(Statement("merging", outcome, w, members=tuple(members)))
    return found


def _canonical(bits: BitGraph, action: Action, outcome: int) -> Action:
    """Return the smallest action of provably equal effect."""
    relevant = bits.relevant(bits.bits(action), outcome)
    return Action({v: action[v] for v in action if bits.bit[v] & relevant})


def _entries(statement: Statement, states: States) -> int:
    """Return how many counts a table of plays without interventions has."""
    return math.prod(len(states[v]) for v in (*statement.given, statement.variable, str(statement.other)))
