"""The tables of a network as arrays, once they fit its graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgcpe.graphs.structure import State, states_of, structure_of
from pgcpe.graphs.tables import normalised, warn_of_rounding

__all__ = ["Table", "tables_of"]


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
    states = states_of(network)
    return {
        variable: Table(parents, states[variable], np.moveaxis(values, 0, -1))
        for variable, (parents, values) in _sound_tables(network, states).items()
    }


def _sound_tables(
    network: Any, states: Mapping[str, tuple[State, ...]]
) -> dict[str, tuple[tuple[str, ...], NDArray[np.float64]]]:
    """Return the parents and the values, axis 0 the variable, of every table; what is sound already is not copied."""
    graph = structure_of(network)
    tables, errors = {}, {}
    for variable in graph.nodes:
        table = _table(network, variable, set(graph.predecessors(variable)))
        parents = tuple(table.variables[1:])
        values, errors[variable] = normalised(variable, parents, _aligned(table, states), states)
        tables[variable] = parents, values
    warn_of_rounding(errors)
    return tables


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
    return table


def _aligned(table: Any, states: Mapping[str, tuple[State, ...]]) -> NDArray[np.float64]:
    """Return the values of a table with every axis in the order of the variable's own states."""
    values: NDArray[np.float64] = np.asarray(table.values, dtype=np.float64)
    for axis, variable in enumerate(table.variables):
        names = list(table.state_names[variable])
        if set(names) != set(states[variable]):
            raise ValueError(
                f"the table of {table.variable} gives {variable} the states {names}, not {states[variable]}"
            )
        if tuple(names) != states[variable]:
            values = values.take([names.index(s) for s in states[variable]], axis=axis)
    return values
