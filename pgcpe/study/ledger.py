"""What the events of a study add up to: each play, as it was asked, told, cancelled, withdrawn or amended."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pandas as pd

from pgcpe.graphs.states import shown
from pgcpe.graphs.structure import State
from pgcpe.plays.actions import Action
from pgcpe.study.journal import Event

__all__ = ["DISPUTED", "NOT_PERFORMED", "REASONS", "Certified", "Ledger", "Play", "moment"]

DISPUTED = "outcome disputed"
"""The reason that depends on the outcome: with it no guarantee is what it was."""

NOT_PERFORMED = "not performed"
"""Why a play may be cancelled besides these; it costs nothing."""

REASONS = ("lost", "invalid before the outcome was seen", DISPUTED)
"""Why a play may be left out."""


@dataclass(slots=True)
class Play:
    """One play of a study.

    Attributes
    ----------
    id
        Its number, from 1 on.
    action
        What is set.
    by, at
        Who asked for it last, and when (UTC); None for plays from a log.
    until
        When the lease ends after which it may be asked for again; None for never.
    told_by, told_at
        Who told the result, and when; None before.
    values, extra
        What was observed, and the columns that are the user's own.
    left_out
        Why it was cancelled or withdrawn; empty if it was not.
    cancelled
        Whether it was given up before a result was told.
    amended
        How often its values were amended, and why the last time.
    imported
        Whether it is from a log.
    told_number
        The event that told it: replays keep that order.
    """

    id: int
    action: Action
    by: str = ""
    at: str | None = None
    until: str | None = None
    told_by: str = ""
    told_at: str | None = None
    values: dict[str, State] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)
    left_out: str = ""
    cancelled: bool = False
    amended: int = 0
    why_amended: str = ""
    imported: bool = False
    told_number: int = 0

    @property
    def told(self) -> bool:
        """Whether a result was told, withdrawn or not."""
        return self.told_number > 0

    @property
    def counts(self) -> bool:
        """Whether the policy learns from it."""
        return self.told and not self.left_out

    @property
    def pending(self) -> bool:
        """Whether it was asked for, and neither told nor cancelled."""
        return not self.told and not self.cancelled

    def overdue(self, now: datetime) -> bool:
        """Whether its lease has ended without a result."""
        return self.pending and self.until is not None and moment(self.until) <= now

    @property
    def state(self) -> str:
        """``"pending"``, ``"told"``, ``"cancelled"`` or ``"withdrawn"``."""
        if self.told:
            return "withdrawn" if self.left_out else "told"
        return "cancelled" if self.cancelled else "pending"


@dataclass(frozen=True, slots=True)
class Certified:
    """A certificate as it was written down when it was earned.

    Attributes
    ----------
    arm, certificate, reason, assumptions, plays
        For which arm, what it is worth, why the policy stopped, what it rests on, after how many told plays.
    version
        Of the package.
    number
        Its event: what was told before is what it rests on.
    """

    arm: Action
    certificate: str
    reason: str
    assumptions: tuple[str, ...]
    plays: int
    version: str
    number: int


class Ledger:
    """The plays that a list of events makes, in the order of their ids.

    Attributes
    ----------
    last
        The number of the last event.
    plays
        The plays by their ids.
    order
        The ids of the plays told, in the order of the events that told them.
    pending
        The plays asked for and neither told nor cancelled, by their ids.
    imports
        What was imported: hash, rows, source, lacking.
    disturbed
        Whether a told play was withdrawn or amended since this was last set to False.
    """

    def __init__(self) -> None:
        self.last = 0
        self.plays: dict[int, Play] = {}
        self.order: list[int] = []
        self.pending: dict[int, Play] = {}
        self.imports: list[dict[str, Any]] = []
        self.disturbed = False
        self._certified: list[Certified] = []
        self._changed: list[tuple[int, int]] = []  # events that withdrew or amended, and those that had told the play
        self._people: dict[str, dict[str, Any]] = {}
        self._actions: dict[tuple[tuple[str, State], ...], Action] = {}
        self._known: dict[str, dict[str, Any]] = {}  # what texts say: many events say the same
        self._adding = {
            "asked": self._asked,
            "told": self._told,
            "cancelled": self._cancelled,
            "withdrawn": self._withdrawn,
            "amended": self._amended,
            "imported": self._imported,
            "certified": self._earned,
        }

    def add(self, events: Iterable[Event]) -> None:
        """Add events, which follow those added before."""
        for event in events:
            if (content := self._known.get(event.content)) is None:
                content = json.loads(event.content)
                if len(self._known) < MOST_KNOWN:
                    self._known[event.content] = content
            self._adding[event.kind](event, content)
            self._by(event)
            self.last = event.number

    def _by(self, event: Event) -> None:
        if event.kind in ("imported", "certified"):
            return
        if event.kind == "told" and self.plays[event.play or 0].imported:
            return
        person = self._people.setdefault(event.by, dict.fromkeys(PEOPLE, 0))
        person[event.kind] += 1
        person["last"] = event.at

    def _action(self, settings: Mapping[str, State]) -> Action:
        key = tuple(settings.items())
        if key not in self._actions:
            self._actions[key] = Action(settings)
        return self._actions[key]

    def _asked(self, event: Event, content: Mapping[str, Any]) -> None:
        number = event.play or 0
        play = self.plays.get(number)
        if play is None:
            play = self.plays[number] = Play(number, self._action(content["action"]))
        play.by, play.at, play.until = event.by, event.at, content.get("until")
        if play.pending:
            self.pending[number] = play

    def _told(self, event: Event, content: Mapping[str, Any]) -> None:
        number = event.play or 0
        if "action" in content:
            self.plays[number] = Play(number, self._action(content["action"]), imported=True)
        play = self.plays[number]
        play.values, play.extra = content["values"], content.get("extra", {})
        play.told_by, play.told_at, play.told_number = event.by, event.at, event.number
        play.cancelled, play.left_out = False, ""
        self.pending.pop(number, None)
        self.order.append(number)

    def _cancelled(self, event: Event, content: Mapping[str, Any]) -> None:
        play = self.plays[event.play or 0]
        play.cancelled, play.left_out = True, content["reason"]
        self.pending.pop(play.id, None)

    def _withdrawn(self, event: Event, content: Mapping[str, Any]) -> None:
        play = self.plays[event.play or 0]
        play.left_out = content["reason"]
        self._changed.append((event.number, play.told_number))
        self.disturbed = True

    def _amended(self, event: Event, content: Mapping[str, Any]) -> None:
        play = self.plays[event.play or 0]
        play.values = content["values"]
        play.amended, play.why_amended = play.amended + 1, content["reason"]
        self._changed.append((event.number, play.told_number))
        self.disturbed = True

    def _imported(self, event: Event, content: Mapping[str, Any]) -> None:
        self.imports.append(dict(content))

    def _earned(self, event: Event, content: Mapping[str, Any]) -> None:
        said = dict(content, arm=Action(content["arm"]), assumptions=tuple(content["assumptions"]))
        self._certified.append(Certified(**said, number=event.number))

    # --------------------------------------------------------------------------------------------- what they add up to

    @property
    def standing(self) -> Certified | None:
        """The last certificate, if no play told before it was withdrawn or amended since."""
        if not self._certified:
            return None
        last = self._certified[-1]
        touched = any(changed > last.number > told for changed, told in self._changed)
        return None if touched else last

    def counted(self, after: int = 0) -> list[Play]:
        """Return the plays that count, in the order in which they were told, after so many told ones."""
        return [play for play in map(self.plays.__getitem__, self.order[after:]) if play.counts]

    def number_of(self, state: str) -> int:
        """Return how many plays are in a state."""
        return sum(play.state == state for play in self.plays.values())

    def spent(self, costs: Mapping[Action, float]) -> tuple[int, float]:
        """Return the plays asked for, but for those that were not performed, and what they cost; logs not included."""
        asked = [p for p in self.plays.values() if not p.imported and p.left_out != NOT_PERFORMED]
        return len(asked), float(sum(costs.get(play.action, 1.0) for play in asked))

    def assumed(self) -> list[str]:
        """Return what a certificate rests on besides what the policy says, in words: how plays were told."""
        plays = self.plays.values()
        disputed = sum(play.left_out == DISPUTED for play in plays)
        amended = sum(play.counts and play.amended > 0 for play in plays)
        imported = sum(play.counts and play.imported for play in plays)
        lacking = sum(n for log in self.imports for n in log["lacking"].values())
        said = []
        if disputed:
            said.append(f"that {_plays(disputed)} left out as '{DISPUTED}' are no worse or better than others")
        if amended:
            said.append(f"the values of {_plays(amended)} as they were amended")
        if imported:
            said.append(f"{_plays(imported)} from logs: actions as recorded, no row left out for its outcome")
        if lacking:
            said.append(f"missing values are independent of the outcome ({lacking:,} rows of logs were left out)")
        return said

    def notes(self, now: datetime) -> list[str]:
        """Return what a reader should know of the plays, in words."""
        said = []
        if overdue := [play.id for play in self.pending.values() if play.overdue(now)]:
            said.append(f"Overdue: {shown(*overdue, show=str)}; the next who ask get these plays.")
        for state in ("cancelled", "withdrawn"):
            reasons: dict[str, list[int]] = {}
            for play in self.plays.values():
                if play.state == state:
                    reasons.setdefault(play.left_out, []).append(play.id)
            said += [f"{state.capitalize()}, {why}: {shown(*ids, show=str)}." for why, ids in reasons.items()]
        amended = [f"{p.id} ({p.why_amended})" for p in self.plays.values() if p.counts and p.amended]
        return said + ([f"Amended: {shown(*amended, show=str)}."] if amended else [])

    def people(self) -> pd.DataFrame:
        """Return what each person did, and when last."""
        rows = [{"person": person, **done} for person, done in self._people.items()]
        return pd.DataFrame(rows, columns=["person", *PEOPLE, "last"])

    def to_frame(self, variables: Sequence[str]) -> pd.DataFrame:
        """Return one row a play: what it is, who did what, the values of variables, and the columns of users."""
        plays = list(self.plays.values())
        columns: dict[str, list[Any]] = {
            "id": [p.id for p in plays],
            "action": [str(p.action) for p in plays],
            "state": [p.state for p in plays],
        }
        columns |= {v: [p.values.get(v, p.action.get(v) if p.told else None) for p in plays] for v in variables}
        for name in dict.fromkeys(name for p in plays for name in p.extra):
            columns[name if name not in columns else f"{name} (own)"] = [p.extra.get(name) for p in plays]
        columns |= {
            "asked_by": [p.by for p in plays],
            "asked_at": [p.at for p in plays],
            "until": [p.until for p in plays],
            "told_by": [p.told_by for p in plays],
            "told_at": [p.told_at for p in plays],
            "left_out": [p.left_out for p in plays],
            "amended": [p.why_amended for p in plays],
            "imported": [p.imported for p in plays],
        }
        return pd.DataFrame(columns)


PEOPLE = ("asked", "told", "cancelled", "withdrawn", "amended")

MOST_KNOWN = 10_000


def _plays(n: int) -> str:
    return f"{n:,} {'play' if n == 1 else 'plays'}"


def moment(text: str) -> datetime:
    """Return a time written in a file."""
    return datetime.fromisoformat(text).astimezone(UTC)
