"""Uniform sampling: the simplest baseline of a fixed budget."""

from __future__ import annotations

import numpy as np

from pgcpe.bandit import CausalBandit
from pgcpe.plays.actions import Action
from pgcpe.policies.base import Policy
from pgcpe.policies.rules.base import Seed, n_arms_of
from pgcpe.policies.rules.phases import Phases, checked_budget, planned
from pgcpe.policies.rules.state import PolicyState

__all__ = ["UniformSampling"]


class UniformSampling(Policy):
    """Every arm in turn, in random order, until the budget is spent; recommends the highest mean.

    No guarantee beyond Hoeffding's for the mean of each arm. The simplest baseline.

    Parameters
    ----------
    bandit
        The question.
    budget
        The number of plays.
    seed
        As for `Policy`.
    """

    def __init__(self, bandit: CausalBandit, *, budget: int, seed: Seed = 0) -> None:
        phases = _InTurn(checked_budget(budget, 1, n_arms_of(bandit)))
        self.budget = budget
        super().__init__(bandit, **planned(phases, budget), seed=seed)


class _InTurn(Phases):
    """One phase: the arms in random order, over and over."""

    def __init__(self, budget: int) -> None:
        super().__init__()
        self._budget, self._planned = budget, False

    def next_phase(self, state: PolicyState) -> list[Action] | None:
        """Return the plays of the next phase, None if there is none."""
        if self._planned:
            return None
        self._planned = True
        order = np.resize(np.argsort(state.rank), self._budget)
        return [state.bandit.arms[i] for i in order]
