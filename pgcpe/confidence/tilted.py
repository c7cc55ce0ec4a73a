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
def _log_sum(a, b):  # type: ignore[no-untyped-def]
    high = max(a, b)
    return high + np.log(np.exp(a - high) + np.exp(b - high))


@njit(cache=True)
def _exponents(bets, j, row, scale, p, centre, slopes, omega, flat, up):  # type: ignore[no-untyped-def]
    """Set the exponents of a row in an epoch, the derivatives of their bounds, and exp(omega); return its mean."""
    a, b = bets.entry_start[row], bets.entry_start[row + 1]
    if row >= bets.reward_row:  # a bet on the mean alone
        omega[a], flat[a] = 0.0, 0.0
        omega[a + 1], flat[a + 1] = _bounded(scale * (slopes[j, a + 1] - slopes[j, a]))
    else:
        mean = 0.0
        for e in range(a, b):
            mean += centre[j, e] * slopes[j, e]
        for e in range(a, b):
            omega[e], flat[e] = _bounded(scale * (slopes[j, e] - mean))
    z = 0.0
    for e in range(a, b):
        up[e] = np.exp(omega[e])
        z += p[e] * up[e]
    return z


@njit(cache=True)
def _won(bets, j, row, omega, up):  # type: ignore[no-untyped-def]
    """Return the logarithm of what the plays of an epoch have won in a row, before it is divided by what was expected.

    In a row of the reward also the derivative by the exponent.
    """
    a, b = bets.entry_start[row], bets.entry_start[row + 1]
    won = slope = 0.0
    if row >= bets.reward_row:
        for v in range(len(bets.values)):
            n, y = bets.by_value[j, row - bets.reward_row, v], bets.values[v]
            if n > 0 and y == 1.0:
                won += n * omega[a + 1]
                slope += n
            elif n > 0 and y > 0.0:
                won += n * np.log(1.0 - y + y * up[a + 1])
                slope += n * y * up[a + 1] / (1.0 - y + y * up[a + 1])
    else:
        for e in range(a, b):
            won += bets.counts[j, e] * omega[e]
    return won, slope


@njit(cache=True)
def _log_evidence(bets, p, centre, slopes, by_p, by_slope):  # type: ignore[no-untyped-def]
    """Return what `log_evidence` does and add the derivatives."""
    n_epochs, n_rows, n_k = len(bets.stake), len(bets.begun), len(MULTIPLIERS)
    omega, flat = np.zeros((n_k, n_epochs, len(p))), np.zeros((n_k, n_epochs, len(p)))
    up = np.ones((n_k, n_epochs, len(p)))
    z, rise = np.ones((n_k, n_epochs, n_rows)), np.zeros((n_k, n_epochs, n_rows))
    tilted, visits = np.zeros((n_k, n_rows)), np.zeros((n_epochs, n_rows))
    predicted = bets.predicted.copy()
    parts = np.zeros(n_k + len(bets.mixed) + 1)
    for row in range(n_rows):
        if bets.begun[row] >= n_epochs:
            continue
        a, b = bets.entry_start[row], bets.entry_start[row + 1]
        for e in range(a, b):
            if bets.since[bets.begun[row], e] > 0:
                predicted[row] -= bets.since[bets.begun[row], e] * np.log(p[e])
        for j in range(bets.begun[row], n_epochs):
            for e in range(a, b):
                visits[j, row] += bets.counts[j, e]
            if bets.stake[j] == 0.0 or visits[j, row] == 0.0:
                continue
            for k in range(n_k):
                scale = MULTIPLIERS[k] * bets.stake[j] / bets.share[j, row]
                z[k, j, row] = _exponents(bets, j, row, scale, p, centre, slopes, omega[k, j], flat[k, j], up[k, j])
                won, rise[k, j, row] = _won(bets, j, row, omega[k, j], up[k, j])
                tilted[k, row] += won - visits[j, row] * np.log(z[k, j, row])
        for k in range(n_k):
            parts[k] += _log_sum(np.log(1.0 - PREDICTED) + tilted[k, row], np.log(PREDICTED) + predicted[row])
    for k in range(n_k):
        parts[k] += np.log(MULTIPLIER_SHARE)
    _all_rows(bets, p, parts[n_k:])
    high = parts.max()
    value = high + np.log(np.exp(parts - high).sum())
    weight = np.exp(parts - value)
    for row in range(n_rows):
        if bets.begun[row] >= n_epochs:
            continue
        for k in range(n_k):
            tilt, told = np.log(1.0 - PREDICTED) + tilted[k, row], np.log(PREDICTED) + predicted[row]
            share = weight[k] * np.exp(tilt - _log_sum(tilt, told))
            _by_predicted(bets, bets.begun[row], row, weight[k] - share, p, by_p)
            for j in range(bets.begun[row], n_epochs):
                if bets.stake[j] != 0.0 and visits[j, row] > 0.0:
                    scale = MULTIPLIERS[k] * bets.stake[j] / bets.share[j, row]
                    ratio = visits[j, row] / z[k, j, row]
                    _by_tilt(bets, j, row, share, scale, ratio, rise[k, j, row], p, centre, slopes, up[k, j],
                             flat[k, j], by_p, by_slope)  # fmt: skip
    for i in range(len(bets.mixed)):
        for row in range(n_rows):
            if bets.mixed_rows[i, row]:
                _by_predicted(bets, bets.mixed[i], row, weight[n_k + i], p, by_p)
    return value


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
def _by_predicted(bets, j, row, weight, p, by_p):  # type: ignore[no-untyped-def]
    """Add the derivatives of the predictions of a row since an epoch, times their weight."""
    for e in range(bets.entry_start[row], bets.entry_start[row + 1]):
        if bets.since[j, e] > 0:
            by_p[e] -= weight * bets.since[j, e] / p[e]


@njit(cache=True)
def _by_tilt(bets, j, row, weight, scale, ratio, rise, p, centre, slopes, up, flat, by_p, by_slope):  # type: ignore[no-untyped-def]
    """Add the derivatives of what was bet in a row in an epoch, times its weight."""
    a, b = bets.entry_start[row], bets.entry_start[row + 1]
    for e in range(a, b):
        by_p[e] -= weight * ratio * up[e]
    if row >= bets.reward_row:
        moved = weight * scale * flat[a + 1] * (rise - ratio * p[a + 1] * up[a + 1])
        by_slope[j, a + 1] += moved
        by_slope[j, a] -= moved
        return
    total = 0.0
    for e in range(a, b):
        moved = weight * scale * flat[e] * (bets.counts[j, e] - ratio * p[e] * up[e])
        by_slope[j, e] += moved
        total += moved
    for e in range(a, b):  # exponents are centred at the midpoint, which is half p
        by_slope[j, e] -= total * centre[j, e]
        by_p[e] -= total * 0.5 * slopes[j, e]
