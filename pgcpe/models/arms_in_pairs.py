"""Differences of two arms by what hidden causes leave of the network: a tree and direct plays, or a saturated chain.

Both are as `PairOfActions`, with the two arms for the actions 0 and 1. Of a hidden cause that two variables share no
table P(variable | parents) is known. What is known are the factors of the arms' formulas (Eq. 4).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgcpe.models.derivatives import Layout
from pgcpe.models.second_order import PairOfActions

__all__ = ["ArmsOnChain", "Step", "TreeAndMean"]

Floats = NDArray[np.float64]
ENDS = np.array([0.0, 1.0])

TINY = 1e-30
"""A step along the imaginary axis: what it adds to the real part is lost to rounding."""


class TreeAndMean:
    """An arm through a tree of factors, each given all before it, and another by the mean reward of its own plays.

    The entries are those of the tree, level by level, then two for the mean: the probabilities of 0 and of 1.

    Parameters
    ----------
    cards
        The numbers of states of the tree's variables, the reward left out; none for a second mean.
    tree_first
        Whether the tree is that of action 0.
    """

    def __init__(self, cards: Sequence[int], *, tree_first: bool) -> None:
        chain = [tuple(range(i)) for i in range(len(cards) + 1)]
        layout = Layout(chain, [*cards, 2], np.full((1, len(cards) + 1), -1))
        self._tree, self._mine = PairOfActions(layout, ENDS), 0 if tree_first else 1

    def _signs(self, pairs: NDArray[np.int64]) -> Floats:
        """Return 1 where the tree is the first of a pair and the mean the second, -1 the other way, 0 if equal."""
        mine = np.asarray(pairs == self._mine, dtype=np.float64)
        return np.asarray(mine[:, 0] - mine[:, 1])

    def difference(self, tables: Floats, first: int, second: int) -> tuple[float, Floats]:
        """Return how much more the first action is worth than the second, and the derivative by every entry."""
        sign = self._signs(np.array([[first, second]]))[0]
        value, slope = self._tree.difference(tables[:-2], 0, -1)
        return float(sign * (value - tables[-1])), sign * np.concatenate([slope, [0.0, -1.0]])

    def slopes(self, tables: Floats, pairs: NDArray[np.int64]) -> Floats:
        """Return the derivatives of the first action's expected reward less the second's."""
        slope = self._tree.slopes(np.ascontiguousarray(tables[:, :-2]), _alone(len(tables)))
        mean = np.broadcast_to([0.0, -1.0], (len(tables), 2))
        return np.asarray(self._signs(pairs)[:, None] * np.hstack([slope, mean]))

    def products(self, tables: Floats, pairs: NDArray[np.int64], directions: Floats) -> Floats:
        """Return how `slopes` change along a direction at each point: those of the mean do not."""
        tree, along = (np.ascontiguousarray(some[:, :-2]) for some in (tables, directions))
        product = self._tree.products(tree, _alone(len(tables)), along)
        return np.asarray(self._signs(pairs)[:, None] * np.pad(product, [(0, 0), (0, 2)]))


def _alone(points: int) -> NDArray[np.int64]:
    return np.tile(np.array([0, -1]), (points, 1))


class Step(NamedTuple):
    """A step of an arm's formula: what it is summed over, then what is set.

    Attributes
    ----------
    adjusted
        The positions of the variables.
    treatment, state
        The position of the treatment, and its state.
    """

    adjusted: tuple[int, ...]
    treatment: int
    state: int


class ArmsOnChain:
    """Two arms by their formulas, of a joint distribution given as the chain of P(variable | all before).

    With p the joint distribution of all variables but the reward, an arm is worth (Eq. 4) the sum over z of
    ``prod_k p(z_1..z_k, x_1..x_k-1) / p(z_1..z_k-1, x_1..x_k-1)`` times the mean reward given all z and x. The entries
    are the rows of the chain, variable by variable, and last those of the reward, of 0 and of 1.

    Parameters
    ----------
    cards
        The numbers of states of the variables, the reward left out.
    formulas
        The steps of both arms; none for the mean of the reward.
    """

    def __init__(self, cards: Sequence[int], formulas: Sequence[Sequence[Step]]) -> None:
        self._cards, self._formulas, self._n = tuple(cards), [list(steps) for steps in formulas], len(cards)
        sizes = [math.prod(self._cards[: i + 1]) for i in range(self._n)]
        self._start = np.cumsum([0, *sizes, 2 * math.prod(self._cards)])

    def difference(self, tables: Floats, first: int, second: int) -> tuple[float, Floats]:
        """Return how much more the first action is worth than the second, and the derivative by every entry."""
        value, slope = self._both(tables[None], np.array([[first, second]]))
        return float(value[0]), slope[0]

    def slopes(self, tables: Floats, pairs: NDArray[np.int64]) -> Floats:
        """Return the derivatives of the first action's expected reward less the second's."""
        return np.asarray(self._both(tables, pairs)[1])

    def products(self, tables: Floats, pairs: NDArray[np.int64], directions: Floats) -> Floats:
        """Return how `slopes` change along a direction at each point, exactly: they are analytic functions."""
        return np.asarray(self._both(tables + TINY * 1j * directions, pairs)[1].imag / TINY)

    def _both(self, tables: NDArray[Any], pairs: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the differences, and the derivatives by every entry, at all points; tables may be complex."""
        points = len(tables)
        chain = [
            tables[:, self._start[i] : self._start[i + 1]].reshape(
                points, *self._cards[: i + 1], *(1,) * (self._n - i - 1)
            )
            for i in range(self._n)
        ]
        joint = np.ones((points, *self._cards), dtype=tables.dtype)
        for of_node in chain:
            joint = joint * of_node
        mean = tables[:, self._start[-2] + 1 :: 2].reshape(points, *self._cards)
        value, by_joint, by_mean = np.zeros(points, tables.dtype), np.zeros_like(joint), np.zeros_like(joint)
        for arm, steps in enumerate(self._formulas):
            sign = (pairs == arm) @ np.array([1.0, -1.0])
            if sign.any():
                value += sign * _formula(steps, joint, mean, sign, by_joint, by_mean)
        weight, slope = by_joint * joint, np.zeros_like(tables)
        for i, of_node in enumerate(chain):
            by_node = weight.sum(axis=tuple(range(i + 2, self._n + 1)), keepdims=True) / of_node
            slope[:, self._start[i] : self._start[i + 1]] = by_node.reshape(points, -1)
        slope[:, self._start[-2] + 1 :: 2] = by_mean.reshape(points, -1)
        return value, slope


def _formula(
    steps: Sequence[Step], joint: NDArray[Any], mean: NDArray[Any], sign: Floats,
    by_joint: NDArray[Any], by_mean: NDArray[Any],
) -> NDArray[Any]:  # fmt: skip
    """Return what a formula is worth at every point; add its derivatives, with their sign, by the two factors."""
    points, n = len(joint), joint.ndim - 1
    at: list[Any] = [slice(None)] * (n + 1)
    kept: set[int] = set()
    ratios = []  # where the treatments before are as they are set; what is summed in the numerator, and the denominator
    weight: Any = 1.0
    for step in steps:
        if step.adjusted:
            over = tuple(1 + v for v in step.adjusted)
            above = joint[tuple(at)].sum(axis=_others(n, kept | {*step.adjusted}), keepdims=True)
            below = above.sum(axis=over, keepdims=True)
            ratios.append((tuple(at), over, above, below))
            weight, kept = weight * above / below, kept | {*step.adjusted}
        at[1 + step.treatment] = slice(step.state, step.state + 1)
    set_, others = tuple(at), _others(n, kept)
    there, rewards = joint[set_], mean[set_]
    below = there.sum(axis=others, keepdims=True)
    above = (there * rewards).sum(axis=others, keepdims=True)
    part = weight * above / below  # of the value, for every z
    everywhere = tuple(range(1, n + 1))
    value = part.sum(axis=everywhere)
    signed = sign.reshape(points, *(1,) * n)
    by_mean[set_] += signed * weight / below * there
    by_joint[set_] += signed * (weight * rewards / below - part / below)
    for where, over, above, below in ratios:
        later = tuple(axis for axis in everywhere if above.shape[axis] == 1)
        reached = part.sum(axis=later, keepdims=True)
        by_joint[where] += signed * (reached / above - reached.sum(axis=over, keepdims=True) / below)
    return np.asarray(value)


def _others(n: int, kept: set[int]) -> tuple[int, ...]:
    return tuple(1 + v for v in range(n) if v not in kept)
