"""The table model: P(X | parents) of every node, counted from all plays that leave X free."""

from __future__ import annotations

import math
from typing import Self

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from pgcpe._numba import njit
from pgcpe.bandit import CausalBandit
from pgcpe.estimators.base import Arms, Estimated, PairwiseEstimator, Rejected, check_samples, started
from pgcpe.estimators.claims import Claim, table_claims
from pgcpe.estimators.forest import MOST_CELLS
from pgcpe.estimators.plain_tables import PlainTables
from pgcpe.estimators.shrinkage import FEWEST_PARENTS, Interactions, drawn_shares
from pgcpe.graphs.identification import drop_exogenous_noise
from pgcpe.graphs.states import shown
from pgcpe.graphs.structure import causal_order, latents_of
from pgcpe.models.contraction import Contraction
from pgcpe.models.derivatives import Derivatives, Layout
from pgcpe.plays.encoding import check_question
from pgcpe.plays.samples import ForcedCodes, Samples

__all__ = ["TableModel"]

Floats = NDArray[np.float64]


class TableModel(PairwiseEstimator):
    """Expected rewards from the tables P(X | parents), each counted from every play in which X was not set.

    An intervention on other variables is an observation of the rest: without hidden variables P(X | parents) is the
    same under all of them. So a few tables, shared by all arms, are learned from all plays.

    The graph must have no hidden variable, apart from the noise of single nodes, among the ancestors of the reward, all
    of which are recorded. It claims no interval; arms are compared in pairs where the configurations of the
    network are few.

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
        check_question(bandit)
        if not isinstance(self.pseudo_count, (int, float)) or not 0 <= self.pseudo_count < math.inf:
            raise ValueError(f"pseudo_count must be a number of at least 0, but got {shown(self.pseudo_count)}")
        self.bandit_ = bandit
        self._tables = TableCounts(_modelled(bandit), bandit)
        self.nodes_, self.cards_, self.parents_ = self._tables.nodes, self._tables.cards, self._tables.parents
        self.forced_ = self._tables.forced
        self._contract = Contraction(self.parents_, self.cards_, self.forced_, len(self.nodes_) - 1)
        self._interactions = {
            i: Interactions.of(tuple(self.cards_[p] for p in parents))
            for i, parents in enumerate(self.parents_)
            if len(parents) >= FEWEST_PARENTS and self._tables.layout.small
        }
        self._means: Floats | None = None
        self._guess: Floats | None = None
        self._found: tuple[Floats, Floats, Derivatives] | None = None
        self._unbiased: PlainTables | None = None
        self.served_ = np.ones(len(bandit.arms), np.bool_)
        return self

    def update(self, samples: Samples) -> Self:
        """Count every play for the nodes that its action leaves free."""
        check_samples(samples)
        self._tables.add(samples)
        self._means = self._guess = self._found = self._unbiased = None
        return self

    def claims(self) -> list[Claim]:
        """Return which tables arms are estimated by."""
        return table_claims(self.bandit_, self.nodes_, self.parents_, self.forced_)

    @property
    def counts_(self) -> list[Floats]:
        """For each node the plays that left it free, by the states of its parents and its own."""
        return self._tables.by_node()

    @property
    def table_counts(self) -> TableCounts:
        """What counts the plays."""
        started(self)
        return self._tables

    def tables(self) -> dict[int, Floats]:
        """Return the estimated table of every node, by its position: axes parents, then the node."""
        return {i: _shares(counts + self.pseudo_count) for i, counts in enumerate(self.counts_)}

    def means(self) -> Floats:
        """Return the estimated expected reward of every arm, exactly from the tables."""
        started(self)
        if self._means is None:
            self._means = self._expected(self.tables())
        return self._means.copy()

    def _expected(self, tables: dict[int, Floats]) -> Floats:
        last = len(self.nodes_) - 1
        return np.asarray(self._contract({**tables, last: tables[last] @ self.bandit_.reward_array}))

    # ------------------------------------------------------------------------------------------------ arms in pairs

    @property
    def compares(self) -> bool:
        """Whether the network is small enough for `estimates`, `differences` and `variance_reduction`."""
        started(self)
        return self._tables.layout.small

    def estimates(self, rejected: Rejected = None) -> Floats:
        """Return the estimate of every arm, for ranking; NaN where it is rejected.

        Tables are smoothed, those with three parents or more by partial pooling of their rows
        (`pgcpe.estimators.shrinkage`; `pseudo_count` concerns the others). `plug_in` and `differences` use plain
        frequencies: for a certificate no play counts in more than one row.
        """
        self._check_small()
        if self._guess is None:
            tables, (p, _) = self._tables, self._smoothed()
            start = tables.layout.entry_start
            for i, models in self._interactions.items():
                at = slice(start[i], start[i + 1])
                p[at] = drawn_shares(tables.counts[at].reshape(len(models.design), -1), models).ravel()
            self._guess = tables.layout.means(p, self.bandit_.reward_array)[: len(self.forced_)]
        return np.where(False if rejected is None else rejected, np.nan, self._guess)

    def plug_in(self, rejected: Rejected = None) -> Estimated:
        """Return the unbiased estimate of every arm, its variance, and its bias bound."""
        value, variance, off = self._plain().alone()
        return Estimated(value, np.where(False if rejected is None else rejected, np.inf, variance), off)

    def differences(
        self, leader: int, rejected: Rejected = None, epsilon: float | None = None, arms: Arms = None
    ) -> Estimated:
        """Return how far arms are below the leader, the variance and the bias bound; common rows cancel."""
        arms = np.arange(len(self.forced_)) if arms is None else arms
        gap, variance, off = self._plain().below(leader, epsilon, arms)
        doubted = False if rejected is None else rejected[arms] | rejected[leader]
        return Estimated(gap, np.where(doubted, np.inf, variance), off)

    def smoothed_differences(self, leader: int, rejected: Rejected = None) -> Estimated:
        """Return how far the estimates of arms are below the leader's, and the variance at the smoothed tables."""
        value, variance = self.estimates(), self._spread(leader).sum(axis=1)
        if rejected is not None:
            variance[rejected | rejected[leader]] = np.inf
        return Estimated(value[leader] - value, variance, np.zeros(len(value)))

    def variance_reduction(
        self, leader: int, weights: Floats, rejected: Rejected = None, pending: Floats | None = None
    ) -> Floats:
        """Return for each playable action what one play takes off the variances of the differences to the leader."""
        _, n, found = self._derivatives()
        reach, seen = found.reach[self._tables.playable], np.maximum(n, 0.5)
        expected = seen if pending is None else seen + pending @ reach
        of_row = weights @ self._spread(leader) * seen / expected**2
        return np.asarray(reach @ of_row)

    def _spread(self, leader: int) -> Floats:
        """Return what each row contributes to the variance of each arm's difference from the leader."""
        p, n, found = self._derivatives()
        if leader not in self._spreads:
            slopes = found.slope[: len(self.forced_)]
            self._spreads[leader] = variances(slopes, slopes[leader], p, n, self._tables.layout.width)
        return self._spreads[leader]

    def _plain(self) -> PlainTables:
        """Return the unbiased estimates, worked out once for what was told."""
        self._check_small()
        if self._unbiased is None:
            tables = self._tables
            self._unbiased = PlainTables(tables.layout, tables.counts, len(self.forced_), self.bandit_.reward_array)
        return self._unbiased

    def _check_small(self) -> None:
        if not self.compares:
            raise ValueError("the network has too many configurations to compare arms through its tables")

    def _derivatives(self) -> tuple[Floats, Floats, Derivatives]:
        """Return the probabilities of all entries, the plays of all rows and the derivatives, once for what was told.

        Raises
        ------
        ValueError
            If the network is too large to go through, see `compares`.
        """
        self._check_small()
        if self._found is None:
            p, n = self._smoothed()
            self._found = p, n, self._tables.layout.derivatives(p, self.bandit_.reward_array)
            self._spreads: dict[int, Floats] = {}
        return self._found

    def _smoothed(self) -> tuple[Floats, Floats]:
        """Return the smoothed probabilities of all entries and the plays of all rows."""
        layout, counts = self._tables.layout, self._tables.counts
        p = np.empty(len(counts))
        return p, smooth(counts, self.pseudo_count, layout.width, p)


class TableCounts:
    """How often each node of a graph was in each state, by the states of its parents, in the plays that left it free.

    Attributes
    ----------
    nodes, cards, parents
        The nodes in causal order, the reward last; the numbers of their states; the positions of their parents.
    forced
        For each arm and node the state it sets, as it is played; -1 where it leaves the node free.
    layout
        Where rows and entries stand; its actions are the arms, then the playable actions that are none.
    playable
        For each playable action its position among those of the layout.
    counts
        The plays of every entry.
    """

    def __init__(self, graph: nx.DiGraph, bandit: CausalBandit) -> None:
        self.nodes = causal_order(graph)
        position = {v: i for i, v in enumerate(self.nodes)}
        states = {**bandit.states, bandit.reward: tuple(range(len(bandit.reward_array)))}
        self.cards = tuple(len(states[v]) for v in self.nodes)
        self.parents = tuple(tuple(position[p] for p in graph.predecessors(v)) for v in self.nodes)
        self._codes = ForcedCodes(self.nodes, [states[v] for v in self.nodes])
        column = {v: j for j, v in enumerate(bandit.coding.variables)}
        self._columns = np.array([column.get(v, -1) for v in self.nodes], dtype=np.int64)
        number = {action: k for k, action in enumerate(dict.fromkeys([*bandit.arms, *bandit.playable]))}
        rows = self._codes.rows(number)  # as they are played: a treatment without effect still sets its node
        forced = self._codes.table[rows]
        self.forced = forced[: len(bandit.arms)]
        self.layout = Layout(self.parents, self.cards, forced)
        self.playable = np.array([number[a] for a in bandit.playable], dtype=np.int64)
        self.counts = np.zeros(self.layout.entry_start[-1])

    def add(self, samples: Samples) -> None:
        """Count plays in the bandit's coding."""
        rows, layout = self._codes.rows(samples.actions), self.layout
        plays = samples.codes, samples.known_rewards, rows[samples.which]
        _count(plays, self._codes.table, self._columns, layout.arrays, self.counts)

    def by_node(self) -> list[Floats]:
        """Return for each node its counts, axes parents, then the node."""
        start = self.layout.entry_start
        return [
            self.counts[start[i] : start[i + 1]].reshape(*(self.cards[p] for p in ps), self.cards[i])
            for i, ps in enumerate(self.parents)
        ]


def _modelled(bandit: CausalBandit) -> nx.DiGraph:
    """Return the graph of the ancestors of the reward once it fits the model."""
    graph = drop_exogenous_noise(bandit.graph, bandit.reward)
    if hidden := sorted(latents_of(graph)):
        raise ValueError(
            "a table for every node needs a graph whose hidden variables (bidirected edges) are the noise of single "
            f"nodes, but {', '.join(hidden)} is hidden; AdmissibleSequence takes hidden variables"
        )
    for v in graph:
        cells = math.prod(len(bandit.states.get(u, bandit.reward_array)) for u in (v, *graph.predecessors(v)))
        if cells > MOST_CELLS:
            raise ValueError(f"the table of {v} would have {cells:,} entries; no study fills them")
    return graph


def _shares(counts: Floats) -> Floats:
    """Return each row divided by its sum; equal shares where that is 0."""
    total = counts.sum(axis=-1, keepdims=True)
    return np.where(total > 0, counts / np.where(total > 0, total, 1.0), 1.0 / counts.shape[-1])


@njit(cache=True)
def smooth(counts, pseudo_count, width, p):  # type: ignore[no-untyped-def]
    """Set the smoothed probability of every entry, equal shares in rows of nothing; return the plays of every row."""
    n = np.zeros(len(width))
    entry = 0
    for row in range(len(width)):
        m = width[row]
        for e in range(entry, entry + m):
            n[row] += counts[e]
        total = n[row] + pseudo_count * m
        for e in range(entry, entry + m):
            p[e] = (counts[e] + pseudo_count) / total if total > 0 else 1.0 / m
        entry += m
    return n


@njit(cache=True)
def variances(slopes, reference, p, n, width):  # type: ignore[no-untyped-def]
    """Return, for each arm and row, the variance under p of the slope less the reference, over the plays of the row."""
    out = np.empty((len(slopes), len(width)))
    for i in range(len(slopes)):
        entry = 0
        for row in range(len(width)):
            mean = square = 0.0
            for e in range(entry, entry + width[row]):
                d = reference[e] - slopes[i, e]
                mean += p[e] * d
                square += p[e] * d * d
            entry += width[row]
            out[i, row] = max(square - mean * mean, 0.0) / max(n[row], 0.5)
    return out


@njit(cache=True)
def _count(plays, forced, columns, layout, counts):  # type: ignore[no-untyped-def]
    """Add plays to the counts of every node that their actions leave free.

    A reward that is measured has no column: a play counts for the two ends of its range, between which it lies.
    """
    (codes, rewards, settings), (parents, cards, _, _, offset) = plays, layout
    for play in range(len(codes)):
        setting = settings[play]
        for node in range(len(columns)):
            if forced[setting, node] >= 0:
                continue
            cell = 0
            for p in parents[node]:
                if p < 0:
                    break
                cell = cell * cards[p] + codes[play, columns[p]]
            row = offset[node] + cell * cards[node]
            if columns[node] >= 0:
                counts[row + codes[play, columns[node]]] += 1
            else:
                counts[row] += 1.0 - rewards[play]
                counts[row + 1] += rewards[play]
