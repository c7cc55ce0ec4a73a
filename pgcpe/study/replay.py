"""What the file of a study says, replayed: the plays, and the policy that was told them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

import pandas as pd

from pgcpe.bandit import CausalBandit
from pgcpe.graphs.structure import State
from pgcpe.plays.actions import Action
from pgcpe.study.deadline import Deadline
from pgcpe.study.journal import Journal, Session
from pgcpe.study.ledger import Ledger, Play
from pgcpe.study.question import fingerprint, from_plain
from pgcpe.study.rows import Row

__all__ = ["Replay"]

SELECTED = ".* passive plays: rows that an effect chose"
"""A warning for logs, which are looked at on their own: no effect chose the plays that were asked for."""


class Replay:
    """The plays of a study and its policy: functions of the question and of the events, in their order.

    Parameters
    ----------
    journal
        The file.

    Attributes
    ----------
    question, deadline
        What the file was created with.
    ledger
        The plays as of the last `refresh`.
    policy
        What was told those that count, in the order in which they were told.

    Raises
    ------
    ValueError
        If the question is not the one the file was created with.
    """

    def __init__(self, journal: Journal) -> None:
        self.journal, self.question = journal, journal.question()
        content = self.question.content
        if fingerprint(content) != self.question.fingerprint:
            raise ValueError(
                f"the question in {journal.path} is not the one it was created with: its fingerprint differs. The "
                "guarantee is for that one; go back to a backup"
            )
        self.deadline = Deadline.from_plain(content["deadline"])
        self.ledger, self._fed = Ledger(), 0
        self.policy = from_plain(content)
        self.refresh(quietly=True)
        if self._is_to_certify and not journal.read_only:
            with journal.session() as session:
                self._certify(session)

    @property
    def bandit(self) -> CausalBandit:
        """The question, with what the policy has recorded."""
        return self.policy.bandit

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """Give a transaction in which this is up to date; afterwards it is again, what was written included.

        What a policy has to be told is told before the lock is taken, as far as that was known by then.
        """
        with self.journal.session() as session:
            self.refresh(session)
            with session.alone():
                self.refresh(session)
                yield session
            self.refresh(session)
            self._certify(session)

    def play(self, number: int) -> Play:
        """Return a play, or raise where there is none of that id."""
        play = self.ledger.plays.get(number)
        if play is None:
            last = f"the last one is {max(self.ledger.plays)}" if self.ledger.plays else "none was asked for yet"
            raise ValueError(f"there is no play {number}: {last}")
        return play

    def refresh(self, session: Session | None = None, *, quietly: bool = False) -> None:
        """Take in what happened since: what was told goes to the policy; what was changed has it begin anew."""
        last = self.ledger.last
        self.ledger.add((session or self.journal).events(last))
        if self.ledger.disturbed:
            self.policy, self._fed, self.ledger.disturbed = from_plain(self.question.content), 0, False
            quietly = True
        plays, self._fed = self.ledger.counted(self._fed), len(self.ledger.order)
        if plays:
            self.ledger.disturbed = True  # until all of it is told: what is interrupted begins anew
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="" if quietly else SELECTED)
                self.policy.tell([play.action for play in plays], self._as_frame([play.values for play in plays]))
            self.ledger.disturbed = False

    @property
    def _is_to_certify(self) -> bool:
        return self.policy.certificate is not None and self.ledger.standing is None

    def _certify(self, session: Session) -> None:
        """Write a certificate down when it has been earned, with what it rests on."""
        if not self._is_to_certify:
            return
        with session.alone():
            self.refresh(session)
            policy = self.policy
            if not self._is_to_certify:
                return
            earned = {
                "arm": dict(policy.recommendation),
                "certificate": policy.certificate,
                "reason": policy.stop_reason,
                "assumptions": [*policy.assumptions, *self.ledger.assumed()],
                "plays": policy.certified_at,
                "version": version("pgcpe"),
            }
            session.append("certified", [(None, earned)], "")
        self.refresh(session)

    def affordable(self, actions: Sequence[Action]) -> list[Action]:
        """Return the first of some actions, as many as the deadline leaves room for."""
        plays, cost = self.ledger.spent(self.policy.bandit.costs)
        out = []
        for action in actions:
            plays, cost = plays + 1, cost + self.policy.bandit.costs.get(action, 1.0)
            if not self.deadline.allows(plays, cost):
                break
            out.append(action)
        return out

    def is_new(self, row: Row) -> bool:
        """Return whether a row tells of a play that was not told, or raise where it cannot."""
        play = self.play(row.id)
        if row.action and self.bandit.action(row.action) != play.action:
            raise ValueError(f"play {row.id} is {play.action}, but its row says {row.action}: are rows mixed up?")
        if not play.told:
            return True
        known = {**play.action, **play.values}
        differs = ", ".join(f"{v}={known.get(v)}, now {s}" for v, s in row.values.items() if s != known.get(v))
        if not differs:
            return False
        way = "it was withdrawn" if play.left_out else f"study.amend({row.id}, ...) corrects it"
        raise ValueError(f"play {row.id} was told before with other values ({differs}): {way}")

    def check_values(self, actions: Sequence[Action], rows: Sequence[Row]) -> None:
        """Raise where values are missing or contradict the action."""
        for action, row in zip(actions, rows, strict=True):
            for variable in (self.bandit.reward, *self.bandit.required):
                if variable not in row.values and variable not in action:
                    raise ValueError(
                        f"play {row.id} has no value for {variable}: record it, or cancel the play and say why"
                    )
            for variable, state in action.items():
                if row.values.get(variable, state) != state:
                    said = f"{variable}={row.values[variable]}"
                    raise ValueError(f"play {row.id} has {said}, which contradicts its action {action}")
        if rows:
            index = pd.Index([row.id for row in rows], name="id")
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=SELECTED)
                self.bandit.encode(list(actions), self._as_frame([row.values for row in rows], index))

    def _as_frame(self, values: Sequence[Mapping[str, State]], index: pd.Index[Any] | None = None) -> pd.DataFrame:
        """Return values as a frame of the variables that the policy is told, and of all others there are."""
        names = dict.fromkeys([*self.bandit.coding.columns, *(v for own in values for v in own)])
        return pd.DataFrame(list(values), columns=list(names), dtype=object, index=index)
