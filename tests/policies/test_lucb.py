"""The published baselines on direct plays, against runs by hand and their definitions."""

import math

import numpy as np
import pytest
from pgmpy.base import DAG

from pgcpe import KLLUCB, LUCB, CausalBandit, LilUCB, do
from pgcpe.confidence.sequences import kl_intervals, lil_radius, lucb1_radius

GRAPH = DAG([("X", "Y")])
K = 4
REWARDS = {0: [0, 0, 1], 1: [1, 0, 1, 0], 2: [1, 1, 1, 0, 1], 3: [0, 1]}


def question():
    return CausalBandit(GRAPH, reward="Y", arms=[do(X=x) for x in range(K)], states={"X": list(range(K))})


def mean_and_plays(history):
    plays = np.array([sum(x == arm for x, _ in history) for arm in range(K)], dtype=float)
    rewards = np.array([sum(y for x, y in history if x == arm) for arm in range(K)], dtype=float)
    return rewards / np.maximum(plays, 1), plays


def perform(policy, iterations):
    """Play so many iterations; return the arms asked for in each, and what was known before it."""
    history, asked = [], []
    for _ in range(iterations):
        actions = policy.ask()
        asked.append(([a["X"] for a in actions], list(history)))
        for action in actions:
            x = action["X"]
            y = REWARDS[x][sum(arm == x for arm, _ in history) % len(REWARDS[x])]
            policy.tell(action, {"X": x, "Y": y})
            history.append((x, y))
    return asked


def highest(values, barred=()):
    """The arms of the highest value, to within rounding."""
    values = np.array([-np.inf if i in barred else v for i, v in enumerate(values)])
    return set(np.flatnonzero(values > values.max() - 1e-12))


def test_lucb1_twenty_iterations():
    policy = LUCB(question(), radius="lucb1", epsilon=0, delta=0.1)
    asked = perform(policy, 20)
    assert sorted(asked[0][0]) == [0, 1, 2, 3]
    for (challenger, leader), history in asked[1:]:
        mean, plays = mean_and_plays(history)
        t = K + (len(history) - K) // 2
        assert leader in highest(mean)
        assert challenger in highest(mean + np.sqrt(np.log(1.25 * K * t**4 / 0.1) / (2 * plays)), {leader})
    assert policy.recommendation == do(X=2)


def test_kl_lucb_twenty_iterations():
    policy = KLLUCB(question(), epsilon=0, delta=0.1)
    asked = perform(policy, 20)
    assert sorted(asked[0][0]) == [0, 1, 2, 3]
    grid = np.linspace(0.0005, 0.9995, 2_000)
    for (challenger, leader), history in asked[1:]:
        mean, plays = mean_and_plays(history)
        t = np.maximum(plays, K + (len(history) - K) // 2)
        upper = []
        for p, n, level in zip(np.clip(mean, 1e-12, 1 - 1e-12), plays, np.log(11 * K * t**1.1 / 0.1), strict=True):
            kl = p * np.log(p / grid) + (1 - p) * np.log((1 - p) / (1 - grid))
            upper.append(grid[(n * kl <= level) & (grid >= p - 0.0005)].max(initial=p))
        assert leader in highest(mean)
        assert upper[challenger] >= max(u for i, u in enumerate(upper) if i != leader) - 0.001
    assert policy.recommendation == do(X=2)


def test_lil_ucb_plays_the_highest_index_and_stops_when_one_arm_outweighs_the_others():
    policy = LilUCB(question(), alpha=0.3, delta=0.1)
    asked = perform(policy, 12)
    assert sorted(asked[0][0]) == [0, 1, 2, 3]
    for (arm,), history in asked[1:]:
        mean, plays = mean_and_plays(history)
        level = np.log(5 * np.maximum(np.log(plays), 1) / 0.1)
        assert arm in highest(mean + 0.3 * 1.5 * np.sqrt(0.5 * level / plays))
    assert not policy.stopped
    others = policy.n_plays - policy.plays_by_action[do(X=2)]
    needed = math.ceil(1 + (1 + 10 / K) * others) - policy.plays_by_action[do(X=2)]
    policy.tell(do(X=2), [{"X": 2, "Y": 1}] * (needed - 1))
    assert not policy.stopped
    policy.tell(do(X=2), {"X": 2, "Y": 1})
    assert policy.stopped
    assert (policy.certificate, policy.recommendation) == ("heuristic", do(X=2))


def test_radii_by_hand():
    assert lucb1_radius([400], 10, 20, 0.1)[0] == pytest.approx(math.sqrt(math.log(12.5 * 400**4 / 0.1) / 800))
    assert lucb1_radius([4], 10, 20, 0.1)[0] == pytest.approx(math.sqrt(math.log(1.25 * 10 * 20**4 / 0.1) / 8))
    assert lil_radius([1, 100], 0.1).tolist() == pytest.approx(
        [1.5 * math.sqrt(0.5 * math.log(50)), 1.5 * math.sqrt(0.5 * math.log(50 * math.log(100)) / 100)]
    )
    assert lil_radius([0], 0.1)[0] > 1e100
    intervals = kl_intervals([0, 10, 10], [0, 10, 0], 10, 0.1)
    gain = math.log(11 * 3 / 0.1 * 10**1.1) / 10
    assert intervals.lower.tolist() == pytest.approx([0, math.exp(-gain), 0])  # kl(1, q) = -log q
    assert intervals.upper.tolist() == pytest.approx([1, 1, 1 - math.exp(-gain)])


def test_kl_intervals_fail_no_more_often_than_they_may():
    """One event an arm, watched on 600 paths at nominal .2: the share is at most .2 + 3.1 sqrt(.2 * .8 / 600) = .25."""
    rng = np.random.default_rng(0)
    failed = 0
    for _ in range(600):
        rewards = np.cumsum(rng.random((2_000, 2)) < [0.5, 0.9], axis=0)
        for n in (1, 2, 3, 5, 8, 12, 20, 35, 60, 100, 200, 400, 800, 1_400, 2_000):
            intervals = kl_intervals([n, n], rewards[n - 1], n, 0.2)
            if intervals.upper[1] < 0.9 or intervals.lower[0] > 0.5:
                failed += 1
                break
    assert failed / 600 <= 0.25
