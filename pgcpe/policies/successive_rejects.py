"""Fixed budget without a graph: uniform sampling, Successive Rejects, Sequential Halving."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pgcpe.actions import Action
from pgcpe.bandit import CausalBandit
from pgcpe.complexity.hardness import log_bar
from pgcpe.policies.base import Policy
from pgcpe.policies.phases import Phases, checked_budget, n_arms_of, planned, worst_first
from pgcpe.policies.rules import PolicyState, Seed

__all__ = ["SequentialHalving", "SuccessiveRejects", "UniformSampling", "rejection_counts"]


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
        super().__init__(bandit, **planned(phases, budget), seed=seed)


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
        super().__init__(bandit, **planned(phases, budget), seed=seed)


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
        phases = _Halving(k, checked_budget(budget, 1, k), rounds, keep)
        super().__init__(bandit, **planned(phases, budget), seed=seed)


def rejection_counts(n_arms: int, plays: int) -> list[int]:
    """Return n_1, ..., n_(N-1): how often each arm left has been played by the end of each phase."""
    scale = log_bar(n_arms)
    return [math.ceil(plays / (scale * (n_arms + 1 - k))) for k in range(1, n_arms)]


class _InTurn(Phases):
    """One phase: the arms in random order, over and over."""

    def __init__(self, budget: int) -> None:
        super().__init__()
        self._budget, self._planned = budget, False

    def next_phase(self, state: PolicyState) -> list[Action] | None:
        if self._planned:
            return None
        self._planned = True
        order = np.resize(np.argsort(state.rank), self._budget)
        return [state.bandit.arms[i] for i in order]


class _Rejects(Phases):
    """Equal plays of the arms left, until each has n_k; then the lowest mean goes."""

    def __init__(self, n_arms: int, counts: list[int]) -> None:
        super().__init__()
        self._active = np.ones(n_arms, dtype=np.bool_)
        self._each = np.diff([0, *counts]).tolist()
        self._phase = 0

    def next_phase(self, state: PolicyState) -> list[Action] | None:
        if self._phase > 0 and self._active.sum() > 1:
            means = state.rewards / np.maximum(state.plays, 1.0)
            self._active[next(i for i in worst_first(means, state) if self._active[i])] = False
        if self._phase == len(self._each):
            return None
        self._phase += 1
        left = [i for i in np.argsort(state.rank) if self._active[i]]
        return [state.bandit.arms[i] for _ in range(self._each[self._phase - 1]) for i in left]

    def eligible(self) -> NDArray[np.bool_]:
        return self._active


class _Halving(Phases):
    """Equal shares of the budget for every round and, in it, for the arms left; then the lower half goes."""

    def __init__(self, n_arms: int, budget: int, rounds: int, keep: bool) -> None:
        super().__init__()
        self._active = np.ones(n_arms, dtype=np.bool_)
        self._budget, self._rounds, self._round, self._keep = budget, rounds, 0, keep
        self._plays_before, self._rewards_before = np.zeros(n_arms), np.zeros(n_arms)

    def next_phase(self, state: PolicyState) -> list[Action] | None:
        if self._round > 0:
            plays, rewards = state.plays - self._plays_before, state.rewards - self._rewards_before
            means = rewards / np.maximum(plays, 1.0)
            active = [i for i in worst_first(means, state) if self._active[i]]
            self._active[active[: len(active) // 2]] = False
        if self._round == self._rounds or self._active.sum() < 2:
            return None
        self._round += 1
        if not self._keep:
            self._plays_before, self._rewards_before = state.plays, state.rewards
        left = [i for i in np.lexsort((state.rank, state.plays)) if self._active[i]]
        share = self._budget // self._rounds
        plan = np.resize(left, share - share % len(left) if share >= len(left) else share)
        return [state.bandit.arms[i] for i in plan]

    def eligible(self) -> NDArray[np.bool_]:
        return self._active
