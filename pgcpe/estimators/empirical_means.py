"""Estimates from an arm's own plays."""

from __future__ import annotations

import math
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from pgcpe._checks import one_of
from pgcpe._numba import njit
from pgcpe.bandit import CausalBandit
from pgcpe.confidence.intervals import Intervals, probability
from pgcpe.confidence.paper_radii import refresh_paper
from pgcpe.confidence.sequences import kl_intervals, lil_radius, lucb1_radius, refresh_kt
from pgcpe.estimators.base import IntervalEstimator, check_samples, started
from pgcpe.graphs.states import shown
from pgcpe.plays.encoding import check_question
from pgcpe.plays.samples import Samples

__all__ = ["DirectEstimator", "EmpiricalMeans"]


class DirectEstimator(IntervalEstimator):
    """An estimator that claims an interval for every arm from the arm's own plays, which it counts.

    It needs the action and the reward of a play, and no graph beyond the merging of equal arms. A class of it says what
    the intervals are (`intervals`) and what they are worth (`certificate`).

    Attributes
    ----------
    plays_, rewards_
        Arrays over the arms: number of plays and sum of their rewards, of all listed arms that an arm stands for.
    listed_plays_, listed_rewards_
        The same for every listed arm.
    """

    event: ClassVar[str] = "direct intervals"

    has_index: bool = False
    """Whether `upper_index` is another than the upper ends of the intervals."""

    def required(self, bandit: CausalBandit) -> tuple[str, ...]:
        """Return none: the action and the reward are enough."""
        return ()

    @property
    def assumptions(self) -> tuple[str, ...]:
        """None: plays of the arms themselves."""
        return ()

    @property
    def means_(self) -> NDArray[np.float64]:
        """The mean reward of each arm's own plays, 1/2 before the first."""
        means: NDArray[np.float64] = _means(self.plays_, self.rewards_)
        return means

    def start(self, bandit: CausalBandit) -> Self:
        """Forget everything and prepare for the arms of a bandit."""
        check_question(bandit)
        self.bandit_ = bandit
        self.listed_plays_, self.listed_rewards_ = np.zeros(len(bandit.listed)), np.zeros(len(bandit.listed))
        self.plays_, self.rewards_ = self.listed_plays_, self.listed_rewards_
        if bandit.merges_arms:
            self.plays_, self.rewards_ = np.zeros(len(bandit.arms)), np.zeros(len(bandit.arms))
        return self

    def update(self, samples: Samples) -> Self:
        """Count the plays of listed arms alone: an unlisted action of equal effect is no direct play."""
        check_samples(samples)
        bandit = self.bandit_
        listed = np.array([bandit.listed_index(action) for action in samples.actions], dtype=np.int64)
        add_plays(listed, samples.which, samples.known_rewards, self.listed_plays_, self.listed_rewards_)
        if bandit.merges_arms:
            arm = np.where(listed >= 0, bandit.arm_of_listed[listed], -1)
            add_plays(arm, samples.which, samples.known_rewards, self.plays_, self.rewards_)
        return self

    def upper_index(self, level: float) -> NDArray[np.float64]:
        """Return what a published baseline ranks by in place of the upper ends of the intervals; by default these."""
        return self.intervals(level).upper


class EmpiricalMeans(DirectEstimator):
    """The mean reward of an arm's own plays, mu_I of the paper.

    Parameters
    ----------
    radius
        ``"kt"``: the exact confidence sequence of `kt_interval`. ``"paper"``: beta_I of Eqs. (6) and (12). Of the
        published baselines: ``"lucb1"``, ``"kl"`` and ``"lil"``, see ``lucb1_radius``, ``kl_intervals`` and
        ``lil_radius`` of `pgcpe.confidence.sequences`.
    alpha
        The factor of the radius, by default 2, the constant of the paper's theorems, and 1 for ``"lucb1"`` and
        ``"lil"``. There is none for ``"kt"`` and ``"kl"``.
    """

    def __init__(self, radius: str = "kt", alpha: float | None = None) -> None:
        self.radius = radius
        self.alpha = alpha

    @property
    def certificate(self) -> str:
        """``"exact"`` for the KT interval and for those of LUCB1 (alpha at least 1) and KL-LUCB."""
        own = self.radius == "lucb1" and (self.alpha is None or self.alpha >= 1)
        return "exact" if self.radius in ("kt", "kl") or own else "heuristic"

    def start(self, bandit: CausalBandit) -> Self:
        """Forget everything and prepare for the arms of a bandit."""
        check_radius(self.radius, self.alpha, "kt", "kl", "lucb1", "lil")
        super().start(bandit)
        n = len(bandit.arms)
        before_any = Intervals.unbounded(n) if self.radius == "paper" else Intervals.vacuous(n)
        self._lower, self._upper = before_any.lower, before_any.upper
        self._done, self._level = np.zeros(n), math.nan
        self._index: tuple[float, NDArray[np.float64]] | None = None
        return self

    def update(self, samples: Samples) -> Self:
        """Count the plays of listed arms (Algorithm 3, lines 9, 15 and 16; Algorithm 1, lines 9, 14 and 15)."""
        self._index = None
        return super().update(samples)

    @property
    def has_index(self) -> bool:  # type: ignore[override]
        """Whether `upper_index` is another than the upper ends of the intervals."""
        return self.radius in ("lucb1", "lil")

    @property
    def n_events_(self) -> int:
        """The number of arms; 1 for the lil'UCB heuristic, whose delta is that of no union."""
        return 1 if self.radius == "lil" else len(self.plays_)

    def intervals(self, level: float) -> Intervals:
        """Return the intervals, [0, 1] without plays. Only those of arms with new plays are worked out again.

        Those of the paper's radius are not cut off at 0 and 1, and infinite without plays.
        """
        started(self)
        if probability("level", level) != self._level:
            self._done[:], self._level = 0, level
            self._nats = np.full((2, len(self._done)), -math.log(level))
        if self.radius == "kt":
            refresh_kt(self.plays_, self.rewards_, self._done, self._nats, self._lower, self._upper)
        elif self.radius == "kl":
            return kl_intervals(self.plays_, self.rewards_, self._iteration, level * self.n_events_)
        elif self.radius in ("lucb1", "lil"):
            means, index = self.means_, self.upper_index(level)
            self._lower, self._upper = np.maximum(2.0 * means - index, 0.0), np.minimum(index, 1.0)
        else:  # Algorithm 3, line 17 (Algorithm 1, line 16): mu_I -+ beta_I(N_a)
            alpha = 2.0 if self.alpha is None else float(self.alpha)
            refresh_paper(self.plays_, self.rewards_, self._done, 1.0 / level, alpha, self._lower, self._upper)
        return Intervals(self._lower.copy(), self._upper.copy())

    def upper_index(self, level: float) -> NDArray[np.float64]:
        """Return the upper ends of the intervals as the published baselines rank by them: LUCB1's may leave [0, 1]."""
        if not self.has_index:
            return self.intervals(level).upper
        if self._index is None or self._index[0] != level:
            alpha, joint = 1.0 if self.alpha is None else self.alpha, level * self.n_events_
            if self.radius == "lil":
                radius = lil_radius(self.plays_, joint, alpha)
            else:
                radius = lucb1_radius(self.plays_, len(self.plays_), self._iteration, joint, alpha)
            self._index = level, self.means_ + radius
        return self._index[1]

    @property
    def _iteration(self) -> int:
        """The iterations of two plays, counted from K at the end of the first play of every arm."""
        return len(self.plays_) + max(int(self.plays_.sum()) - len(self.plays_), 0) // 2


def check_radius(radius: str, alpha: float | None, exact: str, *others: str) -> None:
    """Check the two options that the estimators of the paper have."""
    one_of("radius", radius, (exact, "paper", *others))
    if alpha is not None and radius in (exact, "kl"):
        raise ValueError(f"alpha belongs to the other radii; radius={radius!r} has no constant to choose")
    number = isinstance(alpha, (int, float)) and not isinstance(alpha, bool)
    if alpha is not None and not (number and 0 < alpha < math.inf):
        raise ValueError(f"alpha must be a positive number, but got {shown(alpha)}")


@njit(cache=True)
def _means(plays, rewards):  # type: ignore[no-untyped-def]
    means = np.full(len(plays), 0.5)
    for i in range(len(plays)):
        if plays[i] > 0:
            means[i] = rewards[i] / plays[i]
    return means


@njit(cache=True)
def add_plays(arm, which, rewards, plays, sums):  # type: ignore[no-untyped-def]
    """Add rounds to the plays and the sums of rewards of the arm of their action; -1 for none."""
    for row in range(len(which)):
        i = arm[which[row]]
        if i >= 0:
            plays[i] += 1
            sums[i] += rewards[row]
