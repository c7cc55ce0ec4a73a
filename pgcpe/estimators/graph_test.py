"""A test of everything a graph says, while plays come in: counts of every statement, e-values, and what they refute."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from pgcpe._numba import njit
from pgcpe.confidence.independence import sequential_log_evidence
from pgcpe.estimators.graph_statements import KINDS, Statement
from pgcpe.graphs.bitsets import BitGraph, bit_graph
from pgcpe.graphs.structure import States
from pgcpe.plays.actions import Action
from pgcpe.plays.samples import Coding, Samples

__all__ = ["GraphTest", "StatementCounts"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

NULL = Action()

MOST_ACTIONS = 1000
"""Of more actions none has cells of its own where it changes a distribution: it is left out there."""

BY_CODE = -1
"""Stands for a group that is the state of the other variable in the play."""


class Layout(NamedTuple):
    """Where the counts of every statement lie in a flat array, and what is read from a play for them.

    Attributes
    ----------
    variable, other
        Columns of the codes; -1 for none.
    given_start, given, stride
        For each statement, from one start to the next: the columns of what is conditioned on, and their strides.
    start, cells, groups, states
        The first entry of each table, and its shape.
    same
        Whether the variable and what is conditioned on are those of the statement before.
    """

    variable: Ints
    other: Ints
    given_start: Ints
    given: Ints
    stride: Ints
    start: Ints
    cells: Ints
    groups: Ints
    states: Ints
    same: Ints


class StatementCounts:
    """Counts of plays for statements of a graph: cells by groups by states.

    A play enters a statement with the cell that the values of its condition make up. Under an action that changes the
    distribution there, as the graph has it, that cell is one of its own: shared by the actions that set the same
    *disturbing* variables to the same states, since all else that they set changes nothing.

    Parameters
    ----------
    graph
        The graph.
    statements
        What it says.
    states
        The states of all variables.
    coding
        That of the samples; it holds all variables of the statements, but for what is only set.
    actions
        The actions that may be played, fixed before data. Others count only where they change nothing.
    """

    def __init__(
        self,
        graph: nx.DiGraph,
        statements: Sequence[Statement],
        states: States,
        coding: Coding,
        actions: Collection[Action],
    ) -> None:
        self.statements, self._bits, self._states = tuple(statements), bit_graph(graph), states
        bit = self._bits.bit
        self._disturbing = [_disturbing(self._bits, statement) for statement in self.statements]
        self._variable = [bit[s.variable] for s in self.statements]
        self._other = [0 if s.other is None else bit[s.other] for s in self.statements]
        self._by_code = np.array([s.kind == "separation" for s in self.statements], dtype=np.bool_)
        self._merging = np.array([s.kind == "merging" for s in self.statements], dtype=np.bool_)
        self._touching: dict[str, NDArray[np.bool_]] = {}
        listed = list(dict.fromkeys([Action(), *actions]))
        own = listed if len(listed) <= MOST_ACTIONS else listed[:1]
        self._keys: list[dict[Action, int]] = [{} if s.kind == "merging" else {NULL: 0} for s in self.statements]
        for action in own:
            bits = self._bits.bits(action)
            for i in self._touched(action):
                if (key := self._key(i, action, bits)) is not None:
                    self._keys[i].setdefault(key, len(self._keys[i]))
        self._layout = self._laid_out(coding)
        self._cells_of_key = self._layout.cells // [max(len(keys), 1) for keys in self._keys]
        size = int((self._layout.cells * self._layout.groups * self._layout.states).sum())
        self._counts = np.zeros(size, dtype=np.int32)
        self._row: dict[Action, int] = {}
        self._base = self._group = np.empty((len(self.statements), 0), dtype=np.intp)  # a column for each action played

    def _laid_out(self, coding: Coding) -> Layout:
        """Return where everything lies."""
        column = {v: j for j, v in enumerate(coding.variables)}
        given, stride, given_start, shapes = [], [], [0], []
        for statement, keys in zip(self.statements, self._keys, strict=True):
            size = 1
            for v in statement.given:
                given.append(column[v])
                stride.append(size)
                size *= len(self._states[v])
            given_start.append(len(given))
            shapes.append((size * max(len(keys), 1), self._n_groups(statement), len(self._states[statement.variable])))
        cells, groups, states = np.array(shapes, dtype=np.intp).reshape(-1, 3).T.copy()
        start = np.concatenate([[0], np.cumsum(cells * groups * states)])[:-1]
        variable = [column[s.variable] for s in self.statements]
        other = [column.get(str(s.other), -1) for s in self.statements]
        about = [(s.variable, s.given) for s in self.statements]
        same = [i > 0 and about[i] == about[i - 1] for i in range(len(about))]
        lists = (variable, other, given_start, given, stride, start, cells, groups, states, same)
        return Layout(*(np.array(some, dtype=np.intp) for some in lists))

    def _n_groups(self, statement: Statement) -> int:
        if statement.other is None:
            return len(statement.members)
        states = len(self._states[statement.other])
        if statement.kind == "separation":
            return states
        return 2 if statement.other in statement.given else 1 + states

    def _touched(self, action: Action) -> list[int]:
        """Return the statements into which the plays of an action enter in a way of their own: not as observation does.

        They are about merging, or an action sets something in them or what disturbs them.
        """
        for v in {*action}.difference(self._touching):
            own = zip(self._disturbing, self._variable, self._other, strict=True)
            about = [bool((d | x | w) & self._bits.bit[v]) for d, x, w in own]
            self._touching[v] = np.array(about, dtype=np.bool_)
        some = self._merging.copy()
        for v in action:
            some |= self._touching[v]
        found: list[int] = np.flatnonzero(some).tolist()
        return found

    def _key(self, i: int, action: Action, bits: int) -> Action | None:
        """Return which cells of its own an action has, ``do()`` for those of observation, None if it does not count.

        ``bits`` is the set of what the action sets.
        """
        if bits & self._variable[i]:
            return None
        some = self._disturbing[i] & bits
        if (statement := self.statements[i]).kind == "merging":
            if action not in statement.members:
                return None
            some = 0 if statement.other is None else self._bits.relevant(bits, self._variable[i])
        elif some & self._other[i]:
            return None
        if not some:
            return NULL
        return action if some == bits else Action({v: s for v, s in action.items() if self._bits.bit[v] & some})

    def _entries(self, action: Action) -> tuple[Ints, Ints]:
        """Return for each statement the first cell and the group of an action's plays; -1 if they do not count."""
        bits, base = self._bits.bits(action), np.zeros(len(self.statements), dtype=np.intp)
        group = np.where(self._by_code, BY_CODE, 0)
        for i in self._touched(action):
            key = self._key(i, action, bits)
            if key is None or key not in self._keys[i]:
                base[i] = -1
            else:
                base[i] = self._keys[i][key] * self._cells_of_key[i]
                group[i] = self._group_of(self.statements[i], action)
        return base, group

    def _group_of(self, statement: Statement, action: Action) -> int:
        w = statement.other
        if w is None:
            return statement.members.index(action)
        if statement.kind == "separation":
            return BY_CODE
        if w not in action:
            return 0
        return 1 if w in statement.given else 1 + self._states[w].index(action[w])

    def add(self, samples: Samples) -> None:
        """Count plays, in the coding given at the start."""
        if new := [action for action in samples.actions if action not in self._row]:
            self._row |= {action: len(self._row) + k for k, action in enumerate(new)}
            entries = [self._entries(action) for action in new]
            self._base = np.column_stack([self._base, *(base for base, _ in entries)])
            self._group = np.column_stack([self._group, *(group for _, group in entries)])
        rows = np.array([self._row[action] for action in samples.actions], dtype=np.intp)
        if len(samples) and self.statements:
            codes = np.ascontiguousarray(samples.codes.T)
            _count(codes, rows[samples.which], self._base, self._group, self._layout, self._counts)

    def log_evidence(self) -> Floats:
        """Return the log e-value of every statement from all counts."""
        values, at = np.zeros(len(self.statements)), self._layout
        sequential_log_evidence(self._counts, at.start, at.cells, at.groups, at.states, values)
        return values

    def table(self, i: int) -> Floats:
        """Return the counts of a statement: cells by groups by states."""
        at = self._layout
        shape = at.cells[i], at.groups[i], at.states[i]
        return self._counts[at.start[i] : at.start[i] + math.prod(shape)].reshape(shape).astype(np.float64)


class GraphTest:
    """The e-values of all statements together, watched at chosen numbers of plays.

    The combined e-value is their weighted sum, a third of the weight to each kind that there is, equal within a kind.
    The graph is refuted once its running maximum reaches 1/level, by chance with probability at most `level` at any
    number of plays, whatever chose them (Ville's inequality).

    Parameters
    ----------
    counts
        Of the statements.

    Attributes
    ----------
    weights
        Array over the statements, summing to 1.
    now, highest
        Arrays over the statements: the log e-values at the last look, and the highest at any look.
    combined
        The highest log of the combined e-value.
    n_plays
        The plays counted.
    """

    def __init__(self, counts: StatementCounts) -> None:
        self.counts = counts
        kinds = np.array([KINDS.index(s.kind) for s in counts.statements], dtype=np.intp)
        n = np.bincount(kinds, minlength=len(KINDS))
        self.weights = 1.0 / (n[kinds] * max(int(np.count_nonzero(n)), 1))
        self.now, self.highest = np.zeros(len(kinds)), np.zeros(len(kinds))
        self.combined, self.n_plays = 0.0, 0

    def look(self, samples: Samples) -> None:
        """Count more plays, and look at all e-values after them."""
        self.counts.add(samples)
        self.n_plays += len(samples)
        if not len(self.weights):
            return
        self.now = self.counts.log_evidence()
        self.highest = np.maximum(self.highest, self.now)
        together = float(np.logaddexp.reduce(np.log(self.weights) + self.now))
        self.combined = max(self.combined, together)

    def is_refuted(self, level: float) -> bool:
        """Return whether the graph is refuted at a level."""
        return self.combined >= -math.log(level)

    def named(self, level: float) -> NDArray[np.intp]:
        """Return the statements refuted by themselves, the strongest first: their share of the sum reached 1/level."""
        weighed = np.log(self.weights) + self.highest if len(self.weights) else self.highest
        order = np.argsort(-weighed, kind="stable")
        return order[weighed[order] >= -math.log(level)]


def _disturbing(bits: BitGraph, statement: Statement) -> int:
    """Return what must not be set if the variable, given the condition, is to be as in observation."""
    if statement.kind == "merging":
        return 0
    return bits.disturbing(bits.bit[statement.variable], bits.bits(statement.given))


@njit(cache=True)
def _count(codes, row, base, group, at, counts):  # type: ignore[no-untyped-def]
    """Add one to the count of every statement's cell, group and state that a play falls into."""
    n = codes.shape[1]
    at_given = np.empty(n, dtype=np.intp)
    for s in range(len(at.variable)):
        own = codes[at.variable[s]]
        if not at.same[s]:
            at_given[:] = 0
            for j in range(at.given_start[s], at.given_start[s + 1]):
                values, stride = codes[at.given[j]], at.stride[j]
                for i in range(n):
                    at_given[i] = at_given[i] + stride * values[i] if at_given[i] >= 0 and values[i] >= 0 else -1
            for i in range(n):
                if own[i] < 0:
                    at_given[i] = -1
        others = codes[at.other[s]]
        for i in range(n):
            cell, g = base[s, row[i]], group[s, row[i]]
            if g < 0:
                g = others[i]
            if cell >= 0 and g >= 0 and at_given[i] >= 0:
                entry = ((cell + at_given[i]) * at.groups[s] + g) * at.states[s] + own[i]
                counts[at.start[s] + entry] += 1
