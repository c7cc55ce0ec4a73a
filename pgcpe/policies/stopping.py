"""Stopping rules: when to stop, and what that is worth."""

from __future__ import annotations

import numpy as np

from pgcpe.policies.rules import PolicyState, Verdict

__all__ = ["SeparatedIntervals"]

NOT_YET = Verdict(False)


class SeparatedIntervals:
    """Stop when no other arm can be better than the leader by more than epsilon: U_l <= L_h + epsilon.

    On the event that all intervals hold at all times the arm returned is within epsilon of the best, whenever and by
    whatever rule the plays were chosen. Where an arm's intervals contradict each other that event, or the graph, is
    refuted; the stop then carries no certificate.
    """

    def check(self, state: PolicyState) -> Verdict:
        """Return whether the leader's interval is separated from those of all others."""
        h, intervals = state.leader, state.intervals
        if state.challenger < 0:
            return Verdict(True, "all candidates have provably the same effect", "exact")
        highest = intervals.upper[state.challenger]
        if highest > intervals.lower[h] + state.epsilon:
            return NOT_YET
        reason = (
            f"{state.bandit.arms[h]} is at least {intervals.lower[h]:.3f} and every other arm at most {highest:.3f}"
        )
        if highest > intervals.lower[h]:
            reason += f", which is within epsilon = {state.epsilon:g}"
        if n := np.count_nonzero(state.conflicts):
            return Verdict(True, f"{reason}; but {n} arms contradict the graph", None)
        return Verdict(True, reason, state.certificate)
