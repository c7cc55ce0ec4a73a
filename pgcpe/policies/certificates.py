"""Certificates: earned once, standing until what they rest on is refuted, put off where members have to be played."""

from __future__ import annotations

from typing import NamedTuple

from pgcpe.plays.actions import Action
from pgcpe.policies.dependence import statements_needed
from pgcpe.policies.graph_watch import MemberCheck
from pgcpe.policies.knowledge import Contradictions
from pgcpe.policies.rules.base import NOT_YET, StoppingRule, Verdict
from pgcpe.policies.rules.state import PolicyState

__all__ = ["Certificates", "Certified"]


class Certified(NamedTuple):
    """A certificate that was earned: for what, after how many plays, and whether others had been dropped by then."""

    verdict: Verdict
    at: int
    dropped: bool


class Certificates:
    """The verdict of the last look, and the certificate that was earned.

    Parameters
    ----------
    members
        What a certificate that rests on merged arms waits for; None for nothing.

    Attributes
    ----------
    earned
        The certificate that stands; None without one.
    """

    def __init__(self, members: MemberCheck | None = None) -> None:
        self.earned: Certified | None = None
        self._members, self._verdict = members, NOT_YET
        self._put_off: Verdict | None = None

    @property
    def standing(self) -> Verdict:
        """The verdict for which a certificate was earned, else the last one."""
        return self._verdict if self.earned is None else self.earned.verdict

    def judge(self, verdict: Verdict, state: PolicyState, rule: StoppingRule, *, dropped: bool) -> list[Action]:
        """Take the verdict of a look, and return the plays that a certificate waits for: none where it does not.

        Parameters
        ----------
        verdict
            What the rule says.
        state
            Of what.
        rule
            The rule.
        dropped
            Whether plays were dropped.
        """
        self._verdict = verdict
        if self.earned is not None:
            return []
        if verdict.certificate is not None and verdict.assumptions:  # by the plays that decided, though it may wait
            needed = statements_needed(state, rule)
            self._verdict = verdict._replace(assumptions=(*verdict.assumptions, *needed))
        lacking = self._wait(self._members, state) if self._members is not None and state.bandit.merges_arms else []
        if self._verdict.certificate is not None:
            self.earned = Certified(self._verdict, state.n_plays, dropped)
        return lacking

    def _wait(self, members: MemberCheck, state: PolicyState) -> list[Action]:
        """Put off a certificate that rests on merging until its members were played, or say which never were.

        What was put off is not asked for again: the rule may look at few numbers of plays only, and what it has claimed
        at one of them holds whatever is played since.
        """
        if self._verdict.certificate is not None:
            self._put_off = self._verdict
        if self._put_off is None:
            return []
        if lacking := members.lacking(state, self._put_off.arm):
            self._verdict = NOT_YET
            return lacking
        self._verdict = self._put_off
        if unplayed := members.never_played(state):
            self._verdict = self._verdict._replace(assumptions=(*self._verdict.assumptions, unplayed))
        return []

    def doubt(self, found: Contradictions) -> None:
        """Take away what rests on what was refuted."""
        if self.earned is not None and found.refute(self.earned.verdict.assumptions):
            self.earned = None
        if self._put_off is not None and found.refute(self._put_off.assumptions):
            self._put_off = None

    def give_up_graph(self) -> None:
        """Take away what rests on the graph; by what was put off too nothing is waited for."""
        self._put_off = None
        if self.earned is not None and self.earned.verdict.assumptions:
            self.earned = None

    def follow(self, other: Certificates) -> None:
        """Go on with the verdict of a policy that uses no graph, and with what it has earned where nothing stands."""
        self._verdict, self.earned = other._verdict, self.earned or other.earned
