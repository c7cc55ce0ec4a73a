"""Sequential Halving: a fixed budget without a graph."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pgcpe._checks import flag
from pgcpe.bandit import CausalBandit
from pgcpe.plays.actions import Action
from pgcpe.policies.base import Policy
from pgcpe.policies.rules.base import Seed, n_arms_of
from pgcpe.policies.rules.phases import Phases, checked_budget, planned, worst_first
from pgcpe.policies.rules.state import PolicyState

__all__ = ["SequentialHalving"]


class SequentialHalving(Policy):
    """Keeps the better half of the arms after each of log2(K) rounds (Karnin et al. 2013).

    Guarantee, fixed budget: the best arm is missed with probability at most ``3 log2(K) exp(-T / (8 H_2 log2(K)))``.
    Without a graph but for the merging of equal arms.

    Parameters
    ----------
    bandit
        The question.
    budget
        T, at least 1. The guarantee needs ``K log2(K)``; where a round's share does not reach one play for each arm
        left it is spent on the arms of fewest plays, and of equal means those of fewest plays are kept.
    keep
        Whether a round's decision also uses the plays of the rounds before it, which the paper drops.
    seed
        As for `Policy`.
    """

    def __init__(
        self,
        bandit: CausalBandit,
        *,
        budget: int,
        keep: bool = False,
        seed: Seed = 0,
    ) -> None:
        k = n_arms_of(bandit)
        rounds = max(math.ceil(math.log2(k)), 1)
        phases = _Halving(k, checked_budget(budget, 1, k), rounds, flag("keep", keep))
        self.budget, self.keep = budget, keep
        super().__init__(bandit, **planned(phases, budget), seed=seed)


class _Halving(Phases):
    """Equal shares of the budget for every round and, in it, for the arms left; then the lower half goes."""

    def __init__(self, n_arms: int, budget: int, rounds: int, keep: bool) -> None:
        super().__init__()
        self.remaining: NDArray[np.bool_] = np.ones(n_arms, dtype=np.bool_)
        self._budget, self._rounds, self._round, self._keep = budget, rounds, 0, keep
        self._plays_before, self._rewards_before = np.zeros(n_arms), np.zeros(n_arms)

    def next_phase(self, state: PolicyState) -> list[Action] | None:
        """Return the plays of the next phase, None if there is none."""
        if self._round > 0:
            plays, rewards = state.plays - self._plays_before, state.rewards - self._rewards_before
            means = rewards / np.maximum(plays, 1.0)
            active = [i for i in worst_first(means, state) if self.remaining[i]]
            self.remaining[active[: len(active) // 2]] = False
        if self._round == self._rounds or self.remaining.sum() < 2:
            return None
        self._round += 1
        if not self._keep:
            self._plays_before, self._rewards_before = state.plays, state.rewards
        left = [i for i in np.lexsort((state.rank, state.plays)) if self.remaining[i]]
        share = self._budget // self._rounds
        plan = np.resize(left, share - share % len(left) if share >= len(left) else share)
        return [state.bandit.arms[i] for i in plan]
