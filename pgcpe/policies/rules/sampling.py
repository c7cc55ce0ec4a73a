"""Sampling rules: which actions to play next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pgcpe.confidence.pairwise import pairs
from pgcpe.plays.actions import Action
from pgcpe.policies.rules.base import SamplingRule
from pgcpe.policies.rules.state import PolicyState, best_arm

__all__ = ["EachOnce", "HighestIndex", "ObserveAndTwoCandidates", "TopTwo", "TwoCandidates"]

NULL = Action()

GOLDEN = (5**0.5 - 1) / 2
"""The multiples of the golden ratio, less their whole parts, fill [0, 1] as evenly as a sequence can."""


class TwoCandidates(SamplingRule):
    """LUCB's rule: the challenger a_l and the leader a_h (Kalyanakrishnan et al. 2012)."""

    def choose(self, state: PolicyState, pending: Sequence[Action] = ()) -> list[Action]:
        """Return a_l and a_h."""
        state = state.expecting(pending)
        arms = state.bandit.arms
        return [arms[state.challenger(state.index)], arms[state.leader]]


class EachOnce(SamplingRule):
    """Every arm once, in random order, then another rule: how the classical algorithms begin."""

    def __init__(self, then: SamplingRule) -> None:
        self._then = then

    def choose(self, state: PolicyState, pending: Sequence[Action] = ()) -> list[Action]:
        """Return all arms that were not played yet, else what the other rule chooses."""
        unplayed = np.flatnonzero(state.expecting(pending).plays == 0)
        if len(unplayed) == 0:
            return self._then.choose(state, pending)
        return [state.bandit.arms[i] for i in unplayed[np.argsort(state.rank[unplayed])]]


class HighestIndex(SamplingRule):
    """The arm of the highest upper bound, one play an iteration: the rule of UCB."""

    def choose(self, state: PolicyState, pending: Sequence[Action] = ()) -> list[Action]:
        """Return the leader or the challenger, whichever has the higher bound."""
        state = state.expecting(pending)
        h, other = state.leader, state.challenger(state.index)
        return [state.bandit.arms[other if state.index[other] > state.index[h] else h]]


class TopTwo(SamplingRule):
    """The arm of the highest mean or the one that the data rule out least, one play an iteration.

    The challenger is the arm of the lowest transport cost; the leader gets the share of the pair's plays that its own
    contribute to that cost (top-two sampling with information-directed selection, You et al. 2023). In place of a coin
    the share is kept along a sequence that fills [0, 1] evenly, so that the plays are a function of what was told.
    """

    def choose(self, state: PolicyState, pending: Sequence[Action] = ()) -> list[Action]:
        """Return the leader or its challenger."""
        state = state.expecting(pending)
        arms, h = state.bandit.arms, state.leader
        costs, shares = pairs(state.plays, state.rewards, h, state.epsilon)
        challenger = best_arm(-costs, state.plays, state.rank, skip=h)
        point = (state.rank[0] / len(arms) + GOLDEN * state.plays.sum()) % 1.0
        return [arms[h if point < shares[challenger] else challenger]]


class ObserveAndTwoCandidates(SamplingRule):
    """The paper's rule: ``do()``, then a_l and a_h, always three, an arm twice where it is both (Algorithms 1 and 3).

    Where ``do()`` may not be played, the two candidates alone.
    """

    def choose(self, state: PolicyState, pending: Sequence[Action] = ()) -> list[Action]:
        """Return ``do()``, a_l and a_h."""
        state = state.expecting(pending)
        arms = state.bandit.arms
        candidates = [arms[state.challenger()], arms[state.leader]]  # Algorithms 1 and 3, line 4: a_l and a_h
        # Algorithm 3, lines 9 and 14 (Algorithm 1, lines 9 and 13)
        return [NULL, *candidates] if state.bandit.may_observe else candidates
