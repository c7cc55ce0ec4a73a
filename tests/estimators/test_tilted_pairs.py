"""Bets on pairs of arms by exact enumeration, on a graph with a hidden cause; their gradients beside differences."""

import itertools
import math

import numpy as np
import pytest
from helpers import dag

from pgcpe import CausalBandit, do
from pgcpe.estimators.tilted_bets import epoch_start
from pgcpe.estimators.tilted_pairs import ARM, LEADER, TiltedPairs
from pgcpe.models.arms_in_pairs import ArmsOnChain, TreeAndMean
from pgcpe.plays.samples import SamplesBuffer

EDGES = [("Z", "X"), ("Z", "Y"), ("X", "Y"), ("A", "Y"), ("U", "A"), ("U", "Y")]
"""The effect of X is that given Z; A and Y have a hidden cause in common, which leaves no formula for A."""

ARMS = [do(X=1), do(X=0), do(), do(A=1), do(A=1, N=1), do(A=0)]
PLAYED = [do(), do(A=0), do(A=1), do(A=1, N=1), do(X=0), do(X=0, Z=1)]
"""do(X=1) may not be played; do(A=1, N=1) is merged with do(A=1); do(X=0, Z=1) is no arm."""

P_Z, P_X, P_A, P_N = 0.4, (0.3, 0.8), (0.2, 0.7), 0.5


def reward_mean(x, z, a, u):
    return 0.1 + 0.3 * x + 0.2 * z + 0.15 * a + 0.2 * u


def question(playable=PLAYED):
    graph = dag(EDGES, ["U"], nodes=["N"])
    return CausalBandit(graph, reward="Y", arms=ARMS, playable=playable, states=dict.fromkeys("ZXAYN", (0, 1)))


def outcomes(action):
    """The joint distribution of Z, X and Y under an action, an array."""
    joint = np.zeros((2, 2, 2))
    for u, z, x, a in itertools.product((0, 1), repeat=4):
        p = 0.5
        for v, value, one in (("Z", z, P_Z), ("X", x, P_X[z]), ("A", a, P_A[u])):
            p *= float(action[v] == value) if v in action.variables else (one if value else 1.0 - one)
        mean = reward_mean(x, z, a, u)
        joint[z, x] += p * np.array([1.0 - mean, mean])
    return joint


def worth(action):
    return outcomes(action)[..., 1].sum()


def rows(joint):
    """The rows of the chain Z, X, Y."""
    z = joint.sum(axis=(1, 2))
    zx = joint.sum(axis=2)
    return np.concatenate([z, (zx / z[:, None]).ravel(), (joint / zx[..., None]).ravel()])


def tree(x):
    """The rows of the tree of do(X = x)."""
    joint = outcomes(do())
    return np.concatenate([joint.sum(axis=(1, 2)), (joint[:, x] / joint[:, x].sum(axis=-1, keepdims=True)).ravel()])


def mean(action):
    return [1.0 - worth(action), worth(action)]


PAIRS = {
    "chain": (do(X=1), do(X=0), rows(outcomes(do()))),
    "chain, do()": (do(), do(X=1), rows(outcomes(do()))),
    "mean and tree": (do(A=1), do(X=0), np.concatenate([tree(0), mean(do(A=1))])),
    "tree and mean": (do(X=1), do(A=0), np.concatenate([tree(1), mean(do(A=0))])),
    "two means": (do(A=1), do(A=0), np.array([*mean(do(A=0)), *mean(do(A=1))])),
}


def bets_of(name, epsilon=0.0):
    bandit = question()
    leader, arm, truth = PAIRS[name]
    made = TiltedPairs(bandit, SamplesBuffer(bandit.coding), epsilon).of(bandit.index(leader), bandit.index(arm))
    return bandit, made, truth


def encoded(bandit, action, outcome):
    z, x, y = outcome
    assert bandit.coding.variables == ("Z", "X", "Y")
    return bandit.encode([action], [{"Z": z, "X": x, "Y": y}])


@pytest.mark.parametrize("name", PAIRS)
def test_what_is_bet_on(name):
    _, bets, truth = bets_of(name)
    assert isinstance(bets._pair, ArmsOnChain if "chain" in name else TreeAndMean)
    leader, arm, _ = PAIRS[name]
    assert bets.difference(truth) == pytest.approx(worth(leader) - worth(arm), abs=1e-12)


def enumerated(name, n):
    """Return the mean of the evidence against the truth after n plays, and of whether it ever was above 2 or 5.

    What is played depends on the last outcome; epochs begin after the first and the second play. At each play the mean
    of what comes is compared with what is.
    """
    bandit, bets, truth = bets_of(name)
    known = {(a, o): encoded(bandit, a, o) for a in PLAYED for o, p in np.ndenumerate(outcomes(a)) if p > 0}

    def evidence():
        return math.exp(bets.of(ARM).log_evidence(truth)[0]) if bets.epochs else 1.0

    def after(plays, last, highest):
        begun = plays in (1, 2)
        if begun:
            bets.begin(LEADER, plays)
        now = evidence()
        highest = max(highest, now)
        if plays == n:
            found = np.array([now, highest >= 2.0, highest >= 5.0])
        else:
            action = PLAYED[(2 * plays + 3 * last) % len(PLAYED)]
            found, expected, kept = np.zeros(3), 0.0, [seen.copy() for seen in bets._seen]
            for outcome, p in np.ndenumerate(outcomes(action)):
                if p > 0:
                    bets.count(known[action, outcome])
                    expected += p * evidence()
                    found += p * after(plays + 1, 1 + outcome[0] + 2 * outcome[2], highest)
                    for seen, before in zip(bets._seen, kept, strict=True):
                        seen[:] = before
            assert expected == pytest.approx(now, rel=1e-9)
        if begun:
            bets.epochs.pop()
        return found

    return after(0, 0, 0.0)


@pytest.mark.parametrize("n", [3, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", PAIRS)
def test_the_evidence_against_the_truth_has_mean_one(name, n):
    """Whatever is played next: arms, arms merged with others, actions that are none; some arms may not be played."""
    found, half, fifth = enumerated(name, n)
    assert found == pytest.approx(1.0, abs=1e-9)
    assert half <= 0.5
    assert fifth <= 0.2


def test_plays_in_a_mean_are_left_out_of_the_tree():
    """Else the two would share rounds: of do(A=1), merged arms included, the tree of do(X=0) sees nothing."""
    bandit, bets, _ = bets_of("mean and tree")
    expected = {do(A=1): (0, 1), do(A=1, N=1): (0, 1), do(X=0): (1, 0), do(X=0, Z=1): (0, 0)}
    for action, more_plays in expected.items():
        before = [seen.sum() for seen in bets._seen]
        bets.count(encoded(bandit, action, (1, 0, 1)))
        more = [seen.sum() - was for seen, was in zip(bets._seen, before, strict=True)]
        assert (more[0], more[-1]) == more_plays


def told(name, n=300, epsilon=0.0):
    bandit, _, truth = bets_of(name)
    leader, arm, _ = PAIRS[name]
    rng, rounds = np.random.default_rng(3), SamplesBuffer(bandit.coding)
    actions = [PLAYED[i] for i in rng.integers(len(PLAYED), size=n)]
    drawn = [np.unravel_index(rng.choice(8, p=outcomes(a).ravel()), (2, 2, 2)) for a in actions]
    frame = [dict(zip("ZXY", map(int, outcome), strict=True)) for outcome in drawn]
    rounds.append(bandit.encode(actions, frame))
    pairs = TiltedPairs(bandit, rounds, epsilon)
    return pairs, bandit.index(leader), bandit.index(arm), truth


@pytest.mark.parametrize("name", PAIRS)
def test_gradients(name):
    pairs, leader, arm, truth = told(name)
    null = pairs.null(leader, arm)
    rng, step = np.random.default_rng(1), 1e-5
    size = len(null.point(truth))
    for _ in range(3):
        point = null.point(truth) + rng.normal(size=size)
        for function in (null.evidence, null.room):
            numeric = [
                (function(point + step * e)[0] - function(point - step * e)[0]) / (2 * step) for e in np.eye(size)
            ]
            assert function(point)[1] == pytest.approx(numeric, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("name", PAIRS)
def test_epochs_begin_at_scheduled_plays_however_it_is_followed(name):
    pairs, leader, arm, truth = told(name)
    at_once = pairs.of(leader, arm)
    at_once.follow(pairs.rounds)
    _, by_and_by, _ = bets_of(name)
    rounds = SamplesBuffer(pairs.rounds.coding)
    for start in range(0, 300, 7):
        rounds.append(pairs.rounds.samples_between(start, min(start + 7, 300)))
        by_and_by.follow(rounds)
    assert len(at_once.epochs) == sum(epoch_start(j) <= 300 for j in range(20))
    expected = at_once.of(ARM).log_evidence(truth)[0]
    assert by_and_by.of(ARM).log_evidence(truth)[0] == pytest.approx(expected, abs=1e-9)


def test_where_neither_is_possible_there_are_no_bets():
    """Of do(A=1) nothing but its own plays says anything, and it has none; a bandit with it alone is refused."""
    bandit = question([do(), do(X=0)])
    pairs = TiltedPairs(bandit, SamplesBuffer(bandit.coding), 0.0)
    leader = bandit.index(do(X=0))
    bets = dict(zip(bandit.arms, pairs.bets_against(leader), strict=True))
    assert bets[do(X=1)]
    assert not bets[do(A=1)]
    with pytest.raises(ValueError, match="there must be bets of arm"):
        pairs.null(leader, bandit.index(do(A=1)))


def test_it_does_bet():
    """Where the leader is better the evidence that it is not grows, and that against the truth does not."""
    pairs, leader, arm, truth = told("chain", 2_500)
    null = pairs.null(leader, arm)
    found, _ = null.least(-math.inf)
    assert found > 10.0
    assert pairs.of(leader, arm).of(ARM).log_evidence(truth)[0] < 3.0
