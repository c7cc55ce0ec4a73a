"""Stopping rules: when to stop, and what that is worth.

Each is handed the error probability of a single event, which the policy took from its `ErrorBudget`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgcpe.confidence.intervals import Intervals, probability
from pgcpe.estimators.base import IntervalEstimator
from pgcpe.estimators.claims import Claim
from pgcpe.plays.actions import Action
from pgcpe.policies.rules.base import NOT_YET, Progress, RuledOut, StoppingRule, Verdict
from pgcpe.policies.rules.direct_evidence import DirectEnds, PairLevels, evidence_in_pairs, naming_share
from pgcpe.policies.rules.leader_bounds import LeaderBounds
from pgcpe.policies.rules.state import NamedLeader, PolicyState

__all__ = [
    "DirectPairs",
    "PairwiseGLR",
    "SeparatedIntervals",
    "SeparatedOrRuledOut",
    "merging_assumed",
]

BY_BOUNDS, BY_PLAYS = "bounds", "direct plays"
"""The arguments by which arms are ruled out, in words."""


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
        scale = state.bandit.reward_scale
        worst, best = (scale.text(float(scale.value(end))) for end in (intervals.lower[h], highest))
        least, most = ("at most", "at least") if scale.minimise else ("at least", "at most")
        reason = f"{state.bandit.arms[h]} is {least} {worst} and every other arm {most} {best}"
        if highest > intervals.lower[h]:
            reason += f", which is within epsilon = {scale.width * state.epsilon:g}"
        if state.conflicts.any():
            return Verdict(True, f"{reason}; but {in_doubt(state)}", None, h)
        return Verdict(True, reason, state.certificate, h, assumed_by(state, IntervalEstimator))  # line 6


class PairwiseGLR(StoppingRule):
    """Stop when direct plays rule out every other arm: all pairwise statistics reach log(1/level).

    The arm returned is then within epsilon of the best but with the sum of the levels over the K - 1 pairs, whatever
    chose the plays (`pairwise_glr`). It looks at differences, and so needs less than intervals that are separated. It
    knows no graph, except that it may have merged arms.

    Where the leader was named before the plays that rule an arm out, only the pair of that leader and the best arm can
    be decided wrongly: there the level is divided among the times of naming alone (`pairwise_glr_since`).

    Parameters
    ----------
    levels
        The error probability of a pair, or `PairLevels`.
    """

    def __init__(self, levels: float | PairLevels) -> None:
        self._levels = levels if isinstance(levels, PairLevels) else PairLevels(levels)
        likely = max(self._levels.each, self._levels.since * naming_share(2))  # which statistic decides, as a rule
        self._threshold = -math.log(probability("level", likely))  # to say how many plays it takes
        self._last: tuple[PolicyState, tuple[NDArray[np.float64], NDArray[np.float64]]] | None = None

    def evidence(self, state: PolicyState) -> NDArray[np.float64]:
        """Return the evidence of direct plays against each arm, in nats; infinite at the leader."""
        return self._evidence(state)[0]

    def _evidence(self, state: PolicyState) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the evidence, and what of it is asked; worked out once for each state."""
        if self._last is None or self._last[0] is not state:
            counts = state.plays, state.rewards, state.named
            self._last = state, evidence_in_pairs(self._levels, *counts, state.leader, state.epsilon)
        return self._last[1]

    def progress(self, state: PolicyState) -> Progress:
        """Return the evidence of direct plays, for each arm the statistic that comes nearest to ruling it out."""
        return Progress(*self._evidence(state))

    def unresolved(self, state: PolicyState) -> NDArray[np.bool_]:
        """Return which arms are not ruled out by direct plays."""
        evidence, threshold = self._evidence(state)
        return np.asarray(~(evidence >= threshold))

    def unresolved_without(
        self, state: PolicyState, parted: PolicyState, left_out: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Return which arms are not ruled out by the direct plays that are left: nothing else is taken of a graph."""
        return PairwiseGLR.unresolved(self, parted)

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
        evidence, threshold = self._evidence(state)
        nearest = int((evidence - threshold).argmin())
        if not evidence[nearest] >= threshold[nearest]:
            return NOT_YET
        assumed = merging_assumed(state)
        reason = _ruled_out(state, state.bandit.arms[nearest], evidence[nearest], threshold[nearest])
        return Verdict(True, reason, "exact" if assumed else "direct", state.leader, assumed)


class DirectPairs(PairwiseGLR):
    """`PairwiseGLR` over all *listed* arms, each by the plays of itself alone: it holds even if the graph is wrong.

    Where the graph merged arms the recommended class is represented by its first listed arm, and every other listed arm
    has to be ruled out by plays of its own, in pairs or by the ends of its confidence sequence.

    Parameters
    ----------
    levels
        As for `PairwiseGLR`.
    ends
        The ends by which arms are separated, too.
    """

    def __init__(self, levels: float | PairLevels, ends: DirectEnds | None = None) -> None:
        super().__init__(levels)
        self._ends = ends

    def unresolved(self, state: PolicyState) -> NDArray[np.bool_]:
        """Return which arms are not ruled out, by the listed arm that each stands for."""
        if state.bandit.merges_arms:
            return super().unresolved(state)
        evidence, threshold, separated = self._by_name(state)
        return np.asarray(~(evidence >= threshold) & ~separated)

    def _by_name(self, state: PolicyState) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        """Return of all listed arms the evidence, what of it is asked, and whether the ends separate them."""
        bandit, plays, rewards = state.bandit, state.listed_plays, state.listed_rewards
        h = bandit.listed_index(bandit.arms[state.leader])
        named = [
            NamedLeader(bandit.listed_index(bandit.arms[then.arm]), then.listed_plays, then.listed_rewards, *then[3:])
            for then in state.named
        ]
        evidence, threshold = evidence_in_pairs(self._levels, plays, rewards, named, h, state.epsilon)
        separated = np.zeros(len(plays), dtype=np.bool_)
        if self._ends is not None:
            ends = self._ends.now(plays, rewards)
            separated = ends.upper <= ends.lower[h] + state.epsilon
        return evidence, threshold, separated

    def check(self, state: PolicyState) -> Verdict:
        """Return whether every listed arm is ruled out."""
        evidence, threshold, separated = self._by_name(state)
        beyond = np.where(separated, math.inf, evidence - threshold)
        nearest = int(beyond.argmin())
        if not beyond[nearest] >= 0.0:
            return NOT_YET
        if math.isinf(beyond[nearest]):
            reason = f"{no_better(state)}: all are below it by confidence sequences of direct plays"
        else:
            reason = _ruled_out(state, state.bandit.listed[nearest], evidence[nearest], threshold[nearest])
        return Verdict(True, reason, "direct", state.leader)


def _ruled_out(state: PolicyState, nearest: Action, evidence: float, threshold: float) -> str:
    return (
        f"{no_better(state)}: of all others direct plays rule out {nearest} least, by "
        f"{evidence:.2f} of {threshold:.2f} nats"
    )


class SeparatedOrRuledOut(StoppingRule):
    """Stop when every other arm is separated from the leader by bounds or ruled out by direct plays, in pairs.

    The bounds hold but with the probability that they were given, the pairwise statistics but with that of `pairs`; on
    the event that all do, the arm returned is within epsilon of the best, whichever of the two decided for which
    challenger.

    Once direct plays contradict the graph for some arm, they alone decide about any arm, and the stop keeps a
    certificate, unless the graph had merged arms.

    Parameters
    ----------
    pairs
        The rule for direct plays in pairs.
    bounds
        The bounds; by default the intervals of the estimators, which hold for all arms at once.
    """

    after_conflict = "from now on direct plays alone decide when to stop"

    def __init__(self, pairs: PairwiseGLR, bounds: LeaderBounds | None = None) -> None:
        self._pairs, self._bounds = pairs, bounds
        self._found: RuledOut | None = None

    def _ends(self, state: PolicyState) -> Intervals:
        if self._bounds is None:
            return state.intervals
        return self._bounds.of(state, self._pairs.unresolved(state))

    def upper(self, state: PolicyState) -> NDArray[np.float64]:
        """Return the upper ends of the bounds."""
        return self._ends(state).upper

    def overlapping(self, state: PolicyState) -> NDArray[np.bool_]:
        """Return which arms the bounds do not separate from the leader; none do by the graph once it is in doubt."""
        if state.conflicts.any() and self._bounds is None:
            return np.asarray(np.arange(len(state.plays)) != state.leader)
        ends = self._ends(state)
        overlapping = ends.upper > ends.lower[state.leader] + state.epsilon
        overlapping[state.leader] = False
        return np.asarray(overlapping)

    def contenders(self, state: PolicyState) -> NDArray[np.bool_]:
        """Return which arms direct plays do not rule out; none where bounds of its own decide."""
        if self._bounds is not None:
            return np.zeros(len(state.plays), dtype=np.bool_)
        return self._pairs.unresolved(state)

    def unresolved(self, state: PolicyState) -> NDArray[np.bool_]:
        """Return which arms are neither separated from the leader nor ruled out."""
        return np.asarray(self.overlapping(state) & self._pairs.unresolved(state))

    def plays_to_resolve(self, state: PolicyState, gap: float) -> float:
        """Return about how many plays resolve a gap, by direct plays."""
        return self._pairs.plays_to_resolve(state, gap)

    def check(self, state: PolicyState) -> Verdict:
        """Return whether no challenger is left."""
        overlapping = self.overlapping(state)
        if (overlapping & self._pairs.unresolved(state)).any():
            return NOT_YET
        arms, by_pairs = state.bandit.arms, int(np.count_nonzero(overlapping))
        by_intervals = len(arms) - 1 - by_pairs
        said = [f"{_number(by_intervals)} below it by their bounds"] if by_intervals else []
        said += [f"{_number(by_pairs)} ruled out by direct plays"] if by_pairs else []
        self._found = self._arguments(state, overlapping)
        reason = f"{no_better(state)}: {', '.join(said)}"
        if not state.conflicts.any():
            assumed = assumed_by(state, IntervalEstimator) if by_intervals else merging_assumed(state)
            return Verdict(True, reason, state.certificate, state.leader, assumed)
        if merging_assumed(state):
            return Verdict(True, f"{reason}; but {in_doubt(state)}, by which others were merged", None, state.leader)
        return Verdict(True, reason, "direct", state.leader)

    def _arguments(self, state: PolicyState, overlapping: NDArray[np.bool_]) -> RuledOut:
        """Return by which argument each arm is ruled out: bounds where they do, else direct plays."""
        ends, nats = self._ends(state), np.where(overlapping, self._pairs.evidence(state), math.nan)
        by = [BY_PLAYS if pair else BY_BOUNDS for pair in overlapping]
        by[state.leader] = ""
        bound = np.where(np.arange(len(by)) == state.leader, ends.lower, ends.upper)
        return RuledOut(state.leader, tuple(by), nats, bound)

    def ruled_out(self) -> RuledOut | None:
        """Return by which argument each arm was ruled out when it stopped."""
        return self._found

    def claims(self, state: PolicyState) -> list[Claim]:
        """Return what the intervals take from the graph."""
        return [claim for model in state.models if isinstance(model, IntervalEstimator) for claim in model.claims()]

    def unresolved_without(
        self, state: PolicyState, parted: PolicyState, left_out: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Return which arms neither what is left of the bounds separates nor direct plays rule out."""
        open_, h = self._pairs.unresolved(parted), state.leader
        if self._bounds is None:
            return np.asarray(open_ & (self.overlapping(state) | left_out | left_out[h]))
        self._ends(state)
        ends = self._bounds.without(parted, left_out)
        return np.asarray(open_ & (ends.upper > ends.lower[h] + state.epsilon) & (np.arange(len(open_)) != h))

    def progress(self, state: PolicyState) -> Progress:
        """Return the evidence of direct plays, and the bounds."""
        return self._pairs.progress(state)._replace(bounds=self._ends(state))

    def evidence_so_far(self, state: PolicyState) -> Progress:
        """Return the evidence of direct plays."""
        return self._pairs.progress(state)


def _number(n: int) -> str:
    return f"{n} {'is' if n == 1 else 'are'}"


def no_better(state: PolicyState) -> str:
    """Return in words that no arm is better than the leader."""
    epsilon = state.bandit.reward_scale.width * state.epsilon
    within = f" by more than epsilon = {epsilon:g}" if epsilon > 0 else ""
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


def by_direct_plays(
    otherwise: PairwiseGLR, state: PolicyState, parted: PolicyState, left_out: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which arms direct plays do not rule out, of those that had been ruled out by what is left out.

    Without what the graph says of the leader those are all.
    """
    return np.asarray(otherwise.unresolved_without(state, parted, left_out) & (left_out | left_out[state.leader]))


def without_merged(verdict: Verdict, state: PolicyState) -> Verdict:
    """Return a verdict by direct plays, without its certificate where the graph that merged arms is in doubt."""
    if verdict.stop and verdict.assumptions and state.conflicts.any():
        return Verdict(True, f"{verdict.reason}; but {in_doubt(state)}, by which others were merged", None, verdict.arm)
    return verdict
