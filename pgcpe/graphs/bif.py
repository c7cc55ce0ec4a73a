"""Read BIF 0.15 and XMLBIF 0.3 texts.

pgmpy's own BIF reader drops content silently on files that users have (blanks after braces, a missing final newline,
``default`` rows, ...). Here BIF has a grammar; what it does not cover is an error.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
import pyparsing as pp
from numpy.typing import NDArray

from pgcpe.graphs.structure import shortened

__all__ = ["Table", "parse_bif", "parse_xmlbif"]

Names = Mapping[str, tuple[str, ...]]


class Table(NamedTuple):
    """``values[i, j1, j2, ...]`` is P(variable = state i | parents in states j1, j2, ...)."""

    parents: list[str]
    values: NDArray[np.float64]


QUOTED = r'(?<![^\s=,;|(){}])"[^"]*"(?![^\s=,;|(){}])'
"""Quotes enclose something where they stand at its ends; any other quote (``5"``) is a character."""

SEPARATORS = ("", " ", "\t", "\n", "\r", ",", "|")
SEPARATED = re.compile(rf"[\s,|]*({QUOTED}|[^\s,|]+)")

ROW_INSIDE = re.compile(r";\s*(?:\([^();]*\)|table\b|default\b)[\s\d.,eE+-]+;|;\s*(?:property|type)\s")


def _property(tokens: pp.ParseResults) -> list[str]:
    """Drop a property, unless a quote in it encloses what must be read."""
    for quoted in re.findall(QUOTED, tokens[0]):
        if ROW_INSIDE.search(quoted):
            raise ValueError(f"a property has an odd quote before {shortened(quoted)!r}, which hides what follows")
    return []


def _grammar() -> pp.ParserElement:
    """Return the grammar of BIF 0.15, lenient where files in use are: commas and bars may be left out."""
    name = pp.QuotedString('"') | pp.Regex(r"[^\s{}][^{}\n]*").set_parse_action(lambda t: t[0].rstrip())
    prop = pp.Suppress(pp.Keyword("property")) + pp.Regex(rf"(?>[^;\"]+|{QUOTED}|\")*").set_parse_action(_property)
    prop += pp.Suppress(";")
    kind = pp.Group(
        pp.Suppress(pp.Keyword("type"))
        + pp.Regex(r"[^\s\[;]+")
        + pp.Opt(pp.Suppress("[") + pp.Regex(r"\d+") + pp.Suppress("]"))
        + pp.Opt(pp.Suppress("{") + pp.Regex(rf"(?>[^{{}}\"]+|{QUOTED}|\")*") + pp.Suppress("}"))
    ) + pp.Suppress(pp.Opt(";"))
    network = pp.Keyword("network") + pp.Regex(rf"(?>[^{{}}\"]+|{QUOTED}|\")*") + "{" + pp.ZeroOrMore(prop) + "}"
    variable = pp.Group(
        pp.Keyword("variable") + name + pp.Suppress("{") + pp.ZeroOrMore(prop | kind) + pp.Suppress("}")
    )
    row = pp.Regex(rf"\((?P<label>(?>[^;\"]|{QUOTED}|\")*)\)(?P<numbers>[^();\"]*);")
    row = row.set_parse_action(lambda t: [(t["label"], t["numbers"])])
    whole = (pp.Keyword("table") | pp.Keyword("default")) + pp.Regex(r"[^;(){}]*") + pp.Suppress(";")
    whole = whole.set_parse_action(lambda t: [(t[0], t[1])])
    head = pp.Regex(rf"\((?P<head>(?>[^{{}}\"]|{QUOTED}|\")*)\)\s*(?={{)").set_parse_action(lambda t: t["head"])
    probability = pp.Group(
        pp.Keyword("probability")
        + head
        + pp.Suppress("{")
        + pp.Group(pp.ZeroOrMore(prop | row.copy().add_parse_action(lambda t: [("row", *t[0])]) | whole))
        + pp.Suppress("}")
    )
    return pp.Suppress(pp.Opt(network)) + pp.ZeroOrMore(variable | probability | prop)


MOST_ENTRIES = 2**26

COMMENT = re.compile(rf"({QUOTED})|(?<![^\s;,{{}}])//[^\n]*|/\*.*?\*/", re.DOTALL)


def parse_bif(text: str) -> tuple[dict[str, tuple[str, ...]], dict[str, Table]]:
    """Return the states and the tables that a BIF text declares."""
    text = COMMENT.sub(lambda match: match[1] or " " + "\n" * match[0].count("\n"), text)  # keep the line numbers
    try:
        blocks = _grammar().parse_string(text, parse_all=True)
    except pp.ParseBaseException as error:
        raise ValueError(f"line {error.lineno} cannot be read as BIF: {shortened(error.line.strip())!r}") from None
    states: dict[str, tuple[str, ...]] = {}
    for block in blocks:
        if block[0] == "variable":
            _declare(states, block[1], _bif_states(block[1], [list(kind) for kind in block[2:]]))
    tables: dict[str, Table] = {}
    split = _head_splitter(states)
    for block in blocks:
        if block[0] == "probability":
            variable, *parents = split(block[1])
            entries = list(block[2])
            _add_table(states, tables, variable, parents, partial(_bif_values, states, entries))
    return states, tables


def _head_splitter(declared: Iterable[str]) -> Callable[[str], list[str]]:
    """Return what splits the head of a table, ``B | A, C``, into its variables.

    At every place the longest declared name that stands there is taken: a name without quotes may hold blanks, commas
    and brackets. What is none is taken up to the next separator, to be refused by its name.
    """
    by_first: dict[str, list[str]] = {}
    for name in sorted(declared, key=len, reverse=True):
        by_first.setdefault(name[0], []).append(name)

    def split(head: str) -> list[str]:
        """Return the names of the head of a block."""
        names, at = [], 0
        while match := SEPARATED.match(head, at):
            start, end = match.span(1)
            quoted = match[1].startswith('"') and match[1].endswith('"') and end > start + 1
            fits = (n for n in by_first.get(head[start], ()) if head.startswith(n, start))
            name = next((n for n in fits if head[start + len(n) :][:1] in SEPARATORS), match[1])
            at = end if quoted else start + len(name)
            names.append(match[1][1:-1] if quoted else name)
        if not names:
            raise ValueError("a table must name its variable, but one has none")
        return names

    return split


def _bif_states(variable: str, kinds: list[list[str]]) -> tuple[str, ...]:
    if len(kinds) != 1 or kinds[0][0] != "discrete":
        got = shortened(str(kinds or "none"))
        raise ValueError(f"{variable} must have one line 'type discrete [n] {{ states }}', but has {got}")
    if len(kinds[0]) != 3:
        raise ValueError(f"{variable} must declare its states as 'type discrete [n] {{ a, b }}'")
    count, listed = int(kinds[0][1]), kinds[0][2]
    names = _names(listed, count)
    if len(names) != count:
        raise ValueError(
            f"{variable} declares {count} states, but lists {len(names)}: {shortened(str(names))}"
            + ("; a state with commas is written in quotes" if len(names) > count else "")
        )
    return tuple(names)


def _names(text: str, count: int) -> list[str]:
    """Split a list of names at its commas.

    Where that does not give the number awaited: at commas before a blank (a name may be ``[5,10)``), or at blanks if
    there is no comma at all.
    """
    if '"' in text:
        parts = re.findall(rf"({QUOTED})|((?>(?!{QUOTED})[^,])+)", text)
        names = [quoted[1:-1] if quoted else bare.strip() for quoted, bare in parts if quoted or bare.strip()]
    else:
        names = [bare.strip() for bare in text.split(",") if bare.strip()]
    if text.strip() and len(names) != count and not re.search(QUOTED, text):
        for other in (re.split(r",\s+", text.strip()), [] if "," in text else text.split()):
            if len(other) == count:
                return other
    return names


def _bif_values(
    states: Names, entries: list[tuple[str, ...]], variable: str, parents: list[str]
) -> NDArray[np.float64]:
    """Return the table of a probability block: rows, a default for the rows not given, or one flat table."""
    shape = tuple(len(states[v]) for v in (variable, *parents))
    if math.prod(shape) > MOST_ENTRIES:
        raise ValueError(
            f"{variable} has a table of {math.prod(shape):.2g} entries; at most {MOST_ENTRIES:.2g} are read"
        )
    columns: dict[tuple[int, ...], NDArray[np.float64]] = {}
    default = None
    for kind, *content in entries:
        if kind == "table":
            if len(entries) > 1:
                raise ValueError(f"{variable} has a 'table' beside other rows")
            # BIF counts with the last parent fastest and the variable itself slowest
            return _numbers(variable, content[0], math.prod(shape)).reshape(shape)
        if kind == "default":
            if default is not None:
                raise ValueError(f"{variable} has two default rows")
            default = _numbers(variable, content[0], shape[0])
            continue
        label = _names(content[0], len(parents))
        if len(label) != len(parents):
            raise ValueError(f"{variable} has a row ({shortened(content[0])}) for the parents {parents}")
        if unknown := [f"{p}={s}" for p, s in zip(parents, label, strict=True) if s not in states[p]]:
            raise ValueError(f"{variable} has a row for {shortened(', '.join(unknown))}, which is no state declared")
        key = tuple(states[p].index(s) for p, s in zip(parents, label, strict=True))
        if key in columns:
            raise ValueError(f"{variable} has two rows ({content[0]})")
        columns[key] = _numbers(variable, content[1], shape[0])
    values = np.empty((shape[0], math.prod(shape[1:])))
    for j, key in enumerate(itertools.product(*map(range, shape[1:]))):
        column = columns.get(key, default)
        if column is None:
            missing = ", ".join(states[p][k] for p, k in zip(parents, key, strict=True))
            raise ValueError(f"{variable} has no row ({missing}) and no default" if parents else f"{variable} is empty")
        values[:, j] = column
    return values.reshape(shape)


def _numbers(variable: str, text: str, count: int) -> NDArray[np.float64]:
    try:
        numbers = np.array(text.replace(",", " ").split(), dtype=float)
    except ValueError:
        raise ValueError(f"{variable} has a row that is not made of numbers: {shortened(text.strip())!r}") from None
    if len(numbers) != count:
        raise ValueError(
            f"{variable} must have {count} numbers in a row, but has {len(numbers)}: {shortened(text.strip())!r}"
        )
    return numbers


def parse_xmlbif(text: str) -> tuple[dict[str, tuple[str, ...]], dict[str, Table]]:
    """Return the states and the tables that an XMLBIF 0.3 text declares."""
    try:
        root = ElementTree.fromstring(text.lstrip())
    except ElementTree.ParseError as error:
        raise ValueError(f"the file cannot be read as XML: {error}") from None
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]  # a namespace is no part of a name

    def words(element: ElementTree.Element, tag: str) -> list[str]:
        """Return the texts of the elements of a tag."""
        return [(child.text or "").strip() for child in element.iter(tag)]

    def name(element: ElementTree.Element, tag: str) -> str:
        """Return the one variable that an element names by a tag."""
        names = words(element, tag)
        if len(names) != 1:
            raise ValueError(f"<{element.tag}> must have one <{tag}>, but has {shortened(', '.join(names)) or 'none'}")
        return names[0]

    states: dict[str, tuple[str, ...]] = {}
    for element in root.iter("VARIABLE"):
        _declare(states, name(element, "NAME"), tuple(words(element, "OUTCOME")))
    tables: dict[str, Table] = {}
    for element in root.iter("DEFINITION"):
        numbers = " ".join("".join(table.itertext()) for table in element.iter("TABLE"))
        _add_table(
            states, tables, name(element, "FOR"), words(element, "GIVEN"), partial(_xmlbif_values, states, numbers)
        )
    return states, tables


def _xmlbif_values(states: Names, text: str, variable: str, parents: list[str]) -> NDArray[np.float64]:
    """Return the table of a definition, which counts with the variable itself fastest."""
    shape = tuple(len(states[p]) for p in (*parents, variable))
    return np.moveaxis(_numbers(variable, text, math.prod(shape)).reshape(shape), -1, 0)


def _declare(states: dict[str, tuple[str, ...]], variable: str, names: tuple[str, ...]) -> None:
    if variable in states:
        raise ValueError(f"{variable} is declared twice")
    if not variable:
        raise ValueError("a variable must have a name, but one has none")
    if not names or len(set(names)) != len(names) or "" in names:
        raise ValueError(f"{variable} must have distinct states, but has {shortened(str(list(names)))}")
    states[variable] = names


def _add_table(
    states: Names,
    tables: dict[str, Table],
    variable: str,
    parents: list[str],
    values: Callable[[str, list[str]], NDArray[np.float64]],
) -> None:
    """Add the table of a variable once the names in its head are known to be good."""
    if variable not in states:
        raise ValueError(f"there is a table for {variable}, which is not declared")
    for parent in parents:
        if parent not in states:
            raise ValueError(f"{variable} has the parent {parent}, which is not declared")
    if variable in tables:
        raise ValueError(f"{variable} has two tables")
    if len({variable, *parents}) != 1 + len(parents):
        raise ValueError(f"{variable} must have distinct parents other than itself, but has {parents}")
    tables[variable] = Table(parents, values(variable, parents))
