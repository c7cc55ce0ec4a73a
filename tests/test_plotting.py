"""What is drawn is what the table says."""

import matplotlib as mpl
import pandas as pd
import pytest

from pgcpe import do
from pgcpe.plotting import plot_doubts, plot_graph, plot_intervals

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


def test_causes_stand_left_of_effects_and_every_edge_has_its_number():
    edges = {("A", "B"): 1.0, ("B", "C"): 0.4, ("A", "C"): -0.6}
    axes = plot_graph({"A": "a\n0.1", "B": "B", "C": "C", "D": "alone"}, edges)
    at = {text.get_text(): text.get_position() for text in axes.texts}
    assert at["a\n0.1"][0] < at["B"][0] < at["C"][0]
    assert at["alone"][0] == pytest.approx(at["a\n0.1"][0])
    assert len(set(at.values())) == len(at) == 4 + 3
    assert {"1.00", "0.40", "-0.60"} < set(at)
    mpl.pyplot.close("all")


@pytest.mark.parametrize("edges", [{("A", "B"): 1.0, ("B", "A"): 1.0}, {}])
def test_a_graph_to_draw_has_nodes_and_no_cycle(edges):
    with pytest.raises(ValueError, match="at least one node and no cycle"):
        plot_graph({}, edges)


def test_axes_may_be_given():
    _, axes = mpl.pyplot.subplots()
    assert plot_intervals(TABLE, ax=axes) is axes
    mpl.pyplot.close("all")


def test_doubtful_pairs_are_drawn_beside_the_edges():
    axes = plot_doubts([("U", "X"), ("X", "Y")], {"U"}, {("U", "Y"): "separation"}, title="costs $5")
    texts = [text.get_text() for text in axes.texts]
    assert {"U", "X", "Y", "separation"} <= set(texts)
    assert axes.get_title(loc="left") == r"costs \$5"
    dashed = [c for c in axes.collections if "tab:red" in str(c.get_label()) or c.get_linestyle()[0][1] is not None]
    assert dashed
    mpl.pyplot.close("all")
    with pytest.raises(ValueError, match="no cycle"):
        plot_doubts([("X", "Y"), ("Y", "X")], set(), {})
