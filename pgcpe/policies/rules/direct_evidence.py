"""What direct plays show of a leader that was named before they were made, and at which error probabilities.

A wrong stop returns an arm h although one *fixed* arm, the best, is better by more than epsilon. A union over the arms
is needed only because h is chosen from the data: if it was named before the data that decide, there is none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgcpe.confidence.intervals import Intervals, probability
from pgcpe.confidence.pairwise import statistics
from pgcpe.confidence.sequences import refresh_kt
from pgcpe.estimators.base import EndLevels
from pgcpe.policies.error_budget import ErrorBudget
from pgcpe.policies.rules.state import NamedLeader

__all__ = ["DirectEnds", "PairLevels", "naming_share", "spend_ends"]

Floats = NDArray[np.float64]

FIRST_SHARES = (0.4, 0.3, 0.2, 0.07)
"""Of the first four times of naming; all later ones share what is left."""


def naming_share(j: int) -> float:
    """Return the share of an error probability that pairs with the j-th named leader spend, from 1 on; they sum to 1.

    Examples
    --------
    >>> [round(naming_share(j), 4) for j in (1, 4, 5, 6)]
    [0.4, 0.07, 0.015, 0.005]
    """
    return FIRST_SHARES[j - 1] if j <= len(FIRST_SHARES) else 0.03 / ((j - 4) * (j - 3))


class PairLevels(NamedTuple):
    """Error probabilities of direct plays in pairs.

    Attributes
    ----------
    each
        Of a pair, by all plays: one of as many pairs as there are other arms.
    since
        Of all pairs of a leader that was named beforehand, by the plays since, for all times of naming together.
    """

    each: float
    since: float = 0.0

    @classmethod
    def spend(cls, budget: ErrorBudget, pairs: int, by: str) -> PairLevels:
        """Take them from a budget."""
        return cls(budget.spend("pairwise GLR", over=pairs, by=by), budget.spend("pairs since naming", by=by))

    def thresholds(self, named: Sequence[NamedLeader], leader: int) -> list[tuple[float, Floats, Floats]]:
        """Return for each statistic for a leader its threshold, in nats, and plays and rewards before it."""
        found = []
        for j, then in enumerate(named, 1):
            if then.arm == leader and self.since > 0:
                found.append((-math.log(self.since * naming_share(j)), then.plays, then.rewards))
        return found


def evidence_in_pairs(
    levels: PairLevels, plays: Floats, rewards: Floats, named: Sequence[NamedLeader], leader: int, epsilon: float
) -> tuple[Floats, Floats]:
    """Return for each arm the statistic that comes nearest to ruling it out, and its threshold, in nats."""
    nothing = np.zeros(len(plays))
    threshold = np.full(len(plays), -math.log(levels.each))
    evidence = statistics(plays, rewards, nothing, nothing, leader, epsilon)
    for asked, n_before, x_before in levels.thresholds(named, leader):
        since = statistics(plays, rewards, n_before, x_before, leader, epsilon)
        nearer = since - asked > evidence - threshold
        evidence, threshold = np.where(nearer, since, evidence), np.where(nearer, asked, threshold)
    return evidence, threshold


def spend_ends(budget: ErrorBudget, kind: str, n_arms: int, by: str) -> EndLevels:
    """Take from a budget what ends of a kind, ``"direct"`` or ``"tree"``, may err in."""
    upper = budget.spend(f"{kind} upper end", by=by)
    return EndLevels(upper, n_arms * budget.spend(f"{kind} lower ends", over=n_arms, by=by))


class DirectEnds:
    """Ends of the confidence sequences of own plays by which a leader is separated from other arms.

    Parameters
    ----------
    levels
        What the upper end of each arm may err in, as if it were the best arm, and the lower ends of all, together.
    n_arms
        The number of arms.
    """

    def __init__(self, levels: EndLevels, n_arms: int) -> None:
        nats = -math.log(probability("lower", levels.lower) / n_arms), -math.log(probability("upper", levels.upper))
        self._nats = np.repeat(np.array(nats)[:, None], n_arms, axis=1)
        self._done, self._lower, self._upper = np.zeros(n_arms), np.zeros(n_arms), np.ones(n_arms)

    def allow_more(self, arms: NDArray[np.bool_], upper: float) -> None:
        """Let the upper ends of some arms err more, before any play: those that have no bound of another kind."""
        self._nats[1, arms] = -np.log(np.exp(-self._nats[1, arms]) + upper)

    def now(self, plays: Floats, rewards: Floats) -> Intervals:
        """Return the ends; only those of arms with new plays are worked out again."""
        refresh_kt(plays, rewards, self._done, self._nats, self._lower, self._upper)
        return Intervals(self._lower, self._upper)

    def anew(self, plays: Floats, rewards: Floats) -> Intervals:
        """Return the ends for any plays, which need not have grown; nothing is kept of them."""
        done, lower, upper = np.zeros(len(plays)), np.zeros(len(plays)), np.ones(len(plays))
        refresh_kt(plays, rewards, done, self._nats, lower, upper)
        return Intervals(lower, upper)
