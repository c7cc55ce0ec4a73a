"""LUCB: direct plays alone."""

from __future__ import annotations

import numpy as np

from pgcpe.bandit import CausalBandit
from pgcpe.estimators.base import EmpiricalMeans
from pgcpe.policies.base import Policy
from pgcpe.policies.sampling import TwoCandidates
from pgcpe.policies.stopping import SeparatedIntervals

__all__ = ["LUCB"]


class LUCB(Policy):
    """Lower and upper confidence bounds on direct plays; the graph serves only to merge equal arms.

    Guarantee: with ``radius="kt"`` the arm returned is within epsilon of the best with probability at least 1 - delta,
    for rewards of any distribution on [0, 1]. With ``radius="paper"`` (beta_I of Eq. 12 at the overall delta) it is
    heuristic. Source: Kalyanakrishnan et al. 2012, with other radii than theirs.

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
        super().__init__(
            bandit,
            direct=EmpiricalMeans(radius, alpha),
            sampling=TwoCandidates(),
            stopping=SeparatedIntervals(),
            epsilon=epsilon,
            delta=delta,
            seed=seed,
        )
