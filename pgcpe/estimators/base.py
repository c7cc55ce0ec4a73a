"""What an estimator is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from pgcpe.bandit import CausalBandit
from pgcpe.confidence.intervals import Intervals
from pgcpe.estimators.claims import Claim
from pgcpe.plays.samples import Samples

__all__ = [
    "Arms",
    "Comparison",
    "EndLevels",
    "Estimated",
    "Estimator",
    "IntervalEstimator",
    "PairwiseEstimator",
    "Rejected",
]

Rejected = NDArray[np.bool_] | None
"""Boolean array over the arms for which the graph is rejected; None for none."""

Arms = NDArray[np.intp] | None
"""Indices of arms; None for all."""

GRAPH = "the graph: its d-separations, and that an intervention changes nothing but what it sets"
"""What is assumed where plays of other actions are counted."""


class Estimator(BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn is not typed
    """Learns from plays: intervals of the arms (`IntervalEstimator`), their differences (`PairwiseEstimator`), or both.

    The constructor only stores, so that ``get_params`` and ``sklearn.base.clone`` work; what is learned has names that
    end in ``_``. A policy works on a clone: one estimator can be handed to many.
    """

    bandit_: CausalBandit

    def required(self, bandit: CausalBandit) -> tuple[str, ...]:
        """Return the variables that must be recorded for it; by default those of the arms' formulas."""
        return bandit.formula_variables

    @abstractmethod
    def start(self, bandit: CausalBandit) -> Self:
        """Forget everything and prepare for the arms of a bandit."""

    @abstractmethod
    def update(self, samples: Samples) -> Self:
        """Learn from plays in the bandit's coding."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What it assumes, in words."""
        return (GRAPH,)

    def claims(self) -> list[Claim]:
        """Return what it takes from the graph, by the arms whose estimates rest on it; by default it does not say."""
        return []

    def contradictions(self, level: float) -> NDArray[np.bool_]:
        """Return the arms whose own plays contradict what it infers about them from all others.

        If its assumptions hold, any arm is ever among them with probability at most `level`. By default none is.
        """
        return np.zeros(len(self.bandit_.arms), dtype=np.bool_)

    def refuted(self, level: float) -> bool:
        """Return whether the plays contradict an assumption of its own, by chance with probability at most `level`."""
        return False

    def without_own_plays(self) -> NDArray[np.float64] | None:
        """Return the estimate of every arm without the arm's own plays; None if it has none."""
        return None


class Comparison(NamedTuple):
    """Whether any of some arms is better than a leader by more than epsilon.

    Attributes
    ----------
    leader
        Its index.
    contenders
        Boolean array over the arms: which may be better, as far as anything but intervals says.
    epsilon
        The tolerance.
    intervals
        What all intervals together say so far.
    """

    leader: int
    contenders: NDArray[np.bool_]
    epsilon: float
    intervals: Intervals


class EndLevels(NamedTuple):
    """Error probabilities of the bounds by which a leader is separated from the other arms.

    Attributes
    ----------
    upper
        Of the upper end of one arm that is fixed beforehand. Only that of the best arm can make a wrong stop, so that
        it is not divided among the arms.
    lower
        Of the lower ends of all arms that may lead, together.
    """

    upper: float
    lower: float


class IntervalEstimator(Estimator):
    """An estimator that claims an interval for every arm.

    Attributes
    ----------
    event
        What it may err in: the share of an `ErrorBudget` that it spends.
    """

    event: ClassVar[str]

    @property
    @abstractmethod
    def certificate(self) -> str:
        """What the intervals are worth: ``"exact"`` or ``"heuristic"``."""

    @property
    def n_events_(self) -> int:
        """Over how many events an error probability has to be divided that all intervals are to share."""
        return len(self.bandit_.arms)

    @abstractmethod
    def intervals(self, level: float) -> Intervals:
        """Return intervals for the arms, all of which hold at all times at once, each but with probability `level`."""

    def bounds(self, level: float) -> Intervals:
        """Return what is known of these intervals without working out more of them than `tighten` did.

        By default all of them.
        """
        return self.intervals(level)

    def tighten(self, level: float, asked: Comparison) -> bool:
        """Work out those bounds that a comparison turns on, from all plays; return whether there were any.

        By default there are none: nothing is put off.
        """
        return False

    def compare(self, levels: EndLevels, asked: Comparison, named: Sequence[int] = ()) -> Intervals:
        """Return bounds that decide a comparison: the leader's lower end, and upper ends as far as they are in the way.

        Parameters
        ----------
        levels
            What an upper end of one fixed arm, and the lower ends of all that may lead, may err in.
        asked
            What is compared, and what is known of the ends from elsewhere.
        named
            The leaders at the scheduled numbers of plays: what begins there may be claimed for that arm alone.
        """
        lower = self.intervals(levels.lower / self.n_events_).lower
        return Intervals(lower, self.intervals(levels.upper).upper)


class Estimated(NamedTuple):
    """Estimates of the arms, or of how far they are below a leader: arrays over the arms."""

    value: NDArray[np.float64]
    variance: NDArray[np.float64]
    bias_bound: NDArray[np.float64]


class PairwiseEstimator(Estimator):
    """An estimator that compares arms in pairs, and can say what a play would add.

    There are two kinds of estimates. `estimates` may be smoothed or shrunk: they err less where little was seen, and
    are for choosing what to recommend and what to play. `plug_in` and `differences` are unbiased, to first order: what
    carries a standard error, a stop or a conflict rests on them. Variances are asymptotic (delta method); beside them
    stands the bias bound, what the estimate may be off by, at worst, because of cells never seen.

    Where a policy has found the graph wrong for some arms it says so by `rejected`, a boolean array over the arms;
    nothing is said of these but what their own plays say, or nothing at all: NaN, or a variance of infinity.

    Attributes
    ----------
    served_
        Boolean array over the arms: of which it knows more than from their own plays.
    """

    served_: NDArray[np.bool_]

    @abstractmethod
    def estimates(self, rejected: Rejected = None) -> NDArray[np.float64]:
        """Return the estimate of every arm, for ranking; NaN where there is none."""

    @abstractmethod
    def plug_in(self, rejected: Rejected = None) -> Estimated:
        """Return the unbiased estimate of every arm, its variance, and its bias bound."""

    @abstractmethod
    def differences(
        self, leader: int, rejected: Rejected = None, epsilon: float | None = None, arms: Arms = None
    ) -> Estimated:
        """Return how far the unbiased estimates of arms are below the leader's, the variance, and the bias bound.

        Parameters
        ----------
        leader
            The arm that the others are compared with.
        rejected
            The arms for which the graph is rejected.
        epsilon
            If given the variance is the larger of two: that at the estimate, and that at the nearest parameters where
            the arm is better than the leader by epsilon. Evidence ``(gap + epsilon)^2 / (2 variance)`` then grows as
            fast as counts allow: after n zeros like n, not like n^2.
        arms
            The arms, in the order of the arrays that are returned.
        """

    def smoothed_differences(self, leader: int, rejected: Rejected = None) -> Estimated:
        """Return how far `estimates` of all arms are below the leader's, and the variance that plays are to reduce.

        It is that of `variance_reduction`: a cell never seen has as much of it as half a play would leave, where for
        `differences` it has none, and a bias bound. By default it is that of `differences`.
        """
        return self.differences(leader, rejected)

    @abstractmethod
    def variance_reduction(
        self,
        leader: int,
        weights: NDArray[np.float64],
        rejected: Rejected = None,
        pending: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """Return for each of ``bandit.playable`` what one play of it takes off the variances of the differences.

        Parameters
        ----------
        leader
            The arm that the others are compared with.
        weights
            Array over the arms: what each difference's variance counts.
        rejected
            The arms for which the graph is rejected.
        pending
            Array over ``bandit.playable``: plays that are expected besides those told, so that the next one adds less.
            It is given in batches alone.

        Returns
        -------
        numpy.ndarray
            The expected fall of ``sum(weights * variances)``, to first order.
        """


def check_samples(samples: Samples) -> None:
    """Raise unless what an estimator is to learn from are samples."""
    if not isinstance(samples, Samples):
        raise TypeError(
            f"samples must be Samples, as bandit.encode(actions, frame) returns them, but got {type(samples).__name__}"
        )


def started(estimator: Estimator) -> None:
    """Raise unless the estimator was started on a bandit; `check_is_fitted` is for those that can be fitted alone."""
    if not hasattr(estimator, "bandit_"):
        raise NotFittedError(f"{type(estimator).__name__} has no intervals before start(bandit)")
