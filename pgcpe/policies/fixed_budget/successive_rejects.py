"""Successive Rejects: a fixed budget without a graph."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pgcpe.bandit import CausalBandit
from pgcpe.complexity.hardness import log_bar
from pgcpe.plays.actions import Action
from pgcpe.policies.base import Policy
from pgcpe.policies.rules.base import Seed, n_arms_of
from pgcpe.policies.rules.phases import Phases, checked_budget, planned, worst_first
from pgcpe.policies.rules.state import PolicyState

__all__ = ["SuccessiveRejects", "rejection_counts"]


class SuccessiveRejects(Policy):
    """Rejects the arm of the lowest mean after each of K - 1 phases (Audibert and Bubeck 2010).

    Guarantee, fixed budget: the best arm is missed with probability at most
    ``K (K - 1) / 2 exp(-(T - K) / (logbar(K) H_2))``. Without a graph but for the merging of equal arms.

    Parameters
    ----------
    bandit
        The question.
    budget
        T, at least one more than the number of arms.
    seed
        As for `Policy`.
    """

    def __init__(self, bandit: CausalBandit, *, budget: int, seed: Seed = 0) -> None:
        k = n_arms_of(bandit)
        phases = _Rejects(k, rejection_counts(k, checked_budget(budget, k + 1, k) - k))
        self.budget = budget
        super().__init__(bandit, **planned(phases, budget), seed=seed)


def rejection_counts(n_arms: int, plays: int) -> list[int]:
    """Return n_1, ..., n_(N-1): how often each arm left has been played by the end of each phase."""
    scale = log_bar(n_arms)
    return [math.ceil(plays / (scale * (n_arms + 1 - k))) for k in range(1, n_arms)]


class _Rejects(Phases):
    """Equal plays of the arms left, until each has n_k; then the lowest mean goes."""

    def __init__(self, n_arms: int, counts: list[int]) -> None:
        super().__init__()
        self.remaining: NDArray[np.bool_] = np.ones(n_arms, dtype=np.bool_)
        self._each = np.diff([0, *counts]).tolist()
        self._phase = 0

    def next_phase(self, state: PolicyState) -> list[Action] | None:
        """Return the plays of the next phase, None if there is none."""
        if self._phase > 0 and self.remaining.sum() > 1:
            means = state.rewards / np.maximum(state.plays, 1.0)
            self.remaining[next(i for i in worst_first(means, state) if self.remaining[i])] = False
        if self._phase == len(self._each):
            return None
        self._phase += 1
        left = [i for i in np.argsort(state.rank) if self.remaining[i]]
        return [state.bandit.arms[i] for _ in range(self._each[self._phase - 1]) for i in left]
