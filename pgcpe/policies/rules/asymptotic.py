"""A stopping rule by estimates and their standard errors, valid in the limit of many plays."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pgcpe.confidence.intervals import Intervals, probability
from pgcpe.confidence.sequences import asymptotic_threshold, normal_nats
from pgcpe.estimators.base import PairwiseEstimator
from pgcpe.estimators.claims import Claim
from pgcpe.policies.rules.base import NOT_YET, Progress, RuledOut, StoppingRule, Verdict
from pgcpe.policies.rules.state import Differences, PolicyState, most_specific_estimate
from pgcpe.policies.rules.stopping import (
    PairwiseGLR,
    SeparatedOrRuledOut,
    assumed_by,
    by_direct_plays,
    no_better,
    without_merged,
)

__all__ = ["PairwiseAsymptotic", "look_share"]

FIRST_LOOK, GROWTH = 100, 1.4
"""Looks come after so many plays, and whenever these have grown by the factor."""

BY_ESTIMATES = "estimates"
"""The argument by which it rules arms out, in words."""

ROUNDING = 1e-12
"""Gaps of no more than this are none."""


def look_share(k: int) -> float:
    """Return the share of the error probability that look k spends, from 0 on; they sum to 1.

    Examples
    --------
    >>> [look_share(k) for k in (0, 1, 3)]
    [0.25, 0.15, 0.07142857142857142]
    """
    return 3.0 / ((k + 3) * (k + 4))


class PairwiseAsymptotic(StoppingRule):
    """Stop when the estimates rule out every other arm at a scheduled look, each by z standard errors.

    Looks are scheduled in plays told, 100, 140, 196, ..., and each has its share of the error probability, so that
    nothing is lost to looks in between. A wrong stop needs that the estimates of all others lie z standard errors of
    the difference below that of an arm that is not the best. For jointly normal estimates of any covariance that has
    probability at most 2 Phi(-z), however many arms there are: by the isoperimetry of the normal distribution, since
    the estimates are then z standard errors inside of where that arm leads (Gutmann and Maymin 1987). No union over
    arms is needed.

    That is so for epsilon = 0. Else half of a look's share goes to that test, and half to one of gap + epsilon, which
    has to be divided among the K - 1 arms: a leader that is wrong by more than epsilon is one of them. Either test has
    to rule out all arms. The differences are those of `PolicyState.cautious` and of `PolicyState.decisive`, whichever
    shows less.

    Asymptotic: it holds in the limit, for sampling rules under which every part that matters of what is estimated keeps
    a positive share of the plays. A rule that looks for its weakness can make it fail. It never stops before a hundred
    plays: an effect that is the product of two, both not known yet, would look precisely estimated and small.

    Once direct plays contradict the graph, another rule takes its place.

    Parameters
    ----------
    level
        The error probability of all looks together.
    n_arms
        The number of arms K.
    otherwise
        The rule in its place, for direct plays.
    shown_level
        That of each arm's interval that people are shown.
    growth
        The factor between looks.
    """

    after_conflict = SeparatedOrRuledOut.after_conflict

    def __init__(
        self, level: float, n_arms: int, otherwise: PairwiseGLR, *, shown_level: float, growth: float = GROWTH
    ) -> None:
        self._level, self._others, self._otherwise = probability("level", level), max(n_arms - 1, 1), otherwise
        self._shown_level, self._growth = probability("shown_level", shown_level), growth
        self._found: RuledOut | None = None

    # ------------------------------------------------------------------------------------------------- the schedule

    def next_look(self, n_plays: int) -> int:
        """Return the first number of plays after this one at which it may stop."""
        return self._plays_at(self._look_after(n_plays))

    def _plays_at(self, k: int) -> int:
        return math.ceil(FIRST_LOOK * self._growth**k)

    def _look_after(self, n_plays: int) -> int:
        """Return the number of the first look after so many plays."""
        k = max(0, int(math.log(max(n_plays, FIRST_LOOK) / FIRST_LOOK) / math.log(self._growth)) - 1)
        while self._plays_at(k) <= n_plays:
            k += 1
        return k

    def thresholds(self, n_plays: int, epsilon: float) -> tuple[tuple[float, float], ...]:
        """Return the tests of the first look from so many plays on, any of which will do: tolerance, nats asked."""
        share = self._level * look_share(self._look_after(n_plays - 1))
        if epsilon == 0:
            return ((0.0, normal_nats(share / 2.0)),)
        return (0.0, normal_nats(share / 4.0)), (epsilon, normal_nats(share / (2.0 * self._others)))

    # ----------------------------------------------------------------------------------------------------- the rule

    def _tests(self, state: PolicyState) -> list[tuple[NDArray[np.float64], float]]:
        """Return for each test the evidence by the variances at the estimates, and what is asked of it."""
        tests = self.thresholds(state.n_plays, state.epsilon)
        return [(_evidence(state, state.cautious, tolerance), nats) for tolerance, nats in tests]

    def unresolved(self, state: PolicyState) -> NDArray[np.bool_]:
        """Return which arms the next look would not rule out, if the variance at the estimates were the right one."""
        said = self.progress(state)
        return ~(said.nats >= said.asked)

    def progress(self, state: PolicyState) -> Progress:
        """Return the evidence by the variances at the estimates, of the test of the next look that is nearest."""
        if state.conflicts.any():
            return self._otherwise.progress(state)
        evidence, nats = max(self._tests(state), key=lambda test: (test[0] / test[1]).min())
        return Progress(evidence, np.full(len(evidence), nats))

    def plays_to_resolve(self, state: PolicyState, gap: float) -> float:
        """Return about how many plays resolve a gap to the nearest arm, if its variance falls as the plays grow."""
        if state.conflicts.any():
            return self._otherwise.plays_to_resolve(state, gap)
        told = state.cautious
        nearest = int(np.argmin(_evidence(state, told, state.epsilon)))
        plays = max(state.n_plays, 1)
        unit = told.variance[nearest] * plays
        if told.variance[nearest] < ROUNDING**2 or not math.isfinite(unit):
            return math.inf
        while plays < 2.0 * unit * self.thresholds(plays, state.epsilon)[-1][1] / gap**2:
            plays = self.next_look(plays)
        return float(plays)

    def check(self, state: PolicyState) -> Verdict:
        """Return whether all others are ruled out, at a look."""
        if state.conflicts.any():
            return without_merged(self._otherwise.check(state), state)
        if self.next_look(state.n_plays - 1) != state.n_plays:
            return NOT_YET
        for tolerance, nats in self.thresholds(state.n_plays, state.epsilon):
            found = self._cautiously(state, tolerance, nats)
            nearest = int(found.argmin())
            if found[nearest] >= nats:
                by = tuple("" if i == state.leader else BY_ESTIMATES for i in range(len(found)))
                self._found = RuledOut(
                    state.leader, by, np.where(np.arange(len(found)) == state.leader, math.nan, found)
                )
                arm = state.bandit.arms[nearest]
                reason = (
                    f"{no_better(state)}: of all others the estimates rule out {arm} least, by "
                    f"{found[nearest]:.2f} of {nats:.2f} nats"
                )
                return Verdict(True, reason, "asymptotic", state.leader, assumed_by(state, PairwiseEstimator))
        return NOT_YET

    def _cautiously(self, state: PolicyState, tolerance: float, nats: float) -> NDArray[np.float64]:
        """Return the evidence against each arm, as far as it matters to a test."""
        found = _evidence(state, state.cautious, tolerance)
        if found.min() >= nats:  # that at equal means is worked out where the estimates would stop
            found = np.minimum(found, _evidence(state, state.decisive(tolerance), tolerance))
        return found

    def claims(self, state: PolicyState) -> list[Claim]:
        """Return what the estimates take from the graph."""
        return state.pairwise[-1].claims()

    def unresolved_without(
        self, state: PolicyState, parted: PolicyState, left_out: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Return which arms direct plays do not rule out of those whose estimates are left out."""
        return by_direct_plays(self._otherwise, state, parted, left_out)

    def ruled_out(self) -> RuledOut | None:
        """Return the evidence against each arm when it stopped; infinite without a variance."""
        return self._found

    def shown(self, state: PolicyState) -> Intervals:
        """Return asymptotic intervals of the arms."""
        if state.n_plays == 0:
            return state.intervals
        said, _ = most_specific_estimate(state.pairwise, lambda model: model.plug_in(state.rejected))
        nats = asymptotic_threshold(state.n_plays, self._shown_level)
        radius = np.sqrt(2.0 * nats * said.variance) + said.bias_bound
        return Intervals(np.maximum(said.value - radius, 0.0), np.minimum(said.value + radius, 1.0))


def _evidence(state: PolicyState, told: Differences, tolerance: float) -> NDArray[np.float64]:
    """Return (gap + tolerance)^2 / (2 variance) in nats, 0 where the estimates favour an arm."""
    evidence = np.zeros(len(told.gap))
    if state.n_plays >= FIRST_LOOK:
        gap = np.where(told.gap + tolerance > ROUNDING, told.gap + tolerance, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            evidence = np.where(gap > 0, gap**2 / (2.0 * told.variance), 0.0)
    evidence[state.leader] = math.inf
    return evidence
