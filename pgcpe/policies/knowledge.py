"""What a policy has learned: estimators, their intervals at the levels of an error budget, what contradicts what."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from pgcpe._checks import generator
from pgcpe._numba import njit
from pgcpe.bandit import CausalBandit
from pgcpe.confidence.intervals import Intervals
from pgcpe.estimators.base import GRAPH, Comparison, Estimator, IntervalEstimator, Rejected
from pgcpe.estimators.empirical_means import DirectEstimator
from pgcpe.estimators.schedule import FIRST_SNAPSHOT, GROWTH
from pgcpe.graphs.states import shown
from pgcpe.plays.reward_scale import RewardScale
from pgcpe.plays.samples import Samples, SamplesBuffer
from pgcpe.policies.error_budget import ErrorBudget
from pgcpe.policies.rules.base import RecommendationRule, SamplingRule, Seed, StoppingRule
from pgcpe.policies.rules.state import NamedLeader, PolicyState

__all__ = ["Contradictions", "Knowledge", "check_budgets", "check_parts", "check_rules", "equal_shares"]


class Contradictions:
    """What one look has found.

    Attributes
    ----------
    arms
        Indices of the arms whose own plays contradict the graph, found now.
    models
        The estimators of which an assumption was refuted now, each with what takes its place.
    """

    def __init__(self, arms: NDArray[np.intp], models: Sequence[tuple[Estimator, str]]) -> None:
        self.arms, self.models = arms, models

    def refute(self, assumptions: Sequence[str]) -> bool:
        """Return whether they refute one of these: a conflict with the graph refutes all that are not about links."""
        gone = {said for model, _ in self.models for said in model.assumptions} - {GRAPH}
        return bool(gone.intersection(assumptions)) or (len(self.arms) > 0 and len(assumptions) > 0)


NOTHING = Contradictions(np.empty(0, dtype=np.intp), ())


class Knowledge:
    """Direct means and other estimators of the same plays.

    Parameters
    ----------
    bandit
        The question, with all variables recorded that the estimators need.
    direct, models
        The estimators, which are cloned.
    error_budget, shown
        Where the estimators that claim intervals spend: the first that has a share for them.
    seed
        Of the random order of the arms.
    """

    def __init__(
        self,
        bandit: CausalBandit,
        direct: DirectEstimator,
        models: Sequence[Estimator],
        error_budget: ErrorBudget,
        shown: ErrorBudget | None,
        seed: Seed,
    ) -> None:
        n_arms = len(bandit.arms)
        self.bandit, self.delta = bandit, error_budget.delta
        self.direct = clone(direct).start(bandit)
        self.models = [clone(model).start(bandit) for model in models]
        self._direct_level = _level(self.direct, error_budget, shown)
        self._claims = [(m, _level(m, error_budget, shown)) for m in self.models if isinstance(m, IntervalEstimator)]
        linked = "link test" in error_budget.shares
        self._link_level = error_budget.spend("link test", by="Knowledge") if linked else 0.0
        claims = [e for e in (self.direct, *self.models) if isinstance(e, IntervalEstimator)]
        worth = "exact" if len(claims) > 1 or bandit.merges_arms else "direct"
        self._certificate = worth if all(claim.certificate == "exact" for claim in claims) else "heuristic"
        self._rank = generator(seed).permutation(n_arms)
        self.conflicts, self._refuted = np.zeros(n_arms, dtype=np.bool_), [False] * len(self.models)
        self.told, self._n_observed = SamplesBuffer(bandit.coding), 0
        self._named: tuple[NamedLeader, ...] = ()
        self._graph_rejected = False

    def reject_graph(self, *, all_in_conflict: bool = False) -> None:
        """Use the graph no more: of every arm its own plays alone say something."""
        self._graph_rejected, self._claims = True, []
        self.conflicts = self.conflicts | all_in_conflict

    @property
    def to_name(self) -> int:
        """How many plays more make a leader to be named."""
        return int(FIRST_SNAPSHOT * GROWTH ** len(self._named)) - len(self.told)

    def name(self, state: PolicyState) -> None:
        """Keep the leader of now, and the direct plays until now."""
        counts = state.plays, state.rewards, state.listed_plays, state.listed_rewards
        self._named = (*self._named, NamedLeader(state.leader, *counts))

    def learn(self, told: Samples) -> None:
        """Hand plays to all estimators."""
        self.told.append(told)
        for i, action in enumerate(told.actions):
            if not action:
                self._n_observed += int(np.count_nonzero(told.which == i))
        for estimator in (self.direct, *self.models):
            estimator.update(told)

    def tighten(self, asked: Comparison) -> bool:
        """Have the estimators work out what a comparison turns on; return whether anything was worked out."""
        worked_out = [model.tighten(level, asked) for model, level in self._claims]
        return any(worked_out)

    def look(self) -> Contradictions:
        """Return what is found to contradict the graph or a model, and act on it from now on."""
        if not self.models or self._graph_rejected:  # direct intervals alone contradict nothing
            return NOTHING
        conflicts, refuted = self.conflicts, list(self._refuted)
        _, self.conflicts = self._intersection(put_off=True)
        for i, model in enumerate(self.models):
            self.conflicts = self.conflicts | model.contradictions(self.delta)
            if self._link_level and not refuted[i]:
                self._refuted[i] = model.refuted(self._link_level)
        names = ["direct plays", *(type(model).__name__ for model in self.models)]
        gone = [(self.models[i], names[i]) for i in np.flatnonzero(np.not_equal(self._refuted, refuted))]
        return Contradictions(np.flatnonzero(self.conflicts & ~conflicts), gone)

    def _intersection(self, *, put_off: bool) -> tuple[Intervals, NDArray[np.bool_]]:
        """Return the intersection of all intervals, step 3 of the paper, and the arms where it is empty or was.

        These keep their direct interval. Where the intervals are heuristic, an empty intersection contradicts nothing:
        it stands as printed, with its ends crossed. What was `put_off` is taken as it was worked out last, or worked
        out now.
        """
        merged, conflicts = self.direct.intervals(self._direct_level), self.conflicts.copy()
        for model, level in self._claims:
            other = model.bounds(level) if put_off else model.intervals(level)
            if self._certificate == "heuristic":
                merged = merged.intersect(other)
            else:
                _intersect(merged.lower, merged.upper, other.lower, other.upper, conflicts)
        return merged, conflicts

    def state(self, epsilon: float, *, put_off: bool = True) -> PolicyState:
        """Return what the rules are shown, as far as none of them has been asked, for an epsilon as share of the range.

        Bounds of intervals that were `put_off` are those of when they were worked out last.
        """
        direct, (intervals, _) = self.direct, self._intersection(put_off=put_off)
        plays, rewards = direct.plays_.copy(), direct.rewards_.copy()
        merged = direct.listed_plays_ is not direct.plays_
        return PolicyState(
            bandit=self.bandit,
            epsilon=epsilon,
            intervals=intervals,
            certificate=self._certificate,
            index=direct.upper_index(self._direct_level) if direct.has_index else intervals.upper,
            plays=plays,
            rewards=rewards,
            listed_plays=direct.listed_plays_.copy() if merged else plays,
            listed_rewards=direct.listed_rewards_.copy() if merged else rewards,
            rank=self._rank,
            conflicts=self.conflicts.copy(),
            rejected=self._rejected,
            models=tuple(model for model, gone in zip(self.models, self._refuted, strict=True) if not gone),
            n_plays=len(self.told),
            n_observed=self._n_observed,
            named=self._named,
        )

    @property
    def _rejected(self) -> Rejected:
        """The arms for which the graph is rejected: the one in conflict, or all as soon as there are two."""
        if self._graph_rejected:
            return np.ones_like(self.conflicts)
        n = np.count_nonzero(self.conflicts)
        return None if n == 0 else self.conflicts.copy() if n == 1 else np.ones_like(self.conflicts)

    def said_of(self, found: Contradictions, after_conflict: str) -> list[str]:
        """Return in words what contradicts what, and what that changes."""
        said = []
        if len(found.arms):
            unused = "; no estimate uses it any more" if np.count_nonzero(self.conflicts) > 1 and self.models else ""
            where = self.in_words(found.arms)
            said.append(
                f"the graph is in doubt: direct plays contradict the graph at {where}{unused}; {after_conflict}"
            )
        for model, instead in found.models:
            what = ", ".join(assumption for assumption in model.assumptions if assumption != GRAPH)
            said.append(f"the plays contradict {what}: the model is given up for {instead}")
        return said

    def in_words(self, arms: NDArray[np.intp]) -> str:
        """Return arms in conflict with what their own plays say, and what all others do."""
        pooled = [said for model in self.models if (said := model.without_own_plays()) is not None]
        plays, scale = self.direct.plays_, self.bandit.reward_scale
        means = [scale.text(mean) for mean in scale.value(self.direct.means_)]
        others = [scale.text(mean) for mean in scale.value(pooled[0])] if pooled else None
        return ", ".join(
            f"{self.bandit.arms[i]} ({plays[i]:.0f} plays: {means[i]}"
            + (f", all others: {others[i]})" if others else ")")
            for i in arms
        )


def _level(claim: IntervalEstimator, *budgets: ErrorBudget | None) -> float:
    """Spend an estimator's share of the first budget that has one, and return the level of each of its intervals."""
    for budget in budgets:
        if budget is not None and claim.event in budget.shares:
            return budget.spend(claim.event, over=claim.n_events_, by=type(claim).__name__)
    raise ValueError(f"no error budget has a share for {claim.event!r}")


def equal_shares(estimators: Sequence[Estimator], delta: float) -> ErrorBudget:
    """Return the split of delta in equal shares for the estimators that claim intervals."""
    claims = [estimator for estimator in estimators if isinstance(estimator, IntervalEstimator)]
    return ErrorBudget({claim.event: 1.0 / len(claims) for claim in claims}, delta)


def check_budgets(delta: float, **budgets: ErrorBudget | None) -> None:
    """Check that budgets, by the name of their parameter, split this delta."""
    for name, budget in budgets.items():
        if budget is None:
            continue
        if not isinstance(budget, ErrorBudget):
            raise TypeError(f"{name} must be an ErrorBudget, such as ErrorBudget({{...}}, delta), but got {budget!r}")
        if budget.delta != delta:
            raise ValueError(f"{name} must split the delta of the policy, {delta:g}, but splits {budget.delta:g}")


def check_rules(*, sampling: SamplingRule, stopping: StoppingRule, recommendation: RecommendationRule | None) -> None:
    """Check that rules are what they are passed as: objects, not their classes."""
    for name, rule, kind in (
        ("sampling", sampling, SamplingRule),
        ("stopping", stopping, StoppingRule),
        ("recommendation", recommendation or RecommendationRule(), RecommendationRule),
    ):
        if not isinstance(rule, kind):
            raise TypeError(f"{name} must be a {kind.__name__}, but got {rule!r}")


def check_parts(
    direct: DirectEstimator, models: Sequence[Estimator], epsilon: float, delta: float, scale: RewardScale
) -> None:
    """Check what a policy is given beside its rules."""
    if not isinstance(direct, DirectEstimator):
        raise TypeError(f"direct must be a DirectEstimator, such as EmpiricalMeans(), but got {type(direct).__name__}")
    if odd := [model for model in models if not isinstance(model, Estimator)]:
        raise TypeError(f"estimator must be an Estimator, such as BGLM(), but got {shown(odd[0])}")
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        if not isinstance(value, Real):
            raise TypeError(f"{name} must be a number, but got {shown(value)}")
    if not 0 <= epsilon < scale.width:
        unit = "" if scale.width == 1 else f", the width of the reward's range {scale.in_words}"
        raise ValueError(f"epsilon must be at least 0 and below {scale.width:g}{unit}, but got {epsilon}")
    if not 0 < delta < 1:
        raise ValueError(f"delta must be between 0 and 1, but got {delta}")


@njit(cache=True)
def _intersect(lower, upper, other_lower, other_upper, conflicts):  # type: ignore[no-untyped-def]
    """Intersect the direct intervals with a model's, in place; an arm in conflict keeps the direct one from then on."""
    for i in range(len(lower)):
        if not conflicts[i]:
            low, high = max(lower[i], other_lower[i]), min(upper[i], other_upper[i])
            if low <= high:
                lower[i], upper[i] = low, high  # Algorithm 3, line 19 (Algorithm 1, line 18)
            else:
                conflicts[i] = True
