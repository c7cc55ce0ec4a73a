"""The tables of a network as arrays, once they fit its graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgcpe.graphs.structure import State, pgmpy_part, states_of, structure_of

__all__ = ["Table", "sound_network", "tables_of"]


@dataclass(frozen=True)
class Table:
    """The table of a variable.

    Attributes
    ----------
    parents
        Its parents, in the order of the axes.
    states
        Its own states.
    values
        Probabilities, axes parents, then the variable itself, each in the order of the variable's own states.
    """

    parents: tuple[str, ...]
    states: tuple[State, ...]
    values: NDArray[np.float64]


def tables_of(network: Any) -> dict[str, Table]:
    """Return the tables of a network once they fit its graph.

    Raises
    ------
    ValueError
        If a table is missing or does not fit.
    """
    graph, states = structure_of(network), states_of(network)
    tables = {}
    for variable in graph.nodes:
        table = _table(network, variable, set(graph.predecessors(variable)))
        values = np.moveaxis(_aligned(table, states), 0, -1)
        tables[variable] = Table(tuple(table.variables[1:]), states[variable], values)
    return tables


def sound_network(network: Any) -> Any:
    """Return a network whose tables fit its graph and name states in one order, which pgmpy's inference needs."""
    graph, states = structure_of(network), states_of(network)
    tables = [_table(network, v, set(graph.predecessors(v))) for v in graph.nodes]
    if all(tuple(names) == states[v] for table in tables for v, names in table.state_names.items()):
        return network
    sound = pgmpy_part("models").DiscreteBayesianNetwork()
    sound.add_nodes_from(graph.nodes)
    sound.add_edges_from(graph.edges)
    for table in tables:
        first, *parents = table.variables
        values = _aligned(table, states).reshape(len(states[first]), -1)
        sound.add_cpds(
            pgmpy_part("factors.discrete").TabularCPD(
                first,
                len(states[first]),
                values,
                evidence=parents,
                evidence_card=[len(states[p]) for p in parents],
                state_names={v: list(states[v]) for v in table.variables},
            )
        )
    return sound


def _table(network: Any, variable: str, parents: set[str]) -> Any:
    """Return the table of a variable once it fits the graph."""
    table = network.get_cpds(variable) if hasattr(network, "get_cpds") else None
    if table is None:
        raise ValueError(f"{variable} has no table: a simulator needs a network with one for every variable")
    if not hasattr(table, "state_names"):
        raise ValueError(
            f"{variable} has a {type(table).__name__}, but a simulator needs tables of states: cut the columns of data "
            "by pandas.cut and fit a DiscreteBayesianNetwork to them; a CausalBandit takes the graph as it is"
        )
    if set(table.variables[1:]) != parents:
        raise ValueError(
            f"the table of {variable} is for the parents {table.variables[1:]}, but the graph has {parents}"
        )
    sums = table.values.sum(axis=0)
    if not table.values.min() >= 0:
        raise ValueError(f"the table of {variable} has an entry of {table.values.min()}, which is no probability")
    if not np.allclose(sums, 1, atol=1e-6):
        raise ValueError(
            f"every row of {variable} must sum to 1, but one sums to {sums.ravel()[abs(sums - 1).argmax()]}"
        )
    return table


def _aligned(table: Any, states: Mapping[str, tuple[State, ...]]) -> NDArray[np.float64]:
    """Return the values of a table with every axis in the order of the variable's own states."""
    values = np.asarray(table.values, dtype=np.float64)
    for axis, variable in enumerate(table.variables):
        names = list(table.state_names[variable])
        if set(names) != set(states[variable]):
            raise ValueError(
                f"the table of {table.variable} gives {variable} the states {names}, not {states[variable]}"
            )
        values = values.take([names.index(s) for s in states[variable]], axis=axis)
    return values
