"""Tables of networks, by one rule from files and objects: columns that sum to 1 within .01, refused beyond."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from pgcpe.graphs.structure import States, pgmpy_part

__all__ = ["build_network", "normalised", "warn_of_rounding"]

SUM_REFUSED = 1e-2
SUM_WARNED = 1e-6
ROUNDING = 1e-12
"""What adding up leaves: .33 + .33 + .33 is off by .01 and a little, and .1 + .2 + .7 not off at all."""

PACKAGE = str(Path(__file__).parent.parent)


def normalised(
    variable: str, parents: Sequence[str], values: NDArray[np.float64], states: States
) -> tuple[NDArray[np.float64], float]:
    """Return a table whose columns sum to 1, and by how much the worst was off.

    Parameters
    ----------
    variable, parents
        The variable of the table and its parents.
    values
        P(variable | parents), axis 0 the variable, then the parents.
    states
        The states in the order of the axes.

    Raises
    ------
    ValueError
        If an entry is no probability, or a column is off by more than .01. The column is named.
    """

    def at(column: Sequence[int]) -> str:
        """Return in words which states of the parents a column is of."""
        where = ", ".join(f"{p}={states[p][int(j)]}" for p, j in zip(parents, column, strict=True))
        return f" (at {where})" if where else ""

    odd = ~(np.isfinite(values) & (values >= 0))
    if odd.any():
        first = np.unravel_index(int(odd.argmax()), odd.shape)
        raise ValueError(
            f"{variable} has entries that are no probabilities: {values[first]} for {states[variable][int(first[0])]}"
            + at(first[1:])  # type: ignore[arg-type]
        )
    sums = values.sum(axis=0)
    error = np.abs(sums - 1)
    if error.max() > SUM_REFUSED + 1e-9:
        worst = np.unravel_index(int(error.argmax()), error.shape)
        raise ValueError(f"a row of {variable} sums to {sums[worst]:.6g}, not 1" + at(worst))  # type: ignore[arg-type]
    return (values / sums if error.max() > ROUNDING else values), float(error.max())


def warn_of_rounding(errors: Mapping[str, float], source: str = "") -> None:
    """Warn, at the line that called the package, of columns that were renormalised by more than 1e-6.

    Parameters
    ----------
    errors
        By how much the worst column of each variable was off.
    source
        Where the tables come from, before the message.
    """
    rounded = {variable: error for variable, error in errors.items() if error > SUM_WARNED}
    if not rounded:
        return
    worst = max(rounded, key=rounded.__getitem__)
    warnings.warn(
        f"{source and source + ': '}rows of {len(rounded)} variables do not sum to 1 (worst: {worst}, off by "
        f"{rounded[worst]:.2g}); they were renormalised",
        stacklevel=_levels_inside() + 1,
    )


def build_network(
    states: States, tables: Mapping[str, tuple[Sequence[str], NDArray[np.float64]]], latents: Iterable[str] = ()
) -> Any:
    """Return a pgmpy ``DiscreteBayesianNetwork`` of tables: for each variable its parents and P(variable | parents).

    Axis 0 of the values is the variable, the others are the parents, each in the order of `states`.
    """
    TabularCPD = pgmpy_part("factors.discrete").TabularCPD
    network = pgmpy_part("models").DiscreteBayesianNetwork()
    network.add_nodes_from(tables)
    edges = [(parent, variable) for variable, (parents, _) in tables.items() for parent in parents]
    nx.DiGraph.add_edges_from(network, edges)  # pgmpy's add_edge searches for a cycle at every edge
    network.add_cpds(
        *(
            TabularCPD(
                variable,
                len(states[variable]),
                values.reshape(len(states[variable]), -1),
                evidence=list(parents),
                evidence_card=[len(states[p]) for p in parents],
                state_names={v: list(states[v]) for v in (variable, *parents)},
            )
            for variable, (parents, values) in tables.items()
        )
    )
    network.latents = set(latents)
    return network


def _levels_inside() -> int:
    """Return how many frames, from the caller's on, are of this package."""
    levels, frame = 0, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        levels, frame = levels + 1, frame.f_back
    return levels - 1
