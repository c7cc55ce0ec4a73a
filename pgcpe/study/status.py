"""Where a study stands."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import pandas as pd

from pgcpe.plays.actions import Action
from pgcpe.policies.base import Policy
from pgcpe.policies.result import Result

__all__ = ["Deadline", "PlaysNeeded", "Status"]


class Deadline(NamedTuple):
    """Where a study ends at the latest: after so many plays, at such a cost, at such a time; None for no limit.

    Attributes
    ----------
    max_plays
        The most plays, pending ones included; plays from a log are not counted.
    max_cost
        The same for their cost.
    until
        The time (with its time zone) from which nothing is asked for any more.
    """

    max_plays: int | None = None
    max_cost: float | None = None
    until: datetime | None = None


class PlaysNeeded(NamedTuple):
    """How many plays more a study is likely to take, if the truth is like its current estimate.

    Attributes
    ----------
    plays, low, high
        The median, and the numbers between which eight of ten simulated studies end.
    cost
        The median of what they cost.
    runs
        How many studies were simulated.
    budget
        After how many plays they were broken off; such a study counts as that.
    """

    plays: float
    low: float
    high: float
    cost: float
    runs: int
    budget: int


@dataclass(frozen=True, repr=False, eq=False)
class Status:
    """Where a study stands: `Study.status`.

    Attributes
    ----------
    name
        The name of the file.
    question
        The question in words.
    policy
        The policy as the file restores it, which was told all plays that count.
    result
        What is known now; ``result.table`` has one row an arm, ``result.conflicts`` the arms that contradict the
        graph, ``result.cost`` the cost of the plays that count, those from logs included.
    stopped
        Whether nothing more has to be played: the stopping rule was satisfied, or a deadline was reached.
    reached
        The deadline that was reached, in words; empty before.
    recommendation
        The arm that would be returned now; once a certificate is earned the one that it is for.
    certificate
        What the certificate is worth, as in `Result`; None without one.
    certified_at
        After how many told plays it was earned; None without one.
    assumptions
        What it rests on, in words: withdrawals that depend on outcomes are among them.
    n_told, n_pending, n_cancelled, n_withdrawn, n_amended, n_imported
        Plays told (that count, imported ones included), asked for and not told, cancelled, withdrawn, amended (these
        count), and imported from logs.
    cost, cost_pending
        The cost of the plays told, logs not included, and of those that are pending.
    deadline
        Where the study ends at the latest.
    people
        One row for each person, in the order in which they appear: person, asked, told, cancelled, withdrawn, amended
        and last, the time of the last event (UTC). Who did not give a name is "".
    notes
        What a reader should know, in words: reasons of withdrawals, overdue plays and the like.
    needed
        How many plays more it is likely to take; None where that was not asked for or cannot be said.
    created, version
        When the study was created (UTC), and by which version of the package.
    """

    name: str
    question: str
    policy: Policy
    result: Result
    stopped: bool
    reached: str
    recommendation: Action
    certificate: str | None
    certified_at: int | None
    assumptions: tuple[str, ...]
    n_told: int
    n_pending: int
    n_cancelled: int
    n_withdrawn: int
    n_amended: int
    n_imported: int
    cost: float
    cost_pending: float
    deadline: Deadline
    people: pd.DataFrame
    notes: tuple[str, ...]
    created: datetime
    version: str
    needed: PlaysNeeded | None = None
