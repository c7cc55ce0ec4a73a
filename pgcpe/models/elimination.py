"""Sums of a product of tables over all variables but a few."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import opt_einsum
from numpy.typing import NDArray

from pgcpe.models.network_tables import Table

__all__ = ["sum_out", "tables_upstream"]

Floats = NDArray[np.float64]
Factors = list[tuple[Floats, tuple[str, ...]]]
"""Arrays, each with the variables of its axes."""


def tables_upstream(tables: Mapping[str, Table], targets: Iterable[str], past: Iterable[str] = ()) -> Factors:
    """Return the tables of some variables and of all with a directed path to them that avoids those in `past`.

    The tables of other variables sum to 1, and need not be summed.
    """
    reached, fresh = set(targets), list(targets)
    while fresh:
        new = set(tables[fresh.pop()].parents) - reached - set(past)
        reached |= new
        fresh += new
    return [(table.values, (*table.parents, v)) for v, table in tables.items() if v in reached]


def sum_out(factors: Factors, kept: Sequence[str] = ()) -> Floats:
    """Return the sum of the product of factors over all variables but those kept, which are the axes of the result.

    Examples
    --------
    >>> sum_out([(np.array([0.5, 0.5]), ("A",)), (np.array([[1.0, 0.0], [0.2, 0.8]]), ("A", "B"))], ["B"])
    array([0.6, 0.4])
    """
    number = {v: i for i, v in enumerate(dict.fromkeys(v for _, axes in factors for v in axes))}
    one: tuple[Floats, tuple[str, ...]] = np.ones(()), ()  # the product of no factors
    operands = [part for values, axes in [one, *factors] for part in (values, [number[v] for v in axes])]
    return np.asarray(opt_einsum.contract(*operands, [number[v] for v in kept], optimize="greedy"))
