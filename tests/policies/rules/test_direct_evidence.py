"""A leader named before the plays that decide: what each share pays for, and how often it errs, by enumeration."""

import math

import numpy as np
import pytest
from policies.confounded import ARMS, environment, question, state
from scipy.stats import binom

from pgcpe import EmpiricalMeans, PooledCCPE, PooledTrees, TopTwo
from pgcpe.confidence.pairwise import pairwise_glr, pairwise_glr_since
from pgcpe.confidence.sequences import kt_interval
from pgcpe.estimators.base import Comparison, EndLevels
from pgcpe.estimators.schedule import snapshot_share
from pgcpe.policies.rules.direct_evidence import DirectEnds, PairLevels, naming_share
from pgcpe.policies.rules.state import NamedLeader
from pgcpe.policies.rules.stopping import DirectPairs, PairwiseGLR


def test_the_shares_of_all_times_of_naming_sum_to_one():
    """From the fifth on they are .03 / ((j - 4)(j - 3)), of which those after the n-th sum to .03 / (n - 3)."""
    assert sum(naming_share(j) for j in range(1, 8)) + 0.03 / 4 == pytest.approx(1.0)


def chance_to_cross(mean, alpha, first=6, since=12):
    """The probability that the named leader, the better of two arms by their first plays, ever rules out arm 0, where
    both arms have the same mean: then arm 0 is a best arm, and that is a mistake. Exact, by the law of the counts."""
    crossed, at_end = 0.0, 0.0
    for x0 in range(first + 1):
        for x1 in range(x0 + 1, first + 1):  # arm 1 leads
            prior = binom.pmf(x0, first, mean) * binom.pmf(x1, first, mean)
            alive = {(0, 0): prior}
            for n in range(1, since + 1):
                after = {}
                for (y0, y1), p in alive.items():
                    for gain0 in (0, 1):
                        for gain1 in (0, 1):
                            step = mean ** (gain0 + gain1) * (1 - mean) ** (2 - gain0 - gain1)
                            key = y0 + gain0, y1 + gain1
                            after[key] = after.get(key, 0.0) + p * step
                alive = {}
                for (y0, y1), p in after.items():
                    counts = [first + n] * 2, [x0 + y0, x1 + y1], [first] * 2, [x0, x1]
                    if pairwise_glr_since(*counts, leader=1)[0] >= math.log(1 / alpha):
                        crossed += p
                    else:
                        alive[y0, y1] = p
            at_end += sum(alive.values())
    led = sum(
        binom.pmf(x0, first, mean) * binom.pmf(x1, first, mean)
        for x0 in range(first + 1)
        for x1 in range(x0 + 1, first + 1)
    )
    assert crossed + at_end == pytest.approx(led)
    return crossed


@pytest.mark.parametrize("mean", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("alpha", [0.1, 0.3])
def test_a_named_leader_errs_at_most_at_its_level(mean, alpha):
    assert 0.0 < chance_to_cross(mean, alpha) <= alpha


def test_without_a_past_it_is_the_statistic_of_all_plays():
    plays, rewards = [9.0, 7.0, 0.0], [8.0, 1.5, 0.0]
    assert np.array_equal(pairwise_glr_since(plays, rewards, [0] * 3, [0] * 3, 0), pairwise_glr(plays, rewards, 0))
    with pytest.raises(ValueError, match="none above plays"):
        pairwise_glr_since([1, 1], [0, 1], [2, 1], [0, 1], 0)


def test_pairs_since_naming_count_for_the_named_leader_alone():
    plays, rewards = np.array([120.0] * 5), np.array([100.0, 60.0, 60.0, 60.0, 60.0])
    early = np.array([10.0] * 5), np.array([8.0, 5.0, 5.0, 5.0, 5.0])
    levels = PairLevels(each=1e-12, since=0.05)
    for named, stops in ((0, True), (1, False)):
        then = NamedLeader(named, *early, *early)
        now = state(question(), plays=plays, rewards=rewards, named=(then,))
        assert PairwiseGLR(levels).check(now).stop is stops
        assert DirectPairs(levels).check(now).stop is stops
    assert not PairwiseGLR(levels).check(state(question(), plays=plays, rewards=rewards)).stop


def test_ends_spend_what_they_are_given():
    """Upper ends as if each arm were the best one; lower ends jointly; those without another bound are allowed more."""
    plays, rewards = np.array([50.0, 20.0, 0.0]), np.array([40.0, 3.5, 0.0])
    ends = DirectEnds(EndLevels(upper=0.004, lower=0.006), 3)
    ends.allow_more(np.array([False, True, False]), 0.016)
    found = ends.now(plays, rewards)
    assert np.array_equal(found.lower, kt_interval(plays, rewards, 0.002).lower)
    assert found.upper[0] == kt_interval(plays, rewards, 0.004).upper[0]
    assert found.upper[1] == pytest.approx(kt_interval(plays, rewards, 0.02).upper[1])
    assert found.upper[2] == 1.0


def test_direct_pairs_are_separated_by_their_ends_too():
    plays, rewards = np.array([400.0, *[60.0] * 4]), np.array([380.0, *[6.0] * 4])
    now = state(question(), plays=plays, rewards=rewards)
    never = PairLevels(each=1e-300)
    assert not DirectPairs(never).check(now).stop
    verdict = DirectPairs(never, DirectEnds(EndLevels(0.005, 0.005), 5)).check(now)
    assert (verdict.stop, verdict.certificate) == (True, "direct")
    assert verdict.reason.endswith("all are below it by confidence sequences of direct plays")


def taught(n):
    bandit = question()
    trees = PooledTrees(refresh=1).start(bandit.recording(PooledTrees().required(bandit)))
    actions = [ARMS[i % 5] for i in range(n)]
    return trees, trees.bandit_.encode(actions, environment().perform(actions))


def test_the_trees_ends_spend_what_they_are_given():
    """A lower end takes the regions begun when its arm was named; at the seventh snapshot no level is overspent."""
    trees, samples = taught(300)
    trees.update(samples)
    levels, nobody = EndLevels(0.02, 0.01), []
    regions = trees._regions
    for named, arms in ((nobody, set()), ([0, 3], {0, 3})):
        spent = regions.for_leader(levels, named, 5)
        assert set(spent.lower_of[1:].tolist()) - {-2} == arms
        assert np.exp(-spent.nats[1]).sum() <= levels.upper
        assert 5 * np.exp(-spent.nats[0, 0]) + np.exp(-spent.nats[0, 1:]).sum() <= levels.lower
    for j in range(3, 8):
        regions.begin(trees._counts, snapshot_share(j), 9)
    assert regions.numbers.tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    spent = regions.for_leader(levels, [0] * 7, 5)
    left = 0.1 / 3  # of the shares .1 / ((j - 5)(j - 4)) those after the seventh sum to a third of them all
    assert np.exp(-spent.nats[1]).sum() == pytest.approx((1 - left) * levels.upper)
    assert 5 * np.exp(-spent.nats[0, 0]) + np.exp(-spent.nats[0, 1:]).sum() == pytest.approx((1 - left) * levels.lower)


def test_ends_of_a_named_leader_lie_within_those_of_all_arms():
    """For the same error probability: what is not divided among the arms bounds more tightly."""
    trees, samples = taught(600)
    trees.update(samples)
    everyone = np.ones(5, dtype=np.bool_)
    asked = Comparison(0, everyone, 0.0, EmpiricalMeans().start(trees.bandit_).intervals(0.01))
    joint, free = trees.intervals(0.05 / 5), trees.compare(EndLevels(0.05, 0.05), asked, [0, 0])
    worked_out = free.upper < 1
    assert worked_out.any()
    assert (free.upper[worked_out] < joint.upper[worked_out]).all()
    assert free.lower[0] > joint.lower[0]
    unnamed = trees.compare(EndLevels(0.04, 0.05), asked, [])
    assert unnamed.lower[0] < free.lower[0]  # only the region since the start, at its share over five arms


def test_a_batch_across_the_naming_gives_what_single_plays_give():
    """The leader at 64 and at 256 plays, and whatever follows, does not depend on how the plays were handed over."""
    actions = [ARMS[i % 5] for i in range(300)]
    rows = environment(3).perform(actions)
    policies = [PooledCCPE(question(), epsilon=0.02) for _ in range(3)]
    for policy, size in zip(policies, (1, 50, 300), strict=True):
        for start in range(0, 300, size):
            policy.tell(actions[start : start + size], rows.rows(slice(start, start + size)))
    one, *others = policies
    assert len(one.state.named) == 2
    for policy in others:
        for mine, its in zip(one.state.named, policy.state.named, strict=True):
            assert mine.arm == its.arm
            assert np.array_equal(mine.plays, its.plays)
        assert policy.ask() == one.ask()
        assert policy.stops == one.stops
        assert np.array_equal(policy._stopping.upper(policy.state), one._stopping.upper(one.state))


def test_what_is_shown_is_claimed_for_all_arms_at_once():
    """The intervals of the table and the conflicts keep the union over the arms, at a delta of their own."""
    policy = PooledCCPE(question(), epsilon=0.02, delta=0.1)
    actions = [ARMS[i % 5] for i in range(200)]
    policy.tell(actions, environment(3).perform(actions))
    bandit, told = policy.bandit, policy._knowledge.told.samples()
    own, trees = EmpiricalMeans().start(bandit).update(told), PooledTrees().start(bandit).update(told)
    joint = own.intervals(0.025 / 5).lower, trees.intervals(0.075 / trees.n_events_).lower
    assert (policy.intervals.lower >= np.maximum(*joint)).all()  # bounds of earlier looks are kept
    assert policy._knowledge._direct_level == pytest.approx(0.025 / 5)
    assert policy._knowledge._claims[0][1] == pytest.approx(0.075 / trees.n_events_)


def test_top_two_with_a_named_leader():
    """The published rule is the default; with a named leader nine tenths of delta go to what needs no union."""
    published, named = TopTwo(question(), delta=0.1), TopTwo(question(), delta=0.1, named_leader=True)
    assert published.error_budget.to_frame()["event"].tolist() == ["pairwise GLR"]
    assert dict(zip(*(named.error_budget.to_frame()[c] for c in ("event", "delta")), strict=True)) == pytest.approx(
        {"pairs since naming": 0.09, "pairwise GLR": 0.01}
    )
    stopped = [policy.run(environment(5), progress=False) for policy in (published, named)]
    assert [result.certificate for result in stopped] == ["direct", "direct"]
    assert stopped[0].recommendation == stopped[1].recommendation == ARMS[0]
