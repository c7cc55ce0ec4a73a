"""What an estimator is, and the simplest one: the mean of an arm's own plays."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import NamedTuple, Self

import numpy as np
from numba import njit
from sklearn.base import BaseEstimator

from pgcpe.bandit import CausalBandit
from pgcpe.confidence import Intervals, probability, refresh_kt, refresh_paper
from pgcpe.samples import Samples

__all__ = ["EmpiricalMeans", "Estimate", "Estimator"]


class Estimate(NamedTuple):
    """An estimate and its standard error."""

    value: float
    se: float


class Estimator(BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn is not typed
    """Gives an interval for every arm from what was told.

    The constructor only stores, so that ``get_params`` and ``sklearn.base.clone`` work; what is learned has names that
    end in ``_``. A policy works on a clone: one estimator can be handed to many.
    """

    @property
    @abstractmethod
    def certificate(self) -> str:
        """What the intervals are worth: ``"exact"`` or ``"heuristic"``."""

    @abstractmethod
    def start(self, bandit: CausalBandit) -> Self:
        """Forget everything and prepare for the arms of a bandit."""

    @abstractmethod
    def update(self, samples: Samples) -> Self:
        """Learn from plays in the bandit's coding (`CausalBandit.encode`)."""

    @abstractmethod
    def intervals(self, delta: float) -> Intervals:
        """Return intervals that hold for all arms at once, at all times, but with probability `delta`."""


class EmpiricalMeans(Estimator):
    """The mean reward of an arm's own plays, mu_I of the paper; no graph is needed beyond the merging of equal arms.

    Parameters
    ----------
    radius
        ``"kt"``: the exact confidence sequence of `pgcpe.confidence.kt_interval`, each arm at delta over the number of
        arms. ``"paper"``: beta_I of Eqs. (6) and (12).
    alpha
        The factor of the paper's radius, by default 2, the constant of its theorems.

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
        """``"exact"`` for the KT interval."""
        return "exact" if self.radius == "kt" else "heuristic"

    def start(self, bandit: CausalBandit) -> Self:
        """Forget everything and prepare for the arms of a bandit."""
        check_radius(self.radius, self.alpha, "kt")
        n = len(bandit.arms)
        self.bandit_ = bandit
        self.plays_, self.rewards_ = np.zeros(n), np.zeros(n)
        self._lower, self._upper = np.zeros(n), np.ones(n)
        self._done, self._delta = np.zeros(n), math.nan
        return self

    def update(self, samples: Samples) -> Self:
        """Count every play of an action whose effect is provably that of an arm."""
        arm = np.array([self.bandit_.index(action) for action in samples.actions], dtype=np.int64)
        _add(arm, samples.which, samples.codes, self.bandit_.reward_array, self.plays_, self.rewards_)
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
        else:
            alpha = 2.0 if self.alpha is None else self.alpha
            refresh_paper(self.plays_, self.rewards_, self._done, n_arms / delta, alpha, self._lower, self._upper)
        return Intervals(self._lower.copy(), self._upper.copy())


def started(estimator: Estimator) -> None:
    """Raise unless the estimator was started on a bandit."""
    if not hasattr(estimator, "bandit_"):
        raise RuntimeError(f"{type(estimator).__name__} has no intervals before start(bandit)")


def check_radius(radius: str, alpha: float | None, exact: str) -> None:
    """Check the two options that every estimator of the paper has."""
    if radius not in (exact, "paper"):
        raise ValueError(f"radius must be {exact!r} or 'paper', but got {radius!r}")
    if alpha is not None and radius == exact:
        raise ValueError(f"alpha belongs to radius='paper'; radius={exact!r} has no constant to choose")
    if alpha is not None and not 0 < alpha < math.inf:
        raise ValueError(f"alpha must be positive, but got {alpha}")


@njit(cache=True)
def _add(arm, which, codes, value, plays, rewards):  # type: ignore[no-untyped-def]
    last = codes.shape[1] - 1
    for row in range(len(which)):
        i = arm[which[row]]
        if i >= 0:
            plays[i] += 1
            rewards[i] += value[codes[row, last]]
