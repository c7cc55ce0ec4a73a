"""Evidence against every set of tables at once: an e-process for each arm that bets along the difference to the leader.

For one fixed arm and any tables p, `log_evidence` is the logarithm of a nonnegative process that starts at 1 and whose
mean, if p is the truth, never grows, whatever chose the plays. So it ever reaches ``1 / alpha`` at the truth with
probability at most alpha (Ville's inequality).

Plays are cut into epochs. At the start of an epoch a bet is fixed for every p: a play in whose row the state s is seen
multiplies by ``exp(omega_s) / sum_u p_u exp(omega_u)``, where omega is in proportion to how the difference of the arms
depends on p_s, at the midpoint of p and the estimate of then. What is bet in each row is mixed with what was predicted
from the past, bracket by bracket: a row of tables, or all rows of an equation. All of that is mixed with predictions of
all rows together, begun at every other epoch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from pgcpe._numba import njit

__all__ = ["Bets", "RowBets", "epoch_share", "log_evidence", "log_predictive", "stakes"]

Floats = NDArray[np.float64]

MULTIPLIERS = np.array([0.35, 0.7])
"""What is bet, in units of the difference expected over its variance in a play: 1 grows fastest, if nothing moves."""

MULTIPLIER_SHARE = 0.45
"""The share of each of them; predictions of all rows have the rest."""

PREDICTED = 0.02
"""The share of predictions in each row."""

MOST = 3.0
"""No exponent is larger."""

FAR = 500.0
"""An exponent that stands for all larger ones."""

PRIOR = 0.5
"""What predictions add to the count of every state."""


@njit(cache=True)
def epoch_share(j):  # type: ignore[no-untyped-def]
    """Return the share of the predictions of all rows that begin at an epoch, from 0 on; the sum of all is .1."""
    return (1.0 - MULTIPLIER_SHARE * len(MULTIPLIERS)) / ((j + 1) * (j + 2))


class Bets(NamedTuple):
    """What was bet for one arm, and what came; arrays over epochs, rows and entries, as numba reads them.

    Rows come as in `pgcpe.models.derivatives.Layout`. The last ones are those of the reward: they have two entries, of
    0 and of 1, and a reward y between them counts 1 - y in the first and y in the second.

    Attributes
    ----------
    entry_start
        Integer array: where the entries of each row begin; their number comes last.
    reward_row
        The first row of the reward.
    values
        The rewards, of every state.
    by_value
        Array of shape (epochs, rows of the reward, values): the plays.
    counts, since
        Arrays of shape (epochs, entries): the plays of an epoch, and of all epochs from it on.
    visits
        Array of shape (epochs, rows): the plays.
    bracket
        Integer array over the rows: the bracket of each.
    begun
        Integer array over the brackets: the epoch from which each is bet on; the number of epochs if it is not.
    predicted
        Array over the brackets: the logarithm of the predictive probability of what came since they are bet on.
    mixed
        Integer array: the epochs at which predictions of all rows began.
    mixed_brackets
        Boolean array of shape (these, brackets): which they predict.
    mixed_predicted
        The same as `predicted`, since then.
    """

    entry_start: NDArray[np.int64]
    reward_row: int
    values: Floats
    by_value: Floats
    counts: Floats
    since: Floats
    visits: Floats
    bracket: NDArray[np.int64]
    begun: NDArray[np.int64]
    predicted: Floats
    mixed: NDArray[np.int64]
    mixed_brackets: NDArray[np.bool_]
    mixed_predicted: Floats


class RowBets(NamedTuple):
    """How exponents follow from slopes where every row is by itself: ``stake (slope - mean slope) / share``.

    Attributes
    ----------
    entry_start, reward_row
        As in `Bets`. Of a row of the reward only the mean is bet on: the exponent of 0 is 0.
    stake
        Array over the epochs: the difference expected over its variance in a play; 0 where nothing is bet.
    share
        Array of shape (epochs, rows): of the plays before, how many met the row.
    """

    entry_start: NDArray[np.int64]
    reward_row: int
    stake: Floats
    share: Floats

    def exponents(self, centre: Floats, slopes: Floats) -> Floats:
        """Return what is bet in each epoch on every entry, as `log_evidence` takes it.

        Parameters
        ----------
        centre
            Array of shape (epochs, entries): the midpoints of p and the estimates at the start of each epoch.
        slopes
            Array of the same shape: the derivatives, there, of the leader's expected reward less the arm's.
        """
        out = np.zeros_like(slopes)
        _exponents(self, centre, slopes, out)
        return out

    def gradients(self, centre: Floats, slopes: Floats, by_exponent: Floats) -> tuple[Floats, Floats]:
        """Return the derivatives by centre and slopes from those by the exponents."""
        by_centre, by_slope = np.zeros_like(slopes), np.zeros_like(slopes)
        _by_exponents(self, centre, slopes, by_exponent, by_centre, by_slope)
        return by_centre, by_slope


def log_predictive(counts: Floats, entry_start: NDArray[np.int64]) -> Floats:
    """Return for each row the logarithm of the probability that a Dirichlet mixture gives the states seen, in order.

    From counts on to later ones it is the difference of the two.

    Parameters
    ----------
    counts
        Array whose last axis is the entries.
    entry_start
        Where those of each row begin; their number comes last.
    """
    first = entry_start[:-1]
    width = np.diff(entry_start)
    each = np.add.reduceat(gammaln(counts + PRIOR), first, axis=-1) - width * gammaln(PRIOR)
    total = np.add.reduceat(counts, first, axis=-1)
    return np.asarray(each + gammaln(width * PRIOR) - gammaln(total + width * PRIOR))


def stakes(gap: Floats, variance: Floats, plays: int, epsilon: float) -> Floats:
    """Return the difference expected, at least its standard error, over its variance in a play; 0 where that is 0.

    Parameters
    ----------
    gap
        How much better than each arm the leader is, as estimated.
    variance
        Plays times the variance of that.
    plays
        Their number so far.
    epsilon
        How much worse than the leader than that an arm is not to be to be ruled out.
    """
    wanted = np.maximum(gap + epsilon, np.sqrt(variance / plays))
    return np.divide(wanted, variance, out=np.zeros_like(variance), where=variance > 0)


def log_evidence(bets: Bets, p: Floats, exponents: Floats) -> tuple[float, Floats, Floats]:
    """Return the logarithm of the evidence of an arm against probabilities, and its derivatives.

    Parameters
    ----------
    bets
        What came, and what was predicted.
    p
        The probability of every entry, above 0 where it was seen.
    exponents
        Array of shape (epochs, entries): what was bet, before it is multiplied by each of `MULTIPLIERS` and bounded.

    Returns
    -------
    value, by_p, by_exponent
        The second is the derivative with exponents held fixed.
    """
    by_p, by_exponent = np.zeros_like(p), np.zeros_like(exponents)
    return _log_evidence(bets, p, exponents, by_p, by_exponent), by_p, by_exponent


@njit(cache=True)
def _bounded(x):  # type: ignore[no-untyped-def]
    """Return x cut to [-MOST, MOST], rounded from two thirds of that to four thirds, and the derivative."""
    over = abs(x) * 1.5 / MOST - 1.0  # 0 at two thirds, 1 at four thirds
    if over <= 0.0:
        return x, 1.0
    if over >= 1.0:
        return np.copysign(MOST, x), 0.0
    return np.copysign(MOST * (1.0 - (1.0 - over) ** 2 / 3.0), x), 1.0 - over


@njit(cache=True)
def _log_evidence(bets, p, exponents, by_p, by_exponent):  # type: ignore[no-untyped-def]
    """Return what `log_evidence` does and add the derivatives."""
    n_brackets, n_k, n_mixed = len(bets.begun), len(MULTIPLIERS), len(bets.mixed)
    tilted = np.zeros((n_k, n_brackets))
    by_p_of, by_exponent_of = np.zeros((n_k, *p.shape)), np.zeros((n_k, *exponents.shape))
    for k in range(n_k):
        _tilt(bets, MULTIPLIERS[k], p, exponents, tilted[k], by_p_of[k], by_exponent_of[k])
    predicted = np.log(PREDICTED) + bets.predicted - _log_likelihood(bets, bets.begun, p)
    parts = np.zeros(n_k + n_mixed + 1)
    inside = np.zeros((n_k, n_brackets))  # what tilts are of each bracket
    left = 1.0 - MULTIPLIER_SHARE * n_k
    for k in range(n_k):
        parts[k] = np.log(MULTIPLIER_SHARE)
        for b in range(n_brackets):
            if bets.begun[b] < len(bets.counts):
                apart = np.log(1.0 - PREDICTED) + tilted[k, b] - predicted[b]
                parts[k] += predicted[b] + max(apart, 0.0) + np.log1p(np.exp(-abs(apart)))
                inside[k, b] = 1.0 / (1.0 + np.exp(min(-apart, FAR)))
    for i in range(n_mixed):
        share = epoch_share(bets.mixed[i])
        left -= share
        against = _log_likelihood(bets, np.full(n_brackets, bets.mixed[i]), p)
        parts[n_k + i] = np.log(share) + ((bets.mixed_predicted[i] - against) * bets.mixed_brackets[i]).sum()
    parts[-1] = np.log(left)  # what is not bet yet, or never
    high = parts.max()
    value = high + np.log(np.exp(parts - high).sum())
    _combine(bets, p, np.exp(parts - value), inside, by_p_of, by_exponent_of, by_p, by_exponent)
    return value


@njit(cache=True)
def _combine(bets, p, weight, inside, by_p_of, by_exponent_of, by_p, by_exponent):  # type: ignore[no-untyped-def]
    """Add the derivatives of all parts, each with its weight."""
    n_k, n_mixed = len(by_p_of), len(bets.mixed)
    for row in range(len(bets.bracket)):
        b = bets.bracket[row]
        for e in range(bets.entry_start[row], bets.entry_start[row + 1]):
            for k in range(n_k):
                share = weight[k] * inside[k, b]
                by_p[e] += share * by_p_of[k, e]
                for j in range(len(by_exponent)):
                    by_exponent[j, e] += share * by_exponent_of[k, j, e]
                if bets.begun[b] < len(bets.counts) and bets.since[bets.begun[b], e] > 0:
                    by_p[e] -= (weight[k] - share) * bets.since[bets.begun[b], e] / p[e]
            for i in range(n_mixed):
                if bets.mixed_brackets[i, b] and bets.since[bets.mixed[i], e] > 0:
                    by_p[e] -= weight[n_k + i] * bets.since[bets.mixed[i], e] / p[e]


@njit(cache=True)
def _tilt(bets, multiplier, p, exponents, tilted, by_p, by_exponent):  # type: ignore[no-untyped-def]
    """Add the logarithms of what the bets on all rows have won to their brackets; add the derivatives of these."""
    up, flat = np.ones(len(p)), np.zeros(len(p))
    for row in range(len(bets.bracket)):
        a, b, bracket = bets.entry_start[row], bets.entry_start[row + 1], bets.bracket[row]
        for j in range(bets.begun[bracket], len(exponents)):
            visits = bets.visits[j, row]
            if visits == 0.0:
                continue
            z = 0.0
            for e in range(a, b):
                omega, flat[e] = _bounded(multiplier * exponents[j, e])
                up[e] = np.exp(omega)
                z += p[e] * up[e]
                won, rise = bets.counts[j, e] * omega, bets.counts[j, e]
                if row >= bets.reward_row:
                    won, rise = _won(bets, j, row, omega, up[e])
                tilted[bracket] += won
                by_exponent[j, e] = multiplier * flat[e] * rise
            tilted[bracket] -= visits * np.log(z)
            for e in range(a, b):
                by_p[e] -= visits / z * up[e]
                by_exponent[j, e] -= multiplier * flat[e] * visits / z * p[e] * up[e]


@njit(cache=True)
def _won(bets, j, row, omega, up):  # type: ignore[no-untyped-def]
    """Return what a bet on the mean of a row of the reward has won in an epoch, and the derivative by omega."""
    won = rise = 0.0
    for v in range(len(bets.values)):
        n, y = bets.by_value[j, row - bets.reward_row, v], bets.values[v]
        if n > 0 and y == 1.0:
            won += n * omega
            rise += n
        elif n > 0 and y > 0.0:
            won += n * np.log(1.0 - y + y * up)
            rise += n * y * up / (1.0 - y + y * up)
    return won, rise


@njit(cache=True)
def _log_likelihood(bets, begun, p):  # type: ignore[no-untyped-def]
    """Return for each bracket the log-likelihood of what came since an epoch; 0 where that has not begun."""
    out = np.zeros(len(begun))
    for row in range(len(bets.bracket)):
        j = begun[bets.bracket[row]]
        if j < len(bets.counts):
            for e in range(bets.entry_start[row], bets.entry_start[row + 1]):
                if bets.since[j, e] > 0:
                    out[bets.bracket[row]] += bets.since[j, e] * np.log(p[e])
    return out


@njit(cache=True)
def _exponents(rows, centre, slopes, out):  # type: ignore[no-untyped-def]
    """Set what `RowBets.exponents` returns."""
    entry_start, reward_row, stake, share = rows
    for j in range(len(stake)):
        for row in range(len(entry_start) - 1):
            a, b = entry_start[row], entry_start[row + 1]
            scale = stake[j] / share[j, row]
            if row >= reward_row:
                out[j, b - 1] = scale * (slopes[j, b - 1] - slopes[j, a])
                continue
            mean = 0.0
            for e in range(a, b):
                mean += centre[j, e] * slopes[j, e]
            for e in range(a, b):
                out[j, e] = scale * (slopes[j, e] - mean)


@njit(cache=True)
def _by_exponents(rows, centre, slopes, by_exponent, by_centre, by_slope):  # type: ignore[no-untyped-def]
    """Add the derivatives of what `_exponents` sets."""
    entry_start, reward_row, stake, share = rows
    for j in range(len(stake)):
        for row in range(len(entry_start) - 1):
            a, b = entry_start[row], entry_start[row + 1]
            scale = stake[j] / share[j, row]
            if row >= reward_row:
                by_slope[j, b - 1] += scale * by_exponent[j, b - 1]
                by_slope[j, a] -= scale * by_exponent[j, b - 1]
                continue
            total = 0.0
            for e in range(a, b):
                by_slope[j, e] += scale * by_exponent[j, e]
                total += scale * by_exponent[j, e]
            for e in range(a, b):
                by_slope[j, e] -= total * centre[j, e]
                by_centre[j, e] -= total * slopes[j, e]
