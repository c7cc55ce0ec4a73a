"""Partially pooled rows of a table, beside their definition and beside plain rows."""

import math

import numpy as np
import pytest

from pgcpe.estimators.shrinkage import CHARGE, LEAST, RIDGE, STRENGTHS, additive_design, drawn_shares


def by_definition(counts, design):
    """The same in words of arrays: every play predicted from all others, by each candidate."""
    rows, m = counts.shape
    penalty = np.diag([0.5 * m, *[RIDGE] * (design.shape[1] - 1)])
    seen = design.T @ np.diag(counts.sum(axis=1)) @ design
    toward = design.T @ counts
    toward[0] += 0.5
    model = np.clip(design @ np.linalg.inv(seen + penalty) @ toward, LEAST, None)
    model = model / model.sum(axis=1, keepdims=True)
    spent = CHARGE * (m - 1) * np.trace(np.linalg.inv(seen + penalty) @ seen)
    candidates = [(strength * model, spent) for strength in STRENGTHS] + [(np.full((rows, m), 0.5), 0.0)]
    fits, shares = [], []
    for prior, charge in candidates:
        shares.append((counts + prior) / (counts + prior).sum(axis=1, keepdims=True))
        fit = -charge
        for r, k in np.argwhere(counts > 0):
            others = counts[r] + prior[r]
            others[k] -= 1
            fit += counts[r, k] * math.log(others[k] / others.sum())
        fits.append(fit)
    weights = np.exp(np.array(fits) - max(fits))
    return np.tensordot(weights / weights.sum(), np.array(shares), axes=1)


@pytest.mark.parametrize(("cards", "states"), [((2, 2, 2), 2), ((2, 3, 2), 2), ((2, 2, 2, 2), 3)])
@pytest.mark.parametrize("plays", [0, 1, 30, 3_000])
def test_shares_are_those_of_the_definition(cards, states, plays):
    design, rng = additive_design(cards), np.random.default_rng(plays)
    counts = rng.multinomial(plays, rng.dirichlet(np.ones(len(design) * states))).reshape(len(design), states)
    shares = drawn_shares(counts.astype(np.float64), design)
    np.testing.assert_allclose(shares, by_definition(counts.astype(np.float64), design), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)


def test_without_plays_all_shares_are_equal():
    assert drawn_shares(np.zeros((8, 2)), additive_design((2, 2, 2))) == pytest.approx(np.full((8, 2), 0.5))


def error(p, plays, seed):
    """Mean squared error of the drawn and of the plain shares of 1, all rows equally likely."""
    rng = np.random.default_rng(seed)
    n = rng.multinomial(plays, np.full(len(p), 1 / len(p)))
    ones = rng.binomial(n, p)
    counts = np.stack([n - ones, ones], axis=1).astype(np.float64)
    drawn = drawn_shares(counts, additive_design((2,) * round(math.log2(len(p)))))[:, 1]
    plain = (ones + 0.5) / (n + 1)
    return np.mean((drawn - p) ** 2), np.mean((plain - p) ** 2)


def test_rows_that_add_up_are_known_from_few_plays():
    """32 rows from 100 plays: a row alone has about three, the additive model's six coefficients share them all.

    Over these 100 tables the mean errors are .0162 and .0411, with standard errors .0013 and .0010: half of the second
    is three standard errors of the difference above the first. The seeds are fixed.
    """
    p = 0.15 + additive_design((2,) * 5)[:, 1:] @ [0.3, 0.1, 0.2, 0.05, 0.1] + 0.375
    drawn, plain = np.mean([error(p, 100, seed) for seed in range(100)], axis=0)
    assert drawn < plain / 2


def test_rows_that_do_not_add_up_are_left_to_their_own_plays():
    """Of parity an additive model says nothing: the ratio of the errors is 1.000 at 200 plays a row, 1.008 at three."""
    p = np.array([0.2 if sum(map(int, f"{r:05b}")) % 2 else 0.8 for r in range(32)])
    drawn, plain = np.mean([error(p, 6_400, seed) for seed in range(30)], axis=0)
    assert drawn < 1.1 * plain
    few, plain_few = np.mean([error(p, 100, seed) for seed in range(30)], axis=0)
    assert few < 1.5 * plain_few
