"""The command line, called as a function."""

import json

import pytest

from pgcpe.cli.main import main

ASIA = ["asia", "--reward", "dysp=no", "--max-size", "2"]
VISITS = ["data/two_visits.bif", "--latents", "frailty,adherence"]


def call(capsys, *arguments):
    code = main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


def test_run_certifies_asia_and_repeats_itself(capsys):
    code, out, _ = call(capsys, "run", *ASIA, "--epsilon", "0.1")
    assert code == 0
    assert "within 0.1 of the best with probability at least 0.95" in out
    assert call(capsys, "run", *ASIA, "--epsilon", "0.1")[1] == out
    assert call(capsys, "run", *ASIA, "--epsilon", "0.1", "--seed", "1")[1] != out


def test_run_json(capsys):
    code, out, _ = call(capsys, "run", *ASIA, "--epsilon", "0.1", "--json")
    answer = json.loads(out)
    assert code == 0
    assert {"recommendation", "certified", "certificate", "stop_reason", "n_plays", "arms"} <= set(answer)
    assert len(answer["arms"]) == 57
    assert set(answer["arms"][0]) == {"action", "estimate", "lower", "upper", "n_plays"}
    assert answer["arms"][0]["action"] == answer["recommendation"]
    assert answer["certified"] is True


def test_budget_without_certificate_is_exit_code_three(capsys):
    code, out, _ = call(capsys, "run", *ASIA, "--budget", "30")
    assert code == 3
    assert "not certified" in out
    assert "budget of 30 plays is spent" in out


@pytest.mark.parametrize("policy", ["ccpe", "ccpe-paper", "lucb", "lucb-paper"])
def test_every_policy_can_be_chosen(capsys, policy):
    code, _, _ = call(capsys, "run", *ASIA, "--policy", policy, "--budget", "20")
    assert code == 3


def test_run_with_hidden_variables_and_a_picture(capsys, tmp_path):
    picture = tmp_path / "visits.png"
    code, out, _ = call(
        capsys, "run", *VISITS, "--reward", "recovered=yes", "--variables", "drug1,drug2", "--size", "2",
        "--values", "new,standard", "--epsilon", "0.2", "--plot", str(picture),
    )  # fmt: skip
    assert code == 0
    assert "do(drug1=new, drug2=new)" in out
    assert picture.stat().st_size > 5_000


def test_arms(capsys):
    code, out, _ = call(capsys, "arms", *VISITS, "--reward", "recovered=yes")
    assert code == 0
    assert "adjusting for severity1" in out
    assert "no: severity1 <- frailty -> recovered" in out
    code, out, _ = call(capsys, "arms", "cancer", "--reward", "Dyspnoea=False", "--json")
    arms = {tuple(entry["action"].items()): entry for entry in json.loads(out)}
    assert arms[()]["q_a"] == 1
    assert arms[()]["equal_to"] == [{"Xray": "positive"}, {"Xray": "negative"}]
    assert arms[(("Smoker", "True"),)]["q_a"] == pytest.approx(0.3)
    assert all(entry["estimable"] for entry in arms.values())
    assert arms[(("Smoker", "True"),)]["hard"] is True
    assert arms[()]["hard"] is False


def test_arms_says_which_are_hard(capsys):
    code, out, _ = call(capsys, "arms", "cancer", "--reward", "Dyspnoea=False")
    assert code == 0
    assert "played: 2 of 7 arms, if the truth is like cancer" in out


def test_plan(capsys):
    question = ["plan", "asia", "--reward", "dysp=no", "--epsilon", "0.2", "--runs", "4"]
    code, out, _ = call(capsys, *question, "--policy", "LUCB", "--policy", "top-two")
    assert code == 0
    assert "If the truth is like asia" in out
    assert "CCPE" not in out
    code, out, _ = call(capsys, *question, "--policy", "LUCB", "--json")
    (row,) = json.loads(out)
    assert row["policy"] == "LUCB"
    assert row["plays_low"] <= row["plays"] <= row["plays_high"]
    assert row["stopped"] == 1
    code, out, _ = call(capsys, *question, "--policy", "LUCB", "--budget", "20")
    assert "more than 20 plays" in out
    assert "within 20 plays" in out


def test_identify(capsys):
    code, out, _ = call(capsys, "identify", *VISITS, "--reward", "recovered", "--do", "drug1=new", "--do", "drug2=new")
    assert code == 0
    assert "over P(severity1) P(severity2 | severity1, drug1)" in out
    code, out, _ = call(capsys, "identify", "asia", "--reward", "dysp", "--do", "xray=yes", "--do", "smoke=no")
    assert "do(smoke=no, xray=yes) has provably the effect of do(smoke=no)" in out
    code, out, _ = call(capsys, "identify", *VISITS, "--reward", "recovered", "--do", "severity2=mild", "--json")
    answer = json.loads(out)
    assert answer["sequence"] is None
    assert answer["path"] == "severity2 <- adherence -> recovered"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "nosuch", "--reward", "Y"], "no file 'nosuch'"),
        (["run", "asia", "--reward", "dysp"], "--reward dysp=yes"),
        (["run", "asia", "--reward", "dysp=maybe"], "dysp has the states 'yes', 'no', but got 'maybe'"),
        (["run", "asia", "--reward", "nose=yes"], "--reward must name a variable"),
        (["run", "asia", "--reward", "dysp=no", "--latents", "U1"], "latents must be variables"),
        (["run", "asia", "--reward", "dysp=no", "--delta", "2"], "delta must be between 0 and 1"),
        (["run", "asia", "--reward", "dysp=no", "--epsilon", "-1"], "epsilon must be"),
        (["run", "asia", "--reward", "dysp=no", "--size", "1", "--max-size", "2"], "give size or max_size"),
        (["run", "asia", "--reward", "dysp=no", "--size", "99"], "size must be between"),
        (["run", "asia", "--reward", "dysp=no", "--values", "maybe"], "but got 'maybe'"),
        (["run", "asia", "--reward", "dysp=no", "--variables", "dysp"], "other than the reward"),
        (["run", "asia", "--reward", "dysp=no", "--budget", "-5"], "budget must be an integer of at least 0"),
        (
            ["run", "asia", "--reward", "dysp=no", "--budget", "3", "--plot", "/nowhere/x.png"],
            "folder that can be written",
        ),
        (["run", "asia", "--reward", "dysp=no", "--budget", "3", "--plot", "x.xyz"], "--plot must name a .png"),
        (["run", "tests/cases/bif/bad_sum.bif", "--reward", "Y=good"], "sums to 1.2"),
        (["plan", "asia", "--reward", "dysp=no", "--runs", "0"], "runs must be at least 1, but got 0"),
        (["plan", "asia", "--reward", "dysp=no", "--delta", "0"], "delta must be between 0 and 1"),
        (["arms", "asia", "--reward", "dysp=no", "--max-size", "99"], "size must be between"),
        (["arms", "tests/cases/bif/missing_table.bif", "--reward", "Y=good"], "Y has no table"),
        (["identify", "asia", "--reward", "dysp", "--do", "nose=yes"], "no variable of asia"),
        (["identify", "asia", "--reward", "dysp", "--do", "smoke=maybe"], "smoke has the states"),
        (["identify", "asia", "--reward", "dysp", "--do", "smoke"], "--do must be written like"),
        (["identify", "asia", "--reward", "dysp=zzz", "--do", "smoke=no"], "dysp has the states"),
        (["identify", "asia", "--reward", "dysp", "--do", "smoke=no", "--do", "smoke=yes"], "set twice"),
        (["identify", "asia", "--reward", "nose", "--do", "smoke=no"], "must be variables of the graph"),
        (["identify", "asia", "--reward", "dysp", "--do", "dysp=no"], "outcome must not be a treatment"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(capsys, arguments, message):
    code, out, err = call(capsys, *arguments)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1
    assert "Traceback" not in out + err
