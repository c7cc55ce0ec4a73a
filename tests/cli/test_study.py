"""A study by the command line alone: a form is printed, filled in and told."""

import json

import pandas as pd
import pytest

from pgcpe import Study
from pgcpe.cli.main import main

TRIAL = ["dose -> cured; diet -> cured", "--reward", "cured=yes", "--states", "dose=low,high"]
TRIAL += ["--states", "cured=no,yes", "--states", "diet=none,strict", "--size", "2", "--epsilon", "0.3"]


def call(capsys, *arguments):
    code = main(["study", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def file(capsys, tmp_path):
    path = tmp_path / "trial.pgcpe"
    code, out, err = call(capsys, "new", path, *TRIAL, "--policy", "lucb")
    assert (code, err) == (0, "")
    assert "Which of 5 interventions gives the highest expected cured (no = 0, yes = 1)?" in out
    assert "To be recorded of every play: cured." in out
    assert "States: dose: low, high; cured: no, yes; diet: none, strict." in out
    return path


def fill(form, column="cured", best="dose = high, diet = strict"):
    """What a person writes into a form: the best treatment cures, the others do not."""
    table = pd.read_csv(form, dtype=str, keep_default_na=False)
    good = [set(text.split(", ")) == set(best.split(", ")) for text in table["set"]]
    table[column] = ["yes" if cures else "no" for cures in good]
    table["patient"] = [f"P-{i}" for i in table["id"]]
    table.to_csv(form, index=False)


def test_a_study_from_the_question_to_the_certificate(capsys, file, tmp_path):
    for day in range(60):
        form = tmp_path / f"day{day}.csv"
        code, out, err = call(capsys, "ask", file, "-n", 8, "--by", "Ann", "--output", form)
        if code == 3:
            assert "nothing to perform: no arm is better" in err or "every other arm at most" in err
            break
        assert (code, out) == (0, "")
        assert "8 plays written to" in err
        fill(form)
        code, said, _ = call(capsys, "tell", file, form, "--by", "Bob")
        assert code == 0
        assert said.startswith("8 plays told.")
    assert "do(diet=strict, dose=high)" in said
    assert "within 0.3 of the best with probability at least 0.95" in said
    code, out, _ = call(capsys, "status", file, "--json")
    found = json.loads(out)
    assert found["recommendation"] == {"diet": "strict", "dose": "high"}
    assert found["certificate"] == "direct"
    assert [row["person"] for row in found["people"]] == ["Ann", "Bob"]
    code, out, _ = call(capsys, "export", file, "--output", tmp_path / "plays.csv")
    plays = pd.read_csv(tmp_path / "plays.csv")
    assert len(plays) == found["n_told"]
    assert plays["patient"].tolist() == [f"P-{i}" for i in plays["id"]]


def test_a_form_that_is_half_filled_in(capsys, file, tmp_path):
    form = tmp_path / "form.csv"
    call(capsys, "ask", file, "-n", 3, "--output", form)
    lines = form.read_text().splitlines()
    assert lines[0] == "id,action,set,cured"
    lines[1] += "yes"
    form.write_text("\ufeff" + "\r\n".join(lines) + "\r\n")  # as spreadsheets write it
    assert call(capsys, "tell", file, form)[1] == "1 play told, 2 not filled in yet.\n"
    lines[3] += " no "
    form.write_text("\n".join(lines))
    assert call(capsys, "tell", file, form)[1] == "1 play told, 1 told before, 1 not filled in yet.\n"
    _, out, _ = call(capsys, "tell", file, form, "--json")
    assert json.loads(out) == {"told": 0, "told_before": 2, "not_filled_in": 1}
    _, out, _ = call(capsys, "ask", file, "--pending")
    assert out.splitlines() == [lines[0], lines[2]]


def test_forms_with_semicolons(capsys, file, tmp_path):
    form = tmp_path / "form.csv"
    call(capsys, "ask", file, "-n", 2, "--output", form)
    fill(form)
    pd.read_csv(form).to_csv(form, sep=";", index=False)
    assert call(capsys, "tell", file, form)[1] == "2 plays told.\n"


def test_a_form_with_columns_that_are_set_and_recorded(capsys, tmp_path):
    file, form = tmp_path / "cancer.pgcpe", tmp_path / "form.csv"
    code, out, _ = call(capsys, "new", file, "cancer", "--reward", "Dyspnoea=False", "--policy", "pooled-asymptotic")
    assert "To be recorded of every play: Pollution, Smoker, Cancer, Dyspnoea." in out
    code, out, _ = call(capsys, "ask", file, "-n", 25)
    rows = out.splitlines()
    assert rows[0] == "id,action,set,Pollution,Smoker,Cancer,Dyspnoea"
    assert rows[1] == "1,do(),nothing: observe,,,,"
    form.write_text("\n".join([rows[0], rows[1] + "False"]))
    code, _, err = call(capsys, "tell", file, form)
    assert code == 2
    assert "play 1 has no value for" in err
    form.write_text("\n".join([rows[0], "1,do(),nothing: observe,low,True,False,False"]))
    assert call(capsys, "tell", file, form)[1] == "1 play told.\n"


def test_what_goes_otherwise(capsys, file, tmp_path):
    call(capsys, "ask", file, "-n", 5)
    assert call(capsys, "tell", file, "--id", 1, "--value", "cured=yes", "--by", "Ann")[1] == "1 play told.\n"
    assert call(capsys, "tell", file, "--id", 2, "--value", "cured=no")[0] == 0
    assert call(capsys, "cancel", file, "--id", 4, "--id", 5)[0] == 0
    assert call(capsys, "withdraw", file, "--id", 1, "--reason", "invalid", "--note", "wrong dose")[0] == 0
    assert call(capsys, "amend", file, "--id", 2, "--value", "cured=yes", "--reason", "misread")[0] == 0
    code, out, _ = call(capsys, "status", file)
    assert code == 0
    assert "1 play told, 1 pending, 2 cancelled, 1 withdrawn, 1 amended." in out
    assert "Withdrawn, invalid before the outcome was seen: 1." in out
    assert "Amended: 2 (misread)." in out
    assert call(capsys, "backup", file, tmp_path / "copy.pgcpe")[0] == 0
    assert Study.open(tmp_path / "copy.pgcpe").status().n_told == 1


def test_import(capsys, file, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("action,cured,ward\n" + '"do(diet=strict, dose=high)",yes,A\n' * 3 + "do(),no,B\n")
    assert call(capsys, "import", file, log)[1] == f"4 plays told from {log}.\n"
    code, _, err = call(capsys, "import", file, log)
    assert code == 2
    assert "very same 4 rows" in err
    assert call(capsys, "import", file, log, "--again", "--json")[1] == '{"told": 4}\n'
    assert json.loads(call(capsys, "status", file, "--json")[1])["n_imported"] == 8


def test_costs_and_deadlines(capsys, tmp_path):
    file = tmp_path / "a.pgcpe"
    cost = ["--cost", "do(diet=none, dose=low)=2", "--cost", "do()=0.1"]
    code, _, err = call(capsys, "new", file, *TRIAL, "--policy", "lucb", *cost, "--max-plays", 3)
    assert (code, err) == (0, "")
    study = Study.open(file)
    assert list(study.bandit.costs.values()) == [0.1, 2.0, 1.0, 1.0, 1.0]
    assert len(call(capsys, "ask", file, "-n", 9)[1].splitlines()) == 4
    code, out, err = call(capsys, "ask", file)
    assert (code, out) == (3, "")
    assert "nothing to perform: the budget of 3 plays is spent" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["tell", "FILE"], "say which form was filled in, or which play by --id"),
        (["tell", "FILE", "--id", "7", "--value", "cured=yes"], "there is no play 7: none was asked for yet"),
        (["tell", "FILE", "--id", "7", "--value", "Cured=yes"], "did you mean 'cured'?"),
        (["tell", "FILE", "nothing.csv"], "No such file"),
        (["tell", "FILE", "FILE"], "must be a table"),
        (["ask", "nothing.pgcpe"], "there is no study nothing.pgcpe"),
        (["ask", "FILE", "--lease", "soon"], "lease must be a length of time"),
        (["ask", "FILE", "--output", "FILE"], "must name a file that does not exist"),
        (["ask", "FILE", "-n", "0"], "must be at least 1"),
        (["new", "FILE", *TRIAL], "exists: pgcpe study status shows it, under another name you make a new one"),
        (["new", "NEW", "dose -> cured ->", "--reward", "cured"], "edges must be written like"),
        (["new", "NEW", "dose -> cured", "--reward", "cured", "--states", "doze=1,2"], "--states must be written like"),
        (["new", "NEW", "asia", "--reward", "dysp=no", "--states", "dysp=1,2"], "names its own states"),
        (["new", "NEW", *TRIAL, "--cost", "do(diet=none)"], "--cost must be written like"),
        (["new", "NEW", *TRIAL, "--until", "tomorrow-ish"], "until must be a time"),
        (["withdraw", "FILE", "--id", "1", "--reason", "tired"], "invalid choice: 'tired'"),
        (["backup", "FILE", "FILE"], "a backup overwrites nothing"),
        (["walk"], "invalid choice: 'walk'"),
    ],
)
def test_bad_input_is_one_line_and_leaves_the_study_as_it_is(capsys, file, tmp_path, arguments, said):
    before = file.read_bytes()
    told = [{"FILE": file, "NEW": tmp_path / "new.pgcpe"}.get(a, a) for a in arguments]
    code, out, err = call(capsys, *told)
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1
    assert file.read_bytes() == before
    assert not (tmp_path / "new.pgcpe").exists()


WAIT = ["triage -> minutes; desk -> minutes", "--reward", "minutes", "--reward-range", "0", "60", "--minimise"]
WAIT += ["--states", "triage=nurse,doctor", "--states", "desk=one,two", "--size", "2", "--policy", "lucb"]


def test_a_reward_that_is_a_number(capsys, tmp_path):
    """Minutes, the fewer the better, from forms in which a spreadsheet writes semicolons and decimal commas."""
    file, form = tmp_path / "wait.pgcpe", tmp_path / "form.csv"
    code, out, err = call(capsys, "new", file, *WAIT)
    assert (code, err) == (0, "")
    assert "gives the lowest expected minutes (a number from 0 to 60)?" in out
    assert "may be worse than the best by 3," in out  # a twentieth of the range
    call(capsys, "ask", file, "-n", "4", "--output", form)
    table = pd.read_csv(form, dtype=str, keep_default_na=False)
    table["minutes"] = ["12,5", "40", "", "7,25"]
    table.to_csv(form, index=False, sep=";")
    code, out, err = call(capsys, "tell", file, form)
    assert (code, err) == (0, "")
    assert out.startswith("3 plays told, 1 not filled in yet.")
    assert call(capsys, "tell", file, "--id", 3, "--value", "minutes=33.5")[0] == 0
    assert Study.open(file).to_frame()["minutes"].tolist() == [12.5, 40.0, 33.5, 7.25]
    out = call(capsys, "status", file)[1]
    assert "expected reward (less is better)" in out
    code, out, err = call(capsys, "amend", file, "--id", 3, "--value", "minutes=99", "--reason", "misread")
    assert (code, out) == (2, "")
    assert "minutes must lie in its range, 0 to 60, but got 99" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--reward", "minutes=low", "--reward-range", "0", "60"], "the reward is a number: write --reward minutes"),
        (["--reward", "minutes", "--reward-range", "60", "0"], "the lower one first, but got (60.0, 0.0)"),
        (["--reward", "minutes", "--reward-range", "60"], "--reward-range: expected 2 arguments"),
        (["--reward", "minutes", "--reward-range", "zero", "60"], "invalid float value: 'zero'"),
        (
            ["--reward", "minutes", "--reward-range", "0", "60", "--states", "minutes=low,high"],
            "leave it out of states",
        ),
        (
            ["--reward", "minutes", "--reward-range", "0", "60", "--epsilon", "60"],
            "below 60, the width of the reward's",
        ),
        (["--reward", "minutes", "--states", "minutes=low,high"], "or --reward-range LOW HIGH if it is a number"),
    ],
)
def test_bad_input_of_a_reward_that_is_a_number(capsys, tmp_path, arguments, said):
    code, out, err = call(capsys, "new", tmp_path / "a.pgcpe", "triage -> minutes", *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "a.pgcpe").exists()


def test_errors_speak_of_commands(capsys, file, tmp_path):
    """What a program would do next is said as what a person would type."""
    form = tmp_path / "form.csv"
    call(capsys, "ask", file, "-n", 2, "--output", form)
    fill(form)
    call(capsys, "tell", file, form)
    done = Study.open(file).to_frame()
    other = "no" if done["cured"].iloc[0] == "yes" else "yes"
    err = call(capsys, "tell", file, "--id", 1, "--value", f"cured = {other}")[2]
    assert err.endswith("pgcpe study amend STUDY --id 1 corrects it\n")
    assert call(capsys, "amend", file, "--id", 1, "--value", f"cured ={other}", "--reason", "misread")[0] == 0
    assert "pgcpe study withdraw STUDY --id 1 takes it back" in call(capsys, "cancel", file, "--id", 1)[2]
    err = call(capsys, "tell", file, "--id", 2, "--value", "cured=perhaps")[2]
    assert err.startswith("pgcpe: play 2: cured has the states 'no', 'yes', but got 'perhaps'")
    assert "pgcpe study new makes one" in call(capsys, "ask", tmp_path / "nothing.pgcpe")[2]
