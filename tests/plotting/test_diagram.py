"""Drawings of graphs, by their geometry."""

import re
import xml.etree.ElementTree as ET

import networkx as nx
import pytest
from helpers import dag, random_questions

from pgcpe import do, load_network
from pgcpe.plotting.diagram import MOST_DRAWN, draw_graph, drawn_part, graph_as_svg

SVG = "{http://www.w3.org/2000/svg}"


def drawn(graph, **options):
    root = ET.fromstring(graph_as_svg(graph, **options))
    texts = [text.text for text in root.iter(f"{SVG}text")]
    arrows = [path for path in root.iter(f"{SVG}path") if path.get("marker-end")]
    return root, texts, arrows


def test_what_is_set_adjusted_hidden_and_wanted_is_told_apart_without_colour():
    graph = load_network("data/two_visits.bif", latents=["frailty", "adherence"])
    options = {"reward": "recovered", "values": {"drug1": "new"}, "adjusted": ["severity1"]}
    root, texts, arrows = drawn(graph, **options)
    assert sorted(texts) == sorted(["drug1 = new" if v == "drug1" else v for v in graph])
    boxes = [rect for rect in root.iter(f"{SVG}rect") if rect.get("stroke") == "#222"]
    assert len(boxes) == len(graph) + 1  # the reward has two
    assert sum(rect.get("stroke-dasharray") is not None for rect in boxes) == 2
    assert sum(rect.get("fill") == "url(#hatch)" for rect in boxes) == 1
    assert [rect.get("rx") for rect in boxes if rect.get("fill") == "#222"] == ["0"]
    assert len(arrows) == graph.number_of_edges()
    assert sum(path.get("stroke-dasharray") is not None for path in arrows) == graph.in_degree("drug1")


def test_nodes_do_not_overlap_and_arrows_pass_none_of_them():
    """On random graphs: boxes apart, inside the drawing, and no point of an arrow inside a box that is not its own."""
    for graph, treatments, outcome in random_questions(21, 60):
        root, _, arrows = drawn(graph, reward=outcome, values=dict.fromkeys(treatments, "1"))
        width, height = float(root.get("width")), float(root.get("height"))
        rects = [r for r in root.iter(f"{SVG}rect") if r.get("stroke") == "#222" and r.get("height") == "30.0"]
        boxes = [tuple(float(r.get(k)) for k in ("x", "y", "width", "height")) for r in rects]
        assert len(boxes) == len(graph)
        for i, (x, y, w, h) in enumerate(boxes):
            assert x >= 0
            assert y >= 0
            assert x + w <= width
            assert y + h <= height
            for other_x, other_y, other_w, other_h in boxes[:i]:
                assert x + w < other_x or other_x + other_w < x or y + h < other_y or other_y + other_h < y
        for arrow in arrows:
            for px, py in stops(arrow.get("d")):
                inside = [1 for x, y, w, h in boxes if x < px < x + w and y < py < y + h]
                assert inside == []


def stops(path):
    """The points where the parts of an arrow meet."""
    x = None
    for letter, numbers in re.findall(r"([MCV])([^MCV]*)", path):
        values = [float(n) for n in numbers.split()]
        x = values[-2] if letter in "MC" else x
        yield x, values[-1]


def test_causes_are_above_their_effects():
    graph = load_network("asia")
    root, texts, _ = drawn(graph, reward="dysp", values={})
    y = {text.text: float(text.get("y")) for text in root.iter(f"{SVG}text")}
    assert set(texts) == set(graph)
    assert all(y[cause] < y[effect] for cause, effect in graph.edges)


def test_of_a_large_graph_what_matters_is_drawn():
    graph = load_network("win95pts")
    shown = drawn_part(graph, "Problem1", ["PrtDriver"], [])
    assert {"Problem1", "PrtDriver"} <= shown
    assert len(shown) <= MOST_DRAWN < len(graph)
    assert nx.has_path(graph.subgraph(shown), "PrtDriver", "Problem1")
    small = load_network("asia")
    assert drawn_part(small, "dysp", ["bronc"], []) == set(small)


def test_names_are_escaped():
    graph = dag([("a <b> & c", 'y "z"')])
    _, texts, _ = drawn(graph, reward='y "z"', values={"a <b> & c": "<1"})
    assert sorted(texts) == ["a <b> & c = <1", 'y "z"']
    with pytest.raises(ValueError, match="at least one variable"):
        graph_as_svg(graph, reward='y "z"', values={}, shown=[])


def test_an_action_is_cut_off_and_what_is_adjusted_for_is_found(tmp_path):
    graph = load_network("data/two_visits.bif", latents=["frailty", "adherence"])
    drawing = draw_graph(graph, reward="recovered", action=do(drug1="new"))
    by_hand = graph_as_svg(graph, reward="recovered", values={"drug1": "new"}, adjusted=["severity1"])
    assert drawing._repr_svg_() == by_hand
    assert "set: drug1 = new; adjusted for: severity1; hidden: adherence, frailty" in str(drawing)
    assert str(drawing).count("(cut)") == graph.in_degree("drug1")
    drawing.save(tmp_path / "graph.svg")
    assert ET.parse(tmp_path / "graph.svg").getroot().tag == f"{SVG}svg"
    plain = draw_graph(graph, reward="recovered")
    assert "set" not in str(plain)
