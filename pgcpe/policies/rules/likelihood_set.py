"""A stopping rule by a set of coefficients that is exact and searched numerically."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pgcpe.confidence.intervals import probability
from pgcpe.estimators.pooled_bglm import PooledBGLM
from pgcpe.policies.rules.base import NOT_YET, StoppingRule, Verdict
from pgcpe.policies.rules.state import PolicyState
from pgcpe.policies.rules.stopping import SeparatedOrRuledOut, merging_assumed, no_better

__all__ = ["LikelihoodRatioSet"]

RECHECK_GROWTH = 1.01
"""A search that failed is made again when the plays have grown by this factor."""


class LikelihoodRatioSet(StoppingRule):
    """Stop when no coefficients of a BGLM that the plays allow make another arm better than the leader by epsilon.

    Numerical: the set of coefficients is exact at all times, for all arms at once; that a search found the largest
    difference over it is not proved. It is only searched where the fit says stop to second order, and again when the
    plays have grown by a hundredth. Once the plays contradict the link or the graph, another rule takes its place.

    Parameters
    ----------
    level
        The probability that the set does not hold the true coefficients.
    otherwise
        The rule in its place.
    """

    after_conflict = SeparatedOrRuledOut.after_conflict

    def __init__(self, level: float, otherwise: StoppingRule) -> None:
        self._level, self._otherwise = probability("level", level), otherwise
        self._searched = 0

    def unresolved(self, state: PolicyState) -> NDArray[np.bool_]:
        """Return which arms the fit does not rule out, to second order."""
        if (model := self._model(state)) is None:
            return self._otherwise.unresolved(state)
        evidence, asked = model.evidence(state.leader, state.epsilon, self._level)
        open_ = ~(evidence >= asked) if math.isfinite(asked) else np.ones(len(evidence), dtype=np.bool_)
        open_[state.leader] = False
        return np.asarray(open_)

    def plays_to_resolve(self, state: PolicyState, gap: float) -> float:
        """Return about how many plays resolve a gap to the nearest arm, if its variance falls as the plays grow."""
        if (model := self._model(state)) is None:
            return self._otherwise.plays_to_resolve(state, gap)
        evidence, asked = model.evidence(state.leader, state.epsilon, self._level)
        if not math.isfinite(asked):
            return math.inf
        variance = model.differences(state.leader)[1][int(np.argmin(evidence))]
        return float(2.0 * variance * state.n_plays * asked / gap**2)

    def _model(self, state: PolicyState) -> PooledBGLM | None:
        """Return the model unless it was rejected."""
        found = [model for model in state.models if isinstance(model, PooledBGLM)]
        return found[0] if found and not state.conflicts.any() else None

    def check(self, state: PolicyState) -> Verdict:
        """Return whether the leader is best for all coefficients in the set."""
        if (model := self._model(state)) is None:
            return self._otherwise.check(state)
        if self.unresolved(state).any() or state.n_plays < RECHECK_GROWTH * self._searched:
            return NOT_YET
        self._searched = state.n_plays
        if not model.certifies(state.leader, state.epsilon, self._level):
            return NOT_YET
        reason = f"{no_better(state)} for any coefficients that the plays allow"
        return Verdict(True, reason, "numerical", state.leader, (*model.assumptions, *merging_assumed(state)))
