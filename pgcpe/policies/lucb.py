"""LUCB: direct plays alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pgcpe.bandit import CausalBandit
from pgcpe.confidence import Intervals
from pgcpe.estimators.base import EmpiricalMeans
from pgcpe.policies.base import Policy
from pgcpe.policies.sampling import EachOnce, TwoCandidates
from pgcpe.policies.stopping import SeparatedIntervals

__all__ = ["LUCB"]


class LUCB(Policy):
    """Lower and upper confidence bounds on direct plays; the graph serves only to merge equal arms.

    Guarantee: with ``radius="kt"``, and with LUCB1's own at ``alpha=1``, the arm returned is within epsilon of the best
    with probability at least 1 - delta, for rewards of any distribution on [0, 1]. With ``radius="paper"`` (beta_I of
    Eq. 12 at the overall delta) and with smaller alphas it is heuristic.

    ``radius="lucb1"`` is the algorithm of Kalyanakrishnan et al. 2012 as published: every arm once, in random order,
    then the arm of the highest mean and the one of the highest upper bound among the rest. The other radii rank by the
    midpoint of the interval within [0, 1], as the paper does, and begin with whatever arm is highest then.

    Parameters
    ----------
    bandit
        The question.
    radius, alpha
        As for `EmpiricalMeans`.
    epsilon, delta, seed
        As for `Policy`.
    """

    def __init__(
        self,
        bandit: CausalBandit,
        *,
        radius: str = "kt",
        alpha: float | None = None,
        epsilon: float = 0.05,
        delta: float = 0.05,
        seed: int | np.random.SeedSequence | None = 0,
    ) -> None:
        two = TwoCandidates()
        super().__init__(
            bandit,
            direct=EmpiricalMeans(radius, alpha),
            sampling=EachOnce(two) if radius == "lucb1" else two,
            stopping=SeparatedIntervals(),
            epsilon=epsilon,
            delta=delta,
            seed=seed,
        )

    def _ranking(self, merged: Intervals) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        direct = self._direct
        if direct.radius != "lucb1":
            return super()._ranking(merged)
        return direct.means_, direct.means_ + direct.lucb1_radius(self.delta)
