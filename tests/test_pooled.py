"""Pooled trees: what they count, that their regions are those of martingales, and that they hold; and the policy."""

import itertools
import math

import numpy as np
import pytest
from helpers import joint

from pgcpe import AdmissibleSequence, CausalBandit, SimulatedEnvironment, do
from pgcpe.estimators.base import FIRST_SNAPSHOT, snapshot_share
from pgcpe.estimators.forest import smoothed_values
from pgcpe.estimators.pooled import PooledTrees
from pgcpe.paper import experiment_2, experiment_3, two_layer
from pgcpe.paper.instance import binary_network


def counts(trees, arm):
    """The counts into the nodes, of the leaves, and the rewards there, of one arm."""
    start, leaf = trees._forest.node_start, trees._forest.leaf_start
    into, n, x = trees._counts
    return into[start[arm] : start[arm + 1]], n[leaf[arm] : leaf[arm + 1]], x[leaf[arm] : leaf[arm + 1]]


def test_of_observation_alone_the_trees_are_those_of_the_adjustment_formula():
    for made in (experiment_2(1), experiment_3(4), two_layer(2, n=5)):
        samples = made.bandit.encode(do(), made.environment(0).sample(do(), 50))
        pooled, passive = PooledTrees().start(made.bandit), AdmissibleSequence().start(made.bandit)
        assert pooled.served_.tolist() == passive.served_.tolist()
        pooled.update(samples), passive.update(samples)
        value, variance, _ = smoothed_values(*pooled._forest, *pooled._counts)
        np.testing.assert_allclose([value, variance], passive.smoothed(), rtol=1e-12)
        # before the first snapshot there is one region, at its share of delta
        ours, theirs = pooled.intervals(0.1), passive.intervals(0.1 * snapshot_share(0))
        np.testing.assert_allclose([ours.lower, ours.upper], [theirs.lower, theirs.upper], atol=1e-9)


def test_the_shares_of_the_snapshots_sum_to_one():
    assert sum(map(snapshot_share, range(100_000))) == pytest.approx(1.0, abs=1e-5)


def back_door():
    """Z -> X -> Y, Z -> Y, and W, which causes nothing but may be set."""
    network = binary_network(
        {
            "Z": ([], lambda: 0.3),
            "W": ([], lambda: 0.5),
            "X": (["Z"], lambda z: 0.2 + 0.5 * z),
            "Y": (["X", "Z"], lambda x, z: 0.1 + 0.3 * x + 0.4 * z),
        }
    )
    arms = [do(X=1), do(X=0)]
    playable = [*arms, do(), do(Z=1), do(W=1)]
    return network, CausalBandit(network, reward="Y", arms=arms, playable=playable)


def test_each_play_counts_where_it_may():
    network, bandit = back_door()
    trees = PooledTrees().start(bandit)
    environment = SimulatedEnvironment(network, seed=0)
    n_of = {do(): 7, do(X=1): 5, do(X=0): 4, do(Z=1): 6, do(W=1): 3}
    seen = {}
    for action, n in n_of.items():
        samples = environment.sample(action, n)
        seen[action] = samples.to_frame()
        trees.update(bandit.encode(action, samples))
    into, n, x = counts(trees, 0)  # do(X=1): P(Z), then E[Y | Z, X=1]
    free = [do(), do(X=1), do(X=0), do(W=1)]  # plays that leave Z alone
    assert into[0] == sum(n_of[a] for a in free)
    assert into[2] == sum((seen[a]["Z"] == 1).sum() for a in free)
    for z in (0, 1):
        rows = [seen[a][(seen[a]["Z"] == z) & (seen[a]["X"] == 1)] for a in free]
        assert n[z] == sum(map(len, rows))
        assert x[z] == sum(r["Y"].sum() for r in rows)
    # plays that set Z would be right for the second factor, but not for the first: nested admission leaves them out


def test_what_is_known_does_not_depend_on_how_it_was_told():
    made = experiment_3(4)
    actions = [do(), *made.bandit.arms[:6]] * 60
    samples = made.environment(3).perform(actions)
    whole = PooledTrees().start(made.bandit).update(made.bandit.encode(actions, samples))
    pieces = PooledTrees().start(made.bandit)
    told = made.bandit.encode(actions, samples)
    for start, end in itertools.pairwise([0, 1, 5, FIRST_SNAPSHOT - 1, FIRST_SNAPSHOT + 3, 257, 300, len(actions)]):
        pieces.update(told.rows(slice(start, end)))
    for one, other in zip(whole._counts, pieces._counts, strict=True):
        np.testing.assert_array_equal(one, other)
    assert [j for j, _ in whole._snapshots] == [j for j, _ in pieces._snapshots] == [0, 1, 2]
    one, other = whole.intervals(0.1), pieces.intervals(0.1)
    np.testing.assert_array_equal([one.lower, one.upper], [other.lower, other.upper])


def mixture_over_likelihood(trees, arm, truth):
    """The martingale: over all nodes, the mixtures of what was counted over its likelihood under the truth."""
    into, n, x = counts(trees, arm)
    p_z, p_y = truth
    log = 0.0
    for a, b, p in [(into[2], into[1], p_z), *((x[z], n[z] - x[z], p_y[z]) for z in (0, 1))]:
        log += math.lgamma(a + 0.5) + math.lgamma(b + 0.5) - math.lgamma(a + b + 1) - math.log(math.pi)
        log -= a * math.log(p) + b * math.log(1 - p)
    return math.exp(log)


def test_the_martingale_has_mean_one_under_adaptive_plays():
    """All paths of four plays that are chosen by what was seen: do() first, then do(X=1) after a reward, else do(Z=1)
    or do()."""
    network, bandit = back_door()
    tables = {c.variable: (c.variables[1:], np.moveaxis(c.values, 0, -1)) for c in network.cpds}
    order = list(tables)
    laws = {}
    for action in (do(), do(X=1), do(Z=1)):
        law = joint(tables, dict(action))
        laws[action] = [
            (cell, law[cell])
            for cell in itertools.product((0, 1), repeat=4)
            if law[cell] > 0 and not cell[order.index("W")]
        ]
    total = mean = 0.0
    places = [order.index(v) for v in bandit.coding.variables]

    def go(plays, codes, weight):
        nonlocal total, mean
        if len(plays) == 4:
            trees = PooledTrees().start(bandit)
            samples = bandit.encode(do(), SimulatedEnvironment(network, seed=0).sample(do(), 0))
            told = type(samples)(samples.coding, np.array(codes, dtype=np.int32), tuple(plays), np.arange(4))
            trees.update(told)
            total += weight
            mean += weight * mixture_over_likelihood(trees, 0, (0.3, [0.4, 0.8]))
            return
        action = do() if not plays else do(X=1) if codes[-1][-1] else (do(Z=1) if len(plays) % 2 else do())
        for cell, probability in laws[action]:
            # W is a fair coin without effect, left out of the sum
            go([*plays, action], [*codes, [cell[i] for i in places]], weight * 2 * probability)

    go([], [], 1.0)
    assert total == pytest.approx(1.0, abs=1e-12)
    assert mean == pytest.approx(1.0, abs=1e-10)
