"""``pgcpe check``: a log against a graph."""

import json

import pytest

from pgcpe import SimulatedEnvironment, do, load_network
from pgcpe.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("check")
    network = load_network("asia")
    frame = SimulatedEnvironment(network, seed=0).sample(do(), 1000).to_frame()
    frame.reset_index(drop=True).to_csv(folder / "log.csv", index=False)
    wrong = frame.copy()
    wrong["asia"] = wrong["dysp"]  # what the graph says is nearly independent
    wrong.to_csv(folder / "wrong.csv")
    return folder


def test_a_right_graph(folder, capsys):
    assert main(["check", "asia", str(folder / "log.csv")]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Not refuted at level 0.05: 1,000 plays, 20 of 20 statements")
    assert "and 10 more statements" in said


def test_a_wrong_one(folder, capsys):
    assert main(["check", "asia", str(folder / "wrong.csv"), "--json", "--level", "0.01"]) == 3
    answer = json.loads(capsys.readouterr().out)
    assert answer["refuted"]
    assert answer["combined"] > 100
    assert answer["statements"][0]["verdict"] == "refuted"
    assert answer["explanations"][0]["explains"]


def test_a_picture(folder, capsys):
    pytest.importorskip("matplotlib").use("Agg")
    assert main(["check", "asia", str(folder / "wrong.csv"), "--plot", str(folder / "check.png")]) == 3
    assert (folder / "check.png").stat().st_size > 1000


def test_bad_input(folder, capsys):
    assert main(["check", "asia", str(folder / "none.csv")]) == 2
    (folder / "one.csv").write_text("lung,other\nyes,1\n")
    assert main(["check", "asia", str(folder / "one.csv")]) == 2
    assert "columns for two or more observed variables" in capsys.readouterr().err
    (folder / "holes.csv").write_text("lung,smoke\nyes,yes\n,no\nno,no\n")
    assert main(["check", "asia", str(folder / "holes.csv")]) == 2
    assert main(["check", "asia", str(folder / "holes.csv"), "--drop-missing"]) == 0
