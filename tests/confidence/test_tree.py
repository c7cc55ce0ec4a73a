"""Trees at plain frequencies: values, variances and bias bounds by hand, and what a step along the influence does."""

import numpy as np
import pytest

from pgcpe.confidence.tree import Tree, frequencies, moved, plug_in_value, shrunk, variance_of, walk


def tree(arity, levels, n, x):
    into = np.concatenate([[float(np.sum(levels[0])) if levels else n[0]], *(np.asarray(level) for level in levels)])
    return Tree(np.array(arity, dtype=np.int64), into.astype(float), np.array(n, float), np.array(x, float))


def by_hand(s, n, pooled, plays, states):
    """Four plays more for the row at the mean of all rows, and four for all rows together, equally of all states."""
    mean = (pooled + 1 / states) / (plays + 1)
    return (plays * (s + 4 * mean) / (n + 4) + 4 / states) / (plays + 4)


def test_a_tree_whose_cells_were_all_seen():
    """No bias: the product of frequencies; of the variance each node's share by the delta method."""
    counts, n, x = np.array([10.0, 5.0, 15.0]), np.array([4.0, 5.0, 6.0]), np.array([0.0, 4.0, 3.0])
    value, variance, off = plug_in_value(tree([3], [counts], n, x), 0.0, 1.0)
    p, q = counts / 30, x / n
    assert value == pytest.approx(p @ q, abs=1e-15)
    assert off == pytest.approx(0.0, abs=1e-15)
    shares = by_hand(counts, 30, counts, 30, 3)
    means = by_hand(x, n, 7, 15, 2)
    by_level = (shares @ q**2 - (shares @ q) ** 2) / 30, (p**2 * means * (1 - means) / n).sum()
    assert variance == pytest.approx(sum(by_level), rel=1e-12)
    assert variance > by_level[1] - 1e-15 > 0


def test_cells_never_seen_widen_the_bound_and_do_not_move_the_value():
    """A third of the weight in a leaf without plays, and a third below a node that nothing left."""
    levels = [[10, 10, 10], [4, 6, 0, 0, 5, 5]]
    n, x = [4, 6, 0, 0, 0, 5], [2, 3, 0, 0, 0, 2]
    value, variance, off = plug_in_value(tree([3, 2], levels, n, x), 0.2, 0.8)
    known = 1 / 3 + 1 / 6
    assert off == pytest.approx((1 - known) * 0.6, rel=1e-12)
    assert value == pytest.approx((1 / 3 * 0.5 + 1 / 6 * 0.4) / known, rel=1e-12)
    # the weights of the cells seen are those in the value
    q = by_hand(np.array([2, 3, 2.0]), np.array([4, 6, 5.0]), 7, 15, 2)
    weight = np.array([1 / 3 * 0.4, 1 / 3 * 0.6, 1 / 6]) / known
    leaves = (weight**2 * q * (1 - q) / np.array([4, 6, 5])).sum()
    assert leaves < variance < 1.2 * leaves  # what the splits add: their values differ by a tenth or less


def test_nothing_seen():
    assert plug_in_value(tree([2], [[0, 0]], [0, 0], [0, 0]), 0.2, 0.8) == pytest.approx((0.5, 0.0, 0.6))


def test_the_estimate_is_unbiased_and_the_variance_that_of_repeated_draws():
    """8 strata with rare rewards, 400 observations, 2,000 data sets: the mean of the values is within 4 standard errors
    of the truth, which half a count a cell would miss by 12; an empirical variance has a relative standard error of
    sqrt(2 / 2000) = .032, and four of them, with the .03 that four plays more in 200 rows add, are .16."""
    rng, q = np.random.default_rng(0), np.linspace(0.02, 0.08, 8)
    values, claimed = [], []
    for _ in range(2_000):
        into = rng.multinomial(400, np.full(8, 1 / 8))
        n = rng.binomial(into, 0.5)
        value, variance, _ = plug_in_value(tree([8], [into], n, rng.binomial(n, q)), 0.0, 1.0)
        values.append(value)
        claimed.append(variance)
    assert np.mean(values) == pytest.approx(q.mean(), abs=4 * np.std(values) / np.sqrt(2_000))
    assert np.mean(claimed) / np.var(values) == pytest.approx(1.1, abs=0.16)


def test_a_step_along_the_influence_changes_the_value_by_as_much():
    """To first order; and of all changes of the frequencies with that effect it is the nearest: proportional to
    variance times slope over plays."""
    counts, n, x = np.array([40.0, 30.0, 30.0]), np.array([20.0, 15.0, 10.0]), np.array([4.0, 6.0, 7.0])
    made = tree([3], [counts], n, x)
    theta, shares = frequencies(made), shrunk(made)
    found, _ = walk(made, theta, shares, 0.5)
    variance = variance_of(found)
    for change in (0.01, -0.02):
        there, _ = walk(made, moved(made, theta, shares, found, change / variance), shares, 0.5)
        assert there.below[0] - found.below[0] == pytest.approx(change, rel=0.05)


def test_after_zeros_the_variance_is_that_of_where_it_matters():
    """No reward in 50 plays: the variance at .1 away is about .1 .9 / 50, and a step cannot leave [0, 1]."""
    made = tree([], [], [50], [0])
    theta, shares = frequencies(made), shrunk(made)
    found, _ = walk(made, theta, shares, 0.5)
    at = moved(made, theta, shares, found, 0.1 / variance_of(found))
    there, _ = walk(made, at, at, 0.5)
    assert there.below[0] == pytest.approx(0.1, rel=1e-12)
    assert variance_of(there) == pytest.approx(0.1 * 0.9 / 50, rel=1e-12)
    assert moved(made, theta, shares, found, -1.0).q.tolist() == [0.0]
    assert moved(made, theta, shares, found, 1e9).q.tolist() == [1.0]
