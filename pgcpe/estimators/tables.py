"""The table model: P(X | parents) of every node, counted from all plays that leave X free."""

from __future__ import annotations

import itertools
import math
from typing import Self

import networkx as nx
import numpy as np
from numba import njit
from numpy.typing import NDArray

from pgcpe.bandit import CausalBandit
from pgcpe.contraction import Contraction
from pgcpe.estimators.base import Estimator, started
from pgcpe.estimators.contingency import MOST_CELLS
from pgcpe.identification import without_noise
from pgcpe.networks import latents_of
from pgcpe.samples import ForcedCodes, Samples

__all__ = ["TableModel"]

Floats = NDArray[np.float64]


class TableModel(Estimator):
    """Expected rewards from the tables P(X | parents), each counted from every play in which X was not set.

    An intervention on other variables is an observation of the rest: without hidden variables P(X | parents) is the
    same under all of them. So a few tables, shared by all arms, are learned from all plays.

    The graph must have no hidden variable, apart from the noise of single nodes, among the ancestors of the reward, all
    of which are recorded. It claims no interval.

    Parameters
    ----------
    pseudo_count
        What is added to the count of each state, so that rows with few plays are drawn towards equal shares. With 0 the
        tables are plain frequencies. Rows without plays have equal shares either way.

    Attributes
    ----------
    nodes_ : tuple of str
        The ancestors of the reward in causal order, the reward last.
    cards_ : tuple of int
        The numbers of their states.
    parents_ : tuple of tuples of int
        The positions of their parents in it.
    counts_ : list of arrays
        For each node the plays that left it free, axes parents, then the node.
    forced_ : array of int
        For each arm and node the state it sets, -1 where it leaves the node free.
    """

    def __init__(self, pseudo_count: float = 0.5) -> None:
        self.pseudo_count = pseudo_count

    @property
    def certificate(self) -> str:
        """``"exact"``: it claims nothing."""
        return "exact"

    def required(self, bandit: CausalBandit) -> tuple[str, ...]:
        """Return the ancestors of the reward.

        Raises
        ------
        ValueError
            If a hidden variable among them causes two others, or a table would be too large.
        """
        graph = _modelled(bandit)
        return tuple(v for v in graph if v != bandit.reward)

    def start(self, bandit: CausalBandit) -> Self:
        """Forget everything and lay out the tables for a bandit that records the ancestors of the reward."""
        if not 0 <= self.pseudo_count < math.inf:
            raise ValueError(f"pseudo_count must be a number of at least 0, but got {self.pseudo_count!r}")
        graph = _modelled(bandit)
        self.bandit_ = bandit
        order = list(graph.nodes)
        self.nodes_ = tuple(nx.lexicographical_topological_sort(graph, key=order.index))
        position = {v: i for i, v in enumerate(self.nodes_)}
        self.cards_ = tuple(len(bandit.states[v]) for v in self.nodes_)
        self.parents_ = tuple(tuple(position[p] for p in graph.predecessors(v)) for v in self.nodes_)
        self._shapes = [(*(self.cards_[p] for p in ps), self.cards_[i]) for i, ps in enumerate(self.parents_)]
        self._offset = np.cumsum([0, *(math.prod(shape) for shape in self._shapes)])
        self._counts = np.zeros(self._offset[-1])
        self._codes = ForcedCodes(self.nodes_, [bandit.states[v] for v in self.nodes_])
        self._columns = np.array([bandit.coding.variables.index(v) for v in self.nodes_], dtype=np.int64)
        width = max(map(len, self.parents_)) + 1
        self._padded = np.full((len(self.nodes_), width), -1, dtype=np.int64)
        for i, ps in enumerate(self.parents_):
            self._padded[i, : len(ps)] = ps
        rows = self._codes.rows(bandit.arms)  # as they are played: a treatment without effect still sets its node
        self.forced_ = self._codes.table[rows]
        self._means: Floats | None = None
        self._contract = Contraction(self.parents_, self.cards_, self.forced_, position[bandit.reward])
        return self

    def update(self, samples: Samples) -> Self:
        """Count every play for the nodes that its action leaves free."""
        rows = self._codes.rows(samples.actions)
        cards = np.array(self.cards_, dtype=np.int64)
        _count(samples.codes, samples.which, rows, self._codes.table, self._columns, self._padded, cards, *self._flat)
        self._means = None
        return self

    @property
    def _flat(self) -> tuple[NDArray[np.int64], Floats]:
        return self._offset, self._counts

    @property
    def counts_(self) -> list[Floats]:
        """For each node the plays that left it free, by the states of its parents and its own."""
        return [
            self._counts[start:end].reshape(shape)
            for (start, end), shape in zip(itertools.pairwise(self._offset), self._shapes, strict=True)
        ]

    def tables(self) -> dict[int, Floats]:
        """Return the estimated table of every node, by its position: axes parents, then the node."""
        return {i: _shares(counts + self.pseudo_count) for i, counts in enumerate(self.counts_)}

    def means(self) -> Floats:
        """Return the estimated expected reward of every arm, exactly from the tables."""
        started(self)
        if self._means is None:
            tables = self.tables()
            last = len(self.nodes_) - 1
            tables[last] = tables[last] @ self.bandit_.reward_array
            self._means = self._contract(tables)
        return self._means.copy()


def _modelled(bandit: CausalBandit) -> nx.DiGraph:
    """Return the graph of the ancestors of the reward once it fits the model."""
    graph = without_noise(bandit.graph, bandit.reward)
    if hidden := sorted(latents_of(graph)):
        raise ValueError(
            "a table for every node needs a graph whose hidden variables are the noise of single nodes, but "
            f"{', '.join(hidden)} is hidden; AdmissibleSequence takes hidden variables"
        )
    for v in graph:
        cells = math.prod(len(bandit.states[u]) for u in (v, *graph.predecessors(v)))
        if cells > MOST_CELLS:
            raise ValueError(f"the table of {v} would have {cells:,} entries; no study fills them")
    return graph


def _shares(counts: Floats) -> Floats:
    """Return each row divided by its sum; equal shares where that is 0."""
    total = counts.sum(axis=-1, keepdims=True)
    return np.where(total > 0, counts / np.where(total > 0, total, 1.0), 1.0 / counts.shape[-1])


@njit(cache=True)
def _count(codes, which, rows, forced, columns, parents, cards, offset, counts):  # type: ignore[no-untyped-def]
    for play in range(len(codes)):
        setting = rows[which[play]]
        for node in range(len(columns)):
            if forced[setting, node] >= 0:
                continue
            cell = 0
            for p in parents[node]:
                if p < 0:
                    break
                cell = cell * cards[p] + codes[play, columns[p]]
            counts[offset[node] + cell * cards[node] + codes[play, columns[node]]] += 1
