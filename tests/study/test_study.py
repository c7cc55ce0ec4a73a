"""A study is what its file says: asked, told, cancelled, withdrawn, amended, replayed."""

import json
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from study.questions import cancer, dosage, rows, run, two_arms

from pgcpe import (
    BGLM,
    CCPE,
    KLLUCB,
    LUCB,
    CausalBandit,
    PooledCCPE,
    SequentialHalving,
    SimulatedEnvironment,
    Study,
    do,
    interventions,
    load_network,
    read_history,
)
from pgcpe.confidence.pairwise import pairwise_glr
from pgcpe.paper import experiment_2

DATA = Path(__file__).parent.parent.parent / "data"

CURED, NOT = {"cured": "yes"}, {"cured": "no"}


@pytest.fixture
def study(tmp_path):
    return Study.create(tmp_path / "trial.pgcpe", dosage())


def reopened(study):
    return Study.open(study._replay.journal.path)


def same_state(one, other):
    """Two policies that were told the same plays in the same order."""
    pd.testing.assert_frame_equal(one.history, other.history)
    np.testing.assert_array_equal(one.intervals.lower, other.intervals.lower)
    np.testing.assert_array_equal(one.intervals.upper, other.intervals.upper)
    assert one.ask() == other.ask()
    assert (one.stopped, one.certificate, one.certified_at, one.stops) == (
        other.stopped,
        other.certificate,
        other.certified_at,
        other.stops,
    )
    assert one.recommendation == other.recommendation


def test_a_study_is_a_run_of_its_policy(tmp_path):
    """Asked and told one iteration at a time it is `Policy.run`, whether or not it was opened again on the way."""
    policy, environment = cancer()
    study = Study.create(tmp_path / "a.pgcpe", policy)
    run(study, environment, most=60)
    study = reopened(study)
    run(study, environment)
    alone, again = cancer()
    alone.run(again, progress=False)
    same_state(study.policy, alone)
    assert study.status().certificate == "asymptotic"
    assert study.status().recommendation == alone.recommendation
    assert study.ask() == []
    same_state(reopened(study).policy, alone)


@pytest.mark.parametrize(
    "make",
    [
        lambda b: CCPE(b, epsilon=0.1, delta=0.1, seed=3),
        lambda b: CCPE(b, estimator=BGLM("logit"), epsilon=0.1),
        lambda b: PooledCCPE(b, guarantee="exact", sampling="progress"),
        lambda b: PooledCCPE(b, guarantee="numerical", model=BGLM("identity"), seed=7),
        lambda b: SequentialHalving(b, budget=100),
    ],
)
def test_policies_come_back_from_the_file_as_they_were(tmp_path, make):
    question = experiment_2(4)
    policy = make(question.bandit)
    study = Study.create(tmp_path / "a.pgcpe", policy)
    back = study.policy
    assert type(back) is type(policy)
    assert {k: str(v) for k, v in back.get_params().items()} == {k: str(v) for k, v in policy.get_params().items()}
    environment = question.environment(0)
    while policy.n_plays < 60 and (actions := policy.ask()[: 60 - policy.n_plays]):
        told = environment.perform(actions)
        policy.tell(actions, told)
        back.tell(actions, told)
    same_state(back, policy)


def test_costs_playable_and_merging_come_back(tmp_path):
    policy = dosage()
    bandit = policy.bandit
    costly = type(bandit)(
        bandit.graph,
        reward="cured",
        arms=bandit.arms,
        playable=[do(), *bandit.arms],
        costs={do(): 0.1, bandit.arms[0]: 3},
        states=bandit.states,
        reward_values={"no": 0, "yes": 1},
        merge_equal=False,
    )
    back = Study.create(tmp_path / "a.pgcpe", LUCB(costly)).bandit
    assert (back.arms, back.costs, back.merges, back.states) == (costly.arms, costly.costs, False, costly.states)
    assert list(back.graph.edges) == list(costly.graph.edges)


# ------------------------------------------------------------------------------------------------------ ask and tell


def test_two_who_ask_do_not_get_the_same_plays(study):
    ann, bob = study.ask(3, by="ann"), reopened(study).ask(3, by="bob")
    assert [play.id for play in (*ann, *bob)] == [1, 2, 3, 4, 5, 6]
    assert {play.action for play in (*ann, *bob)} == set(study.bandit.arms)
    assert [play.id for play in study.pending] == [1, 2, 3, 4, 5, 6]
    assert [play.by for play in study.pending] == ["ann"] * 3 + ["bob"] * 3


def test_results_come_in_any_order_and_with_columns_of_their_own(study):
    plays = study.ask(4, by="ann")
    told = pd.DataFrame(
        {
            "id": [3, 1],
            "cured": ["yes", "no"],
            "patient": ["P-07", "P-02"],
            "age": [61, np.nan],
            "seen": ["3 May", None],
        }
    )
    assert study.tell(told, by="bob") == 2
    assert study.tell(plays[3], CURED) == 1
    frame = study.to_frame().set_index("id")
    assert frame.loc[3, "patient"] == "P-07"
    assert frame.loc[3, "age"] == 61
    assert frame["state"].to_dict() == {1: "told", 2: "pending", 3: "told", 4: "told"}
    assert frame.loc[1, ["told_by", "asked_by"]].tolist() == ["bob", "ann"]
    assert study.policy.history.index.tolist() == [str(plays[i].action) for i in (2, 0, 3)]  # the order of telling
    same_state(reopened(study).policy, study.policy)


def test_a_play_told_twice_counts_once(study):
    plays = study.ask(2)
    assert study.tell(plays, [CURED, NOT]) == 2
    assert study.tell(plays, [CURED, NOT]) == 0
    assert study.policy.n_plays == 2
    with pytest.raises(
        ValueError, match=r"play 2 was told before with other values \(cured=no, now yes\): study.amend"
    ):
        study.tell(plays, [CURED, CURED])
    assert len(study.to_frame()) == 2


def test_what_a_play_set_may_be_told_or_not(study):
    (play,) = study.ask(1)
    assert study.tell(play, CURED) == 1
    assert study.tell(play, {**CURED, **play.action}) == 0
    assert study.tell(pd.DataFrame({"id": [1], "cured": "yes", "dose": play.action["dose"]})) == 0


def test_a_form_that_was_filled_in_can_be_told(tmp_path):
    policy, environment = cancer()
    study = Study.create(tmp_path / "a.pgcpe", policy)
    plays = study.ask(30)
    form = study.form(plays)
    assert list(form.columns) == ["id", "action", "set", *study.bandit.required, "Dyspnoea"]
    done = rows(plays, environment).set_index("id")
    for variable in study.bandit.required:
        set_ = np.array([variable in play.action for play in plays])
        assert (form.loc[set_, variable] != "").all()
        assert (form.loc[~set_, variable] == "").all()
        form.loc[~set_, variable] = done[variable].to_numpy()[~set_]
    form["Dyspnoea"] = done["Dyspnoea"].to_numpy()
    assert study.tell(form.drop(columns="set")) == 30


def test_mixed_up_rows_are_refused(study):
    plays = study.ask(2)
    form = study.form(plays).drop(columns="set").assign(cured="yes")
    form["action"] = form["action"].to_numpy()[::-1]
    with pytest.raises(ValueError, match="are rows mixed up"):
        study.tell(form)


def test_leases_end_and_a_late_result_counts_once(study, monkeypatch):
    first = study.ask(2, by="ann", lease=timedelta(days=2))
    assert study.ask(1, by="bob")[0].id == 3
    later = datetime.now(UTC) + timedelta(days=3)

    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            return later

    monkeypatch.setattr("pgcpe.study.study.datetime", Clock)
    again = study.ask(3, by="bob", lease="12 hours")
    assert [play.id for play in again] == [1, 2, 4]
    assert [play.action for play in again[:2]] == [play.action for play in first]
    assert [play.by for play in again] == ["bob"] * 3
    assert study.tell(first[0], CURED, by="ann") == 1  # late, and of the first who asked
    assert study.tell(1, CURED, by="bob") == 0
    assert study.policy.n_plays == 1
    later += timedelta(days=1)
    assert [play.id for play in study.ask(by="cho")] == [2, 4]


# ------------------------------------------------------------------------------------------ what goes otherwise


def test_cancelled_plays_are_no_longer_pending(study):
    plays = study.ask(4)
    study.cancel(plays[1], by="ann")
    study.cancel([3, 4], "lost")
    assert [play.id for play in study.pending] == [1]
    status = study.status()
    assert (status.n_cancelled, status.n_pending, status.cost, status.cost_pending) == (3, 1, 2.0, 1.0)
    assert study.tell(2, CURED) == 1  # done after all
    assert study.status().n_cancelled == 2
    assert {play.action for play in study.ask(2)} == {plays[2].action, plays[3].action}


def test_a_withdrawn_play_is_as_if_it_had_not_been_told(tmp_path):
    policy, environment = cancer()
    study = Study.create(tmp_path / "a.pgcpe", policy)
    plays = study.ask(60)
    told = rows(plays, environment)
    study.tell(told)
    study.withdraw(7, "lost", by="ann", note="the sample thawed")
    without, _ = cancer()
    kept = told[told["id"] != 7].drop(columns="id")
    without.tell([play.action for play in plays if play.id != 7], kept)
    same_state(study.policy, without)
    same_state(reopened(study).policy, without)
    assert study.tell(told) == 0
    assert study.status().n_withdrawn == 1
    assert "Withdrawn, lost: 7." in study.status().notes


def test_an_amended_play_is_as_if_it_had_been_told_so(tmp_path):
    policy, environment = cancer()
    study = Study.create(tmp_path / "a.pgcpe", policy)
    plays = study.ask(40)
    told = rows(plays, environment)
    study.tell(told)
    other = "False" if told.loc[4, "Dyspnoea"] == "True" else "True"
    study.amend(5, {"Dyspnoea": other}, "a slip of the pen", by="ann")
    as_amended, _ = cancer()
    told.loc[4, "Dyspnoea"] = other
    as_amended.tell([play.action for play in plays], told.drop(columns="id"))
    same_state(study.policy, as_amended)
    same_state(reopened(study).policy, as_amended)
    assert study.tell(told) == 0
    assert study.status().n_amended == 1


def certified(study, arms=("high", "strict")):
    """A study that has earned its certificate, by results made up."""
    while plays := study.ask(8):
        study.tell(plays, [CURED if tuple(play.action.values()) == arms[::-1] else NOT for play in plays])
    return study


def test_a_certificate_is_written_down_once(study):
    certified(study)
    status = study.status()
    assert status.certificate == "direct"
    assert status.stopped
    assert status.recommendation == do(diet="strict", dose="high")
    events = [e for e in study._replay.journal.events() if e.kind == "certified"]
    assert len(events) == 1
    said = json.loads(events[0].content)
    assert (said["arm"], said["plays"]) == ({"diet": "strict", "dose": "high"}, status.certified_at)
    certified(reopened(study))
    assert sum(e.kind == "certified" for e in study._replay.journal.events()) == 1


def test_what_was_certified_stands_whatever_a_later_version_says(study, monkeypatch):
    """An upgrade that would not stop cannot take a certificate away; a play withdrawn that it rests on can."""
    certified(study)
    earned = study.status()
    original = KLLUCB.__init__
    monkeypatch.setattr(
        KLLUCB, "__init__", lambda self, bandit, **options: original(self, bandit, **{**options, "delta": 1e-9})
    )
    later = reopened(study)
    assert later.policy.certificate is None
    status = later.status()
    assert (status.certificate, status.certified_at) == (earned.certificate, earned.certified_at)
    assert status.recommendation == earned.recommendation
    assert status.result.table["action"][0] == earned.recommendation
    assert status.stopped
    assert later.ask() == []
    later.withdraw(1, "invalid before the outcome was seen")
    assert later.status().certificate is None
    assert len(later.ask(1)) == 1


@pytest.mark.parametrize(("reason", "said"), [("lost", False), ("outcome disputed", True)])
def test_the_certificate_says_what_was_left_out_for_its_outcome(study, reason, said):
    plays = study.ask(3)
    study.tell(plays[:2], [CURED, CURED])
    study.withdraw(1, reason)
    study.cancel(3, reason)
    certified(study)
    assumptions = study.status().assumptions
    assert any("2 plays left out as 'outcome disputed'" in text for text in assumptions) is said
    assert study.status().certificate == "direct"


def test_deadlines(tmp_path):
    few = Study.create(tmp_path / "plays.pgcpe", dosage(), max_plays=6)
    assert [play.id for play in few.ask(10)] == [1, 2, 3, 4, 5, 6]
    assert few.ask() == []
    few.cancel(6)  # what was not performed is asked for in another's place
    assert [play.id for play in few.ask(10)] == [7]
    assert few.ask() == []
    status = few.status()
    assert status.stopped
    assert status.certificate is None
    assert status.reached == "the budget of 6 plays is spent"
    assert "not certified" in status.summary

    dear = Study.create(tmp_path / "cost.pgcpe", dosage(), max_cost=2.5)
    assert len(dear.ask(10)) == 2
    assert dear.status().reached == "the budget of 2.5 is spent: 2 of it, and a play costs at least 1"

    over = Study.create(tmp_path / "time.pgcpe", dosage(), until="2020-01-01 12:00+01:00")
    assert over.ask() == []
    assert over.status().reached == "the time is over since 2020-01-01 11:00 UTC"
    assert reopened(over).status().deadline == over.status().deadline


def test_a_plan_of_phases_is_handed_out_once(tmp_path):
    question = experiment_2(4)
    study = Study.create(tmp_path / "a.pgcpe", SequentialHalving(question.bandit, budget=60))
    phase = study.ask()
    assert study.ask() == []  # waits for the phase to end
    environment = question.environment(0)
    study.tell(rows(phase, environment))
    total = len(phase) + run(study, environment)
    assert total <= 60
    assert study.status().stopped


# ----------------------------------------------------------------------------------------------------------- logs


def test_logs_are_told_once(tmp_path):
    policy, environment = cancer()
    study = Study.create(tmp_path / "a.pgcpe", policy)
    passive = environment.perform([do()] * 80).to_frame()
    file = tmp_path / "log.csv"
    passive.to_csv(file)
    assert study.import_log(file, by="ann") == 80
    told, _ = cancer()
    told.tell(read_history(file, told.bandit))
    same_state(study.policy, told)
    same_state(reopened(study).policy, told)
    with pytest.raises(ValueError, match="very same 80 rows was told before"):
        study.import_log(passive.reset_index(drop=True), do())
    assert study.import_log(file, again=True) == 80
    status = study.status()
    assert (status.n_imported, status.n_told, status.cost) == (160, 160, 0.0)
    assert study.ask(1)[0].id == 161


def test_a_log_with_gaps(tmp_path):
    policy, environment = cancer()
    study = Study.create(tmp_path / "a.pgcpe", policy)
    log = environment.perform([do(Smoker="True")] * 50).to_frame().reset_index(drop=True)
    log.loc[[3, 8], "Cancer"] = None
    with pytest.raises(ValueError, match="has no value for Cancer"):
        study.import_log(log, "do(Smoker=True)")
    assert study.import_log(log, "do(Smoker=True)", missing="drop") == 48
    run(study, environment)
    assert any("2 rows of logs were left out" in text for text in study.status().assumptions)
    assert any("48 plays from logs" in text for text in study.status().assumptions)


# -------------------------------------------------------------------------------------------------------- opening


def test_only_the_same_question_opens_an_existing_file(study):
    path = study._replay.journal.path
    study.tell(study.ask(1), [CURED])
    with pytest.raises(FileExistsError, match=r"Study\.open"):
        Study.create(path, dosage())
    assert Study.create(path, dosage(), exist_ok=True).policy.n_plays == 1
    for other in (dosage(epsilon=0.1), dosage(delta=0.01), dosage(seed=1)):
        with pytest.raises(ValueError, match="study of another question"):
            Study.create(path, other, exist_ok=True)
    with pytest.raises(ValueError, match="study of another question"):
        Study.create(path, dosage(), exist_ok=True, max_plays=5)


def test_a_question_that_was_changed_is_refused(study):
    path = study._replay.journal.path
    with sqlite3.connect(path) as connection, pytest.raises(sqlite3.IntegrityError, match="never changed"):
        connection.execute("UPDATE question SET content = replace(content, '0.05', '0.5')")
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TRIGGER question_stays")
        connection.execute("UPDATE question SET content = replace(content, '0.05', '0.5')")
    connection.close()
    with pytest.raises(ValueError, match="its fingerprint differs"):
        Study.open(path)


def test_read_only_shows_and_writes_nothing(study):
    study.tell(study.ask(2), [CURED, NOT])
    path = study._replay.journal.path
    before = path.read_bytes()
    shown = Study.open(path, read_only=True)
    assert shown.status().n_told == 2
    for write in (shown.ask, lambda: shown.tell(1, CURED), lambda: shown.cancel(1), lambda: shown.withdraw(1, "lost")):
        with pytest.raises(PermissionError, match="read_only=True"):
            write()
    assert path.read_bytes() == before


def test_status_says_who_did_what(study):
    plays = study.ask(3, by="ann")
    study.tell(plays[:2], [CURED, NOT], by="bob")
    study.withdraw(1, "lost", by="ann")
    people = study.status().people.set_index("person")
    assert people.loc["ann", ["asked", "told", "withdrawn"]].tolist() == [3, 0, 1]
    assert people.loc["bob", ["asked", "told", "withdrawn"]].tolist() == [0, 2, 0]
    status = study.status()
    assert "Which of 4 interventions gives the highest expected cured (no = 0, yes = 1)?" in status.question
    assert "1 play told, 1 pending, 1 withdrawn." in status.summary
    assert json.loads(json.dumps(status.to_plain(), allow_nan=False))["recommendation"] == dict(status.recommendation)
    assert "1 pending" in repr(status)


def test_plays_still_needed(tmp_path):
    policy, environment = two_arms()
    study = Study.create(tmp_path / "a.pgcpe", policy)
    run(study, environment, most=40)
    needed = study.status(needed=True).needed
    assert 0 < needed.low <= needed.plays <= needed.high
    left = run(study, environment)
    assert needed.low / 3 < left < 3 * needed.high
    assert study.status(needed=True).needed.plays == 0


def test_what_recording_less_would_cost(tmp_path):
    """For what is recorded and never set: the same simulated truth, performed for a policy that does not see it."""
    network = load_network("cancer")
    arms = [do(Smoker="True"), do(Smoker="False")]
    bandit = CausalBandit(network, reward="Cancer", arms=arms, reward_values={"True": 0, "False": 1})
    policy = PooledCCPE(bandit, guarantee="asymptotic", epsilon=0.02)
    study = Study.create(tmp_path / "a.pgcpe", policy)
    study.tell(rows(study.ask(40), SimulatedEnvironment(network, seed=0)))
    status = study.status(measurements=True)
    assert set(status.without) == {"Pollution"}
    assert status.needed is not None
    for variable, needed in status.without.items():
        assert needed.low <= needed.plays <= needed.high
        assert f"Without recording {variable}: " in status.summary
    assert set(status.to_plain()["without"]) == set(status.without)
    assert not study.status().without


def test_a_rare_cause_that_nobody_had_raises_no_warning(tmp_path):
    """What was asked for is no log that an effect may have chosen: warnings are errors in these tests."""
    policy, _ = cancer()
    study = Study.create(tmp_path / "a.pgcpe", KLLUCB(policy.bandit, epsilon=0.0))
    while study.policy.plays_by_action.get(do(), 0) < 60:
        plays = study.ask(100)
        told = [{"Dyspnoea": "True", "Cancer": play.action.get("Cancer", "False")} for play in plays]
        assert study.tell(plays, told) == 100
    with pytest.warns(UserWarning, match="in all 60 passive plays"):
        study.import_log(pd.DataFrame({"Dyspnoea": ["True"] * 60, "Cancer": ["False"] * 60}), do())


def test_where_hidden_causes_keep_the_plays_from_showing_it_that_is_said(tmp_path):
    """A graph with hidden causes in common, of which no tables are learned; one without variables to record is told."""
    network = load_network(DATA / "two_visits.bif", latents=("frailty", "adherence"))
    arms = interventions(network, reward="recovered", variables=["drug1", "drug2"], size=2, null=False)
    bandit = CausalBandit(network, reward="recovered", arms=arms, reward_values={"no": 0, "yes": 1})
    environment = SimulatedEnvironment(network, seed=0)
    study = Study.create(tmp_path / "a.pgcpe", PooledCCPE(bandit, epsilon=0.1))
    study.tell(rows(study.ask(30), environment))
    status = study.status(needed=True, measurements=True)
    assert status.needed is None
    assert "How many plays more it takes cannot be said: the plays do not show how " in status.summary
    assert "frailty" in status.notes[-1]
    assert all(more is None for more in status.without.values())
    study.report(tmp_path / "page.html")
    assert "cannot be said" in (tmp_path / "page.html").read_text()
    alone = Study.create(tmp_path / "b.pgcpe", KLLUCB(bandit, epsilon=0.1))
    alone.tell(rows(alone.ask(30), environment))
    assert alone.status(needed=True).needed.plays > 0
    assert "cannot be said" not in alone.status(needed=True).summary


@pytest.mark.parametrize("make", [CCPE, lambda bandit: PooledCCPE(bandit, model="trees")])
def test_where_the_policy_keeps_no_tables_that_is_said(tmp_path, make):
    """All variables are recorded, so the plays do show how they come about together."""
    policy, environment = cancer()
    study = Study.create(tmp_path / "a.pgcpe", make(policy.bandit))
    assert study.bandit.required
    study.tell(rows(study.ask(30), environment))
    status = study.status(needed=True)
    assert status.needed is None
    assert "cannot be said: the policy keeps no tables of how " in status.notes[-1]
    assert "do not show" not in status.summary


def test_the_evidence_in_pairs_is_shown_before_a_certificate(tmp_path):
    """For the arm that is the current best, by the plays of both: what `pairwise_glr` says of the same counts."""
    policy, environment = two_arms()
    study = Study.create(tmp_path / "a.pgcpe", PooledCCPE(policy.bandit, guarantee="direct", epsilon=0.2))
    study.tell(rows(study.ask(40), environment))
    table = study.status().result.table
    assert np.isnan(table["nats"].iloc[0])
    assert (table["asked"].iloc[1:] > 0).all()
    frame = study.to_frame()
    values = frame.groupby("action")["Y"].agg(["count", lambda y: y.astype(int).sum()])
    n, x = (values.reindex(table["action"].map(str)).fillna(0).iloc[:, k].to_numpy(float) for k in (0, 1))
    alone = pairwise_glr(n, x, 0, 0.2)[1:]
    assert (table["nats"].iloc[1:] >= np.maximum(alone, 0) - 1e-9).all()  # the best of it and of those since naming
    assert "nats" in str(study.status())
    run(study, environment)
    assert "asked" not in study.status().result.table
