"""The cost of a play and of an import: the committed rows, their tables, and what the scripts measure."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from helpers import ROOT, benchmark

from pgcpe import LUCB
from pgcpe.confidence.sequences import kt_interval

plays, startup, frame = benchmark("plays"), benchmark("startup"), benchmark("frame")
ROWS = pd.read_csv(ROOT / "data" / "results" / "plays.csv")
SHOWN = (ROOT / "benchmarks" / "README.md").read_text()


def test_the_committed_rows_make_the_tables():
    assert list(ROWS.columns) == plays.COLUMNS
    assert not ROWS.duplicated([*plays.KEY, "start"]).any()
    assert set(ROWS["version"]) == {"before", "now"}
    assert (ROWS[["us", "loop_us"]] > 0).all(axis=None)
    now = ROWS[(ROWS["version"] == "now") & (ROWS["start"] == 0)].groupby("question")["policy"].agg(set)
    assert dict(now) == {name: set(plays.policies_of(name)) for name in plays.QUESTIONS}
    assert frame.as_markdown(plays.table(ROWS)) in SHOWN
    rows = pd.read_csv(ROOT / "data" / "results" / "startup.csv")
    assert sorted(zip(rows["version"], rows["command"], strict=True)) == sorted(
        itertools.product(startup.VERSIONS, startup.COMMANDS)
    )
    assert frame.as_markdown(startup.table(rows)) in SHOWN


def test_every_target_of_one_play_is_nearer_than_it_was():
    """Medians over questions; noise of a machine in use is about a third, and the ratios below are far from one."""
    first = ROWS[ROWS["end"] == 500].set_index(["version", "question", "policy"])["us"]
    ratio = (first["before"] / first["now"]).dropna().groupby("policy").median()
    assert (ratio[["PooledCCPE, exact", "PooledCCPE, asymptotic", "CCPE, exact"]] > 3).all()
    assert ratio["LUCB"] > 1


def test_windows_are_summed_up_by_their_width():
    rows = pd.DataFrame({"start": [0, 100, 500], "end": [100, 500, 2000], "us": [10.0, 20.0, 1.0]})
    assert plays.over(rows, "us", 0, 500) == pytest.approx(18)
    assert plays.over(rows, "us", 100, 500) == 20
    assert math.isnan(plays.over(rows, "us", 500, 8000))
    assert plays.spoken(1234.5, 3.21) == "1,234 to 3.2"
    assert plays.spoken(math.nan, 30.0) == "- to 30"
    assert plays.spoken(math.nan, math.nan) == ""


def test_new_rows_take_the_place_of_old_ones():
    old = pd.DataFrame(
        {"version": ["now", "now", "before"], "question": "asia", "policy": ["A", "B", "A"], "us": [1, 2, 3]}
    )
    new = old.iloc[[0]].assign(us=4)
    assert plays.merged(old, new)["us"].tolist() == [2, 3, 4]


def test_the_compiled_loop_plays_lucb():
    """Pair by pair, with the intervals of the policy."""
    question = plays.QUESTIONS["asia"]()
    arguments, k = plays.loop_arguments(question), len(question.bandit.arms)
    played, rewards = arguments[-1][:2]
    for _ in range(300):
        before = played.copy()
        lower, upper = np.zeros(k), np.ones(k)
        seen = played > 0
        said = kt_interval(played[seen], rewards[seen], plays.DELTA / k)
        lower[seen], upper[seen] = said.lower, said.upper
        plays.lucb_loop(2, *arguments)
        leader = np.argmax(lower + upper)
        upper[leader] = -1
        assert np.flatnonzero(played - before).tolist() == sorted([leader, np.argmax(upper)])
    assert played.sum() == 600
    truth = question.environment().expected_rewards(question.bandit).to_numpy()
    assert rewards.sum() == pytest.approx(truth @ played, abs=5 * math.sqrt(600 / 4))  # five standard errors


def test_a_run_ends_with_the_window_in_which_it_stops():
    question = plays.QUESTIONS["asia"]()
    easy = LUCB(question.bandit, epsilon=0.9)
    seconds, stopped = plays.timed(easy, question.environment(), [0, 100, 200, 300])
    assert stopped is not None
    assert len(seconds) == 1 + math.ceil(stopped / 100)
    assert easy.n_plays == 100 * math.ceil(stopped / 100)
    assert np.all(np.diff(seconds) > 0)
    assert len(plays.simulator_alone(question, [0, 10, 20])) == 3


def test_rows_of_a_short_run():
    rows = pd.DataFrame(plays.rows_of("now", "asia", "TopTwo", 100, 2))
    assert set(rows.columns) == set(plays.COLUMNS)
    assert rows[["question", "arms", "start", "end", "repeats"]].values.tolist() == [["asia", 57, 0, 100, 2]]
    assert rows["us"].iloc[0] > rows["loop_us"].iloc[0]


@pytest.mark.slow
def test_commands_are_timed():
    row = startup.row_of("now", "pgcpe --help", 1)
    assert 0 < row["cpu"] < 30
    with pytest.raises(RuntimeError, match="must succeed"):
        startup.seconds(["-c", "raise SystemExit('no')"])
