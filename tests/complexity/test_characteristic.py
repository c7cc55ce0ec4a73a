"""Characteristic times, with and without side information."""

import math

import numpy as np
import pytest
from complexity.questions import parallel

from pgcpe import CausalBandit, do, expected_rewards, load_network
from pgcpe.complexity import (
    characteristic_time,
    informed_characteristic_time,
    least_delta,
    least_plays,
    quadratic_characteristic_time,
)
from pgcpe.complexity.characteristic import _informations, _parents_of_reward
from pgcpe.paper import experiment_2
from pgcpe.paper import parallel as parallel_graph


@pytest.mark.parametrize(
    ("q", "time"),
    [
        ([0.5] * 6, 890),
        ([0.5, 0.5, 0.5, 0.05, 0.05, 0.05], 1_390),
        ([0.05, 0.5, 0.5, 0.5, 0.5, 0.5], 181),
        ([0.05] * 6, 268),
    ],
)
def test_characteristic_times_computed_independently(q, time):
    assert characteristic_time(parallel(q)[1]) == pytest.approx(time, abs=1)


def test_the_characteristic_time_is_the_maximum_over_allocations():
    """No random allocation does better, and the value is reached: by mirror ascent, written here."""
    rng = np.random.default_rng(2)

    def information(mu, w):
        kl = lambda p, q: p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))  # noqa: E731
        h = mu.argmax()
        others = np.arange(len(mu)) != h
        m = (w[h] * mu[h] + w[others] * mu[others]) / (w[h] + w[others])
        return w[h] * kl(mu[h], m) + w[others] * kl(mu[others], m)

    for _ in range(20):
        mu = rng.uniform(0.05, 0.95, int(rng.integers(2, 8)))
        best = 1 / characteristic_time(mu)
        for w in rng.dirichlet(np.ones(len(mu)), 200):
            assert information(mu, w).min() <= best * (1 + 1e-9)
        found = 0.0
        w = np.full(len(mu), 1 / len(mu))
        for step in range(4_000):
            values = information(mu, w)
            found = max(found, values.min())
            h, worst = mu.argmax(), np.flatnonzero(np.arange(len(mu)) != mu.argmax())[values.argmin()]
            m = (w[h] * mu[h] + w[worst] * mu[worst]) / (w[h] + w[worst])
            for arm in (h, worst):
                gain = mu[arm] * np.log(mu[arm] / m) + (1 - mu[arm]) * np.log((1 - mu[arm]) / (1 - m))
                w[arm] *= np.exp(gain / best * 0.5 / np.sqrt(step + 1) / len(mu))
            w /= w.sum()
        assert found > 0.9 * best


NUMERICS = [
    ([0.5] * 6, 231.3),
    ([0.5] * 3 + [0.05] * 3, 820.1),
    ([0.05] + [0.5] * 5, 68.7),
    ([0.05] * 6, 193.8),
]
"""Certified lower bounds on T*, worked out elsewhere by 250 cutting planes."""


@pytest.mark.parametrize(("q", "time"), NUMERICS)
def test_the_informed_characteristic_time(q, time):
    instance = parallel_graph(q, (0.25, 0.12, 0.1, 0.08, 0.05, 0.02), 0.2)
    assert informed_characteristic_time(instance.network, instance.bandit) == pytest.approx(time, rel=0.005)
    without = characteristic_time(expected_rewards(instance.network, instance.bandit, progress=False))
    assert informed_characteristic_time(instance.network, instance.bandit) < without


def test_the_quadratic_characteristic_time_of_two_arms():
    """Of one cause set in two ways the best shares are as the standard deviations: T = 2 (s_0 + s_1)^2 / gap^2."""
    instance = parallel_graph([0.5], [0.2], 0.4)
    bandit = CausalBandit(instance.network, reward="Y", arms=[do(X1=0), do(X1=1)], playable=[do(X1=0), do(X1=1)])
    deviations = math.sqrt(0.4 * 0.6) + math.sqrt(0.6 * 0.4)
    time = quadratic_characteristic_time(instance.network, bandit)
    assert time == pytest.approx(2.0 * deviations**2 / 0.2**2, rel=1e-6)


def test_no_allocation_beats_the_informed_characteristic_time():
    """V(w) at random allocations is never above 1/T*; each V_l is at most the information of any feasible r'."""
    instance = experiment_2(1)
    likely, of_arms, r = _parents_of_reward(instance.network, instance.bandit)
    best = int((of_arms @ r).argmax())
    contrast = np.delete(of_arms, best, axis=0) - of_arms[best]
    largest = 1 / informed_characteristic_time(instance.network, instance.bandit)
    rng = np.random.default_rng(0)
    for w in rng.dirichlet(np.full(len(likely), 0.2), size=30):
        w = 0.99 * w + 0.01 / len(w)
        information, gradients = _informations(w, likely, r, contrast)
        assert information.min() <= largest * (1 + 1e-9)
        assert gradients @ w == pytest.approx(information)


def test_side_information_errors():
    network = load_network("asia")
    bandit = CausalBandit(
        network, reward="dysp", reward_values={"yes": 0.5, "no": 1}, arms=[do(bronc="yes"), do(bronc="no")]
    )
    with pytest.raises(ValueError, match="worth 0 or 1"):
        informed_characteristic_time(network, bandit)
    tie = parallel_graph([0.5, 0.5], [0.2, 0.2], 0.1)
    with pytest.raises(ValueError, match="best arm must be unique"):
        informed_characteristic_time(tie.network, tie.bandit)


def test_least_plays_and_least_delta_undo_each_other():
    for delta in (0.001, 0.05, 0.3):
        assert least_delta(50.0, least_plays(50.0, delta)) == pytest.approx(delta)
    assert least_delta(50.0, 0.0) == pytest.approx(0.5)
    with pytest.raises(ValueError, match="must be positive"):
        least_delta(0.0, 5)
