"""A study: ask, perform, tell, over weeks, by several hands, in one file."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from copy import copy
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from numbers import Real
from typing import Any, Self

import pandas as pd

from pgcpe._checks import one_of, whole_number
from pgcpe.graphs.states import did_you_mean, shown
from pgcpe.graphs.structure import State
from pgcpe.plays.actions import Action
from pgcpe.policies.base import Policy
from pgcpe.study.deadline import Deadline
from pgcpe.study.imports import read_log
from pgcpe.study.journal import Journal
from pgcpe.study.known import KnownStudy
from pgcpe.study.ledger import NOT_PERFORMED, REASONS, Play
from pgcpe.study.question import fingerprint, to_plain
from pgcpe.study.rows import RESERVED, Row, checked_ids, rows_told, values_of
from pgcpe.study.status import standing

__all__ = ["Study"]


class Study(KnownStudy):
    """A study in a file: what was asked, told, cancelled, withdrawn and amended, by whom and when.

    The file holds the question and what happened, in order; nothing is ever changed in it. Whoever opens it replays
    that, and sees the same policy: a function of the question and of the plays told, in the order of telling. Several
    people and processes may ask and tell at once, in any order, one play or many.

    `create` makes a file and `open` opens one.
    """

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        policy: Policy,
        *,
        max_plays: int | None = None,
        max_cost: float | None = None,
        until: datetime | str | None = None,
        exist_ok: bool = False,
    ) -> Self:
        """Make the file of a study and open it.

        Parameters
        ----------
        path
            A file that does not exist.
        policy
            What chooses the plays, told nothing; the file keeps its question, its name and its parameters.
        max_plays, max_cost, until
            Where the study ends at the latest: after so many plays, at such a cost, at such a time. From then on `ask`
            returns nothing. A time without a zone is that of this computer.
        exist_ok
            Whether a file that exists is opened if it has the same question, for programs that start several times.

        Raises
        ------
        FileExistsError
            If the file exists.
        ValueError, TypeError
            If it exists with another question, or the policy cannot be written down.
        """
        deadline = Deadline.checked(max_plays, max_cost, until)
        content = {**to_plain(policy), "deadline": deadline.to_plain()}
        if taken := sorted(set(policy.bandit.graph.nodes) & {*RESERVED, "set", "imported"}):
            raise ValueError(
                f"a study has columns of its own that are named {', '.join(taken)}: rename the variables of the graph"
            )
        mark = fingerprint(content)
        journal, new = Journal.create(path, content, fingerprint=mark, version=version("pgcpe"))
        if not new and not exist_ok:
            raise FileExistsError(f"{path} exists: Study.open(path) opens it")
        if not new and journal.question().fingerprint != mark:
            raise ValueError(
                f"{path} is a study of another question (graph, arms, costs, epsilon, delta, policy, seed or deadline "
                "differ): Study.open(path) opens it as it is"
            )
        return cls(journal)

    # ------------------------------------------------------------------------------------------------------ ask, tell

    def ask(self, n: int | None = None, *, by: str | None = None, lease: timedelta | str | None = None) -> list[Play]:
        """Return the plays to perform next, each with the id by which its result is told.

        What is pending counts as played: two who ask do not get the same plays, and ten asked at once are not ten times
        the same action where the policy would play others by then. Plays whose lease has ended come first, under the
        id that they have.

        Parameters
        ----------
        n
            How many; by default one iteration of the policy.
        by
            Who asks.
        lease
            After what time, as a `timedelta` or a text such as ``"2 days"``, a play without a result may be asked for
            again; by default never. A late result counts all the same, once.

        Returns
        -------
        list of Play
            Nothing once the study has stopped, by its rule or a deadline, or has to wait for results.
        """
        n = None if n is None else whole_number("n", n, 1)
        by, until = _person(by), _lease_end(lease)
        with self._replay.writing() as writer:
            now = datetime.now(UTC)
            if standing(self._ledger, self._policy) or self._policy.stopped or self._replay.deadline.passed(now):
                return []
            again = [play for play in self._ledger.pending.values() if play.overdue(now)][:n]
            actions: list[Action] = []
            if (n is None and not again) or (n is not None and len(again) < n):
                pending = [play.action for play in self._ledger.pending.values()]
                actions = self._replay.affordable(self._policy.ask(None if n is None else n - len(again), pending))
            first = writer.next_play()
            ids = [*(play.id for play in again), *range(first, first + len(actions))]
            lent = {} if until is None else {"until": until}
            rows = [(play.id, {"action": dict(play.action), **lent}) for play in again]
            rows += [(first + i, {"action": dict(action), **lent}) for i, action in enumerate(actions)]
            writer.append("asked", rows, by)
        return [copy(self._ledger.plays[i]) for i in ids]

    def tell(self, plays: Any, values: Any = None, *, by: str | None = None) -> int:
        """Record results, in any order that does not depend on the outcomes; return how many were new.

        A play told twice with the same values is taken once. All rows are recorded, or none.

        Parameters
        ----------
        plays
            The id of a play with its `values`, ids with a list of them, or a DataFrame with a column ``id``, such as a
            form that was filled in. A column ``action`` must agree with what was asked.
        values
            What was observed: {variable: state}, with the reward and ``study.bandit.required``. What the play set need
            not be told. Columns that are no variables are kept as they are: a number of a patient, a date, a note.
        by
            Who tells.

        Raises
        ------
        ValueError, TypeError
            If a play is unknown or was told otherwise, or values are missing, no states, or contradict the action.
        """
        by, rows = _person(by), rows_told(plays, values, self.bandit)
        with self._replay.writing() as writer:
            new = [row for row in rows if self._replay.is_new(row)]
            self._replay.check_values([self._ledger.plays[row.id].action for row in new], new)
            said = [
                (row.id, {"values": row.values, "extra": row.extra} if row.extra else {"values": row.values})
                for row in new
            ]
            writer.append("told", said, by)
        return len(new)

    # ------------------------------------------------------------------------------------------ what goes otherwise

    def cancel(self, plays: Any, reason: str = NOT_PERFORMED, *, by: str | None = None) -> None:
        """Give plays up that were asked for and not told.

        Parameters
        ----------
        plays
            The id of a play, or several.
        reason
            ``"not performed"``, or one of those of `withdraw`. If it was given up because of its outcome, say so: the
            certificate will.
        by
            Who says so.

        Raises
        ------
        ValueError
            If a play is not pending, or the reason is none of these.
        """
        one_of("reason", reason, (NOT_PERFORMED, *REASONS))
        by, ids = _person(by), checked_ids(plays)
        with self._replay.writing() as writer:
            for i in ids:
                if not self._replay.play(i).pending:
                    state = self._replay.play(i).state
                    way = f": study.withdraw({i}, reason) takes it back" if state == "told" else ""
                    raise ValueError(f"a play must be pending to be cancelled, but play {i} is {state}{way}")
            writer.append("cancelled", [(i, {"reason": reason}) for i in dict.fromkeys(ids)], by)

    def withdraw(self, play: int, reason: str, *, by: str | None = None, note: str = "") -> None:
        """Take back the result of a play: from now on the policy is as if it had not been told.

        Parameters
        ----------
        play
            Its id.
        reason
            ``"lost"``, ``"invalid before the outcome was seen"`` or ``"outcome disputed"``. With the last one the
            certificate says that it rests on it.
        by, note
            Who says so, and anything else.

        Raises
        ------
        ValueError
            If the play was not told, was withdrawn before, or the reason is none of these.
        """
        one_of("reason", reason, REASONS)
        by, (i,) = _person(by), checked_ids([play])
        with self._replay.writing() as writer:
            if not self._replay.play(i).counts:
                way = f": study.cancel({i}) gives it up" if self._replay.play(i).pending else ""
                raise ValueError(
                    f"a play must be told to be withdrawn, but play {i} is {self._replay.play(i).state}{way}"
                )
            writer.append("withdrawn", [(i, {"reason": reason, **({"note": str(note)} if note else {})})], by)

    def amend(self, play: int, values: Mapping[str, State], reason: str, *, by: str | None = None) -> None:
        """Correct values of a play that was told: from now on the policy is as if these had been told then.

        Parameters
        ----------
        play
            Its id.
        values
            What is corrected: {variable: state}.
        reason
            Why, in words.
        by
            Who says so.

        Raises
        ------
        ValueError, TypeError
            If the play does not count, a value is no state or contradicts the action, or nothing differs.
        """
        if not isinstance(reason, str) or not reason.strip():
            raise ValueError("reason must say why the values are corrected, but is empty")
        if not isinstance(values, Mapping) or not values:
            raise TypeError(f"values must be a dict {{variable: state}}, but got {shown(values)}")
        if odd := [v for v in values if v not in self.bandit.observed]:
            raise ValueError(f"{shown(odd[0])} is no observed variable{did_you_mean(odd[0], self.bandit.observed)}")
        by, (i,) = _person(by), checked_ids([play])
        index = pd.Index([i], name="id")
        (corrected,) = values_of(pd.DataFrame([dict(values)], index=index, dtype=object), self.bandit)
        with self._replay.writing() as writer:
            known = self._replay.play(i)
            if not known.counts:
                raise ValueError(f"a play must be told to be amended, but play {i} is {known.state}")
            whole = {**known.values, **corrected}
            if whole == known.values:
                raise ValueError(f"play {i} has these values already: nothing to amend")
            self._replay.check_values([known.action], [Row(i, "", whole, {})])
            writer.append("amended", [(i, {"values": whole, "reason": reason.strip()})], by)

    def import_log(
        self,
        log: Any,
        actions: Any = None,
        *,
        missing: str = "raise",
        again: bool = False,
        by: str | None = None,
    ) -> int:
        """Tell plays from a log, passive or under known interventions, that nobody asked for; return how many.

        They inform every estimate and count for the certificate, but not for the deadline. What is assumed of them is
        that the actions are as said, chosen by nothing that was hidden, and that no row was left out for its outcome.

        Parameters
        ----------
        log
            A DataFrame with a row a play, such as ``policy.history`` or what ``read_history(path, study.bandit)``
            returns; or the path of a CSV file, which that reads.
        actions
            The action of all rows, ``do()`` for passive observation, or one for each; by default those that the log
            names, by its index or its column ``action``.
        missing
            ``"raise"``, or ``"drop"``: rows that lack a value are left out, and the certificate says so.
        again
            Whether a log with the very same rows may be told twice.
        by
            Who tells.

        Raises
        ------
        ValueError, TypeError
            If the same rows were told before, or as for `Policy.tell`.
        """
        by, read = _person(by), read_log(log, actions, self.bandit, missing)
        mark = hashlib.sha256(json.dumps(read.rows, sort_keys=True).encode()).hexdigest()
        with self._replay.writing() as writer:
            if not again and any(known["hash"] == mark for known in self._ledger.imports):
                raise ValueError(
                    f"a log of the very same {len(read.rows):,} rows was told before: again=True tells it twice"
                )
            first = writer.next_play()
            about = {"hash": mark, "rows": len(read.rows), "source": read.source, "lacking": read.lacking}
            writer.append("imported", [(None, about)], by)
            writer.append("told", [(first + i, row) for i, row in enumerate(read.rows)], by)
        return len(read.rows)


def _person(by: str | None) -> str:
    if by is not None and not isinstance(by, str):
        raise TypeError(f"by must be a name, but got {shown(by)}")
    return "" if by is None else by.strip()


def _lease_end(lease: timedelta | str | None) -> str | None:
    """Return when a lease that begins now ends (UTC); None for never."""
    if lease is None:
        return None
    if isinstance(lease, Real) or not isinstance(lease, (str, timedelta)):
        raise TypeError(f"lease must be a timedelta or a text such as '2 days', but got {shown(lease)}")
    try:
        length = pd.Timedelta(lease)
    except ValueError:
        raise ValueError(f"lease must be a length of time such as '2 days' or '36 hours', but got {lease!r}") from None
    if not length > timedelta(0):
        raise ValueError(f"lease must be longer than nothing, but got {shown(lease, show=str)}")
    return (datetime.now(UTC) + length.to_pytimedelta()).isoformat(timespec="milliseconds")
