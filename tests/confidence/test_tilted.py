"""The parts of the bets; that all together are a supermartingale is enumerated in `test_tilted_tables`."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import beta

from pgcpe.confidence import tilted
from pgcpe.confidence.tilted import epoch_share, log_predictive, stakes


def test_shares_of_the_epochs_sum_to_a_tenth():
    shares = [epoch_share(j) for j in range(100_000)]
    assert min(shares) > 0
    assert sum(shares) == pytest.approx(0.1, abs=1e-5)


def test_predictions_are_those_of_a_mixture():
    """Of a row of two states the mixture over Beta(1/2, 1/2); of all sequences of a row of three they sum to 1."""
    x = np.linspace(0.0, 1.0, 20_001)[1:-1]
    mixture = np.trapezoid(x**3 * (1 - x) ** 4 * beta.pdf(x, 0.5, 0.5), x)
    assert math.exp(log_predictive(np.array([3.0, 4.0]), np.array([0, 2]))[0]) == pytest.approx(mixture, rel=1e-3)
    counts = [[states.count(s) for s in range(3)] for states in itertools.product(range(3), repeat=4)]
    assert np.exp(log_predictive(np.array(counts, dtype=float), np.array([0, 3]))).sum() == pytest.approx(1.0)


def test_predictions_after_some_plays_sum_to_one():
    before = np.array([2.0, 0.0, 1.0])
    after = before + np.eye(3)
    start = np.array([0, 3])
    assert np.exp(log_predictive(after, start) - log_predictive(before, start)).sum() == pytest.approx(1.0)


def test_stakes():
    """The gap over the variance, at least a standard error of the gap; nothing where the variance is 0."""
    found = stakes(np.array([0.5, -0.3, 0.2, 0.0]), np.array([2.0, 4.0, 0.0, 1.0]), 100, 0.1)
    assert found == pytest.approx([0.6 / 2.0, 0.2 / 4.0, 0.0, 0.1])


def test_exponents_are_bounded_smoothly():
    x = np.linspace(-6.0, 6.0, 2_401)
    value, slope = np.array([tilted._bounded(v) for v in x]).T
    assert np.abs(value).max() == pytest.approx(tilted.MOST)
    assert value[np.abs(x) <= 2.0] == pytest.approx(x[np.abs(x) <= 2.0])
    assert np.gradient(value, x)[1:-1] == pytest.approx(slope[1:-1], abs=2e-3)
