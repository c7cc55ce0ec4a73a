"""Confidence sequences: where they end, why they hold, and how often they fail."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import betaln, gammaln, rel_entr, xlogy
from scipy.stats import binom

from pgcpe.confidence.sequences import kt_interval, kt_regret, refresh_kt


def reference_interval(n, x, alpha):
    """The two roots of n kl(x/n, mu) = log(1/alpha) + R, by Brent's method and the beta function."""
    p = x / n
    regret = xlogy(x, p) + xlogy(n - x, 1 - p) - betaln(x + 0.5, n - x + 0.5) + betaln(0.5, 0.5)

    def excess(mu):
        return n * (rel_entr(p, mu) + rel_entr(1 - p, 1 - mu)) - regret - math.log(1 / alpha)

    tiny = 1e-300
    lower = brentq(excess, tiny, p, xtol=1e-15) if p > 0 and excess(tiny) > 0 else 0.0
    near = np.nextafter(1, 0)
    upper = brentq(excess, p, near, xtol=1e-15) if p < 1 and excess(near) > 0 else 1.0
    return lower, upper


@pytest.mark.parametrize("alpha", [0.5, 0.05, 1e-6])
@pytest.mark.parametrize("share", [0, 0.003, 0.2, 0.5, 0.77, 1])
def test_kt_interval_is_where_the_likelihood_ratio_meets_its_level(share, alpha):
    plays = np.array([1.0, 2, 7, 40, 1_000, 30_000])
    rewards = share * plays  # sums of fractional rewards among them
    interval = kt_interval(plays, rewards, alpha)
    expected = np.array([reference_interval(n, x, alpha) for n, x in zip(plays, rewards, strict=True)])
    np.testing.assert_allclose(interval.lower, expected[:, 0], atol=1e-12)
    np.testing.assert_allclose(interval.upper, expected[:, 1], atol=1e-12)


# Half widths for 57 arms at delta = .05, as printed with the derivation; the last digit is rounded.
@pytest.mark.parametrize(
    ("p", "n", "half_width", "digits"),
    [
        (0.5, 10, 0.451, 3),
        (0.5, 100, 0.209, 3),
        (0.5, 1_000, 0.073, 3),
        (0.5, 10_000, 0.0243, 4),
        (0.5, 100_000, 0.0081, 4),
        (0.9, 100, 0.130, 3),
        (0.9, 1_000, 0.044, 3),
        (0.9, 10_000, 0.0146, 4),
    ],
)
def test_kt_half_widths_of_the_table(p, n, half_width, digits):
    interval = kt_interval([n], [p * n], 0.05 / 57)
    assert (interval.upper - interval.lower)[0] / 2 == pytest.approx(half_width, abs=0.5001 * 10**-digits)


def test_nothing_is_known_without_plays():
    interval = kt_interval([0, 3], [0, 1], 0.1)
    assert (interval.lower[0], interval.upper[0]) == (0, 1)
    assert 0 < interval.lower[1] < interval.upper[1] < 1


def test_flipping_rewards_flips_the_interval():
    n, x = np.array([1.0, 5, 100, 100]), np.array([0.3, 5, 0, 62.5])
    plain, flipped = kt_interval(n, x, 0.1), kt_interval(n, n - x, 0.1)
    np.testing.assert_array_equal(plain.lower, 1 - flipped.upper)
    np.testing.assert_allclose(plain.upper, 1 - flipped.lower, atol=1e-15)


def test_reward_sums_are_clipped_to_what_is_possible():
    # A sum of fractional rewards may be rounded to a little more than the number of plays.
    wild, tame = kt_interval([10, 10], [-1e-9, 10 + 1e-9], 0.05), kt_interval([10, 10], [0, 10], 0.05)
    np.testing.assert_array_equal(wild.lower, tame.lower)
    np.testing.assert_array_equal(wild.upper, tame.upper)


def test_the_interval_holds_the_mean_and_shrinks_with_alpha():
    n, x = np.array([1.0, 9, 80, 500]), np.array([1.0, 2, 71.5, 250])
    wide, narrow = kt_interval(n, x, 0.01), kt_interval(n, x, 0.2)
    assert np.all((wide.lower <= narrow.lower) & (narrow.lower <= x / n))
    assert np.all((x / n <= narrow.upper) & (narrow.upper <= wide.upper))


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 1.5, math.nan])
def test_alpha_must_be_a_probability(alpha):
    with pytest.raises(ValueError, match="alpha must be between 0 and 1"):
        kt_interval([1], [1], alpha)


def test_only_arms_with_new_plays_are_recomputed():
    plays, rewards = np.array([5.0, 8.0, 0.0]), np.array([2.0, 8.0, 0.0])
    done, lower, upper = np.array([5.0, 7.0, 0.0]), np.full(3, 0.25), np.full(3, 0.75)
    refresh_kt(plays, rewards, done, np.full((2, len(plays)), -math.log(0.1)), lower, upper)
    fresh = kt_interval(plays, rewards, 0.1)
    assert lower.tolist() == [0.25, fresh.lower[1], 0.25]
    assert upper.tolist() == [0.75, fresh.upper[1], 0.75]
    assert done.tolist() == [5, 8, 0]


def mixture_ratio(n, x, mu):
    """The Beta mixture of likelihoods over the likelihood of mu; mu is in the interval where it is at most 1/alpha."""
    log_likelihood = xlogy(x, mu) + xlogy(n - x, 1 - mu)
    largest = xlogy(x, x / n) + xlogy(n - x, 1 - x / n)
    return math.exp(largest - kt_regret(float(x), float(n)) - log_likelihood)


@pytest.mark.parametrize("mu", [0.01, 0.3, 0.5, 0.92])
@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_mixture_is_a_martingale_for_binary_rewards(n, mu):
    # By enumeration of all outcomes: E[M_n] = 1, and E[M_n+1 | x of the first n] = M_n.
    counts = np.arange(n + 1)
    ratios = np.array([mixture_ratio(n, x, mu) for x in counts])
    assert binom.pmf(counts, n, mu) @ ratios == pytest.approx(1, rel=1e-12)
    for x, ratio in zip(counts, ratios, strict=True):
        after = mu * mixture_ratio(n + 1, x + 1, mu) + (1 - mu) * mixture_ratio(n + 1, x, mu)
        assert after == pytest.approx(ratio, rel=1e-12)


@pytest.mark.parametrize("weights", [(0.2, 0.5, 0.3), (0.05, 0.9, 0.05), (0.6, 0.1, 0.3), (0.0, 1.0, 0.0)])
@pytest.mark.parametrize("values", [(0, 0.5, 1), (0.1, 0.4, 0.7)])
def test_mixture_is_a_supermartingale_for_three_valued_rewards(values, weights):
    mu, n = np.dot(values, weights), 8
    total = 0.0
    for counts in itertools.product(range(n + 1), repeat=3):
        if sum(counts) == n:
            probability = math.exp(gammaln(n + 1) - gammaln(np.add(counts, 1)).sum() + xlogy(counts, weights).sum())
            total += probability * mixture_ratio(n, np.dot(counts, values), mu)
            after = sum(
                w * mixture_ratio(n + 1, np.dot(counts, values) + v, mu) for v, w in zip(values, weights, strict=True)
            )
            assert after <= mixture_ratio(n, np.dot(counts, values), mu) * (1 + 1e-12)
    assert total <= 1 + 1e-12


def test_exact_error_of_the_confidence_sequence_for_binary_rewards():
    # The reward sum is a Markov chain. What has not left the interval by play n is a vector over x = 0..n; the mass it
    # loses in 1,000 plays is the error itself, without simulation. Nominal .1, both sides together.
    alpha, mus = 0.1, np.array([0.5, 0.8, 0.95, 0.995, 0.02])
    inside = np.ones((len(mus), 1))
    for n in range(1, 1_001):
        came = np.zeros((len(mus), n + 1))
        came[:, :-1] += inside * (1 - mus[:, None])
        came[:, 1:] += inside * mus[:, None]
        interval = kt_interval(np.full(n + 1, n), np.arange(n + 1), alpha)
        inside = came * ((interval.lower <= mus[:, None]) & (mus[:, None] <= interval.upper))
    error = 1 - inside.sum(axis=1)
    assert np.all(error <= alpha)
    assert error[0] > alpha / 2  # and not for being idle


@pytest.mark.parametrize(
    ("draw", "mu"),
    [
        (lambda rng, shape: rng.binomial(1, 0.5, shape), 0.5),
        (lambda rng, shape: rng.binomial(1, 0.97, shape), 0.97),
        (lambda rng, shape: rng.choice([0, 0.5, 1], size=shape, p=[0.1, 0.2, 0.7]), 0.8),
        (lambda rng, shape: rng.beta(0.1, 0.1, size=shape), 0.5),
    ],
    ids=["fair coin", "loaded coin", "three values", "beta"],
)
def test_coverage_watched_at_every_play(draw, mu):
    # If every path leaves with probability at most .1, the number of those that do is at most binomial(300, .1), which
    # exceeds its 1 - 1e-6 quantile (57) with probability below 1e-6. An error of .3 would pass with probability 1e-5.
    alpha, paths, plays = 0.1, 300, 1_000
    sums = np.cumsum(draw(np.random.default_rng(0), (paths, plays)), axis=1)
    n = np.broadcast_to(np.arange(1, plays + 1), sums.shape)
    interval = kt_interval(n.ravel(), sums.ravel(), alpha)
    left = ((mu < interval.lower) | (interval.upper < mu)).reshape(sums.shape).any(axis=1)
    assert left.sum() <= binom.isf(1e-6, paths, alpha)
