"""What a policy can be asked about what it was told: whether it stopped, what it recommends, intervals, the result."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from pgcpe.bandit import CausalBandit
from pgcpe.confidence.intervals import Intervals
from pgcpe.plays.actions import Action
from pgcpe.plays.encoding import Encoder
from pgcpe.policies.certificates import Certificates
from pgcpe.policies.error_budget import ErrorBudget
from pgcpe.policies.graph_watch import GraphWatch
from pgcpe.policies.knowledge import Knowledge
from pgcpe.policies.result import Result, arms_table, to_close
from pgcpe.policies.rules.base import RecommendationRule, StoppingRule
from pgcpe.policies.rules.monitored import MonitoredRules
from pgcpe.policies.rules.state import PolicyState

__all__ = ["PolicyReport"]

CERTIFIED = ("direct", "exact")
"""The certificates that are proved for any number of plays."""

MISSING = "missing values are independent of the outcome"
"""What is assumed where plays with a missing value were dropped."""


class PolicyReport:
    """All that can be read of a policy; nothing here changes what it knows."""

    bandit: CausalBandit
    epsilon: float
    delta: float
    error_budget: ErrorBudget
    _tolerance: float
    _encoder: Encoder
    _knowledge: Knowledge
    _stopping: StoppingRule
    _recommendation: RecommendationRule
    _certificates: Certificates
    _watch: GraphWatch | None
    _state: PolicyState
    _worked_out: PolicyState | None

    def _recommend(self) -> PolicyState:
        self._state = self._recommendation.recommend(self._knowledge.state(self._tolerance))
        return self._state

    @property
    def state(self) -> PolicyState:
        """What all rules are shown, from all that was told."""
        return self._state if self._state.n_plays == self.n_plays else self._recommend()

    @property
    def stopped(self) -> bool:
        """Whether the stopping rule was satisfied."""
        return self._certificates.standing.stop

    @property
    def stop_reason(self) -> str:
        """Why it stopped; empty before."""
        return self._certificates.standing.reason

    @property
    def certificate(self) -> str | None:
        """What the stop is worth: direct, exact, numerical, asymptotic or heuristic (see `Result`), or None.

        Once earned it stands, for the arm and the plays it was earned at, unless what it rests on is refuted. None
        before, and where the graph is refuted.
        """
        return self._certificates.standing.certificate

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the certificate rests on, in words; none where direct plays alone decided and none was dropped."""
        earned, assumed = self._certificates.earned, self._certificates.standing.assumptions
        dropped = bool(self.dropped_) if earned is None else earned.dropped
        return (*assumed, MISSING) if dropped else assumed

    @property
    def refutation(self) -> str:
        """What refuted the graph, in words with its numbers; empty if nothing has, or nothing tests it."""
        return str(self._watch.refutation or "") if self._watch is not None else ""

    @property
    def certified_at(self) -> int | None:
        """After how many plays the certificate was earned; None without one."""
        return None if self._certificates.earned is None else self._certificates.earned.at

    @property
    def stops(self) -> dict[str, int | None]:
        """For each guarantee that is watched the plays told when its rule first would have stopped, None before."""
        return dict(self._stopping.stopping_times) if isinstance(self._stopping, MonitoredRules) else {}

    @property
    def recommendation(self) -> Action:
        """The arm that would be returned now; defined at any time."""
        return self.bandit.arms[self._recommended]

    @property
    def _recommended(self) -> int:
        if self._certificates.standing.stop and self._certificates.standing.arm >= 0:
            return self._certificates.standing.arm
        return (self._shown if self._recommendation.by_intervals else self.state).leader

    @property
    def intervals(self) -> Intervals:
        """The intervals of the arms, in the order of ``bandit.arms`` and in the unit of the reward."""
        found = self._stopping.shown(self._shown)
        return Intervals(*self.bandit.reward_scale.ends(found.lower, found.upper))

    @property
    def _shown(self) -> PolicyState:
        """The state as people are shown it: all intervals, and estimates inside them, as of now."""
        if self._worked_out is None:
            found = self._recommendation.recommend(self._knowledge.state(self._tolerance, put_off=False))
            leader = found.leader if self._recommendation.by_intervals else self.state.leader
            self._worked_out = dataclasses.replace(found, leader=leader)
        return self._worked_out

    @property
    def radii(self) -> str:
        """The radii of the estimators that have one, the direct one first: ``"kt, lr"``."""
        return ", ".join(
            str(e.radius) for e in (self._knowledge.direct, *self._knowledge.models) if hasattr(e, "radius")
        )

    @property
    def conflicts(self) -> tuple[Action, ...]:
        """The arms whose own plays and all others contradict each other: evidence against the graph."""
        return tuple(self.bandit.arms[i] for i in np.flatnonzero(self._knowledge.conflicts))

    @property
    def n_plays(self) -> int:
        """How many plays were told."""
        return len(self._knowledge.told)

    @property
    def plays_by_action(self) -> dict[Action, int]:
        """How often each action was played, in the order of first play."""
        return self._knowledge.told.plays_by_action()

    @property
    def dropped_(self) -> dict[str, int]:
        """How many plays told with ``missing="drop"`` were left out, by the variable that was missing."""
        return dict(self._encoder.dropped)

    @property
    def cost(self) -> float:
        """What these plays cost; 1 each unless the bandit says otherwise."""
        return float(sum(self.bandit.costs.get(action, 1.0) * n for action, n in self.plays_by_action.items()))

    @property
    def history(self) -> Any:
        """What was told: a DataFrame with one row a play, indexed by action."""
        return self._knowledge.told.samples().to_frame()

    def result(self, stop_reason: str = "") -> Result:
        """Return what is known now as a `Result`."""
        return self._result(self._shown, stop_reason)

    def _result(self, shown: PolicyState, stop_reason: str = "") -> Result:
        ruled_out = None if self._certificates.earned is None else self._stopping.ruled_out()
        goes_on = not self.stopped and len(self.bandit.arms) > 1
        so_far = self._stopping.evidence_so_far(shown) if goes_on and shown.leader == self._recommended else None
        return Result(
            recommendation=self.recommendation,
            certified=self.certificate in CERTIFIED,
            certificate=self.certificate,
            stop_reason=self.stop_reason or stop_reason or "not stopped yet",
            n_plays=self.n_plays,
            cost=self.cost,
            plays_by_action=self.plays_by_action,
            table=arms_table(shown, self._recommended, self._stopping.shown(shown), ruled_out, so_far),
            conflicts=self.conflicts,
            epsilon=self.epsilon,
            reward_scale=self.bandit.reward_scale,
            delta=self.delta,
            stopped=self.stopped or bool(stop_reason),
            told=self._knowledge.told.samples(),
            stops=self.stops,
            certified_at=self.certified_at,
            assumptions=self.assumptions,
            error_budget=self.error_budget,
            dropped=self.dropped_,
            refutation=self.refutation,
        )

    def _to_close(self) -> str:
        return to_close(self.state, self._stopping.shown(self.state))
