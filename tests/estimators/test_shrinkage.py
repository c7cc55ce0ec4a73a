"""Partially pooled rows of a table, beside their definition and beside plain rows."""

import math

import numpy as np
import pytest

from pgcpe.estimators.shrinkage import LEAST, RIDGE, STRENGTHS, Interactions, drawn_shares


def fitted(counts, design):
    """The least-squares fit of a linear model to all rows, its coefficients but the mean held near 0."""
    m = counts.shape[1]
    penalty = np.diag([0.5 * m, *[RIDGE] * (design.shape[1] - 1)])
    toward = design.T @ counts
    toward[0] += 0.5
    return design @ np.linalg.inv(design.T @ np.diag(counts.sum(axis=1)) @ design + penalty) @ toward


def cut(shares):
    return np.maximum(shares, LEAST) / np.maximum(shares, LEAST).sum(axis=-1, keepdims=True)


def by_definition(counts, models):
    """The same with every play predicted by fits that are made anew without it."""
    rows, m = counts.shape
    candidates = [(d, strength) for d in models.widths for strength in STRENGTHS]
    shares = [np.full((rows, m), 0.5)] + [M * cut(fitted(counts, models.design[:, :d])) for d, M in candidates]
    fits = np.zeros(len(shares))
    for r, k in np.argwhere(counts > 0):
        others = counts.copy()
        others[r, k] -= min(1.0, counts[r, k])
        without = {d: cut(fitted(others, models.design[:, :d])[r]) for d in models.widths}
        for j, prior in enumerate([np.full(m, 0.5), *(M * without[d] for d, M in candidates)]):
            fits[j] += counts[r, k] * math.log((others[r] + prior)[k] / (others[r] + prior).sum())
    weights = np.exp(fits - fits.max())
    estimates = [(counts + prior) / (counts + prior).sum(axis=1, keepdims=True) for prior in shares]
    return np.tensordot(weights / weights.sum(), np.array(estimates), axes=1)


@pytest.mark.parametrize(("cards", "states"), [((2, 2, 2), 2), ((2, 3, 2), 2), ((2, 2, 2, 2), 3)])
@pytest.mark.parametrize("plays", [0, 1, 30, 3_000])
def test_shares_are_those_of_the_definition(cards, states, plays):
    models, rng = Interactions.of(cards), np.random.default_rng(plays)
    rows = math.prod(cards)
    counts = rng.multinomial(plays, rng.dirichlet(np.ones(rows * states))).reshape(rows, states).astype(np.float64)
    shares = drawn_shares(counts, models)
    np.testing.assert_allclose(shares, by_definition(counts, models), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("plays", [3, 12, 300])
def test_a_measured_reward_counts_in_parts(plays):
    models, rng = Interactions.of((2, 2, 3)), np.random.default_rng(plays)
    row, y = rng.integers(0, 12, plays), rng.beta(0.5, 1.0, plays)
    counts = np.stack([np.bincount(row, part, 12) for part in (1.0 - y, y)], axis=1)
    assert ((counts > 0) & (counts < 1)).any() == (plays < 300)
    np.testing.assert_allclose(drawn_shares(counts, models), by_definition(counts, models), rtol=1e-9, atol=1e-12)


def test_without_plays_all_shares_are_equal():
    assert drawn_shares(np.zeros((8, 2)), Interactions.of((2, 2, 2))) == pytest.approx(np.full((8, 2), 0.5))


def error(p, plays, seed):
    """Mean squared error of the drawn and of the plain shares of 1, all rows equally likely."""
    rng = np.random.default_rng(seed)
    n = rng.multinomial(plays, np.full(len(p), 1 / len(p)))
    ones = rng.binomial(n, p)
    counts = np.stack([n - ones, ones], axis=1).astype(np.float64)
    drawn = drawn_shares(counts, Interactions.of((2,) * round(math.log2(len(p)))))[:, 1]
    plain = (ones + 0.5) / (n + 1)
    return np.mean((drawn - p) ** 2), np.mean((plain - p) ** 2)


def test_rows_that_add_up_are_known_from_few_plays():
    """32 rows from 100 plays: a row alone has about three, the additive model's six coefficients share them all.

    Over these 100 tables the mean errors are .0114 and .0411, with standard errors .0007 and .0010: half of the second
    is ten standard errors of the difference above the first. The seeds are fixed.
    """
    p = 0.15 + Interactions.of((2,) * 5).design[:, 1:6] @ [0.3, 0.1, 0.2, 0.05, 0.1] + 0.375
    drawn, plain = np.mean([error(p, 100, seed) for seed in range(100)], axis=0)
    assert drawn < plain / 2


def test_rows_that_do_not_add_up_are_left_to_their_own_plays():
    """Of parity no model says anything: the ratio of the errors is 1.018 at 200 plays a row, 1.113 at three."""
    p = np.array([0.2 if sum(map(int, f"{r:05b}")) % 2 else 0.8 for r in range(32)])
    drawn, plain = np.mean([error(p, 6_400, seed) for seed in range(30)], axis=0)
    assert drawn < 1.1 * plain
    few, plain_few = np.mean([error(p, 100, seed) for seed in range(30)], axis=0)
    assert few < 1.5 * plain_few
