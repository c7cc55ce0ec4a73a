"""Expected rewards from all plays that may be used: a tree of cells for every arm, fed by observation, own and others'."""

from __future__ import annotations

import math
from typing import Self

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pgcpe.bandit import CausalBandit
from pgcpe.confidence import Intervals, probability
from pgcpe.estimators.base import Estimator, PlaysDue, started
from pgcpe.estimators.contingency import MOST_CELLS
from pgcpe.identification import poolable
from pgcpe.samples import Samples
from pgcpe.trees import interval_since, smoothed_value

__all__ = ["PooledTrees", "snapshot_share"]

Floats = NDArray[np.float64]

FIRST_SNAPSHOT, GROWTH = 64, 4
"""Snapshots are taken after so many plays, and whenever their number has grown by the factor."""

KEPT = 2
"""Regions of so many snapshots are intersected, besides that of the start."""


def snapshot_share(j: int) -> float:
    """Return the share of the error probability that the region begun at snapshot j spends; they sum to 1.

    Examples
    --------
    >>> [round(snapshot_share(j), 4) for j in (0, 5, 6, 7)]
    [0.15, 0.15, 0.05, 0.0167]
    """
    return 0.15 if j <= 5 else 0.1 / ((j - 5) * (j - 4))


class PooledTrees(Estimator):
    """The reward of an arm through its admissible sequence, from every play that shows a factor of the formula.

    The formula (Eq. 4) is a product of factors P(Z_l | before) and of the mean reward given all of them. A play of
    any action counts for a factor if it shows the same distribution as observation does (`identification.poolable`, on
    the action as it is played) and for all factors before it: then the bound is a concave problem. So an arm's own
    plays stand in its tree beside observation, and those of other arms where the graph allows.

    The intervals are exact. Beside the region of all plays there are some begun at snapshots of the counts, which bet
    with what was counted before and lose fewer nats (`pgcpe.trees.interval_since`); each spends a share of delta fixed
    in advance (`snapshot_share`).

    Parameters
    ----------
    refresh
        As for `AdmissibleSequence`, but counting all plays.

    Attributes
    ----------
    served_
        Boolean array over the arms: which have a tree. ``do()`` has none; its own plays are the same data.
    """

    def __init__(self, refresh: int | None = None) -> None:
        self.refresh = refresh

    @property
    def certificate(self) -> str:
        """``"exact"``."""
        return "exact"

    def start(self, bandit: CausalBandit) -> Self:
        """Forget everything and lay out the trees for the arms of a bandit."""
        self.bandit_ = bandit
        column = {v: j for j, v in enumerate(bandit.coding.variables)}
        cards = {v: len(bandit.states[v]) for v in bandit.coding.variables}
        self._factors: list[list[tuple[str, frozenset[str]]]] = []  # of each arm: variable, given
        served, level_start, levels, before = [], [0], [], []
        treated_start, treated = [0], []
        node_start, leaf_start = [0], [0]
        for action, sequence in zip(bandit.canonical, bandit.sequences, strict=True):
            steps = sequence or []
            adjusted = [v for _, z in steps for v in sorted(z)]
            sizes = np.cumprod([1, *(cards[v] for v in adjusted)])
            served.append(bool(steps) and int(sizes[-1]) <= MOST_CELLS)
            factors: list[tuple[str, frozenset[str]]] = []
            if served[-1]:
                given: set[str] = set()
                for k, (x, z) in enumerate(steps):
                    for v in sorted(z):
                        factors.append((v, frozenset(given)))
                        given.add(v)
                        levels.append((column[v], cards[v]))
                        before.append(k)
                    given.add(x)
                    treated.append((column[x], bandit.states[x].index(action[x])))
                factors.append((bandit.reward, frozenset(given)))
                levels.append((-1, 0))
                before.append(len(steps))
                node_start.append(node_start[-1] + int(sizes.sum()))
                leaf_start.append(leaf_start[-1] + int(sizes[-1]))
            else:
                node_start.append(node_start[-1])
                leaf_start.append(leaf_start[-1])
            level_start.append(len(levels))
            treated_start.append(len(treated))
            self._factors.append(factors)
        self.served_ = np.array(served, dtype=np.bool_)
        self._shape = (
            np.array(level_start, dtype=np.int64),
            np.array(levels, dtype=np.int64).reshape(-1, 2),
            np.array(before, dtype=np.int64),
            np.array(treated_start, dtype=np.int64),
            np.array(treated, dtype=np.int64).reshape(-1, 2),
            np.array(node_start, dtype=np.int64),
            np.array(leaf_start, dtype=np.int64),
        )
        self._counts = tuple(np.zeros(size) for size in (node_start[-1], leaf_start[-1], leaf_start[-1]))
        self._snapshots = [(0, tuple(np.zeros_like(c) for c in self._counts))]
        self._next_snapshot, self._plays = FIRST_SNAPSHOT, 0
        self._known: dict[tuple[frozenset[str], str, frozenset[str]], bool] = {}
        self._depth_of: dict[frozenset[str], NDArray[np.int64]] = {}
        self._due = PlaysDue(self.refresh)
        self._current: Intervals | None = None
        self._delta = math.nan
        return self

    def update(self, samples: Samples) -> Self:
        """Count every play for the factors that it shows."""
        if (due := self._due.add(samples)) is not None:
            while len(due):  # a snapshot is taken between two plays, however they were handed over
                n = min(len(due), self._next_snapshot - self._plays)
                self._count(due.rows(slice(n)))
                due = due.rows(slice(n, None))
                if self._plays == self._next_snapshot:
                    number = self._snapshots[-1][0] + 1
                    fresh = number, tuple(c.copy() for c in self._counts)
                    self._snapshots = [self._snapshots[0], *self._snapshots[1:][1 - KEPT :], fresh]
                    self._next_snapshot *= GROWTH
            self._current = None
        return self

    def _count(self, samples: Samples) -> None:
        admitted = np.array([self._depth(action.variables) for action in samples.actions], dtype=np.int64)
        values = self.bandit_.reward_array
        _count(samples.codes, samples.which, admitted, values, *self._shape, *self._counts)
        self._plays += len(samples)

    def _depth(self, played: tuple[str, ...]) -> NDArray[np.int64]:
        """Return for each arm how many factors, from the first on, plays that set these variables show."""
        key = frozenset(played)
        if key not in self._depth_of:
            depths = np.zeros(len(self._factors), dtype=np.int64)
            for i, factors in enumerate(self._factors):
                for variable, given in factors:
                    if not self._shows(key, variable, given):
                        break
                    depths[i] += 1
            self._depth_of[key] = depths
        return self._depth_of[key]

    def _shows(self, played: frozenset[str], variable: str, given: frozenset[str]) -> bool:
        question = played, variable, given
        if question not in self._known:
            self._known[question] = poolable(self.bandit_.graph, *question)
        return self._known[question]

    def intervals(self, delta: float) -> Intervals:
        """Return intervals that hold for the arms served, each at delta over their number; [0, 1] for the others."""
        started(self)
        if self._current is None or delta != self._delta:
            self._delta = probability("delta", delta)
            alpha = delta / max(int(self.served_.sum()), 1)
            lower, upper = np.zeros(len(self.served_)), np.ones(len(self.served_))
            for j, before in self._snapshots:
                nats = -math.log(alpha * snapshot_share(j))
                _intersect_intervals(*self._shape, *self._counts, *before, nats, lower, upper)
            self._current = Intervals(lower, upper)
        return self._current

    def smoothed(self) -> tuple[Floats, Floats]:
        """Return the estimate from smoothed frequencies and its variance, of every arm; 1/2 and infinity for others."""
        started(self)
        return _smoothed(*self._shape, *self._counts)  # type: ignore[no-any-return]


@njit(cache=True)
def _count(  # type: ignore[no-untyped-def]
    codes,
    which,
    admitted,
    values,
    level_start,
    levels,
    before,
    treated_start,
    treated,
    node_start,
    leaf_start,
    into,
    n,
    x,
):
    reward = codes.shape[1] - 1
    for row in range(len(codes)):
        for i in range(len(level_start) - 1):
            depth = admitted[which[row], i]
            checked, node, width, cell = treated_start[i], node_start[i], 1, 0
            for level in range(level_start[i], level_start[i] + depth):
                agrees = True
                while agrees and checked < treated_start[i] + before[level]:
                    agrees = codes[row, treated[checked, 0]] == treated[checked, 1]
                    checked += agrees
                if not agrees:
                    break
                if level == level_start[i]:
                    into[node] += 1
                variable, states = levels[level]
                if variable < 0:
                    n[leaf_start[i] + cell] += 1
                    x[leaf_start[i] + cell] += values[codes[row, reward]]
                else:
                    node += width
                    width *= states
                    cell = cell * states + codes[row, variable]
                    into[node + cell] += 1


@njit(cache=True)
def _intersect_intervals(  # type: ignore[no-untyped-def]
    level_start,
    levels,
    before,
    treated_start,
    treated,
    node_start,
    leaf_start,
    into,
    n,
    x,
    into_0,
    n_0,
    x_0,
    nats,
    lower,
    upper,
):
    """Intersect the intervals with those of the plays since a snapshot, in place. An empty result has lower > upper."""
    for i in range(len(level_start) - 1):
        if node_start[i] == node_start[i + 1]:
            continue
        nodes, leaves = slice(node_start[i], node_start[i + 1]), slice(leaf_start[i], leaf_start[i + 1])
        arity = levels[level_start[i] : level_start[i + 1] - 1, 1].copy()
        since = into[nodes] - into_0[nodes]
        if since[0] > 0:
            low, high = interval_since(
                arity,
                since,
                n[leaves] - n_0[leaves],
                x[leaves] - x_0[leaves],
                into_0[nodes],
                n_0[leaves],
                x_0[leaves],
                nats,
            )
            lower[i], upper[i] = max(lower[i], low), min(upper[i], high)


@njit(cache=True)
def _smoothed(  # type: ignore[no-untyped-def]
    level_start, levels, before, treated_start, treated, node_start, leaf_start, into, n, x
):
    value, variance = np.full(len(level_start) - 1, 0.5), np.full(len(level_start) - 1, np.inf)
    for i in range(len(level_start) - 1):
        if node_start[i] < node_start[i + 1]:
            arity = levels[level_start[i] : level_start[i + 1] - 1, 1].copy()
            value[i], variance[i] = smoothed_value(
                arity,
                into[node_start[i] : node_start[i + 1]],
                n[leaf_start[i] : leaf_start[i + 1]],
                x[leaf_start[i] : leaf_start[i + 1]],
            )
    return value, variance
