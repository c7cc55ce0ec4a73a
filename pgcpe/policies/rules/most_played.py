"""The stopping rule of lil'UCB's heuristic: by how often arms were played."""

from __future__ import annotations

from pgcpe.policies.rules.base import NOT_YET, StoppingRule, Verdict
from pgcpe.policies.rules.state import PolicyState
from pgcpe.policies.rules.stopping import merging_assumed

__all__ = ["MostPlayed"]


class MostPlayed(StoppingRule):
    """Stop when one arm has been played more than `factor` times as often as all others together: lil'UCB's rule.

    The heuristic's constants are not proved: the stop is heuristic, and it is for the arm of the most plays.
    """

    def __init__(self, factor: float) -> None:
        self._factor = factor

    def check(self, state: PolicyState) -> Verdict:
        """Return whether the plays of one arm outweigh those of the others."""
        most = int(state.plays.argmax())
        others = state.plays.sum() - state.plays[most]
        if state.plays.min() == 0 or state.plays[most] < 1.0 + self._factor * others:
            return NOT_YET
        reason = f"{state.bandit.arms[most]} was played {state.plays[most]:.0f} times and all others {others:.0f} times"
        return Verdict(True, reason, "heuristic", most, merging_assumed(state))
