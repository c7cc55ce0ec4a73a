"""Partial pooling: the rows of a table, shrunk towards simpler models of all of them."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgcpe._numba import njit

__all__ = ["FEWEST_PARENTS", "Interactions", "drawn_shares"]

Floats = NDArray[np.float64]

FEWEST_PARENTS = 3
"""Of fewer parents a model of pairs has as many coefficients as the table has rows."""

RIDGE = 2.0
"""In plays: how much each coefficient but the mean is held near 0."""

STRENGTHS = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0])
"""How many plays what a model says of a row may count for, beside the row's own."""

LEAST = 0.02
"""The models, which are linear, are cut off here before their shares are made to sum to 1."""


class Interactions(NamedTuple):
    """Two nested linear models of the rows of a table: the states of its parents add up, or those of pairs do.

    Attributes
    ----------
    design
        Array (rows, coefficients), for all states of the parents, the last changing fastest.
    widths
        How many coefficients, from the first on, each model has.
    """

    design: Floats
    widths: tuple[int, ...]

    @classmethod
    def of(cls, cards: tuple[int, ...]) -> Interactions:
        """Return the models for parents with so many states; all columns but the first sum to 0.

        Examples
        --------
        >>> Interactions.of((2, 2)).design.tolist()
        [[1.0, -0.5, -0.5, 0.5], [1.0, -0.5, 0.5, -0.5], [1.0, 0.5, -0.5, -0.5], [1.0, 0.5, 0.5, 0.5]]
        >>> Interactions.of((2, 3)).widths
        (4, 6)
        """
        states = np.indices(cards).reshape(len(cards), -1)
        alone = [[(states[j] == k) - 1.0 / card for k in range(1, card)] for j, card in enumerate(cards)]
        # of two states each the columns of pairs take steps of 1, as those of a parent do
        pairs = [2.0 * u * v for a, b in itertools.combinations(alone, 2) for u in a for v in b]
        additive = [np.ones(math.prod(cards)), *itertools.chain(*alone)]
        return cls(np.column_stack([*additive, *pairs]), (len(additive), len(additive) + len(pairs)))


def drawn_shares(counts: Floats, models: Interactions) -> Floats:
    """Return the estimated shares of each row of a table, from the counts of all rows.

    A row with n plays, c of them in a state, is estimated by (c + M g) / (n + M): g is what a least-squares fit of a
    model to all rows says, M how much that counts. The plain estimate (c + 1/2) / (n + m/2), with m states, is one more
    candidate. Estimates are averaged, each weighted by the likelihood of every play under the estimate from all others.
    With many plays a row the counts alone decide.

    Leaving a play out of a least-squares fit takes no second fit: with h the leverage of a play in its row, the share
    of its own state becomes (g - h) / (1 - h), those of the others g / (1 - h). A reward that is measured counts in
    parts for both ends of its range; where an end has less than a play all of that is left out.

    Parameters
    ----------
    counts
        Array (rows, states).
    models
        `Interactions` of the parents.

    Returns
    -------
    numpy.ndarray
        The shares, rows that sum to 1.
    """
    return np.asarray(_averaged(counts, *_fits(counts, models)))


def _fits(counts: Floats, models: Interactions) -> tuple[Floats, Floats]:
    """Return the shares by each model, not cut off, and the leverage of one play in each row."""
    rows, states = counts.shape
    design = models.design
    seen = (design * counts.sum(axis=1).reshape(-1, 1)).T @ design + RIDGE * np.eye(design.shape[1])
    seen[0, 0] += 0.5 * states - RIDGE
    toward = design.T @ counts
    toward[0] += 0.5
    fitted, leverage = np.empty((len(models.widths), rows, states)), np.empty((len(models.widths), rows))
    for order, d in enumerate(models.widths):
        moved = design[:, :d] @ np.linalg.inv(seen[:d, :d])
        fitted[order] = moved @ toward[:d]
        leverage[order] = (moved * design[:, :d]).sum(axis=1)
    return fitted, leverage


@njit(cache=True)
def _averaged(counts, fitted, leverage):  # type: ignore[no-untyped-def]
    """Return the candidates' shares, each weighted by the likelihood of every play under the estimate from all others.

    Linear algebra is left to numpy, and sums are loops: to compile what numba has for them would take a fifth of the
    time of the first use.
    """
    rows, states = counts.shape
    orders = len(fitted)
    n, fit, plain = np.zeros(rows), np.zeros((orders, len(STRENGTHS))), 0.0
    for r in range(rows):
        for k in range(states):
            n[r] += counts[r, k]
        for k in range(states):
            c = counts[r, k]
            if c > 0:
                out = min(c, 1.0)
                for order in range(orders):
                    share = _cut(fitted[order, r], k, out * leverage[order, r])
                    for j, strength in enumerate(STRENGTHS):
                        fit[order, j] += c * math.log((c - out + strength * share) / (n[r] - out + strength))
                plain += c * math.log((c - out + 0.5) / (n[r] - out + 0.5 * states))
    greatest = max(plain, fit.max())
    weight, of_plain = np.empty_like(fit), math.exp(plain - greatest)
    total = of_plain
    for order in range(orders):
        for j in range(len(STRENGTHS)):
            weight[order, j] = math.exp(fit[order, j] - greatest)
            total += weight[order, j]

    shares = np.empty((rows, states))
    for r in range(rows):
        for k in range(states):
            share = of_plain * (counts[r, k] + 0.5) / (n[r] + 0.5 * states)
            for order in range(orders):
                model = _cut(fitted[order, r], k, 0.0)
                for j, strength in enumerate(STRENGTHS):
                    share += weight[order, j] * (counts[r, k] + strength * model) / (n[r] + strength)
            shares[r, k] = share / total
    return shares


@njit(cache=True)
def _cut(fitted, k, leverage):  # type: ignore[no-untyped-def]
    """Return the share of state k in a row, by a fit without a play in that state, none below `LEAST`.

    With a leverage of 0 no play is left out.
    """
    total = own = 0.0
    for state in range(len(fitted)):
        share = max((fitted[state] - (leverage if state == k else 0.0)) / (1.0 - leverage), LEAST)
        total += share
        if state == k:
            own = share
    return own / total
