"""Wrong certificates of the numerical guarantee: the committed rows make the table and are as rare as they may be."""

from helpers import ROOT, benchmark
from scipy import stats

wrong, frame = benchmark("wrong_numerical"), benchmark("frame")
ROWS = frame.read(ROOT / "data" / "results" / "wrong_numerical.csv")


def test_the_committed_rows_make_the_table():
    runs = ROWS.groupby("study").size()
    assert set(runs.index) == set(wrong.SHARES)
    assert wrong.markdown(ROWS) in (ROOT / "benchmarks" / "README.md").read_text()


def test_certificates_are_no_more_often_wrong_than_delta():
    """Each is with probability delta at most: more than the .999 quantile of the binomial has a probability below .001
    in each study."""
    for _, mine in ROWS.groupby("study"):
        assert mine["wrong"].sum() <= stats.binom.ppf(0.999, len(mine), wrong.DELTA)
    assert (ROWS["certificate"] == "numerical").mean() > 0.3


def test_rows_are_drawn_anew():
    for study in wrong.SHARES:
        first = ROWS[ROWS["study"] == study].sort_values("plays").iloc[0]
        again = wrong.run(study, int(first["seed"]))
        assert (again["plays"], again["certificate"], again["arms"]) == tuple(first[["plays", "certificate", "arms"]])
