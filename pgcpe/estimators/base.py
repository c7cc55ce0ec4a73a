"""What an estimator is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from pgcpe.bandit import CausalBandit
from pgcpe.confidence.intervals import Intervals
from pgcpe.plays.samples import Samples

__all__ = ["Estimate", "Estimator", "PairwiseEstimator"]

MIN_CELL_COUNT = 5
"""Of a cell with fewer plays the smoothing may be far off."""


class Estimate(NamedTuple):
    """An estimate and its standard error."""

    value: float
    se: float


class Estimator(BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn is not typed
    """Gives an interval for every arm from what was told.

    The constructor only stores, so that ``get_params`` and ``sklearn.base.clone`` work; what is learned has names that
    end in ``_``. A policy works on a clone: one estimator can be handed to many.
    """

    bandit_: CausalBandit

    @property
    @abstractmethod
    def certificate(self) -> str:
        """What the intervals are worth: ``"exact"`` or ``"heuristic"``."""

    def required(self, bandit: CausalBandit) -> tuple[str, ...]:
        """Return the variables that must be recorded for it, besides ``bandit.required``."""
        return ()

    @abstractmethod
    def start(self, bandit: CausalBandit) -> Self:
        """Forget everything and prepare for the arms of a bandit."""

    @abstractmethod
    def update(self, samples: Samples) -> Self:
        """Learn from plays in the bandit's coding (`CausalBandit.encode`)."""

    def intervals(self, delta: float) -> Intervals:
        """Return intervals that hold for all arms at once, at all times, but with probability `delta`.

        By default nothing is claimed: [0, 1] for every arm.
        """
        started(self)
        return Intervals.vacuous(len(self.bandit_.arms))


class Estimated(NamedTuple):
    """What an estimator says of every arm, alone or below a leader: arrays over the arms."""

    value: NDArray[np.float64]
    variance: NDArray[np.float64]
    bias_bound: NDArray[np.float64]


class PairwiseEstimator(Estimator):
    """An estimator that compares arms in pairs, and can say what a play would add.

    Its variances are asymptotic (delta method), and of smoothed estimates, so that frequencies of 0 and 1 do not make
    them 0. Beside them stands what the estimate may be off by, at worst, because of cells of fewer than five plays.

    Attributes
    ----------
    served_
        Boolean array over the arms: of which it knows more than from their own plays.
    graph_rejected_
        Boolean array over the arms: for which the graph is not to be believed. A policy sets it.
    """

    served_: NDArray[np.bool_]
    graph_rejected_: NDArray[np.bool_]

    @abstractmethod
    def estimates(self) -> Estimated:
        """Return the estimate of every arm, its variance, and what it may be off by."""

    @abstractmethod
    def differences(self, leader: int) -> Estimated:
        """Return how far the estimate of every arm is below that of the leader, its variance, what it may be off by."""

    @abstractmethod
    def variance_reduction(self, leader: int, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each of ``bandit.playable`` what one play of it takes off the variances of the differences.

        Parameters
        ----------
        leader
            The arm that the others are compared with.
        weights
            Array over the arms: what each difference's variance counts.

        Returns
        -------
        numpy.ndarray
            The expected fall of ``sum(weights * variances)``, to first order.
        """


def started(estimator: Estimator) -> None:
    """Raise unless the estimator was started on a bandit."""
    if not hasattr(estimator, "bandit_"):
        raise RuntimeError(f"{type(estimator).__name__} has no intervals before start(bandit)")
