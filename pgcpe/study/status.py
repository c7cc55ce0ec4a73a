"""Where a study stands."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from pgcpe.plays.actions import Action
from pgcpe.policies.base import Policy
from pgcpe.policies.result import Result, table_formats
from pgcpe.study.deadline import Deadline
from pgcpe.study.journal import Question
from pgcpe.study.ledger import Certified, Ledger, moment
from pgcpe.study.question import in_words

__all__ = ["PlaysNeeded", "Status", "standing", "status_of"]


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

    @property
    def most(self) -> str:
        """What is said before the plays: ``"more than "`` where most simulated studies were broken off."""
        return "more than " if self.plays >= self.budget else "about "

    def __str__(self) -> str:
        return (
            f"If the truth is like the estimate {self.most}{self.plays:,.0f} plays more are needed, in eight of ten "
            f"studies between {self.low:,.0f} and {self.high:,.0f} ({self.runs} simulated)"
        )


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
        What a reader should know, in words: reasons of withdrawals, overdue plays, why it cannot be said how many plays
        more it takes, and the like.
    created, version
        When the study was created (UTC), and by which version of the package.
    needed
        How many plays more it is likely to take; None where that was not asked for or cannot be said.
    without
        For each variable that is recorded and never set how many plays more it is likely to take if that is no longer
        recorded, None where that cannot be said; empty where it was not asked for.
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
    without: Mapping[str, PlaysNeeded | None] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """The answer so far, what it rests on, and how many plays stand where."""
        left = [
            f"{n:,} {what}"
            for n, what in (
                (self.n_pending, "pending"),
                (self.n_imported, "of them from logs"),
                (self.n_cancelled, "cancelled"),
                (self.n_withdrawn, "withdrawn"),
                (self.n_amended, "amended"),
            )
            if n
        ]
        plays = ", ".join([f"{self.n_told:,} {'play' if self.n_told == 1 else 'plays'} told", *left])
        ends = f"\nEnded: {self.reached}." if self.reached else ""
        needed = f"\n{self.needed}." if self.needed else ""
        needed += "".join(f"\nWithout recording {v}: {_more(more)}." for v, more in self.without.items())
        return "\n".join([self.question, "", f"{self.result.summary}{ends}{needed}", f"{plays}.", *self.notes])

    def to_string(self, rows: int = 10) -> str:
        """Return the summary and the first rows of the table."""
        formats = table_formats(self.result.reward_scale)
        return (
            f"{self.name}\n{self.summary}\n\n{self.result.table.head(max(rows, 1)).to_string(index=False, **formats)}"
        )

    def __repr__(self) -> str:
        return self.to_string()

    def to_plain(self) -> dict[str, Any]:
        """Return it as JSON has it; numbers that are not finite, such as evidence that nobody has, are None."""
        names = ["name", "question", "stopped", "reached", "certificate", "certified_at", "n_told", "n_pending"]
        names += ["n_cancelled", "n_withdrawn", "n_amended", "n_imported", "cost", "cost_pending", "version"]
        table = self.result.table.to_dict("records")
        plain = {
            **{name: getattr(self, name) for name in names},
            "recommendation": dict(self.recommendation),
            "stop_reason": self.result.stop_reason,
            "assumptions": list(self.assumptions),
            "reward_range": [self.result.reward_scale.low, self.result.reward_scale.high],
            "minimise": self.result.reward_scale.minimise,
            "conflicts": [dict(action) for action in self.result.conflicts],
            "refutation": self.result.refutation,
            "deadline": self.deadline.to_plain(),
            "notes": list(self.notes),
            "needed": None if self.needed is None else self.needed._asdict(),
            "without": {v: None if more is None else more._asdict() for v, more in self.without.items()},
            "created": self.created.isoformat(),
            "people": self.people.to_dict("records"),
            "arms": [row | {"action": dict(row["action"])} for row in table],
        }
        return {name: _finite(value) for name, value in plain.items()}


def _finite(value: Any) -> Any:
    """Return a value with None for the numbers in it that are not finite."""
    if isinstance(value, Mapping):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _more(needed: PlaysNeeded | None) -> str:
    """Return in a few words how many plays more are needed."""
    if needed is None:
        return "cannot be said"
    return f"{needed.most}{needed.plays:,.0f} plays more ({needed.low:,.0f} to {needed.high:,.0f})"


def standing(ledger: Ledger, policy: Policy) -> Certified | None:
    """Return the certificate that was written down, if neither changed plays nor conflicts have taken it away."""
    earned = ledger.standing
    doubted = policy.conflicts or policy.refutation
    return None if earned is not None and earned.assumptions and doubted else earned


def status_of(
    path: Path,
    question: Question,
    ledger: Ledger,
    policy: Policy,
    deadline: Deadline,
) -> Status:
    """Return where a study stands."""
    now, costs = datetime.now(UTC), policy.bandit.costs
    plays, cost = ledger.spent(costs)
    reached = deadline.reached(plays, cost, min(costs.values()), now)
    result = _result(ledger, policy, reached)
    pending = sum(costs.get(play.action, 1.0) for play in ledger.pending.values())
    some = list(ledger.plays.values())
    return Status(
        name=path.name,
        question=in_words(policy),
        policy=policy,
        result=result,
        stopped=result.stopped,
        reached=reached,
        recommendation=result.recommendation,
        certificate=result.certificate,
        certified_at=result.certified_at,
        assumptions=result.assumptions,
        n_told=sum(play.counts for play in some),
        n_pending=len(ledger.pending),
        n_cancelled=sum(play.state == "cancelled" for play in some),
        n_withdrawn=sum(play.state == "withdrawn" for play in some),
        n_amended=sum(play.counts and play.amended > 0 for play in some),
        n_imported=sum(play.counts and play.imported for play in some),
        cost=cost - pending,
        cost_pending=pending,
        deadline=deadline,
        people=ledger.people(),
        notes=tuple(ledger.notes(now)),
        created=moment(question.created),
        version=question.version,
    )


def _result(ledger: Ledger, policy: Policy, reached: str) -> Result:
    """Return what is known, with the certificate that was written down and what the ledger adds to what it rests on."""
    result, earned = policy.result(reached), standing(ledger, policy)
    if earned is None:
        assumptions = (*result.assumptions, *ledger.assumed()) if result.certificate else result.assumptions
        return dataclasses.replace(result, assumptions=assumptions)
    first = result.table["action"] == earned.arm
    table = pd.concat([result.table[first], result.table[~first]], ignore_index=True)
    return dataclasses.replace(
        result,
        recommendation=earned.arm,
        certified=earned.certificate in ("direct", "exact"),
        certificate=earned.certificate,
        stop_reason=earned.reason,
        stopped=True,
        certified_at=earned.plays,
        assumptions=earned.assumptions,
        table=table,
    )
