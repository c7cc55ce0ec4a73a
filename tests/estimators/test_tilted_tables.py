"""The bets of every arm by exact enumeration, their gradients beside differences, and the search beside brute force."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from helpers import dag

from pgcpe import CausalBandit, TableModel, do
from pgcpe.estimators.tilted_bets import epoch_start
from pgcpe.estimators.tilted_tables import TiltedTables


@dataclass
class World:
    """A small question with its true tables; plays are counted one by one."""

    edges: list
    states: dict
    arms: list
    truth: dict  # of each node, a row for each of its parents' values
    values: dict
    epsilon: float = 0.0
    options: dict = field(default_factory=lambda: {"merge_equal": False})

    def __post_init__(self):
        graph = dag(self.edges, nodes=list(self.states))
        self.bandit = CausalBandit(
            graph, reward="Y", arms=self.arms, states=self.states, reward_values=self.values, **self.options
        )
        self.model = TableModel().start(self.bandit)
        self.tables = self.model._tables
        self.rewards = self.bandit.reward_array
        self.table_of = [np.atleast_2d(self.truth[v]) for v in self.tables.nodes]
        self.start = self.tables.layout.entry_start

    def bets(self):
        return TiltedTables(self.tables, self.rewards, len(self.bandit.arms), self.epsilon)

    @property
    def p(self):
        """The true tables with a reward of 0 and 1."""
        scaled = (self.rewards - self.rewards.min()) / np.ptp(self.rewards)
        rows = self.table_of[-1] @ scaled
        ends = np.stack([1.0 - rows, rows], axis=1)
        return np.concatenate([*(table.ravel() for table in self.table_of[:-1]), ends.ravel()])

    def outcomes(self, action):
        """All that a play of an arm, or of what may be played beside, brings: probability, entries counted, reward."""
        forced = self.tables.layout.forced[action]
        for states in itertools.product(*(range(card) for card in self.tables.cards)):
            probability, counted = 1.0, []
            for i, s in enumerate(states):
                if forced[i] >= 0:
                    probability *= s == forced[i]
                    continue
                row = 0
                for parent in self.tables.parents[i]:
                    row = row * self.tables.cards[parent] + states[parent]
                probability *= self.table_of[i][row, s]
                counted.append(self.start[i] + row * self.tables.cards[i] + s)
            if probability > 0.0:
                yield probability, counted, self.rewards[states[-1]]


def follow(world, bets, arm, epochs, choose, n, batch=1):
    """Return the mean of the evidence of an arm against the truth after n plays, and of whether it ever was above 1 / a
    for a of .5 and .2; at each play the mean of what comes is compared with what is. What is chosen knows the last
    reward, or that of the batch before."""
    truth, counts = world.p, world.tables.counts

    def evidence():
        return math.exp(bets.of(arm).log_evidence(truth)[0]) if bets.epochs else 1.0

    def after(plays, last, highest):
        begun = plays in epochs
        if begun:
            bets.begin(epochs[plays](last), max(plays, 1))
        now = evidence()
        highest = max(highest, now)
        if plays == n:
            found = np.array([now, highest >= 2.0, highest >= 5.0])
        else:
            found, expected = np.zeros(3), 0.0
            for probability, counted, reward in world.outcomes(choose(plays, last)):
                counts[counted] += 1
                expected += probability * evidence()
                found += probability * after(plays + 1, last if (plays + 1) % batch else reward, highest)
                counts[counted] -= 1
            assert expected <= now * (1.0 + 1e-12)
        if begun:
            bets.epochs.pop()
        return found

    return after(0, 0.0, 0.0)


CHAIN = {"X": [0.3, 0.7], "Y": [[0.8, 0.2], [0.4, 0.6]]}
THREE = {"X": [0.2, 0.5, 0.3], "Y": [[0.5, 0.2, 0.3], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4]]}
MIXED = {"X": [0.2, 0.5, 0.3], "Y": [[0.5, 0.5], [0.1, 0.9], [0.7, 0.3]]}
SURE = {"X": [0.0, 1.0], "Y": [[0.8, 0.2], [0.0, 1.0]]}
TIED = {"X": [0.3, 0.7], "Y": [[0.4, 0.6], [0.4, 0.6]]}
BINARY, TERNARY = {"X": (0, 1), "Y": (0, 1)}, {"X": (0, 1, 2), "Y": (0, 1, 2)}
ARMS, ZERO_ONE, HALVES = [do(), do(X=0), do(X=1)], {0: 0.0, 1: 1.0}, {0: 0.0, 1: 0.5, 2: 1.0}


def alternate(plays, last):
    """Play what depends on the last reward."""
    return 0 if last > 0.4 else 1 + plays % 2


@pytest.mark.parametrize(
    ("truth", "states", "values", "n"),
    [
        (CHAIN, BINARY, ZERO_ONE, 5),
        (TIED, BINARY, ZERO_ONE, 5),
        (CHAIN, BINARY, {0: 0.3, 1: 0.8}, 4),
        (MIXED, {"X": (0, 1, 2), "Y": (0, 1)}, ZERO_ONE, 4),
    ],
)
@pytest.mark.parametrize("arm", [0, 2])
def test_the_evidence_against_the_truth_has_mean_one(truth, states, values, n, arm):
    """Whatever chooses the plays; in three epochs with different leaders, the first of them the arm itself, the last
    chosen by what came, and with rows that matter from the second on."""
    world = World([("X", "Y")], states, ARMS, truth, values)
    epochs = {1: lambda last: arm, 2: lambda last: 1, n - 1: lambda last: 2 if last > 0.4 else 1}
    mean, half, fifth = follow(world, world.bets(), arm, epochs, alternate, n)
    assert mean == pytest.approx(1.0, abs=1e-9)
    assert half <= 0.5
    assert fifth <= 0.2


@pytest.mark.parametrize("arm", [0, 1])
def test_batches_merged_arms_and_arms_that_may_not_be_played(arm):
    """do(Z=0, X=1) is merged with do(X=1), which may not be played itself; plays are chosen two at a time, and an epoch
    begins between two of them."""
    options = {"playable": [do(), do(Z=1), do(X=0), do(X=1, Z=0)]}
    states = {"Z": (0, 1), **BINARY}
    truth = {"Z": [0.4, 0.6], "X": [[0.7, 0.3], [0.2, 0.8]], "Y": CHAIN["Y"]}
    edges = [("Z", "X"), ("X", "Y")]
    world = World(edges, states, [do(X=0), do(X=1), do(X=1, Z=0)], truth, ZERO_ONE, 0.0, options)
    assert world.bandit.arms == (do(X=0), do(X=1))
    played = world.tables.playable
    epochs = {1: lambda last: 1 - arm, 3: lambda last: int(last > 0.4)}
    mean, half, fifth = follow(
        world, world.bets(), arm, epochs, lambda n, last: played[(n + 2 * (last > 0.4)) % 4], 4, 2
    )
    assert mean == pytest.approx(1.0, abs=1e-9)
    assert half <= 0.5
    assert fifth <= 0.2


@pytest.mark.parametrize("arm", [0, 2])
def test_of_a_reward_of_many_values_the_mean_is_at_most_one(arm):
    """Predictions of a reward of .5 lose a little against its mean; bets do not."""
    world = World([("X", "Y")], TERNARY, ARMS, THREE, HALVES)
    mean, _, _ = follow(world, world.bets(), arm, {1: lambda last: arm, 2: lambda last: 1}, alternate, 3)
    assert 0.99 < mean < 1.0


def test_of_tables_with_zeros_the_mean_is_at_most_one():
    world = World([("X", "Y")], BINARY, ARMS, SURE, ZERO_ONE)
    mean, half, fifth = follow(world, world.bets(), 1, {1: lambda last: 0, 3: lambda last: 2}, alternate, 5)
    assert mean < 1.0
    assert half <= 0.5
    assert fifth <= 0.2


def test_it_does_bet():
    """Where the arm is far worse than a leader the evidence against its being better grows."""
    world = told(World([("X", "Y")], BINARY, ARMS, {"X": [0.3, 0.7], "Y": [[0.9, 0.1], [0.2, 0.8]]}, ZERO_ONE), 400)
    even = np.array([0.3, 0.7, 0.5, 0.5, 0.5, 0.5])
    assert world.bets_made.of(1).log_evidence(even)[0] > 20.0
    assert world.bets_made.of(1).log_evidence(world.p)[0] < 3.0


def told(world, n, seed=0, leader=2):
    """Let a world play all arms in turn."""
    rng, bets = np.random.default_rng(seed), world.bets()
    possible = [list(world.outcomes(arm)) for arm in range(len(world.bandit.arms))]
    for play in range(n):
        outcomes = possible[play % len(possible)]
        drawn = rng.choice(len(outcomes), p=[outcome[0] for outcome in outcomes])
        world.tables.counts[outcomes[drawn][1]] += 1
        if play + 1 == epoch_start(len(bets.epochs)):
            bets.begin(leader if len(bets.epochs) != 1 else 0, play + 1)
    world.bets_made = bets
    return world


@pytest.mark.parametrize(("truth", "states", "values"), [(CHAIN, BINARY, ZERO_ONE), (THREE, TERNARY, HALVES)])
def test_gradients(truth, states, values):
    world = told(World([("X", "Y")], states, ARMS, truth, values), 200)
    null = world.bets_made.null(2, 1)
    rng, step = np.random.default_rng(1), 1e-5
    size = len(null.point(world.p))
    for _ in range(5):
        point = null.point(world.p) + rng.normal(size=size)
        for function in (null.evidence, null.room):
            numeric = [
                (function(point + step * e)[0] - function(point - step * e)[0]) / (2 * step) for e in np.eye(size)
            ]
            assert function(point)[1] == pytest.approx(numeric, rel=1e-5, abs=1e-6)


def test_nothing_depends_on_the_leader_of_now_or_on_how_plays_were_told():
    one, other = (told(World([("X", "Y")], BINARY, ARMS, CHAIN, ZERO_ONE), 100) for _ in range(2))
    even = np.array([0.3, 0.7, 0.5, 0.5, 0.4, 0.6])
    before = [one.bets_made.of(arm).log_evidence(even)[0] for arm in range(3)]
    for arm in (0, 1):  # asking changes nothing
        other.bets_made.null(2, arm).least(3.0)
        other.bets_made.null(1 - arm, arm).least(3.0)
    assert [other.bets_made.of(arm).log_evidence(even)[0] for arm in range(3)] == before


@pytest.mark.parametrize("seed", range(6))
def test_the_search_finds_no_more_than_brute_force(seed):
    """Three rows, the grid of the last two refined about its least: the search is at most .01 nats above."""
    rng = np.random.default_rng(seed)
    truth = {"X": rng.dirichlet([2, 2]), "Y": rng.dirichlet([1, 1], size=2)}
    world = told(World([("X", "Y")], BINARY, ARMS, truth, ZERO_ONE), 60 + 40 * seed, seed)
    for arm in (0, 1):
        found, tables = world.bets_made.null(2, arm).least(-math.inf)
        assert math.isfinite(found)
        assert found <= brute_force(world, 2, arm) + 0.01
        assert world.bets_made.of(arm).log_evidence(tables)[0] == pytest.approx(found, abs=1e-9)
        value = {0: tables[0] * tables[3] + tables[1] * tables[5], 1: tables[3], 2: tables[5]}
        assert value[arm] >= value[2] - 2e-5


def brute_force(world, leader, arm):
    """The least evidence over a grid of all rows where the arm is better, refined eight times."""
    bets = world.bets_made.of(arm)
    low, high = np.full(3, 1e-6), np.full(3, 1.0 - 1e-6)
    least, best = math.inf, None
    for _ in range(8):
        for x, a, b in itertools.product(*np.linspace(low, high, 9).T):
            value = {0: (1 - x) * a + x * b, 1: a, 2: b}
            if value[arm] >= value[leader]:
                found = bets.log_evidence(np.array([1 - x, x, 1 - a, a, 1 - b, b]))[0]
                if found < least:
                    least, best = found, np.array([x, a, b])
        width = (high - low) / 4.0
        low, high = np.clip(best - width, 1e-6, 1), np.clip(best + width, 0, 1 - 1e-6)
    return least


def test_where_the_arms_are_one_there_is_no_null_if_epsilon_is_positive():
    arms = [do(Z=0), do(Z=1), do(X=0)]
    truth = {"Z": [0.5, 0.5], **CHAIN}
    for epsilon in (0.0, 0.1):
        world = World([("X", "Y"), ("Z", "X")], {"Z": (0, 1), **BINARY}, arms, {**truth, "X": [[0.3, 0.7]] * 2},
                      ZERO_ONE, epsilon)  # fmt: skip
        told(world, 40)
        assert world.bets_made.null(0, 1) is not None
        null = world.bets_made.null(1, 1)
        assert (null is None) == (epsilon > 0)
