"""Policies: ask which actions to perform, tell what was observed, stop, recommend. The loop is written once, here."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from pgcpe._checks import whole_number
from pgcpe.bandit import CausalBandit
from pgcpe.confidence.intervals import Intervals
from pgcpe.environment.protocol import Environment
from pgcpe.estimators.base import GRAPH, Comparison, Estimator, IntervalEstimator
from pgcpe.estimators.empirical_means import DirectEstimator, EmpiricalMeans
from pgcpe.estimators.schedule import next_due
from pgcpe.plays.actions import Action
from pgcpe.plays.encoding import Encoder
from pgcpe.plays.samples import Samples
from pgcpe.policies.dependence import statements_needed
from pgcpe.policies.error_budget import ErrorBudget
from pgcpe.policies.graph_watch import GraphWatch, MemberCheck
from pgcpe.policies.knowledge import Contradictions, Knowledge, check_budgets, check_parts, check_rules
from pgcpe.policies.loop import play
from pgcpe.policies.result import Result, arms_table, left_open, to_close
from pgcpe.policies.rules.base import NOT_YET, RecommendationRule, SamplingRule, Seed, StoppingRule, Verdict, n_arms_of
from pgcpe.policies.rules.monitored import MonitoredRules
from pgcpe.policies.rules.plan import Plan
from pgcpe.policies.rules.recommendation import HighestMidpoint
from pgcpe.policies.rules.state import PolicyState
from pgcpe.policies.rules.stopping import merging_assumed

__all__ = ["Policy"]

CERTIFIED = ("direct", "exact")
"""The certificates that are proved for any number of plays."""


MISSING = "missing values are independent of the outcome"
"""What is assumed where plays with a missing value were dropped."""


class Certified(NamedTuple):
    """A certificate that was earned: for what, after how many plays, and whether others had been dropped by then."""

    verdict: Verdict
    at: int
    dropped: bool


def _rows_to_look(n_plays: int, row: int) -> int:
    """Return after how many more plays than these the first look after a row of them is due."""
    return next_due(n_plays + row, None) - n_plays


class Policy:
    """Estimators, a sampling rule, a recommendation rule and a stopping rule, composed.

    A policy is a function of what it was told and of its seed. It never sees a distribution. Resuming, starting from
    logged data, replaying and testing are all `tell`.

    Whether to stop and what to play next is worked out at looks: whenever all that was asked for has been told, and
    for plays that were not asked for at every play up to a hundred, then whenever the plays have grown by a hundredth.
    Looks cut every `tell`, so that nothing depends on how the same plays were handed over.

    Parameters
    ----------
    bandit
        The question.
    sampling
        What to play next.
    stopping
        When to stop. It alone carries the guarantee.
    recommendation
        Which arm would be returned now; by default that of the highest midpoint of its interval.
    direct
        Estimates from the arms' own plays, by default `EmpiricalMeans`. They need no graph and are what remains of an
        arm in conflict.
    models
        Further estimators, each of which assumes more than those before it. Intervals that they claim are intersected
        with the direct ones.
    error_budget
        The split of delta. What the estimators need of it is spent here. By default every estimator that claims
        intervals has an equal share.
    shown
        A split of its own, for intervals that are shown and do not enter the stop.
    watch
        A test of the graph. Once it refutes the graph, what rests on it ends.
    members
        What a certificate that rests on merged arms waits for.
    epsilon
        The arm returned may be worse than the best by this much, in the unit of the reward; at least 0 and below the
        width of its range, by default a twentieth of that: .05 of a reward in [0, 1].
    delta
        The probability of returning a worse one, in (0, 1).
    seed
        Ties between arms are broken by fewest plays, then by a random order of the arms, drawn once from this seed.

    Attributes
    ----------
    error_budget : ErrorBudget
        How delta is split: event, share, over how many events, and who spends it.

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
        sampling: SamplingRule,
        stopping: StoppingRule,
        recommendation: RecommendationRule | None = None,
        direct: DirectEstimator | None = None,
        models: Sequence[Estimator] = (),
        error_budget: ErrorBudget | None = None,
        shown: ErrorBudget | None = None,
        watch: GraphWatch | None = None,
        members: MemberCheck | None = None,
        epsilon: float | None = None,
        delta: float = 0.05,
        seed: Seed = 0,
    ) -> None:
        n_arms_of(bandit)
        scale = bandit.reward_scale
        epsilon = scale.tolerance if epsilon is None else epsilon
        self._parts: dict[str, Any] = {}
        if type(self).__init__ is Policy.__init__:  # as they came, for a clone: rules learn, and budgets are spent
            parts: dict[str, Any] = {"sampling": sampling, "stopping": stopping, "recommendation": recommendation}
            parts |= {"direct": direct, "models": models, "error_budget": error_budget, "shown": shown}
            parts |= {"watch": watch, "members": members}
            self._parts = copy.deepcopy(parts)
        direct = EmpiricalMeans() if direct is None else direct
        check_rules(sampling=sampling, stopping=stopping, recommendation=recommendation)
        check_parts(direct, models, epsilon, delta, scale)
        check_budgets(delta, error_budget=error_budget, shown=shown)
        if self.plays_arms and (barred := [str(arm) for arm in bandit.arms if arm not in bandit.costs]):
            raise ValueError(
                f"{type(self).__name__} plays the arms themselves, but playable lacks {', '.join(barred[:5])}"
            )
        bandit = bandit.recording(v for estimator in (direct, *models) for v in estimator.required(bandit))
        self.bandit, self.epsilon, self.delta, self.seed = bandit, epsilon, delta, seed
        self._tolerance = epsilon / scale.width
        if error_budget is None:
            claims = [e for e in (direct, *models) if isinstance(e, IntervalEstimator)]
            error_budget = ErrorBudget({claim.event: 1.0 / len(claims) for claim in claims}, delta)
        self.error_budget = error_budget
        self._encoder = Encoder(bandit)
        self._knowledge = Knowledge(bandit, direct, models, error_budget, shown, seed)
        self._sampling, self._stopping = sampling, stopping
        self._recommendation = HighestMidpoint() if recommendation is None else recommendation
        self._plan, self._verdict = Plan(), NOT_YET
        self._certified: Certified | None = None
        self._put_off: Verdict | None = None
        self._watch, self._members = copy.deepcopy(watch), members
        if self._watch is not None:
            self._watch.start(bandit)
        self._worked_out: PolicyState | None = None
        self._look()

    def __repr__(self) -> str:
        goal = "" if self._sampling.planned else f", epsilon={self.epsilon}, delta={self.delta}"
        return (
            f"{type(self).__name__}({len(self.bandit.arms)} arms{goal}: {self.n_plays} plays, "
            f"{'recommends' if self.certificate else 'current best'} {self.recommendation})"
        )

    def __copy__(self) -> Self:
        """Return a policy that goes its own way: nothing that is told to one reaches the other."""
        return copy.deepcopy(self)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the arguments of the constructor by name, as scikit-learn's estimators do."""
        names = [name for name in inspect.signature(type(self).__init__).parameters if name != "self"]
        parts = copy.deepcopy(self._parts)
        return {name: parts[name] if name in parts else getattr(self, name) for name in names}

    def __sklearn_clone__(self) -> Self:
        """Return a policy with the same parameters that was told nothing."""
        return type(self)(**self.get_params())

    # ------------------------------------------------------------------------------------------------------ ask, tell

    def ask(self, n: int | None = None, pending: Sequence[Action | str] = ()) -> list[Action]:
        """Return the actions to perform next; the same answer until something is told.

        Parameters
        ----------
        n
            How many, for experiments that are run in batches. By default one iteration, or what of it was not told yet.
            A policy that plays in phases gives what is left of the phase, or the first n.
        pending
            Plays that were asked for and not told. They are not asked for again; beyond the iteration each of them, and
            each of those chosen before it, counts as one more play of its action (`SamplingRule.choose`).
        """
        if n is not None:
            n = whole_number("n", n, 1)
        expected = [self.bandit.action(action) for action in pending]
        chosen = self._plan.without(expected)
        while not self._sampling.planned and (len(chosen) < n if n is not None else not chosen):
            if len(self.bandit.arms) == 1:
                chosen += self.bandit.arms
            else:
                chosen += self._sampling.choose(self.state, [*expected, *chosen])
        return chosen[:n]

    def cancel(self) -> Self:
        """Give up what was asked for and not told: what to play next is chosen anew from all that was told.

        The plays of a phase that was planned to a budget are not given up.
        """
        if not self._sampling.planned:
            self._plan = Plan()
            self._look()
        return self

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
            When direct plays contradict what the graph infers from all others.
        """
        told = self._encoder.encode(actions, samples, missing=missing)
        left: Samples | None = told if len(told) else None
        while left is not None:
            if left.coding is not self.bandit.coding:  # once the graph is given up fewer variables are kept
                left = self._encoder.encode(left)
            scheduled = self._stopping.next_look(self.n_plays)
            most = int(min(self._knowledge.to_name, scheduled - self.n_plays, len(left)))
            n = self._plan.cross_off(left.rows(slice(most)), partial(_rows_to_look, self.n_plays))
            now, left = (left, None) if n == len(left) else (left.rows(slice(n)), left.rows(slice(n, None)))
            self._knowledge.learn(now)
            self._worked_out = None
            due = not self._plan.followed and _rows_to_look(self.n_plays - 1, 0) == 1
            if due or not self._plan.left or self.n_plays == scheduled:
                self._look()
            if self._knowledge.to_name == 0:
                self._knowledge.name(self.state)
        return self

    def _look(self) -> None:
        """See what contradicts the graph, what to play next where nothing is asked for, and whether to stop."""
        if self._watch is not None and self._watch.look(self._knowledge.told):
            self._give_up_graph(self._watch)
        self._worked_out = None
        state = self._recommend()
        while self._knowledge.models and self._knowledge.tighten(
            Comparison(state.leader, self._stopping.contenders(state), self._tolerance, state.intervals)
        ):
            state = self._recommend()
        if self._doubt(self._knowledge.look()):
            state = self._recommend()
        if len(self.bandit.arms) == 1:
            assumed = merging_assumed(state)
            worth = "exact" if assumed else "direct"
            self._plan = Plan(self.bandit.arms)
            self._verdict = Verdict(True, "all candidates have provably the same effect", worth, 0, assumed)
        else:
            if not self._plan.left or not (self._plan.followed or self._sampling.planned):
                self._plan = Plan(self._sampling.choose(state))
                if self._sampling.planned:  # the end of a phase may have ruled out the leader
                    state = self._recommend()
            self._verdict = self._stopping.check(state)
        if self._members is not None and self._certified is None:
            self._wait_for_members(self._members, state)
        if self._certified is None and self._verdict.certificate is not None:
            if self._verdict.assumptions:
                needed = statements_needed(state, self._stopping)
                self._verdict = self._verdict._replace(assumptions=(*self._verdict.assumptions, *needed))
            self._certified = Certified(self._verdict, self.n_plays, bool(self.dropped_))

    def _wait_for_members(self, members: MemberCheck, state: PolicyState) -> None:
        """Put off a certificate that rests on merging until its members were played, or say which never were.

        What was put off is not asked for again: the rule may look at few numbers of plays only, and what it has claimed
        at one of them holds whatever is played since.
        """
        if self._verdict.certificate is not None:
            self._put_off = self._verdict
        if self._put_off is None or not self.bandit.merges_arms:
            return
        if lacking := members.lacking(state, self._put_off.arm):
            self._plan, self._verdict = Plan(lacking), NOT_YET
            return
        unplayed, self._verdict = members.never_played(state), self._put_off
        if unplayed:
            self._verdict = self._verdict._replace(assumptions=(*self._verdict.assumptions, unplayed))

    def _give_up_graph(self, watch: GraphWatch) -> None:
        """End what rests on the graph: direct plays of every listed arm decide from now on, if there may be any."""
        if self._certified is not None and self._certified.verdict.assumptions:
            self._certified = None
        self._put_off = None
        successor = self._without_graph()
        if successor is None:
            self._knowledge.reject_graph(all_in_conflict=True)
            instead = "there is no certificate without it, as some arm may not be played"
        else:
            self._parts.setdefault("bandit", self.bandit)
            successor._encoder.dropped = self._encoder.dropped
            self.bandit, self._encoder, self._knowledge = successor.bandit, successor._encoder, successor._knowledge
            self._sampling, self._stopping = successor._sampling, successor._stopping
            self._recommendation, self._plan, self._verdict = successor._recommendation, Plan(), successor._verdict
            self._certified = self._certified or successor._certified
            instead = "from now on plays of the arms themselves decide, each arm by its own"
        warnings.warn(f"the graph is refuted: {watch.refutation}; {instead}", stacklevel=4)

    def _without_graph(self) -> Policy | None:
        """Return a policy for the same question that uses no graph, told the same plays; None if there is none."""
        return None

    def _recommend(self) -> PolicyState:
        self._state = self._recommendation.recommend(self._knowledge.state(self._tolerance))
        return self._state

    @property
    def state(self) -> PolicyState:
        """What all rules are shown, from all that was told."""
        return self._state if self._state.n_plays == self.n_plays else self._recommend()

    def _doubt(self, found: Contradictions) -> bool:
        """Take away a certificate whose assumptions were refuted, say what contradicts what, return whether any did."""
        if self._certified is not None and found.refute(self._certified.verdict.assumptions):
            self._certified = None
        if self._put_off is not None and found.refute(self._put_off.assumptions):
            self._put_off = None
        if len(found.arms):
            said = f"the graph is in doubt: direct plays contradict the graph at {self._knowledge.in_words(found.arms)}"
            if np.count_nonzero(self._knowledge.conflicts) > 1 and self._knowledge.models:
                said += "; no estimate uses it any more"
            warnings.warn(f"{said}; {self._stopping.after_conflict}", stacklevel=4)
        for model, instead in found.models:
            what = ", ".join(said for said in model.assumptions if said != GRAPH)
            warnings.warn(f"the plays contradict {what}: the model is given up for {instead}", stacklevel=4)
        return len(found.arms) > 0 or len(found.models) > 0

    # ------------------------------------------------------------------------------------------------- what is known

    @property
    def _standing(self) -> Verdict:
        """The verdict for which a certificate was earned, else the last one."""
        return self._verdict if self._certified is None else self._certified.verdict

    @property
    def stopped(self) -> bool:
        """Whether the stopping rule was satisfied."""
        return self._standing.stop

    @property
    def stop_reason(self) -> str:
        """Why it stopped; empty before."""
        return self._standing.reason

    @property
    def certificate(self) -> str | None:
        """What the stop is worth: direct, exact, numerical, asymptotic or heuristic (see `Result`), or None.

        Once earned it stands, for the arm and the plays it was earned at, unless what it rests on is refuted. None
        before, and where the graph is refuted.
        """
        return self._standing.certificate

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the certificate rests on, in words; none where direct plays alone decided and none was dropped."""
        dropped = bool(self.dropped_) if self._certified is None else self._certified.dropped
        return (*self._standing.assumptions, MISSING) if dropped else self._standing.assumptions

    @property
    def refutation(self) -> str:
        """What refuted the graph, in words with its numbers; empty if nothing has, or nothing tests it."""
        return str(self._watch.refutation or "") if self._watch is not None else ""

    @property
    def certified_at(self) -> int | None:
        """After how many plays the certificate was earned; None without one."""
        return None if self._certified is None else self._certified.at

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
        if self._standing.stop and self._standing.arm >= 0:
            return self._standing.arm
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
        ruled_out = None if self._certified is None else self._stopping.ruled_out()
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

    # ------------------------------------------------------------------------------------------------------ the loop

    def run(self, environment: Environment, budget: int | None = None, progress: bool | None = True) -> Result:
        """Ask, perform and tell until the policy stops or the budget is spent (`play`).

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
        play(self, environment, budget=budget, progress=progress, describe=self._to_close)
        if self.stopped:
            return self.result()
        shown = self._shown
        if self._sampling.planned or len(self.bandit.arms) == 1:
            left = self._to_close()
        else:
            left = left_open(shown, self._stopping)
        return self._result(shown, f"the budget of {budget} plays is spent: {left}")

    def _to_close(self) -> str:
        return to_close(self.state, self._stopping.shown(self.state))
