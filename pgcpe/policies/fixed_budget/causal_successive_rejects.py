"""Causal Successive Rejects: the paper's algorithm for a fixed budget."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pgcpe._checks import one_of
from pgcpe.bandit import CausalBandit
from pgcpe.complexity.hardness import log_bar
from pgcpe.estimators.admissible import AdmissibleSequence
from pgcpe.plays.actions import Action
from pgcpe.policies.base import Policy
from pgcpe.policies.rules.base import RecommendationRule, Seed, n_arms_of
from pgcpe.policies.rules.phases import Phases, checked_budget, needs_observation, planned, worst_first
from pgcpe.policies.rules.state import PolicyState

__all__ = ["CausalSuccessiveRejects", "causal_rejection_plays"]

NULL = Action()

MERGES = ("larger", "counts", "variance")


class CausalSuccessiveRejects(Policy):
    """Half of the budget for observation, half for the arms of fewest data; rejects an arm a phase (Algorithm 4).

    After T/2 plays of ``do()`` every phase k = 1, ..., N - 1 plays the remaining arm of least ``T_a + N_a``,
    observations of its rarest cell and own plays, again and again; then the remaining arm of the lowest estimate goes.

    Guarantee, fixed budget: `pgcpe.complexity.causal_rejects_error`, which says something only for budgets far above
    those of studies; for ``merge="larger"``, the estimate of the proof.

    Read as in the proof where the printed algorithm is silent: the phases' lengths are those of Audibert and Bubeck, so
    that they sum to T/2 - N, and with each rounded up to at most T/2; an arm without data has the estimate 0; where T/2
    is at most N there are no phases and the whole budget observes.
    Left out: epsilon, which the algorithm takes and does not use.

    Parameters
    ----------
    bandit
        The question; ``do()`` must be playable.
    budget
        T, at least 1.
    merge
        How an arm's two estimates make one: ``"larger"`` takes that with more data, T_a against N_a; ``"counts"``
        weights them by these; ``"variance"`` weights smoothed estimates by their inverse variances.
    seed
        As for `Policy`.
    """

    def __init__(
        self,
        bandit: CausalBandit,
        *,
        budget: int,
        merge: str = "larger",
        seed: Seed = 0,
    ) -> None:
        one_of("merge", merge, MERGES)
        k = n_arms_of(bandit)
        phases = _CausalRejects(k, checked_budget(budget, 1, k))
        needs_observation(bandit, type(self).__name__)
        parts = planned(phases, budget, AdmissibleSequence(refresh=1), recommendation=MergedEstimate(merge))
        self.merge, self.budget = merge, budget
        super().__init__(bandit, **parts, seed=seed)


def causal_rejection_plays(n_arms: int, budget: int) -> list[int]:
    """Return how many interventions each phase makes, N - 1 numbers; none where T/2 is at most N.

    They sum to at most T/2: ``sum_k (N + 1 - k)(n_k - n_(k-1)) = T/2 - N``, each rounded up.
    """
    scale = (budget / 2.0 - n_arms) / log_bar(n_arms)
    if scale <= 0:
        return []
    n = [0.0, *(scale / (n_arms + 1 - k) for k in range(1, n_arms))]  # Algorithm 4, line 4
    exact = ((n_arms + 1 - k) * (n[k] - n[k - 1]) for k in range(1, n_arms))
    return [math.ceil(plays - 1e-9) for plays in exact]  # what is an integer but for rounding stays it


class _CausalRejects(Phases):
    """Observation, then N - 1 phases that level what is known of the arms left."""

    def __init__(self, n_arms: int, budget: int) -> None:
        super().__init__()
        self.remaining: NDArray[np.bool_] = np.ones(n_arms, dtype=np.bool_)
        self._lengths = causal_rejection_plays(n_arms, budget)
        self._observe = budget // 2 if self._lengths else budget
        self._phase = -1

    def next_phase(self, state: PolicyState) -> list[Action] | None:
        """Return the plays of the next phase, None if there is none."""
        if self._phase > 0 and self.remaining.sum() > 1:  # Algorithm 4, lines 10 and 9: a_k goes
            self.remaining[next(i for i in worst_first(state.estimates, state) if self.remaining[i])] = False
        self._phase += 1  # line 5
        if self._phase == 0:
            return [NULL] * self._observe  # line 3
        if self._phase > len(self._lengths):
            return None  # line 11
        known = state.plays + state.estimator(AdmissibleSequence).plug_in()[1]
        left = np.flatnonzero(self.remaining)
        left = left[np.argsort(state.rank[left])]
        plan = []
        for _ in range(self._lengths[self._phase - 1]):  # line 6
            i = left[known[left].argmin()]  # line 7: least T_a + N_a
            known[i] += 1
            plan.append(state.bandit.arms[i])
        return plan


class MergedEstimate(RecommendationRule):
    """One estimate of the observational and the interventional one, by a rule of `MERGES`."""

    def __init__(self, merge: str) -> None:
        self._merge = merge

    def estimates(self, state: PolicyState) -> NDArray[np.float64]:
        """Return the merged estimates; 0 for an arm without data."""
        observational = state.estimator(AdmissibleSequence)
        if self._merge == "variance":
            return _by_variance(state, observational)
        observed, seen = observational.plug_in()
        own = np.where(state.plays > 0, state.means, 0.0)
        if self._merge == "larger":
            return np.where(state.plays >= seen, own, observed)
        total = np.maximum(state.plays + seen, 1.0)
        return np.asarray((state.plays * own + seen * observed) / total)


def _by_variance(state: PolicyState, observational: AdmissibleSequence) -> NDArray[np.float64]:
    """Return both estimates from frequencies smoothed by half a count, weighted by their inverse variances."""
    n, x = state.plays, state.rewards
    own = (x + 0.5) / (n + 1.0)
    own_weight = np.maximum(n, 0.5) / (own * (1.0 - own))
    observed, variance = observational.smoothed()
    weight = 1.0 / variance
    return np.asarray((own_weight * own + weight * observed) / (own_weight + weight))
