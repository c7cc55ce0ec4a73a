"""Evidence against every set of tables at once: an e-process for each arm that bets along the difference to the leader.

For one fixed arm and any tables p, `log_evidence` is the logarithm of a nonnegative process that starts at 1 and whose
mean, if p is the truth, never grows, whatever chose the plays. So it ever reaches ``1 / alpha`` at the truth with
probability at most alpha (Ville's inequality).

Plays are cut into epochs. At the start of an epoch a bet is fixed for every p: a play in whose row the state s is seen
multiplies by ``exp(omega_s) / sum_u p_u exp(omega_u)``, where omega is in proportion to how the difference of the arms
depends on p_s, at the midpoint of p and the estimate of then. What is bet in each row is mixed with what was predicted
from the past, row by row, and all of that with predictions of all rows together, begun at every other epoch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from pgcpe._numba import njit

__all__ = ["Bets", "epoch_share", "log_evidence", "log_predictive", "stakes"]

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


def epoch_share(j: int) -> float:
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
    begun
        Integer array: the epoch from which each row is bet on; the number of epochs if it is not.
    stake
        Array over the epochs: the difference expected over its variance in a play; 0 where nothing is bet.
    share
        Array of shape (epochs, rows): of the plays before, how many met the row.
    predicted
        Array over the rows: the logarithm of the predictive probability of what came since they are bet on.
    mixed
        Integer array: the epochs at which predictions of all rows began.
    mixed_rows
        Boolean array of shape (these, rows): which they predict.
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
    begun: NDArray[np.int64]
    stake: Floats
    share: Floats
    predicted: Floats
    mixed: NDArray[np.int64]
    mixed_rows: NDArray[np.bool_]
    mixed_predicted: Floats


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


def log_evidence(bets: Bets, p: Floats, centre: Floats, slopes: Floats) -> tuple[float, Floats, Floats]:
    """Return the logarithm of the evidence of an arm against tables, and its derivatives.

    Parameters
    ----------
    bets
        What was bet.
    p
        The probability of every entry, above 0 where it was seen.
    centre
        Array of shape (epochs, entries): the midpoints of p and the estimates at the start of each epoch.
    slopes
        Array of the same shape: the derivatives, there, of the leader's expected reward less the arm's.

    Returns
    -------
    value, by_p, by_slope
        With slopes held fixed the second is the derivative by p (through the centres, too), the last that by slopes.
    """
    by_p, by_slope = np.zeros_like(p), np.zeros_like(slopes)
    return _log_evidence(bets, p, centre, slopes, by_p, by_slope), by_p, by_slope


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
def _log_evidence(bets, p, centre, slopes, by_p, by_slope):  # type: ignore[no-untyped-def]
    """Return what `log_evidence` does and add the derivatives."""
    n_epochs, n_rows, n_k = len(bets.stake), len(bets.begun), len(MULTIPLIERS)
    shape = n_epochs, len(p)
    tilts = [(np.ones(shape), np.zeros(shape), np.zeros((n_epochs, n_rows)), np.zeros(n_rows)) for _ in range(n_k)]
    predicted = np.zeros(n_rows)
    for row in range(n_rows):
        if bets.begun[row] < n_epochs:
            predicted[row] = np.log(PREDICTED) + bets.predicted[row]
            for e in range(bets.entry_start[row], bets.entry_start[row + 1]):
                if bets.since[bets.begun[row], e] > 0:
                    predicted[row] -= bets.since[bets.begun[row], e] * np.log(p[e])
    parts = np.zeros(n_k + len(bets.mixed) + 1)
    for k in range(n_k):
        parts[k] = np.log(MULTIPLIER_SHARE)
        _tilt(bets, MULTIPLIERS[k], p, centre, slopes, *tilts[k])
        tilted = tilts[k][3]
        for row in range(n_rows):
            if bets.begun[row] < n_epochs:
                tilted[row] += np.log(1.0 - PREDICTED)
                high = max(tilted[row], predicted[row])
                parts[k] += high + np.log(np.exp(tilted[row] - high) + np.exp(predicted[row] - high))
    _all_rows(bets, p, parts[n_k:])
    high = parts.max()
    value = high + np.log(np.exp(parts - high).sum())
    weight = np.exp(parts - value)
    share = np.zeros(n_rows)
    for k in range(n_k):
        tilted = tilts[k][3]
        for row in range(n_rows):
            share[row] = weight[k] / (1.0 + np.exp(min(predicted[row] - tilted[row], FAR)))
            if bets.begun[row] < n_epochs:
                _by_predicted(bets.since[bets.begun[row]], bets.entry_start, row, weight[k] - share[row], p, by_p)
        _by_tilt(bets, MULTIPLIERS[k], p, centre, slopes, *tilts[k][:3], share, by_p, by_slope)
    for i, j in enumerate(bets.mixed):
        for row in range(n_rows):
            if bets.mixed_rows[i, row]:
                _by_predicted(bets.since[j], bets.entry_start, row, weight[n_k + i], p, by_p)
    return value


@njit(cache=True)
def _tilt(bets, multiplier, p, centre, slopes, up, flat, rise, tilted):  # type: ignore[no-untyped-def]
    """Set what was bet in every epoch and row: exp(omega), the derivatives of the bounds of omega, and for rows of the
    reward that of what was won by omega; add the logarithms of what all epochs have won.
    """
    counts, visits, entry_start = bets.counts, bets.visits, bets.entry_start
    values, by_value = bets.values, bets.by_value
    reward_row, begun, stake, share = bets.reward_row, bets.begun, bets.stake, bets.share
    for row in range(len(begun)):
        a, b = entry_start[row], entry_start[row + 1]
        for j in range(begun[row], len(stake)):
            if stake[j] == 0.0 or visits[j, row] == 0.0:
                continue
            scale = multiplier * stake[j] / share[j, row]
            z = 0.0
            if row >= reward_row:  # a bet on the mean alone
                omega, flat[j, b - 1] = _bounded(scale * (slopes[j, b - 1] - slopes[j, a]))
                up[j, b - 1] = np.exp(omega)
                z = p[a] + p[b - 1] * up[j, b - 1]
                for v in range(len(values)):
                    n, y = by_value[j, row - reward_row, v], values[v]
                    if n > 0 and y == 1.0:
                        tilted[row] += n * omega
                        rise[j, row] += n
                    elif n > 0 and y > 0.0:
                        tilted[row] += n * np.log(1.0 - y + y * up[j, b - 1])
                        rise[j, row] += n * y * up[j, b - 1] / (1.0 - y + y * up[j, b - 1])
            else:
                mean = 0.0
                for e in range(a, b):
                    mean += centre[j, e] * slopes[j, e]
                for e in range(a, b):
                    omega, flat[j, e] = _bounded(scale * (slopes[j, e] - mean))
                    up[j, e] = np.exp(omega)
                    z += p[e] * up[j, e]
                    tilted[row] += counts[j, e] * omega
            tilted[row] -= visits[j, row] * np.log(z)


@njit(cache=True)
def _by_tilt(bets, multiplier, p, centre, slopes, up, flat, rise, weight, by_p, by_slope):  # type: ignore[no-untyped-def]
    """Add the derivatives of what was bet in every row, times the weights of the rows."""
    counts, visits, entry_start = bets.counts, bets.visits, bets.entry_start
    reward_row, begun, stake, share = bets.reward_row, bets.begun, bets.stake, bets.share
    for row in range(len(begun)):
        a, b = entry_start[row], entry_start[row + 1]
        for j in range(begun[row], len(stake)):
            if stake[j] == 0.0 or visits[j, row] == 0.0:
                continue
            scale = multiplier * stake[j] / share[j, row]
            z = 0.0
            for e in range(a, b):
                z += p[e] * up[j, e]
            ratio = visits[j, row] / z
            for e in range(a, b):
                by_p[e] -= weight[row] * ratio * up[j, e]
            if row >= reward_row:
                moved = weight[row] * scale * flat[j, b - 1] * (rise[j, row] - ratio * p[b - 1] * up[j, b - 1])
                by_slope[j, b - 1] += moved
                by_slope[j, a] -= moved
                continue
            total = 0.0
            for e in range(a, b):
                moved = weight[row] * scale * flat[j, e] * (counts[j, e] - ratio * p[e] * up[j, e])
                by_slope[j, e] += moved
                total += moved
            for e in range(a, b):  # exponents are centred at the midpoint, which is half p
                by_slope[j, e] -= total * centre[j, e]
                by_p[e] -= total * 0.5 * slopes[j, e]


@njit(cache=True)
def _all_rows(bets, p, parts):  # type: ignore[no-untyped-def]
    """Set the logarithms of the predictions of all rows; last comes what is not bet yet, or never."""
    rest = 1.0 - MULTIPLIER_SHARE * len(MULTIPLIERS)
    left = rest
    for i, j in enumerate(bets.mixed):
        share = rest / ((j + 1) * (j + 2))
        left -= share
        parts[i] = np.log(share)
        for row in range(len(bets.begun)):
            if bets.mixed_rows[i, row]:
                parts[i] += bets.mixed_predicted[i, row]
                for e in range(bets.entry_start[row], bets.entry_start[row + 1]):
                    if bets.since[j, e] > 0:
                        parts[i] -= bets.since[j, e] * np.log(p[e])
    parts[len(bets.mixed)] = np.log(left)


@njit(cache=True)
def _by_predicted(since, entry_start, row, weight, p, by_p):  # type: ignore[no-untyped-def]
    """Add the derivatives of the predictions of a row, times their weight."""
    for e in range(entry_start[row], entry_start[row + 1]):
        if since[e] > 0:
            by_p[e] -= weight * since[e] / p[e]
