"""Differences of two arms by a chain and by a tree beside sums written out, and their derivatives."""

import math

import numpy as np
import pytest

from pgcpe.models.arms_in_pairs import ArmsOnChain, Step, TreeAndMean

CARDS = [3, 2, 2, 2]  # Z1, X1, Z2, X2
TWICE = [Step((0,), 1, 1), Step((2,), 3, 0)]
ONCE = [Step((0,), 1, 0)]


def drawn(seed):
    """Rows of the chain, and last those of the reward."""
    rng = np.random.default_rng(seed)
    rows = [rng.dirichlet(np.ones(card), size=math.prod(CARDS[:i])).ravel() for i, card in enumerate(CARDS)]
    mean = rng.uniform(size=math.prod(CARDS))
    return np.concatenate([*rows, np.stack([1.0 - mean, mean], axis=1).ravel()])


def joint_of(tables):
    joint, at = np.ones(CARDS), 0
    for i in range(4):
        size = math.prod(CARDS[: i + 1])
        joint = joint * tables[at : at + size].reshape(*CARDS[: i + 1], *(1,) * (3 - i))
        at += size
    return joint, tables[at + 1 :: 2].reshape(CARDS)


def test_two_treatments_and_one():
    """The sum over z1 and z2 of P(z1) P(z2 | z1, X1 = 1) E[Y | z1, X1 = 1, z2, X2 = 0], and that of one treatment."""
    tables = drawn(0)
    joint, mean = joint_of(tables)
    twice = sum(
        joint[z1].sum() * joint[z1, 1, z2].sum() / joint[z1, 1].sum() * mean[z1, 1, z2, 0]
        for z1 in range(3)
        for z2 in range(2)
    )
    once = sum(joint[z].sum() * (joint * mean)[z, 0].sum() / joint[z, 0].sum() for z in range(3))
    arms = ArmsOnChain(CARDS, [TWICE, ONCE])
    assert arms.difference(tables, 0, 1)[0] == pytest.approx(twice - once, abs=1e-12)
    assert arms.difference(tables, 1, 0)[0] == pytest.approx(once - twice, abs=1e-12)
    assert ArmsOnChain(CARDS, [TWICE, []]).difference(tables, 0, 1)[0] == pytest.approx(twice - (joint * mean).sum())


TREE = np.random.default_rng(1).uniform(0.2, 0.8, 3 + 6 + 12 + 2)


@pytest.mark.parametrize(
    ("arms", "tables"),
    [
        (ArmsOnChain(CARDS, [TWICE, ONCE]), drawn(0)),
        (ArmsOnChain(CARDS, [[], TWICE]), drawn(1)),
        (TreeAndMean([3, 2], tree_first=True), TREE),
        (TreeAndMean([3, 2], tree_first=False), TREE),
        (TreeAndMean([], tree_first=False), np.array([0.3, 0.7, 0.6, 0.4])),
    ],
)
def test_derivatives(arms, tables):
    step, direction = 1e-6, np.random.default_rng(2).standard_normal(len(tables))
    slope = arms.difference(tables, 0, 1)[1]
    numeric = [
        (arms.difference(tables + step * e, 0, 1)[0] - arms.difference(tables - step * e, 0, 1)[0]) / (2 * step)
        for e in np.eye(len(tables))
    ]
    assert slope == pytest.approx(numeric, abs=1e-7)
    both = np.array([[0, 1], [1, 0]])
    points = np.stack([tables, tables])
    assert arms.slopes(points, both) == pytest.approx(np.stack([slope, -slope]))
    ahead, behind = (arms.slopes(points + sign * step * direction, both) for sign in (1, -1))
    found = arms.products(points, both, np.stack([direction, direction]))
    assert found == pytest.approx((ahead - behind) / (2 * step), abs=1e-6)


def test_a_tree_and_a_mean():
    """Of a tree of one split: .3 x .2 + .7 x .9 less .4."""
    tables = np.array([0.3, 0.7, 0.8, 0.2, 0.1, 0.9, 0.6, 0.4])
    assert TreeAndMean([2], tree_first=True).difference(tables, 0, 1)[0] == pytest.approx(0.69 - 0.4)
    assert TreeAndMean([2], tree_first=False).difference(tables, 0, 1)[0] == pytest.approx(0.4 - 0.69)
