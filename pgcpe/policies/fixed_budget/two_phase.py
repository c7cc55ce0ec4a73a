"""The two-phase rule: observe, then play the arms that observation says too little of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgcpe.bandit import CausalBandit
from pgcpe.complexity import observation_threshold
from pgcpe.estimators.admissible import AdmissibleSequence
from pgcpe.plays.actions import Action
from pgcpe.policies.base import Policy
from pgcpe.policies.rules.base import RecommendationRule, Seed, n_arms_of
from pgcpe.policies.rules.phases import Phases, checked_budget, needs_observation, planned
from pgcpe.policies.rules.state import PolicyState

__all__ = ["TwoPhase"]

NULL = Action()


class TwoPhase(Policy):
    """The two-phase rule of Maiti, Nair and Sinha 2021 for atomic interventions with hidden variables.

    T/2 plays of ``do()`` estimate q_a and the mean of every arm; the arms with q_a below 1/m, m the observation
    threshold of the estimated q, share the other half, and their means are those of their own plays.

    Guarantee, fixed budget: theirs is a simple regret of order ``sqrt(m/T log T)`` up to constants of the graph, for
    effects identified through the components of confounded variables. Read here with admissible sequences, as all of
    this package: q_a is that of the paper, 0 for an arm without a sequence (some of theirs, such as by a front door),
    which is then played. Left out: their exponents, the sizes of the components, on q_a.

    Parameters
    ----------
    bandit
        The question; each arm ``do()`` or one set variable.
    budget
        T, at least 1.
    seed
        As for `Policy`.

    Raises
    ------
    ValueError
        If an arm sets more than one variable.
    """

    def __init__(self, bandit: CausalBandit, *, budget: int, seed: Seed = 0) -> None:
        self.budget = budget
        super().__init__(
            bandit, **observe_then_play(bandit, budget, type(self).__name__, at_threshold=False), seed=seed
        )


def observe_then_play(bandit: CausalBandit, budget: int, name: str, *, at_threshold: bool) -> dict[str, Any]:
    """Return the parts of a policy that observes and then plays, once the bandit fits it."""
    phases = ObserveThenPlay(checked_budget(budget, 1, n_arms_of(bandit)), at_threshold=at_threshold)
    if larger := [str(a) for a, smallest in zip(bandit.arms, bandit.canonical, strict=True) if len(smallest) > 1]:
        raise ValueError(f"{name} is for arms that set one variable, but got {larger[0]}")
    needs_observation(bandit, name)
    return planned(phases, budget, AdmissibleSequence(refresh=1), recommendation=ObservedOrPlayed(phases))


class ObserveThenPlay(Phases):
    """Half of the budget for ``do()``, half in turn for the arms whose rarest cell was seen too seldom.

    Attributes
    ----------
    hard
        Boolean array over the arms: which these are, once it is known.
    """

    def __init__(self, budget: int, *, at_threshold: bool) -> None:
        super().__init__()
        self._budget, self._at_threshold, self._phase = budget, at_threshold, 0
        self.hard: NDArray[np.bool_] | None = None

    def next_phase(self, state: PolicyState) -> list[Action] | None:
        """Return the plays of the next phase, None if there is none."""
        self._phase += 1
        if self._phase == 1:
            return [NULL] * (self._budget - self._budget // 2)
        if self._phase > 2:
            return None
        model = state.estimator(AdmissibleSequence)
        q = np.where([not arm for arm in state.bandit.canonical], 1.0, model.observed_shares())
        least = 1.0 / observation_threshold(q)
        self.hard = q <= least if self._at_threshold else q < least
        hard = np.flatnonzero(self.hard)
        if len(hard) == 0:
            return [NULL] * (self._budget // 2)
        order = hard[np.argsort(state.rank[hard])]
        return [state.bandit.arms[i] for i in np.resize(order, self._budget // 2)]


class ObservedOrPlayed(RecommendationRule):
    """What was observed, and for the arms that were seen too seldom the mean of their own plays."""

    def __init__(self, phases: ObserveThenPlay) -> None:
        self._phases = phases

    def estimates(self, state: PolicyState) -> NDArray[np.float64]:
        """Return the estimates; 0 for an arm without data."""
        observed, seen = state.estimator(AdmissibleSequence).plug_in()
        own = np.where(state.plays > 0, state.means, 0.0)
        hard = self._phases.hard
        return np.where(seen == 0 if hard is None else hard | (seen == 0), own, observed)
