"""Explanations, taken at their word, against all paths of small graphs."""

import itertools
import re

import networkx as nx
import numpy as np
import pytest
from helpers import case, case_network, dag, hidden_anywhere, is_separated, random_questions

from pgcpe import admissible_sequence, do, explain, is_admissible_sequence
from pgcpe.graphs.explanation import connecting_path
from pgcpe.graphs.identification import mutilated


def test_explanations():
    graph = dag([("Z", "X"), ("Z", "Y"), ("X", "Y")])
    why = explain(graph, do(X=1), "Y")
    assert why.words == "E[Y | do(X)] is by the g-formula the mean of E[Y | Z, X] over P(Z)."
    assert why.latex == r"E[\mathrm{Y} \mid do(x)] = \sum_{z} E[\mathrm{Y} \mid z, x] P(z)"
    assert why.sequence == [("X", frozenset({"Z"}))]
    assert (why.treatments, why.outcome, why.path) == (("X",), "Y", "")
    bow = explain(dag([("X", "Y"), ("U", "X"), ("U", "Y")], {"U"}), ["X"], "Y")
    assert bow.sequence is None
    assert bow.path == "X <- U -> Y"
    assert "X <- U -> Y stays open given nothing" in str(bow)
    twice = explain(case_network(case("sequential_treatments")), ["A2", "A1"], "Y")
    assert "P(C1) P(C2 | C1, A1)" in twice.words
    assert explain(dag([("X", "Y")]), ["X"], "Y").words.startswith("E[Y | do(X)] = E[Y | X]")


def test_the_path_in_the_way_is_open_and_leads_into_the_treatment():
    for graph, treatments, outcome in random_questions(5, 150):
        why = explain(graph, treatments, outcome)
        assert (why.sequence is None) == (why.path != "")
        if why.path:
            assert why.path.split()[0] in treatments
            assert why.path.split()[-1] == outcome


def test_connecting_paths_are_open_and_found_iff_not_separated():
    rng = np.random.default_rng(6)
    for graph, _, _ in random_questions(7, 200):
        x, y, *rest = (str(v) for v in rng.permutation(list(graph)))
        given = set(rest[: int(rng.integers(0, 3))])
        path = connecting_path(graph, x, y, given)
        assert (path == "") == is_separated(graph, x, y, given)
        if path:
            nodes, arrows = path.split()[::2], path.split()[1::2]
            for a, arrow, b in zip(nodes, arrows, nodes[1:], strict=False):
                assert graph.has_edge(a, b) if arrow == "->" else graph.has_edge(b, a)
            for before, v, after in zip(arrows, nodes[1:-1], arrows[1:], strict=False):
                if (before, after) == ("->", "<-"):
                    assert given & (nx.descendants(graph, v) | {v})
                else:
                    assert v not in given


def is_open(graph, path, given) -> bool:
    """Whether a path, written with its arrows, is in the graph and d-connects its ends."""
    nodes, arrows = path.split()[::2], path.split()[1::2]
    in_graph = all(
        graph.has_edge(*((a, b) if arrow == "->" else (b, a)))
        for a, arrow, b in zip(nodes, arrows, nodes[1:], strict=False)
    )
    through = (
        bool(given & (nx.descendants(graph, v) | {v})) if arrows[i : i + 2] == ["->", "<-"] else v not in given
        for i, v in enumerate(nodes[1:-1])
    )
    return in_graph and len(set(nodes)) == len(nodes) and all(through)


def drawn(graph, nodes) -> str:
    text = nodes[0]
    for a, b in itertools.pairwise(nodes):
        text += f" {'->' if graph.has_edge(a, b) else '<-'} {b}"
    return text


def test_no_open_path_is_shorter_than_the_connecting_path():
    """Against all paths of the skeleton, one by one."""
    rng = np.random.default_rng(15)
    counts = [0, 0]
    for _ in range(200):
        graph = hidden_anywhere(rng, int(rng.integers(4, 8)))
        x, y, *rest = (str(v) for v in rng.permutation(list(graph)))
        given = set(rest[: int(rng.integers(0, 4))])
        skeleton = nx.Graph(graph.edges)
        skeleton.add_nodes_from(graph)
        paths = [drawn(graph, nodes) for nodes in nx.all_simple_paths(skeleton, x, y)]
        lengths = [len(path.split()) for path in paths if is_open(graph, path, given)]
        found = connecting_path(graph, x, y, given)
        assert bool(found) == bool(lengths) == (not nx.is_d_separator(graph, x, y, given))
        counts[bool(found)] += 1
        if found:
            assert is_open(graph, found, given)
            assert len(found.split()) == min(lengths)
    assert min(counts) > 30


def test_the_path_in_the_way_stays_open_in_the_graph_of_its_step():
    """The words name the path and what is given; no part of what may be conditioned on closes the way."""
    seen = 0
    for graph, treatments, outcome in random_questions(16, 200):
        why = explain(graph, treatments, outcome)
        assert why.sequence == admissible_sequence(graph, treatments, outcome)
        if why.sequence is not None:
            continue
        seen += 1
        path, names = re.search(r"sequence: (.*) stays open given (.*), the most", str(why)).groups()
        assert path == why.path
        x, given = path.split()[0], set() if names == "nothing" else set(names.split(", "))
        later = set(treatments) - given - {x}
        cut = mutilated(graph, under=[x], over=later)
        assert not given & (graph.latents | {outcome})
        assert not given & set().union(*({v} | nx.descendants(graph, v) for v in {x} | later))
        assert is_open(cut, path, given)
        before = set(treatments) & given
        for n in range(len(given - before) + 1):
            for some in itertools.combinations(given - before, n):
                assert not is_separated(cut, x, outcome, before | set(some))
    assert seen > 50


def test_words_and_latex_of_a_sequence():
    network = case_network(case("sequential_treatments"))
    why = explain(network, ["A2", "A1"], "Y")
    assert (
        why.words
        == "E[Y | do(A1, A2)] is by the g-formula the mean of E[Y | C1, A1, C2, A2] over P(C1) P(C2 | C1, A1)."
    )
    assert why.latex == (
        r"E[\mathrm{Y} \mid do(a_{1}, a_{2})] = \sum_{c_{1}, c_{2}} "
        r"E[\mathrm{Y} \mid c_{1}, a_{1}, c_{2}, a_{2}] P(c_{1}) P(c_{2} \mid c_{1}, a_{1})"
    )
    assert why.formula == "E[Y | do(a1, a2)] = sum_{c1, c2} E[Y | c1, a1, c2, a2] P(c1) P(c2 | c1, a1)"
    assert str(why) == f"{why.words}\n{why.formula}"
    assert why._repr_markdown_() == f"{why.words}\n\n$${why.latex}$$"
    front = explain(case_network(case("front_door")), ["smoker"], "cancer")
    assert front.path == "smoker <- U -> cancer"
    assert str(front) == front.words
    assert explain(network, [], "Y").words.startswith("E[Y | do()] = E[Y]")


def test_what_to_record_is_what_gives_a_sequence():
    """Against the definition on every graph with one variable fewer hidden, by brute force over orders and sets."""
    seen = [0, 0]
    for graph, treatments, outcome in random_questions(17, 120):
        why = explain(graph, treatments, outcome)
        if why.sequence is not None:
            assert why.measure == ()
            continue
        helps = tuple(u for u in sorted(graph.latents) if has_sequence(graph, graph.latents - {u}, treatments, outcome))
        assert why.measure == helps
        seen[bool(helps)] += 1
        assert all(u in str(why) for u in helps)
        assert ("would give one" in str(why)) == bool(graph.latents)
    assert min(seen) > 5


def has_sequence(graph, latents, treatments, outcome):
    """Whether any sets of observed variables, taken in any order of the treatments, are admissible."""
    recorded = dag(graph.edges, latents, graph.nodes)
    free = sorted(set(graph) - set(latents) - {outcome, *treatments})
    steps = range(len(treatments) + 1)  # at which each variable is taken, the last for never
    return any(
        is_admissible_sequence(
            recorded, [(x, {v for v, k in zip(free, at, strict=True) if k == i}) for i, x in enumerate(order)], outcome
        )
        for order in itertools.permutations(treatments)
        for at in itertools.product(steps, repeat=len(free))
    )


def test_words_of_what_to_record():
    one = explain(dag([("U", "X"), ("U", "Y"), ("X", "Y")], {"U"}), ["X"], "Y")
    assert str(one).endswith("the most that may be conditioned on. Recording U would give one.")
    either = explain(dag([("U", "X"), ("U", "V"), ("V", "Y"), ("X", "Y")], {"U", "V"}), ["X"], "Y")
    assert either.measure == ("U", "V")
    assert str(either).endswith("Recording U or V would give one.")
    both = explain(dag([("U", "X"), ("U", "Y"), ("V", "X"), ("V", "Y"), ("X", "Y")], {"U", "V"}), ["X"], "Y")
    assert both.measure == ()
    assert str(both).endswith("Recording no single hidden variable would give one.")


def test_latex_can_be_set():
    mathtext = pytest.importorskip("matplotlib.mathtext")
    parser = mathtext.MathTextParser("path")
    for x, z, y in [
        ("X", "Z", "Y"),
        ("X_1", "Z12", "Y"),
        ("light-on", "a_b_c", "V 3"),
        ("12", "X10_2", "_"),
        ("Ä", "ß", "ü"),
    ]:
        why = explain(dag([(z, x), (z, y), (x, y)]), [x], y)
        parser.parse(f"${why.latex}$")


def test_latex_tells_names_apart_that_differ_in_case():
    """The sum over x must not bind the treatment X."""
    why = explain(dag([("x", "X"), ("x", "Y"), ("X", "Y")]), ["X"], "Y")
    bound, conditioned = re.search(r"sum_{(.*)} E\[.* \\mid (.*)\]", why.latex).groups()
    assert len(set(conditioned.split(", "))) == 2
    assert bound in conditioned.split(", ")
