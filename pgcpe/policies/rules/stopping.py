"""Stopping rules: when to stop, and what that is worth."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from pgcpe.confidence.intervals import probability
from pgcpe.confidence.pairwise import statistics
from pgcpe.confidence.sequences import asymptotic_threshold
from pgcpe.estimators.pooled_bglm import PooledBGLM
from pgcpe.policies.rules.base import GuardedStop, PolicyState, StoppingRule, Verdict

__all__ = [
    "LikelihoodRatioSet",
    "MonitoredRules",
    "MostPlayed",
    "PairwiseAsymptotic",
    "PairwiseGLR",
    "SeparatedIntervals",
    "SeparatedOrRuledOut",
]

NOT_YET = Verdict(False)

MIN_PLAYS = 100
"""No asymptotic stop comes before so many plays."""

ROUNDING = 1e-12
"""Gaps of no more than this are none."""

RECHECK_GROWTH = 1.01
"""A search that failed is made again when the plays have grown by this factor."""


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
        if state.conflicts.any():
            return Verdict(True, f"{reason}; but {in_doubt(state)}", None)
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
    (`pairwise_glr`). It looks at differences, and so needs less than intervals that are separated.
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
        reason = f"{no_better(state)}: of all others {arms[nearest]} is told from it least, by "
        return Verdict(True, f"{reason}{evidence[nearest]:.2f} of {threshold:.2f} nats", "exact")


class SeparatedOrRuledOut:
    """Stop when every other arm is either separated from the leader by intervals or told from it by direct plays.

    The intervals hold jointly but with the probability that the estimators were given, the pairwise statistics but with
    `delta`; on the event that all do, the arm returned is within epsilon of the best, whichever of the two decided for
    which challenger. The pairwise statistics know no graph, except that it merged arms.

    Parameters
    ----------
    delta
        The error probability of the pairwise statistics.
    fallback
        Whether only direct plays, in pairs, decide about any arm once direct plays of some contradict the graph. The
        stop keeps its certificate then, unless the graph had merged arms.
    """

    def __init__(self, delta: float, *, fallback: bool = True) -> None:
        self._delta, self._fallback = probability("delta", delta), fallback

    def overlapping(self, state: PolicyState) -> NDArray[np.bool_]:
        """Return which arms the intervals do not separate from the leader: all of them once the graph is in doubt."""
        overlapping = state.intervals.upper > state.intervals.lower[state.leader] + state.epsilon
        if self._fallback and state.conflicts.any():
            overlapping[:] = True
        overlapping[state.leader] = False
        return np.asarray(overlapping)

    def unresolved(self, state: PolicyState) -> NDArray[np.bool_]:
        """Return which arms are neither separated from the leader nor told from it."""
        evidence = statistics(state.plays, state.rewards, state.leader, state.epsilon)
        return np.asarray(self.overlapping(state) & ~(evidence >= self.threshold(state)))

    def threshold(self, state: PolicyState) -> float:
        """Return what the pairwise statistics must reach, in nats."""
        return math.log(max(len(state.plays) - 1, 1) / self._delta)

    def plays_to_resolve(self, state: PolicyState, gap: float) -> float:
        """Return about how many plays, half of each arm, tell a pair apart whose means differ by a gap."""
        mean = min(max(state.estimates[state.leader], gap), 1.0 - gap)
        per_play = gap**2 / (4.0 * mean * (1.0 - mean))  # of each of the two: n times this is the transport cost
        n = 2.0 / per_play
        for _ in range(20):  # two mixtures lose log(n) / 2 and .23 each
            n = (self.threshold(state) + math.log(n) + 0.46) / per_play
        return float(2.0 * n)

    def check(self, state: PolicyState) -> Verdict:
        """Return whether no challenger is left."""
        if state.challenger < 0:
            return Verdict(True, "all candidates have provably the same effect", "exact")
        if self.unresolved(state).any():
            return NOT_YET
        arms, by_pairs = state.bandit.arms, int(np.count_nonzero(self.overlapping(state)))
        by_intervals = len(arms) - 1 - by_pairs
        reason = no_better(state)
        reason += f": {by_intervals} are below it by their intervals" if by_intervals else ""
        reason += ("," if by_intervals else ":") + f" {by_pairs} are told from it by direct plays" if by_pairs else ""
        if state.conflicts.any() and any(len(same) > 1 for same in state.bandit.merged.values()):
            return Verdict(True, f"{reason}; but {in_doubt(state)}, by which others were merged", None)
        return Verdict(True, reason, state.certificate)


class PairwiseAsymptotic:
    """Stop when the estimates tell the leader from every other arm: (gap + epsilon)^2 / (2 variance) reaches beta(t).

    The differences are those of `PolicyState.cautious`; beta is that of the asymptotic confidence sequence at
    delta / (K - 1) (`pgcpe.confidence.sequences.asymptotic_threshold`).

    Asymptotic: it holds in the limit, for sampling rules under which every part that matters of what is estimated keeps
    a positive share of the plays. A rule that looks for its weakness can make it fail. It never stops before a hundred
    plays: an effect that is the product of two, both not known yet, would look surely small.
    """

    def __init__(self, delta: float) -> None:
        self._delta = probability("delta", delta)

    def evidence(self, state: PolicyState) -> NDArray[np.float64]:
        """Return what the estimates say against each arm, in nats: 0 where they favour it, infinite at the leader."""
        told = state.cautious
        gap = np.where(told.gap + state.epsilon > ROUNDING, told.gap + state.epsilon, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            evidence = np.where(gap > 0, gap**2 / (2.0 * told.variance), 0.0)
        if state.n_plays < MIN_PLAYS:
            evidence[:] = 0.0
        evidence[state.leader] = math.inf
        return evidence

    def threshold(self, state: PolicyState) -> float:
        """Return beta."""
        return asymptotic_threshold(max(state.n_plays, 1), self._delta / max(len(state.plays) - 1, 1))

    def unresolved(self, state: PolicyState) -> NDArray[np.bool_]:
        """Return which arms are not told from the leader."""
        return ~(self.evidence(state) >= self.threshold(state))

    def plays_to_resolve(self, state: PolicyState, gap: float) -> float:
        """Return about how many plays tell a gap from the nearest arm, if its variance falls as the plays grow."""
        told = state.cautious
        nearest = int(np.argmin(self.evidence(state)))
        plays = float(max(state.n_plays, 1))
        unit = told.variance[nearest] * plays
        if told.variance[nearest] < ROUNDING**2:
            return math.inf
        for _ in range(20):
            nats = asymptotic_threshold(max(plays, 1.0), self._delta / max(len(state.plays) - 1, 1))
            plays = 2.0 * unit * nats / gap**2
        return plays

    def check(self, state: PolicyState) -> Verdict:
        """Return whether the leader is told from all others."""
        if state.challenger < 0:
            return Verdict(True, "all candidates have provably the same effect", "exact")
        evidence, threshold = self.evidence(state), self.threshold(state)
        if not (evidence >= threshold).all():
            return NOT_YET
        others = np.delete(np.arange(len(evidence)), state.leader)
        nearest = int(others[evidence[others].argmin()])
        reason = f"{no_better(state)}: of all others {state.bandit.arms[nearest]} is told from it least, by "
        return Verdict(True, f"{reason}{evidence[nearest]:.2f} of {threshold:.2f} nats", "asymptotic")


class LikelihoodRatioSet:
    """Stop when no coefficients of a BGLM that the plays allow make another arm better than the leader by epsilon.

    Numerical: the set of coefficients is exact at all times, for all arms at once; that a search found the largest
    difference over it is not proved. It is only searched where the fit says stop to second order, and again when the
    plays have grown by a hundredth. Once the plays contradict the link or the graph, another rule takes its place.

    Parameters
    ----------
    delta
        The probability that the set does not hold the true coefficients.
    otherwise
        The rule in its place.
    """

    def __init__(self, delta: float, otherwise: GuardedStop) -> None:
        self._delta, self._otherwise = probability("delta", delta), otherwise
        self._searched = 0

    def unresolved(self, state: PolicyState) -> NDArray[np.bool_]:
        """Return which arms the fit does not tell from the leader, to second order."""
        if (model := self._model(state)) is None:
            return self._otherwise.unresolved(state)
        evidence, asked = model.evidence(state.leader, state.epsilon, self._delta)
        open_ = ~(evidence >= asked) if math.isfinite(asked) else np.ones(len(evidence), dtype=np.bool_)
        open_[state.leader] = False
        return np.asarray(open_)

    def plays_to_resolve(self, state: PolicyState, gap: float) -> float:
        """Return about how many plays tell a gap from the nearest arm, if its variance falls as the plays grow."""
        if (model := self._model(state)) is None:
            return self._otherwise.plays_to_resolve(state, gap)
        evidence, asked = model.evidence(state.leader, state.epsilon, self._delta)
        if not math.isfinite(asked):
            return math.inf
        variance = model.differences(state.leader)[1][int(np.argmin(evidence))]
        return float(2.0 * variance * state.n_plays * asked / gap**2)

    def _model(self, state: PolicyState) -> PooledBGLM | None:
        """Return the model unless it is not to be believed any more."""
        found = [m for m in state.models if isinstance(m, PooledBGLM)]
        return found[0] if found and (state.rejected is None or not state.rejected.any()) else None

    def check(self, state: PolicyState) -> Verdict:
        """Return whether the leader is the best all over the set."""
        if state.challenger < 0:
            return Verdict(True, "all candidates have provably the same effect", "exact")
        if (model := self._model(state)) is None:
            return self._otherwise.check(state)
        if self.unresolved(state).any() or state.n_plays < RECHECK_GROWTH * self._searched:
            return NOT_YET
        self._searched = state.n_plays
        if not model.certifies(state.leader, state.epsilon, self._delta):
            return NOT_YET
        reason = f"{no_better(state)} for any coefficients that the plays allow"
        return Verdict(True, reason, "numerical")


class MonitoredRules:
    """Stop by one of several rules, and keep at how many plays each of them would first have stopped.

    The others are looked at when the plays have grown by a hundredth.

    Parameters
    ----------
    rules
        The rules by the name of their guarantee.
    decides
        The name of the one to stop by.
    doubtful
        Whether a stop has no certificate when direct plays contradict the graph.

    Attributes
    ----------
    stops
        For each name the number of plays told when it first would have stopped with a certificate, or None.
    """

    def __init__(self, rules: Mapping[str, StoppingRule], decides: str, *, doubtful: bool = False) -> None:
        self.rules, self._decides, self._doubtful = dict(rules), decides, doubtful
        self.stops: dict[str, int | None] = dict.fromkeys(rules)
        self._looked = 0.0

    def check(self, state: PolicyState) -> Verdict:
        """Return what the deciding rule says."""
        look = state.n_plays >= RECHECK_GROWTH * self._looked
        if look:
            self._looked = state.n_plays
        decisive = NOT_YET
        for name, rule in self.rules.items():
            if name == self._decides or (look and self.stops[name] is None):
                verdict = rule.check(state)
                if verdict.stop and self._doubtful and state.conflicts.any():
                    verdict = Verdict(True, f"{verdict.reason}; but {in_doubt(state)}", None)
                if verdict.stop and verdict.certificate is not None and self.stops[name] is None:
                    self.stops[name] = state.n_plays
                decisive = verdict if name == self._decides else decisive
        return decisive


def no_better(state: PolicyState) -> str:
    """Return in words that no arm is better than the leader."""
    within = f" by more than epsilon = {state.epsilon:g}" if state.epsilon > 0 else ""
    return f"no arm is better than {state.bandit.arms[state.leader]}{within}"


def in_doubt(state: PolicyState) -> str:
    """Return in words how many arms contradict the graph."""
    n = int(np.count_nonzero(state.conflicts))
    return f"{n} {'arm contradicts' if n == 1 else 'arms contradict'} the graph"
