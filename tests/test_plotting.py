"""What is drawn is what the table says."""

import matplotlib as mpl
import pandas as pd
import pytest

from pgcpe import do
from pgcpe.plotting import plot_intervals

mpl.use("agg")

TABLE = pd.DataFrame(
    {
        "action": [do(X=1), do(X=0), do()],
        "estimate": [0.8, 0.5, 0.4],
        "lower": [0.7, 0.3, 0.2],
        "upper": [0.9, 0.7, 0.6],
    }
)


def test_one_interval_for_each_arm_best_on_top():
    axes = plot_intervals(TABLE, epsilon=0.05, title="three arms")
    segments = axes.collections[0].get_segments()
    assert [tuple(s[:, 0]) for s in segments] == [(0.7, 0.9), (0.3, 0.7), (0.2, 0.6)]
    assert [s[0, 1] for s in segments] == [2, 1, 0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["do(X=1)", "do(X=0)", "do()"]
    assert axes.lines[0].get_xdata()[0] == pytest.approx(0.75)
    mpl.pyplot.close("all")


def test_axes_may_be_given():
    _, axes = mpl.pyplot.subplots()
    assert plot_intervals(TABLE, ax=axes) is axes
    mpl.pyplot.close("all")
