"""The command line, called as a function."""

import importlib
import json
import subprocess
import sys

import pytest

from pgcpe.cli import choices
from pgcpe.cli.arguments import parser
from pgcpe.cli.main import main
from pgcpe.cli.run import POLICIES
from pgcpe.cli.study import REASONS, STEPS
from pgcpe.experiments import STOPPING_POLICIES
from pgcpe.paper.figures import FIGURES

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
    assert {"recommendation", "certified", "certificate", "assumptions", "stop_reason", "n_plays", "arms"} <= set(
        answer
    )
    assert len(answer["arms"]) == 57
    assert set(answer["arms"][0]) == {"action", "estimate", "lower", "upper", "n_plays"}
    assert answer["arms"][0]["action"] == answer["recommendation"]
    assert answer["certified"] is True


OVEN = """network oven { }
variable heat { type discrete [ 2 ] { low, high }; }
variable minutes { type discrete [ 2 ] { 15, 40 }; }
probability ( heat ) { table 0.5, 0.5; }
probability ( minutes | heat ) { (low) 0.1, 0.9; (high) 0.8, 0.2; }
"""


def test_a_reward_that_is_a_number(capsys, tmp_path):
    """The states of the network are named by numbers; epsilon is a twentieth of the range unless one says otherwise."""
    file = tmp_path / "oven.bif"
    file.write_text(OVEN)
    question = [str(file), "--reward", "minutes", "--reward-range", "0", "60", "--minimise"]
    code, out, _ = call(capsys, "run", *question, "--epsilon", "5", "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["recommendation"] == {"heat": "high"}
    best = answer["arms"][0]
    assert best["lower"] <= 0.8 * 15 + 0.2 * 40 <= best["upper"]
    assert (answer["reward_range"], answer["minimise"], answer["epsilon"]) == ([0.0, 60.0], True, 5.0)
    assert "at epsilon = 3," in call(capsys, "arms", *question)[1]
    assert "epsilon = 3," in call(capsys, "plan", *question, "--policy", "LUCB", "--runs", "2", "--budget", "50")[1]
    file.write_text(OVEN.replace("15, 40", "short, long"))
    code, out, err = call(capsys, "run", *question)
    assert (code, out) == (2, "")
    assert "its states in the network must be named by numbers, but there is 'short'" in err


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


def test_what_a_measurement_saves(capsys):
    question = ["plan", "cancer", "--reward", "Cancer=False", "--variables", "Smoker", "--size", "1", "--runs", "2"]
    code, out, _ = call(capsys, *question, "--epsilon", "0.2", "--measurements", "--json")
    assert code == 0
    assert [row["left_out"] for row in json.loads(out)] == ["nothing", "Pollution"]
    out = call(capsys, *question, "--epsilon", "0.2", "--measurements")[1]
    assert "without a measurement, if the truth is like cancer" in out
    few = ["--epsilon", "0.2", "--recording", "Cancer", "--policy", "PooledCCPE", "--json"]
    (row,) = json.loads(call(capsys, *question, *few)[1])
    assert row["stopped"] == 1
    code, out, err = call(capsys, *question, "--measurements", "--policy", "LUCB")
    assert (code, out) == (2, "")
    assert "--measurements is about PooledCCPE and all that it records" in err
    assert "only observed variables" in call(capsys, *question, "--recording", "Cancre")[2]


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
    assert answer["measure"] == ["adherence"]


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


def test_usage_errors_are_one_line_too(capsys):
    for arguments, message in [
        (["run", *ASIA, "--seed", "-1"], "--seed must be at least 0, but got -1 (see pgcpe run --help)"),
        (["plan", *ASIA, "--seed", "-1"], "--seed must be at least 0, but got -1"),
        (["run", *ASIA, "--seed", "x"], "--seed must be an integer, but got 'x'"),
        (["run", *ASIA, "--rows", "0"], "--rows must be at least 1, but got 0"),
        (["figure", "2", "--jobs", "0"], "--jobs must be at least 1, but got 0"),
        (["run", *ASIA, "--policy", "lucbb"], "invalid choice: 'lucbb'"),
        (["run", "asia"], "required: --reward (see pgcpe run --help)"),
        (["walk"], "invalid choice: 'walk'"),
        ([], "required: COMMAND (see pgcpe --help)"),
    ]:
        code, out, err = call(capsys, *arguments)
        assert (code, out) == (2, "")
        assert message in err
        assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["arms", "asai", "--reward", "dysp=no"], "did you mean 'asia'?"),
        (["arms", "asia", "--reward", "dyps=no"], "did you mean 'dysp'?"),
        (["identify", "asia", "--reward", "dysp", "--do", "SMOKE=no"], "did you mean 'smoke'?"),
    ],
)
def test_did_you_mean(capsys, arguments, message):
    code, _, err = call(capsys, *arguments)
    assert code == 2
    assert message in err


def odd_network(tmp_path):
    """Names that hold commas, an equals sign, blanks; states that hold commas and look like numbers."""
    text = """variable "dose, in mg" { type discrete [ 2 ] { "[0,5)", "[5,10)" }; }
    variable "a=b" { type discrete [ 2 ] { "01", "1" }; }
    variable "cured at last" { type discrete [ 2 ] { "no, never", "yes" }; }
    probability ( "dose, in mg" ) { table .5 .5; } probability ( "a=b" ) { table .5 .5; }
    probability ( "cured at last" | "dose, in mg" , "a=b" ) {
      ("[0,5)", "01") .9 .1; ("[5,10)", "01") .2 .8; ("[0,5)", "1") .7 .3; ("[5,10)", "1") .6 .4; }"""
    path = tmp_path / "odd.bif"
    path.write_text(text)
    return str(path)


def test_names_with_commas_are_quoted_as_in_csv(capsys, tmp_path):
    """P(cured | dose, a=b) is .8 at most, for the dose [5,10) and 01; .6 on the mean over a=b for the dose alone."""
    file = odd_network(tmp_path)
    question = ["arms", file, "--reward", "cured at last=yes", "--json"]
    code, out, _ = call(capsys, *question, "--variables", '"dose, in mg",a=b', "--size", "2")
    assert code == 0
    assert {"dose, in mg": "[5,10)", "a=b": "01"} in [arm["action"] for arm in json.loads(out)]
    code, out, _ = call(capsys, *question, "--variables", '"dose, in mg"', "--values", '"[5,10)"')
    assert [arm["action"] for arm in json.loads(out)] == [{}, {"dose, in mg": "[5,10)"}]
    assert call(capsys, *question, "--variables", "dose, in mg", "--values", "[5,10)")[1] == out
    code, out, _ = call(capsys, *question, "--latents", '"dose, in mg"')
    assert [arm["action"] for arm in json.loads(out)] == [{}, {"a=b": "01"}, {"a=b": "1"}]
    code, _, err = call(capsys, *question, "--variables", '"dose, in mg')
    assert code == 2
    assert "must be written like" in err


@pytest.mark.parametrize(
    ("written", "action"),
    [
        (["dose, in mg=[5,10)"], {"dose, in mg": "[5,10)"}),
        (['"dose, in mg"="[5,10)"'], {"dose, in mg": "[5,10)"}),
        (['"dose, in mg"="[5,10)", "a=b"="01"'], {"dose, in mg": "[5,10)", "a=b": "01"}),
        (["a=b=01", "dose, in mg=[0,5)"], {"dose, in mg": "[0,5)", "a=b": "01"}),
        (["a=b=1"], {"a=b": "1"}),
    ],
)
def test_treatments_with_odd_names(capsys, tmp_path, written, action):
    treatments = [part for text in written for part in ("--do", text)]
    code, out, _ = call(
        capsys, "identify", odd_network(tmp_path), "--reward", "cured at last=no, never", *treatments, "--json"
    )
    assert code == 0
    assert json.loads(out)["action"] == action


def test_the_package_of_the_command_line_has_its_main():
    """As scripts call it that an installer wrote for ``pgcpe.cli:main``."""
    assert importlib.import_module("pgcpe.cli").main is main


def test_the_choices_are_what_the_package_has():
    assert set(choices.POLICIES) == set(POLICIES)
    assert set(choices.PLANNED) == set(STOPPING_POLICIES)
    assert set(choices.FIGURES) == set(FIGURES)
    assert set(choices.STEPS) == set(STEPS)
    assert set(choices.REASONS) == set(REASONS) - {"not-performed"}
    assert all(hasattr(importlib.import_module(f"pgcpe.cli.{name}"), "carry_out") for name in choices.COMMANDS)
    assert set(choices.COMMANDS) == set(parser()._subparsers._group_actions[0].choices)


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["--version"], ["run", "asia"], ["walk"]])
def test_help_and_usage_errors_load_no_library(arguments):
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "pgcpe", *arguments], capture_output=True, text=True, check=False
    )
    loaded = {line.rsplit("|", 1)[1].strip().split(".")[0] for line in done.stderr.splitlines() if "|" in line}
    assert "argparse" in loaded
    assert not loaded & {"pgmpy", "sklearn", "numba", "pandas", "matplotlib", "numpy", "scipy", "networkx"}
    assert done.returncode == (0 if "--" in arguments[-1] else 2)


def interrupted(*arguments, at):
    """The exit code and the output of ``pgcpe run`` that gets one Ctrl-C while the environment performs."""
    script = (
        "import os, signal, sys\n"
        "from pgcpe.cli.main import main\n"
        "from pgcpe import SimulatedEnvironment\n"
        "perform, calls = SimulatedEnvironment.perform, []\n"
        "def counted(self, actions):\n"
        "    calls.append(len(actions))\n"
        f"    if len(calls) == {at}:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    return perform(self, actions)\n"
        "SimulatedEnvironment.perform = counted\n"
        "code = main(sys.argv[1:])\n"
        "print(sum(calls), file=sys.stderr)\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
def test_ctrl_c_prints_the_result_so_far():
    """The plays under way are told first: all that was performed is in the result."""
    endless = ["run", *ASIA, "--policy", "lucb", "--epsilon", "0", "--delta", "1e-9"]
    code, out, err = interrupted(*endless, "--json", at=20)
    answer = json.loads(out)
    assert code == 130
    assert "Traceback" not in err
    assert answer["certificate"] is None
    assert answer["n_plays"] == int(err)
    assert answer["stop_reason"].startswith(f"interrupted after {answer['n_plays']} plays")
    code, out, _ = interrupted(*endless, at=1)
    assert code == 130
    assert "interrupted after" in out


def test_ctrl_c_elsewhere_is_no_traceback(capsys, monkeypatch):
    def stop(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("pgcpe.cli.plan.carry_out", stop)
    assert call(capsys, "plan", *ASIA) == (130, "", "pgcpe: interrupted\n")
