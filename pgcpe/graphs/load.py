"""Load causal networks.

A file gives the whole network or an error that names the trouble: what the parsers read is checked here before a pgmpy
network is made of it.
"""

from __future__ import annotations

import gzip
import warnings
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from pgcpe.graphs.bif import Table, parse_bif, parse_xmlbif
from pgcpe.graphs.shipped import shipped_file, shipped_networks
from pgcpe.graphs.states import did_you_mean
from pgcpe.graphs.structure import States, pgmpy_part, shortened, structure_of

__all__ = ["load_network"]

SUM_REFUSED = 1e-2

SUM_WARNED = 1e-6


def load_network(name_or_path: str | Path, *, latents: Iterable[str] = ()) -> Any:
    """Return a network from a file, from text, or from those that ship with pgmpy.

    Parameters
    ----------
    name_or_path
        A name listed by `shipped_networks` (``"asia"``), a path to a ``.bif``, ``.bif.gz`` or ``.xmlbif`` file in
        UTF-8, or the BIF or XMLBIF text itself.
    latents
        The variables that nobody can observe. BIF has no place for them.

    Returns
    -------
    pgmpy.models.DiscreteBayesianNetwork
        Every declared variable with its states in the order of the file, its parents and its table.

    Raises
    ------
    ValueError
        If the file cannot be read whole: a syntax error, a variable without a table or declared twice, an undeclared
        parent, a missing row, a column that sums to 1 only with an error above .01, a cycle, an unknown latent. The
        message names the file and the variable.
    FileNotFoundError
        If there is no such file and no such shipped network.

    Warns
    -----
    UserWarning
        If columns sum to 1 only with an error between 1e-6 and .01. They are renormalised.

    Examples
    --------
    >>> network = load_network("asia")
    >>> sorted(network.nodes)
    ['asia', 'bronc', 'dysp', 'either', 'lung', 'smoke', 'tub', 'xray']
    """
    source, text = _read(name_or_path)
    try:
        states, tables = (parse_xmlbif if text.lstrip().startswith("<") else parse_bif)(text)
        _check_structure(states, tables)
        _normalise(source, states, tables)
        return _build(states, tables, {latents} if isinstance(latents, str) else set(latents))
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None


def _read(name_or_path: str | Path) -> tuple[str, str]:
    """Return a name for messages, and the text."""
    path = Path(name_or_path)
    try:
        found = path.is_file()
    except (OSError, ValueError):  # no name of a file at all
        found = False
    if isinstance(name_or_path, str) and not found and ("{" in name_or_path or name_or_path.lstrip().startswith("<")):
        return "<text>", name_or_path.removeprefix("\ufeff")
    if found:
        raw = path.read_bytes()
    elif shipped := shipped_file(str(name_or_path)):
        path, raw = shipped, shipped.read_bytes()
    else:
        known = shipped_networks()
        raise FileNotFoundError(
            f"there is no file {shortened(str(name_or_path))!r}, and no network of that name is shipped"
            f"{did_you_mean(name_or_path, known)}; there are {', '.join(known)}"
        )
    try:
        return path.name, (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path.name}: the file must be in UTF-8, but {error.reason} at byte {error.start}") from None
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(f"{path.name}: the compressed file cannot be unpacked: {error}") from None


def _check_structure(states: States, tables: dict[str, Table]) -> None:
    if not states:
        raise ValueError("no variable is declared")
    for variable in states:
        if variable not in tables:
            raise ValueError(f"{variable} has no table")


def _normalise(source: str, states: States, tables: dict[str, Table]) -> None:
    """Make every column sum to 1, or refuse it."""
    rounded: dict[str, float] = {}
    for variable, (parents, values) in tables.items():
        if not np.all(np.isfinite(values)) or values.min() < 0:
            raise ValueError(f"{variable} has entries that are no probabilities: from {values.min()} to {values.max()}")
        sums = values.sum(axis=0)
        error = np.abs(sums - 1)
        if error.max() > SUM_REFUSED:
            worst = np.unravel_index(int(error.argmax()), error.shape)
            where = ", ".join(f"{p}={states[p][int(j)]}" for p, j in zip(parents, worst, strict=True))
            raise ValueError(
                f"a row of {variable} sums to {sums[worst]:.6g}, not 1" + (f" (at {where})" if where else "")
            )
        if error.max() > SUM_WARNED:
            rounded[variable] = float(error.max())
        tables[variable] = Table(parents, values / sums)
    if rounded:
        worst_name = max(rounded, key=rounded.__getitem__)
        warnings.warn(
            f"{source}: rows of {len(rounded)} variables do not sum to 1 (worst: {worst_name}, off by "
            f"{rounded[worst_name]:.2g}); they were renormalised",
            stacklevel=3,
        )


def _build(states: States, tables: dict[str, Table], latents: set[str]) -> Any:
    TabularCPD = pgmpy_part("factors.discrete").TabularCPD
    network = pgmpy_part("models").DiscreteBayesianNetwork()
    if unknown := latents - set(states):
        raise ValueError(f"latents must be variables of the network, but got {sorted(unknown)}")
    edges = nx.DiGraph((parent, variable) for variable, table in tables.items() for parent in table.parents)
    structure_of(edges)  # refuses a cycle
    network.add_nodes_from(states)
    nx.DiGraph.add_edges_from(network, edges.edges)  # pgmpy's add_edge searches for a cycle at every edge
    network.add_cpds(
        *(
            TabularCPD(
                variable,
                len(states[variable]),
                table.values.reshape(len(states[variable]), -1),
                evidence=table.parents,
                evidence_card=[len(states[p]) for p in table.parents],
                state_names={v: list(states[v]) for v in (variable, *table.parents)},
            )
            for variable, table in tables.items()
        )
    )
    network.latents = latents
    return network
