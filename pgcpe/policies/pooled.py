"""PooledCCPE: every play counted, exact intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from pgcpe.bandit import CausalBandit
from pgcpe.estimators.base import EmpiricalMeans, Estimator
from pgcpe.estimators.pooled import PooledTrees
from pgcpe.policies.base import Policy
from pgcpe.policies.rules import Seed
from pgcpe.policies.sampling import ObserveAndTwoCandidates
from pgcpe.policies.stopping import SeparatedOrTold

__all__ = ["PooledCCPE"]

PAIRS, DIRECT, TREES = 0.4, 0.15, 0.45
"""The shares of delta: pairwise statistics of direct plays, direct intervals, intervals of the trees."""


class PooledCCPE(Policy):
    """CCPE with every play in the trees, and a stop by intervals or by pairs.

    Plays ``do()``, the leader and the challenger in turn, like the paper's algorithm. The leader is the arm of the
    highest estimate, from its tree or its own plays, whichever has the smaller variance; the challenger has the highest
    upper bound among the others.

    Guarantee: the arm returned is within epsilon of the best with probability at least 1 - delta, if the graph is
    right, for rewards of any distribution on [0, 1].

    Parameters
    ----------
    bandit
        The question.
    refresh
        As for `PooledTrees`.
    epsilon, delta, seed
        As for `Policy`.

    Examples
    --------
    >>> from pgcpe.paper import experiment_3
    >>> question = experiment_3(5)
    >>> result = PooledCCPE(question.bandit, epsilon=0.1).run(question.environment(0), progress=False)
    >>> result.recommendation, result.certificate
    (do(X2=1, X3=1), 'exact')
    """

    def __init__(
        self,
        bandit: CausalBandit,
        *,
        refresh: int | None = None,
        epsilon: float = 0.05,
        delta: float = 0.05,
        seed: Seed = 0,
    ) -> None:
        super().__init__(
            bandit,
            direct=EmpiricalMeans(),
            models=[PooledTrees(refresh)],
            sampling=_BestEstimates(),
            stopping=SeparatedOrTold(PAIRS * delta if 0 < delta < 1 else 0.5),
            epsilon=epsilon,
            delta=delta,
            seed=seed,
            shares=(DIRECT, TREES),
        )


class _BestEstimates(ObserveAndTwoCandidates):
    """The paper's rule, with the estimate of smaller variance for the leader and the upper bound for the challenger."""

    optimistic: ClassVar[bool] = True

    def estimates(self, direct: EmpiricalMeans, models: Sequence[Estimator]) -> NDArray[np.float64]:
        """Return for each arm the estimate of its tree or that of its own plays, whichever is surer."""
        value, variance = cast(PooledTrees, models[0]).smoothed()
        mean = (direct.rewards_ + 0.5) / (direct.plays_ + 1.0)
        own = mean * (1.0 - mean) / np.maximum(direct.plays_, 0.5)
        return np.where(variance < own, value, mean)
