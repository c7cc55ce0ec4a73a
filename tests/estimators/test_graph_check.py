"""Checking a graph against logs: right ones stand, wrong ones are refuted and the missing edge is named."""

import numpy as np
import pandas as pd
import pytest
from helpers import benchmark, dag
from pgmpy.base import ADMG
from scipy import stats

from pgcpe import SimulatedEnvironment, check_graph, do, load_network
from pgcpe.estimators.graph_check import looks

ASIA = load_network("asia")


@pytest.fixture(scope="module")
def log():
    return SimulatedEnvironment(ASIA, seed=1).sample(do(), 2000).to_frame()


def without(network, *edges):
    return dag([e for e in network.edges if e not in edges], nodes=network.nodes)


def mixed_log(network, actions, each, seed):
    samples = [SimulatedEnvironment(network, seed=seed + i).sample(a, each) for i, a in enumerate(actions)]
    frame = pd.concat([s.to_frame() for s in samples])
    return frame.iloc[np.random.default_rng(seed).permutation(len(frame))]


def test_a_wrong_graph_is_refuted_and_the_missing_edge_explains_it(log):
    check = check_graph(without(ASIA, ("smoke", "bronc")), log, states=ASIA.states)
    assert check.refuted
    assert check.combined > 1e6
    assert check.p_value < 1e-6
    assert {check.explanations[0].change.first, check.explanations[0].change.second} == {"smoke", "bronc"}
    assert "smoke -> bronc" in check.summary
    assert check.statements.iloc[0].verdict == "refuted"
    assert check.doubtful[0].pair == {"smoke", "bronc"}


def test_a_right_graph_stands_with_a_superfluous_edge_too(log):
    for graph in (ASIA, dag([*ASIA.edges, ("asia", "lung")])):
        check = check_graph(graph, log, states=ASIA.states)
        assert not check.refuted
        assert check.explanations == ()
        assert check.doubtful == []
        assert set(check.statements["verdict"]) == {"consistent"}
        assert "Not refuted at level 0.05" in str(check)


def test_few_right_logs_have_a_small_p_value():
    """By Bonferroni a right graph has p at most .05 with probability at most .05: in more than the .999 quantile of
    binomial(24, .05), which is 5, of 24 logs with probability below .001."""
    p = [check_graph(ASIA, SimulatedEnvironment(ASIA, seed=s).sample(do(), 1000).to_frame()).p_value for s in range(24)]
    assert np.count_nonzero(np.array(p) <= 0.05) <= stats.binom.ppf(0.999, 24, 0.05)


def test_a_reversed_edge_takes_interventions():
    turned = dag([*(e for e in ASIA.edges if e != ("smoke", "bronc")), ("bronc", "smoke")])
    actions = [do(), do(bronc="yes"), do(smoke="no")]
    frame = mixed_log(ASIA, actions, 400, seed=3)
    assert not check_graph(ASIA, frame).refuted
    check = check_graph(turned, frame, states=ASIA.states)
    assert check.refuted
    assert "setting smoke leaves bronc as it is" in set(map(str, check.doubtful))
    assert "smoke -> bronc in place of bronc -> smoke" in [str(e.change) for e in check.explanations]
    merged = check_graph(turned, frame.reset_index(drop=True), list(frame.index), states=ASIA.states)
    pd.testing.assert_frame_equal(check.statements, merged.statements)


def test_a_hidden_cause_needs_an_intervention_to_be_noticed():
    network = benchmark("random_networks").random_network(np.random.default_rng(4))
    known = dag(network.edges, network.latents, network.nodes)
    observed = [v for v in network if v not in network.latents]
    passive = check_graph(network, SimulatedEnvironment(network, seed=0).sample(do(), 300).to_frame())
    actions = [do(), *(do({v: 0}) for v in observed)]
    states = {v: network.get_cpds(v).state_names[v] for v in network}
    active = check_graph(known, mixed_log(network, actions, 40, seed=0), states=states)
    assert not passive.refuted
    assert not active.refuted
    assert len(active.untestable) < len(passive.untestable)
    assert all(change.kind in ("edge", "hidden cause") for change in passive.untestable)


def test_inputs_as_elsewhere(log):
    samples = SimulatedEnvironment(ASIA, seed=1).sample(do(), 2000)
    expected = check_graph(ASIA, log).statements
    for data, actions in ((samples, None), (log.to_dict("records"), do()), (log.reset_index(drop=True), None)):
        pd.testing.assert_frame_equal(check_graph(ASIA, data, actions).statements, expected)
    fewer = check_graph(ASIA, log.drop(columns="either"))
    assert "either" not in set(fewer.statements[["variable", "other"]].to_numpy().ravel())
    assert fewer.recorded == tuple(v for v in ASIA if v != "either")
    mixed = ADMG(directed_ebunch=[("X", "Y")], bidirected_ebunch=[("X", "Y")])
    frame = pd.DataFrame({"X": [0, 1] * 30, "Y": [0, 1] * 30})
    assert check_graph(mixed, frame).statements.empty
    assert "Nothing is tested" in str(check_graph(mixed, frame))


def test_missing_values(log):
    holes = log.copy()
    holes.iloc[:5, holes.columns.get_loc("lung")] = None
    with pytest.raises(ValueError, match="no value for lung"):
        check_graph(ASIA, holes)
    check = check_graph(ASIA, holes, missing="drop")
    assert check.n_plays == 1995
    assert check.dropped == {"lung": 5}


def test_bad_input(log):
    with pytest.raises(ValueError, match="columns for two or more observed variables"):
        check_graph(ASIA, log[["lung"]])
    with pytest.raises(ValueError, match="level"):
        check_graph(ASIA, log, level=0.0)
    with pytest.raises(ValueError, match="latent"):
        check_graph(dag([("U", "X"), ("U", "Y")], ["U"]), pd.DataFrame({"X": [0], "Y": [0]}), do(U=1))
    with pytest.raises(TypeError, match="graph must be"):
        check_graph([("A", "B")], log)
    with pytest.raises(ValueError, match="states"):
        check_graph(ASIA, log.assign(lung="maybe"))


def test_what_might_have_been_played_decides_the_weights(log):
    passive, possible = check_graph(ASIA, log), check_graph(ASIA, log, playable=[do(), "do(smoke=yes)"])
    assert set(passive.statements["kind"]) == {"separation"}
    assert set(possible.statements["kind"]) == {"separation", "invariance"}
    untested = possible.statements[possible.statements["kind"] == "invariance"]
    assert set(untested["verdict"]) == {"not tested"}
    both = possible.statements.set_index("statement")["highest"]
    pd.testing.assert_series_equal(
        both.loc[passive.statements["statement"]], passive.statements.set_index("statement")["highest"]
    )


def test_shown_as_text_html_and_picture(log):
    pytest.importorskip("matplotlib").use("Agg")
    check = check_graph(without(ASIA, ("smoke", "bronc")), log, states=ASIA.states)
    assert "bronc is independent of smoke" in str(check)
    assert "<table" in check._repr_html_()
    axes = check.plot()
    assert "separation" in [text.get_text() for text in axes.texts]


def test_looks_cover_every_play_once():
    for n in (0, 1, 19, 20, 21, 1000):
        found = looks(n)
        assert [i for start, end in found for i in range(start, end)] == list(range(n))


@pytest.mark.slow
def test_right_graphs_are_refuted_no_more_often_than_the_level():
    """150 logs of random networks with hidden causes, level .2: more than the .999 quantile of binomial(150, .2)."""
    networks, refuted = benchmark("random_networks"), 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        network = networks.random_network(rng)
        bandit = networks.question(network, rng)
        frame = mixed_log(network, [*bandit.listed, *[do()] * 3], 25, seed)
        refuted += check_graph(network, frame, level=0.2).refuted
    assert refuted <= stats.binom.ppf(0.999, 150, 0.2)
