"""PooledCCPE: every play counted, exact intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from pgcpe.actions import Action
from pgcpe.bandit import CausalBandit
from pgcpe.confidence import probability
from pgcpe.estimators.base import EmpiricalMeans, Estimator
from pgcpe.estimators.pooled import PooledTrees
from pgcpe.policies.base import Policy
from pgcpe.policies.rules import PolicyState, SamplingRule, Seed
from pgcpe.policies.stopping import SeparatedOrTold

__all__ = ["ObserveLeaderAndOpen", "PooledCCPE"]

NULL = Action()

PAIRS, DIRECT, TREES = 0.4, 0.15, 0.45
"""The shares of delta: pairwise statistics of direct plays, direct intervals, intervals of the trees."""


class PooledCCPE(Policy):
    """CCPE with every play in the trees, and a stop by intervals or by pairs.

    Plays ``do()``, the leader and a challenger in turn, like the paper's algorithm (`ObserveLeaderAndOpen`).

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
        stopping = SeparatedOrTold(PAIRS * probability("delta", delta))
        super().__init__(
            bandit,
            direct=EmpiricalMeans(),
            models=[PooledTrees(refresh)],
            sampling=ObserveLeaderAndOpen(stopping),
            stopping=stopping,
            epsilon=epsilon,
            delta=delta,
            seed=seed,
            shares=(DIRECT, TREES),
        )


class ObserveLeaderAndOpen(SamplingRule):
    """``do()``, the leader, and the arm of the highest upper bound among those that the stop is still open for.

    The leader is the arm of the highest estimate, from its tree or from its own plays, whichever has the smaller
    variance. Where ``do()`` may not be played, the two candidates alone.

    Parameters
    ----------
    stopping
        The rule that says which arms are open.
    """

    optimistic: ClassVar[bool] = True

    def __init__(self, stopping: SeparatedOrTold) -> None:
        self._stopping = stopping

    def choose(self, state: PolicyState) -> list[Action]:
        """Return the iteration; the leader alone where it has no challenger."""
        arms, h = state.bandit.arms, state.leader
        if state.challenger < 0:
            return [arms[h]]
        left = np.flatnonzero(self._stopping.open(state)[1])
        if len(left) == 0:  # it will stop
            left = np.array([state.challenger])
        highest = np.lexsort((state.rank[left], state.plays[left], -state.intervals.upper[left]))[0]
        pair = [arms[left[highest]], arms[h]]
        return [NULL, *pair] if NULL in state.bandit.costs else pair  # costs: of every playable action

    def estimates(self, direct: EmpiricalMeans, models: Sequence[Estimator]) -> NDArray[np.float64]:
        """Return for each arm the estimate of its tree or that of its own plays, whichever is surer."""
        value, variance = cast(PooledTrees, models[0]).smoothed()
        mean = (direct.rewards_ + 0.5) / (direct.plays_ + 1.0)
        own = mean * (1.0 - mean) / np.maximum(direct.plays_, 0.5)
        return np.where(variance < own, value, mean)
