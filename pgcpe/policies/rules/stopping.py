"""Stopping rules: when to stop, and what that is worth.

Each is handed the error probability of a single event, which the policy took from its `ErrorBudget`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgcpe.confidence.intervals import probability
from pgcpe.confidence.pairwise import statistics
from pgcpe.estimators.base import IntervalEstimator
from pgcpe.plays.actions import Action
from pgcpe.policies.rules.base import NOT_YET, PolicyState, StoppingRule, Verdict

__all__ = [
    "DirectPairs",
    "MostPlayed",
    "PairwiseGLR",
    "SeparatedIntervals",
    "SeparatedOrRuledOut",
    "merging_assumed",
]


class SeparatedIntervals(StoppingRule):
    """Stop when no other arm can be better than the leader by more than epsilon: U_l <= L_h + epsilon for every l.

    On the event that all intervals hold at all times the arm returned is within epsilon of the best, whenever and by
    whatever rule the plays were chosen. Where an arm's intervals contradict each other that event, or the graph, is
    refuted; the stop then carries no certificate.
    """

    def unresolved(self, state: PolicyState) -> NDArray[np.bool_]:
        """Return which arms are not separated from the leader."""
        overlapping = state.intervals.upper > state.intervals.lower[state.leader] + state.epsilon
        overlapping[state.leader] = False
        return np.asarray(overlapping)

    def check(self, state: PolicyState) -> Verdict:
        """Return whether the leader's interval is separated from those of all others."""
        h, intervals = state.leader, state.intervals
        highest = intervals.upper[state.challenger()]  # U of a_l, whichever arm was played as such
        if highest > intervals.lower[h] + state.epsilon:  # Algorithms 1 and 3, line 5
            return NOT_YET
        reason = (
            f"{state.bandit.arms[h]} is at least {intervals.lower[h]:.3f} and every other arm at most {highest:.3f}"
        )
        if highest > intervals.lower[h]:
            reason += f", which is within epsilon = {state.epsilon:g}"
        if state.conflicts.any():
            return Verdict(True, f"{reason}; but {in_doubt(state)}", None, h)
        return Verdict(True, reason, state.certificate, h, assumed_by(state, IntervalEstimator))  # line 6


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


class PairwiseGLR(StoppingRule):
    """Stop when direct plays rule out every other arm: all pairwise statistics reach log(1/level).

    The arm returned is then within epsilon of the best but with the sum of the levels over the K - 1 pairs, whatever
    chose the plays (`pairwise_glr`). It looks at differences, and so needs less than intervals that are separated. It
    knows no graph, except that it may have merged arms.

    Parameters
    ----------
    level
        The error probability of a pair.
    """

    def __init__(self, level: float) -> None:
        self._threshold = -math.log(probability("level", level))

    def evidence(self, state: PolicyState) -> NDArray[np.float64]:
        """Return the evidence of direct plays against each arm, in nats; infinite at the leader."""
        return np.asarray(statistics(state.plays, state.rewards, state.leader, state.epsilon))

    def unresolved(self, state: PolicyState) -> NDArray[np.bool_]:
        """Return which arms are not ruled out by direct plays."""
        return np.asarray(~(self.evidence(state) >= self._threshold))

    def plays_to_resolve(self, state: PolicyState, gap: float) -> float:
        """Return about how many plays, half of each arm, resolve a pair whose means differ by a gap."""
        mean = min(max(state.estimates[state.leader], gap), 1.0 - gap)
        per_play = gap**2 / (4.0 * mean * (1.0 - mean))  # of each of the two: n times this is the transport cost
        n = 2.0 / per_play
        for _ in range(20):  # two mixtures lose log(n) / 2 and .23 each
            n = (self._threshold + math.log(n) + 0.46) / per_play
        return float(2.0 * n)

    def check(self, state: PolicyState) -> Verdict:
        """Return whether the least statistic is large enough."""
        evidence = self.evidence(state)
        nearest = int(evidence.argmin())
        if not evidence[nearest] >= self._threshold:
            return NOT_YET
        assumed, reason = merging_assumed(state), self._reason(state, state.bandit.arms[nearest], evidence[nearest])
        return Verdict(True, reason, "exact" if assumed else "direct", state.leader, assumed)

    def _reason(self, state: PolicyState, nearest: Action, evidence: float) -> str:
        return (
            f"{no_better(state)}: of all others direct plays rule out {nearest} least, by "
            f"{evidence:.2f} of {self._threshold:.2f} nats"
        )


class DirectPairs(PairwiseGLR):
    """`PairwiseGLR` over all *listed* arms, each by the plays of itself alone: it holds even if the graph is wrong.

    Where the graph merged arms the recommended class is represented by its first listed arm, and every other listed arm
    has to be ruled out by plays of its own.
    """

    def check(self, state: PolicyState) -> Verdict:
        """Return whether the least statistic of all listed arms is large enough."""
        bandit = state.bandit
        h = bandit.listed_index(bandit.arms[state.leader])
        evidence = statistics(state.listed_plays, state.listed_rewards, h, state.epsilon)
        nearest = int(evidence.argmin())
        if not evidence[nearest] >= self._threshold:
            return NOT_YET
        return Verdict(True, self._reason(state, bandit.listed[nearest], evidence[nearest]), "direct", state.leader)


class SeparatedOrRuledOut(StoppingRule):
    """Stop when every other arm is separated from the leader by intervals or ruled out by direct plays, in pairs.

    The intervals hold jointly but with the probability that the estimators were given, the pairwise statistics but with
    that of `pairs`; on the event that all do, the arm returned is within epsilon of the best, whichever of the two
    decided for which challenger.

    Once direct plays contradict the graph for some arm, they alone decide about any arm, and the stop keeps a
    certificate, unless the graph had merged arms.

    Parameters
    ----------
    pairs
        The rule for direct plays in pairs.
    """

    after_conflict = "from now on direct plays alone decide when to stop"

    def __init__(self, pairs: PairwiseGLR) -> None:
        self._intervals, self._pairs = SeparatedIntervals(), pairs

    def overlapping(self, state: PolicyState) -> NDArray[np.bool_]:
        """Return which arms the intervals do not separate from the leader: all of them once the graph is in doubt."""
        if state.conflicts.any():
            return np.asarray(np.arange(len(state.plays)) != state.leader)
        return self._intervals.unresolved(state)

    def contenders(self, state: PolicyState) -> NDArray[np.bool_]:
        """Return which arms direct plays do not rule out."""
        return self._pairs.unresolved(state)

    def unresolved(self, state: PolicyState) -> NDArray[np.bool_]:
        """Return which arms are neither separated from the leader nor ruled out."""
        return np.asarray(self.overlapping(state) & self._pairs.unresolved(state))

    def plays_to_resolve(self, state: PolicyState, gap: float) -> float:
        """Return about how many plays resolve a gap, by direct plays."""
        return self._pairs.plays_to_resolve(state, gap)

    def check(self, state: PolicyState) -> Verdict:
        """Return whether no challenger is left."""
        if self.unresolved(state).any():
            return NOT_YET
        arms, by_pairs = state.bandit.arms, int(np.count_nonzero(self.overlapping(state)))
        by_intervals = len(arms) - 1 - by_pairs
        said = [f"{_number(by_intervals)} below it by their intervals"] if by_intervals else []
        said += [f"{_number(by_pairs)} ruled out by direct plays"] if by_pairs else []
        reason = f"{no_better(state)}: {', '.join(said)}"
        if not state.conflicts.any():
            assumed = assumed_by(state, IntervalEstimator) if by_intervals else merging_assumed(state)
            return Verdict(True, reason, state.certificate, state.leader, assumed)
        if merging_assumed(state):
            return Verdict(True, f"{reason}; but {in_doubt(state)}, by which others were merged", None, state.leader)
        return Verdict(True, reason, "direct", state.leader)


def _number(n: int) -> str:
    return f"{n} {'is' if n == 1 else 'are'}"


def no_better(state: PolicyState) -> str:
    """Return in words that no arm is better than the leader."""
    within = f" by more than epsilon = {state.epsilon:g}" if state.epsilon > 0 else ""
    return f"no arm is better than {state.bandit.arms[state.leader]}{within}"


def in_doubt(state: PolicyState) -> str:
    """Return in words how many arms contradict the graph."""
    n = int(np.count_nonzero(state.conflicts))
    return f"{n} {'arm contradicts' if n == 1 else 'arms contradict'} the graph"


def merging_assumed(state: PolicyState) -> tuple[str, ...]:
    """Return the assumption that merged arms are equal, where there are any."""
    if not state.bandit.merges_arms:
        return ()
    more = len(state.bandit.listed) - len(state.bandit.arms)
    return (f"the graph: {more} listed {'arm has' if more == 1 else 'arms have'} the same effect as another",)


def assumed_by(state: PolicyState, kind: Any) -> tuple[str, ...]:
    """Return what the estimators of a kind assume, and that merged arms are equal."""
    said = [assumption for model in state.models if isinstance(model, kind) for assumption in model.assumptions]
    return (*dict.fromkeys(said), *merging_assumed(state))
