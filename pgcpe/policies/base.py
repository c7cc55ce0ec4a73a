"""Policies: ask which actions to perform, tell what was observed, stop, recommend. The loop is written once, here."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Self

from pgcpe._checks import whole_number
from pgcpe.bandit import CausalBandit
from pgcpe.environment.protocol import Environment
from pgcpe.estimators.base import Comparison, Estimator
from pgcpe.estimators.empirical_means import DirectEstimator, EmpiricalMeans
from pgcpe.estimators.schedule import next_due
from pgcpe.plays.actions import Action
from pgcpe.plays.encoding import Encoder
from pgcpe.plays.samples import Samples
from pgcpe.policies.certificates import Certificates
from pgcpe.policies.error_budget import ErrorBudget
from pgcpe.policies.graph_watch import GraphWatch, MemberCheck
from pgcpe.policies.knowledge import Contradictions, Knowledge, check_budgets, check_parts, check_rules, equal_shares
from pgcpe.policies.loop import play
from pgcpe.policies.report import PolicyReport
from pgcpe.policies.result import Result, left_open
from pgcpe.policies.rules.base import RecommendationRule, SamplingRule, Seed, StoppingRule, Verdict, n_arms_of
from pgcpe.policies.rules.plan import Plan
from pgcpe.policies.rules.recommendation import HighestMidpoint
from pgcpe.policies.rules.state import PolicyState
from pgcpe.policies.rules.stopping import merging_assumed

__all__ = ["Policy"]

VALUES = {"self", "bandit", "epsilon", "delta", "seed"}
"""The parameters of a policy that do not change while it learns; the others are kept for a clone as they came."""


def _rows_to_look(n_plays: int, row: int) -> int:
    """Return after how many more plays than these the first look after a row of them is due."""
    return next_due(n_plays + row, None) - n_plays


class Policy(PolicyReport):
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
            names = inspect.signature(Policy.__init__).parameters.keys() - VALUES
            self._parts = copy.deepcopy({name: value for name, value in locals().items() if name in names})
        direct = EmpiricalMeans() if direct is None else direct
        check_rules(sampling=sampling, stopping=stopping, recommendation=recommendation)
        check_parts(direct, models, epsilon, delta, scale)
        check_budgets(delta, error_budget=error_budget, shown=shown)
        self._check_playable(bandit)
        bandit = bandit.recording(v for estimator in (direct, *models) for v in estimator.required(bandit))
        self.bandit, self.epsilon, self.delta, self.seed = bandit, epsilon, delta, seed
        self._tolerance = epsilon / scale.width
        self.error_budget = equal_shares([direct, *models], delta) if error_budget is None else error_budget
        self._encoder = Encoder(bandit)
        self._knowledge = Knowledge(bandit, direct, models, self.error_budget, shown, seed)
        self._sampling, self._stopping = sampling, stopping
        self._recommendation = HighestMidpoint() if recommendation is None else recommendation
        self._plan, self._certificates, self._watch = Plan(), Certificates(members), copy.deepcopy(watch)
        if self._watch is not None:
            self._watch.start(bandit)
        self._worked_out: PolicyState | None = None
        self._look()

    def _check_playable(self, bandit: CausalBandit) -> None:
        """Raise if arms have to be played and some may not be."""
        if self.plays_arms and (barred := [str(arm) for arm in bandit.arms if arm not in bandit.costs]):
            raise ValueError(
                f"{type(self).__name__} plays the arms themselves, but playable lacks {', '.join(barred[:5])}"
            )

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
            verdict = Verdict(True, "all candidates have provably the same effect", worth, 0, assumed)
        else:
            if not self._plan.left or not (self._plan.followed or self._sampling.planned):
                self._plan = Plan(self._sampling.choose(state))
                if self._sampling.planned:  # the end of a phase may have ruled out the leader
                    state = self._recommend()
            verdict = self._stopping.check(state)
        if lacking := self._certificates.judge(verdict, state, self._stopping, dropped=bool(self.dropped_)):
            self._plan = Plan(lacking)

    def _give_up_graph(self, watch: GraphWatch) -> None:
        """End what rests on the graph: direct plays of every listed arm decide from now on, if there may be any."""
        self._certificates.give_up_graph()
        successor = self._without_graph()
        if successor is None:
            self._knowledge.reject_graph(all_in_conflict=True)
            instead = "there is no certificate without it, as some arm may not be played"
        else:
            self._parts.setdefault("bandit", self.bandit)
            successor._encoder.dropped = self._encoder.dropped
            self.bandit, self._encoder, self._knowledge = successor.bandit, successor._encoder, successor._knowledge
            self._sampling, self._stopping = successor._sampling, successor._stopping
            self._recommendation, self._plan = successor._recommendation, Plan()
            self._certificates.follow(successor._certificates)
            instead = "from now on plays of the arms themselves decide, each arm by its own"
        warnings.warn(f"the graph is refuted: {watch.refutation}; {instead}", stacklevel=4)

    def _without_graph(self) -> Policy | None:
        """Return a policy for the same question that uses no graph, told the same plays; None if there is none."""
        return None

    def _doubt(self, found: Contradictions) -> bool:
        """Take away a certificate whose assumptions were refuted, say what contradicts what, return whether any did."""
        self._certificates.doubt(found)
        for said in self._knowledge.said_of(found, self._stopping.after_conflict):
            warnings.warn(said, stacklevel=4)
        return len(found.arms) > 0 or len(found.models) > 0

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
