"""Stopping rules: when to stop, and what that is worth."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pgcpe.confidence import probability
from pgcpe.pairwise import statistics
from pgcpe.policies.rules import PolicyState, Verdict

__all__ = ["MostPlayed", "PairwiseGLR", "SeparatedIntervals", "SeparatedOrTold"]

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


class MostPlayed:
    """Stop when one arm has been played more than `factor` times as often as all others together: lil'UCB's rule.

    The heuristic's constants are not proved: the stop is heuristic.
    """

    def __init__(self, factor: float) -> None:
        self._factor = factor

    def check(self, state: PolicyState) -> Verdict:
        """Return whether the plays of one arm outweigh those of the others."""
        if state.challenger < 0:
            return Verdict(True, "all candidates have provably the same effect", "exact")
        most = int(state.plays.argmax())
        others = state.plays.sum() - state.plays[most]
        if state.plays.min() == 0 or state.plays[most] < 1.0 + self._factor * others:
            return NOT_YET
        reason = f"{state.bandit.arms[most]} was played {state.plays[most]:.0f} times and all others {others:.0f} times"
        return Verdict(True, reason, state.certificate)


class PairwiseGLR:
    """Stop when the leader was told from every other arm: all pairwise statistics reach log((K - 1) / delta).

    The arm returned is then within epsilon of the best with probability at least 1 - delta, whatever chose the plays
    (`pgcpe.pairwise.pairwise_glr`). It looks at differences, and so needs less than intervals that are separated.
    """

    def __init__(self, delta: float) -> None:
        self._delta = probability("delta", delta)

    def check(self, state: PolicyState) -> Verdict:
        """Return whether the least statistic is large enough."""
        if state.challenger < 0:
            return Verdict(True, "all candidates have provably the same effect", "exact")
        h, arms = state.leader, state.bandit.arms
        threshold = math.log((len(arms) - 1) / self._delta)
        evidence = statistics(state.plays, state.rewards, h, state.epsilon)
        nearest = int(evidence.argmin())
        if not evidence[nearest] >= threshold:
            return NOT_YET
        within = f" by more than epsilon = {state.epsilon:g}" if state.epsilon > 0 else ""
        reason = f"no arm is better than {arms[h]}{within}: of all others {arms[nearest]} is told from it least, by "
        return Verdict(True, f"{reason}{evidence[nearest]:.2f} of {threshold:.2f} nats", "exact")


class SeparatedOrTold:
    """Stop when every other arm is either separated from the leader by intervals or told from it by direct plays.

    The intervals hold jointly but with the probability that the estimators were given, the pairwise statistics but with
    `delta`; on the event that all do, the arm returned is within epsilon of the best, whichever of the two decided for
    which challenger.

    Parameters
    ----------
    delta
        The error probability of the pairwise statistics.
    """

    def __init__(self, delta: float) -> None:
        self._delta = probability("delta", delta)

    def open(self, state: PolicyState) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which arms are not separated from the leader, and which of these are not told from it either."""
        h = state.leader
        overlapping = state.intervals.upper > state.intervals.lower[h] + state.epsilon
        overlapping[h] = False
        threshold = math.log((len(overlapping) - 1) / self._delta) if len(overlapping) > 1 else 0.0
        evidence = statistics(state.plays, state.rewards, h, state.epsilon)
        return overlapping, overlapping & ~(evidence >= threshold)

    def check(self, state: PolicyState) -> Verdict:
        """Return whether no challenger is left."""
        if state.challenger < 0:
            return Verdict(True, "all candidates have provably the same effect", "exact")
        h, arms = state.leader, state.bandit.arms
        overlapping, left = self.open(state)
        if left.any():
            return NOT_YET
        by_pairs = int(np.count_nonzero(overlapping))
        within = f" by more than epsilon = {state.epsilon:g}" if state.epsilon > 0 else ""
        reason = f"no arm is better than {arms[h]}{within}: {len(arms) - 1 - by_pairs} are below it by their intervals"
        reason += f", {by_pairs} are told from it by direct plays" if by_pairs else ""
        if n := np.count_nonzero(state.conflicts):
            return Verdict(True, f"{reason}; but {n} arms contradict the graph", None)
        return Verdict(True, reason, state.certificate)
