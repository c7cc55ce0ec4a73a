"""Whatever is given for a graph: its structure, or an error that names the edges in the way and the way out."""

import logging
import pickle
import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from helpers import dag
from pgmpy.base import ADMG, DAG, PDAG
from pgmpy.models import (
    DiscreteBayesianNetwork,
    DiscreteMarkovNetwork,
    DynamicBayesianNetwork,
    LinearGaussianBayesianNetwork,
)

from pgcpe import (
    BGLM,
    AdmissibleSequence,
    CausalBandit,
    SimulatedEnvironment,
    admissible_sequence,
    do,
    equal_effect,
    expected_reward,
    explain,
    interventions,
    is_admissible_sequence,
)
from pgcpe.graphs.adjustment import adjustment_set, causal_tree_sequence, is_adjustment_set, parents_sequence
from pgcpe.graphs.explanation import connecting_path
from pgcpe.graphs.identification import (
    drop_exogenous_noise,
    is_invariant_under,
    mutilated,
    nodes_on_paths,
    relevant_treatments,
)
from pgcpe.graphs.structure import checked_graph, states_of, structure_of

ROWS = pd.DataFrame({"C": [0, 1] * 8, "X": [0, 1, 1, 0] * 4, "Y": [0, 1] * 8})

ENTRIES = {
    "admissible_sequence": lambda g: admissible_sequence(g, ["X"], "Y"),
    "is_admissible_sequence": lambda g: is_admissible_sequence(g, [("X", ["C"])], "Y"),
    "explain": lambda g: explain(g, ["X"], "Y"),
    "equal_effect": lambda g: equal_effect(g, do(X=1), "Y"),
    "interventions": lambda g: interventions(g, reward="Y"),
    "relevant_treatments": lambda g: relevant_treatments(g, ["X"], "Y"),
    "nodes_on_paths": lambda g: nodes_on_paths(g, ["X"], "Y"),
    "is_invariant_under": lambda g: is_invariant_under(g, ["X"], "Y", ["X"]),
    "drop_exogenous_noise": lambda g: drop_exogenous_noise(g, "Y"),
    "mutilated": lambda g: mutilated(g, under=["X"]),
    "connecting_path": lambda g: connecting_path(g, "X", "Y", []),
    "adjustment_set": lambda g: adjustment_set(g, ["X"], "Y"),
    "is_adjustment_set": lambda g: is_adjustment_set(g, ["X"], "Y", ["C"]),
    "parents_sequence": lambda g: parents_sequence(g, ["X"], "Y"),
    "causal_tree_sequence": lambda g: causal_tree_sequence(g, ["X"], "Y"),
    "CausalBandit": lambda g: CausalBandit(g, reward="Y", arms=[do(X=0), do(X=1)]),
    "SimulatedEnvironment": lambda g: SimulatedEnvironment(g, seed=0),
    "expected_reward": lambda g: expected_reward(g, do(X=1), reward="Y"),
    "BGLM.fit": lambda g: BGLM().fit(g, ROWS),
    "AdmissibleSequence.fit": lambda g: AdmissibleSequence().fit(g, ROWS),
    "states_of": states_of,
    "structure_of": structure_of,
}
"""Every function that takes a graph."""

DIRECTED = [("C", "X"), ("C", "Y"), ("X", "Y")]


def cyclic(make):
    graph = make([("C", "X"), ("X", "Y")])
    nx.DiGraph.add_edge(graph, "Y", "C")
    return graph


def with_loop():
    graph = nx.DiGraph(DIRECTED)
    graph.add_edge("X", "X")
    return graph


def odd_latents():
    graph = nx.DiGraph(DIRECTED)
    graph.latents = {"U"}
    return graph


def unknown_mark():
    graph = nx.MultiDiGraph()
    graph.add_edges_from(DIRECTED)
    graph.add_edge("C", "X", type="circle")
    return graph


REFUSED = {
    "cycle of networkx": (lambda: cyclic(nx.DiGraph), r"cycle (C -> X -> Y -> C|X -> Y -> C -> X|Y -> C -> X -> Y);"),
    "cycle of pgmpy": (lambda: cyclic(DAG), "acyclic, but has the cycle"),
    "both ways": (lambda: nx.DiGraph([*DIRECTED, ("Y", "X")]), r"(X -> Y -> X|Y -> X -> Y);.*hidden common cause"),
    "loop": (with_loop, "cycle X -> X"),
    "PDAG": (lambda: PDAG([("C", "Y"), ("X", "Y")], [("X", "C")]), "direction, but C - X has none: orient"),
    "undirected": (
        lambda: nx.Graph(DIRECTED),
        "but got Graph, whose edges have no direction: C - X, C - Y, X - Y;",
    ),
    "Markov network": (lambda: DiscreteMarkovNetwork(DIRECTED), "but got DiscreteMarkovNetwork, whose edges"),
    "marks": (unknown_mark, "the one between C and X is circle"),
    "edges": (lambda: DIRECTED, r"but got list; DAG\(\[\(cause, effect\), ...\]\) makes one of edges"),
    "name": (lambda: "asia", r"but got str; load_network\('asia'\) loads one"),
    "None": (lambda: None, "but got NoneType"),
    "numbers": (lambda: nx.DiGraph([(1, 2)]), "named by strings, but got 1: write '1' where the graph is made"),
    "latents": (odd_latents, "latents must be variables of the graph, but got U"),
}


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("kind", REFUSED)
def test_every_entry_refuses_what_is_no_causal_graph(kind, entry):
    make, message = REFUSED[kind]
    graph = make()
    with pytest.raises((ValueError, TypeError), match=message):
        ENTRIES[entry](graph)


def test_the_ways_out_work():
    """Those that the messages name, on the graphs that they refuse."""
    logging.disable(logging.INFO)  # pgmpy says what it orients
    oriented = structure_of(REFUSED["PDAG"][0]().to_dag())
    logging.disable(logging.NOTSET)
    assert {frozenset(edge) for edge in oriented.edges} == set(map(frozenset, DIRECTED))
    assert set(structure_of(DAG(DIRECTED)).edges) == set(DIRECTED)
    assert set(structure_of(nx.DiGraph([("1", "2")])).edges) == {("1", "2")}


# ------------------------------------------------------------------------------------------------------------- the ADMG


def mixed(latents=()):
    """C -> X -> Y, C -> Y, and a hidden cause of C and X: to adjust for C is right."""
    return ADMG(directed_ebunch=DIRECTED, bidirected_ebunch=[("C", "X")], latents=set(latents))


def test_bidirected_edges_are_hidden_causes():
    graph = structure_of(mixed())
    assert set(graph.edges) == {*DIRECTED, ("L_C_X", "C"), ("L_C_X", "X")} == set(mixed().to_dag().edges)
    assert graph.latents == {"L_C_X"}
    assert states_of(mixed())["X"] == (0, 1)


def answered(entry, graph):
    """The answer of an entry, or the text of its refusal: some need graphs without hidden causes, or trees."""
    try:
        return ENTRIES[entry](graph)
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e not in ("SimulatedEnvironment", "expected_reward")])
def test_every_entry_answers_for_an_admg_as_for_its_dag(entry):
    explicit = dag([*DIRECTED, ("L_C_X", "C"), ("L_C_X", "X")], {"L_C_X"})
    right, answer = answered(entry, explicit), answered(entry, mixed())
    if isinstance(answer, nx.DiGraph):
        assert (set(answer.nodes), set(answer.edges)) == (set(right.nodes), set(right.edges))
    elif isinstance(answer, CausalBandit):
        assert answer.sequences == right.sequences == ([("X", frozenset({"C"}))],) * 2
        assert answer.observed == right.observed == ("C", "X", "Y")
    elif isinstance(answer, AdmissibleSequence):
        assert answer.expected_reward(do(X=1), "Y") == right.expected_reward(do(X=1), "Y")
    else:
        assert answer == right


def test_an_admg_keeps_its_own_latents_and_its_names_apart():
    graph = ADMG([("L_A_B", "A")], [("A", "B"), ("B", "A")], latents={"L_A_B"})
    assert structure_of(graph).latents == {"L_A_B", "L_A_B_"}
    assert admissible_sequence(ADMG([("X", "Y")], [("X", "Y")]), ["X"], "Y") is None
    assert "X <- L_X_Y -> Y" in str(explain(ADMG([("X", "Y")], [("X", "Y")]), ["X"], "Y"))


def test_parallel_edges_of_one_kind_are_one():
    graph = nx.MultiDiGraph([*DIRECTED, ("C", "X")])
    assert sorted(structure_of(graph).edges) == sorted(DIRECTED)


def test_a_pdag_with_all_edges_directed_is_a_dag():
    assert admissible_sequence(PDAG(DIRECTED), ["X"], "Y") == [("X", frozenset({"C"}))]


# ---------------------------------------------------------------------------------------------------- Gaussian networks


def gaussian():
    text = "dag { C -> X [beta=0.4] C -> Y [beta=0.2] X -> Y [beta=0.3] }"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network = DAG.from_dagitty(text)
    assert isinstance(network, LinearGaussianBayesianNetwork)
    return network


def test_of_a_gaussian_network_the_structure_serves():
    assert admissible_sequence(gaussian(), ["X"], "Y") == [("X", frozenset({"C"}))]
    assert interventions(gaussian(), reward="Y", size=1)[1:] == [do(C=0), do(C=1), do(X=0), do(X=1)]
    states = {"X": ["low", "mid", "high"], "Y": ["no", "yes"]}
    arms = interventions(gaussian(), reward="Y", variables=["X"], states=states)
    bandit = CausalBandit(gaussian(), reward="Y", arms=arms, states=states, reward_values={"no": 0, "yes": 1})
    assert [len(a) for a in bandit.arms] == [0, 1, 1, 1]


@pytest.mark.parametrize("entry", ["SimulatedEnvironment", "expected_reward"])
def test_what_a_gaussian_network_lacks_is_said(entry):
    with pytest.raises(ValueError, match=r"C has a LinearGaussianCPD, .*pandas\.cut") as caught:
        ENTRIES[entry](gaussian())
    assert "DiscreteBayesianNetwork" in str(caught.value)


def test_the_way_out_for_continuous_data_works():
    """Columns cut into states, a discrete network fitted to them: Y is X plus noise, so its upper half follows X's."""
    rng = np.random.default_rng(0)
    c = rng.normal(size=4000)
    x = c + rng.normal(size=4000)
    rows = pd.DataFrame({"C": c, "X": x, "Y": x + rng.normal(size=4000)})
    cut = rows.apply(lambda column: pd.cut(column, [-np.inf, 0, np.inf], labels=["low", "high"]).astype(str))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.INFO)
        network = DiscreteBayesianNetwork(DIRECTED)
        network.fit(cut)
        logging.disable(logging.NOTSET)
    rewards = [
        expected_reward(network, do(X=x), reward="Y", reward_values={"low": 0, "high": 1}) for x in ("low", "high")
    ]
    assert rewards[0] < 0.35
    assert rewards[1] > 0.65


# ----------------------------------------------------------------------------------------------------- checked and kept


def test_a_checked_graph_is_frozen_and_not_checked_again():
    graph = checked_graph(dag(DIRECTED, {"C"}))
    assert checked_graph(graph) is graph
    assert checked_graph(pickle.loads(pickle.dumps(graph))).latents == {"C"}
    with pytest.raises(nx.NetworkXError, match="Frozen"):
        graph.add_edge("Y", "C")
    cut = graph.subgraph(["C", "X"])
    assert set(checked_graph(cut).nodes) == {"C", "X"}
    assert set(graph.copy().nodes) == {"C", "X", "Y"}


def test_states_of_unknown_variables_are_refused_with_the_nearest_name():
    with pytest.raises(ValueError, match=r"but got 'Dosis'; did you mean 'dose'\?"):
        states_of(nx.DiGraph([("dose", "Y")]), {"Dosis": ["a", "b"]})


def test_a_dynamic_network_is_named_and_its_way_out_taken():
    network = DynamicBayesianNetwork()
    network.add_edges_from([(("X", 0), ("Y", 0)), (("X", 0), ("X", 1))])
    with pytest.raises(TypeError, match=r"DynamicBayesianNetwork stands for any number of time slices: unroll it"):
        structure_of(network)
    unrolled = DAG([(f"{u[0]}_{u[1]}", f"{v[0]}_{v[1]}") for u, v in network.edges])
    assert set(structure_of(unrolled)) == {"X_0", "Y_0", "X_1", "Y_1"}
