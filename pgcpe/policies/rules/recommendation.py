"""Recommendation rules: which arm would be returned now."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pgcpe.policies.rules.base import RecommendationRule
from pgcpe.policies.rules.state import PolicyState

__all__ = ["HighestMean", "HighestMidpoint", "MostSpecificEstimate"]

Floats = NDArray[np.float64]

DIGITS = 12
"""Estimates that agree so far are equal."""


class HighestMidpoint(RecommendationRule):
    """The paper's a_h: the highest midpoint of the intersected intervals (Algorithms 1 and 3, line 4)."""

    def estimates(self, state: PolicyState) -> Floats:
        """Return the midpoints."""
        return state.intervals.midpoint  # mu_a of Algorithm 3, line 19 (Algorithm 1, line 18)


class HighestMean(RecommendationRule):
    """The highest mean of own plays, 1/2 before the first: what the published baselines recommend."""

    by_intervals = False

    def estimates(self, state: PolicyState) -> Floats:
        """Return the means."""
        return state.means


class MostSpecificEstimate(RecommendationRule):
    """The highest estimate, each by the most specific estimator that covers the arm, clipped to its interval."""

    by_intervals = False

    def estimates(self, state: PolicyState) -> Floats:
        """Return the estimates, rounded: arms that are equal but for the order of a sum are ties."""
        return np.clip(state.pooled, state.intervals.lower, state.intervals.upper).round(DIGITS)
