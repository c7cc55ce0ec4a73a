"""The asymptotic stop: at scheduled looks, by all estimates at once."""

import math
from statistics import NormalDist

import numpy as np
import pytest
from policies.confounded import ARMS, Fixed, environment, question, state

from pgcpe import PooledCCPE, do
from pgcpe.confidence.sequences import normal_nats
from pgcpe.policies.rules.asymptotic import PairwiseAsymptotic, look_share
from pgcpe.policies.rules.stopping import PairwiseGLR

LEVEL = 0.05


def rule(level=LEVEL, n_arms=5, **options):
    return PairwiseAsymptotic(level, n_arms, PairwiseGLR(level), shown_level=level, **options)


def test_the_schedule_of_looks_and_what_each_spends():
    looks, n = [], 0
    for _ in range(60):
        n = rule().next_look(n)
        looks.append(n)
    assert looks[:6] == [100, 140, 196, 275, 385, 538]
    assert looks == [math.ceil(100 * 1.4**k) for k in range(60)]
    assert [rule().next_look(n - 1) for n in looks] == looks
    assert [rule().next_look(n) for n in looks[:-1]] == looks[1:]
    assert sum(map(look_share, range(10**5))) == pytest.approx(1, abs=1e-4)
    assert [rule(growth=2.0).next_look(n) for n in (0, 100, 399, 400)] == [100, 200, 400, 800]


@pytest.mark.parametrize(("epsilon", "share"), [(0.0, 1 / 2), (0.05, 1 / 8)])
def test_it_stops_just_at_its_threshold_and_only_at_a_look(epsilon, share):
    """Two-sided for epsilon = 0, else one-sided at half of it among the four others; 385 is the fourth look."""
    nats = normal_nats(share * LEVEL * look_share(4))
    for ratio, stops in ((0.999, False), (1.001, True)):
        variance = [0.0, 1e-5, (0.1 + epsilon) ** 2 / (2 * nats * ratio), 1e-5, 1e-5]
        told = {"models": [Fixed([0, 0.3, 0.1, 0.3, 0.3], variance)], "epsilon": epsilon}
        now = state(question(), n_plays=385, **told)
        verdict = rule().check(now)
        assert verdict.stop == stops
        assert rule().unresolved(now).tolist() == [False, False, not stops, False, False]
        between = state(question(), n_plays=300, **told)  # what the next look would say
        assert rule().unresolved(between).tolist() == [False, False, not stops, False, False]
        assert not rule().check(between).stop
    assert verdict.certificate == "asymptotic"
    assert f"{ARMS[2]} least, by {1.001 * nats:.2f} of {nats:.2f} nats" in verdict.reason
    for gap in (-0.05, -0.3):  # an arm that the estimates favour is open however small the variance
        models = [Fixed([0, 0.3, gap, 0.3, 0.3], [0.0, *[1e-9] * 4])]
        now = state(question(), models=models, epsilon=epsilon, n_plays=385)
        assert rule().unresolved(now).tolist() == [False, False, True, False, False]


def test_one_test_for_all_challengers_of_a_look():
    """One arm is ruled out by the test of the gap alone, another by that of gap + epsilon alone: it does not stop."""
    (_, plain), (_, tolerant) = rule().thresholds(385, 0.05)
    assert tolerant > plain
    large, small = 0.5**2 / (2 * 1.02 * plain), (0.1 + 0.05) ** 2 / (2 * 1.02 * tolerant)
    assert 0.1**2 / (2 * small) < plain
    assert 0.55**2 / (2 * large) < 1.24 * plain

    def stops(variances):
        models = [Fixed([0, 0.5, 0.1, 0.5, 0.5], [0.0, *variances])]
        return rule(n_arms=80).check(state(question(), models=models, epsilon=0.05, n_plays=385)).stop

    (_, plain), (_, tolerant) = rule(n_arms=80).thresholds(385, 0.05)
    assert 1.24 * plain < tolerant
    small = (0.1 + 0.05) ** 2 / (2 * 1.02 * tolerant)
    assert not stops([large, small, 1e-5, 1e-5])
    assert stops([1e-5, small, 1e-5, 1e-5])
    assert stops([large, 0.1**2 / (2 * 1.02 * plain), 1e-5, 1e-5])


def test_the_plays_that_resolve_a_gap_are_those_of_a_look():
    """The nearest arm's variance falls as the plays grow: that look's evidence is enough, the one before it not."""
    now = state(question(), models=[Fixed([0, 0.3, 0.02, 0.1, 0.3], [0, 1e-3, 2e-3, 1e-3, 1e-3])], n_plays=300)
    plays = rule().plays_to_resolve(now, 0.01)
    looks = [math.ceil(100 * 1.4**k) for k in range(40)]
    k = looks.index(plays)
    assert [0.01**2 / (2 * 2e-3 * 300 / looks[j]) >= normal_nats(LEVEL / 2 * look_share(j)) for j in (k - 1, k)] == [
        False,
        True,
    ]
    assert rule().plays_to_resolve(now, 0.02) < plays / 3
    unknown = state(question(), models=[Fixed([0, 0.3, 0.0, 0.1, 0.3], [0, 1e-3, math.inf, 1e-3, 1e-3])], n_plays=300)
    assert rule().plays_to_resolve(unknown, 0.01) == math.inf


def test_three_arms_on_a_line_err_as_often_as_the_theorem_allows():
    """X = mu + (1, 0, -1) G for a standard normal G, the best arm by eta in the middle: either outer arm is declared
    when it leads by z standard errors, which is G > z + eta or G < -z - eta. Quantiles of G in the middle of 4,000
    equal parts: the share is off by at most one part on either side."""
    eta, parts = 0.005, 4_000
    bandit = question(ARMS[:3])
    asked, wrong = rule(n_arms=3), 0
    level = LEVEL * look_share(0)
    for part in range(parts):
        g = NormalDist().inv_cdf((part + 0.5) / parts)
        x = np.array([1.0, 0.0, -1.0]) * g - eta * np.array([1, 0, 1])
        leader = int(x.argmax())
        if leader == 1:
            continue
        variance = (np.array([1.0, 0.0, -1.0]) - [1.0, 0.0, -1.0][leader]) ** 2
        models = [Fixed(x[leader] - x, variance)]
        wrong += asked.check(state(bandit, leader=leader, models=models, n_plays=100)).stop
    expected = 2 * NormalDist().cdf(-(math.sqrt(2 * normal_nats(level / 2)) + eta))
    assert expected < level
    assert wrong / parts == pytest.approx(expected, abs=2.01 / parts)


def test_with_a_tolerance_the_union_over_arms_is_needed():
    """Eighty arms: one the best, the others worse by just more than epsilon = 3 standard deviations, independent.

    An arm is declared if it leads all others by z standard errors of the difference, less epsilon. Of 20,000 draws the
    share may exceed the level by four standard errors of a share of the level.
    """
    rng, n_arms, draws, level = np.random.default_rng(0), 80, 20_000, 0.2
    x = rng.standard_normal((draws, n_arms))
    epsilon = 3.0
    x[:, 1:] -= epsilon + 1e-9
    order = np.sort(x, axis=1)
    lead, wrong_arm = order[:, -1] - order[:, -2], x.argmax(axis=1) > 0

    def share(nats):
        return (wrong_arm & ((lead + epsilon) / math.sqrt(2) >= math.sqrt(2 * nats))).mean()

    (_, plain), (_, tolerant) = rule(level / look_share(0), n_arms).thresholds(100, epsilon)
    assert share(tolerant) <= level / 2 + 4 * math.sqrt(level / draws)
    assert share(plain) > level + 4 * math.sqrt(level / draws)


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_nothing_depends_on_how_the_same_plays_were_told(epsilon):
    bandit, world = question(), environment(7)
    actions = [do(), *ARMS] * 120
    samples = world.perform(actions)
    told = bandit.encode(actions, samples)
    at = []
    for size in (len(actions), 97, 1):
        policy = PooledCCPE(bandit, guarantee="asymptotic", epsilon=epsilon)
        for start in range(0, len(actions), size):
            policy.tell(actions[start : start + size], told.rows(slice(start, start + size)))
        at.append((policy.certified_at, policy.recommendation, policy.stops))
    assert at[0] == at[1] == at[2]
    assert at[0][0] in [math.ceil(100 * 1.4**k) for k in range(6)]
