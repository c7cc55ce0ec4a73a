"""Curves of policies."""

import matplotlib as mpl
import pandas as pd

from pgcpe.plotting import plot_curves

mpl.use("agg")


def test_policies_of_one_style_have_one_entry_in_the_legend():
    """The same policy with other constants in another panel."""
    curves = [("one", "A (.3)"), ("one", "B"), ("two", "A (.25)"), ("two", "B")]
    table = pd.DataFrame(
        [{"panel": p, "policy": q, "x": x, "y": 0.5, "low": 0.4, "high": 0.6} for p, q in curves for x in (1, 2)]
    )
    figure = plot_curves(table, title="", x="x", y="y", styles={"A (.3)": 0, "A (.25)": 0, "B": 1})
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["A (.3) / A (.25)", "B"]
    own = plot_curves(table, title="", x="x", y="y")
    assert len(own.legends[0].get_texts()) == 3
    mpl.pyplot.close("all")
