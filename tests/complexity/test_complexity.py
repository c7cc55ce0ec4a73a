"""Measures of hardness: the paper's facts, brute force, and figures computed independently."""

import math

import numpy as np
import pytest

from pgcpe import CausalBandit, SimulatedEnvironment, do, expected_rewards, interventions, load_network
from pgcpe.complexity import (
    bglm_plays,
    causal_rejects_error,
    characteristic_time,
    estimated_observation_probabilities,
    fixed_budget_hardness,
    fixed_budget_weights,
    gap_dependent_threshold,
    gaps,
    general_plays,
    hard_arms,
    hardness,
    informed_characteristic_time,
    least_delta,
    least_plays,
    observation_probabilities,
    observation_threshold,
    parallel_lower_bound,
    quadratic_characteristic_time,
)
from pgcpe.complexity.characteristic import _informations, _parents_of_reward
from pgcpe.complexity.hardness import log_bar
from pgcpe.paper import experiment_2
from pgcpe.paper import parallel as parallel_graph


def random_question(rng):
    k = int(rng.integers(2, 25))
    q = rng.choice([0.0, 1.0, *rng.random(6) ** 2], k)
    return np.append(q, 1.0), rng.choice([*rng.random(8), 0.5], k + 1), float(rng.choice([0.0, 0.1, 0.4]))


def test_gaps():
    assert gaps([0.2, 0.9, 0.5]).round(12).tolist() == [0.7, 0.4, 0.4]
    assert gaps([0.5, 0.5]).tolist() == [0, 0]


def test_the_threshold_of_the_balanced_parallel_graph():
    for n in (2, 5, 50):
        assert observation_threshold([1.0] + [0.5] * (2 * n)) == 2


def test_the_example_of_section_3():
    for n in (5, 8, 30):
        q = [1.0] + [1 / n] * (2 * n)
        rewards = [0.4, 0.9, 0.9 - 1 / n] + [0.4] * (2 * n - 2)
        assert observation_threshold(q) == n
        assert gap_dependent_threshold(q, rewards) == 2


def test_thresholds_are_their_definitions_and_lemma_2_holds():
    rng = np.random.default_rng(0)
    closest = 0.0
    for _ in range(2_000):
        q, rewards, epsilon = random_question(rng)
        n = len(q)
        m = min(t for t in range(1, n + 1) if sum(q < 1 / t) <= t)
        assert observation_threshold(q) == m
        delta = np.maximum(gaps(rewards), epsilon / 2)
        if delta.min() == 0:
            continue
        order = sorted(range(n), key=lambda a: q[a] * delta[a] ** 2)
        sums = [sum(1 / delta[a] ** 2 for a in order[:r]) for r in range(1, n + 1)]
        assert hardness(q, rewards, epsilon) == pytest.approx(sums)
        few = min(t for t in range(1, n + 1) if sum(q * delta**2 * sums[t - 1] < 1 - 1e-12) <= t)
        assert gap_dependent_threshold(q, rewards, epsilon) == few
        assert few <= 2 * m
        closest = max(closest, few / m)
    assert closest > 1.5  # the factor is needed


def test_fixed_budget_hardness_is_never_above_that_of_successive_rejects():
    rng = np.random.default_rng(1)
    gained = 0
    for _ in range(500):
        q, rewards, epsilon = random_question(rng)
        ordered = np.sort(np.maximum(gaps(rewards), epsilon))
        if ordered[0] == 0:
            assert fixed_budget_hardness(q, rewards, epsilon) == np.inf
            continue
        plain = (np.arange(1, len(q) + 1) / ordered**2).max()
        assert fixed_budget_hardness(q, rewards, epsilon) <= plain * (1 + 1e-12)
        gained += fixed_budget_hardness(q, rewards, epsilon) < 0.9 * plain
    assert gained > 50


def test_the_weights_of_theorem_5():
    """By hand for N = 4, m = 2."""
    assert fixed_budget_weights(4, 2).tolist() == pytest.approx(
        [1 + (1 / 3 + 1 / 4) / 2, 1 / 2 + (1 / 3 + 1 / 4) / 2, (1 + 1 / 4) / 2, 1 / 2]
    )
    assert fixed_budget_weights(3, 3).tolist() == pytest.approx([1, 1 / 2, 1 / 3])  # nothing is easy


WEIGHTS = np.array([0.25, 0.12, 0.1, 0.08, 0.05, 0.02])


def parallel(q):
    """q_a and expected rewards of do(X_i = x), i = 1..6, x = 0, 1, on a parallel graph with a linear reward."""
    values = np.repeat(np.array(q, dtype=float)[None], 12, axis=0)
    chances = []
    for arm in range(12):
        i, x = divmod(arm, 2)
        values[arm, i] = x
        chances.append(q[i] if x else 1 - q[i])
    return np.array(chances), 0.2 + values @ WEIGHTS


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


def test_the_lower_bound_of_theorem_3():
    q, rewards = parallel([0.5] * 6)
    assert parallel_lower_bound(np.append(q, 1.0), np.append(rewards, 0.51), 0.05, null=12) == 0  # vacuous at this size
    n = 40  # three close arms and many that are rarely seen: several hard arms
    q = np.array([1.0, *[1 / n] * n])
    rewards = np.array([0.5, 0.9, *[0.88] * 6, *[0.3] * (n - 7)])
    few = gap_dependent_threshold(q, rewards)
    assert few > 5
    by_hand = 0.09 / 32 * ((few - 1) / 0.02**2 - 1 / 0.02**2 - 1 / 0.4**2) * np.log(1 / 0.05)
    assert parallel_lower_bound(q, rewards, 0.05, null=0) == pytest.approx(by_hand)


def test_errors():
    with pytest.raises(ValueError, match="at least two arms"):
        gaps([0.5])
    with pytest.raises(ValueError, match="must be finite"):
        hardness([1, 1], [0.5, np.nan])
    with pytest.raises(ValueError, match="best arm must be unique"):
        characteristic_time([0.5, 0.5])
    with pytest.raises(ValueError, match="must lie inside"):
        characteristic_time([0.0, 0.5])


def test_the_threshold_counts_the_hard_arms():
    rng = np.random.default_rng(5)
    for _ in range(500):
        q, rewards, epsilon = random_question(rng)
        m = gap_dependent_threshold(q, rewards, epsilon)
        hard = hard_arms(q, rewards, epsilon)
        assert hard.sum() <= m
        total = hardness(q, rewards, epsilon)[m - 1]
        if m < len(q) and np.isfinite(total):
            worth = q * np.maximum(gaps(rewards), epsilon / 2) ** 2
            assert worth[hard].max(initial=0) < 1 / total
            assert worth[~hard].min(initial=np.inf) >= 1 / total * (1 - 1e-9)


def test_estimated_q_is_that_of_the_network_of_the_rows():
    """50,000 rows: each share is within .012, five standard errors of the largest."""
    network = load_network("asia")
    arms = interventions(network, reward="dysp", max_size=2)
    bandit = CausalBandit(network, reward="dysp", reward_values={"yes": 0, "no": 1}, arms=arms)
    data = SimulatedEnvironment(network, seed=0).sample(do(), 50_000)
    exact = observation_probabilities(network, bandit, progress=False)
    estimated = estimated_observation_probabilities(bandit, data.to_frame())
    assert np.abs(estimated - exact).max() < 0.012
    assert (estimated.index == exact.index).all()
    assert estimated[do()] == 1
    intervened = SimulatedEnvironment(network, seed=1).sample(do(smoke="yes"), 500).to_frame()
    with pytest.raises(ValueError, match="no passive observation"):
        estimated_observation_probabilities(bandit, intervened)


def test_q_is_nought_without_a_sequence():
    network = load_network("asia", latents=["smoke"])
    bandit = CausalBandit(
        network, reward="dysp", reward_values={"yes": 0, "no": 1}, arms=[do(lung="yes"), do(bronc="no")]
    )
    rows = SimulatedEnvironment(network, seed=0).sample(do(), 200).to_frame()
    assert [s is None for s in bandit.sequences] == [not q for q in estimated_observation_probabilities(bandit, rows)]


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


def test_the_bounds_of_the_theorems_solve_their_equations():
    q, rewards, k = [1.0, 0.3, 0.2, 0.1], [0.3, 0.7, 0.5, 0.4], 4
    h = hardness(q, rewards)[gap_dependent_threshold(q, rewards) - 1]
    t = general_plays(q, rewards, 0.05, n_treatments=2) / 3
    assert t == pytest.approx(2112 * h * math.log(20 * 2 * k * h * math.log(2 * t) / 0.01))
    t = bglm_plays(q, rewards, 0.06, n_nodes=9, slope_ratio=2.0, eta=0.5) / 3
    first = 1152 * 4 / 0.5 * h * math.log(27 * t**2 / 0.02)
    assert t == pytest.approx(first + 64 * h * math.log(k * math.log(2 * t) / 0.02))
    assert general_plays(q, rewards, 0.05, epsilon=0.4) < general_plays(q, rewards, 0.05)


def test_the_bound_on_causal_successive_rejects():
    q, rewards = [1.0, 0.5, 0.5, 0.5], [0.1, 0.9, 0.3, 0.2]
    exponent = (1e6 / 2 - 4) / (256 * log_bar(4) * fixed_budget_hardness(q, rewards))
    assert causal_rejects_error(q, rewards, 1_000_000) == pytest.approx(
        64 * math.exp(-exponent) + 24 * math.exp(-1e6 / 48), rel=1e-9
    )
    assert causal_rejects_error(q, rewards, 100) == 1.0
