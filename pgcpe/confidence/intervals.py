"""Intervals for the expected rewards of the arms, and the checks that all of this room share."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from pgcpe.graphs.states import shown

__all__ = ["Intervals"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Intervals:
    """Intervals [L, U] for the expected rewards of the arms.

    Attributes
    ----------
    lower, upper
        Arrays over the arms, in [0, 1], or in the unit of the reward where a policy shows them; those of the paper's
        radii leave it, and are infinite where nothing is known.
    """

    lower: Floats
    upper: Floats

    @classmethod
    def vacuous(cls, n_arms: int) -> Intervals:
        """Return [0, 1] for every arm: what is known of a reward before it was seen."""
        return cls(np.zeros(n_arms), np.ones(n_arms))

    @classmethod
    def unbounded(cls, n_arms: int) -> Intervals:
        """Return infinite ones: the paper's radius of no plays."""
        return cls(np.full(n_arms, -np.inf), np.full(n_arms, np.inf))

    @property
    def midpoint(self) -> Floats:
        """The midpoints, the paper's estimates mu-hat; -infinity for an infinite interval, below all others."""
        known = np.isfinite(self.lower)
        return np.where(known, 0.5 * (np.where(known, self.lower, 0.0) + np.where(known, self.upper, 0.0)), -np.inf)

    @property
    def clipped(self) -> Intervals:
        """The same cut off at 0 and 1."""
        return Intervals(np.clip(self.lower, 0.0, 1.0), np.clip(self.upper, 0.0, 1.0))

    def intersect(self, other: Intervals) -> Intervals:
        """Return the common part of two intervals for each arm; empty where its lower end is above its upper end."""
        return Intervals(np.maximum(self.lower, other.lower), np.minimum(self.upper, other.upper))


def probability(name: str, value: float) -> float:
    """Return a value that must lie strictly between 0 and 1."""
    if not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, but got {shown(value)}")
    if not 0 < value < 1:
        raise ValueError(f"{name} must be between 0 and 1, but got {value}")
    return value
