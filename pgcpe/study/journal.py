"""The file of a study: one SQLite database with a question and an append-only list of events."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Event", "Journal", "Question", "Session"]

APPLICATION_ID = 0x70676370
"""``pgcp`` in ASCII: what marks a database as a study."""

FORMAT = 2
"""The version of schema and question, SQLite's ``user_version``: since 2 a reward may have a range and a direction."""

PATIENCE = 30.0
"""Seconds to wait for others who write."""

KINDS = ("asked", "told", "cancelled", "withdrawn", "amended", "imported", "certified")

SCHEMA = f"""
CREATE TABLE question (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    content TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    version TEXT NOT NULL,
    created TEXT NOT NULL
);
CREATE TABLE event (
    number INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ({", ".join(f"'{kind}'" for kind in KINDS)})),
    play INTEGER,
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    content TEXT NOT NULL
);
CREATE UNIQUE INDEX told_once ON event (play) WHERE kind = 'told';
CREATE UNIQUE INDEX withdrawn_once ON event (play) WHERE kind = 'withdrawn';
CREATE TRIGGER question_stays BEFORE UPDATE ON question BEGIN SELECT RAISE(ABORT, 'a question is never changed'); END;
CREATE TRIGGER question_remains BEFORE DELETE ON question BEGIN SELECT RAISE(ABORT, 'a question is never deleted'); END;
CREATE TRIGGER event_stays BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'an event is never changed'); END;
CREATE TRIGGER event_remains BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'an event is never deleted'); END;
"""


class Question(NamedTuple):
    """The one row of the question: its JSON, fingerprint, the package version that wrote it, and when (UTC)."""

    content: dict[str, Any]
    fingerprint: str
    version: str
    created: str


class Event(NamedTuple):
    """What happened.

    Attributes
    ----------
    number
        Its place among all events.
    kind
        ``"asked"``, ``"told"``, ``"cancelled"``, ``"withdrawn"``, ``"amended"``, ``"imported"`` or ``"certified"``.
    play
        The play concerned; None where it is none.
    at, by
        When (UTC, as ISO 8601) and by whom; "" where nobody said.
    content
        What else there is to say, as JSON.
    """

    number: int
    kind: str
    play: int | None
    at: str
    by: str
    content: str


class Session:
    """A connection for one step: it reads, and alone may write in a transaction of its own.

    Attributes
    ----------
    at
        When the last transaction began.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.at = ""

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock of those who write; what raises inside leaves nothing behind."""
        with _immediate(self._connection):
            self.at = now()
            yield

    def events(self, after: int) -> list[Event]:
        """Return the events after the one of that number."""
        return _events(self._connection, after)

    def next_play(self) -> int:
        """Return the first id that no play has."""
        (last,) = self._connection.execute("SELECT max(play) FROM event").fetchone()
        return (last or 0) + 1

    def append(self, kind: str, rows: Sequence[tuple[int | None, Mapping[str, Any]]], by: str) -> None:
        """Add events of a kind: of each the play and its content."""
        self._connection.executemany(
            "INSERT INTO event (kind, play, at, by, content) VALUES (?, ?, ?, ?, ?)",
            [(kind, play, self.at, by, json.dumps(content, ensure_ascii=False)) for play, content in rows],
        )


class Journal:
    """The file of a study. A connection is opened for each step: none is held beyond, whatever forks or crashes.

    Every transaction is on the disk when it returns (``synchronous=FULL``, rollback journal), writers wait for each
    other, and what is killed in the middle of one leaves the file as it was before.

    Parameters
    ----------
    path
        The file, which must exist: `create` makes one.
    read_only
        Whether nothing is to be written.

    Raises
    ------
    FileNotFoundError, ValueError, OSError
        If there is no such file, it is no study or one of a newer format, or it cannot be read.
    """

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = False) -> None:
        self.path, self.read_only = Path(path), read_only
        if not self.path.is_file():
            raise FileNotFoundError(f"there is no study {self.path}: Study.create(path, policy) makes one")
        with self._explained(), closing(self._connect()) as connection:
            self._check(connection)

    @classmethod
    def create(
        cls, path: str | os.PathLike[str], question: Mapping[str, Any], *, fingerprint: str, version: str
    ) -> tuple[Journal, bool]:
        """Return the journal of a file, and whether the file was made by this call: a study that exists is opened.

        Format, schema and question are one transaction: others see all of it or nothing.
        """
        journal = cls.__new__(cls)
        journal.path, journal.read_only = Path(path), False
        if not journal.path.absolute().parent.is_dir():
            raise FileNotFoundError(f"there is no folder {journal.path.absolute().parent} to make a study in")
        if journal.path.is_dir():
            raise IsADirectoryError(f"a study is a file, but {journal.path} is a folder")
        content = json.dumps(dict(question), ensure_ascii=False)
        with journal._explained(), closing(journal._connect("rwc")) as connection, _immediate(connection):
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                journal._check(connection)
                return journal, False
            for statement in _statements(SCHEMA):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            connection.execute(
                "INSERT INTO question (one, content, fingerprint, version, created) VALUES (1, ?, ?, ?, ?)",
                (content, fingerprint, version, now()),
            )
        return journal, True

    def question(self) -> Question:
        """Return the question."""
        with self._explained(), closing(self._connect()) as connection:
            row = connection.execute("SELECT content, fingerprint, version, created FROM question").fetchone()
        if row is None:
            raise ValueError(f"{self.path} has no question: it is not whole")
        return Question(json.loads(row[0]), *row[1:])

    def events(self, after: int = 0) -> list[Event]:
        """Return the events after the one of that number, in their order."""
        with self._explained(), closing(self._connect()) as connection:
            return _events(connection, after)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Give a connection to read and to write."""
        if self.read_only:
            raise PermissionError(f"{self.path} was opened with read_only=True: nothing can be written")
        with self._explained(), closing(self._connect()) as connection:
            yield Session(connection)

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """Give a transaction that alone may write; what raises inside it leaves nothing behind."""
        with self.session() as session, session.alone():
            yield session

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Write a copy of the whole file, as of one moment, whoever writes meanwhile.

        Raises
        ------
        FileExistsError
            If there is a file of that name.
        """
        target = Path(path)
        if target.exists():
            raise FileExistsError(f"a backup overwrites nothing, but {target} exists: name another file")
        partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
        try:
            with self._explained(), closing(self._connect()) as whole, closing(sqlite3.connect(partial)) as copy:
                whole.backup(copy)
            os.replace(partial, target)
        finally:
            partial.unlink(missing_ok=True)

    def _connect(self, mode: str = "") -> sqlite3.Connection:
        mode = mode or ("ro" if self.read_only else "rw")
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode={mode}", uri=True, timeout=PATIENCE, isolation_level=None
        )
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def _check(self, connection: sqlite3.Connection) -> None:
        """Raise unless the file is a study of a format that is known."""
        (mark,) = connection.execute("PRAGMA application_id").fetchone()
        (written,) = connection.execute("PRAGMA user_version").fetchone()
        if mark != APPLICATION_ID:
            empty = not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            raise ValueError(
                f"{self.path} is empty: Study.create(path, policy) makes a study of it"
                if empty
                else f"{self.path} is a database, but not a study"
            )
        if written > FORMAT:
            raise ValueError(
                f"{self.path} has the format {written} of a newer version of pgcpe; this one reads format {FORMAT}: "
                "upgrade pgcpe"
            )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Raise what SQLite raises as an error that says what was the matter and what to do."""
        try:
            yield
        except sqlite3.Error as error:
            raise _explanation(error, self.path) from error


def now() -> str:
    """Return the time (UTC) as ISO 8601, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@contextmanager
def _immediate(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _events(connection: sqlite3.Connection, after: int) -> list[Event]:
    rows = connection.execute(
        "SELECT number, kind, play, at, by, content FROM event WHERE number > ? ORDER BY number", (after,)
    )
    return [Event(*row) for row in rows]


def _statements(script: str) -> Iterator[str]:
    """Give the statements of a script: `executescript` would commit before it begins."""
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _explanation(error: sqlite3.Error, path: Path) -> Exception:
    """Return the error to raise for one of SQLite's."""
    kind = (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
    if kind in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return TimeoutError(
            f"{path} was being written by others for {PATIENCE:g} seconds: nothing was changed, try again"
        )
    if kind == sqlite3.SQLITE_FULL:
        return OSError(f"the disk of {path} is full: nothing was changed")
    if kind == sqlite3.SQLITE_READONLY:
        return PermissionError(f"{path} cannot be written: Study.open(path, read_only=True) reads it")
    if kind == sqlite3.SQLITE_CANTOPEN:
        return PermissionError(f"{path} cannot be opened: it, or its folder, may not be read or written")
    if kind == sqlite3.SQLITE_NOTADB:
        return ValueError(f"{path} is not a study: it is no SQLite database")
    if kind == sqlite3.SQLITE_CORRUPT:
        return ValueError(f"{path} is damaged ({error}): go back to a backup")
    return OSError(f"{path} could not be read or written ({error}): nothing was changed")
