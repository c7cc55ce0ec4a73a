import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import gammaln, rel_entr, xlogy
from threadpoolctl import threadpool_limits

from pgcpe.confidence.sequences import kt_interval
from pgcpe.confidence.tree import Tree as Counts
from pgcpe.confidence.tree import smoothed_value
from pgcpe.confidence.tree_region import bound_since, likelihood_ratio_interval

# ---------------------------------------------------------------------- the region once more, in another notation


@dataclass
class Tree:
    splits: list[np.ndarray]
    plays: np.ndarray
    rewards: np.ndarray
    before: "Tree | None" = None  # counts at a snapshot

    def interval(self, alpha):
        if self.before is None:
            return likelihood_ratio_interval(self.splits, self.plays, self.rewards, alpha)
        arity = np.array([level.shape[1] for level in self.splits], dtype=np.int64)
        since, before = Counts(arity, *self.flat()), Counts(arity, *self.before.flat())
        return tuple(bound_since(since, before, math.log(1 / alpha), upper, math.nan) for upper in (False, True))

    def flat(self):
        root = self.splits[0].sum() if self.splits else self.plays[0]
        return np.concatenate([[root], *(level.ravel() for level in self.splits)]), self.plays, self.rewards

    def flipped(self):
        return Tree(self.splits, self.plays, self.plays - self.rewards, self.before and self.before.flipped())

    def pieces(self):
        """An array for each split, ``[x, n - x]`` for each leaf."""
        pieces = [row for level in self.splits for row in level]
        return pieces + [np.array([x, n - x]) for n, x in zip(self.plays, self.rewards, strict=True)]


def random_tree(rng, depth, most_leaves=9):
    """Draw counts from 1 to several thousand: rare branches, thinned levels, empty nodes, fractional rewards."""
    arities = rng.integers(2, 5, size=depth)
    while np.prod(arities) > most_leaves:
        arities = rng.integers(2, 5, size=depth)
    counts = np.array([int(np.exp(rng.uniform(np.log(2), np.log(8_000))))])
    splits = []
    for arity in arities:
        if rng.random() < 0.5:
            counts = rng.binomial(counts, rng.uniform(0.05, 1))
        shares = rng.dirichlet(np.full(arity, rng.choice([0.2, 2])), size=len(counts))
        splits.append(np.array([rng.multinomial(n, p) for n, p in zip(counts, shares, strict=True)], dtype=float))
        counts = splits[-1].ravel().astype(int)
    if rng.random() < 0.5:
        counts = rng.binomial(counts, rng.uniform(0.05, 1))
    rewards = rng.binomial(counts, rng.beta(0.5, 0.5, size=len(counts))).astype(float)
    if rng.random() < 0.3:
        rewards = np.round(rewards * rng.uniform(size=len(counts)), 1)
    return Tree(splits, counts.astype(float), rewards)


def level_and_pieces(tree, alpha):
    """Return the level of the region and its counts in pieces."""
    pieces = tree.pieces()
    level = math.log(1 / alpha)
    for counts, before in zip(pieces, tree.before.pieces() if tree.before else pieces, strict=True):
        prior = (before if tree.before else 0 * before) + 0.5
        if counts.sum() > 0:
            largest = xlogy(counts, counts / counts.sum()).sum()
            level += largest - (log_beta(prior + counts) - log_beta(prior))
    return level, pieces


def log_beta(a):
    return gammaln(a).sum() - gammaln(a.sum())


def value_and_gradient(tree, p):
    """Return mu at the probabilities `p`, laid out like the pieces, and its gradient."""
    branch, at, shapes = [], 0, [level.shape for level in tree.splits]
    for shape in shapes:
        branch.append(p[at : at + math.prod(shape)].reshape(shape))
        at += math.prod(shape)
    means = p[at:].reshape(-1, 2)[:, 0]
    below = [means]  # value of the nodes, from the leaves up
    for b in reversed(branch):
        below.append((b * below[-1].reshape(b.shape)).sum(axis=1))
    below.reverse()
    gradient, reach = [], np.ones(1)
    for b, value in zip(branch, below[1:], strict=True):
        gradient.append((reach[:, None] * value.reshape(b.shape)).ravel())
        reach = (reach[:, None] * b).ravel()
    gradient.append(np.stack([reach, np.zeros_like(reach)], axis=1).ravel())
    return below[0][0], np.concatenate(gradient)


def feasible_maximum(tree, alpha, rng, starts):
    """Return the largest mu that SLSQP finds in the region, at a point that is in it beyond doubt.

    The probabilities of a piece are p = y^2 / |y|^2: no constraint is left but that of the region, which is nearly a
    ball in sqrt(n) y, and the ends 0 and 1 are within reach.
    """
    level, pieces = level_and_pieces(tree, alpha)
    counts = np.concatenate(pieces)
    members = np.array([[float(j == i) for j, c in enumerate(pieces) for _ in c] for i in range(len(pieces))])
    owner = members.argmax(axis=0)
    totals, sizes = (members @ counts)[owner], members.sum(axis=1)[owner]
    centre = np.where(totals > 0, counts / np.maximum(totals, 1), 1 / sizes)
    scale = np.sqrt(np.maximum(totals, 1))
    size = math.sqrt(level / max(totals.max(), 1))

    def probabilities(z):
        square = (z / scale) ** 2
        return square / np.maximum((members @ square)[owner], 1e-300)

    def through(z, gradient):  # chain rule
        p, norm = probabilities(z), (members @ (z / scale) ** 2)[owner]
        return 2 * z / scale**2 / norm * (gradient - (members @ (gradient * p))[owner])

    def slack(p):
        return 1 - rel_entr(counts, totals * np.maximum(p, 1e-300)).sum() / level

    def slack_gradient(p):
        return counts / np.maximum(p, 1e-300) / level

    best = 0.0
    for start in range(starts):
        first = centre if start == 0 else np.concatenate([rng.dirichlet(np.ones(len(c))) for c in pieces])
        found = minimize(
            lambda z: -value_and_gradient(tree, probabilities(z))[0] / size,
            np.sqrt(0.9 * first + 0.1 / sizes) * scale,
            jac=lambda z: -through(z, value_and_gradient(tree, probabilities(z))[1]) / size,
            method="SLSQP",
            constraints={
                "type": "ineq",
                "fun": lambda z: slack(probabilities(z)),
                "jac": lambda z: through(z, slack_gradient(probabilities(z))),
            },
            options={"maxiter": 300, "ftol": 1e-10},
        )
        p = probabilities(found.x)
        inside, outside = 0.0, 1.0  # back along the line to the centre, where the divergence is 0, as far as need be
        if slack(p) < 0:
            for _ in range(60):
                step = 0.5 * (inside + outside)
                inside, outside = (step, outside) if slack(centre + step * (p - centre)) >= 0 else (inside, step)
            p = centre + inside * (p - centre)
        best = max(best, value_and_gradient(tree, p)[0])
    return best


# ------------------------------------------------------------------------------------------------------------ tests


def extremes(trees, seed, snapshots=False):
    """Return how far the bounds lie outside of SLSQP's best feasible points, at least and at most.

    SLSQP may stop short of the maximum, so that it is given more starts where the bound is far from it.
    """
    rng = np.random.default_rng(seed)
    distances = []
    for i in range(trees):
        tree, alpha = random_tree(rng, i % 4, most_leaves=8), 10 ** rng.uniform(-4, -0.5)
        if snapshots:  # what was counted before, of about the same probabilities or of quite others
            factor = rng.choice([0.3, 3.0])
            other = [np.round(factor * level) for level in tree.splits], np.round(factor * tree.plays)
            tree.before = Tree(*other, np.minimum(np.round(factor * tree.rewards), other[1]))
            if rng.random() < 0.3:
                tree.before = tree.before.flipped()
        lower, upper = tree.interval(alpha)
        for bound, side in ((upper, tree), (1 - lower, tree.flipped())):
            with threadpool_limits(limits=1):  # SLSQP's matrices are small: more threads take ten times as long
                found = feasible_maximum(side, alpha, rng, 2)
                if bound - found > 1e-5:
                    found = max(found, feasible_maximum(side, alpha, rng, 12))
            distances.append(bound - found)
    return min(distances), max(distances)


@pytest.mark.slow
def test_never_inside_a_general_optimiser_and_close_to_it():
    """Weak duality puts the bound outside, whatever the tree, but for rounding; its tolerances, 1e-6 for the gap and
    the square of .003 for the multiplier, which is below 1e-5 in all, put it within 1e-5."""
    least, most = extremes(100, seed=0)
    assert least >= -1e-9
    assert most <= 1e-5


def test_the_interval_since_a_snapshot_beside_a_general_optimiser():
    """The same bounds as above."""
    least, most = extremes(100, seed=1, snapshots=True)
    assert least >= -1e-9
    assert most <= 1e-5


def test_whether_an_end_is_above_a_value_is_told_from_outside():
    """Values about the end and far from it: the bound is never inside, and on the same side of the value."""
    rng, above, looser = np.random.default_rng(2), 0, 0
    for _ in range(60):
        tree = random_tree(rng, rng.integers(1, 3))
        arity = np.array([level.shape[1] for level in tree.splits], dtype=np.int64)
        flat = Counts(arity, *tree.flat())
        nothing = Counts(arity, *(np.zeros_like(counts) for counts in tree.flat()))
        end = bound_since(flat, nothing, 5.0, True, math.nan)
        for value in end + np.array([-0.3, -0.01, -1e-4, 1e-4, 0.01, 0.3]):
            told = bound_since(flat, nothing, 5.0, True, value)
            assert told >= end - 1e-5  # the bound of the searches above
            assert (told > value) == (end > value)
            above, looser = above + (end > value), looser + (told > end + 1e-4)
    assert 60 < above < 300
    assert looser > 60  # that much was left out


def test_what_was_counted_before_narrows_the_interval():
    """Rounds since a snapshot of many more lose fewer nats than the same rounds alone."""
    tree = Tree([np.array([[60.0, 40.0]])], np.array([30.0, 20.0]), np.array([10.0, 15.0]))
    alone = tree.interval(0.05)
    tree.before = Tree([np.array([[600.0, 400.0]])], np.array([300.0, 200.0]), np.array([100.0, 150.0]))
    lower, upper = tree.interval(0.05)
    assert alone[0] < lower < upper < alone[1]


def test_without_splits_it_is_the_kt_interval():
    for n, x in [(1, 0), (7, 3), (50, 50), (400, 123.4)]:
        expected = kt_interval([n], [x], 0.03)
        lower, upper = likelihood_ratio_interval([], [n], [x], 0.03)
        assert lower == pytest.approx(expected.lower[0], abs=1e-5)
        assert upper == pytest.approx(expected.upper[0], abs=1e-5)
        assert lower <= expected.lower[0] + 1e-9
        assert upper >= expected.upper[0] - 1e-9


def test_nothing_seen_nothing_known():
    assert likelihood_ratio_interval([[[0, 0, 0]]], [0, 0, 0], [0, 0, 0], 0.1) == (0.0, 1.0)


def test_contains_the_estimate_and_shrinks_with_data():
    rng = np.random.default_rng(1)
    for _ in range(50):
        tree = random_tree(rng, int(rng.integers(0, 3)))
        lower, upper = tree.interval(0.1)
        arity = np.array([level.shape[1] for level in tree.splits], dtype=np.int64)
        into = np.concatenate([[0.0], *(level.ravel() for level in tree.splits)])
        value, variance = smoothed_value(Counts(arity, into, tree.plays, tree.rewards))
        assert 0 <= lower <= upper <= 1
        assert lower - 0.05 <= value <= upper + 0.05  # smoothing moves the estimate a little when there is little data
        assert variance > 0
        more = Tree([100 * level for level in tree.splits], 100 * tree.plays, 100 * tree.rewards)
        closer = more.interval(0.1)
        assert closer[1] - closer[0] <= upper - lower + 1e-6


def test_flipping_the_rewards_flips_the_interval():
    rng = np.random.default_rng(2)
    for _ in range(20):
        tree = random_tree(rng, 2)
        lower, upper = tree.interval(0.05)
        flipped = tree.flipped().interval(0.05)
        assert flipped == pytest.approx((1 - upper, 1 - lower), abs=1e-9)  # n - (n - x) is x but for rounding


def test_the_names_of_states_do_not_matter():
    rng = np.random.default_rng(3)
    for _ in range(20):
        tree = random_tree(rng, 1)
        order = rng.permutation(tree.splits[0].shape[1])
        other = Tree([tree.splits[0][:, order]], tree.plays[order], tree.rewards[order])
        assert other.interval(0.05) == pytest.approx(tree.interval(0.05), abs=2e-5)


def test_smoothed_value_by_hand():
    """One split into three, by the formulas of the delta method with (n_c + 1/2) / (n + m/2)."""
    counts, n, x = np.array([10.0, 5.0, 0.0]), np.array([4.0, 5.0, 0.0]), np.array([1.0, 4.0, 0.0])
    p, q = (counts + 0.5) / (15 + 1.5), (x + 0.5) / (n + 1)
    mean = p @ q
    variance = (p @ q**2 - mean**2) / 15 + (p**2 * q * (1 - q) / np.maximum(n, 0.5)).sum()
    found = smoothed_value(Counts(np.array([3]), np.concatenate([[15.0], counts]), n, x))
    assert found == pytest.approx((mean, variance), abs=1e-12)


CELLS = list(itertools.product((0, 1), (0, 1), (0, 1)))
"""Z, X and Y of one round; where X = 0 the round goes no further than Z."""


def chances(z, x, y):
    """Return the probability of each cell, and mu of X = 1; `x` and `y` are given Z."""
    each = [(z if a else 1 - z) * (x[a] if b else 1 - x[a]) * (y[a] if c else 1 - y[a]) for a, b, c in CELLS]
    return np.array(each), (1 - z) * y[0] + z * y[1]


def tree_of(counts):
    """Return the tree of Z -> Y for X = 1 from the counts of the cells."""
    n = np.reshape(counts, (2, 2, 2)).astype(float)
    return Tree([n.sum(axis=(1, 2))[None]], n[:, 1].sum(axis=1), n[:, 1, 1])


MODELS = [(0.5, (0.9, 0.9), (0.9, 0.1)), (0.3, (0.7, 0.4), (0.1, 0.95)), (0.05, (0.9, 0.9), (0.5, 0.5))]


@pytest.mark.parametrize(("z", "x", "y"), MODELS)
def test_the_mixtures_of_a_tree_are_one_martingale(z, x, y):
    """By enumeration of all counts of n rounds: the product of all nodes' mixtures over likelihoods has mean 1, so that
    it exceeds 1/alpha with probability at most alpha; this is the level that SLSQP has above."""
    each, _ = chances(z, x, y)
    truth = np.array([1 - z, z, y[0], 1 - y[0], y[1], 1 - y[1]])
    n, total = 4, 0.0
    for counts in itertools.product(range(n + 1), repeat=8):
        if sum(counts) == n:
            level, pieces = level_and_pieces(tree_of(counts), alpha=0.5)
            together, sizes = np.concatenate(pieces), np.repeat([c.sum() for c in pieces], 2)
            excess = rel_entr(together, sizes * truth).sum() - level  # the region is where this is not positive
            probability = math.exp(gammaln(n + 1) - gammaln(np.add(counts, 1)).sum() + xlogy(counts, each).sum())
            total += probability * math.exp(excess)
    assert total == pytest.approx(0.5, rel=1e-12)  # alpha


@pytest.mark.slow
@pytest.mark.parametrize(("z", "x", "y"), MODELS)
def test_exact_error_of_a_tree(z, x, y):
    """The counts are a Markov chain. What it loses where the interval misses mu, in the first eight rounds, is the
    probability that it ever does so by then."""
    each, mu = chances(z, x, y)
    alpha, alive = 0.5, {(0,) * 8: 1.0}
    for _ in range(8):
        after = {}
        for counts, mass in alive.items():
            for j in range(8):
                new = (*counts[:j], counts[j] + 1, *counts[j + 1 :])
                if not CELLS[j][1]:  # Y is not used where X = 0: keep one cell for both
                    new = (*counts[: j - j % 2], counts[j - j % 2] + 1, *counts[j - j % 2 + 1 :])
                after[new] = after.get(new, 0.0) + mass * each[j]
        alive = {}
        for counts, mass in after.items():
            lower, upper = tree_of(counts).interval(alpha)
            if lower <= mu <= upper:
                alive[counts] = mass
    assert 0 < 1 - sum(alive.values()) <= alpha


def test_smoothed_value_is_that_of_the_recursion():
    """The same tree in another notation: the value at smoothed probabilities, and the variance by the gradient."""
    rng = np.random.default_rng(4)
    for i in range(30):
        tree = random_tree(rng, i % 4)
        _, pieces = level_and_pieces(tree, 0.5)
        p = np.concatenate([(c + 0.5) / (c.sum() + len(c) / 2) for c in pieces])
        mean, gradient = value_and_gradient(tree, p)
        variance, at = 0.0, 0
        for counts in pieces:
            share, slope = p[at : at + len(counts)], gradient[at : at + len(counts)]
            variance += (share @ slope**2 - (share @ slope) ** 2) / max(counts.sum(), 0.5)
            at += len(counts)
        arity = np.array([level.shape[1] for level in tree.splits], dtype=np.int64)
        into = np.concatenate([[0.0], *(level.ravel() for level in tree.splits)])
        found = smoothed_value(Counts(arity, into, tree.plays, tree.rewards))
        assert found == pytest.approx((mean, variance), rel=1e-9)


def test_the_names_of_states_do_not_matter_on_any_level():
    rng = np.random.default_rng(5)
    for _ in range(20):
        tree = random_tree(rng, 3)
        a, b, c = (level.shape[1] for level in tree.splits)
        first, second, third = rng.permutation(a), rng.permutation(b), rng.permutation(c)
        splits = [
            tree.splits[0][:, first],
            tree.splits[1][first][:, second],
            tree.splits[2].reshape(a, b, c)[first][:, second][:, :, third].reshape(a * b, c),
        ]
        leaves = [v.reshape(a, b, c)[first][:, second][:, :, third].ravel() for v in (tree.plays, tree.rewards)]
        assert Tree(splits, *leaves).interval(0.05) == pytest.approx(tree.interval(0.05), abs=1e-5)


@pytest.mark.parametrize(
    ("splits", "plays", "rewards", "alpha", "message"),
    [
        ([[[1, 2]]], [1, 2, 3], [0, 0, 0], 0.1, "must have 2 entries"),
        ([[[1, 2], [3, 4]]], [1, 2], [0, 0], 0.1, "must have shape"),
        ([[[1]]], [1], [0], 0.1, "must have shape"),
        ([[[1, -2]]], [1, 0], [0, 0], 0.1, "must not be negative"),
        ([[[1, 2]]], [1, 2], [2, 0], 0.1, "rewards lie between"),
        ([[[1, 2]]], [2, 2], [0, 0], 0.1, "admits rounds that level 0 does not"),
        ([[[1, 2]]], [1, 2], [0, 0], 0.0, "alpha must be between 0 and 1"),
        ([[[1, 2]]], [1, 2], [0, 0], 1.0, "alpha must be between 0 and 1"),
    ],
)
def test_errors(splits, plays, rewards, alpha, message):
    with pytest.raises(ValueError, match=message):
        likelihood_ratio_interval(splits, plays, rewards, alpha)
