"""The families of Appendix A: each graph lies in its class, and what the paper says of the class, computed exactly."""

import itertools

import networkx as nx
import numpy as np
import pytest
from graphs.test_identification import formula
from helpers import ROOT, joint

from pgcpe import (
    Action,
    CausalBandit,
    admissible_sequence,
    do,
    expected_rewards,
    interventions,
    is_admissible_sequence,
    load_network,
)
from pgcpe.paper import causal_tree, collaborative, two_layer
from pgcpe.paper.instances import binary_network

TWO_LAYER = [
    {},
    {"n": 6, "n_key": 3, "confounders": 3},
    {"n": 9, "n_key": 3, "confounders": 2},
    {"n": 7, "max_size": 3},
]
COLLABORATIVE = [{}, {"blocks": 2, "block_size": 4, "confounders": 4}, {"blocks": 3, "block_size": 2, "max_size": 3}]
CAUSAL_TREE = [{}, {"n": 6, "confounders": 3}, {"n": 9, "confounders": 4}, {"n": 6, "max_size": 3}]
FAMILIES = {two_layer: TWO_LAYER, collaborative: COLLABORATIVE, causal_tree: CAUSAL_TREE}


class Model:
    """The distributions of a network, by enumeration in the tests' own code."""

    def __init__(self, network, reward="Y", worth=(0.0, 1.0)):
        cpds = {cpd.variable: cpd for cpd in network.cpds}
        self.tables = {v: (cpds[v].variables[1:], np.moveaxis(cpds[v].values, 0, -1)) for v in network.nodes}
        self.states = {v: cpds[v].state_names[v] for v in network.nodes}
        self.order, self.passive, self.reward, self.worth = list(self.tables), joint(self.tables), reward, worth
        self.known = {}

    def marginal(self, distribution, names):
        kept = [v for v in self.order if v in names]
        return distribution.sum(axis=tuple(i for i, v in enumerate(self.order) if v not in names)), kept

    def codes(self, action):
        return {v: self.states[v].index(s) for v, s in action.items()}

    def truth(self, action) -> float:
        """The expected reward under an action, by truncated factorisation."""
        if action not in self.known:
            effect = joint(self.tables, self.codes(action))
            self.known[action] = float(self.marginal(effect, {self.reward})[0] @ self.worth)
        return self.known[action]

    def observational(self, action, sequence) -> float:
        """Eq. (4) on the distribution of passive observation."""
        names = {self.reward, *action}.union(*(z for _, z in sequence))
        passive, order = self.marginal(self.passive, names)
        return formula(passive, order, sequence, self.codes(action), self.reward, np.array(self.worth))


def adjusting(action, first):
    """The sequence with all adjusted variables in its first step: an adjustment set."""
    return [(x, frozenset(first if i == 0 else ())) for i, x in enumerate(action)]


def hidden_pairs(graph):
    """The pairs of variables with a hidden cause in common."""
    return {tuple(sorted(graph.successors(u), key=lambda v: int(v[1:]))) for u in graph.latents}


def component(graph, names):
    """C of the paper: the names and all that is linked to them by hidden causes alone."""
    links = nx.Graph(list(hidden_pairs(graph)))
    links.add_nodes_from(names)
    return set().union(*(nx.node_connected_component(links, x) for x in names))


def sets_of(bandit):
    """The sets of variables that the arms set."""
    return dict.fromkeys(arm.variables for arm in bandit.arms if arm)


def numbered(first, last):
    return [f"X{i}" for i in range(first, last + 1)]


def arms_of(groups, max_size):
    """The null intervention and all that set up to `max_size` variables, no two of a group, to 0 or 1."""
    arms = {do()}
    for chosen in itertools.product(*([None, *((v, x) for v in group for x in (0, 1))] for group in groups)):
        if sum(c is not None for c in chosen) <= max_size:
            arms.add(Action(dict(c for c in chosen if c is not None)))
    return arms


def settings(family, seeds):
    return [(seed, options) for options in FAMILIES[family] for seed in range(seeds)]


# ----------------------------------------------------------------------------------------------------- the classes


def check_common(instance, n, confounders, groups, max_size):
    """What the families share: binary tables, hidden roots with two children each, the arms."""
    network, bandit = instance
    assert {v for v in network if v not in network.latents} == {*numbered(1, n), "Y"}
    assert network.latents == bandit.graph.latents == {f"U{i}" for i in range(1, confounders + 1)}
    assert len(hidden_pairs(network)) == confounders
    assert set(network.edges) == set(bandit.graph.edges)
    for u in network.latents:
        assert (network.in_degree(u), network.out_degree(u)) == (0, 2)
    for cpd in network.cpds:
        assert cpd.state_names[cpd.variable] == [0, 1]
        assert set(cpd.variables[1:]) == set(network.predecessors(cpd.variable))
        assert 0.1 <= cpd.values[1].min() <= cpd.values[1].max() <= 0.9
        assert cpd.values.sum(axis=0) == pytest.approx(1)
    listed = [arm for members in bandit.merged.values() for arm in members]
    assert len(listed) == len(set(listed))
    assert set(listed) == arms_of(groups, max_size)
    assert bandit.reward == "Y"
    return {(a, b) for a, b in network.edges if a not in network.latents}


def test_two_layer_graphs():
    for options in TWO_LAYER:
        n, k = options.get("n", 8), options.get("n_key", 2)
        keys, rest = numbered(1, k), numbered(k + 1, n)
        causes = {*itertools.combinations(keys, 2), *itertools.product(keys, rest)}
        effects = {(x, "Y") for x in rest}
        met, pairs = set(), set()
        for seed in range(25):
            instance = two_layer(seed, **options)
            edges = check_common(
                instance, n, options.get("confounders", 1), [[x] for x in rest], options.get("max_size", 2)
            )
            assert effects <= edges <= causes | effects
            assert {b for _, b in edges} >= set(rest)
            assert len(instance.bandit.arms) == len(arms_of([[x] for x in rest], options.get("max_size", 2)))
            met |= edges
            pairs |= hidden_pairs(instance.network)
        assert met == causes | effects  # every edge of the class is met
        assert pairs == set(itertools.combinations(keys, 2))


def test_collaborative_graphs():
    for options in COLLABORATIVE:
        blocks, size = options.get("blocks", 3), options.get("block_size", 3)
        n = blocks * size
        groups = [numbered(i + 1, i + size) for i in range(0, n, size)]
        inside = {pair for group in groups for pair in itertools.combinations(group, 2)}
        effects = {(x, "Y") for x in numbered(1, n)}
        met, pairs = set(), set()
        for seed in range(25):
            instance = collaborative(seed, **options)
            edges = check_common(instance, n, options.get("confounders", 2), groups, options.get("max_size", 2))
            assert effects <= edges <= inside | effects
            assert hidden_pairs(instance.network) <= inside
            met |= edges
            pairs |= hidden_pairs(instance.network)
        assert met == inside | effects
        assert pairs == inside


def layers_of(network):
    tree = network.subgraph(v for v in network if v[0] == "X")
    return nx.single_source_shortest_path_length(nx.DiGraph(tree.edges) if tree.edges else tree, "X1")


def test_causal_trees():
    for options in [*CAUSAL_TREE, {"n": 1, "max_size": 1}, {"n": 3, "confounders": 1}]:
        n = options.get("n", 8)
        met, fewer = set(), 0
        for seed in range(25):
            instance = causal_tree(seed, **options)
            network = instance.network
            layer = layers_of(network)
            assert set(layer) == set(numbered(1, n))
            possible = [(a, b) for a, b in itertools.combinations(numbered(1, n), 2) if layer[a] == layer[b]]
            confounders = min(options.get("confounders", 2), len(possible))
            fewer += confounders < options.get("confounders", 2)
            groups = [[x] for x in numbered(1, n)]
            edges = check_common(instance, n, confounders, groups, options.get("max_size", 2))
            tree = {(a, b) for a, b in edges if b != "Y"}
            assert sorted(b for _, b in tree) == sorted(numbered(2, n))  # one parent each, none of the root
            assert all(int(a[1:]) < int(b[1:]) for a, b in tree)
            assert {a for a, b in edges if b == "Y"} == set(numbered(1, n)) - {a for a, _ in tree}
            assert hidden_pairs(network) <= set(possible)
            met |= tree
        assert met >= {(a, "X3") for a in ("X1", "X2") if n >= 3}
        assert fewer == 25 or n > 1
        assert 0 < fewer < 25 or n != 3  # in a chain no two nodes share a layer


def test_arms_of_equal_effect_are_merged_in_trees():
    merged = 0
    for seed in range(6):
        network, bandit = causal_tree(seed, n=6)
        apart = causal_tree(seed, n=6, merge_equal=False).bandit
        assert [arm for arm in apart.arms if arm in bandit.merged] == list(bandit.arms)
        assert len(apart.arms) == sum(map(len, bandit.merged.values())) == 1 + 6 * 2 + 15 * 4
        model = Model(network)
        for arm, members in bandit.merged.items():
            assert [model.truth(a) for a in members] == pytest.approx([model.truth(arm)] * len(members), abs=1e-12)
        merged += len(apart.arms) - len(bandit.arms)
    assert merged > 20
    for family in (two_layer, collaborative):
        assert len(family(0).bandit.arms) == len(family(0, merge_equal=False).bandit.arms)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
def test_the_seed_says_all(family):
    def content(seed):
        network = family(seed).network
        return [(c.variables, c.values.ravel().tolist()) for c in network.cpds], sorted(network.edges)

    assert content(3) == content(3) == content(np.random.SeedSequence(3))
    assert len({str(content(seed)) for seed in range(20)}) == 20
    assert len({str(content(seed)[1]) for seed in range(20)}) > 10  # the graph as well, not the tables alone


@pytest.mark.parametrize(
    ("family", "options", "message"),
    [
        (two_layer, {"n_key": 0}, "n_key must be between 1 and n - 1, but got n_key=0 and n=8"),
        (two_layer, {"n": 4, "n_key": 4}, "n_key must be between 1 and n - 1, but got n_key=4 and n=4"),
        (two_layer, {"n_key": 3, "confounders": 4}, "confounders must be between 0 and 3, .* but got 4"),
        (two_layer, {"n_key": 1}, "confounders must be between 0 and 0, .* but got 1"),
        (two_layer, {"n": 4, "max_size": 3}, "max_size must be between 1 and 2, but got 3"),
        (two_layer, {"max_size": 0}, "max_size must be between 1 and 6, but got 0"),
        (two_layer, {"n": 23}, "Y must have at most 20 causes, but got 21"),
        (collaborative, {"blocks": 0}, "blocks and block_size must be at least 1, but got 0 and 3"),
        (collaborative, {"block_size": 0}, "blocks and block_size must be at least 1, but got 3 and 0"),
        (collaborative, {"block_size": 1}, "confounders must be between 0 and 0, .* but got 2"),
        (collaborative, {"confounders": 10}, "confounders must be between 0 and 9, .* but got 10"),
        (collaborative, {"max_size": 4}, "max_size must be between 1 and 3, but got 4"),
        (collaborative, {"blocks": 7}, "Y must have at most 20 causes, but got 21"),
        (
            collaborative,
            {"blocks": 1, "block_size": 20, "confounders": 190},
            "X.* must have at most 20 causes",
        ),
        (causal_tree, {"n": 0}, "n must be at least 1, but got 0"),
        (causal_tree, {"confounders": -1}, "confounders must be between 0 and .* but got -1"),
        (causal_tree, {"n": 3, "max_size": 4}, "max_size must be between 1 and 3, but got 4"),
        (causal_tree, {"n": 60}, "Y must have at most 20 causes, but got"),
    ],
)
def test_bad_arguments(family, options, message):
    with pytest.raises(ValueError, match=message):
        family(0, **options)


# ------------------------------------------------------------------------------------- what can be computed, and how


def check_sequences(model, network, bandit) -> int:
    """Eq. (4) is the truth for every arm with an admissible sequence; return how many have one."""
    rewards = expected_rewards(network, bandit, progress=False)
    for sequence in {str(sequence): sequence for sequence in bandit.sequences if sequence}.values():
        assert is_admissible_sequence(network, sequence, "Y")
    for arm, action, sequence in zip(bandit.arms, bandit.canonical, bandit.sequences, strict=True):
        truth = model.truth(arm)
        assert rewards[arm] == pytest.approx(truth, abs=1e-9)
        if sequence is not None:
            assert model.observational(action, sequence) == pytest.approx(truth, abs=1e-9)
    return sum(sequence is not None for sequence in bandit.sequences)


def test_the_keys_of_a_two_layer_graph_adjust_for_every_arm():
    for seed, options in [*settings(two_layer, 2), (0, {"n": 12, "n_key": 3, "confounders": 3})]:
        network, bandit = two_layer(seed, **options)
        model = Model(network)
        assert check_sequences(model, network, bandit) == len(bandit.arms)
        keys = numbered(1, options.get("n_key", 2))
        assert max(sum(len(z) for _, z in sequence) for sequence in bandit.sequences) <= len(keys)
        assert all(is_admissible_sequence(network, adjusting(treated, keys), "Y") for treated in sets_of(bandit))
        for arm in bandit.arms:
            assert model.observational(arm, adjusting(arm, keys)) == pytest.approx(model.truth(arm), abs=1e-9)


def sequence_of_the_tree(graph, treatments, printed=False):
    """Z_i = C_(S_i) and its parents without what came before and without S_i, which the printed text leaves in."""
    layer = layers_of(graph)
    before, sequence = set(), []
    for i in sorted({layer[x] for x in treatments}):
        now = sorted(x for x in treatments if layer[x] == i)
        linked = component(graph, now)
        parents = set().union(*(graph.predecessors(x) for x in linked)) - graph.latents
        z = (linked | parents) - before - (set() if printed else set(now))
        sequence += [(x, frozenset(z if x == now[0] else ())) for x in now]
        before |= z | set(now)
    return sequence


@pytest.mark.slow
def test_every_arm_of_a_causal_tree_has_the_sequence_of_the_paper_without_the_treatments():
    for seed, options in [*settings(causal_tree, 2), (0, {"n": 12, "confounders": 3})]:
        network, bandit = causal_tree(seed, merge_equal=False, **options)
        model = Model(network)
        assert check_sequences(model, network, bandit) == len(bandit.arms)
        sequences = {}
        for treated in sets_of(bandit):  # those without an effect as well
            sequences[treated] = sequence_of_the_tree(network, treated)
            assert is_admissible_sequence(network, sequences[treated], "Y")
            printed = sequence_of_the_tree(network, treated, printed=True)
            assert any(x in z for x, z in printed)  # it adjusts for a treatment
            assert not is_admissible_sequence(network, printed, "Y")
        for arm in bandit.arms[1:]:
            value = model.observational(arm, sequences[arm.variables])
            assert value == pytest.approx(model.truth(arm), abs=1e-9)


def test_the_example_of_the_paper_leaves_the_treatments_out():
    """A tree in which do(X3, X4, X8) has the sequence of the text, {X1, X2}, {}, {X7}, and the formula printed."""
    parents = {"X1": [], "X2": ["X1"], "X3": ["X1"], "X4": ["X2"], "X5": ["X3"], "X6": ["X3"], "X7": ["X4"]}
    parents |= {"X8": ["X4"], "Y": ["X5", "X6", "X7", "X8"]}
    for pair, u in ((("X2", "X3"), "U1"), (("X7", "X8"), "U2")):
        parents = {u: []} | {v: [*causes, u] if v in pair else causes for v, causes in parents.items()}
    rng = np.random.default_rng(0)
    network = binary_network({v: (p, rng.uniform(0.1, 0.9, (2,) * len(p)).item) for v, p in parents.items()})
    network.latents = {"U1", "U2"}
    sequence = sequence_of_the_tree(network, ["X3", "X4", "X8"])
    assert sequence == [("X3", frozenset({"X1", "X2"})), ("X4", frozenset()), ("X8", frozenset({"X7"}))]
    printed = dict(sequence_of_the_tree(network, ["X3", "X4", "X8"], printed=True))
    assert printed == {"X3": {"X1", "X2", "X3"}, "X4": {"X4"}, "X8": {"X7", "X8"}}
    model = Model(network)
    for values in itertools.product((0, 1), repeat=3):
        arm = Action(dict(zip(("X3", "X4", "X8"), values, strict=True)))
        assert model.observational(arm, sequence) == pytest.approx(model.truth(arm), abs=1e-12)


def test_collaborative_graphs_have_a_sequence_unless_an_effect_is_linked_by_hidden_causes():
    answers = [0, 0]
    for seed, options in [*settings(collaborative, 4), (0, {"blocks": 4})]:
        network, bandit = collaborative(seed, **options)
        found = check_sequences(Model(network), network, bandit)
        answers[0] += len(bandit.arms) - found
        answers[1] += found
        linked = {x for x in network if component(network, [x]) & nx.descendants(network, x)}
        for arm, sequence in zip(bandit.arms, bandit.sequences, strict=True):
            assert (sequence is None) == bool(linked & set(arm))
    assert min(answers) > 300


# ----------------------------------------------------------------- the adjustment set claimed for collaborative graphs


def mediated(linked):
    """X1 -> X2 -> Y and X1 -> Y. Where X1 <-> X2 as well, X1 copies U and X2 obeys U: nothing passive tells."""
    nodes = {
        "U": ([], lambda: 0.5),
        "X1": (["U"], lambda u: float(u)),
        "X2": (["U" if linked else "X1"], lambda x: 0.1 + 0.8 * x),
        "Y": (["X1", "X2"], lambda x1, x2: 0.1 + 0.2 * x1 + 0.5 * x2),
    }
    network = binary_network(nodes)
    network.latents = {"U"}
    return network


def test_a_block_with_an_edge_is_no_adjustment_set():
    network = mediated(linked=False)
    model, arm = Model(network), do(X1=1)
    assert model.truth(arm) == pytest.approx(0.75, abs=1e-12)
    assert model.observational(arm, adjusting(arm, ["X2"])) == pytest.approx(0.55, abs=1e-12)
    assert not is_admissible_sequence(network, adjusting(arm, ["X2"]), "Y")
    assert admissible_sequence(network, arm, "Y") == [("X1", frozenset())]
    assert model.observational(arm, []) != pytest.approx(0.75)


def test_with_a_hidden_cause_besides_no_formula_is_right():
    """Two models of X1 -> X2 -> Y, X1 -> Y, X1 <-> X2 that observation cannot tell apart differ in the effect."""
    one, other = Model(mediated(linked=False)), Model(mediated(linked=True))
    seen = {"X1", "X2", "Y"}
    assert one.marginal(one.passive, seen)[0] == pytest.approx(other.marginal(other.passive, seen)[0], abs=1e-12)
    assert [m.truth(do(X1=1)) for m in (one, other)] == pytest.approx([0.75, 0.55], abs=1e-12)
    both = nx.compose(nx.DiGraph(mediated(linked=False).edges), nx.DiGraph(mediated(linked=True).edges))
    both.latents = {"U"}
    assert admissible_sequence(both, ["X1"], "Y") is None
    assert not is_admissible_sequence(both, [("X1", ["X2"])], "Y")


def test_the_rest_of_the_blocks_adjusts_exactly_where_no_treatment_has_an_effect_in_its_block():
    right = wrong = far = unidentified = 0
    for seed, options in settings(collaborative, 4):
        network, bandit = collaborative(seed, **options)
        size = options.get("block_size", 3)
        model = Model(network)
        for arm, sequence in zip(bandit.arms[1:], bandit.sequences[1:], strict=True):
            met = {(int(x[1:]) - 1) // size for x in arm}
            rest = {x for i in met for x in numbered(i * size + 1, (i + 1) * size)} - set(arm)
            error = abs(model.observational(arm, adjusting(arm, sorted(rest))) - model.truth(arm))
            if any(set(network.successors(x)) != {"Y"} for x in arm):
                assert error > 1e-9
                wrong += 1
                far += error > 0.01
                unidentified += sequence is None
            else:
                assert error < 1e-12
                right += 1
    assert right > 200
    assert wrong > far > 200
    assert 0 < unidentified < wrong  # where the set fails there often is another sequence


# ----------------------------------------------------------------------------------------------- the farmer's question


KEYS, CROPS = ["humidity", "temperature", "soil"], ["wheat", "barley", "maize", "beans", "potatoes"]
WORTH = {"poor": 0, "fair": 0.5, "good": 1}


def crop_yield():
    network = load_network(ROOT / "data" / "crop_yield.bif", latents=["climate"])
    arms = interventions(network, reward="harvest", variables=CROPS, size=2, values=["good"])
    bandit = CausalBandit(network, reward="harvest", arms=arms, reward_values=WORTH)
    return network, bandit, Model(network, "harvest", list(WORTH.values()))


def test_crop_yield_is_a_two_layer_graph():
    network, bandit, _ = crop_yield()
    assert set(network) == {"climate", *KEYS, *CROPS, "harvest"}
    assert set(network.predecessors("harvest")) == set(CROPS)
    assert set(network.successors("climate")) == {"humidity", "temperature"}
    assert network.has_edge("humidity", "temperature")
    assert network.in_degree("climate") == network.in_degree("soil") == 0
    causes = [frozenset(network.predecessors(crop)) for crop in CROPS]
    assert all(len(c) >= 1 and c <= set(KEYS) for c in causes)
    assert len(set(causes)) == 4
    assert len(bandit.arms) == 11
    for cpd in network.cpds:  # written with three decimals at most, in rows that sum to 1
        assert cpd.values == pytest.approx(np.round(cpd.values, 3), abs=1e-12)


def test_the_harvest_grows_with_every_crop():
    network, _, model = crop_yield()
    parents, table = model.tables["harvest"]
    expected = table @ model.worth
    for axis in range(len(parents)):
        poor, good = np.take(table, 0, axis), np.take(table, 1, axis)
        assert (good[..., 0] < poor[..., 0]).all()
        assert (good[..., 2] > poor[..., 2]).all()
    beans, barley = parents.index("beans"), parents.index("barley")
    gain = np.moveaxis(expected, (beans, barley), (0, 1))
    assert (gain[1, 1] - gain[0, 1] > gain[1, 0] - gain[0, 0]).all()  # beans are worth more beside barley
    assert network.get_cpds("temperature").state_names["temperature"] == ["cool", "mild", "hot"]
    passive, order = model.marginal(model.passive, {"humidity", "temperature"})
    assert order == ["humidity", "temperature"]
    assert (np.diff((passive / passive.sum(axis=1, keepdims=True))[:, 0]) > 0).all()  # more humidity, lower temperature


def test_the_best_pair_of_crops():
    network, bandit, model = crop_yield()
    rewards = expected_rewards(network, bandit, progress=False)
    for arm, sequence in zip(bandit.arms, bandit.sequences, strict=True):
        assert sequence is not None
        assert is_admissible_sequence(network, sequence, "harvest")
        assert rewards[arm] == pytest.approx(model.truth(arm), abs=1e-9)
        for adjusted in (sequence, adjusting(arm, KEYS)):
            assert model.observational(arm, adjusted) == pytest.approx(rewards[arm], abs=1e-9)
    ranked = rewards.sort_values(ascending=False)
    assert ranked.index[0] == do(barley="good", beans="good")
    assert 0.06 < ranked.iloc[0] - ranked.iloc[1] < 0.1
    assert rewards.idxmin() == do()
    assert 0.47 < rewards[do()] < 0.53
    # the farmer who goes by the seasons in which a pair did well picks another one
    seen = {}
    for arm in bandit.arms[1:]:
        passive, order = model.marginal(model.passive, {*arm, "harvest"})
        row = passive[tuple(model.codes(arm).get(v, slice(None)) for v in order)]
        seen[arm] = float(row @ model.worth / row.sum())
    assert max(seen, key=seen.__getitem__) == do(wheat="good", maize="good")
    assert seen[ranked.index[0]] < ranked.iloc[0] - 0.05
