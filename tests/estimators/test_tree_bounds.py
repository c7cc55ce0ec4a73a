"""Bounds that are put off: valid, as good as all of them for what is asked, and few."""

import itertools

import numpy as np
import pytest

from pgcpe import CCPE, AdmissibleSequence, PooledTrees, SimulatedEnvironment, do
from pgcpe.confidence.intervals import Intervals
from pgcpe.confidence.tree_region import TOLERANCE
from pgcpe.estimators.base import Comparison
from pgcpe.paper import experiment_2, experiment_3, two_layer

LEVEL, EPSILON = 0.01, 0.5


def looks(estimator, made, plays, each, seed):
    """Tell plays of all arms and of do() in pieces, ask for a random comparison after each, yield what is known."""
    rng, bandit = np.random.default_rng(seed), made.bandit
    estimator.start(bandit)
    environment = made.environment(seed)
    for _ in range(plays // each):
        chosen = [do() if rng.random() < 0.5 else bandit.arms[rng.integers(len(bandit.arms))] for _ in range(each)]
        samples = bandit.encode(chosen, environment.perform(chosen))
        estimator.update(samples)
        n = len(bandit.arms)
        everything = Intervals(np.zeros(n), np.ones(n))
        asked = Comparison(int(rng.integers(n)), rng.random(n) < 0.8, EPSILON, everything)
        estimator.tighten(LEVEL, asked)
        yield samples, asked, estimator.bounds(LEVEL)


def is_open(asked, bounds):
    others = asked.contenders & (np.arange(len(asked.contenders)) != asked.leader)
    return bool((bounds.upper[others] > bounds.lower[asked.leader] + asked.epsilon).any())


@pytest.mark.parametrize("kind", [PooledTrees, AdmissibleSequence])
def test_no_bound_is_tighter_than_all_of_all_times(kind):
    """The reference works out all bounds at every look; past snapshots there are several regions."""
    made = experiment_3(4)
    reference = kind().start(made.bandit)
    lower, upper = np.zeros(len(made.bandit.arms)), np.ones(len(made.bandit.arms))
    for samples, asked, known in looks(kind(), made, 400, 10, seed=1):
        now = reference.update(samples).intervals(LEVEL)
        lower, upper = np.maximum(lower, now.lower), np.minimum(upper, now.upper)
        assert (known.lower <= lower + TOLERANCE).all()
        assert (known.upper >= upper - TOLERANCE).all()
        if not is_open(asked, known):
            assert not is_open(asked, Intervals(lower + TOLERANCE, upper - TOLERANCE))


def test_what_stays_open_is_open_by_all_bounds_of_now():
    """Of observation alone there is one region, so nothing that is asked for is put off."""
    made = two_layer(2, n=5)  # trees of four leaves at most
    reference, n_open = AdmissibleSequence().start(made.bandit), 0
    for samples, asked, known in looks(AdmissibleSequence(), made, 600, 10, seed=2):
        now = reference.update(samples).intervals(LEVEL)
        assert known.lower[asked.leader] >= now.lower[asked.leader] - TOLERANCE
        if is_open(asked, known):
            n_open += 1
            assert is_open(asked, Intervals(now.lower - TOLERANCE, now.upper + TOLERANCE))
    assert 0 < n_open < 60  # both answers came up


def test_people_are_shown_all_bounds_and_looking_changes_nothing():
    made = experiment_3(4)
    one, other = (CCPE(made.bandit, epsilon=0.0) for _ in range(2))
    environment = made.environment(3)
    for _ in range(60):
        actions = one.ask()
        assert other.ask() == actions
        samples = environment.perform(actions)
        one.tell(actions, samples), other.tell(actions, samples)
        shown = one.intervals
        assert (shown.upper <= one.state.intervals.upper).all()
        assert (shown.lower >= one.state.intervals.lower).all()
    np.testing.assert_array_equal(one.intervals.upper, other.intervals.upper)
    table = one.result().table
    assert table.estimate.between(table.lower, table.upper).all()


def test_few_bounds_are_worked_out():
    """Before the leader is settled every arm is looked at once; from then on a handful at each look."""
    made = experiment_2(0)
    policy = CCPE(made.bandit, epsilon=0.0)
    policy.run(SimulatedEnvironment(made.network, seed=0), budget=300, progress=False)
    first = policy._knowledge.models[0]._bounds._bounds.times.sum()
    policy.run(SimulatedEnvironment(made.network, seed=1), budget=300, progress=False)
    worked_out = policy._knowledge.models[0]._bounds._bounds.times.sum() - first
    assert worked_out < 12 * 100  # of 2 * 84 at each of the hundred looks


def test_told_in_pieces_the_same_bounds_are_known():
    made = experiment_3(4)
    actions = [do(), *made.bandit.arms[:6]] * 60
    samples = made.environment(3).perform(actions)
    policies = [CCPE(made.bandit, epsilon=0.0) for _ in range(2)]
    policies[0].tell(actions, samples)
    told = made.bandit.encode(actions, samples)
    for start, end in itertools.pairwise([0, 1, 5, 63, 257, 300, len(actions)]):
        policies[1].tell(actions[start:end], told.rows(slice(start, end)))
    one, other = (policy.state.intervals for policy in policies)
    np.testing.assert_array_equal([one.lower, one.upper], [other.lower, other.upper])
