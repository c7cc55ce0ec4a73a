"""The two rules of a policy, and what they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pgcpe.actions import Action
from pgcpe.bandit import CausalBandit
from pgcpe.confidence import Intervals
from pgcpe.estimators.base import Estimator

__all__ = ["PolicyState", "SamplingRule", "StoppingRule", "Verdict"]


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
    index
        Array over the arms: the upper bound by which the challenger was chosen.
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
    index: NDArray[np.float64]


class Verdict(NamedTuple):
    """Whether to stop, why, and what that is worth."""

    stop: bool
    reason: str = ""
    certificate: str | None = None


class SamplingRule(Protocol):
    """Chooses the next actions. It may look at anything: the guarantee does not rest on it.

    A rule that goes by phases (`pgcpe.policies.phases.Phases`) also says how much of what was told ends the phase.
    """

    def choose(self, state: PolicyState) -> list[Action]:
        """Return the actions of the next iteration."""


class StoppingRule(Protocol):
    """Decides when to stop. It alone carries the guarantee."""

    def check(self, state: PolicyState) -> Verdict:
        """Return whether to stop now."""
