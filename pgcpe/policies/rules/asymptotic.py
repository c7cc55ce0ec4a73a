"""A stopping rule by estimates and their standard errors, valid in the limit of many plays."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pgcpe.confidence.intervals import Intervals, probability
from pgcpe.confidence.sequences import asymptotic_threshold
from pgcpe.estimators.base import PairwiseEstimator
from pgcpe.policies.rules.base import (
    NOT_YET,
    Differences,
    PolicyState,
    StoppingRule,
    Verdict,
    most_specific_estimate,
)
from pgcpe.policies.rules.stopping import PairwiseGLR, SeparatedOrRuledOut, assumed_by, in_doubt, no_better

__all__ = ["PairwiseAsymptotic"]

MIN_PLAYS = 100
"""No asymptotic stop comes before so many plays."""

ROUNDING = 1e-12
"""Gaps of no more than this are none."""


class PairwiseAsymptotic(StoppingRule):
    """Stop when the estimates rule out every other arm: (gap + epsilon)^2 / (2 variance) reaches beta(t).

    The differences are those of `PolicyState.cautious` and, once they would stop, of `PolicyState.decisive`; beta is
    that of the asymptotic confidence sequence at the level of a pair (`asymptotic_threshold`).

    Asymptotic: it holds in the limit, for sampling rules under which every part that matters of what is estimated keeps
    a positive share of the plays. A rule that looks for its weakness can make it fail. It never stops before a hundred
    plays: an effect that is the product of two, both not known yet, would look precisely estimated and small.

    Once direct plays contradict the graph, another rule takes its place.

    Parameters
    ----------
    level
        The error probability of a pair.
    otherwise
        The rule in its place, for direct plays.
    shown_level
        That of each arm's interval that people are shown.
    """

    after_conflict = SeparatedOrRuledOut.after_conflict

    def __init__(self, level: float, otherwise: PairwiseGLR, *, shown_level: float) -> None:
        self._level, self._otherwise = probability("level", level), otherwise
        self._shown_level = probability("shown_level", shown_level)
        self._in_the_way = -1  # the arm that was ruled out least last time

    def evidence(self, state: PolicyState) -> NDArray[np.float64]:
        """Return the evidence against each arm, in nats: 0 where the estimates favour it, infinite at the leader."""
        return _evidence(state, state.decisive(), np.arange(len(state.plays)))

    def threshold(self, state: PolicyState) -> float:
        """Return beta."""
        return asymptotic_threshold(max(state.n_plays, 1), self._level)

    def unresolved(self, state: PolicyState) -> NDArray[np.bool_]:
        """Return which arms are not ruled out, or would not be if the variance at the estimates were the right one."""
        if state.conflicts.any():
            return self._otherwise.unresolved(state)
        return ~(self._at_most(state) >= self.threshold(state))

    def _at_most(self, state: PolicyState) -> NDArray[np.float64]:
        """Return the evidence by the variances at the estimates: cheaper, and no less by the same estimator."""
        return _evidence(state, state.cautious, np.arange(len(state.plays)))

    def plays_to_resolve(self, state: PolicyState, gap: float) -> float:
        """Return about how many plays resolve a gap to the nearest arm, if its variance falls as the plays grow."""
        if state.conflicts.any():
            return self._otherwise.plays_to_resolve(state, gap)
        told = state.cautious
        nearest = int(np.argmin(self._at_most(state)))
        plays = float(max(state.n_plays, 1))
        unit = told.variance[nearest] * plays
        if told.variance[nearest] < ROUNDING**2:
            return math.inf
        for _ in range(20):
            plays = 2.0 * unit * asymptotic_threshold(max(plays, 1.0), self._level) / gap**2
        return plays

    def check(self, state: PolicyState) -> Verdict:
        """Return whether all others are ruled out."""
        if state.conflicts.any():
            return _without_merged(self._otherwise.check(state), state)
        threshold = self.threshold(state)
        if state.n_plays < MIN_PLAYS or self._still_in_the_way(state, threshold):
            return NOT_YET
        for evidence in (self._at_most, self.evidence):  # the stop asks for both
            found = evidence(state)
            nearest = int(found.argmin())
            if not found[nearest] >= threshold:
                self._in_the_way = nearest
                return NOT_YET
        reason = (
            f"{no_better(state)}: of all others the estimates rule out {state.bandit.arms[nearest]} least, by "
            f"{found[nearest]:.2f} of {threshold:.2f} nats"
        )
        return Verdict(True, reason, "asymptotic", state.leader, assumed_by(state, PairwiseEstimator))

    def _still_in_the_way(self, state: PolicyState, threshold: float) -> bool:
        """Return whether the arm that was ruled out least last time is not ruled out now: then no other matters."""
        if self._in_the_way < 0 or self._in_the_way == state.leader:
            return False
        arms = np.array([self._in_the_way])
        return not _evidence(state, state.decisive(arms), arms)[0] >= threshold

    def shown(self, state: PolicyState) -> Intervals:
        """Return asymptotic intervals of the arms."""
        if state.n_plays == 0:
            return state.intervals
        said, _ = most_specific_estimate(state.pairwise, lambda model: model.plug_in(state.rejected))
        nats = asymptotic_threshold(state.n_plays, self._shown_level)
        radius = np.sqrt(2.0 * nats * said.variance) + said.bias_bound
        return Intervals(np.maximum(said.value - radius, 0.0), np.minimum(said.value + radius, 1.0))


def _evidence(state: PolicyState, told: Differences, arms: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return (gap + epsilon)^2 / (2 variance) of some arms."""
    if state.n_plays < MIN_PLAYS:
        return np.where(arms == state.leader, math.inf, 0.0)
    gap = np.where(told.gap + state.epsilon > ROUNDING, told.gap + state.epsilon, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        evidence = np.where(gap > 0, gap**2 / (2.0 * told.variance), 0.0)
    return np.where(arms == state.leader, math.inf, evidence)


def _without_merged(verdict: Verdict, state: PolicyState) -> Verdict:
    """Return a verdict by direct plays, without its certificate where the graph that merged arms is in doubt."""
    if verdict.stop and verdict.assumptions:
        return Verdict(True, f"{verdict.reason}; but {in_doubt(state)}, by which others were merged", None, verdict.arm)
    return verdict
