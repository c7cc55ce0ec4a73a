"""Sampling rules of `PooledCCPE`: which play is most informative about the unresolved arms."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pgcpe.bandit import CausalBandit
from pgcpe.plays.actions import Action
from pgcpe.policies.rules.base import SamplingRule, StoppingRule
from pgcpe.policies.rules.state import Differences, PolicyState

__all__ = ["GreatestProgress", "HighestChallenger", "ObserveLeaderAndOpen"]

NULL = Action()
Floats = NDArray[np.float64]

OBSERVED_FIRST = 20
"""So many plays of ``do()`` come first."""

ROUNDS = 10
"""Of so many plays at least one observes."""

MANY = 8
"""``do()`` is in every iteration while more arms than this are unresolved: it helps many of them, each a little."""

BATCH = 0.01
"""An action, or an iteration, is played at once for this share of the plays so far."""

INDEX_ERRORS = 1.5
"""How many standard errors an index adds to an estimate; of 1, 1.5 and 2 what errs least on Experiments 2 and 3."""

ROUNDING = 1e-12
"""Gains that agree so far are ties."""

LEAST_VARIANCE = 1e-20
"""Arms whose difference has no more than this are the same to the estimators."""


class ObserveLeaderAndOpen(SamplingRule):
    """``do()``, the leader, and the unresolved arm of the highest upper bound.

    In place of what may not be played comes the action that adds most to the difference of the two. The iteration is
    repeated for one play in a hundred of those so far.

    Parameters
    ----------
    stopping
        The rule that says which arms are open.
    observe
        Whether ``do()`` is in every iteration while more than eight arms are open. Else it is where fewer than a tenth
        of the plays observed.
    """

    def __init__(self, stopping: StoppingRule, *, observe: bool = True) -> None:
        self._stopping, self._observe = stopping, observe

    def choose(self, state: PolicyState, pending: Sequence[Action] = ()) -> list[Action]:
        """Return the actions of the iteration."""
        arms, h, expected = state.bandit.arms, state.leader, state.expecting(pending)
        left = np.flatnonzero(self._stopping.unresolved(state))
        challenger = self._challenger(state, expected, left)
        wanted = [arms[challenger], arms[h]]
        playable = state.bandit.costs
        if any(arm not in playable for arm in wanted):
            weights = np.zeros(len(arms))
            weights[challenger] = 1.0
            instead = _most(state, [weights] * len(state.pairwise), pending)
            wanted = list(dict.fromkeys(arm if arm in playable else instead for arm in wanted))
        helps = self._observe and len(left) > MANY
        if state.bandit.may_observe and NULL not in wanted and (helps or _observed_too_little(expected)):
            wanted = [NULL, *wanted]
        return wanted * max(1, int(BATCH * expected.n_plays / len(wanted)))

    def _challenger(self, state: PolicyState, expected: PolicyState, left: NDArray[np.intp]) -> int:
        if len(left) == 0:  # it will stop
            return expected.challenger()
        upper = expected.narrowed(self._stopping.upper(state), state.plays)
        return int(left[np.lexsort((state.rank[left], expected.plays[left], -upper[left]))[0]])


class Informed(SamplingRule):
    """The common part of the rules that choose the play of the greatest variance reduction.

    Twenty observations come first, then two plays of every arm that no model covers. One play in ten observes (where
    ``do()`` may not be played, the playable actions in turn), so that everything that is estimated keeps a share of the
    plays. An action is played for one play in a hundred at once.
    """

    def choose(self, state: PolicyState, pending: Sequence[Action] = ()) -> list[Action]:
        """Return one action, as often as it is to be played before the next choice."""
        expected = state.expecting(pending)
        if state.bandit.may_observe and expected.n_observed < OBSERVED_FIRST:
            return [NULL] * (OBSERVED_FIRST - expected.n_observed)
        if unknown := _hardly_known(expected):
            return unknown
        times = max(1, int(BATCH * expected.n_plays))
        if _observed_too_little(expected):
            return [NULL if state.bandit.may_observe else _in_turn(expected)] * times
        told = self.told(state)
        worth = self.worth(state)
        weights = [np.where(told.by == k, worth, 0.0) for k in range(len(state.pairwise))]
        return [_most(state, weights, pending)] * times

    @abstractmethod
    def told(self, state: PolicyState) -> Differences:
        """Return the differences, each by one estimator."""

    @abstractmethod
    def worth(self, state: PolicyState) -> Floats:
        """Return what a smaller variance of each arm's difference from the leader is worth."""


class GreatestProgress(Informed):
    """The action by which the evidence is expected to grow most, for its cost.

    The evidence against an arm is z = gap^2 / (2 variance), and a play that takes d off the variance adds about
    z d / variance to it. What counts is the evidence against all others together, -log(sum of exp(-z)): the arms that
    are hardest to rule out weigh most, none of them alone. An observation helps a little with many of them, a play of
    the leader or of a challenger a lot with one: no separate rule says when to observe.

    Parameters
    ----------
    stopping
        The rule that says which arms are open.
    """

    def __init__(self, stopping: StoppingRule) -> None:
        self._stopping = stopping

    def told(self, state: PolicyState) -> Differences:
        """Return the differences that the stop uses."""
        return state.cautious

    def worth(self, state: PolicyState) -> Floats:
        """Return exp(-z) z / variance, relative to the largest exp(-z), for the arms that are open."""
        told = self.told(state)
        variance = np.maximum(told.variance, LEAST_VARIANCE)
        gap = np.maximum(told.gap + state.epsilon, np.sqrt(variance))
        evidence = gap**2 / (2.0 * variance)
        counted = self._stopping.unresolved(state) & (told.variance > LEAST_VARIANCE)
        counted[state.leader] = False
        if not counted.any():
            counted[state.challenger()] = True
        worth = np.zeros(len(evidence))
        z = evidence[counted]
        worth[counted] = np.exp(z.min() - z) * z / variance[counted]
        return worth


class HighestChallenger(Informed):
    """The action that reduces the variance of the leader's difference from one challenger most, for its cost.

    The challenger has the highest index: its estimate and one and a half standard errors of the difference, those of
    the smoothed estimates: what was never seen is uncertain, not sure. The recommendation is good after few plays, and
    certified later than by `GreatestProgress`.
    """

    def told(self, state: PolicyState) -> Differences:
        """Return the differences of the estimates by which it recommends."""
        return state.smoothed

    def worth(self, state: PolicyState) -> Floats:
        """Return 1 for the challenger."""
        variance = self.told(state).variance
        index = np.where(variance > LEAST_VARIANCE, state.estimates + INDEX_ERRORS * np.sqrt(variance), -np.inf)
        index[state.leader] = -np.inf
        return np.asarray(np.arange(len(index)) == index.argmax(), dtype=np.float64)


def _most(state: PolicyState, weights: Sequence[Floats], pending: Sequence[Action]) -> Action:
    """Return the playable action of the greatest gain for its cost; ties go to the first listed."""
    more = () if not pending else (_counted(state.bandit, pending),)
    gain = sum(
        model.variance_reduction(state.leader, w, state.rejected, *more)
        for model, w in zip(state.pairwise, weights, strict=True)
        if w.any()
    )
    worth = gain / np.fromiter(state.bandit.costs.values(), dtype=np.float64)
    return state.bandit.playable[int(np.argmax(worth >= worth.max() * (1.0 - ROUNDING)))]


def _counted(bandit: CausalBandit, pending: Sequence[Action]) -> Floats:
    """Return how many plays of each playable action are pending."""
    number = Counter(pending)
    return np.array([number[action] for action in bandit.playable], dtype=np.float64)


def _hardly_known(state: PolicyState) -> list[Action]:
    """Return the playable arms that have fewer than two plays and no estimate from other plays."""
    served = np.any([model.served_ for model in state.pairwise], axis=0)
    seldom = np.flatnonzero(~served & (state.plays < 2))
    return [state.bandit.arms[i] for i in seldom if state.bandit.arms[i] in state.bandit.costs]


def _observed_too_little(state: PolicyState) -> bool:
    if state.bandit.may_observe:
        return ROUNDS * state.n_observed < state.n_plays
    return _turn(state) % ROUNDS == 0


def _in_turn(state: PolicyState) -> Action:
    """Return the playable action whose turn it is where ``do()`` cannot be played."""
    return state.bandit.playable[_turn(state) // ROUNDS % len(state.bandit.playable)]


def _turn(state: PolicyState) -> int:
    """Return the number of the batch: one for each of the first plays, then one whenever the plays grew by a batch."""
    n, single = state.n_plays, 2.0 / BATCH  # from so many plays on a batch is more than one
    return n if n < single else int(single + math.log(n / single) / math.log1p(BATCH))
