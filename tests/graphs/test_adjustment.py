"""The paper's special cases, against exact distributions and the small cases."""

import itertools

import networkx as nx
import numpy as np
import pytest
from helpers import case, dag, is_separated, joint, random_dag, random_tables

from pgcpe import admissible_sequence, is_admissible_sequence
from pgcpe.graphs.adjustment import adjustment_set, causal_tree_sequence, is_adjustment_set, parents_sequence

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


# ------------------------------------------------------------------------------------------ against exact distributions


def effect_of(tables, setting, outcome):
    others = tuple(i for i, v in enumerate(tables) if v != outcome)
    return joint(tables, setting).sum(axis=others)


def settings_of(tables, treatments):
    for codes in itertools.product(*(range(tables[x][1].shape[-1]) for x in treatments)):
        yield dict(zip(treatments, codes, strict=True))


def by_sequence(passive, order, sequence, setting, outcome):
    """Eq. (4) on the exact joint distribution, as an array over the outcome: weights are multiplied up step by step."""
    adjusted_for = [v for _, z in sequence for v in sorted(z)]
    total = np.zeros(passive.shape[order.index(outcome)])
    for codes in itertools.product(*(range(passive.shape[order.index(v)]) for v in adjusted_for)):
        z, known, weight = dict(zip(adjusted_for, codes, strict=True)), {}, 1.0
        for x, zs in sequence:
            before = passive[tuple(known.get(v, slice(None)) for v in order)].sum()
            known |= {v: z[v] for v in zs}
            weight *= passive[tuple(known.get(v, slice(None)) for v in order)].sum() / before
            known[x] = setting[x]
        left = [v for v in order if v not in known]
        cell = passive[tuple(known.get(v, slice(None)) for v in order)]
        cell = cell.sum(axis=tuple(i for i, v in enumerate(left) if v != outcome))
        total += weight * cell / cell.sum()
    return total


def random_question(rng, hidden):
    observed = int(rng.integers(4, 6))
    graph = random_dag(rng, observed, hidden, 0.5)
    names = [f"V{i}" for i in range(observed)]
    outcome = names[-1] if rng.random() < 0.8 else names[-2]
    pool = [v for v in names if v != outcome]
    return graph, [str(v) for v in rng.choice(pool, int(rng.integers(1, 3)), replace=False)], outcome


def test_a_set_adjusts_iff_it_is_right_for_every_setting():
    """Soundness and completeness of the criterion: random tables meet an accidental equality with probability zero."""
    rng = np.random.default_rng(2)
    counts = [0, 0]
    for _ in range(150):
        graph, treatments, outcome = random_question(rng, int(rng.integers(0, 3)))
        tables = random_tables(rng, graph)
        order, passive = list(tables), joint(tables)
        truths = [(setting, effect_of(tables, setting, outcome)) for setting in settings_of(tables, treatments)]
        rest = [v for v in graph if v not in graph.latents and v != outcome and v not in treatments]
        right = set()
        for size in range(len(rest) + 1):
            for z in itertools.combinations(rest, size):
                errors = (abs(adjusted(passive, order, z, s, outcome) - truth).max() for s, truth in truths)
                if max(errors) < 1e-9:
                    right.add(frozenset(z))
                assert is_adjustment_set(graph, treatments, outcome, z) == (frozenset(z) in right)
                counts[frozenset(z) in right] += 1
        found = adjustment_set(graph, treatments, outcome)
        assert (found is None) == (not right)
        if found is not None:  # minimal: no part of it will do
            assert not any(found > z for z in right)
    assert min(counts) > 200


def test_latents_the_outcome_and_treatments_never_adjust():
    graph = dag([("Z", "X"), ("Z", "Y"), ("X", "Y"), ("U", "X"), ("U", "Z")], {"U"})
    assert adjustment_set(graph, ["X"], "Y") == {"Z"}
    for wrong in ("U", "Y", "X"):
        assert not is_adjustment_set(graph, ["X"], "Y", ["Z", wrong])
    assert adjustment_set(graph, [], "Y") == frozenset()
    assert is_adjustment_set(graph, [], "Y", ["Z"])


def test_an_adjustment_set_makes_a_sequence_but_not_the_reverse():
    """An adjustment set of nondescendants can be conditioned on first; dowhy 216 has a sequence and no such set."""
    rng = np.random.default_rng(3)
    for _ in range(150):
        graph, treatments, outcome = random_question(rng, int(rng.integers(0, 3)))
        found = adjustment_set(graph, treatments, outcome)
        below = set().union(*(nx.descendants(graph, x) for x in treatments))
        if found is not None and not found & below:
            assert admissible_sequence(graph, treatments, outcome) is not None
    entry = next(entry for entry in GRAPHS["adjustment"] if "admissible" in entry)
    graph = dag(entry["edges"], entry["latents"])
    assert adjustment_set(graph, entry["treatments"], entry["outcome"]) is None
    assert admissible_sequence(graph, entry["treatments"], entry["outcome"]) is not None


def test_the_formula_of_the_parents_is_exact():
    """Theorem 5: right for every setting, and None exactly where the outcome is a parent of a treatment."""
    rng = np.random.default_rng(4)
    answers = [0, 0]
    for _ in range(120):
        graph, treatments, outcome = random_question(rng, 0)
        sequence = parents_sequence(graph, treatments, outcome)
        assert (sequence is None) == any(graph.has_edge(outcome, x) for x in treatments)
        answers[sequence is None] += 1
        if sequence is None:
            continue
        used = [v for _, z in sequence for v in z]
        assert len(used) == len(set(used))
        parents = set().union(*(graph.predecessors(x) for x in treatments))
        assert {*used} | {*treatments} == parents | {*treatments}
        tables = random_tables(rng, graph)
        for setting in settings_of(tables, treatments):
            value = by_sequence(joint(tables), list(tables), sequence, setting, outcome)
            assert value == pytest.approx(effect_of(tables, setting, outcome), abs=1e-9)
    assert min(answers) > 5


# --------------------------------------------------------------------------------------------------------- causal trees


def test_the_example_of_the_figure():
    """Appendix A, do(X3, X4, X8): Z = {X1, X2}, {}, {X7}. The figure is not in the source; both trees fit its text."""
    three_layers = [("X1", "X2"), ("X1", "X3"), ("X3", "X4"), ("X4", "X7"), ("X4", "X8"), ("X8", "Y")]
    two_layers = [("X1", "X2"), ("X1", "X3"), ("X1", "X4"), ("X2", "X7"), ("X4", "X8"), ("X8", "Y")]
    wanted = [("X3", {"X1", "X2"}), ("X4", set()), ("X8", {"X7"})]
    for tree in (three_layers, two_layers):
        confounders = [("U1", "X2"), ("U1", "X3"), ("U2", "X7"), ("U2", "X8")]
        graph = dag([*tree, ("X2", "X5"), *confounders], {"U1", "U2"})
        assert causal_tree_sequence(graph, ["X8", "X3", "X4"], "Y") == wanted
        assert is_admissible_sequence(graph, wanted, "Y")


def random_tree(rng, n):
    """A random directed tree with confounders within its layers."""
    names = [f"V{i}" for i in range(n)]
    edges = [(names[int(rng.integers(max(0, i - 3), i))], names[i]) for i in range(1, n)]
    layer = nx.single_source_shortest_path_length(nx.DiGraph(edges), names[0])
    pairs = [pair for pair in itertools.combinations(names, 2) if layer[pair[0]] == layer[pair[1]]]
    chosen = [pair for pair in pairs if rng.random() < 0.5][:3]
    hidden = [f"U{i}" for i in range(len(chosen))]
    edges += [(u, v) for u, pair in zip(hidden, chosen, strict=True) for v in pair]
    return dag(edges, hidden, names)


def test_causal_trees():
    """The sequence is admissible unless it holds the outcome, and its formula is exact."""
    rng = np.random.default_rng(5)
    answers = [0, 0]
    for _ in range(150):
        graph = random_tree(rng, int(rng.integers(4, 8)))
        observed = [v for v in graph if v not in graph.latents]
        outcome, *pool = (str(v) for v in rng.permutation(observed[1:]))
        treatments = pool[: int(rng.integers(1, 4))]
        sequence = causal_tree_sequence(graph, treatments, outcome)
        answers[sequence is None] += 1
        if sequence is None:
            component = nx.Graph([(a, b) for u in graph.latents for a, b in [graph.successors(u)]])
            component.add_nodes_from(observed)
            reached = set().union(*(nx.node_connected_component(component, x) for x in treatments))
            assert outcome in reached.union(*(graph.predecessors(v) for v in reached))
            continue
        assert sorted(x for x, _ in sequence) == sorted(treatments)
        assert is_admissible_sequence(graph, sequence, outcome)
        assert admissible_sequence(graph, treatments, outcome) is not None
        if len(graph) <= 8:
            tables = random_tables(rng, graph)
            setting = dict.fromkeys(treatments, 1)
            value = by_sequence(joint(tables), list(tables), sequence, setting, outcome)
            assert value == pytest.approx(effect_of(tables, setting, outcome), abs=1e-9)
    assert min(answers) > 20


@pytest.mark.parametrize(
    ("edges", "latents", "message"),
    [
        ([("A", "B"), ("A", "C"), ("B", "Y"), ("C", "Y")], "", "must form a directed tree"),
        ([("B", "A"), ("Y", "A")], "", "must form a directed tree"),
        ([("A", "B"), ("C", "Y")], "", "must form a directed tree"),
        ([("A", "B"), ("B", "Y"), ("U", "A"), ("U", "B")], "U", "two variables of one layer, but U causes"),
        ([("A", "B"), ("A", "C"), ("A", "Y"), ("U", "B"), ("U", "C"), ("U", "Y")], "U", "two variables of one layer"),
        ([("A", "B"), ("A", "Y"), ("U", "B")], "U", "two variables of one layer"),
        ([("A", "B"), ("A", "Y"), ("A", "U"), ("U", "B"), ("U", "Y")], "U", "two variables of one layer"),
        ([("A", "B"), ("A", "Y"), ("U", "W"), ("W", "B"), ("W", "Y")], "UW", "two variables of one layer"),
    ],
)
def test_what_is_no_causal_tree(edges, latents, message):
    with pytest.raises(ValueError, match=message):
        causal_tree_sequence(dag(edges, latents), ["B"], "Y")


def test_errors_for_latents():
    graph = dag([("X", "Y"), ("U", "X"), ("U", "Y")], {"U"})
    for ask in (adjustment_set, parents_sequence, causal_tree_sequence):
        for treatments, outcome in ((["U"], "Y"), (["X"], "U")):
            with pytest.raises(ValueError, match="must be observed, but U is latent"):
                ask(graph, treatments, outcome)
    for treatments, outcome, message in ((["Q"], "Y", "variables of the graph"), (["Y"], "Y", "not be a treatment")):
        with pytest.raises(ValueError, match=message):
            is_adjustment_set(graph, treatments, outcome, [])
