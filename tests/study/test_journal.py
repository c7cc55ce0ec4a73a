"""The file of a study: whole or unchanged, whatever happens, with an error that says what."""

import multiprocessing
import os
import sqlite3
from contextlib import closing

import pytest
from study.questions import dosage

from pgcpe import Study, do
from pgcpe.study import journal
from pgcpe.study.journal import APPLICATION_ID, FORMAT, Journal

CURED = {"cured": "yes"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "trial.pgcpe"


@pytest.fixture
def study(path):
    study = Study.create(path, dosage())
    study.tell(study.ask(3), [CURED] * 3)
    return study


def sql(path, *statements):
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        return [connection.execute(statement).fetchall() for statement in statements]


def test_the_file_says_what_it_is(study, path):
    (((mark,),), ((written,),), ((mode,),)) = sql(
        path, "PRAGMA application_id", "PRAGMA user_version", "PRAGMA journal_mode"
    )
    assert (mark, written, mode) == (APPLICATION_ID, FORMAT, "delete")


@pytest.mark.parametrize(
    "statement",
    ["UPDATE event SET by = 'eve'", "DELETE FROM event", "UPDATE question SET version = '9'", "DELETE FROM question"],
)
def test_nothing_is_ever_changed(study, path, statement):
    with pytest.raises(sqlite3.IntegrityError, match="is never"):
        sql(path, statement)


def test_no_play_counts_twice_even_to_those_who_write_past_the_package(study, path):
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        sql(path, "INSERT INTO event (kind, play, at, by, content) VALUES ('told', 1, '', '', '{}')")


def test_a_newer_format_is_refused_by_its_number(study, path):
    sql(path, f"PRAGMA user_version = {FORMAT + 1}")
    with pytest.raises(ValueError, match=rf"has the format {FORMAT + 1} of a newer version .* upgrade pgcpe"):
        Study.open(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "is empty: Study.create"), (b"id,cured\n1,yes\n" * 50, "it is no SQLite database")],
)
def test_what_is_no_study_is_refused(path, content, said):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=said):
        Study.open(path)
    assert path.read_bytes() == content


def test_another_database_is_refused_and_left_as_it_is(path):
    sql(path, "CREATE TABLE patients (name TEXT)")
    before = path.read_bytes()
    for attempt in (lambda: Study.open(path), lambda: Study.create(path, dosage(), exist_ok=True)):
        with pytest.raises(ValueError, match="is a database, but not a study"):
            attempt()
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_study(path):
    """What is left of a creation that was killed before anything was written."""
    path.touch()
    assert Study.create(path, dosage()).status().n_told == 0


def test_there_is_no_such_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"Study\.create"):
        Study.open(tmp_path / "nothing.pgcpe")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        Study.create(tmp_path / "no" / "folder.pgcpe", dosage())
    with pytest.raises(IsADirectoryError, match="is a folder"):
        Study.create(tmp_path, dosage())


def test_a_locked_file_is_waited_for_and_then_said_to_be_locked(study, path, monkeypatch):
    monkeypatch.setattr(journal, "PATIENCE", 0.2)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(TimeoutError, match=r"was being written by others for 0\.2 seconds: nothing was changed"):
            study.ask(1)
        assert Study.open(path, read_only=True).status().n_told == 3  # readers need not wait
        other.execute("ROLLBACK")
    assert len(study.ask(1)) == 1


def test_a_full_disk_leaves_the_study_as_it_was(study, path, monkeypatch):
    plays = study.ask(40)
    connect = sqlite3.connect

    def small(*args, **options):
        connection = connect(*args, **options)
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", small)
        rows = [{**CURED, "note": "x" * 500} for _ in plays]
        with pytest.raises(OSError, match=r"the disk of .* is full: nothing was changed"):
            study.tell(plays, rows)
        assert study.status().n_told == 3
    assert Study.open(path).status().n_told == 3
    assert study.tell(plays, rows) == 40


def write_as_another_user(path, out):
    if os.geteuid() == 0:  # for whom there is no such file
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    for read_only in (False, True):
        opened = Journal(path, read_only=read_only)
        try:
            with opened.writing() as writer:
                writer.append("asked", [(9, {"action": {}})], "")
        except Exception as error:
            out.put((len(opened.events()), type(error).__name__, str(error)))


def test_a_file_that_cannot_be_written(study, path, tmp_path_factory):
    path.chmod(0o444)
    path.parent.chmod(0o555)
    for folder in path.parents[:4]:
        folder.chmod(folder.stat().st_mode | 0o055)
    context = multiprocessing.get_context("fork")
    out = context.Queue()
    other = context.Process(target=write_as_another_user, args=(path, out))
    other.start()
    (n, kind, said), (m, also, read_only) = out.get(timeout=30), out.get(timeout=30)
    other.join()
    path.parent.chmod(0o755)
    assert (n, kind, m, also) == (6, "PermissionError", 6, "PermissionError")
    assert "cannot be written: Study.open(path, read_only=True) reads it" in said
    assert "was opened with read_only=True" in read_only


def test_a_backup_is_whole_and_overwrites_nothing(study, path, tmp_path):
    copy = tmp_path / "copy.pgcpe"
    with study._replay.journal.writing() as writer:  # someone is in the middle of writing
        writer.append("asked", [(99, {"action": {"dose": "low", "diet": "none"}})], "eve")
        study.backup(copy)
    assert Study.open(copy).status().n_told == 3
    assert Study.open(copy).to_frame()["id"].tolist() == [1, 2, 3]
    assert study.to_frame()["id"].tolist() == [1, 2, 3, 99]
    before = copy.read_bytes()
    with pytest.raises(FileExistsError, match="overwrites nothing"):
        study.backup(copy)
    assert copy.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["copy.pgcpe", "trial.pgcpe"]


def open_at_once(path, barrier, out):
    barrier.wait()
    study = Study.create(path, dosage(), exist_ok=True)
    out.put([play.id for play in study.ask(3)])


@pytest.mark.slow
def test_racing_first_openers_make_one_study(tmp_path):
    context = multiprocessing.get_context("fork")
    for attempt in range(5):
        path, barrier, out = tmp_path / f"{attempt}.pgcpe", context.Barrier(4), context.Queue()
        racers = [context.Process(target=open_at_once, args=(path, barrier, out)) for _ in range(4)]
        for racer in racers:
            racer.start()
        ids = [i for _ in racers for i in out.get(timeout=60)]
        for racer in racers:
            racer.join()
            assert racer.exitcode == 0
        assert sorted(ids) == list(range(1, 13))
        assert len(Journal(path).events()) == 12


def test_what_raises_in_a_transaction_leaves_nothing(study, path):
    before = len(Journal(path).events())

    def one_and_another_that_cannot_be_written():
        with Journal(path).writing() as writer:
            writer.append("asked", [(9, {"action": {}})], "")
            writer.append("asked", [(10, {"action": do()})], "")

    with pytest.raises(TypeError, match="not JSON serializable"):
        one_and_another_that_cannot_be_written()
    assert len(Journal(path).events()) == before


def test_a_step_opens_the_file_once(study, path, monkeypatch):
    """Whatever it reads before, writes, and reads afterwards; a certificate that it earns is of the same connection."""
    opened, connect = [], sqlite3.connect
    monkeypatch.setattr("pgcpe.study.journal.sqlite3.connect", lambda *a, **k: opened.append(a) or connect(*a, **k))
    (play,) = study.ask(1)
    study.tell(play.id, CURED)
    study.withdraw(play.id, "lost")
    assert len(opened) == 3
    while plays := study.ask(50):
        opened.clear()
        study.tell(plays, [CURED if p.action == do(dose="high", diet="strict") else {"cured": "no"} for p in plays])
        assert len(opened) == 1
    assert study.status().certificate == "direct"
