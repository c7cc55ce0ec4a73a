"""Plays to stop of the numerical rule: the committed rows make the table, and one is played anew."""

from helpers import ROOT, benchmark

numerical, stops, frame = benchmark("numerical"), benchmark("stops"), benchmark("frame")
ROWS = frame.read(ROOT / "data" / "results" / "numerical.csv")


def test_the_committed_rows_make_the_table():
    assert ROWS.groupby("experiment").size().to_dict() == dict.fromkeys(numerical.NAMES, 20)
    assert numerical.markdown(ROWS) in (ROOT / "benchmarks" / "README.md").read_text()


def test_a_row_is_played_anew():
    name = numerical.NAMES[0]
    again = stops.run(name, numerical.NUMERICAL, 1, 1, first_seed=numerical.FIRST_SEED).iloc[0]
    first = ROWS[ROWS["experiment"] == name].iloc[0]
    assert (again["plays"], again["recommendation"]) == (first["plays"], first["recommendation"])
    assert (again["certificate"], first["certificate"]) == ("numerical", "numerical")
