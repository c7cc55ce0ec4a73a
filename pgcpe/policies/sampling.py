"""Sampling rules: which actions to play next."""

from __future__ import annotations

from pgcpe.actions import Action
from pgcpe.policies.rules import PolicyState

__all__ = ["ObserveAndTwoCandidates", "TwoCandidates"]

NULL = Action()


class TwoCandidates:
    """LUCB's rule: the challenger a_l and the leader a_h (Kalyanakrishnan et al. 2012)."""

    def choose(self, state: PolicyState) -> list[Action]:
        """Return a_l and a_h; the leader alone where it has no challenger."""
        arms = state.bandit.arms
        if state.challenger < 0:
            return [arms[state.leader]]
        return [arms[state.challenger], arms[state.leader]]


class ObserveAndTwoCandidates:
    """The paper's rule: ``do()``, then a_l and a_h, always three, an arm twice where it is both (Algorithms 1 and 3).

    Where ``do()`` may not be played, the two candidates alone.
    """

    def choose(self, state: PolicyState) -> list[Action]:
        """Return ``do()``, a_l and a_h."""
        candidates = TwoCandidates().choose(state)
        return [NULL, *candidates] if NULL in state.bandit.costs else candidates  # costs: of every playable action
