"""What a graph says: true on networks of that graph, by enumeration, wherever a play is counted."""

import itertools

import numpy as np
import pytest
from helpers import dag, hidden_anywhere, is_separated, joint, random_dag, random_tables

from pgcpe import CausalBandit, do
from pgcpe.estimators.graph_statements import Statement, inseparable_pairs, statements_of
from pgcpe.estimators.graph_test import StatementCounts
from pgcpe.graphs.bitsets import bit_graph
from pgcpe.plays.actions import Action
from pgcpe.plays.samples import Coding, Samples


def expected_counts(graph, tables, statements, actions, states, observed):
    """The tables of all statements with the probability of every observed play, under every action, as its count."""
    coding = Coding(observed, tuple(states[v] for v in observed))
    order = list(tables)
    hidden = tuple(i for i, v in enumerate(order) if v not in observed)
    place = [[v for v in order if v in observed].index(v) for v in observed]
    counts = StatementCounts(graph, statements, states, coding, actions)
    sums = [np.zeros_like(counts.table(i)) for i in range(len(statements))]
    for action in actions:
        law = joint(tables, dict(action)).sum(axis=hidden).transpose(place)
        for codes in itertools.product(*(range(n) for n in law.shape)):
            one = StatementCounts(graph, statements, states, coding, actions)
            one.add(Samples(coding, np.array([codes], np.int32), (action,), np.zeros(1, np.intp)))
            for i in range(len(statements)):
                sums[i] += law[codes] * one.table(i)
    return sums


def random_actions(rng, observed, states, n):
    found = [do()]
    for _ in range(n):
        names = rng.choice(observed, int(rng.integers(1, 3)), replace=False)
        found.append(Action({str(v): int(rng.integers(len(states[v]))) for v in names}))
    return list(dict.fromkeys(found))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_all_statements_are_true_of_networks_of_the_graph(seed):
    """Hidden variables anywhere, up to three states, states of probability zero, actions on one or two variables."""
    rng = np.random.default_rng(seed)
    graph = random_dag(rng, 4, 2, 0.5) if seed % 2 else hidden_anywhere(rng, 6)
    tables = random_tables(rng, graph)
    if seed % 3 == 0:  # some states cannot happen: empty cells
        for v, (parents, values) in tables.items():
            values[..., 0] *= rng.random(values.shape[:-1]) < 0.8
            tables[v] = parents, values / values.sum(axis=-1, keepdims=True)
    observed = tuple(v for v in graph if v not in graph.latents)
    states = {v: tuple(range(tables[v][1].shape[-1])) for v in graph}
    actions = random_actions(rng, observed, states, 5)
    reward = observed[-1] if seed % 4 == 0 else None
    actions = [a for a in actions if reward not in a]
    statements = statements_of(graph, states, actions, reward=reward)
    assert {s.kind for s in statements} >= {"invariance"}
    for statement, table in zip(
        statements, expected_counts(graph, tables, statements, actions, states, observed), strict=True
    ):
        for cell in table:
            seen = cell[cell.sum(axis=1) > 1e-12]
            law = seen / seen.sum(axis=1, keepdims=True)
            assert np.allclose(law, law[:1], atol=1e-9), statement


def test_every_pair_without_an_edge_is_separated_or_said_to_be_inseparable():
    rng = np.random.default_rng(3)
    for _ in range(60):
        graph = hidden_anywhere(rng, 6)
        observed = [v for v in graph if v not in graph.latents]
        states = dict.fromkeys(graph, (0, 1))
        statements = [s for s in statements_of(graph, states) if s.kind == "separation"]
        for s in statements:
            assert is_separated(graph, s.variable, s.other, set(s.given)), s
            assert s.holds_in(bit_graph(graph))
        apart = {frozenset(p) for p in itertools.combinations(observed, 2)}
        apart -= {frozenset(e) for e in graph.edges}
        left = {frozenset(p) for p in inseparable_pairs(graph, observed)}
        assert {s.pair for s in statements} | left == apart
        for v, w in map(tuple, left):  # no set at all does
            others = [u for u in observed if u not in (v, w)]
            for n in range(len(others) + 1):
                assert not any(is_separated(graph, v, w, set(z)) for z in itertools.combinations(others, n))


def test_statements_of_a_chain():
    graph = dag([("A", "B"), ("B", "Y")])
    said = statements_of(graph, dict.fromkeys(graph, (0, 1)), [do(), do(A=0, B=0), do(B=0)], reward="Y")
    assert [str(s) for s in said if s.kind == "separation"] == ["Y is independent of A given B"]
    assert "setting A leaves Y given B as it is" in map(str, said)
    assert "setting B leaves A as it is" in map(str, said)
    assert "setting B leaves Y as it is" not in map(str, said)
    assert str(said[-1]) == "do(A=0, B=0) has the same effect on Y as do(B=0)"
    assert said[-1].pair == {"A", "B", "Y"}


def test_merging_by_what_is_set_without_effect_needs_several_classes():
    graph = dag([("B", "Y")], nodes=["A"])
    actions = [do(A=0), do(A=1), do(A=0, B=0), do(A=1, B=0), do(B=1)]
    said = statements_of(graph, dict.fromkeys(graph, (0, 1)), actions, reward="Y")
    idle = [s for s in said if s.kind == "merging" and s.other is not None]
    assert [str(s) for s in idle] == ["setting A beside others changes nothing of Y"]
    assert idle[0].members == tuple(actions[:4])
    wrong = bit_graph(dag([("B", "Y"), ("A", "Y")]))
    assert not any(s.holds_in(wrong) for s in said if s.kind == "merging")


def test_what_a_hidden_cause_hides():
    graph = dag([("U", "X"), ("U", "Y"), ("Z", "X"), ("X", "Y")], ["U"])
    said = statements_of(graph, dict.fromkeys(graph, (0, 1)), [do(), do(X=0), do(Z=0)])
    assert inseparable_pairs(graph, ["Z", "X", "Y"]) == [("Z", "Y")]
    given_parents = {s.variable for s in said if s.kind == "invariance" and s.given}
    assert not given_parents  # X and Y have a hidden parent, Z no parent
    assert Statement("invariance", "Z", "X") in said


def test_arms_that_a_bandit_merges_are_compared():
    graph = dag([("A", "B"), ("B", "Y")])
    arms = [do(A=0, B=0), do(B=0), do(A=1, B=0), do(A=0)]
    bandit = CausalBandit(graph, reward="Y", arms=arms)
    said = statements_of(bandit.graph, bandit.states, bandit.listed, variables=bandit.observed, reward="Y")
    merged = [s.members for s in said if s.kind == "merging" and s.other is None]
    assert merged == [bandit.merged[do(A=0, B=0)]]
