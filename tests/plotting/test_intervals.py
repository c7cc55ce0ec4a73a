"""What is drawn is what the table says."""

import matplotlib as mpl
import pandas as pd
import pytest

from pgcpe import do
from pgcpe.estimators.tilted_equations import TiltedEquations
from pgcpe.estimators.tilted_pairs import TiltedPairs
from pgcpe.estimators.tilted_tables import TiltedTables
from pgcpe.plotting import plot_intervals
from pgcpe.plotting.intervals import ARGUMENTS
from pgcpe.policies.rules.tilted import BY_BETS

mpl.use("agg")

TABLE = pd.DataFrame(
    {
        "action": [do(X=1), do(X=0), do()],
        "estimate": [0.8, 0.5, 0.4],
        "lower": [0.7, 0.3, 0.2],
        "upper": [0.9, 0.85, 0.6],
    }
)


@pytest.fixture(autouse=True)
def closed():
    yield
    mpl.pyplot.close("all")


def said(axes):
    """Return the entries of the legend, below the figure or on the axes."""
    return [text.get_text() for legend in (*axes.figure.legends, axes.get_legend()) if legend for text in legend.texts]


def test_one_interval_for_each_arm_with_its_numbers_best_on_top():
    axes = plot_intervals(TABLE, epsilon=0.05, title="costs $5")
    segments = axes.collections[0].get_segments()
    assert [tuple(s[:, 0]) for s in segments] == [(0.7, 0.9), (0.3, 0.85), (0.2, 0.6)]
    assert [s[0, 1] for s in segments] == [2, 1, 0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["do(X=1)", "do(X=0)", "do()"]
    assert [text.get_text() for text in axes.texts][1] == "0.500 [0.300, 0.850]"
    assert axes.get_title(loc="left") == r"costs \$5"
    assert axes.lines[0].get_xdata()[0] == pytest.approx(0.75)
    assert any("cannot be better than the first one by more than epsilon" in entry for entry in said(axes))


def test_what_decided_is_drawn_where_the_table_says_it():
    """The line at the end that decided, a tick at that of an arm ruled out by bounds, none where direct plays did."""
    told = TABLE.assign(**{"ruled out by": ["", "direct plays", "bounds"], "bound": [0.72, 0.80, 0.55]})
    axes = plot_intervals(told, epsilon=0.05)
    assert axes.lines[0].get_xdata()[0] == pytest.approx(0.77)
    ticks = [c for c in axes.collections if "the most that this arm may be" in str(c.get_label())]
    assert [tick.get_offsets().tolist() for tick in ticks] == [[[0.55, 0.0]]]
    hollow = [c for c in axes.collections if "ruled out by direct plays" in str(c.get_label())]
    assert hollow[0].get_offsets().tolist() == [[0.5, 1.0]]
    assert hollow[0].get_facecolor()[0][:3].tolist() == [1.0, 1.0, 1.0]


def test_no_ends_are_compared_where_another_argument_decides():
    told = TABLE.assign(**{"ruled out by": ["", "estimates", "estimates"]})
    axes = plot_intervals(told, epsilon=0.05)
    assert not axes.lines
    assert any("in standard errors" in entry for entry in said(axes))


def test_axes_may_be_given_and_there_is_something_to_draw():
    _, axes = mpl.pyplot.subplots()
    assert plot_intervals(TABLE, ax=axes) is axes
    assert said(axes)
    with pytest.raises(ValueError, match="at least one row"):
        plot_intervals(TABLE.head(0))


@pytest.mark.parametrize("bets", [TiltedTables, TiltedPairs, TiltedEquations])
def test_every_kind_of_bets_is_explained(bets):
    assert BY_BETS.format(bets.bet_on) in ARGUMENTS
