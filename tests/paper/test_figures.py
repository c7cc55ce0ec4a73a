"""The paper's figures: what is drawn is what the rows say, the committed rows are complete and come again."""

import json
import math

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from helpers import ROOT

from pgcpe.cli.main import main
from pgcpe.experiments import read_rows, repeat, summarise
from pgcpe.paper.figures import FIGURES, Errors
from pgcpe.plotting import plot_curves

mpl.use("Agg")

RESULTS = ROOT / "data" / "results"
FILES = {name: RESULTS / f"figure_{name}.csv.gz" for name in FIGURES}
ROWS = {name: read_rows(file) for name, file in FILES.items()}


# ------------------------------------------------------------------------------------------------------ made-up rows


def made_up(figure, wrong, runs=8):
    """Rows of a figure: `wrong(policy, plays)` of the runs are wrong."""
    rows = []
    for part in figure.parts:
        for policy in part.policies:
            for budget in figure.budgets(policy):
                bad = wrong(policy, budget)
                rows += [
                    {"experiment": part.name, "policy": policy, "seed": seed, "budget": budget}
                    | {"plays": budget, "stopped": False, "correct": seed >= bad}
                    for seed in range(runs)
                ]
    return pd.DataFrame(rows)


def test_an_iteration_is_three_plays_of_ccpe_and_two_of_lucb():
    figure = FIGURES["2"]
    numbers = figure.numbers(made_up(figure, lambda policy, plays: {300: 6, 450: 3, 150: 7}.get(plays, 0)))
    at = numbers[numbers["x"] == 150].set_index(["panel", "policy"])["y"]
    assert at["T in plays"].to_dict() == dict.fromkeys(figure.parts[0].policies, 7 / 8)
    assert at["T in iterations"].to_dict() == {
        "LUCB1 (.3)": 6 / 8,
        "lil'UCB (.3)": 7 / 8,
        "Propagating-Inference": 7 / 8,
        "CCPE-General (.25, .4)": 3 / 8,
    }
    assert sorted(set(numbers["x"])) == list(range(50, 601, 50))


def test_plays_to_stop_are_divided_by_those_of_an_iteration():
    figure = FIGURES["3a"]
    rows = made_up(figure, lambda policy, plays: 0).assign(plays=600, stopped=True)
    numbers = figure.numbers(rows)
    assert set(numbers["x"]) == {5, 8, 10}
    each = numbers.groupby(["panel", "policy"])["y"].unique().map(list).to_dict()
    assert each["s = 1: plays", "CCPE-General (.3, .4)"] == [600]
    assert each["s = 1: iterations", "CCPE-General (.3, .4)"] == [200]
    assert each["s all values: iterations", "LUCB1 (.25)"] == [300]
    assert each["s all values: iterations", "lil'UCB (.25)"] == [600]


def test_the_order_says_what_is_told_apart():
    figure = FIGURES["budget"]
    worse = {"Successive Rejects": 60, "Sequential Halving": 55}
    order = figure.order(made_up(figure, lambda policy, plays: worse.get(policy, 5), runs=100))
    text = order.loc[order["at"] == 400, "order"].item()
    assert text.endswith(" < Sequential Halving ~ Successive Rejects")
    assert text.count(" < ") == 1


def test_rows_that_lack_something():
    figure = FIGURES["3b"]
    rows = made_up(figure, lambda policy, plays: 0)
    last = rows["experiment"].str.endswith("s = 1") & (rows["policy"] == "LUCB1 (.25)") & (rows["budget"] == 100)
    with pytest.raises(ValueError, match=r"rows must have every budget of LUCB1 \(.25\) in Experiment 3, n = 5, s = 1"):
        figure.numbers(rows[~last])
    with pytest.raises(ValueError, match="rows must be those of `repeat`, but lack stopped"):
        figure.numbers(rows.drop(columns="stopped"))


def test_what_is_drawn():
    figure = FIGURES["2"]
    rows = made_up(figure, lambda policy, plays: 8 - plays * 8 // 2000)
    drawn = figure.draw(rows)
    assert [ax.get_title(loc="left") for ax in drawn.axes] == ["T in plays", "T in iterations"]
    numbers = figure.numbers(rows)
    for ax in drawn.axes:
        mine = numbers[numbers["panel"] == ax.get_title(loc="left")]
        curves = [container.lines[0].get_xydata() for container in ax.containers]
        expected = [part[["x", "y"]].to_numpy() for _, part in mine.groupby("policy", sort=False)]
        assert all(np.allclose(curve, points) for curve, points in zip(curves, expected, strict=True))
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == list(figure.parts[0].policies)
    assert len(FIGURES["3b"].draw(made_up(FIGURES["3b"], lambda policy, plays: 1)).axes) == 4


def test_nothing_to_draw():
    with pytest.raises(ValueError, match="there must be at least one row"):
        plot_curves(pd.DataFrame({"panel": []}), title="", x="", y="")


# ----------------------------------------------------------------------------------------------------- committed rows


@pytest.mark.parametrize("name", FIGURES)
def test_the_committed_rows_are_complete_and_are_redrawn(name, tmp_path):
    figure, rows = FIGURES[name], ROWS[name]
    assert len(figure.of(rows)) == len(rows)  # nothing else is in the file
    seeds = rows.groupby(["experiment", "policy", "budget"])["seed"].agg(lambda s: sorted(s) == list(range(len(s))))
    assert seeds.all()
    runs = rows.groupby(["experiment", "policy", "budget"])["seed"].nunique().groupby(["experiment", "policy"])
    assert (runs.nunique() == 1).all()
    if name != "pooled":  # there the policies that cost most have fewer runs
        assert (runs.first().groupby("experiment").nunique() == 1).all()
    figure.draw(rows).savefig(tmp_path / "drawn.png")
    assert (ROOT / "docs" / "figures" / f"figure_{name}.png").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_the_committed_rows_come_again(name):
    figure, rows = FIGURES[name], ROWS[name]
    parts = figure.parts if name != "3a" else [part for part in figure.parts if part.at == 5]
    for part in parts:
        budgets = {policy: figure.budgets(policy) for policy in part.policies}
        again = repeat(
            part.policies, part.instance, seeds=[0], budgets=budgets, cuts=budgets, experiment=part.name, progress=False
        )
        kept = rows[(rows["experiment"] == part.name) & (rows["seed"] == 0)]
        pd.testing.assert_frame_equal(again, kept.reset_index(drop=True), check_dtype=False)


REFERENCE = {
    "LUCB1 (.3)": [0.970, 0.961, 0.598, 0.348, 0.197, 0.132, 0.080],
    "lil'UCB (.3)": [0.969, 0.961, 0.585, 0.314, 0.170, 0.135, 0.124],
}
"""Error at 50, 100, 150, 200, 300, 400, 500 plays of Experiment 2 by independent code, 1,000 runs or more a point, for
what is defined without room for choices."""


@pytest.mark.parametrize("policy", REFERENCE)
def test_experiment_2_is_that_of_others(policy):
    """Two shares of 1,000 runs of one probability p differ by more than 3.3 sqrt(2 p (1-p) / 1,000) once in 1,000."""
    errors = summarise(ROWS["2"][ROWS["2"]["policy"] == policy]).set_index("budget")["error"]
    for budget, other in zip((50, 100, 150, 200, 300, 400, 500), REFERENCE[policy], strict=True):
        assert abs(errors[budget] - other) <= 3.3 * math.sqrt(2 * other * (1 - other) / 1000)


def errors(name, panel):
    """The errors of a panel, times by policies."""
    numbers = FIGURES[name].numbers(ROWS[name])
    return numbers[numbers["panel"] == panel].pivot(index="x", columns="policy", values="y")


def ahead(name, panel, policy, others, times):
    """Whether the 95 % interval of a policy is below those of others at all these times."""
    numbers = FIGURES[name].numbers(ROWS[name])
    at = numbers[(numbers["panel"] == panel) & numbers["x"].isin(list(times))].set_index(["policy", "x"])
    assert len(at.loc[policy]) == len(list(times))
    return all((at.loc[policy]["high"] < at.loc[other]["low"]).all() for other in others)


def test_what_is_said_of_figure_1():
    direct = ["LUCB1 (.3)", "lil'UCB (.3)"]
    name = "CCPE-BGLM (.05, .4), fitted every 50 iterations"
    assert ahead("1", "T in iterations", name, ["Propagating-Inference", *direct], [50, 100, 150])
    plays = errors("1", "T in plays")
    assert (plays.idxmin(axis=1) == "Propagating-Inference").all()
    assert ahead("1", "T in plays", "CCPE-BGLM (.05, .4), fitted every 50 plays", direct, range(50, 501, 50))


def test_what_is_said_of_figure_2():
    iterations, plays = errors("2", "T in iterations"), errors("2", "T in plays")
    ours, other = "CCPE-General (.25, .4)", "Propagating-Inference"
    assert (iterations.loc[100:, ours] - iterations.loc[100:, other]).abs().max() < 0.04
    assert (iterations.loc[150:, ours] <= iterations.loc[150:, other] + 0.005).all()
    assert ahead("2", "T in plays", other, [ours, "LUCB1 (.3)", "lil'UCB (.3)"], range(50, 601, 50))
    assert plays.loc[600, "lil'UCB (.3)"] > 0.1


def test_what_is_said_of_figure_3a():
    order = FIGURES["3a"].order(ROWS["3a"]).set_index(["panel", "at"])["order"]
    first = {key: text.split(" <")[0] for key, text in order.items()}
    won = {key for key, policy in first.items() if policy.startswith("CCPE")}
    assert won == {("s all values: iterations", 8.0), ("s all values: iterations", 10.0)}
    numbers = FIGURES["3a"].numbers(ROWS["3a"])
    wrong = numbers.assign(share=numbers["wrong"] / numbers["runs"]).groupby("policy")["share"]
    assert 0.04 < wrong.min()["lil'UCB (.25)"] < wrong.max()["lil'UCB (.25)"] < 0.25
    assert wrong.max()[["LUCB1 (.25)", "CCPE-General (.3, .4)"]].tolist() == [0, 0]


def test_what_is_said_of_figure_3b():
    ours, lucb, lil = "CCPE-General (.3, .4)", "LUCB1 (.25)", "lil'UCB (.25)"
    both, one = "Experiment 3, n = 5, s all values", "Experiment 3, n = 5, s = 1"
    assert ahead("3b", f"{both}: T in iterations", ours, [lucb, lil], range(100, 501, 50))
    plays = errors("3b", f"{both}: T in plays").loc[100:250]
    assert (plays[ours] - plays[lucb]).abs().max() < 0.03
    assert ahead("3b", f"{one}: T in plays", lucb, [ours], [50, 100, 150, 200, 250])
    assert ahead("3b", f"{one}: T in iterations", ours, [lucb], [400, 450, 500])


def test_what_is_said_of_the_fixed_budget():
    rivals = ["Successive Rejects", "Sequential Halving", "Sequential Halving, kept"]
    for ours in ("Causal SR, larger", "Causal SR, counts", "Causal SR, variance"):
        assert ahead("budget", "T in plays", ours, rivals, [100, 150, 200, 300])
    assert not ahead("budget", "T in plays", "Causal SR, larger", rivals[:1], [400])
    assert (errors("budget", "T in plays")["Causal SR, larger"].diff()[200]) > 0.2  # the bump


# --------------------------------------------------------------------------------------------------- the command line


def figure(*arguments):
    return main(["figure", *map(str, arguments)])


def test_redrawing_on_the_command_line(tmp_path, capsys):
    picture = tmp_path / "three.svg"
    assert figure("3b", "--rows", FILES["3b"], "--plot", picture) == 0
    text = capsys.readouterr().out
    assert "CCPE-General has a smaller error probability" in text
    assert "Best first" in text
    assert picture.read_text().startswith("<?xml")
    assert figure("3b", "--rows", FILES["3b"], "--plot", picture, "--json") == 0
    numbers = pd.DataFrame(json.loads(capsys.readouterr().out))
    expected = FIGURES["3b"].numbers(ROWS["3b"])
    pd.testing.assert_frame_equal(numbers, expected.reset_index(drop=True), check_dtype=False)


@pytest.mark.slow
def test_computing_and_continuing_on_the_command_line(tmp_path, capsys, monkeypatch):
    whole = FIGURES["3b"]
    short = Errors(whole.title, whole.claim, whole.parts, whole.iteration, times=(50, 100))
    monkeypatch.setitem(FIGURES, "3b", short)
    rows, picture = tmp_path / "rows.csv", tmp_path / "three.png"
    assert figure("3b", "--rows", rows, "--runs", 2, "--plot", picture) == 0
    assert set(read_rows(rows)["seed"]) == {0, 1}
    text = rows.read_text()
    assert figure("3b", "--rows", rows, "--runs", 3, "--plot", picture, "--jobs", 2) == 0
    assert rows.read_text().startswith(text)
    assert set(read_rows(rows)["seed"]) == {0, 1, 2}
    assert picture.exists()
    assert "2 runs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "say --rows FILE to redraw rows, --runs N to compute them, or both"),
        (["--runs", 0], "--runs must be at least 1, but got 0"),
        (["--rows", "no_such_file.csv"], "no_such_file.csv"),
        (["--rows", FILES["2"]], "rows must have every budget of LUCB1 (.25)"),
        (
            ["--rows", ROOT / "data" / "results" / "planned.csv"],
            "planned.csv must be empty or have the rows of `repeat`, but begins with 'instance,",
        ),
        (["--rows", FILES["3b"], "--plot", "figure.docx"], "--plot must name a .png, .svg, .pdf file"),
        (["--rows", FILES["3b"], "--plot", "no_such_folder/figure.png"], "in a folder that can be written"),
        (["--rows", __file__], "cannot be read"),
        (["--rows", FILES["3b"], "--runs", 5], "rows are appended to a .csv file"),
    ],
)
def test_what_goes_wrong_on_the_command_line(arguments, message, capsys):
    assert figure("3b", *arguments) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
