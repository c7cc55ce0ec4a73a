"""What a graph says of its variables: structure, latents, states. Every public function reads graphs through here."""

from __future__ import annotations

import difflib
import importlib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import networkx as nx
import numpy as np
from pgmpy.base import DAG

__all__ = [
    "State",
    "States",
    "causal_order",
    "did_you_mean",
    "find_state",
    "latents_of",
    "shortened",
    "states_of",
    "structure_of",
]

State = Any
"""A state of a variable: whatever hashable value the network names it by (a string when it comes from BIF)."""

States = Mapping[str, tuple[State, ...]]
"""The states of every variable, in the order of their codes."""


def latents_of(graph: nx.DiGraph) -> frozenset[str]:
    """Return the latent variables of a graph: ``graph.latents`` where it has them, else none."""
    return frozenset(getattr(graph, "latents", ()))


def states_of(graph: nx.DiGraph, states: Mapping[str, Sequence[State]] | None = None) -> dict[str, tuple[State, ...]]:
    """Return the states of every variable.

    A network knows them from its tables (whose values are not read); a variable of a bare graph has the states 0
    and 1 unless `states` says otherwise.

    Raises
    ------
    ValueError
        If `states` names an unknown variable, repeats a state, gives fewer than two to a variable without a table, or
        contradicts the network.
    """
    known: dict[str, tuple[State, ...]] = {}
    for table in getattr(graph, "cpds", ()):
        known[table.variable] = tuple(table.state_names[table.variable])
    for variable, given in (states or {}).items():
        if variable not in graph:
            raise ValueError(f"states must name variables of the graph, but got {variable!r}")
        if len(set(given)) != len(given) or len(given) == 0 or (len(given) < 2 and variable not in known):
            raise ValueError(f"{variable} must have two or more distinct states, but got {list(given)}")
        if variable in known and set(known[variable]) != set(given):
            raise ValueError(f"{variable} has the states {list(known[variable])} in the network, but got {list(given)}")
        known[variable] = tuple(given)
    return {variable: known.get(variable, (0, 1)) for variable in graph.nodes}


def find_state(states: Sequence[State], value: State, variable: str) -> int:
    """Return the code of a value among the states of a variable.

    A state that equals the value is taken, else one with the same name: 1 finds ``"1"``, 1.0 finds ``"1"``, True finds
    ``"true"``.

    Raises
    ------
    ValueError
        If no state fits. The message lists the states.
    """
    for code, state in enumerate(states):
        if type(state) is type(value) and state == value:
            return code
    if isinstance(value, np.generic):
        value = value.item()
    names = {str(value)}
    if isinstance(value, bool):
        names.add(str(value).lower())
    elif isinstance(value, float) and value.is_integer():
        names.add(str(int(value)))
    for code, state in enumerate(states):
        if isinstance(state, str) or isinstance(value, str):
            if str(state) in names:
                return code
        elif state == value:
            return code
    raise ValueError(f"{variable} has the states {', '.join(map(repr, states))}, but got {value!r}")


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """Return ``"; did you mean 'smoke'?"`` for a name that is nearly a known one, else an empty string.

    Examples
    --------
    >>> did_you_mean("Smokes", ["asia", "smoke"]), did_you_mean("age", ["asia", "smoke"])
    ("; did you mean 'smoke'?", '')
    """
    alike = {str(other).casefold(): str(other) for other in known}
    near = difflib.get_close_matches(str(name).casefold()[:100], alike, n=1)
    return f"; did you mean {alike[near[0]]!r}?" if near else ""


def shortened(text: str, length: int = 100) -> str:
    """Return a text for a message: its first characters, and how many there are where it is longer."""
    return text if len(text) <= length else f"{text[:length]}... ({len(text):,} characters)"


def structure_of(graph: nx.DiGraph) -> DAG:
    """Return a new DAG with the nodes, edges and latents of a graph and nothing else.

    ``DAG(graph)`` would erase the latents of both (the role sets are shared), so the parts are added one by one.

    Raises
    ------
    ValueError
        If the graph has a cycle, which pgmpy's ``add_edge`` lets through.
    """
    if not isinstance(graph, nx.DiGraph):
        raise TypeError(f"graph must be a pgmpy DAG or network, but got {type(graph).__name__}")
    if odd := [v for v in graph if not isinstance(v, str)]:
        raise TypeError(
            f"variables must be named by strings, but got {odd[0]!r}; networkx.relabel_nodes(graph, str) renames them"
        )
    if not nx.is_directed_acyclic_graph(graph):
        cycle = " -> ".join(str(u) for u, _ in nx.find_cycle(graph))
        raise ValueError(f"the graph must be acyclic, but has the cycle {cycle}")
    copy = DAG()
    copy.add_nodes_from(graph.nodes)
    nx.DiGraph.add_edges_from(copy, graph.edges)
    copy.latents = set(latents_of(graph))
    return copy


def causal_order(graph: nx.DiGraph) -> tuple[str, ...]:
    """Return the variables, causes before effects, else in the order in which the graph lists them."""
    return tuple(nx.lexicographical_topological_sort(graph, key=list(graph.nodes).index))


def pgmpy_part(name: str) -> Any:
    """Return a module of pgmpy: its larger parts take seconds to import and raise warnings, so late and quietly."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(f"pgmpy.{name}")
