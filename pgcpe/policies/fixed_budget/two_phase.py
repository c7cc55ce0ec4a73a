"""The two-phase rule: observe, then play the arms that observation says too little of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from pgcpe.bandit import CausalBandit
from pgcpe.complexity import observation_threshold
from pgcpe.estimators.admissible import AdmissibleSequence
from pgcpe.estimators.base import Estimator, Rejected
from pgcpe.estimators.empirical_means import EmpiricalMeans
from pgcpe.plays.actions import Action
from pgcpe.policies.base import Policy
from pgcpe.policies.rules.base import PolicyState, Seed
from pgcpe.policies.rules.phases import Phases, checked_budget, n_arms_of, needs_observation, planned

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
        super().__init__(bandit, **_parts(bandit, budget, type(self).__name__, at_threshold=False), seed=seed)


def _parts(bandit: CausalBandit, budget: int, name: str, *, at_threshold: bool) -> dict[str, Any]:
    """Return the parts of a policy that observes and then plays, once the bandit fits it."""
    phases = _ObserveThenPlay(checked_budget(budget, 1, n_arms_of(bandit)), at_threshold=at_threshold)
    if larger := [str(a) for a, smallest in zip(bandit.arms, bandit.canonical, strict=True) if len(smallest) > 1]:
        raise ValueError(f"{name} is for arms that set one variable, but got {larger[0]}")
    needs_observation(bandit, name)
    return planned(phases, budget, AdmissibleSequence(refresh=1))


class _ObserveThenPlay(Phases):
    """Half of the budget for ``do()``, half in turn for the arms whose rarest cell was seen too seldom."""

    def __init__(self, budget: int, *, at_threshold: bool) -> None:
        super().__init__()
        self._budget, self._at_threshold, self._phase = budget, at_threshold, 0
        self._hard: NDArray[np.bool_] | None = None

    def next_phase(self, state: PolicyState) -> list[Action] | None:
        self._phase += 1
        if self._phase == 1:
            return [NULL] * (self._budget - self._budget // 2)
        if self._phase > 2:
            return None
        model = cast(AdmissibleSequence, state.models[0])
        q = np.where([not arm for arm in state.bandit.canonical], 1.0, model.observed_shares())
        least = 1.0 / observation_threshold(q)
        self._hard = q <= least if self._at_threshold else q < least
        hard = np.flatnonzero(self._hard)
        if len(hard) == 0:
            return [NULL] * (self._budget // 2)
        order = hard[np.argsort(state.rank[hard])]
        return [state.bandit.arms[i] for i in np.resize(order, self._budget // 2)]

    def estimates(
        self, direct: EmpiricalMeans, models: Sequence[Estimator], rejected: Rejected = None
    ) -> NDArray[np.float64]:
        observed, seen = cast(AdmissibleSequence, models[0]).plug_in()
        own = np.where(direct.plays_ > 0, direct.means_, 0.0)
        played = seen == 0 if self._hard is None else self._hard | (seen == 0)
        return np.where(played, own, observed)
