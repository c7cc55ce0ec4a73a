"""A study of a reward that is a number: asked, told, amended, shown in the user's unit, opened again."""

import contextlib
import sqlite3

import numpy as np
import pandas as pd
import pytest
from pgmpy.base import DAG
from study.questions import dosage

from pgcpe import KLLUCB, CausalBandit, PooledCCPE, RewardNoise, SimulatedEnvironment, Study, do
from pgcpe.paper import parallel
from pgcpe.study.question import fingerprint, to_plain


def waiting(**options):
    """Which triage has patients wait less: minutes of an hour."""
    graph = DAG([("triage", "minutes"), ("desk", "minutes")])
    states = {"triage": ["nurse", "doctor"], "desk": ["one", "two"]}
    arms = [do(triage=a, desk=b) for a in states["triage"] for b in states["desk"]]
    bandit = CausalBandit(graph, reward="minutes", arms=arms, states=states, reward_range=(0, 60), minimise=True)
    return KLLUCB(bandit, **{"epsilon": 12, **options})


def minutes(plays, rng):
    """What the plays take: about 10 minutes with a doctor and two desks, else about 40."""
    best = do(triage="doctor", desk="two")
    return [{"minutes": round(60 * rng.beta(2, 10 if p.action == best else 1), 1)} for p in plays]


@pytest.fixture
def study(tmp_path):
    return Study.create(tmp_path / "wait.pgcpe", waiting())


def test_a_study_in_minutes_to_its_certificate(study):
    rng = np.random.default_rng(0)
    assert "gives the lowest expected minutes (a number from 0 to 60)? " in study.status().question
    assert "worse than the best by 12" in study.status().question
    while plays := study.ask(20):
        study.tell(plays, minutes(plays, rng))
    status = Study.open(study._replay.journal.path, read_only=True).status()
    assert (status.recommendation, status.certificate) == (do(triage="doctor", desk="two"), "direct")
    table = status.result.table
    own = study.to_frame()
    best = own[own["action"] == "do(desk=two, triage=doctor)"]["minutes"]
    assert table["estimate"].iloc[0] == pytest.approx(best.mean())
    assert table["upper"].iloc[0] - 12 <= table["lower"].iloc[1:].min()
    assert "expected reward (less is better)" in str(status)
    assert status.to_plain()["minimise"] is True
    page = study._repr_html_()
    assert f"Expected reward {table['estimate'].iloc[0]:.1f}" in page
    assert "between 0 and 60" in page
    assert "begins right of the dotted line, at its upper end less 12" in page


def test_values_come_back_as_they_were_told(study):
    study.tell(study.ask(3), [{"minutes": 12.3}, {"minutes": "7.25"}, {"minutes": 60}])
    study.amend(2, {"minutes": 17.25}, "misread")
    again = Study.open(study._replay.journal.path)
    assert again.to_frame()["minutes"].tolist() == [12.3, 17.25, 60.0]
    assert again.policy.history["minutes"].tolist() == [12.3, 17.25, 60.0]
    assert again.tell(1, {"minutes": "12.30"}) == 0  # the same value
    with pytest.raises(ValueError, match=r"told before with other values \(minutes=12.3, now 12.4\)"):
        again.tell(1, {"minutes": 12.4})


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (61, "minutes must lie in its range, 0 to 60, but got 61; .* a new question with a wider reward_range"),
        (-0.1, "minutes must lie in its range, 0 to 60, but got -0.1"),
        (float("nan"), "play 1 has no value for minutes"),
        (float("inf"), "minutes must lie in its range, 0 to 60, but got inf"),
        ("twelve", "minutes must be a number from 0 to 60, but got 'twelve'"),
        ("12,5", "with a decimal point it would be 12.5"),
        (True, "minutes must be a number from 0 to 60, but got True"),
        ("", "play 1 has no value for minutes"),
    ],
)
def test_bad_values_are_refused_and_change_nothing(study, value, said):
    study.ask(1)
    before = study._replay.journal.path.read_bytes()
    with pytest.raises(ValueError, match=said):
        study.tell(1, {"minutes": value})
    assert study._replay.journal.path.read_bytes() == before


def test_logs_of_numbers(study, tmp_path):
    log = pd.DataFrame({"action": ["do(desk=two, triage=doctor)"] * 3, "minutes": [1.5, 2.25, 60.0]})
    log.to_csv(tmp_path / "log.csv", index=False)
    assert study.import_log(tmp_path / "log.csv") == 3
    assert study.policy.history["minutes"].tolist() == [1.5, 2.25, 60.0]
    with pytest.raises(ValueError, match="minutes must lie in its range"):
        study.import_log(log.assign(minutes=90))


def test_a_log_from_a_spreadsheet_with_decimal_commas(study, tmp_path):
    (tmp_path / "log.csv").write_text("action;minutes;note\ndo(desk=two, triage=doctor);12,5;x\ndo();40;\n")
    assert study.import_log(tmp_path / "log.csv") == 2
    assert study.policy.history["minutes"].tolist() == [12.5, 40.0]
    (tmp_path / "bad.csv").write_text("action;minutes\ndo();1.234,5\n")
    with pytest.raises(ValueError, match=r"minutes must be a number from 0 to 60, but got '1\.234\.5'"):
        study.import_log(tmp_path / "bad.csv")


def test_range_and_direction_are_part_of_the_question():
    prints = set()
    for ends, minimise in (((0, 60), True), ((0, 60), False), ((0, 61), True)):
        bandit = CausalBandit(
            DAG([("X", "Y")]), reward="Y", arms=[do(X=0), do(X=1)], reward_range=ends, minimise=minimise
        )
        prints.add(fingerprint(to_plain(KLLUCB(bandit, epsilon=1))))
    assert len(prints) == 3


def test_a_file_of_the_format_before_opens_and_has_the_same_question(tmp_path):
    """Format 1 knew neither range nor direction: nothing of them is written for a reward in [0, 1]."""
    path = tmp_path / "old.pgcpe"
    study = Study.create(path, dosage())
    study.tell(study.ask(1), [{"cured": "yes"}])
    assert not {"reward_range", "minimise"} & set(to_plain(dosage()))
    assert to_plain(dosage())["reward_values"] == [0.0, 1.0]
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 1")
    old = Study.open(path)
    assert old.status().n_told == 1
    assert len(old.ask(2)) == 2
    assert Study.create(path, dosage(), exist_ok=True).status().n_told == 1


def test_plays_still_needed_of_a_measured_reward(tmp_path):
    """By the tables of the estimate, the reward at one of its ends; and by the arms' means alone."""
    question = parallel([0.5, 0.5], [0.5, 0.1], 0.2)
    bandit = CausalBandit(question.network, reward="Y", arms=question.bandit.listed, reward_range=(0, 10))
    noise = RewardNoise("Y", (0, 10), "beta", values={0: 1.0, 1: 9.0})
    environment = SimulatedEnvironment(question.network, seed=0, reward_noise=noise)
    study = Study.create(tmp_path / "a.pgcpe", PooledCCPE(bandit, guarantee="asymptotic", epsilon=3))
    plays = study.ask(30)
    frame = environment.perform([play.action for play in plays]).to_frame().reset_index(drop=True)
    frame.insert(0, "id", [play.id for play in plays])
    study.tell(frame)
    needed = study.status(needed=True).needed
    assert needed is not None
    assert needed.low <= needed.plays <= needed.high
    wait = Study.create(tmp_path / "b.pgcpe", waiting())
    plays = wait.ask(24)
    wait.tell(plays, minutes(plays, np.random.default_rng(1)))
    assert 0 < wait.status(needed=True).needed.plays < 2000
