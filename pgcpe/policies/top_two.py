"""Top-two sampling with a pairwise stop: the best known use of direct plays alone."""

from __future__ import annotations

from pgcpe.bandit import CausalBandit
from pgcpe.estimators.base import EmpiricalMeans
from pgcpe.policies.base import Policy
from pgcpe.policies.rules import Seed
from pgcpe.policies.sampling import EachOnce
from pgcpe.policies.sampling import TopTwo as TopTwoRule
from pgcpe.policies.stopping import PairwiseGLR

__all__ = ["TopTwo"]


class TopTwo(Policy):
    """Every arm once, then the leader or its closest challenger, until all pairs are told apart.

    Guarantee: the arm returned is within epsilon of the best with probability at least 1 - delta, for rewards of any
    distribution on [0, 1]. The graph serves only to merge equal arms. The intervals it reports are those of
    `EmpiricalMeans`, at the same delta but apart from the stop.

    Source: You, Qin, Wang and Yang 2023, top-two sampling by transport costs with information-directed selection, and
    the stop of Kaufmann and Koolen 2021 with Beta(1/2, 1/2) mixtures. Left out: the asymptotically optimal threshold,
    which is not proved at finite times.

    Parameters
    ----------
    bandit
        The question.
    epsilon, delta, seed
        As for `Policy`.
    """

    def __init__(
        self,
        bandit: CausalBandit,
        *,
        epsilon: float = 0.05,
        delta: float = 0.05,
        seed: Seed = 0,
    ) -> None:
        super().__init__(
            bandit,
            direct=EmpiricalMeans(),
            sampling=EachOnce(TopTwoRule()),
            stopping=PairwiseGLR(delta),
            epsilon=epsilon,
            delta=delta,
            seed=seed,
        )
