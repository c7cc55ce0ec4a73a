"""Bit sets against networkx."""

import itertools

import networkx as nx
import numpy as np
import pytest
from graphs import on_networkx as oracle
from helpers import dag, hidden_anywhere, random_dag, random_questions

from pgcpe import Action, admissible_sequence, equal_effect, load_network
from pgcpe.graphs.bitsets import bit_graph, members
from pgcpe.graphs.identification import is_invariant_under, mutilated
from pgcpe.graphs.structure import checked_graph, states_of


def some_of(rng, names, share=0.3):
    return {str(v) for v in names if rng.random() < share}


def random_graphs(seed, n):
    """Random graphs of 3 to 12 variables, with latents at the top or anywhere."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        nodes = int(rng.integers(3, 12))
        yield rng, hidden_anywhere(rng, nodes, 0.3) if i % 2 else random_dag(rng, nodes, int(rng.integers(3)), 0.3)


def test_members():
    assert list(members(0)) == []
    assert list(members(0b1011)) == [0, 1, 3]
    assert list(members(1 << 200 | 1)) == [0, 200]


def test_names_and_bits():
    graph = dag([("B", "A"), ("C", "A")], {"C"}, ["D"])
    bits = bit_graph(graph)
    assert bits.variables == ("A", "B", "C", "D")
    assert bits.bits(["D", "A", "A"]) == 0b1001
    assert bits.names(0b1001) == {"A", "D"}
    assert bits.names(bits.latents) == {"C"}
    checked = checked_graph(graph)
    assert bit_graph(checked) is bit_graph(checked)


def test_ancestors_descendants_and_cuts_are_those_of_networkx():
    for rng, graph in random_graphs(0, 200):
        bits, some, past = bit_graph(graph), some_of(rng, graph), some_of(rng, graph, 0.2)
        assert bits.names(bits.ancestors(bits.bits(some))) == some.union(*(nx.ancestors(graph, v) for v in some))
        assert bits.names(bits.descendants(bits.bits(some))) == some.union(*(nx.descendants(graph, v) for v in some))
        left = graph.subgraph((set(graph) - past) | some)
        into = nx.DiGraph(left.edges)
        into.add_nodes_from(left)
        into.remove_edges_from(list(left.out_edges(past)))  # members of both end paths as well
        reached = bits.names(bits.ancestors(bits.bits(some - past), past=bits.bits(past)))
        assert reached == (some - past).union(*(nx.ancestors(into, v) for v in some - past))
        less = bits.cut(under=bits.bits(some), over=bits.bits(past))
        expected = mutilated(graph, under=some, over=past)
        assert [less.names(p) for p in less.parents] == [set(expected.predecessors(v)) for v in bits.variables]
        assert [less.names(c) for c in less.children] == [set(expected.successors(v)) for v in bits.variables]


def test_separation_is_that_of_networkx():
    answers = [0, 0]
    for rng, graph in random_graphs(1, 400):
        bits, order = bit_graph(graph), [str(v) for v in rng.permutation(list(graph))]
        x, y, rest = order[:1], order[1:2], order[2:]
        given = some_of(rng, rest)
        more = some_of(rng, set(rest) - given, 0.2)
        expected = nx.is_d_separator(nx.DiGraph(graph), {*x, *more}, set(y), given)
        assert bits.separates(bits.bits(given), bits.bits([*x, *more]), bits.bits(y)) == expected
        answers[expected] += 1
    assert min(answers) > 80


def test_invariance_is_separation_from_an_indicator():
    answers = [0, 0]
    for rng, graph in random_graphs(2, 300):
        seen = sorted(set(graph) - graph.latents)
        for variable in seen:
            given, played = some_of(rng, set(seen) - {variable}), some_of(rng, seen, 0.2)
            expected = oracle.is_invariant_under(graph, played, variable, given)
            assert is_invariant_under(graph, played, variable, given) == expected
            answers[expected] += 1
    assert min(answers) > 400


def questions_of(network, outcome, size):
    others = [v for v in network if v != outcome]
    for k in range(size + 1):
        yield from itertools.combinations(others, k)


def check_all(network, outcome, size):
    """All sequences of small sets, and whether each set leaves each factor of them invariant."""
    graph, states = checked_graph(network), states_of(network)
    sets, factors = list(questions_of(graph, outcome, size)), set()
    for treatments in sets:
        found = admissible_sequence(graph, treatments, outcome, states=states)
        assert found == oracle.admissible_sequence(graph, treatments, outcome, states)
        given = set()
        for x, z in found or []:
            for v in sorted(z):
                factors.add((v, frozenset(given)))
                given.add(v)
            given.add(x)
        factors.add((outcome, frozenset(given)))
    return graph, sets, factors


def test_all_questions_of_asia():
    for outcome in ("dysp", "xray"):
        graph, sets, factors = check_all(load_network("asia"), outcome, 3)
        for played, (variable, given) in itertools.product(sets, factors):
            expected = oracle.is_invariant_under(graph, played, variable, given)
            assert is_invariant_under(graph, played, variable, given) == expected


@pytest.mark.slow
def test_all_pairs_of_alarm():
    graph, sets, factors = check_all(load_network("alarm"), "BP", 2)
    rng = np.random.default_rng(3)
    for variable, given in sorted(factors, key=str):
        for i in rng.choice(len(sets), 40, replace=False):
            expected = oracle.is_invariant_under(graph, sets[i], variable, given)
            assert is_invariant_under(graph, sets[i], variable, given) == expected


def test_sequences_of_random_graphs():
    missing = 0
    for graph, treatments, outcome in random_questions(4, 600):
        found = admissible_sequence(graph, treatments, outcome)
        assert found == oracle.admissible_sequence(graph, treatments, outcome)
        missing += found is None
    for rng, graph in random_graphs(5, 200):
        *others, outcome = sorted(set(graph) - graph.latents)
        treatments = [str(v) for v in rng.choice(others, min(len(others), int(rng.integers(1, 5))), replace=False)]
        states = {v: tuple(range(int(rng.integers(2, 5)))) for v in graph}
        found = admissible_sequence(graph, treatments, outcome, states=states)
        assert found == oracle.admissible_sequence(graph, treatments, outcome, states)
        missing += found is None
    assert 150 < missing < 500


def test_a_graph_of_more_variables_than_a_machine_word_has_bits():
    names = [f"V{i:03}" for i in range(200)]
    graph = dag(itertools.pairwise(names))
    assert admissible_sequence(graph, ["V100"], "V199") == [("V100", frozenset())]
    assert is_invariant_under(graph, ["V000"], "V199", ["V150"])
    assert not is_invariant_under(graph, ["V160"], "V159", ["V161"])
    assert equal_effect(graph, Action(dict.fromkeys(["V001", "V190"], 0)), "V199") == Action({"V190": 0})
