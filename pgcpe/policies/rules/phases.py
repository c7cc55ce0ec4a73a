"""Sampling by phases, planned ahead to a budget: how fixed-budget policies play."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pgcpe.bandit import CausalBandit
from pgcpe.estimators.base import Estimator, Rejected
from pgcpe.estimators.empirical_means import EmpiricalMeans
from pgcpe.plays.actions import Action
from pgcpe.plays.samples import Samples
from pgcpe.policies.rules.base import PolicyState, SamplingRule, Verdict

__all__ = ["BudgetSpent", "Phases", "checked_budget", "n_arms_of", "needs_observation", "planned", "worst_first"]


class Phases(SamplingRule):
    """A sampling rule that plans a phase of plays at once and looks at the results when the phase is over.

    A row that is told counts for the plan if it is of an action still to be played in this phase; any other informs the
    estimates alone. Logged rows of planned actions thus save plays.

    Attributes
    ----------
    finished
        Whether no phase is left.
    """

    planned: ClassVar[bool] = True

    def __init__(self) -> None:
        self._plan: list[Action] = []
        self.finished = False

    @abstractmethod
    def next_phase(self, state: PolicyState) -> list[Action] | None:
        """Return the plays of the next phase, None if there is none."""

    def batch(self, iteration: list[Action], n: int) -> list[Action]:
        """Return the first n of what is left of the phase."""
        return iteration[:n]

    def estimates(
        self, direct: EmpiricalMeans, models: Sequence[Estimator], rejected: Rejected = None
    ) -> NDArray[np.float64] | None:
        """Return what the recommended arm is largest in, by default the mean of its own plays."""
        return direct.means_

    def choose(self, state: PolicyState) -> list[Action]:
        """Return what is left of the phase, or the next one."""
        while not self._plan and not self.finished:
            plan = self.next_phase(state)
            self.finished = plan is None
            self._plan = list(plan or [])
        return list(self._plan)

    def take(self, told: Samples) -> int:
        """Cross off what was told and return after how many rows the phase was over, or their number."""
        open_plays = Counter(self._plan)
        left = len(self._plan)
        for row, which in enumerate(told.which.tolist()):
            action = told.actions[which]
            if open_plays[action] > 0:
                open_plays[action] -= 1
                left -= 1
                if left == 0:
                    self._plan = []
                    return row + 1
        kept = []
        for action in reversed(self._plan):
            if open_plays[action] > 0:
                open_plays[action] -= 1
                kept.append(action)
        self._plan = kept[::-1]
        return len(told)


class BudgetSpent:
    """Stop when all phases are over. A budget gives no certificate."""

    def __init__(self, phases: Phases, budget: int) -> None:
        self._phases, self._budget = phases, budget

    def check(self, state: PolicyState) -> Verdict:
        """Return whether the plan is done."""
        if state.challenger < 0:
            return Verdict(True, "all candidates have provably the same effect", "exact")
        if not self._phases.finished:
            return Verdict(False)
        return Verdict(True, f"the budget of {self._budget} plays is planned out")


def n_arms_of(bandit: CausalBandit) -> int:
    """Return the number of arms of what must be a bandit."""
    if not isinstance(bandit, CausalBandit):
        raise TypeError(f"bandit must be a CausalBandit, but got {type(bandit).__name__}")
    return len(bandit.arms)


def checked_budget(budget: int, least: int, n_arms: int) -> int:
    """Return a budget once it is an integer and enough."""
    if not isinstance(budget, Integral) or isinstance(budget, bool):
        raise TypeError(f"budget must be an integer, but got {budget!r}")
    if budget < least:
        raise ValueError(f"budget must be at least {least} plays for {n_arms} arms, but got {budget}")
    return int(budget)


def worst_first(values: NDArray[np.float64], state: PolicyState) -> NDArray[np.intp]:
    """Return the arms by value, the smallest first; ties by most plays, then by the random order."""
    return np.lexsort((-state.rank, -state.plays, values))


def planned(phases: Phases, budget: int, *models: Estimator) -> dict[str, Any]:
    """Return the parts of a policy that plays phases until its budget is spent."""
    return {
        "direct": EmpiricalMeans(),
        "models": models,
        "sampling": phases,
        "stopping": BudgetSpent(phases, budget),
        "epsilon": 0.0,
    }


def needs_observation(bandit: CausalBandit, name: str) -> None:
    """Raise unless ``do()`` may be played."""
    if not bandit.may_observe:
        raise ValueError(f"{name} observes first, but playable lacks do()")
