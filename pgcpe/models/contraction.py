"""Sums over all variables of the product of a network's tables, for each of a list of actions at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import opt_einsum
from numpy.typing import NDArray

__all__ = ["Contraction"]

Floats = NDArray[np.float64]

LARGEST_ARRAY = 2**24
"""Contraction is given up where an intermediate array of one action alone would have more entries."""

WIDEST_TABLE = 20
"""Nor is a node with more parents given a table."""


class Contraction:
    """The sum over all variables of the product of tables, in a network some of whose nodes are set by an action.

    Parameters
    ----------
    parents
        For each node, numbered in causal order, the positions of its parents.
    cards
        The number of states of each node.
    forced
        Integer array of shape (actions, nodes): the state that an action sets, -1 where it leaves the node free.
    wanted
        What is summed: an outcome that no action sets, whose table holds its expected value for each state of its
        parents; or a tuple of nodes that are kept, whose joint distribution is the result.

    Attributes
    ----------
    relevant
        The nodes whose tables enter: what is wanted and its ancestors.

    Examples
    --------
    >>> chain = Contraction([(), (0,)], [2, 2], np.array([[-1, -1], [1, -1]]), 1)
    >>> chain({0: np.array([0.5, 0.5]), 1: np.array([0.2, 0.8])})
    array([0.5, 0.8])
    """

    def __init__(
        self,
        parents: Sequence[tuple[int, ...]],
        cards: Sequence[int],
        forced: NDArray[Any],
        wanted: int | tuple[int, ...],
    ) -> None:
        self._parents, self._cards = parents, cards
        self.forced = np.asarray(forced, dtype=np.int64)
        self._kept = wanted if isinstance(wanted, tuple) else ()
        self._outcome = -1 if isinstance(wanted, tuple) else wanted
        ancestors = set(self._kept) if isinstance(wanted, tuple) else {wanted}
        for node in range(max(ancestors, default=-1), -1, -1):
            if node in ancestors:
                ancestors.update(parents[node])
        self.relevant = sorted(ancestors)

    @property
    def exact(self) -> bool:
        """Whether the width of the graph allows the contraction."""
        return self._actions_at_once > 0

    @cached_property
    def _somewhere_set(self) -> list[bool]:
        """Which nodes some action sets: their tables have an axis over the actions."""
        return [bool((self.forced[:, node] >= 0).any()) for node in range(self.forced.shape[1])]

    @cached_property
    def _operands(self) -> str:
        """The contraction in the notation of einsum: letter 0 runs over the actions, letter i + 1 over node i."""
        letter: Callable[[int], str] = opt_einsum.get_symbol
        terms = [letter(0)]  # ones, for the case that no action sets anything
        for node in self.relevant:
            axis = letter(0) if self._somewhere_set[node] else ""
            terms.append(axis + "".join(letter(v + 1) for v in self._axes(node)))
        return ",".join(terms) + "->" + letter(0) + "".join(letter(v + 1) for v in self._kept)

    def _axes(self, node: int) -> tuple[int, ...]:
        return self._parents[node] if node == self._outcome else (*self._parents[node], node)

    def _shapes(self, actions: int) -> tuple[tuple[int, ...], ...]:
        shapes: list[tuple[int, ...]] = [(actions,)]
        for node in self.relevant:
            axes = tuple(self._cards[v] for v in self._axes(node))
            shapes.append((actions, *axes) if self._somewhere_set[node] else axes)
        return tuple(shapes)

    @cached_property
    def _actions_at_once(self) -> int:
        """How many actions fit into one contraction; 0 if not even one does."""
        if max((len(self._parents[node]) for node in self.relevant), default=0) > WIDEST_TABLE:
            return 0
        largest = _largest_intermediate(self._operands, self._shapes(1))
        set_tables = [np.prod([self._cards[v] for v in self._axes(n)]) for n in self.relevant if self._somewhere_set[n]]
        return min(LARGEST_ARRAY // max(largest, int(max(set_tables, default=1))), len(self.forced))

    def __call__(self, tables: Mapping[int, Floats], *, derivative_of: int = -1) -> Floats:
        """Return the sums, an array of shape (actions, states of the nodes kept).

        Parameters
        ----------
        tables
            For each relevant node its table, of axes parents, then the node itself; that of an outcome has no axis for
            itself.
        derivative_of
            A node in whose place a derivative of its table is given: actions that set it have no derivative.
        """
        parts = []
        for start in range(0, len(self.forced), self._actions_at_once):
            forced = self.forced[start : start + self._actions_at_once]
            operands = [np.ones(len(forced))]
            for node in self.relevant:
                table = tables[node]
                if self._somewhere_set[node]:
                    table = np.multiply.outer(forced[:, node] < 0, table)
                    if node != derivative_of:
                        for value in range(self._cards[node]):
                            table[forced[:, node] == value, ..., value] = 1.0
                operands.append(table)
            parts.append(_expression(self._operands, self._shapes(len(forced)))(*operands))
        return np.concatenate(parts)


@lru_cache(maxsize=1024)
def _expression(operands: str, shapes: tuple[tuple[int, ...], ...]) -> Any:
    """Return the contraction with its path, which costs more to find than small tables to contract."""
    return opt_einsum.contract_expression(operands, *shapes)


@lru_cache(maxsize=1024)
def _largest_intermediate(operands: str, shapes: tuple[tuple[int, ...], ...]) -> int:
    return int(opt_einsum.contract_path(operands, *shapes, shapes=True)[1].largest_intermediate)
