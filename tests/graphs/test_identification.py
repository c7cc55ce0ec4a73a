"""Identification against brute force over all sequences, and against exact distributions."""

import itertools

import networkx as nx
import numpy as np
import pytest
from helpers import (
    case,
    case_network,
    dag,
    hidden_anywhere,
    is_separated,
    joint,
    random_dag,
    random_questions,
    random_tables,
)
from pgmpy.base import DAG

from pgcpe import Action, admissible_sequence, do, equal_effect, expected_reward, explain, is_admissible_sequence
from pgcpe.graphs.identification import is_invariant_under, mutilated, number_of_cells

NETWORKS = ["sprinkler", "instrument", "sequential_treatments", "front_door", "confounded_twice", "mediated"]


@pytest.mark.parametrize("name", NETWORKS)
def test_cases(name):
    content = case(name)
    network, outcome = case_network(content), content["reward"]
    for entry in content["expected"]:
        action = Action(entry["do"])
        assert expected_reward(network, action, reward=outcome) == pytest.approx(entry["expected_reward"], abs=1e-9)
        smallest = equal_effect(network, action, outcome)
        assert sorted(smallest) == sorted(entry["equal_to_do_of"])
        for question, answer in ((action, entry["admissible"]), (smallest, entry["admissible_of_equal"])):
            found = admissible_sequence(network, question, outcome)
            assert (found is None) == (answer is None)
            if found is not None:
                assert sum(len(z) for _, z in found) == sum(len(z) for _, z in answer)
                assert is_admissible_sequence(network, found, outcome)
                assert is_admissible_sequence(network, answer, outcome)


# ---------------------------------------------------------------------------------------------- against brute force


def admissible_by_definition(graph, order, parts, outcome) -> bool:
    """Definition 3 with Pearl's order condition, on the moral graph of this test's own d-separation."""
    given = set()
    for i, (x, z) in enumerate(zip(order, parts, strict=True)):
        below = set(order[i:]).union(*(nx.descendants(graph, v) for v in order[i:]))
        cut = nx.DiGraph(graph)
        cut.remove_edges_from([*graph.out_edges(x), *(e for v in order[i + 1 :] for e in graph.in_edges(v))])
        if z & below or any(x in nx.descendants(graph, v) for v in order[i + 1 :]):
            return False
        given |= z
        if not is_separated(cut, x, outcome, given):
            return False
        given.add(x)
    return True


def fewest_by_brute_force(graph, treatments, outcome) -> int | None:
    """The smallest number of adjusted variables over all orders and all assignments of variables to steps."""
    others = [v for v in graph if v not in graph.latents and v != outcome and v not in treatments]
    steps = len(treatments)
    for size in range(len(others) + 1):
        for chosen in itertools.combinations(others, size):
            for steps_of in itertools.product(range(steps), repeat=size):
                parts = [{v for v, s in zip(chosen, steps_of, strict=True) if s == i} for i in range(steps)]
                for order in itertools.permutations(treatments):
                    if admissible_by_definition(graph, order, parts, outcome):
                        return size
    return None


def test_the_search_finds_one_exactly_when_there_is_one_and_the_smallest():
    missing = 0
    for graph, treatments, outcome in random_questions(0, 400):
        fewest = fewest_by_brute_force(graph, treatments, outcome)
        found = admissible_sequence(graph, treatments, outcome)
        assert (found is None) == (fewest is None), (graph.edges, treatments)
        missing += found is None
        if found is not None:
            assert {x for x, _ in found} == set(treatments)
            assert sum(len(z) for _, z in found) == fewest, (graph.edges, treatments)
            order, parts = zip(*found, strict=True)
            assert admissible_by_definition(graph, order, [set(z) for z in parts], outcome)
            assert is_admissible_sequence(graph, found, outcome)
    assert 60 < missing < 250  # both answers were met often


def test_the_formula_is_the_truncated_factorisation():
    """Eq. (4) on the exact joint distribution equals E[Y | do(S = s)] to 1e-9, with two and three states."""
    rng = np.random.default_rng(1)
    checked = 0
    for graph, treatments, outcome in random_questions(2, 600):
        sequence = admissible_sequence(graph, treatments, outcome)
        if sequence is None or checked >= 300:
            continue
        checked += 1
        tables = random_tables(rng, graph)
        order, passive = list(tables), joint(tables)
        y = np.linspace(0, 1, tables[outcome][1].shape[-1])
        setting = {x: int(rng.integers(tables[x][1].shape[-1])) for x in treatments}
        effect = joint(tables, setting)
        others = tuple(i for i, v in enumerate(order) if v != outcome)
        assert formula(passive, order, sequence, setting, outcome, y) == pytest.approx(
            float(effect.sum(axis=others) @ y), abs=1e-9
        )
    assert checked == 300


def formula(passive, order, sequence, setting, outcome, y) -> float:
    """Sum over z of E[Y | s, z] P(z_1) P(z_2 | z_1, x_1) ..., straight from the joint distribution."""
    adjusted = [v for _, z in sequence for v in sorted(z)]
    total = 0.0
    for states in itertools.product(*(range(passive.shape[order.index(v)]) for v in adjusted)):
        z = dict(zip(adjusted, states, strict=True))
        weight, known = 1.0, {}
        for x, zs in sequence:
            mine = {v: z[v] for v in zs}
            weight *= probability(passive, order, known | mine) / probability(passive, order, known)
            known |= mine | {x: setting[x]}
        rewards = [probability(passive, order, known | {outcome: k}) for k in range(len(y))]
        total += weight * float(np.dot(rewards, y)) / probability(passive, order, known)
    return total


def probability(passive, order, known) -> float:
    return float(passive[tuple(known.get(v, slice(None)) for v in order)].sum())


def test_equal_effect_keeps_the_effect_and_drops_all_it_can():
    rng = np.random.default_rng(3)
    for graph, treatments, outcome in random_questions(4, 200):
        tables = random_tables(rng, graph)
        order = list(tables)
        others = tuple(i for i, v in enumerate(order) if v != outcome)
        setting = {x: int(rng.integers(tables[x][1].shape[-1])) for x in treatments}
        smallest = equal_effect(graph, Action(setting), outcome)
        assert smallest.items() <= setting.items()
        whole = joint(tables, setting).sum(axis=others)
        assert joint(tables, dict(smallest)).sum(axis=others) == pytest.approx(whole, abs=1e-12)
        for x in smallest:  # each one left matters on a random model
            fewer = joint(tables, {v: s for v, s in smallest.items() if v != x}).sum(axis=others)
            more = joint(tables, dict(smallest) | {x: 1 - min(setting[x], 1)}).sum(axis=others)
            assert abs(fewer - whole).max() > 1e-9 or abs(more - whole).max() > 1e-9


def test_the_order_must_be_topological():
    """NUMERICS 7: the definition as printed accepts this sequence, and its formula is wrong."""
    graph = dag([("V0", "V1"), ("V1", "V2"), ("V2", "V3"), ("V3", "V4"), ("V0", "Y"), ("V4", "Y")])
    assert not is_admissible_sequence(graph, [("V3", []), ("V1", ["V0"])], "Y")
    assert is_admissible_sequence(graph, [("V1", ["V0"]), ("V3", [])], "Y")


def test_is_admissible_refuses_descendants_latents_and_the_outcome():
    chain = dag([("X", "M"), ("M", "Y"), ("U", "X"), ("U", "Y")], {"U"})
    for z in (["M"], ["U"], []):
        assert not is_admissible_sequence(chain, [("X", z)], "Y")
    assert not is_admissible_sequence(dag([("X", "Y")]), [("X", ["Y"])], "Y")
    assert is_admissible_sequence(chain, [], "Y")


def test_ties_go_to_the_fewest_cells():
    graph = dag([("A", "X"), ("A", "B"), ("B", "Y"), ("X", "Y")])
    for big, small in (("A", "B"), ("B", "A")):
        states = dict.fromkeys(graph, (0, 1)) | {big: (0, 1, 2)}
        sequence = admissible_sequence(graph, ["X"], "Y", states=states)
        assert sequence == [("X", frozenset({small}))]
        assert number_of_cells(sequence, states) == 2


def test_many_treatments_without_a_sequence_are_refused_soon():
    """Eight exchangeable treatments have 40,320 orders; the search remembers what is left instead."""
    names = [f"X{i}" for i in range(8)]
    graph = dag([*((x, "Y") for x in names), ("U", "X0"), ("U", "Y")], {"U"})
    assert admissible_sequence(graph, names, "Y") is None
    assert admissible_sequence(graph, names[1:], "Y") is not None


def test_mutilated():
    graph = DAG([("A", "B"), ("B", "C")])
    assert set(mutilated(graph, under=["B"]).edges) == {("A", "B")}
    assert set(mutilated(graph, over=["B"]).edges) == {("B", "C")}
    assert len(graph.edges) == 2


@pytest.mark.parametrize("ask", [admissible_sequence, explain])
@pytest.mark.parametrize(
    ("treatments", "outcome", "message"),
    [
        (["Q"], "Y", "must be variables of the graph, but got Q"),
        (["X"], "Q", "must be variables of the graph, but got Q"),
        (["U"], "Y", "U is latent"),
        (["X"], "U", "U is latent"),
        (["X", "Y"], "Y", "must not be a treatment"),
    ],
)
def test_errors(ask, treatments, outcome, message):
    graph = dag([("X", "Y"), ("U", "X"), ("U", "Y")], {"U"})
    with pytest.raises(ValueError, match=message):
        ask(graph, treatments, outcome)


def test_errors_of_sequences():
    graph = dag([("X", "Y")])
    with pytest.raises(ValueError, match="treatments must be distinct"):
        is_admissible_sequence(graph, [("X", []), ("X", [])], "Y")
    with pytest.raises(ValueError, match="Z must hold variables of the graph"):
        is_admissible_sequence(graph, [("X", ["Q"])], "Y")
    with pytest.raises(ValueError, match="must be variables of the graph"):
        equal_effect(graph, do(Q=1), "Y")


# ----------------------------------------------------------------------------------- the definition, taken at its word


def test_is_admissible_sequence_is_the_definition():
    """On random sequences, most of them wrong: any order, any part of the variables, latents and the outcome too."""
    rng = np.random.default_rng(8)
    counts = [0, 0]
    for graph, treatments, outcome in random_questions(9, 400):
        usable = set(graph) - graph.latents - {outcome}
        for _ in range(3):
            order = [str(x) for x in rng.permutation(treatments)]
            parts = [{v for v in graph if rng.random() < 0.2 and v not in treatments} for _ in order]
            right = admissible_by_definition(graph, order, [z & usable for z in parts], outcome)
            right = right and all(z <= usable for z in parts)
            assert is_admissible_sequence(graph, zip(order, parts, strict=True), outcome) == right
            counts[right] += 1
    assert min(counts) > 100


def test_the_definition_as_printed_accepts_a_wrong_formula():
    """V0 -> V1 -> V2 -> V3 -> V4, V0 -> Y: no treatment changes Y, but the formula in the order V3, V1 says so."""
    graph = dag([("V0", "V1"), ("V1", "V2"), ("V2", "V3"), ("V3", "V4"), ("V0", "Y")])
    tables = random_tables(np.random.default_rng(0), graph)
    order, passive, setting = list(tables), joint(tables), {"V1": 0, "V3": 1}
    y = np.linspace(0, 1, tables["Y"][1].shape[-1])
    truth = formula(passive, order, [], {}, "Y", y)
    printed = [("V3", frozenset()), ("V1", frozenset({"V0"}))]
    for i, (x, _) in enumerate(printed):  # conditions (1) and (2) as printed do hold
        later = [v for v, _ in printed[i + 1 :]]
        given = {v for v, _ in printed[:i]}.union(*(z for _, z in printed[: i + 1]))
        assert is_separated(mutilated(graph, under=[x], over=later), x, "Y", given)
    assert not is_admissible_sequence(graph, printed, "Y")
    assert abs(formula(passive, order, printed, setting, "Y", y) - truth) > 1e-3
    topological = [("V1", frozenset({"V0"})), ("V3", frozenset())]
    assert is_admissible_sequence(graph, topological, "Y")
    assert formula(passive, order, topological, setting, "Y", y) == pytest.approx(truth, abs=1e-12)


def test_hidden_variables_may_stand_anywhere():
    rng = np.random.default_rng(10)
    answers = [0, 0]
    for _ in range(150):
        graph = hidden_anywhere(rng, int(rng.integers(5, 8)))
        *others, outcome = (v for v in graph if v not in graph.latents)
        treatments = [str(v) for v in rng.choice(others, int(rng.integers(1, 3)), replace=False)]
        fewest = fewest_by_brute_force(graph, treatments, outcome)
        found = admissible_sequence(graph, treatments, outcome)
        assert (None if found is None else sum(len(z) for _, z in found)) == fewest
        answers[fewest is None] += 1
        if found is not None:
            assert is_admissible_sequence(graph, found, outcome)
            tables = random_tables(rng, graph)
            y, setting = np.linspace(0, 1, tables[outcome][1].shape[-1]), dict.fromkeys(treatments, 1)
            truth = joint(tables, setting).sum(axis=tuple(i for i, v in enumerate(tables) if v != outcome)) @ y
            value = formula(joint(tables), list(tables), found, setting, outcome, y)
            assert value == pytest.approx(float(truth), abs=1e-9)
    assert min(answers) > 20


def test_the_answer_does_not_depend_on_how_the_question_is_written():
    rng = np.random.default_rng(12)
    for graph, treatments, outcome in random_questions(13, 60):
        found = admissible_sequence(graph, treatments, outcome)
        again = dag(
            map(tuple, rng.permutation(list(graph.edges))), graph.latents, map(str, rng.permutation(list(graph)))
        )
        assert admissible_sequence(again, treatments[::-1], outcome) == found
        assert admissible_sequence(graph, Action(dict.fromkeys(treatments, 0)), outcome) == found
    assert admissible_sequence(dag([("X", "Y")]), "X", "Y") == [("X", frozenset())]
    assert admissible_sequence(dag([("X", "Y")]), [], "Y") == []


def test_number_of_cells():
    """Z_1 = {A, B}, Z_2 = {C}: 2 + 4 + 8 prefixes; with three states of B 2 + 6 + 12."""
    sequence = [("X", frozenset({"A", "B"})), ("W", frozenset({"C"}))]
    assert number_of_cells([]) == number_of_cells([("X", frozenset())]) == 0
    assert number_of_cells(sequence) == 14
    assert number_of_cells(sequence, {"A": (0, 1), "B": (0, 1, 2), "C": (0, 1)}) == 20


def test_equal_effect_by_the_paths():
    """A treatment stays iff a directed path leads from it to the outcome past all other treatments."""
    for graph, treatments, outcome in random_questions(14, 150):
        stays = set()
        for x in treatments:
            past = graph.subgraph(set(graph) - (set(treatments) - {x}))
            if any(nx.all_simple_paths(nx.DiGraph(past), x, outcome)):
                stays.add(x)
        action = Action(dict.fromkeys(treatments, "s"))
        assert equal_effect(graph, action, outcome) == Action(dict.fromkeys(stays, "s"))
        assert equal_effect(graph, equal_effect(graph, action, outcome), outcome) == Action(dict.fromkeys(stays, "s"))


def test_errors_of_the_other_questions():
    graph = dag([("X", "Y"), ("U", "X"), ("U", "Y")], {"U"})
    for name, message in (
        ("Q", "must be variables of the graph, but got Q"),
        ("U", "latent"),
        ("Y", "not be a treatment"),
    ):
        with pytest.raises(ValueError, match=message):
            equal_effect(graph, do({name: 1}), "Y")
        with pytest.raises(ValueError, match=message):
            is_admissible_sequence(graph, [(name, [])], "Y")


# ---------------------------------------------------------------------------------------------------- invariance


def test_invariance_is_sound_and_complete():
    """1,000 random factors: where plays are invariant the distributions are equal, elsewhere not."""
    rng = np.random.default_rng(11)
    answers = {True: 0, False: 0}
    while sum(answers.values()) < 1_000:
        observed = int(rng.integers(3, 6))
        graph = random_dag(rng, observed, int(rng.integers(0, 3)), 0.5)
        names = [f"V{i}" for i in range(observed)]
        tables = random_tables(rng, graph, most=2)
        order = list(tables)
        for _ in range(5):
            played = [str(v) for v in rng.choice(names, int(rng.integers(1, 3)), replace=False)]
            variable = str(rng.choice([v for v in names if v not in played]))
            given = [v for v in names if v != variable and rng.random() < 0.5]
            setting = {v: int(rng.integers(2)) for v in played}
            factors = []
            for distribution in (joint(tables), joint(tables, setting)):
                kept = [v for v in order if v in (*given, variable)]
                marginal = distribution.sum(axis=tuple(i for i, v in enumerate(order) if v not in kept))
                marginal = np.moveaxis(marginal, kept.index(variable), -1)
                left = [v for v in kept if v != variable]
                cell = tuple(setting.get(v, slice(None)) for v in left)  # values that agree with the intervention
                factors.append(marginal[cell] / marginal[cell].sum(axis=-1, keepdims=True))
            alike = bool(np.abs(factors[0] - factors[1]).max() < 1e-9)
            assert is_invariant_under(graph, played, variable, given) == alike
            answers[alike] += 1
    assert min(answers.values()) > 200


def test_own_plays_are_poolable_at_every_step_of_a_simple_sequence():
    graph = dag([("Z", "X"), ("Z", "Y"), ("X", "Y")])
    assert is_invariant_under(graph, do(X=1), "Z", [])
    assert is_invariant_under(graph, do(X=1), "Y", ["Z", "X"])
    assert is_invariant_under(graph, do(), "Y", ["X"])
    assert not is_invariant_under(graph, do(Z=1), "Z", [])
    assert not is_invariant_under(graph, do(X=1), "Y", ["X"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["X"], "Y", ["Y"]), "given must not hold the variable itself"),
        ((["Q"], "Y", []), "must be variables of the graph, but got Q"),
        ((["U"], "Y", []), "must be observed, but U is latent"),
        ((["X"], "U", []), "must be observed, but U is latent"),
    ],
)
def test_poolable_of_what_makes_no_sense(arguments, message):
    graph = dag([("U", "X"), ("U", "Y"), ("X", "Y")], {"U"})
    with pytest.raises(ValueError, match=message):
        is_invariant_under(graph, *arguments)
