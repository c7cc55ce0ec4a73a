"""Sampling by phases, planned ahead to a budget: how fixed-budget policies play."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pgcpe._checks import whole_number
from pgcpe.bandit import CausalBandit
from pgcpe.estimators.base import Estimator
from pgcpe.estimators.empirical_means import EmpiricalMeans
from pgcpe.plays.actions import Action
from pgcpe.policies.rules.base import NOT_YET, RecommendationRule, SamplingRule, StoppingRule, Verdict
from pgcpe.policies.rules.recommendation import HighestMean
from pgcpe.policies.rules.state import PolicyState

__all__ = [
    "BudgetSpent",
    "HighestRemaining",
    "Phases",
    "checked_budget",
    "needs_observation",
    "planned",
    "worst_first",
]

MOST_PLANNED = 10**8
"""A budget is planned out play by play."""


class Phases(SamplingRule):
    """A sampling rule that plans a phase of plays at once and looks at the results when the phase is over.

    A row that is told counts for the plan if it is of an action still to be played in this phase; any other informs the
    estimates alone. Logged rows of planned actions thus save plays.

    Attributes
    ----------
    finished
        Whether no phase is left.
    remaining
        Boolean array over the arms: which are not rejected yet; None where none ever is.
    """

    planned: ClassVar[bool] = True
    remaining: NDArray[np.bool_] | None = None

    def __init__(self) -> None:
        self.finished = False

    @abstractmethod
    def next_phase(self, state: PolicyState) -> list[Action] | None:
        """Return the plays of the next phase, None if there is none."""

    def choose(self, state: PolicyState, pending: Sequence[Action] = ()) -> list[Action]:
        """Return the plays of the next phase that has any; none after the last."""
        while not self.finished:
            plan = self.next_phase(state)
            self.finished = plan is None
            if plan:
                return plan
        return []


class HighestRemaining(RecommendationRule):
    """The best by another rule among the arms that the phases have not rejected."""

    def __init__(self, phases: Phases, by: RecommendationRule) -> None:
        self._phases, self._by = phases, by

    def estimates(self, state: PolicyState) -> NDArray[np.float64]:
        """Return what the other rule ranks by."""
        return self._by.estimates(state)

    def eligible(self, state: PolicyState) -> NDArray[np.bool_] | None:
        """Return which arms remain."""
        return self._phases.remaining


class BudgetSpent(StoppingRule):
    """Stop when all phases are over. A budget gives no certificate."""

    def __init__(self, phases: Phases, budget: int) -> None:
        self._phases, self._budget = phases, budget

    def check(self, state: PolicyState) -> Verdict:
        """Return whether the plan is done."""
        if not self._phases.finished:
            return NOT_YET
        return Verdict(True, f"the budget of {self._budget} plays is planned out", None, state.leader)


def checked_budget(budget: int, least: int, n_arms: int) -> int:
    """Return a budget, checked to be an integer of at least `least` plays."""
    plays = whole_number("budget", budget, 0, MOST_PLANNED)
    if plays < least:
        raise ValueError(f"budget must be at least {least} plays for {n_arms} arms, but got {plays}")
    return plays


def worst_first(values: NDArray[np.float64], state: PolicyState) -> NDArray[np.intp]:
    """Return the arms by value, the smallest first; ties by most plays, then by the random order."""
    return np.lexsort((-state.rank, -state.plays, values))


def planned(
    phases: Phases, budget: int, *models: Estimator, recommendation: RecommendationRule | None = None
) -> dict[str, Any]:
    """Return the parts of a policy that plays phases until its budget is spent."""
    return {
        "direct": EmpiricalMeans(),
        "models": models,
        "sampling": phases,
        "recommendation": HighestRemaining(phases, HighestMean() if recommendation is None else recommendation),
        "stopping": BudgetSpent(phases, budget),
        "epsilon": 0.0,
    }


def needs_observation(bandit: CausalBandit, name: str) -> None:
    """Raise unless ``do()`` may be played."""
    if not bandit.may_observe:
        raise ValueError(f"{name} observes first, but playable lacks do()")
