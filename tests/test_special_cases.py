"""The paper's special cases, against exact distributions and the small cases."""

import itertools

import networkx as nx
import numpy as np
import pytest
from helpers import case, dag, is_separated, joint, random_dag, random_tables

from pgcpe import is_admissible_sequence
from pgcpe.special_cases import adjustment_set, causal_tree_sequence, is_adjustment_set, parents_sequence

GRAPHS = case("graphs")


@pytest.mark.parametrize("entry", GRAPHS["adjustment"], ids=lambda entry: entry["source"])
def test_adjustment_cases(entry):
    graph = dag(entry["edges"], entry.get("latents", ()), entry.get("isolated", ()))
    treatments, outcome = entry["treatments"], entry["outcome"]
    assert all(is_adjustment_set(graph, treatments, outcome, z) for z in entry["valid"])
    assert not any(is_adjustment_set(graph, treatments, outcome, z) for z in entry["invalid"])
    found = adjustment_set(graph, treatments, outcome)
    assert (found is None) == (not entry["valid"])
    if found is not None:
        assert is_adjustment_set(graph, treatments, outcome, found)
    if "admissible" in entry:
        assert is_admissible_sequence(graph, entry["admissible"], outcome)


@pytest.mark.parametrize("entry", GRAPHS["separation"], ids=lambda entry: entry["source"])
def test_separation_cases(entry):
    graph = nx.DiGraph(entry["edges"])
    for answer, sets in ((True, entry["separators"]), (False, entry["not"])):
        for given in sets:
            assert is_separated(graph, entry["x"], entry["y"], set(given)) == answer
            assert nx.is_d_separator(graph, entry["x"], entry["y"], set(given)) == answer


def adjusted(passive, order, z, setting, outcome):
    """Sum over z of P(Y | s, z) P(z), as an array over Y."""
    keep = [order.index(v) for v in (*z, *setting, outcome)]
    table = passive.sum(axis=tuple(i for i in range(len(order)) if i not in keep))
    axes = sorted(keep)
    table = table.transpose([axes.index(k) for k in keep])
    weight = table.sum(axis=tuple(range(len(z), table.ndim)))
    at = table[(..., *(setting[v] for v in setting), slice(None))] if setting else table
    conditional = at / at.sum(axis=-1, keepdims=True)
    return (conditional * weight[..., None]).reshape(-1, table.shape[-1]).sum(axis=0)


def test_adjustment_sets_are_those_that_give_the_effect():
    """On a random model a set adjusts rightly iff the theorem says so (a wrong set is right by chance only)."""
    rng = np.random.default_rng(0)
    yes = no = 0
    for _ in range(120):
        observed = int(rng.integers(4, 6))
        graph = random_dag(rng, observed, int(rng.integers(0, 3)), 0.5)
        outcome = f"V{observed - 1}"
        treatments = [
            str(v) for v in rng.choice([f"V{i}" for i in range(observed - 1)], int(rng.integers(1, 3)), False)
        ]
        tables = random_tables(rng, graph, most=2)
        order, passive = list(tables), joint(tables)
        setting = {x: int(rng.integers(2)) for x in treatments}
        others = tuple(i for i, v in enumerate(order) if v != outcome)
        truth = joint(tables, setting).sum(axis=others)
        rest = [v for v in graph if v not in graph.latents and v != outcome and v not in treatments]
        any_valid = False
        for size in range(len(rest) + 1):
            for z in itertools.combinations(rest, size):
                right = abs(adjusted(passive, order, z, setting, outcome) - truth).max() < 1e-9
                valid = is_adjustment_set(graph, treatments, outcome, z)
                # a superfluous treatment may make an invalid set right; the theorem is about all settings and models
                assert right or not valid
                any_valid |= valid
                yes, no = yes + valid, no + (not valid and not right)
        found = adjustment_set(graph, treatments, outcome)
        assert (found is not None) == any_valid
        assert found is None or is_adjustment_set(graph, treatments, outcome, found)
    assert yes > 100
    assert no > 100


def test_parents_sequence():
    """Theorem 5: without hidden variables the parents are admissible; None only where the outcome is among them."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        observed = int(rng.integers(4, 8))
        graph = random_dag(rng, observed, 0, 0.5)
        outcome = f"V{observed - 1}"
        treatments = [
            str(v) for v in rng.choice([f"V{i}" for i in range(observed - 1)], int(rng.integers(1, 4)), False)
        ]
        sequence = parents_sequence(graph, treatments, outcome)
        assert sequence is not None
        assert {x for x, _ in sequence} == set(treatments)
        assert is_admissible_sequence(graph, sequence, outcome)
    assert parents_sequence(dag([("Y", "X")]), ["X"], "Y") is None
    with pytest.raises(ValueError, match="without hidden variables"):
        parents_sequence(dag([("U", "X"), ("U", "Y")], {"U"}), ["X"], "Y")


def test_causal_tree():
    """A tree as in the paper's Appendix A: confounders within layers; the treatments of two layers."""
    tree = [("X1", "X2"), ("X1", "X3"), ("X1", "X4"), ("X2", "X5"), ("X3", "X6"), ("X4", "X7"), ("X6", "Y")]
    graph = dag([*tree, ("U1", "X2"), ("U1", "X3"), ("U2", "X5"), ("U2", "X6")], {"U1", "U2"})
    sequence = causal_tree_sequence(graph, ["X3", "X6"], "Y")
    assert sequence == [("X3", frozenset({"X1", "X2"})), ("X6", frozenset({"X5"}))]
    assert is_admissible_sequence(graph, sequence, "Y")
    assert causal_tree_sequence(graph, ["X3"], "Y") is not None
    with pytest.raises(ValueError, match="must form a directed tree"):
        causal_tree_sequence(dag([("A", "Y"), ("B", "Y")]), ["A"], "Y")
    with pytest.raises(ValueError, match="two variables of one layer"):
        causal_tree_sequence(dag([("A", "B"), ("B", "Y"), ("U", "A"), ("U", "B")], {"U"}), ["A"], "Y")
    assert causal_tree_sequence(dag([("R", "X"), ("R", "Y"), ("U", "X"), ("U", "Y")], {"U"}), ["X"], "Y") is None


def test_errors():
    graph = dag([("X", "Y")])
    for ask in (adjustment_set, parents_sequence, causal_tree_sequence):
        with pytest.raises(ValueError, match="must be variables of the graph"):
            ask(graph, ["Q"], "Y")
        with pytest.raises(ValueError, match="must not be a treatment"):
            ask(graph, ["Y"], "Y")
    with pytest.raises(ValueError, match="adjusted variables must be"):
        is_adjustment_set(graph, ["X"], "Y", ["Q"])
