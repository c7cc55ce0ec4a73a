"""A tree of cells for every arm, laid out flat, and the loops over it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgcpe._numba import njit
from pgcpe.bandit import CausalBandit
from pgcpe.confidence.tree import Tree, Walk
from pgcpe.plays.samples import Samples

__all__ = ["MOST_CELLS", "Counts", "Factor", "Forest", "Plays", "forest_of"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Factor = tuple[str, frozenset[str]]
"""A variable and what it is conditioned on."""

MOST_CELLS = 1_000_000
"""An arm whose tree would have more leaves has none: no study fills them."""


class Forest(NamedTuple):
    """The layout.

    The levels of arm i are ``level_start[i] : level_start[i + 1]``, one for each variable of its formula, the reward
    last; its treatments, in causal order, ``treated_start[i] : treated_start[i + 1]``. Its nodes begin at
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

    level_start: Integers
    column: Integers
    arity: Integers
    before: Integers
    treated_start: Integers
    treated: Integers
    node_start: Integers
    leaf_start: Integers

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


def forest_of(bandit: CausalBandit) -> tuple[Forest, list[list[Factor]]]:
    """Return the layout for the arms that have a sequence, and the factors of each arm's formula; none for others."""
    column = {v: j for j, v in enumerate(bandit.coding.variables)}
    cards = {v: len(bandit.states[v]) for v in bandit.coding.variables}
    all_factors: list[list[Factor]] = []
    level_start, levels = [0], []
    treated_start, treated = [0], []
    node_start, leaf_start = [0], [0]
    for action, sequence in zip(bandit.canonical, bandit.sequences, strict=True):
        adjusted = [v for _, z in sequence or [] for v in sorted(z)]
        sizes = np.cumprod([1, *(cards[v] for v in adjusted)])
        factors: list[Factor] = []
        if sequence is not None and int(sizes[-1]) <= MOST_CELLS:
            given: set[str] = set()
            for k, (x, z) in enumerate(sequence):
                for v in sorted(z):
                    factors.append((v, frozenset(given)))
                    given.add(v)
                    levels.append((column[v], cards[v], k))
                given.add(x)
                treated.append((column[x], bandit.states[x].index(action[x])))
            factors.append((bandit.reward, frozenset(given)))
            levels.append((-1, 2, len(sequence)))
            node_start.append(node_start[-1] + int(sizes.sum()))
            leaf_start.append(leaf_start[-1] + int(sizes[-1]))
        else:
            node_start.append(node_start[-1])
            leaf_start.append(leaf_start[-1])
        level_start.append(len(levels))
        treated_start.append(len(treated))
        all_factors.append(factors)
    columns, arity, before = np.array(levels, dtype=np.int64).reshape(-1, 3).T.copy()
    return Forest(
        np.array(level_start, dtype=np.int64),
        columns,
        arity,
        before,
        np.array(treated_start, dtype=np.int64),
        np.array(treated, dtype=np.int64).reshape(-1, 2),
        np.array(node_start, dtype=np.int64),
        np.array(leaf_start, dtype=np.int64),
    ), all_factors


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


@njit(cache=True)
def count_plays(forest, counts, plays, admitted):  # type: ignore[no-untyped-def]
    """Add rounds to the counts of every arm's tree, each as far as its action is admitted and its treatments agree.

    ``admitted[action, arm]`` is how many levels rounds of an action are admitted to.
    """
    nodes = np.zeros(len(forest.column) + 1, dtype=np.int64)
    for row in range(len(plays.codes)):
        for i in range(len(forest.node_start) - 1):
            passed = _passes_through(forest, i, plays.codes, row, admitted[plays.which[row], i], nodes)
            first = forest.node_start[i]
            if passed > 0:
                counts.into[first] += 1
            for level in range(passed):
                if forest.column[forest.level_start[i] + level] >= 0:
                    counts.into[first + nodes[level + 1]] += 1
                else:
                    leaf = forest.leaf_start[i + 1] - (forest.node_start[i + 1] - first) + nodes[level]
                    counts.n[leaf] += 1
                    counts.x[leaf] += plays.rewards[row]


@njit(cache=True)
def _passes_through(forest, i, codes, row, depth, nodes):  # type: ignore[no-untyped-def]
    """Set the nodes that a round comes to, one for each level from the root on, and return how many levels it passes.

    It passes a level if all treatments before it agree, and comes to the child of the state of the level's variable.
    """
    checked, first, width, cell = forest.treated_start[i], 0, 1, 0
    for level in range(depth):
        at = forest.level_start[i] + level
        while checked < forest.treated_start[i] + forest.before[at]:
            if codes[row, forest.treated[checked, 0]] != forest.treated[checked, 1]:
                return level
            checked += 1
        if forest.column[at] >= 0:
            first += width
            width *= forest.arity[at]
            cell = cell * forest.arity[at] + codes[row, forest.column[at]]
            nodes[level + 1] = first + cell
    return depth


@njit(cache=True)
def influence(forest, walks, plays, admitted, served, out):  # type: ignore[no-untyped-def]
    """Add to ``out[row, arm]`` what each round moved the estimate of each arm served, its influence.

    That is the sum, over the nodes it passed, of w (value after - value before) / n: squared and summed over all rounds
    it is the variance of the value at the plain frequencies, of which the walks are.
    """
    nodes = np.zeros(len(forest.column) + 1, dtype=np.int64)
    for i in range(len(served)):
        if not served[i]:
            continue
        found = walk_of(forest, walks, i)
        for row in range(len(plays.codes)):
            passed = _passes_through(forest, i, plays.codes, row, admitted[plays.which[row], i], nodes)
            for level in range(passed):
                at, of = nodes[level], forest.level_start[i] + level
                after = plays.rewards[row] if forest.column[of] < 0 else found.below[nodes[level + 1]]
                out[row, i] += found.reach[at] / found.plays[at] * (after - found.below[at])
