"""Files of rows: they go on where a run was cut, hold whole lines and refuse everything else."""

import gzip
import os
import subprocess
import sys
import time
from functools import partial

import pandas as pd
import pytest
from experiments.two_policies import POLICIES, instance
from helpers import ROOT

from pgcpe import LUCB, SuccessiveRejects
from pgcpe.experiments import read_rows, repeat, summarise
from pgcpe.experiments.rows import KEY


class Cut(Exception):
    """The power fails."""


def counted(seeds, cut=None):
    """An instance that notes which seeds were run, and fails at one."""

    def make(seed):
        seeds.append(seed)
        if seed == cut:
            raise Cut
        return instance(seed)

    return make


FILED = {"seeds": range(6), "budgets": [20, 60], "progress": False, "experiment": "two causes"}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "rows.csv"


def test_a_cut_run_goes_on_where_it_stopped(file):
    whole = repeat(POLICIES, instance, **FILED)
    seen = []
    with pytest.raises(Cut):
        repeat(POLICIES, counted(seen, cut=3), **FILED, file=file)
    assert seen == [0, 1, 2, 3]
    assert set(read_rows(file)["seed"]) == {0, 1, 2}
    again = []
    rows = repeat(POLICIES, counted(again), **FILED, file=file)
    assert again == [3, 4, 5]
    pd.testing.assert_frame_equal(rows, whole)
    pd.testing.assert_frame_equal(read_rows(file), whole)
    pd.testing.assert_frame_equal(repeat(POLICIES, counted(again), **FILED, file=file), whole)
    assert again == [3, 4, 5]  # nothing was left to do


def test_a_run_may_be_cut_anywhere(file):
    """At every byte of the last seed, and at some before it: nothing is lost, and the rest is run again."""
    whole = repeat(POLICIES, instance, **FILED, file=file)
    text = file.read_bytes()
    last = text.rindex(b"two causes,LUCB", 0, text.rindex(b"two causes,LUCB"))  # of its two rows there
    few = FILED | {"seeds": [0, 5]}
    expected = whole[whole["seed"].isin([0, 5])].reset_index(drop=True)
    for length in [0, 5, 300, 800, *range(last, len(text), 7), *range(len(text) - 12, len(text))]:
        file.write_bytes(text[:length])
        pd.testing.assert_frame_equal(repeat(POLICIES, instance, **few, file=file), expected)
        pd.testing.assert_frame_equal(read_rows(file).query("seed in [0, 5]").reset_index(drop=True), expected)


def test_only_what_was_cut_is_taken_off(file):
    repeat(POLICIES, instance, **FILED, file=file)
    text = file.read_bytes()
    again = []
    for cut in (text[:-1], text):  # an editor may leave out the last end of line
        file.write_bytes(cut)
        repeat(POLICIES, counted(again), **FILED, file=file)
        assert file.read_bytes() == text
    assert again == []


FOREIGN = {
    "notes": b"my precious notes",
    "another table": b"a,b\n1,2\n",
    "other columns": b"policy,experiment,seed\nLUCB,x,1\n",
    "an end of line": b"\n",
    "old Mac": None,
    "binary": bytes(range(256)),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_file_of_something_else_is_not_touched(name, file):
    content = FOREIGN[name]
    if content is None:
        repeat(POLICIES, instance, **FILED, file=file)
        content = file.read_bytes().replace(b"\n", b"\r")
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"rows\.csv must be empty or have the rows of `repeat`, but begins with"):
        repeat(POLICIES, instance, **FILED, file=file)
    assert file.read_bytes() == content


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("seed", "zz", "seed must be an integer, but row 3 of .* has 'zz'"),
        ("plays", "1.5", "plays must be an integer"),
        ("regret", "much", "regret must be a number"),
        ("correct", "no", "correct must be True or False, but row 3 of .* has 'no'"),
        ("stopped", "", "stopped must be True or False"),
    ],
)
def test_a_file_that_was_spoilt(column, value, message, file):
    repeat(POLICIES, instance, **FILED, file=file)
    table = pd.read_csv(file, dtype=str, keep_default_na=False)
    table.loc[3, column] = value
    table.to_csv(file, index=False)
    before = file.read_bytes()
    for use in (lambda: read_rows(file), lambda: repeat(POLICIES, instance, **FILED, file=file)):
        with pytest.raises(ValueError, match=message):
            use()
    assert file.read_bytes() == before


def test_files_that_cannot_be_read(tmp_path, file):
    repeat(POLICIES, instance, **FILED, file=file)
    packed = gzip.compress(file.read_bytes())
    for name, content in {"a.csv.gz": packed[:200], "b.csv.zip": b"none", "c.csv.xz": packed, "d.csv": b'a\n"'}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=name):
            read_rows(tmp_path / name)
    (tmp_path / "e.csv.gz").write_bytes(packed)
    pd.testing.assert_frame_equal(read_rows(tmp_path / "e.csv.gz"), read_rows(file))


def test_rows_that_come_twice_count_once(file):
    rows = repeat(POLICIES, instance, **FILED | {"budgets": [20]}, file=file)
    both = repeat(POLICIES, instance, **FILED, file=file)
    assert file.read_text().count("\n") == 1 + len(rows) + len(both)
    pd.testing.assert_frame_equal(
        read_rows(file).sort_values(KEY, ignore_index=True), both.sort_values(KEY, ignore_index=True)
    )


def test_texts_of_any_kind(file):
    names = ['comma, "quoted"', "NA", "1", "1e5", "True", "ünïcode", "'", "None"]
    policies = dict.fromkeys(names, SuccessiveRejects)
    rows = repeat(policies, instance, **FILED | {"seeds": [0], "experiment": "NA"}, file=file)
    pd.testing.assert_frame_equal(read_rows(file), rows)
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))  # as another system writes it
    pd.testing.assert_frame_equal(
        repeat(policies, instance, **FILED | {"seeds": [0], "experiment": "NA"}, file=file), rows
    )


def test_another_policy_or_experiment_joins_the_file(file):
    repeat({"SR": POLICIES["SR"]}, instance, **FILED, file=file)
    repeat(POLICIES, instance, **FILED | {"experiment": "other"}, file=file)
    rows = repeat(POLICIES, instance, **FILED, file=file)
    pd.testing.assert_frame_equal(rows, repeat(POLICIES, instance, **FILED))
    assert set(read_rows(file)["experiment"]) == {"two causes", "other"}
    pd.testing.assert_frame_equal(
        repeat(POLICIES, instance, **FILED | {"seeds": [4, 1]}, file=file),
        repeat(POLICIES, instance, **FILED | {"seeds": [4, 1]}),
    )


def test_rows_of_other_parameters_are_not_taken_for_these(file):
    repeat(POLICIES, instance, **FILED, file=file)
    before = file.read_bytes()
    for other, text in (
        (partial(LUCB, epsilon=0.2), r"LUCB\(epsilon=0.2\)"),
        (SuccessiveRejects, r"SuccessiveRejects\(\)"),
    ):
        with pytest.raises(ValueError, match=rf"has rows of LUCB as LUCB\(epsilon=0.1\), not as {text}"):
            repeat({"LUCB": other}, instance, **FILED, file=file)
    assert file.read_bytes() == before


def test_a_file_that_rows_cannot_go_to(tmp_path):
    for place in (tmp_path / "rows.csv.gz", tmp_path / "nowhere" / "rows.csv", tmp_path):
        with pytest.raises(ValueError, match=r"rows are appended to a \.csv file in an existing folder, but got"):
            repeat(POLICIES, counted([], cut=0), **FILED, file=place)


def test_what_is_read_is_what_is_resumed(file):
    """Cut anywhere, in the line of names, after ``correct``, or within quotes: the whole lines are read."""
    names = ['two, "quoted"', "SR"]
    policies = dict.fromkeys(names, SuccessiveRejects)
    rows = repeat(policies, instance, **FILED | {"seeds": [0]}, file=file)
    text = file.read_bytes()
    for length in range(len(text) + 1):
        file.write_bytes(text[:length])
        whole = text[:length].count(b"\n") + (text[length : length + 1] == b"\n")  # that alone is missing
        pd.testing.assert_frame_equal(read_rows(file), rows.iloc[: max(whole - 1, 0)], check_dtype=whole > 1)
        assert file.read_bytes() == text[:length]
    for foreign in FOREIGN.values():
        if foreign is not None:
            file.write_bytes(foreign)
            with pytest.raises(ValueError, match="but begins with"):
                read_rows(file)


def test_rows_without_a_truth_come_back_without_it(file):
    class Laboratory:
        def __init__(self, seed):
            self.perform = instance(seed)[1].perform

    rows = repeat(POLICIES, lambda seed: (instance(seed)[0], Laboratory(seed)), **FILED | {"seeds": [0]}, file=file)
    assert rows["regret"].isna().all()
    assert rows["correct"].isna().all()
    pd.testing.assert_frame_equal(read_rows(file), rows)
    known = repeat(POLICIES, instance, **FILED | {"experiment": "known"}, file=file)
    for name, expected in (("known", known), ("two causes", rows)):
        mine = read_rows(file).query("experiment == @name").reset_index(drop=True)
        pd.testing.assert_frame_equal(mine, expected.astype({"correct": "boolean"}))
        assert mine["correct"].isna().all() == (name == "two causes")
    pd.testing.assert_frame_equal(repeat(POLICIES, instance, **FILED | {"experiment": "known"}, file=file), known)
    with pytest.raises(ValueError, match="rows must say which recommendations are correct"):
        summarise(read_rows(file))
    with pytest.raises(ValueError, match="rows must be those of `repeat` where the truth is known, but lack correct"):
        summarise(rows.drop(columns="correct"))


# ---------------------------------------------------------------------------------------------- writers at one time

TOGETHER = """
import sys, time
from pathlib import Path
from experiments.two_policies import POLICIES, instance
from pgcpe.experiments import repeat

file, own = Path(sys.argv[1]), sys.argv[2]
file.with_suffix("." + own).touch()
while not file.with_suffix(".go").exists():
    time.sleep(0.001)
for experiment in ("everyone's", own):
    repeat(POLICIES, instance, seeds=range(6), budgets=[20, 60], experiment=experiment, file=file, progress=False)
"""


def started(program, *arguments):
    """A process that runs a program."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)], env={**os.environ, "PYTHONPATH": path}, text=True,
        stdout=subprocess.PIPE,
    )  # fmt: skip


@pytest.mark.slow
def test_three_processes_start_one_file_at_once(file):
    processes = [started(TOGETHER, file, name) for name in "abc"]
    while not all(file.with_suffix(f".{name}").exists() for name in "abc"):
        assert all(process.poll() is None for process in processes)
        time.sleep(0.01)
    file.with_suffix(".go").touch()
    assert [(process.communicate()[0], process.returncode) for process in processes] == [("", 0)] * 3
    rows = read_rows(file)
    assert file.read_text().count("experiment,policy") == 1
    for experiment in ("everyone's", "a", "b", "c"):
        expected = repeat(POLICIES, instance, **FILED | {"experiment": experiment})
        mine = rows[rows["experiment"] == experiment].sort_values(["seed", "policy", "budget"], ignore_index=True)
        pd.testing.assert_frame_equal(mine, expected)
        pd.testing.assert_frame_equal(
            repeat(POLICIES, counted([], cut=0), **FILED | {"experiment": experiment}, file=file), expected
        )


KILLED = """
import itertools, os, signal, sys, time
from pathlib import Path
import numpy as np
from pgcpe.experiments.rows import append_rows, read_rows

file, rng = Path(sys.argv[1]), np.random.default_rng(0)
text = {"experiment": "killed", "parameters": 'a, "b"', "radius": "", "certificate": ""}
numbers = dict.fromkeys(("epsilon", "delta", "cost", "regret", "arms", "plays", "conflicts"), 0)


def batch(kill, n, size):
    return [
        text | numbers | {"policy": f"{kill}", "seed": n, "budget": i + 1, "recommendation": "do(A=1, B=0)"}
        | {"correct": True, "stopped": False}
        for i in range(size)
    ]


for kill, size in enumerate(rng.integers(1, 50, 100).tolist()):
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        for n in itertools.count():
            append_rows(file, batch(kill, n, size))
            os.write(theirs, b".")
    os.close(theirs)
    first = sum(len(os.read(ours, 1)) for _ in range(rng.integers(4)))
    time.sleep(rng.uniform(0, 0.01))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    acknowledged = first + len(os.read(ours, 100_000))
    os.close(ours)
    rows = read_rows(file) if file.exists() else []
    seeds = rows.loc[rows["policy"] == f"{kill}", "seed"].value_counts() if len(rows) else {}
    kept = sum(seeds.get(n, 0) == size for n in range(acknowledged))
    print(acknowledged, kept, len(seeds) - acknowledged, flush=True)
"""


@pytest.mark.slow
def test_a_writer_killed_at_a_hundred_moments_loses_nothing_that_it_acknowledged(file):
    """After each kill all acknowledged batches are whole, and there is one more at most; the next writer goes on."""
    process = started(KILLED, file)
    lines = [tuple(map(int, line.split())) for line in process.communicate()[0].splitlines()]
    assert (process.returncode, len(lines)) == (0, 100)
    assert sum(acknowledged for acknowledged, _, _ in lines) > 100
    for acknowledged, kept, more in lines:
        assert kept == acknowledged
        assert more in (0, 1)
    rows = read_rows(file)
    assert rows["policy"].nunique() > 50
    repeat(POLICIES, instance, **FILED, file=file)
    assert len(read_rows(file)) == len(rows) + 6 * 2 * 2
