"""The two rules of a policy, and what they are shown."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pgcpe.bandit import CausalBandit
from pgcpe.confidence.intervals import Intervals
from pgcpe.estimators.base import Estimated, Estimator, PairwiseEstimator, Rejected
from pgcpe.estimators.empirical_means import EmpiricalMeans
from pgcpe.plays.actions import Action
from pgcpe.plays.samples import Samples

__all__ = ["Differences", "GuardedStop", "PolicyState", "SamplingRule", "Seed", "StoppingRule", "Verdict"]

Seed = int | np.random.SeedSequence | np.random.Generator | None
"""What a generator is made of; a generator itself is drawn from once."""


class Differences(NamedTuple):
    """How far each arm is below the leader, by one estimator for each pair.

    Attributes
    ----------
    gap, variance
        Arrays over the arms.
    by
        For each arm which of the state's estimators says so.
    """

    gap: NDArray[np.float64]
    variance: NDArray[np.float64]
    by: NDArray[np.intp]


@dataclass
class PolicyState:
    """What a policy knows when it chooses the next actions or whether to stop.

    Attributes
    ----------
    bandit, epsilon
        The question.
    intervals
        The merged intervals of the arms.
    plays, rewards
        Arrays over the arms: direct plays and the sum of their rewards.
    rank
        Array over the arms: a random order, drawn once.
    leader, challenger
        Indices of the arm with the highest estimate, a_h, and of the one with the highest upper bound among the others,
        a_l; -1 where there is no other.
    conflicts
        Boolean array over the arms: where a model's interval and the direct one had nothing in common.
    certificate
        What the intervals are worth, ``"exact"`` or ``"heuristic"``.
    models
        The estimators besides the direct means.
    estimates, index
        Arrays over the arms: the estimate by which the leader was chosen, and the upper bound by which the challenger
        was.
    n_plays, n_observed
        All plays told, and those of ``do()``.
    shown
        The intervals that people are shown, where they are not those that certify.
    """

    bandit: CausalBandit
    epsilon: float
    intervals: Intervals
    plays: NDArray[np.float64]
    rewards: NDArray[np.float64]
    rank: NDArray[np.int64]
    leader: int
    challenger: int
    conflicts: NDArray[np.bool_]
    certificate: str
    models: Sequence[Estimator]
    estimates: NDArray[np.float64]
    index: NDArray[np.float64]
    n_plays: int
    n_observed: int
    shown: Intervals | None = None
    rejected: Rejected = None

    @cached_property
    def differences(self) -> Differences:
        """How far each arm is below the leader, by the last estimator that knows of both: to choose what to play."""
        said, by = self._opinions
        return Differences(said.value, said.variance, by)

    @cached_property
    def cautious(self) -> Differences:
        """The same with the square of what estimates may be off by in the variance: to decide when to stop.

        Where that square is more than the variance, as of a large table of which little was seen, the estimator that
        has the smallest sum of the two says how far: of what an estimate may be off by little is left to chance.
        """
        said, by = self._opinions
        gap, variance = said.value, said.variance + said.bias_bound**2
        doubtful = said.bias_bound**2 > said.variance
        for k, model in enumerate(self.pairwise[:-1] if doubtful.any() else ()):
            other = model.differences(self.leader, self.rejected, self.epsilon)
            its_variance = other.variance + other.bias_bound**2
            instead = doubtful & (its_variance < variance)
            gap, variance = np.where(instead, other.value, gap), np.where(instead, its_variance, variance)
            by = np.where(instead, k, by)
        return Differences(gap, variance, by)

    @cached_property
    def _opinions(self) -> tuple[Estimated, NDArray[np.intp]]:
        return most_specific_estimate(
            self.pairwise, lambda model: model.differences(self.leader, self.rejected, self.epsilon)
        )

    @property
    def pairwise(self) -> list[PairwiseEstimator]:
        """The estimators that compare arms in pairs."""
        return [model for model in self.models if isinstance(model, PairwiseEstimator)]


def most_specific_estimate(
    models: Sequence[PairwiseEstimator], ask: Callable[[PairwiseEstimator], Estimated]
) -> tuple[Estimated, NDArray[np.intp]]:
    """Return for each arm what the last estimator says that knows of it, with a finite variance, and which that is.

    The later ones assume more and are the surer where it holds. To take the smaller of two variances instead would
    favour the one that is too small by chance. The earlier ones are not asked where nobody needs them.
    """
    said = ask(models[-1])
    by = np.full(len(said.value), len(models) - 1)
    for k in range(len(models) - 2, -1, -1):
        unknown = ~np.isfinite(said.variance)
        if not unknown.any():
            break
        said = Estimated(*(np.where(unknown, other, own) for other, own in zip(ask(models[k]), said, strict=True)))
        by[unknown] = k
    return said, by


class Verdict(NamedTuple):
    """Whether to stop, why, and what that is worth."""

    stop: bool
    reason: str = ""
    certificate: str | None = None


class SamplingRule(ABC):
    """Chooses the next actions. It may look at anything: the guarantee does not rest on it.

    Attributes
    ----------
    planned
        Whether plays are planned ahead to a budget: such a rule knows no epsilon and no delta.
    optimistic
        Whether the challenger of a rule with estimates of its own is the arm of the highest upper bound, not of the
        second estimate.
    """

    planned: ClassVar[bool] = False
    optimistic: ClassVar[bool] = False

    @abstractmethod
    def choose(self, state: PolicyState) -> list[Action]:
        """Return the actions of the next iteration."""

    def batch(self, iteration: list[Action], n: int) -> list[Action]:
        """Return n actions for experiments that are run at once, by default the iteration over and over."""
        return list(itertools.islice(itertools.cycle(iteration), n))

    def take(self, told: Samples) -> int:
        """Return how many of the rows told come before the rule chooses anew, by default all."""
        return len(told)

    def estimates(
        self, direct: EmpiricalMeans, models: Sequence[Estimator], rejected: Rejected = None
    ) -> NDArray[np.float64] | None:
        """Return what the recommended arm is largest in; None leaves it to the direct estimator."""
        return None

    def eligible(self) -> NDArray[np.bool_] | None:
        """Return a boolean array over the arms: which of them may still be recommended; None for all."""
        return None


class StoppingRule(Protocol):
    """Decides when to stop. It alone carries the guarantee."""

    def check(self, state: PolicyState) -> Verdict:
        """Return whether to stop now."""


class GuardedStop(StoppingRule, Protocol):
    """A stopping rule that can say which arms it is still open for, and what it would take to tell a small gap."""

    def unresolved(self, state: PolicyState) -> NDArray[np.bool_]:
        """Return which arms are not told from the leader."""

    def plays_to_resolve(self, state: PolicyState, gap: float) -> float:
        """Return about how many plays it takes to tell a gap."""
