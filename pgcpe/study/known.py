"""What a study knows and shows; nothing here writes to its file."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import Self

import pandas as pd

from pgcpe.bandit import CausalBandit
from pgcpe.policies.base import Policy
from pgcpe.study.journal import Journal
from pgcpe.study.ledger import Play
from pgcpe.study.needed import plays_needed, plays_without, why_unknown
from pgcpe.study.replay import Replay
from pgcpe.study.report import display, report
from pgcpe.study.rows import form
from pgcpe.study.status import Status, status_of

__all__ = ["KnownStudy"]


class KnownStudy:
    """A study as its file says it is: plays, policy, status, report. `Study` adds what changes it."""

    def __init__(self, journal: Journal) -> None:
        self._replay = Replay(journal)
        self._ledger = self._replay.ledger

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, read_only: bool = False) -> Self:
        """Open a study and replay what happened.

        Parameters
        ----------
        path
            The file.
        read_only
            Whether nothing is to be written, as for reports.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If it is no study, of a newer format, or its question was changed.
        """
        return cls(Journal(path, read_only=read_only))

    def __repr__(self) -> str:
        told, pending, path = len(self._ledger.order), len(self._ledger.pending), str(self._replay.journal.path)
        return (
            f"Study({path!r}: {told:,} {'play' if told == 1 else 'plays'} told, {pending:,} pending, "
            f"{'recommends' if self._policy.certificate else 'current best'} {self._policy.recommendation})"
        )

    @property
    def _policy(self) -> Policy:
        return self._replay.policy

    @property
    def bandit(self) -> CausalBandit:
        """The question."""
        return self._policy.bandit

    @property
    def pending(self) -> list[Play]:
        """The plays that were asked for, and neither told nor cancelled."""
        self._replay.refresh()
        return [copy(play) for play in self._ledger.pending.values()]

    @property
    def policy(self) -> Policy:
        """A copy of the policy, told all plays that count: nothing that it is told reaches the study."""
        self._replay.refresh()
        return self._policy.__copy__()

    def form(self, plays: Sequence[Play] | None = None) -> pd.DataFrame:
        """Return the form of plays to fill in, by default of all pending ones: id, what to set, what to record."""
        return form(self.pending if plays is None else plays, self.bandit)

    def status(self, *, needed: bool = False, measurements: bool = False) -> Status:
        """Return where the study stands.

        Parameters
        ----------
        needed
            Whether to say how many plays more it is likely to take, by simulating it from the current estimate; it
            takes seconds to minutes.
        measurements
            Whether to say the same for leaving out each variable that is recorded and never set: what it would cost in
            plays to record it no longer. It takes as long for each.
        """
        self._replay.refresh()
        parts = (
            self._replay.journal.path,
            self._replay.question,
            self._ledger,
            self._policy.__copy__(),
            self._replay.deadline,
        )
        status = status_of(*parts)
        if not (needed or measurements):
            return status
        more = plays_needed(self._policy)
        notes = status.notes if more is not None else (*status.notes, why_unknown(self._policy))
        without = plays_without(self._policy) if measurements else {}
        return dataclasses.replace(status, needed=more, without=without, notes=notes)

    def report(self, path: str | os.PathLike[str], *, needed: bool = True) -> None:
        """Write a page of HTML for readers who will not open the study; one of that name is replaced.

        It says what is asked, the answer so far and how sure that is, what it rests on, where plays and costs stand,
        the intervals, the graph with what is set and adjusted for, conflicts, and who did what. It needs nothing else:
        no script, no other file, no colour.

        Parameters
        ----------
        path
            Where the page goes.
        needed
            Whether to say how many plays more the study is likely to take, as `status` does.
        """
        Path(path).write_text(report(self.status(needed=needed)), encoding="utf-8")

    def _repr_html_(self) -> str:
        return display(self.status())

    def to_frame(self) -> pd.DataFrame:
        """Return one row a play: id, action, state, the values, your own columns, who asked and told it, and when."""
        self._replay.refresh()
        return self._ledger.to_frame([*self.bandit.required, self.bandit.reward])

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Write a copy that holds every play told before, whoever writes meanwhile.

        Raises
        ------
        FileExistsError
            If there is a file of that name.
        """
        self._replay.journal.backup(path)
