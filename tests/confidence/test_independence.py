"""E-values of counts: below a martingale whatever chooses the plays, by enumeration; chi-square as scipy has it."""

import functools
import itertools
import math

import numpy as np
import pytest
from scipy import stats

from pgcpe.confidence.independence import EqualMeans, chi_square_p_value, log_evidence


@pytest.mark.parametrize(
    ("groups", "theta", "plays"),
    [
        (2, [[0.5, 0.5], [0.9, 0.1]], 5),
        (2, [[0.3, 0.7]], 9),
        (3, [[0.2, 0.8]], 7),
        (3, [[0.6, 0.4], [0.02, 0.98]], 4),
        (2, [[0.2, 0.3, 0.5]], 6),
        (2, [[0.98, 0.01, 0.01], [0.5, 0.5, 0.0]], 4),
    ],
)
def test_no_choice_of_plays_and_of_when_to_stop_has_an_expectation_above_one(groups, theta, plays):
    """By dynamic programming over all counts: the best choice of the next cell and group, and the best time to stop."""
    theta = np.array(theta)
    shape = len(theta), groups, theta.shape[1]

    @functools.cache
    def value(counts, left):
        now = math.exp(log_evidence(np.reshape(counts, shape)))
        if left == 0:
            return now
        best = now
        for cell, group in itertools.product(range(shape[0]), range(groups)):
            expected = 0.0
            for state in range(shape[2]):
                after = list(counts)
                after[(cell * groups + group) * shape[2] + state] += 1
                if theta[cell, state] > 0:
                    expected += theta[cell, state] * value(tuple(after), left - 1)
            best = max(best, expected)
        return best

    assert value((0,) * math.prod(shape), 0) == pytest.approx(1.0)
    assert value((0,) * math.prod(shape), plays) <= 1.0 + 1e-12


def test_the_formula_of_two_cells():
    def mixture(k):
        n, beta = sum(k), lambda a, b: math.gamma(a) * math.gamma(b) / math.gamma(a + b)
        return beta(k[0] + 0.5, n - k[0] + 0.5) / beta(0.5, 0.5)

    def evidence(table):
        (a, b), (c, d) = table
        n, s, t = a + b + c + d, a + c, b + d
        return mixture((a, b)) * mixture((c, d)) / ((s / n) ** s * (t / n) ** t)

    one, two = [[9, 1], [2, 8]], [[3, 3], [1, 4]]
    first, second = evidence(one), evidence(two)
    # the mean is over all three cells, of which one has no play and so an e-value of 1
    expected = (first * second + (1 + first) / 2 * (1 + second) / 2 + (first + second + 1) / 3) / 3
    assert log_evidence([one, two, [[0, 0], [0, 0]]]) == pytest.approx(math.log(expected))


def test_evidence_of_many_plays_is_finite():
    assert log_evidence([[[1e6, 0], [0, 1e6]], [[0, 0], [10, 10]]]) > 1e6
    assert -30 < log_evidence([[[5e5, 5e5], [5e5, 5e5]]] * 10) < 0


def test_a_group_alone_is_no_evidence():
    assert log_evidence([[[70, 30], [0, 0]]]) <= 0.0
    assert log_evidence(np.zeros((4, 3, 2))) == pytest.approx(0.0)


@pytest.mark.parametrize("shape", [(2, 2), (1, 2, 2, 2)])
def test_counts_have_three_axes(shape):
    with pytest.raises(ValueError, match="of shape"):
        log_evidence(np.ones(shape))
    with pytest.raises(ValueError, match="nonnegative"):
        log_evidence(-np.ones((1, 2, 2)))


def test_chi_square_is_that_of_scipy_and_leaves_out_what_no_play_has():
    table = np.array([[20, 30, 5], [25, 20, 10]])
    expected = stats.chi2_contingency(table, correction=False)
    assert chi_square_p_value([table]) == pytest.approx(expected.pvalue)
    wider = np.zeros((3, 3, 4))
    wider[0, :2, :3] = table
    wider[1, 0, 0] = 7
    wider[2, :2, :2] = [[900, 1], [1, 0]]  # an expected count of .001
    assert chi_square_p_value(wider) == pytest.approx(expected.pvalue)
    assert chi_square_p_value(np.zeros((2, 2, 2))) == 1.0


@pytest.mark.parametrize("mean", [0.05, 0.3, 0.5])
@pytest.mark.parametrize("members", [2, 3])
def test_rounds_of_equal_members_have_an_expectation_of_at_most_one(mean, members):
    """By enumeration of all outcomes of three rounds; the evidence counts as what it is after the last of them."""
    total = 0.0
    for outcome in itertools.product((0, 1), repeat=3 * members):
        block = EqualMeans(members)
        for i, reward in enumerate(outcome):
            block.add(i % members, reward)
        last = np.logaddexp.reduce(block._weights + block._logs)
        total += math.prod(mean if y else 1 - mean for y in outcome) * math.exp(last)
        assert block.rounds == 3
        assert block.log_factor >= max(last, 0.0)
    assert total <= 1.0 + 1e-12


def test_members_that_differ_are_told_apart_and_rounds_wait_for_all():
    rng, block, equal = np.random.default_rng(0), EqualMeans(3), EqualMeans(3)
    for _ in range(300):
        for member, mean in enumerate((0.4, 0.4, 0.7)):
            block.add(member, float(rng.random() < mean))
            equal.add(member, float(rng.random() < 0.4))
    assert block.rounds == 300
    assert block.log_factor > 10
    assert equal.log_factor < 4
    assert block.means == pytest.approx([0.4, 0.4, 0.7], abs=0.1)
    block.add(0, 1.0)
    assert block.rounds == 300


def test_the_order_of_plays_within_rounds_does_not_matter():
    rng = np.random.default_rng(1)
    rewards = rng.random((20, 2))
    by_round, by_member = EqualMeans(2), EqualMeans(2)
    for row in rewards:
        by_round.add(0, row[0])
        by_round.add(1, row[1])
    for member in (1, 0):
        for reward in rewards[:, member]:
            by_member.add(member, reward)
    assert by_member.log_factor == pytest.approx(by_round.log_factor)
    assert by_member.rounds == 20
