"""The structure, latents and states of a graph. Every public function reads graphs through here."""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import networkx as nx
from pgmpy.base import DAG

from pgcpe.graphs.states import did_you_mean, is_hashable, is_several, shown, state_name

__all__ = [
    "State",
    "States",
    "causal_order",
    "checked_graph",
    "latents_of",
    "shortened",
    "states_of",
    "structure_of",
    "variable_names",
]

State = Any
"""A state of a variable: whatever hashable value the network names it by (a string when it comes from BIF)."""

States = Mapping[str, tuple[State, ...]]
"""The states of every variable, in the order of their codes."""


def latents_of(graph: nx.DiGraph) -> frozenset[str]:
    """Return the latent variables of a graph: ``graph.latents`` where it has them, else none."""
    hidden = getattr(graph, "latents", ())
    return frozenset([hidden] if isinstance(hidden, str) else hidden)


def states_of(graph: nx.DiGraph, states: Mapping[str, Sequence[State]] | None = None) -> dict[str, tuple[State, ...]]:
    """Return the states of every variable.

    A network knows them from its tables (whose values are not read); a variable without a table, as in a bare graph or
    a Gaussian network, has the states 0 and 1 unless `states` says otherwise.

    Raises
    ------
    ValueError
        If `states` names an unknown variable, repeats a state, gives fewer than two to a variable without a table, or
        contradicts the network.
    """
    nodes = checked_graph(graph).nodes
    known: dict[str, tuple[State, ...]] = {}
    for table in getattr(graph, "cpds", ()):
        if hasattr(table, "state_names"):
            known[table.variable] = tuple(table.state_names[table.variable])
    given_states = {} if states is None else states
    if not isinstance(given_states, Mapping):
        raise TypeError(
            f"states must map variables to their states, as in {{'X': ['low', 'high']}}, but got {shown(states)}"
        )
    for variable, given in given_states.items():
        if variable not in nodes:
            raise ValueError(
                f"states must name variables of the graph, but got {shown(variable)}{did_you_mean(variable, nodes)}"
            )
        if not isinstance(given, str) and not is_several(given):
            raise TypeError(f"the states of {variable} must be a list, such as ['low', 'high'], but got {shown(given)}")
        own = tuple(given)
        if odd := [state for state in own if not is_hashable(state)]:
            raise TypeError(f"a state must be one value, but {variable} has the unhashable {shown(odd[0])}")
        if len(set(own)) != len(own) or len(own) == 0 or (len(own) < 2 and variable not in known):
            raise ValueError(f"{variable} must have two or more distinct states, but got [{shown(*own)}]")
        if variable in known and set(known[variable]) != set(own):
            raise ValueError(
                f"{variable} has the states [{shown(*known[variable])}] in the network, but got [{shown(*own)}]"
            )
        known[variable] = own
    for variable, own in known.items():
        _check_names(variable, own)
    return {variable: known.get(variable, (0, 1)) for variable in nodes}


def variable_names(what: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return names of variables; one name by itself is taken for a list of it.

    Raises
    ------
    TypeError
        If they are no names: a variable is named by a string.
    """
    some = tuple(names) if is_several(names) else (names,)
    if odd := [name for name in some if not isinstance(name, str)]:
        raise TypeError(f"{what} must be named by strings, but got {shown(odd[0])}")
    return some


def shortened(text: str, length: int = 100) -> str:
    """Return a text for a message: its first characters, and how many there are where it is longer."""
    return text if len(text) <= length else f"{text[:length]}... ({len(text):,} characters)"


def structure_of(graph: nx.DiGraph) -> DAG:
    """Return a new DAG with the nodes, edges and latents of a graph and nothing else.

    A bidirected edge of a pgmpy ``ADMG`` becomes a hidden common cause, named as its ``to_dag`` names it; here it is a
    latent. ``DAG(graph)`` would erase the latents of both (they share their roles), so the parts are added one by one.

    Raises
    ------
    TypeError
        If it is no graph with directed edges, or a variable is not named by a string.
    ValueError
        If an edge has no direction, there is a cycle (which pgmpy's ``add_edge`` accepts), or a latent variable is
        none of the graph.
    """
    _check_kind(graph)
    if isinstance(graph, DAG) and hasattr(graph, "get_interface_nodes"):
        raise TypeError(
            "graph must have a variable for each quantity, but a DynamicBayesianNetwork stands for any number of time "
            "slices: unroll it, DAG([('X_0', 'X_1'), ...]), with a variable for each quantity and slice you ask about"
        )
    if odd := [v for v in graph if not isinstance(v, str)]:
        raise TypeError(
            f"variables must be named by strings, but got {shown(odd[0])}: "
            f"write {shown(str(odd[0]))} where the graph is made"
        )
    hidden = set(latents_of(graph))
    if unknown := sorted(map(str, hidden - set(graph))):
        raise ValueError(
            f"latents must be variables of the graph, but got {shown(*unknown, show=str)}"
            f"{did_you_mean(unknown[0], graph)}"
        )
    directed, bidirected = _edges(graph)
    if undirected := sorted({min(e, e[::-1]) for e in getattr(graph, "undirected_edges", ())}):
        raise ValueError(
            f"every edge must have a direction, but {_listed(f'{u} - {v}' for u, v in undirected)} "
            f"{'has' if len(undirected) == 1 else 'have'} none: orient them by what is known and ask of "
            "DAG([(cause, effect), ...]); graph.to_dag() orients them too, in one of the ways that fit"
        )
    copy = DAG()
    copy.add_nodes_from(graph.nodes)
    nx.DiGraph.add_edges_from(copy, directed)
    for u, v in bidirected:
        cause = f"L_{u}_{v}"
        while cause in copy:
            cause += "_"
        copy.add_node(cause)
        nx.DiGraph.add_edges_from(copy, [(cause, u), (cause, v)])
        hidden.add(cause)
    if not nx.is_directed_acyclic_graph(copy):
        steps = [u for u, _ in nx.find_cycle(copy)]
        raise ValueError(
            f"the graph must be acyclic, but has the cycle {' -> '.join([*steps, steps[0]])}; leave out an edge, or "
            "make two variables of one that changes over time"
            + ("; a hidden common cause is a variable of its own, in graph.latents" if len(steps) == 2 else "")
        )
    copy.latents = hidden
    return copy


def causal_order(graph: nx.DiGraph) -> tuple[str, ...]:
    """Return the variables, causes before effects, else in the order in which the graph lists them."""
    return tuple(nx.lexicographical_topological_sort(graph, key=list(graph.nodes).index))


def checked_graph(graph: nx.DiGraph) -> DAG:
    """Return the structure of a graph, frozen; a graph that this returned is returned as it is."""
    if getattr(graph, "is_checked", False):
        return graph
    checked = nx.freeze(structure_of(graph))
    checked.is_checked = True
    return checked


def _check_names(variable: str, states: tuple[State, ...]) -> None:
    """Raise where a state is none, or text could not tell two of them apart."""
    if any(state is None or state != state for state in states):
        raise ValueError(f"a missing value is no state, but {variable} has [{shown(*states)}]: name it, as in 'none'")
    names = [state_name(state) for state in states]
    if len(set(names)) != len(names):
        raise ValueError(
            f"{variable} must have states of different names, but got [{shown(*states)}]: rename one of them"
        )


def _check_kind(graph: Any) -> None:
    """Raise unless a graph is one of networkx with directed edges."""
    if isinstance(graph, nx.DiGraph):
        return
    got = f"graph must be a pgmpy DAG or network (or a networkx DiGraph), but got {type(graph).__name__}"
    if isinstance(graph, nx.Graph):
        edges = _listed(f"{u} - {v}" for u, v, *_ in graph.edges)
        raise TypeError(
            f"{got}, whose edges have no direction{edges and ': ' + edges}; say DAG([(cause, effect), ...])"
        )
    if isinstance(graph, (str, os.PathLike)):
        raise TypeError(f"{got}; load_network({shortened(str(graph))!r}) loads one from a file")
    raise TypeError(f"{got}; DAG([(cause, effect), ...]) makes one of edges")


def _edges(graph: nx.DiGraph) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the directed and the bidirected edges, each once."""
    kinds = [(u, v, data.get("type", "directed")) for u, v, data in graph.edges(data=True)]
    if not graph.is_multigraph():  # ``type`` is what a mixed graph of pgmpy tells its parallel edges apart by
        return list(graph.edges), []
    if odd := [edge for edge in kinds if edge[2] not in ("directed", "bidirected")]:
        u, v, kind = odd[0]
        raise ValueError(f"every edge must be directed or bidirected, but the one between {u} and {v} is {kind}")
    directed = [(u, v) for u, v, kind in kinds if kind == "directed"]
    return list(dict.fromkeys(directed)), sorted({(min(u, v), max(u, v)) for u, v, kind in kinds if kind != "directed"})


def _listed(items: Iterable[str], most: int = 10) -> str:
    """Return some items of a list for a message."""
    some = list(items)
    return ", ".join(some[:most]) + (f", ... ({len(some)})" if len(some) > most else "")


def pgmpy_part(name: str) -> Any:
    """Return a module of pgmpy: its larger parts take seconds to import and raise warnings, so late and quietly."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(f"pgmpy.{name}")
