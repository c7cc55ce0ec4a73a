"""Load causal networks.

A file gives the whole network or an error that names the trouble: what the parsers read is checked here before a pgmpy
network is made of it.
"""

from __future__ import annotations

import codecs
import gzip
import os
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import networkx as nx

from pgcpe.graphs.bif import Table, parse_bif, parse_xmlbif
from pgcpe.graphs.formats import binary_format, refuse_other_formats
from pgcpe.graphs.shipped import shipped_file, shipped_networks
from pgcpe.graphs.states import did_you_mean
from pgcpe.graphs.structure import States, shortened, structure_of
from pgcpe.graphs.tables import build_network, normalised, warn_of_rounding

__all__ = ["load_network"]

HEAD = 65_536
"""How many bytes are read to see what a file is."""

LARGEST = 2**26
"""How many bytes are read at most; the largest network of the bnlearn repository has 3 million."""


def load_network(name_or_path: str | Path, *, latents: Iterable[str] = ()) -> Any:
    """Return a network from a file, from text, or from those that are shipped.

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
        parent, a missing row, a column that sums to 1 only with an error above .01, a cycle, an unknown latent; if it
        is of another format, or larger than 64 MB. The message names the file and the variable.
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
        refuse_other_formats(text[:HEAD])
        states, tables = (parse_xmlbif if text.lstrip().startswith("<") else parse_bif)(text)
        _check_structure(states, tables)
        _normalise(source, states, tables)
        return _build(states, tables, {latents} if isinstance(latents, str) else set(latents))
    except ValueError as error:
        raise ValueError(f"{source}: {shortened(str(error), 500)}") from None


def _read(name_or_path: str | Path) -> tuple[str, str]:
    """Return a name for messages, and the text."""
    if not isinstance(name_or_path, (str, os.PathLike)):
        raise TypeError(
            f"a network must be named by a string or a path, but got {type(name_or_path).__name__}; a network object "
            "is taken wherever a graph is"
        )
    path = Path(name_or_path)
    try:
        found = path.is_file()
    except (OSError, ValueError):  # no name of a file at all
        found = False
    text = name_or_path if isinstance(name_or_path, str) and not found else ""
    if "{" in text or "\n" in text or text.lstrip().startswith("<"):
        return "<text>", text.removeprefix("\ufeff")
    if not found:
        shipped = shipped_file(str(name_or_path))
        if shipped is None:
            known = shipped_networks()
            if os.path.isdir(name_or_path):
                raise IsADirectoryError(f"{shortened(str(name_or_path))!r} is a folder: name a file in it")
            raise FileNotFoundError(
                f"there is no file {shortened(str(name_or_path))!r}, and no network of that name is shipped"
                f"{did_you_mean(name_or_path, known)}; there are {', '.join(known)}"
            )
        path = shipped
    try:
        return shortened(path.name), _text(path)
    except ValueError as error:
        raise ValueError(f"{shortened(path.name)}: {error}") from None


def _text(path: Path) -> str:
    """Return the text of a file; one that does not begin like a network is not read further than that takes."""
    with path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
    try:
        with gzip.open(path) if packed else path.open("rb") as file:
            head = file.read(HEAD)
            if len(head) == HEAD:
                refuse_other_formats(_decoded(head, final=False))
            whole = head + file.read(LARGEST + 1 - len(head))
    except (EOFError, OSError, zlib.error) as error:
        if not packed:
            raise
        raise ValueError(f"the compressed file cannot be unpacked: {error}") from None
    if len(whole) > LARGEST:
        raise ValueError(f"files of up to {LARGEST >> 20} MB are read, unpacked, but this one has more")
    return _decoded(whole)


def _decoded(raw: bytes, final: bool = True) -> str:
    try:
        return codecs.getincrementaldecoder("utf-8-sig")().decode(raw, final)
    except UnicodeDecodeError as error:
        if kind := binary_format(raw):
            raise ValueError(kind) from None
        raise ValueError(f"the file must be in UTF-8, but {error.reason} at byte {error.start}") from None


def _check_structure(states: States, tables: dict[str, Table]) -> None:
    if not states:
        raise ValueError("no variable is declared")
    for variable in states:
        if variable not in tables:
            raise ValueError(f"{variable} has no table")


def _normalise(source: str, states: States, tables: dict[str, Table]) -> None:
    """Make every column sum to 1, or refuse it."""
    errors = {}
    for variable, (parents, values) in tables.items():
        mended, errors[variable] = normalised(variable, parents, values, states)
        tables[variable] = Table(parents, mended)
    warn_of_rounding(errors, source)


def _build(states: States, tables: dict[str, Table], latents: set[str]) -> Any:
    if unknown := sorted(map(str, latents - set(states))):
        raise ValueError(
            f"latents must be variables of the network, but got {unknown}{did_you_mean(unknown[0], states)}"
        )
    edges = nx.DiGraph((parent, variable) for variable, table in tables.items() for parent in table.parents)
    structure_of(edges)  # refuses a cycle
    return build_network(states, {variable: tables[variable] for variable in states}, latents)
