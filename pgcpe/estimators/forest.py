"""A tree of cells for every arm, laid out flat, and the loops over it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgcpe._numba import njit
from pgcpe.bandit import CausalBandit
from pgcpe.confidence.tree import Tree, Walk
from pgcpe.graphs.answers import Factor, factors_of
from pgcpe.graphs.identification import AdmissibleSteps
from pgcpe.plays.samples import Samples

__all__ = ["MOST_CELLS", "Counts", "Forest", "Plays", "forest_of"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
MOST_CELLS = 1_000_000
"""An arm whose tree would have more leaves has none: no study fills them."""


class Forest(NamedTuple):
    """The layout.

    Arms whose actions set the same variables have trees of one shape, ``set_of[i]`` is which of them arm i has. Its
    levels are ``level_start[i] : level_start[i + 1]``, one for each variable of its formula, the reward last; its
    treatments, in causal order, ``treated_start[i] : treated_start[i + 1]``. Its nodes begin at
    ``node_start[i]``, level by level from the root, its leaves at ``leaf_start[i]``. An arm without treatments has a
    tree of one leaf, an arm without a sequence none.

    Attributes
    ----------
    column, arity
        For each level the column of its variable and the number of its states; -1 and 2 for the reward.
    before
        For each level how many of the arm's treatments come before it.
    treated
        For each treatment its column and the code of its state.
    """

    set_of: Integers
    level_start: Integers
    column: Integers
    arity: Integers
    before: Integers
    treated_start: Integers
    treated: Integers
    node_start: Integers
    leaf_start: Integers

    def all_levels(self) -> NDArray[np.int64]:
        """Return the numbers of levels of each shape, an array with one row: plays of ``do()`` are admitted to all."""
        levels = np.zeros((1, int(self.set_of.max()) + 1), dtype=np.int64)
        levels[0, self.set_of] = np.diff(self.level_start)
        return levels

    def counts(self) -> Counts:
        """Return counts of zero."""
        return Counts(*(np.zeros(size) for size in (self.node_start[-1], self.leaf_start[-1], self.leaf_start[-1])))

    def walks(self) -> Walk:
        """Return room for the walks through all trees."""
        return Walk(*(np.zeros(self.node_start[-1]) for _ in Walk._fields))


class Counts(NamedTuple):
    """The rounds into the nodes of all trees, those of the leaves and the sums of their rewards."""

    into: Floats
    n: Floats
    x: Floats

    def copy(self) -> Counts:
        """Return a copy, which later counting does not change."""
        return Counts(*(c.copy() for c in self))

    def without(self, other: Counts) -> Counts:
        """Return what is left when other counts are taken away."""
        return Counts(*(np.maximum(all_ - some, 0.0) for all_, some in zip(self, other, strict=True)))


class Plays(NamedTuple):
    """What the loops read of plays.

    Attributes
    ----------
    codes
        Array of shape (plays, variables).
    which
        The number of each play's action.
    rewards
        Array over the plays.
    """

    codes: NDArray[np.int32]
    which: NDArray[np.intp]
    rewards: Floats

    @classmethod
    def of(cls, samples: Samples) -> Plays:
        """Return what samples hold."""
        return cls(samples.codes, samples.which, samples.known_rewards)


class _Shape(NamedTuple):
    """What the trees of all arms that set the same variables have in common."""

    levels: list[tuple[int, int, int]]  # column, number of states, treatments before it
    treatments: list[str]
    nodes: int
    leaves: int

    @classmethod
    def of(cls, sequence: AdmissibleSteps | None, bandit: CausalBandit) -> _Shape:
        """Return the shape of the trees of a sequence; that of none where it has too many cells."""
        column, cards = _columns(bandit), {v: len(bandit.states[v]) for v in bandit.coding.variables}
        levels = [(column[v], cards[v], k) for k, (_, z) in enumerate(sequence or []) for v in sorted(z)]
        sizes = np.cumprod([1, *(arity for _, arity, _ in levels)])
        if sequence is None or int(sizes[-1]) > MOST_CELLS:
            return cls([], [], 0, 0)
        reward = (-1, 2, len(sequence))
        return cls([*levels, reward], [x for x, _ in sequence], int(sizes.sum()), int(sizes[-1]))


def forest_of(bandit: CausalBandit) -> tuple[Forest, list[list[Factor]]]:
    """Return the layout for the arms that have a sequence, and the factors of each shape's formula; none for others."""
    shapes = {variables: _Shape.of(sequence, bandit) for variables, sequence in bandit.sequence_of_set.items()}
    factors = [
        factors_of(sequence, bandit.reward) if sequence is not None and shapes[variables].levels else []
        for variables, sequence in bandit.sequence_of_set.items()
    ]
    number = {variables: k for k, variables in enumerate(shapes)}
    column, arms = _columns(bandit), [shapes[action.variables] for action in bandit.canonical]
    code = {v: {s: k for k, s in enumerate(bandit.states[v])} for v in bandit.coding.variables}
    levels = [level for shape in arms for level in shape.levels]
    treated = [
        (column[x], code[x][action[x]])
        for action, shape in zip(bandit.canonical, arms, strict=True)
        for x in shape.treatments
    ]
    columns, arity, before = np.array(levels, dtype=np.int64).reshape(-1, 3).T.copy()
    return Forest(
        np.array([number[action.variables] for action in bandit.canonical], dtype=np.int64),
        _starts([len(shape.levels) for shape in arms]),
        columns,
        arity,
        before,
        _starts([len(shape.treatments) for shape in arms]),
        np.array(treated, dtype=np.int64).reshape(-1, 2),
        _starts([shape.nodes for shape in arms]),
        _starts([shape.leaves for shape in arms]),
    ), factors


def _columns(bandit: CausalBandit) -> dict[str, int]:
    return {v: j for j, v in enumerate(bandit.coding.variables)}


def _starts(sizes: Sequence[int]) -> Integers:
    """Return where parts of these sizes begin, and where the last ends."""
    return np.cumsum([0, *sizes], dtype=np.int64)


@njit(cache=True)
def tree_of(forest, counts, i):  # type: ignore[no-untyped-def]
    """Return the tree of arm i, whose arrays are views."""
    leaves = slice(forest.leaf_start[i], forest.leaf_start[i + 1])
    return Tree(
        forest.arity[forest.level_start[i] : forest.level_start[i + 1] - 1],
        counts.into[forest.node_start[i] : forest.node_start[i + 1]],
        counts.n[leaves],
        counts.x[leaves],
    )


@njit(cache=True)
def walk_of(forest, walks, i):  # type: ignore[no-untyped-def]
    """Return the walk through the tree of arm i, whose arrays are views."""
    nodes = slice(forest.node_start[i], forest.node_start[i + 1])
    return Walk(walks.plays[nodes], walks.reach[nodes], walks.below[nodes], walks.spread[nodes])


class Path(NamedTuple):
    """What decides how a round goes through the tree of an arm: see `Forest`, of which these are views."""

    column: Integers
    arity: Integers
    before: Integers
    treated: Integers


@njit(cache=True)
def path_of(forest, i):  # type: ignore[no-untyped-def]
    """Return the levels and treatments of arm i."""
    levels = slice(forest.level_start[i], forest.level_start[i + 1])
    treated = forest.treated[forest.treated_start[i] : forest.treated_start[i + 1]]
    return Path(forest.column[levels], forest.arity[levels], forest.before[levels], treated)


@njit(cache=True)
def count_plays(forest, counts, plays, depth):  # type: ignore[no-untyped-def]
    """Add rounds to the counts of every arm's tree, each as far as its action is admitted and its treatments agree.

    ``depth[action, shape]`` is how many levels of a shape of trees rounds of an action are admitted to.
    """
    for i in range(len(forest.set_of)):
        path, tree = path_of(forest, i), tree_of(forest, counts, i)
        nodes = np.zeros(len(path.column) + 1, dtype=np.int64)
        for row in range(len(plays.codes)):
            _count_round(path, tree, plays, row, depth[plays.which[row], forest.set_of[i]], nodes)


@njit(cache=True)
def count_own_plays(forest, counts, plays, depth, arm):  # type: ignore[no-untyped-def]
    """Add rounds to the counts of the tree of the arm of their action alone; -1 for none."""
    for row in range(len(plays.codes)):
        i = arm[plays.which[row]]
        if i >= 0:
            path, tree = path_of(forest, i), tree_of(forest, counts, i)
            nodes = np.zeros(len(path.column) + 1, dtype=np.int64)
            _count_round(path, tree, plays, row, depth[plays.which[row], forest.set_of[i]], nodes)


@njit(cache=True)
def _count_round(path, tree, plays, row, depth, nodes):  # type: ignore[no-untyped-def]
    passed = _passes_through(path, plays.codes, row, depth, nodes)
    if passed > 0:
        tree.into[0] += 1
    for level in range(passed):
        if path.column[level] >= 0:
            tree.into[nodes[level + 1]] += 1
        else:
            leaf = nodes[level] - (len(tree.into) - len(tree.n))
            tree.n[leaf] += 1
            tree.x[leaf] += plays.rewards[row]


@njit(cache=True)
def _passes_through(path, codes, row, depth, nodes):  # type: ignore[no-untyped-def]
    """Set the nodes that a round comes to, one for each level from the root on, and return how many levels it passes.

    It passes a level if all treatments before it agree, and comes to the child of the state of the level's variable.
    """
    checked, first, width, cell = 0, 0, 1, 0
    for level in range(depth):
        while checked < path.before[level]:
            if codes[row, path.treated[checked, 0]] != path.treated[checked, 1]:
                return level
            checked += 1
        if path.column[level] >= 0:
            first += width
            width *= path.arity[level]
            cell = cell * path.arity[level] + codes[row, path.column[level]]
            nodes[level + 1] = first + cell
    return depth


@njit(cache=True)
def influences(forest, walks, plays, depth, own, i):  # type: ignore[no-untyped-def]
    """Return what each round moved the estimate of arm i: squared and summed it is the variance at the frequencies.

    In a tree, of which the walk at the plain frequencies is, that is the sum over the nodes it passed of
    w (value after - value before) / n. ``own`` is which arm's each action is, the plays and the value of every arm, and
    which are estimated by their trees; the others are by their own plays.
    """
    arm, n, value, tree = own
    out = np.zeros(len(plays.codes))
    if not tree[i]:
        for row in range(len(out)):
            if arm[plays.which[row]] == i:
                out[row] = (plays.rewards[row] - value[i]) / n[i]
        return out
    path, found = path_of(forest, i), walk_of(forest, walks, i)
    rate, moved = _moved_at(path, found)
    nodes, admitted, last = np.zeros(len(path.column) + 1, dtype=np.int64), depth[:, forest.set_of[i]], len(path.column)
    for row in range(len(out)):
        levels = admitted[plays.which[row]]
        if levels > 0:
            passed = _passes_through(path, plays.codes, row, levels, nodes)
            if passed == last:
                leaf = nodes[last - 1]
                out[row] = moved[leaf] + rate[leaf] * (plays.rewards[row] - found.below[leaf])
            elif passed > 0:
                out[row] = moved[nodes[passed]]
    return out


@njit(cache=True)
def _moved_at(path, found):  # type: ignore[no-untyped-def]
    """Return w / n of every node, and what a round that came to it has moved before it goes on."""
    rate, moved = np.zeros(len(found.plays)), np.zeros(len(found.plays))
    for node in range(len(rate)):
        if found.plays[node] > 0:
            rate[node] = found.reach[node] / found.plays[node]
    node, child, width = 0, 1, 1
    for m in path.arity[:-1]:
        for _ in range(width):
            for c in range(child, child + m):
                moved[c] = moved[node] + rate[node] * (found.below[c] - found.below[node])
            child += m
            node += 1
        width *= m
    return rate, moved


@njit(cache=True)
def shared_influences(forest, walks, plays, depth, own, leader, arms):  # type: ignore[no-untyped-def]
    """Return, summed over the rounds, the squares of the leader's influence less an arm's, the arm's, the leader's."""
    reference = influences(forest, walks, plays, depth, own, leader)
    apart, alone = np.zeros(len(arms)), np.zeros(len(arms))
    for k, i in enumerate(arms):
        moved = influences(forest, walks, plays, depth, own, i)
        for row in range(len(moved)):
            apart[k] += (reference[row] - moved[row]) ** 2
            alone[k] += moved[row] ** 2
    return apart, alone, (reference**2).sum()
