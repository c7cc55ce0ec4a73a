"""Identification against brute force over all sequences, and against exact distributions."""

import itertools
import re

import networkx as nx
import numpy as np
import pytest
from helpers import case, case_network, dag, is_separated, joint, random_dag, random_tables
from pgmpy.base import DAG

from pgcpe import Action, admissible_sequence, do, equal_effect, expected_reward, explain, is_admissible_sequence
from pgcpe.identification import connecting_path, mutilated, number_of_cells

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


def random_questions(seed, n):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        observed = int(rng.integers(4, 7))
        graph = random_dag(rng, observed, int(rng.integers(0, 4)), float(rng.choice([0.3, 0.45, 0.6])))
        outcome = f"V{observed - 1}" if rng.random() < 0.9 else f"V{observed - 2}"
        pool = [f"V{i}" for i in range(observed) if f"V{i}" != outcome]
        yield graph, [str(v) for v in rng.choice(pool, int(rng.integers(1, 4)), replace=False)], outcome


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


# -------------------------------------------------------------------------------------------------------------- why


def test_explanations():
    graph = dag([("Z", "X"), ("Z", "Y"), ("X", "Y")])
    why = explain(graph, do(X=1), "Y")
    assert why.words == "E[Y | do(X)] is the mean of E[Y | Z, X] over P(Z)."
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


def hidden_anywhere(rng, n, density=0.45):
    """A random DAG whose latent variables are not only roots, and may be causes of each other."""
    names = [f"V{i}" for i in range(n)]
    edges = [(a, b) for a, b in itertools.combinations(names, 2) if rng.random() < density]
    return dag(edges, map(str, rng.choice(names[:-1], int(rng.integers(1, 3)), replace=False)), names)


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


# ----------------------------------------------------------------------------------------------- why, taken at its word


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
    assert why.words == "E[Y | do(A1, A2)] is the mean of E[Y | C1, A1, C2, A2] over P(C1) P(C2 | C1, A1)."
    assert why.latex == (
        r"E[\mathrm{Y} \mid do(a_{1}, a_{2})] = \sum_{c_{1}, c_{2}} "
        r"E[\mathrm{Y} \mid c_{1}, a_{1}, c_{2}, a_{2}] P(c_{1}) P(c_{2} \mid c_{1}, a_{1})"
    )
    assert str(why) == f"{why.words}\n{why.latex}"
    front = explain(case_network(case("front_door")), ["smoker"], "cancer")
    assert front.path == "smoker <- U -> cancer"
    assert str(front) == front.words
    assert explain(network, [], "Y").words.startswith("E[Y | do()] = E[Y]")


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
