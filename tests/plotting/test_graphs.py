"""Graphs in layers."""

import matplotlib as mpl
import pytest

from pgcpe.plotting import plot_doubts, plot_graph

mpl.use("agg")


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
