"""Policies: ask which actions to perform, tell what was observed, stop, recommend. The loop is written once, here."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from tqdm.auto import tqdm

from pgcpe._numba import njit
from pgcpe.bandit import CausalBandit
from pgcpe.confidence.intervals import Intervals
from pgcpe.environment.protocol import Environment
from pgcpe.estimators.base import Estimator, IntervalEstimator, Rejected
from pgcpe.estimators.empirical_means import EmpiricalMeans
from pgcpe.plays.actions import Action
from pgcpe.plays.encoding import Encoder
from pgcpe.plays.samples import SamplesBuffer
from pgcpe.policies.result import Result, arms_table
from pgcpe.policies.rules.base import PolicyState, SamplingRule, Seed, StoppingRule
from pgcpe.policies.rules.phases import n_arms_of
from pgcpe.policies.rules.stopping import MonitoredRules

__all__ = ["Policy"]

AT_ONCE = 64
"""`Policy.run` performs no more actions before it tells what was seen: a crash loses no more."""


class Policy:
    """A fixed-confidence policy: direct means and other estimators, a sampling rule and a stopping rule.

    A policy is a function of what it was told and of its seed. It never sees a distribution. Resuming, starting from
    logged data, replaying and testing are all `tell`.

    Parameters
    ----------
    bandit
        The question.
    direct
        Estimates from the arms' own plays. They need no graph and are what remains of an arm in conflict.
    models
        Further estimators, whose intervals are intersected with the direct ones.
    sampling, stopping
        The rules.
    epsilon
        The arm returned may be worse than the best by this much; in [0, 1).
    delta
        The probability of returning a worse one, in (0, 1), all in all: every estimator gets an equal share.
    seed
        Ties between arms are broken by fewest plays, then by a random order of the arms, drawn once from this seed.
    shares
        How much of delta the direct intervals and those of each model get, by default all the same. What is left to 1
        is the stopping rule's own.

    Raises
    ------
    ValueError
        If epsilon or delta is out of range, or an arm may not be played.
    """

    plays_arms: ClassVar[bool] = True
    """Whether it needs every arm to be playable."""

    def __init__(
        self,
        bandit: CausalBandit,
        *,
        direct: EmpiricalMeans,
        models: Sequence[Estimator] = (),
        sampling: SamplingRule,
        stopping: StoppingRule,
        epsilon: float = 0.05,
        delta: float = 0.05,
        seed: Seed = 0,
        shares: Sequence[float] | None = None,
    ) -> None:
        n_arms = n_arms_of(bandit)
        if not isinstance(direct, EmpiricalMeans):
            raise TypeError(f"direct must be EmpiricalMeans, but got {type(direct).__name__}")
        if odd := [model for model in models if not isinstance(model, Estimator)]:
            raise TypeError(f"estimator must be an Estimator, such as BGLM(), but got {odd[0]!r}")
        for name, value in (("epsilon", epsilon), ("delta", delta)):
            if not isinstance(value, Real):
                raise TypeError(f"{name} must be a number, but got {value!r}")
        if not 0 <= epsilon < 1:
            raise ValueError(f"epsilon must be at least 0 and below 1, but got {epsilon}")
        if not 0 < delta < 1:
            raise ValueError(f"delta must be between 0 and 1, but got {delta}")
        barred = [str(arm) for arm in bandit.arms if arm not in bandit.playable]
        if barred and self.plays_arms:
            raise ValueError(
                f"{type(self).__name__} plays the arms themselves, but playable lacks {', '.join(barred[:5])}"
            )
        bandit = bandit.recording(v for estimator in (direct, *models) for v in estimator.required(bandit))
        self.bandit, self.epsilon, self.delta = bandit, epsilon, delta
        self._direct = clone(direct).start(bandit)
        self._models = [clone(model).start(bandit) for model in models]
        self._sampling, self._stopping = sampling, stopping
        # the overall delta is split here and, over the arms, by each estimator
        self._shares = [delta * share for share in shares or [1.0 / (1 + len(models))] * (1 + len(models))]
        claims = [e.certificate for e in (self._direct, *self._models) if isinstance(e, IntervalEstimator)]
        self._certificate = "exact" if set(claims) == {"exact"} else "heuristic"
        self._rank = np.random.default_rng(seed).permutation(n_arms)
        self._conflicts, self._all = np.zeros(n_arms, dtype=np.bool_), np.ones(n_arms, dtype=np.bool_)
        self._rejected: Rejected = None
        self._encoder, self._told, self._observed = Encoder(bandit), SamplesBuffer(bandit.coding), 0
        self._decide()

    def __repr__(self) -> str:
        goal = "" if self._sampling.planned else f", epsilon={self.epsilon}, delta={self.delta}"
        return (
            f"{type(self).__name__}({len(self.bandit.arms)} arms{goal}: "
            f"{self.n_plays} plays, {'recommends' if self.certificate else 'leaning to'} {self.recommendation})"
        )

    def __copy__(self) -> Self:
        """Return a policy that goes its own way: nothing that is told to one reaches the other."""
        return copy.deepcopy(self)

    # ------------------------------------------------------------------------------------------------------ ask, tell

    def ask(self, n: int | None = None) -> list[Action]:
        """Return the actions to perform next; the same answer until something is told.

        Parameters
        ----------
        n
            How many, for experiments that are run in batches: the iteration is repeated. By default one iteration. A
            policy that goes by phases gives what is left of the phase, or the first n of it.
        """
        if n is not None and (not isinstance(n, Integral) or n < 1):
            raise ValueError(f"n must be an integer of at least 1, but got {n}")
        return list(self._next) if n is None else self._sampling.batch(self._next, n)

    def tell(self, actions: Any, samples: Any = None, *, missing: str = "raise") -> Self:
        """Learn from plays, asked for or not: logged data and late results are told here as well.

        Results may come in any order that does not depend on the outcomes. Told successes first, no interval could hold
        at every time; tell a batch in one call when its results come in together.

        Parameters
        ----------
        actions
            The action of all plays, or one for each, as `Action` or its text. Any action on observed variables will do.
            A frame whose index is named "action", such as `history`, must agree.
        samples
            What was observed: `Samples`, a DataFrame with one row a play, a dict {variable: state} for one play, or a
            list of such dicts; with the reward and ``policy.bandit.required``, others are left out. What names its own
            actions may come alone: ``policy.tell(read_history("plays.csv", policy.bandit))``.
        missing
            ``"raise"``, or ``"drop"``: rows that lack a value other than the reward are left out and counted in
            `dropped_`. What is learned then rests on values that are missing independently of the outcome.

        Raises
        ------
        ValueError, TypeError
            If anything is missing, unknown or contradicts its action (see `Encoder.encode`). Nothing is learned then.

        Warns
        -----
        UserWarning
            When an arm's direct interval and a model's turn out to have nothing in common.
        """
        told = self._encoder.encode(actions, samples, missing=missing)
        self._told.append(told)
        self._observed += int(np.array([not action for action in told.actions], dtype=np.bool_)[told.which].sum())
        while len(told):  # a phase may end, and the next be planned, in the midst of what is told
            n = self._sampling.take(told)
            for estimator in (self._direct, *self._models):
                estimator.update(told if n == len(told) else told.rows(slice(n)))
            self._decide()
            told = told.rows(slice(n, None))
        return self

    def _decide(self) -> None:
        """Work out intervals, candidates, next actions and verdict."""
        merged = self._direct.intervals(self._shares[0] / self._direct.n_events_)
        before = self._conflicts.copy() if self._models else self._conflicts
        for model, share in zip(self._models, self._shares[1:], strict=True):
            if isinstance(model, IntervalEstimator) and share > 0:
                other = model.intervals(share / model.n_events_)
                _intersect(merged.lower, merged.upper, other.lower, other.upper, self._conflicts)
        self._doubt()
        self.state = self._standing(merged)
        self._next = self._sampling.choose(self.state)
        if self._sampling.planned:  # the end of a phase may have ruled out the leader
            self.state = self._standing(merged)
        self._verdict = self._stopping.check(self.state)
        if self._models and (fresh := self._conflicts & ~before).any():
            warnings.warn(self._warning([self.bandit.arms[i] for i in np.flatnonzero(fresh)]), stacklevel=3)

    def _doubt(self) -> None:
        """Find further conflicts, and act on them."""

    def _warning(self, arms: Sequence[Action]) -> str:
        """Return what is said of arms that were found in conflict."""
        return (
            "the graph is in doubt: what was observed and the direct plays contradict each other for "
            f"{', '.join(map(str, arms))}; from now on direct plays alone count there"
        )

    def _standing(self, merged: Intervals) -> PolicyState:
        """Return what is known, with the two candidates."""
        plays, own = self._direct.plays_.copy(), self._sampling.estimates(self._direct, self._models, self._rejected)
        estimates = self._direct.means_ if self._direct.radius in ("kl", "lucb1", "lil") else merged.midpoint
        index = merged.upper
        if self._direct.radius in ("lucb1", "lil"):
            index = self._direct.upper_index(self._shares[0] / self._direct.n_events_)
        if own is not None:
            estimates = index = own
        if own is not None and self._sampling.optimistic:
            estimates, index = np.clip(own, merged.lower, merged.upper), merged.upper
        eligible = self._sampling.eligible()
        allowed = self._all if eligible is None else eligible
        leader, challenger = _candidates(estimates, index, plays, self._rank, allowed)
        return PolicyState(
            self.bandit,
            self.epsilon,
            merged,
            plays,
            self._direct.rewards_.copy(),
            self._rank,
            leader,
            challenger,
            self._conflicts.copy(),
            self._certificate,
            self._models,
            estimates,
            index,
            self.n_plays,
            self._observed,
            rejected=self._rejected,
        )

    # ------------------------------------------------------------------------------------------------- what is known

    @property
    def stopped(self) -> bool:
        """Whether the stopping rule is satisfied."""
        return self._verdict.stop

    @property
    def stop_reason(self) -> str:
        """Why it stopped; empty before."""
        return self._verdict.reason

    @property
    def certificate(self) -> str | None:
        """What the stop is worth: ``"exact"``, ``"heuristic"``, or None before it and where the graph is refuted."""
        return self._verdict.certificate

    @property
    def stops(self) -> dict[str, int | None]:
        """For each guarantee that is watched the plays told when its rule first would have stopped, None before."""
        return dict(self._stopping.stops) if isinstance(self._stopping, MonitoredRules) else {}

    @property
    def recommendation(self) -> Action:
        """The arm that would be returned now; defined at any time."""
        return self.bandit.arms[self.state.leader]

    @property
    def intervals(self) -> Intervals:
        """The intervals of the arms, in the order of ``bandit.arms``."""
        return self.state.shown or self.state.intervals

    @property
    def radius(self) -> str:
        """The radii of the estimators that have one, the direct one first: ``"kt, lr"``."""
        return ", ".join(str(e.radius) for e in (self._direct, *self._models) if hasattr(e, "radius"))

    @property
    def conflicts(self) -> tuple[Action, ...]:
        """The arms whose own plays and all others contradict each other: evidence against the graph."""
        return tuple(self.bandit.arms[i] for i in np.flatnonzero(self._conflicts))

    @property
    def n_plays(self) -> int:
        """How many plays were told."""
        return len(self._told)

    @property
    def plays_by_action(self) -> dict[Action, int]:
        """How often each action was played, in the order of first play."""
        return self._told.plays_by_action()

    @property
    def dropped_(self) -> dict[str, int]:
        """How many plays told with ``missing="drop"`` were left out for want of each variable."""
        return dict(self._encoder.dropped)

    @property
    def cost(self) -> float:
        """What these plays cost; 1 each unless the bandit says otherwise."""
        return float(sum(self.bandit.costs.get(action, 1.0) * n for action, n in self.plays_by_action.items()))

    @property
    def history(self) -> Any:
        """What was told: a DataFrame with one row a play, indexed by action."""
        return self._told.samples().to_frame()

    def result(self, stop_reason: str = "") -> Result:
        """Return what is known now as a `Result`."""
        return Result(
            recommendation=self.recommendation,
            certified=self.certificate == "exact",
            certificate=self.certificate,
            stop_reason=self.stop_reason or stop_reason or "not stopped yet",
            n_plays=self.n_plays,
            cost=self.cost,
            plays_by_action=self.plays_by_action,
            table=arms_table(self.state),
            conflicts=self.conflicts,
            epsilon=self.epsilon,
            delta=self.delta,
            stopped=self.stopped or bool(stop_reason),
            told=self._told.samples(),
            stops=self.stops,
        )

    # ------------------------------------------------------------------------------------------------------ the loop

    def run(self, environment: Environment, budget: int | None = None, progress: bool | None = True) -> Result:
        """Ask, perform and tell until the policy stops or the budget is spent.

        Parameters
        ----------
        environment
            What performs the actions.
        budget
            The most plays this call may perform; the last iteration is cut short where it would exceed it.
        progress
            Whether to show a progress bar; None shows it only on a terminal or in a notebook.

        Returns
        -------
        Result
        """
        if not hasattr(environment, "perform"):
            raise TypeError(
                f"environment must have a method perform(actions), but got {type(environment).__name__}; "
                "a network is simulated by SimulatedEnvironment(network, seed=0)"
            )
        if budget is not None and (not isinstance(budget, Integral) or budget < 0):
            raise ValueError(f"budget must be an integer of at least 0, but got {budget}")
        left = float("inf") if budget is None else budget
        refreshed = 0.0
        with tqdm(total=budget, unit=" plays", disable=None if progress is None else not progress) as bar:
            while left > 0 and not self.stopped:
                actions = self.ask()[: int(min(left, AT_ONCE))]
                self.tell(actions, environment.perform(actions))
                left -= len(actions)
                bar.update(len(actions))
                if time.monotonic() - refreshed > 0.2:
                    refreshed = time.monotonic()
                    bar.set_postfix_str(self._in_words(), refresh=False)
        return self.result("" if self.stopped else f"the budget of {budget} plays is spent: {self._left_open()}")

    def _left_open(self) -> str:
        """Return in words what is missing when the budget is spent."""
        return self._in_words()

    def _in_words(self) -> str:
        """Return the two candidates and how far their intervals are from separated."""
        h, other, intervals = self.state.leader, self.state.challenger, self.intervals
        if other < 0:
            return str(self.bandit.arms[h])
        to_close = intervals.upper[other] - intervals.lower[h] - self.epsilon
        return f"{self.bandit.arms[h]} against {self.bandit.arms[other]}, {max(to_close, 0):.3f} to close"


@njit(cache=True)
def _intersect(lower, upper, other_lower, other_upper, conflicts):  # type: ignore[no-untyped-def]
    """Intersect the direct intervals with a model's, in place; an arm in conflict keeps the direct one from then on."""
    for i in range(len(lower)):
        if not conflicts[i]:
            low, high = max(lower[i], other_lower[i]), min(upper[i], other_upper[i])
            if low <= high:
                lower[i], upper[i] = low, high
            else:
                conflicts[i] = True


@njit(cache=True)
def _candidates(estimate, index, plays, rank, eligible):  # type: ignore[no-untyped-def]
    """Return a_h, the arm of the largest estimate, and a_l, that of the largest index among the rest.

    Arms that may not be recommended come after all others.
    """
    chosen = np.full(2, -1)
    for part, value in enumerate((estimate, index)):
        best = -1
        for i in range(len(value)):
            if i != chosen[0]:
                better = 1.0 if best < 0 else value[i] - value[best]
                if best >= 0 and eligible[i] != eligible[best]:
                    better = 1.0 if eligible[i] else -1.0
                if better > 0 or (better == 0 and (plays[i], rank[i]) < (plays[best], rank[best])):
                    best = i
        chosen[part] = best
    return chosen[0], chosen[1]
