"""Evidence that a variable has one distribution in several groups of plays: e-values, and chi-square for fixed samples.

Counts come in cells, one for each value of what is conditioned on, and in every cell as groups by states. The null
hypothesis says that within a cell all groups share one distribution, whatever it is; every cell has one of its own.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from pgcpe._numba import njit

__all__ = ["EqualMeans", "chi_square_p_value", "log_evidence", "sequential_log_evidence"]

Floats = NDArray[np.float64]

LEAST_EXPECTED = 1.0
"""Of cells with a smaller expected count the chi-square distribution says little."""

PSEUDO_PLAYS = 2.0
"""So many plays of the pooled mean are added to a member's own in its prediction."""


def log_evidence(counts: ArrayLike) -> float:
    """Return the log of the e-value against the groups of every cell having one distribution.

    For a cell it is the sequential Dirichlet(1/2) mixture of the groups' likelihoods over the largest likelihood
    without groups (universal inference, Wasserman, Ramdas and Balakrishnan 2020). Given the cell and the group, a
    play's state has the cell's distribution under the null, so that this is below a martingale started at 1 at every
    number of plays, whatever chose the plays. A play moves one cell only: products, mixtures and averages over cells
    are below martingales too. The e-value is the average of three of them: the product; the product of
    ``(1 + E_c) / 2``, in which cells without evidence cost a factor of 2 at most; and the mean of the E_c over all
    cells that there can be. In the last two a cell of more than two groups has the average of its full table and of
    each group against all others.

    Parameters
    ----------
    counts
        Array of shape (cells, groups, states).

    Returns
    -------
    float
        In nats; its exponential has an expectation of at most 1 under the null.

    Raises
    ------
    ValueError
        If the counts are not of that shape, negative or not finite.

    Examples
    --------
    >>> round(log_evidence([[[90, 10], [50, 50]]]), 1)
    15.1
    """
    table = np.ascontiguousarray(_checked(counts), dtype=np.float64)
    return float(_log_evidence(table.ravel(), 0, *table.shape))


def chi_square_p_value(counts: ArrayLike) -> float:
    """Return Pearson's chi-square p-value, cells added up; 1 where no cell has two groups and two states.

    Cells where a count is expected to be below 1 are left out: there the statistic is far from chi-square.
    For a number of plays fixed beforehand, and in the limit of many: unlike an e-value it is not valid at a number of
    plays that was chosen by looking at them.

    Parameters
    ----------
    counts
        Array of shape (cells, groups, states).

    Examples
    --------
    >>> round(chi_square_p_value([[[90, 10], [80, 20]]]), 3)
    0.048
    """
    table = _checked(counts)
    rows, columns = table.sum(axis=2, keepdims=True), table.sum(axis=1, keepdims=True)
    expected = rows * columns / np.maximum(rows.sum(axis=1, keepdims=True), 1.0)
    expected[expected == 0.0] = np.inf  # of groups and states that no play has
    dense = expected.min(axis=(1, 2)) >= LEAST_EXPECTED
    seen = np.where(np.isinf(expected), 0.0, expected)
    parts = (table - seen) ** 2 / expected
    free = (np.count_nonzero(rows, axis=(1, 2)) - 1) * (np.count_nonzero(columns, axis=(1, 2)) - 1)
    df = int(free[dense & (free > 0)].sum())
    return float(stats.chi2.sf(parts[dense].sum(), df)) if df else 1.0


class EqualMeans:
    """Evidence against the means of several members being equal, from rounds of one play of each.

    A round is the k-th play of every member. Its factor is ``prod_j (y_j p_j / p + (1 - y_j) (1 - p_j) / (1 - p))``
    with p_j a prediction of member j from earlier rounds, shrunk by two pseudo-plays towards their pooled mean, and p
    the mean of the p_j. Under a common mean its expectation is at most 1, as the geometric mean is at most the
    arithmetic one; nothing is paid for the mean. Half of the stake is on predictions that are all free, half, in equal
    parts, on those of one member against all others.

    It is below a martingale in rounds: `log_factor` ever reaches log(1/alpha) with probability at most alpha. Between
    rounds it says nothing, and it may not be multiplied with evidence of the same plays.

    Parameters
    ----------
    members
        How many members there are.

    Attributes
    ----------
    rounds
        How many rounds are complete.
    log_factor
        The highest log of the evidence after any round.
    """

    def __init__(self, members: int) -> None:
        self.rounds, self.log_factor = 0, 0.0
        self._sums = np.zeros(members)
        self._logs = np.zeros(members + 1)  # all free, then each against the others
        self._weights = np.log([0.5, *[0.5 / members] * members])
        self._waiting: list[deque[float]] = [deque() for _ in range(members)]

    @property
    def means(self) -> Floats:
        """The mean reward of each member in complete rounds."""
        return self._sums / max(self.rounds, 1)

    def add(self, member: int, reward: float) -> None:
        """Take a play of a member, with a reward in [0, 1]."""
        self._waiting[member].append(reward)
        if len(self._waiting[member]) > 1:
            return  # others were missing before
        while all(self._waiting):
            rewards = np.array([waiting.popleft() for waiting in self._waiting])
            _add_round(rewards, self._sums, float(self.rounds), self._logs)
            self._sums += rewards
            self.rounds += 1
            self.log_factor = max(self.log_factor, float(np.logaddexp.reduce(self._weights + self._logs)))


def _checked(counts: ArrayLike) -> Floats:
    table = np.asarray(counts, dtype=np.float64)
    if table.ndim != 3 or not (np.isfinite(table).all() and (table >= 0).all()):
        raise ValueError(f"counts must be nonnegative, of shape (cells, groups, states), but have {table.shape}")
    return table


KEPT = 4096
_COUNTS = np.arange(KEPT, dtype=np.float64)
_GAMMA_HALF = special.gammaln(_COUNTS + 0.5)
_GAMMA_WHOLE = special.gammaln(np.maximum(_COUNTS, 1.0))
_TIMES_LOG = special.xlogy(_COUNTS, _COUNTS)
"""For whole numbers k below `KEPT`: log gamma(k + 1/2), log gamma(k), k log k: looked up at a third of the cost."""


@njit(cache=True)
def _log_gamma(x):  # type: ignore[no-untyped-def]
    """Return log gamma of a multiple of 1/2, at least 1/2, or of anything else above 0."""
    k = int(x)
    if k < KEPT:
        if x == k:
            return _GAMMA_WHOLE[k]
        if x - k == 0.5:
            return _GAMMA_HALF[k]
    return math.lgamma(x)


@njit(cache=True)
def _times_log(x):  # type: ignore[no-untyped-def]
    """Return x log x."""
    k = int(x)
    if k < KEPT and x == k:
        return _TIMES_LOG[k]
    return x * math.log(x)  # of fractions, and of large numbers


@njit(cache=True)
def sequential_log_evidence(counts, start, cells, groups, states, out):  # type: ignore[no-untyped-def]
    """Write the log e-values of several tables of counts, which lie one after the other in a flat array, to `out`.

    ``start``, ``cells``, ``groups`` and ``states`` are arrays over the tables.
    """
    for i in range(len(start)):
        out[i] = _log_evidence(counts, start[i], cells[i], groups[i], states[i])


@njit(cache=True)
def _log_evidence(counts, start, cells, groups, states):  # type: ignore[no-untyped-def]
    """Return the log e-value of a table that begins at `start` of a flat array."""
    product = halves = 0.0
    largest, added = 0.0, float(cells)  # the sum of all E_c as exp(largest) * added
    without = 1.0  # exp(-largest)
    total, own = np.empty(states), np.empty(groups)
    for c in range(cells):
        at = start + c * groups * states
        if not _any(counts, at, at + groups * states):  # E_c = 1
            continue
        seen = 0  # groups that have plays
        for g in range(groups):
            seen += _any(counts, at + g * states, at + (g + 1) * states)
        for s in range(states):
            total[s] = 0.0
            for g in range(groups):
                total[s] += counts[at + g * states + s]
        full, mixed = _log_evidence_of_cell(counts, at, total, own, seen)
        product += full
        halves += _log_add(0.0, mixed) - math.log(2.0)
        if mixed > largest:
            added, largest, without = added * math.exp(largest - mixed), mixed, math.exp(-mixed)
        added += math.exp(mixed - largest) - without
    mean = largest + math.log(max(added, 1e-300)) - math.log(cells)
    return _log_add(_log_add(product, halves), mean) - math.log(3.0)


@njit(cache=True)
def _any(counts, start, end):  # type: ignore[no-untyped-def]
    """Return whether there are any counts."""
    found = False
    for i in range(start, end):
        found |= counts[i] > 0
    return found


@njit(cache=True)
def _log_evidence_of_cell(counts, at, total, own, seen):  # type: ignore[no-untyped-def]
    """Return the log evidence of a cell by its full table, and the average of that with one group against all others.

    `total` are its counts without groups; `own` is written to.
    """
    groups, states = len(own), len(total)
    null = -_times_log(total.sum())  # the log of the largest likelihood without groups
    for s in range(states):
        null += _times_log(total[s])
    pooled = _log_mixture(total, 0, states) - null  # of one group, or of an empty one against all others
    if seen == 1:
        return pooled, pooled
    full = -null
    for g in range(groups):
        own[g] = _log_mixture(counts, at + g * states, states)
        full += own[g]
    if groups == 2:
        return full, full
    mixed = full  # the full table counts one half, the average over the groups the other
    for g in range(groups):
        rest = pooled
        if own[g] < 0.0:  # it has plays: a likelihood is below 1
            rest = own[g] + _log_mixture_of_rest(total, counts, at + g * states, states) - null
        mixed = _log_add(mixed, rest - math.log(groups))
    return full, mixed - math.log(2.0)


@njit(cache=True)
def _log_mixture(counts, at, states):  # type: ignore[no-untyped-def]
    """Return the log likelihood of the counts of one group, mixed over Dirichlet(1/2)."""
    n, value = 0.0, 0.0
    for s in range(states):
        k = counts[at + s]
        if k > 0.0:
            value += _log_gamma(k + 0.5) - _log_gamma(0.5)
            n += k
    return value + _log_gamma(0.5 * states) - _log_gamma(0.5 * states + n) if n > 0.0 else 0.0


@njit(cache=True)
def _log_mixture_of_rest(total, counts, at, states):  # type: ignore[no-untyped-def]
    """Return the same of all counts but those of one group."""
    n, value = 0.0, 0.0
    for s in range(states):
        k = total[s] - counts[at + s]
        if k > 0.0:
            value += _log_gamma(k + 0.5) - _log_gamma(0.5)
            n += k
    return value + _log_gamma(0.5 * states) - _log_gamma(0.5 * states + n) if n > 0.0 else 0.0


@njit(cache=True)
def _log_add(a, b):  # type: ignore[no-untyped-def]
    """Return log(exp(a) + exp(b))."""
    high, low = max(a, b), min(a, b)
    return high + math.log1p(math.exp(low - high))


@njit(cache=True)
def _add_round(rewards, sums, rounds, logs):  # type: ignore[no-untyped-def]
    """Add the log factors of a round to those of all ways to predict it; see `EqualMeans`."""
    members = len(sums)
    total = sums.sum()
    pooled = (total + 0.5) / (members * rounds + 1.0)
    p = np.empty(members)
    for way in range(members + 1):
        for j in range(members):
            some, of = sums[j], 1.0
            if way > 0 and j != way - 1:  # the others share a mean
                some, of = total - sums[way - 1], members - 1.0
            p[j] = (some + PSEUDO_PLAYS * pooled) / (of * rounds + PSEUDO_PLAYS)
        mean = p.mean()
        for j in range(members):
            y = rewards[j]  # linear in it: of rewards in [0, 1] the mean alone counts
            logs[way] += math.log(y * p[j] / mean + (1.0 - y) * (1.0 - p[j]) / (1.0 - mean))
