"""Sampling rules: which actions to play next."""

from __future__ import annotations

import numpy as np

from pgcpe.actions import Action
from pgcpe.policies.rules import PolicyState, SamplingRule

__all__ = ["EachOnce", "HighestIndex", "ObserveAndTwoCandidates", "TwoCandidates"]

NULL = Action()


class TwoCandidates(SamplingRule):
    """LUCB's rule: the challenger a_l and the leader a_h (Kalyanakrishnan et al. 2012)."""

    def choose(self, state: PolicyState) -> list[Action]:
        """Return a_l and a_h; the leader alone where it has no challenger."""
        arms = state.bandit.arms
        if state.challenger < 0:
            return [arms[state.leader]]
        return [arms[state.challenger], arms[state.leader]]


class EachOnce(SamplingRule):
    """Every arm once, in random order, then another rule: how the classical algorithms begin."""

    def __init__(self, then: SamplingRule) -> None:
        self._then = then

    def choose(self, state: PolicyState) -> list[Action]:
        """Return all arms that were not played yet, else what the other rule chooses."""
        unplayed = np.flatnonzero(state.plays == 0)
        if len(unplayed) == 0:
            return self._then.choose(state)
        return [state.bandit.arms[i] for i in unplayed[np.argsort(state.rank[unplayed])]]


class HighestIndex(SamplingRule):
    """The arm of the highest upper bound, one play an iteration: the rule of UCB."""

    def choose(self, state: PolicyState) -> list[Action]:
        """Return the leader or the challenger, whichever has the higher bound."""
        h, other = state.leader, state.challenger
        return [state.bandit.arms[other if other >= 0 and state.index[other] > state.index[h] else h]]


class ObserveAndTwoCandidates(SamplingRule):
    """The paper's rule: ``do()``, then a_l and a_h, always three, an arm twice where it is both (Algorithms 1 and 3).

    Where ``do()`` may not be played, the two candidates alone.
    """

    def choose(self, state: PolicyState) -> list[Action]:
        """Return ``do()``, a_l and a_h."""
        candidates = TwoCandidates().choose(state)
        return [NULL, *candidates] if NULL in state.bandit.costs else candidates  # costs: of every playable action
