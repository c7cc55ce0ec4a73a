"""The committed study of looks: shown as it is, within its bound, and the same when run again."""

import matplotlib.pyplot as plt
import pytest
from helpers import ROOT, benchmark
from scipy import stats

looks = benchmark("looks")
ROWS = looks.frame.read(ROOT / "data" / "results" / "looks.csv.gz")


def test_the_table_shown_is_that_of_the_rows():
    assert looks.markdown(ROWS) in (ROOT / "docs" / "studies.md").read_text()
    assert ROWS.groupby(["policy", "gap"]).size().groupby("policy").unique().map(list).to_dict() == {
        looks.PLAIN: [1000],
        looks.OURS: [200],
    }


def test_the_figure_is_drawn_from_the_rows():
    figure = looks.draw(ROWS)
    summed = looks.table(ROWS)
    for ax, column, scale in ((figure.axes[0], "wrong", 100), (figure.axes[1], "plays", 1)):
        lines = {line.get_label(): line for line in ax.get_lines()}
        for name in (looks.PLAIN, looks.OURS):
            expected = scale * summed.loc[summed["policy"] == name, column].to_numpy()
            assert lines[name].get_ydata() == pytest.approx(expected)
    plt.close(figure)


def test_what_is_said_of_it():
    """More than the .999 quantile of binomial(n, delta) of n runs are wrong with probability below .001."""
    wrong = ROWS.groupby(["policy", "gap"])["wrong"].agg(["sum", "size", "mean"])
    assert (wrong.loc[looks.OURS, "sum"] <= stats.binom.ppf(0.999, wrong.loc[looks.OURS, "size"], looks.DELTA)).all()
    assert wrong.loc[(looks.PLAIN, 0.025), "mean"] > 2 * looks.DELTA
    assert ROWS["stopped"].all()


@pytest.mark.parametrize("gap", looks.GAPS)
def test_a_plain_run_comes_again(gap):
    kept = ROWS[(ROWS.policy == looks.PLAIN) & (ROWS.gap == gap) & (ROWS.seed < 3)]
    assert [looks.plain(gap, seed) for seed in range(3)] == kept.to_dict("records")


def test_a_run_of_ours_comes_again():
    kept = ROWS[(ROWS.policy == looks.OURS) & (ROWS.gap == 0.2) & (ROWS.seed < 2)]
    assert [looks.ours(0.2, seed) for seed in range(2)] == kept.to_dict("records")
