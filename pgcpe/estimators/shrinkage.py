"""Partial pooling: the rows of a table, shrunk towards an additive model of all of them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pgcpe._numba import njit

__all__ = ["FEWEST_PARENTS", "additive_design", "drawn_shares"]

Floats = NDArray[np.float64]

FEWEST_PARENTS = 3
"""Of fewer parents the additive model of a table has hardly fewer coefficients than the table has rows."""

RIDGE = 2.0
"""In plays: how much each coefficient but the mean is held near 0."""

STRENGTHS = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0])
"""How many plays the additive fit of a row may count for, beside the row's own."""

CHARGE = 2.0
"""What a degree of freedom of the additive model costs, in nats. One is what its optimism asks for; two protect tables
without any structure (Experiment 2), at the price of shrinking additive ones (Experiment 3) a little later."""

LEAST = 0.02
"""The additive model, which is linear, is cut off here before its shares are made to sum to 1."""


def additive_design(cards: tuple[int, ...]) -> Floats:
    """Return the rows of an additive model for all states of the parents, the last changing fastest.

    The first column is the mean; the others, one for each further state of each parent, sum to 0.

    Examples
    --------
    >>> additive_design((2, 2)).tolist()
    [[1.0, -0.5, -0.5], [1.0, -0.5, 0.5], [1.0, 0.5, -0.5], [1.0, 0.5, 0.5]]
    """
    states = np.indices(cards).reshape(len(cards), -1)
    columns = [(states[j] == k) - 1.0 / card for j, card in enumerate(cards) for k in range(1, card)]
    return np.column_stack([np.ones(math.prod(cards)), *columns])


def drawn_shares(counts: Floats, design: Floats) -> Floats:
    """Return the estimated shares of each row of a table, from the counts of all rows.

    A row with n plays, c of them in a state, is estimated by (c + M g) / (n + M): g is what a least-squares fit of the
    additive model to all rows says, M how much that counts. The plain estimate (c + 1/2) / (n + m/2), with m states, is
    one more candidate. Estimates are averaged, each weighted by the likelihood of every play under the estimate from
    all others; the fit, which is not made again without each play, is charged two nats for each degree of freedom that
    it used. With many plays a row the counts alone decide.

    Parameters
    ----------
    counts
        Array (rows, states).
    design
        `additive_design` of the parents.

    Returns
    -------
    numpy.ndarray
        The shares, rows that sum to 1.
    """
    return np.asarray(_averaged(counts, *_additive_fit(counts, design)))


def _additive_fit(counts: Floats, design: Floats) -> tuple[Floats, float]:
    """Return the shares by the additive model, and how many degrees of freedom it used."""
    states, d = counts.shape[1], design.shape[1]
    n = counts.sum(axis=1)
    seen = (design * n.reshape(-1, 1)).T @ design
    penalised = seen + RIDGE * np.eye(d)
    penalised[0, 0] = seen[0, 0] + 0.5 * states
    toward = design.T @ counts
    toward[0] += 0.5
    model = np.maximum(design @ np.linalg.solve(penalised, toward), LEAST)
    model /= model.sum(axis=1, keepdims=True)
    return model, (states - 1) * float(np.trace(np.linalg.solve(penalised, seen)))


@njit(cache=True)
def _averaged(counts, model, freedom):  # type: ignore[no-untyped-def]
    """Return the candidates' shares, each weighted by the likelihood of every play under the estimate from all others.

    Linear algebra is left to numpy, and sums are loops: to compile what numba has for them would take a fifth of the
    time of the first use.
    """
    rows, states = counts.shape
    n = np.zeros(rows)
    for r in range(rows):
        for k in range(states):
            n[r] += counts[r, k]
    candidates = len(STRENGTHS)
    fit = np.zeros(candidates + 1)
    for r in range(rows):
        for k in range(states):
            c = counts[r, k]
            if c > 0:
                for j in range(candidates):
                    strength = STRENGTHS[j]
                    fit[j] += c * math.log((c - 1.0 + strength * model[r, k]) / (n[r] - 1.0 + strength))
                fit[candidates] += c * math.log((c - 0.5) / (n[r] - 1.0 + 0.5 * states))
    greatest, total = fit[candidates], 0.0
    for j in range(candidates):
        fit[j] -= CHARGE * freedom
        greatest = max(greatest, fit[j])
    weight = np.empty(candidates + 1)
    for j in range(candidates + 1):
        weight[j] = math.exp(fit[j] - greatest)
        total += weight[j]

    shares = np.empty((rows, states))
    for r in range(rows):
        for k in range(states):
            share = weight[candidates] * (counts[r, k] + 0.5) / (n[r] + 0.5 * states)
            for j in range(candidates):
                share += weight[j] * (counts[r, k] + STRENGTHS[j] * model[r, k]) / (n[r] + STRENGTHS[j])
            shares[r, k] = share / total
    return shares
