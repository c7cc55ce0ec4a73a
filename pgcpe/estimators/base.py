"""What an estimator is, and the simplest one: the mean of an arm's own plays."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from numbers import Integral
from typing import NamedTuple, Self

import numpy as np
from numba import njit
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from pgcpe.bandit import CausalBandit
from pgcpe.confidence import Intervals, kl_intervals, lil_radius, lucb1_radius, probability, refresh_kt, refresh_paper
from pgcpe.samples import Samples

__all__ = ["EmpiricalMeans", "Estimate", "Estimator", "PairwiseEstimator"]


FIRST_SNAPSHOT, GROWTH = 64, 4
"""Snapshots are taken after so many plays, and whenever their number has grown by the factor."""

KEPT = 2
"""Regions of so many snapshots are intersected, besides that of the start."""


def snapshot_share(j: int) -> float:
    """Return the share of the error probability that the region begun at snapshot j spends; they sum to 1.

    Examples
    --------
    >>> [round(snapshot_share(j), 4) for j in (0, 5, 6, 7)]
    [0.15, 0.15, 0.05, 0.0167]
    """
    return 0.15 if j <= 5 else 0.1 / ((j - 5) * (j - 4))


SELDOM = 5
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
    off: NDArray[np.float64]


class EmpiricalMeans(Estimator):
    """The mean reward of an arm's own plays, mu_I of the paper; no graph is needed beyond the merging of equal arms.

    Parameters
    ----------
    radius
        ``"kt"``: the exact confidence sequence of `pgcpe.confidence.kt_interval`, each arm at delta over the number of
        arms. ``"paper"``: beta_I of Eqs. (6) and (12). Of the published baselines: ``"lucb1"``, ``"kl"`` and ``"lil"``,
        see ``lucb1_radius``, ``kl_intervals`` and ``lil_radius`` of `pgcpe.confidence`.
    alpha
        The factor of the radius, by default 2, the constant of the paper's theorems, and 1 for ``"lucb1"`` and
        ``"lil"``. There is none for ``"kt"`` and ``"kl"``.

    Attributes
    ----------
    plays_, rewards_
        Arrays over the arms: number of plays and sum of their rewards.
    """

    def __init__(self, radius: str = "kt", alpha: float | None = None) -> None:
        self.radius = radius
        self.alpha = alpha

    @property
    def certificate(self) -> str:
        """``"exact"`` for the KT interval and for those of LUCB1 (alpha at least 1) and KL-LUCB."""
        own = self.radius == "lucb1" and (self.alpha is None or self.alpha >= 1)
        return "exact" if self.radius in ("kt", "kl") or own else "heuristic"

    @property
    def means_(self) -> NDArray[np.float64]:
        """The mean reward of each arm's own plays, 1/2 before the first."""
        means: NDArray[np.float64] = _means(self.plays_, self.rewards_)
        return means

    def start(self, bandit: CausalBandit) -> Self:
        """Forget everything and prepare for the arms of a bandit."""
        check_radius(self.radius, self.alpha, "kt", "kl", "lucb1", "lil")
        n = len(bandit.arms)
        self.bandit_ = bandit
        self.plays_, self.rewards_ = np.zeros(n), np.zeros(n)
        self._lower, self._upper = np.zeros(n), np.ones(n)
        self._done, self._delta = np.zeros(n), math.nan
        self._own: tuple[float, NDArray[np.float64], NDArray[np.float64]] | None = None
        return self

    def update(self, samples: Samples) -> Self:
        """Count every play of an action whose effect is provably that of an arm."""
        arm = np.array([self.bandit_.index(action) for action in samples.actions], dtype=np.int64)
        add_plays(arm, samples.which, samples.codes, self.bandit_.reward_array, self.plays_, self.rewards_)
        self._own = None
        return self

    def intervals(self, delta: float) -> Intervals:
        """Return [0, 1] for arms without plays. Only arms with new plays are worked out again."""
        started(self)
        if delta != self._delta:
            probability("delta", delta)
            self._done[:], self._delta = 0, delta
        n_arms = len(self.plays_)
        if self.radius == "kt":
            refresh_kt(
                self.plays_, self.rewards_, self._done, math.log(n_arms) - math.log(delta), self._lower, self._upper
            )
        elif self.radius == "kl":
            return kl_intervals(self.plays_, self.rewards_, self._iteration, delta)
        elif self.radius in ("lucb1", "lil"):
            means, index = self._own_index(delta)
            self._lower, self._upper = np.maximum(2.0 * means - index, 0.0), np.minimum(index, 1.0)
        else:
            alpha = 2.0 if self.alpha is None else self.alpha
            refresh_paper(self.plays_, self.rewards_, self._done, n_arms / delta, alpha, self._lower, self._upper)
        return Intervals(self._lower.copy(), self._upper.copy())

    def ranking(self, merged: Intervals, delta: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return what the leader is largest in, and what the challenger is among the rest.

        For the paper's radius and for KT the midpoint and the upper end of the merged interval (Algorithm 3, line 4);
        for the published baselines, whose bounds may leave [0, 1], their mean and upper bound.
        """
        if self.radius == "kl":
            return self.means_, merged.upper
        if self.radius in ("lucb1", "lil"):
            return self._own_index(delta)
        return merged.midpoint, merged.upper

    @property
    def _iteration(self) -> int:
        """The iterations of two plays, counted from K at the end of the first play of every arm."""
        return len(self.plays_) + max(int(self.plays_.sum()) - len(self.plays_), 0) // 2

    def _own_index(self, delta: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the means and upper bounds of the published baselines, worked out once for what was told."""
        if self._own is None or self._own[0] != delta:
            alpha, means = 1.0 if self.alpha is None else self.alpha, self.means_
            if self.radius == "lil":
                radius = lil_radius(self.plays_, delta, alpha)
            else:
                radius = lucb1_radius(self.plays_, len(self.plays_), self._iteration, delta, alpha)
            self._own = delta, means, means + radius
        return self._own[1], self._own[2]


class PairwiseEstimator(Estimator):
    """An estimator that compares arms in pairs, and can say what a play would add.

    Its variances are asymptotic (delta method), and of smoothed estimates, so that frequencies of 0 and 1 do not make
    them 0. Beside them stands what the estimate may be off by, at worst, because of cells of fewer than five plays.

    Attributes
    ----------
    served_
        Boolean array over the arms: of which it knows more than from their own plays.
    distrusted_
        Boolean array over the arms: for which the graph is not to be believed. A policy sets it.
    """

    served_: NDArray[np.bool_]
    distrusted_: NDArray[np.bool_]

    @abstractmethod
    def estimates(self) -> Estimated:
        """Return the estimate of every arm, its variance, and what it may be off by."""

    @abstractmethod
    def differences(self, leader: int) -> Estimated:
        """Return how far the estimate of every arm is below that of the leader, its variance, what it may be off by."""

    @abstractmethod
    def gain(self, leader: int, weights: NDArray[np.float64]) -> NDArray[np.float64]:
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


class Observations:
    """The plays of ``do()``, kept until the intervals are to be worked out anew.

    What is due depends on the rows alone, not on how they were handed over.

    Parameters
    ----------
    refresh
        Intervals are worked out at every `refresh`-th count. If None, at every count up to a hundred, then whenever it
        has grown by a hundredth.
    every_play
        Whether all plays are counted, or those of ``do()`` alone.
    """

    def __init__(self, refresh: int | None, *, every_play: bool = False) -> None:
        self._refresh, self._every_play = checked_refresh(refresh), every_play
        self._told = self._counted = 0
        self._rows: list[NDArray[np.int32]] = []
        self._at: list[NDArray[np.intp]] = []  # the count at which each row came

    def add(self, samples: Samples) -> NDArray[np.int32] | None:
        """Keep the new observations and return the codes of those now due, None if nothing is due."""
        passive = np.array([not action for action in samples.actions], dtype=np.bool_)[samples.which]
        rows = samples.codes[passive]
        n = len(samples) if self._every_play else len(rows)
        at = self._told + 1 + (np.flatnonzero(passive) if self._every_play else np.arange(n))
        self._told += n
        due = last_due(self._told, self._refresh)
        if self._rows or due < self._told:
            self._rows.append(rows)
            self._at.append(at)
            if due > self._counted:
                rows, at = np.concatenate(self._rows), np.concatenate(self._at)
                ready = int(np.searchsorted(at, due, side="right"))
                self._rows, self._at = [rows[ready:]], [at[ready:]]
                rows = rows[:ready]
        if due <= self._counted:
            return None
        self._counted = due
        return rows


def checked_refresh(refresh: int | None) -> int | None:
    """Return the option of that name once it is sound."""
    if refresh is not None and (not isinstance(refresh, Integral) or isinstance(refresh, bool) or refresh < 1):
        raise ValueError(f"refresh must be an integer of at least 1, but got {refresh}")
    return None if refresh is None else int(refresh)


def last_due(told: int, refresh: int | None) -> int:
    """Return the last count at which intervals are to be worked out."""
    if refresh is not None or told <= 100:
        return told - told % (refresh or 1)
    step = int(math.log(told / 100) / math.log(1.01))
    return max(p for k in (step - 1, step, step + 1) if (p := int(100 * 1.01**k)) <= told)


def next_due(told: int, refresh: int | None) -> int:
    """Return the first count after `told` at which anything is to be worked out."""
    if refresh is not None or told < 100:
        return told + (refresh or 1) - told % (refresh or 1)
    step = int(math.log(told / 100) / math.log(1.01))
    return min(p for k in range(step, step + 3) if (p := int(100 * 1.01**k)) > told)


def check_radius(radius: str, alpha: float | None, exact: str, *others: str) -> None:
    """Check the two options that the estimators of the paper have."""
    if radius not in (names := (exact, "paper", *others)):
        raise ValueError(f"radius must be {', '.join(map(repr, names[:-1]))} or {names[-1]!r}, but got {radius!r}")
    if alpha is not None and radius in (exact, "kl"):
        raise ValueError(f"alpha belongs to the other radii; radius={radius!r} has no constant to choose")
    number = isinstance(alpha, (int, float)) and not isinstance(alpha, bool)
    if alpha is not None and not (number and 0 < alpha < math.inf):
        raise ValueError(f"alpha must be a positive number, but got {alpha!r}")


@njit(cache=True)
def _means(plays, rewards):  # type: ignore[no-untyped-def]
    means = np.full(len(plays), 0.5)
    for i in range(len(plays)):
        if plays[i] > 0:
            means[i] = rewards[i] / plays[i]
    return means


@njit(cache=True)
def add_plays(arm, which, codes, value, plays, rewards):  # type: ignore[no-untyped-def]
    """Add rounds to the plays and rewards of the arm of their action; -1 for none."""
    last = codes.shape[1] - 1
    for row in range(len(which)):
        i = arm[which[row]]
        if i >= 0:
            plays[i] += 1
            rewards[i] += value[codes[row, last]]
