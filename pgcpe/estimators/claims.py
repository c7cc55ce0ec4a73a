"""What estimators take from a graph, by the statements of it that each arm's estimate rests on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgcpe.bandit import CausalBandit
from pgcpe.graphs.bitsets import bit_graph

__all__ = ["Claim", "adjustment_claims", "table_claims"]


class Claim(NamedTuple):
    """A statement of a graph, and the arms whose estimates rest on it.

    Attributes
    ----------
    words
        The statement.
    arms
        Boolean array over the arms.
    """

    words: str
    arms: NDArray[np.bool_]


def adjustment_claims(bandit: CausalBandit, served: NDArray[np.bool_]) -> list[Claim]:
    """Return for every step of the admissible sequences of some arms that nothing else confounds what it says."""
    found: dict[tuple[str, frozenset[str], tuple[str, ...]], NDArray[np.bool_]] = {}
    for i in np.flatnonzero(served):
        before: tuple[str, ...] = ()
        for treatment, adjusted in bandit.sequences[i] or ():
            step = treatment, frozenset(adjusted), before
            found.setdefault(step, np.zeros(len(served), dtype=np.bool_))[i] = True
            before = (*before, treatment)
    return [Claim(_unconfounded(*step, bandit.reward), arms) for step, arms in found.items()]


def table_claims(
    bandit: CausalBandit, nodes: Sequence[str], parents: Sequence[Sequence[int]], forced: NDArray[np.int32]
) -> list[Claim]:
    """Return for every table that it is the same under all actions, and for which arms it counts.

    Parameters
    ----------
    bandit
        The question.
    nodes, parents, forced
        Those of a `TableModel`.
    """
    bits, found = bit_graph(bandit.graph), []
    reward = bits.bit[bandit.reward]
    sets = {variables: bits.ancestors(reward, past=bits.bits(variables)) for variables in _sets(bandit)}
    reached = [sets[action.variables] for action in bandit.canonical]
    for j, node in enumerate(nodes):
        counts = np.array([bool(some & bits.bit[node]) for some in reached]) & (forced[:, j] < 0)
        causes = _listed(nodes[k] for k in parents[j])
        words = f"nothing but {causes} tells of {node}" if causes else f"nothing else tells of {node}"
        found.append(Claim(words, counts))
    return found


def _sets(bandit: CausalBandit) -> set[tuple[str, ...]]:
    return {action.variables for action in bandit.canonical}


def _unconfounded(treatment: str, adjusted: frozenset[str], before: tuple[str, ...], outcome: str) -> str:
    but = f"nothing but {_listed(sorted(adjusted))}" if adjusted else "nothing"
    once = f" once {_listed(before)} is set" if len(before) == 1 else f" once {_listed(before)} are set"
    return f"{but} confounds {treatment} and {outcome}{once if before else ''}"


def _listed(names: Iterable[str]) -> str:
    *some, last = [*names] or [""]
    return f"{', '.join(some)} and {last}" if some else last
