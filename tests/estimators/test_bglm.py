"""BGLM alone and in a policy."""

import itertools
import math
import tracemalloc

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from helpers import dag
from pgmpy.inference import VariableElimination
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from pgcpe import (
    BGLM,
    CCPE,
    AdmissibleSequence,
    CausalBandit,
    EmpiricalMeans,
    SimulatedEnvironment,
    do,
    expected_reward,
    expected_rewards,
    interventions,
    load_network,
)
from pgcpe.confidence.paper_radii import BGLM_RADII, paper_bglm_radius
from pgcpe.estimators.node_equations import INTERCEPT
from pgcpe.models import contraction as module
from pgcpe.models.links import LINKS
from pgcpe.paper import experiment_1

EDGES = [("A", "B"), ("A", "C"), ("B", "D"), ("C", "D"), ("C", "Y"), ("D", "Y"), ("E", "Y")]
GRAPH = dag(EDGES)


def truth(link, seed=0):
    """A fitted model whose network is the truth of these tests, with probabilities well inside (0, 1)."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.integers(0, 2, (400, len(GRAPH))), columns=list(GRAPH.nodes))
    return BGLM(link).fit(GRAPH, frame).to_network()


def mixed(network, n, seed=0):
    """Passive and interventional rows."""
    environment = SimulatedEnvironment(network, seed=seed)
    actions = [[do(), do(C=1), do(B=0, C=1), do(E=1)][i] for i in np.random.default_rng(seed).integers(0, 4, n)]
    return environment.perform(actions)


# -------------------------------------------------------------------------------------------------------- stand-alone


@pytest.mark.parametrize("link", LINKS)
def test_a_fit_finds_the_truth(link):
    """At 200,000 plays, within five standard errors of each of 21 answers."""
    network = truth(link)
    model = BGLM(link).fit(network, mixed(network, 200_000))
    table = model.expected_rewards(interventions(network, reward="Y", max_size=2, values=[1]), "Y")
    for action, value, se, simulation in table.itertuples(index=False):
        assert abs(value - expected_reward(network, action, reward="Y")) < 5 * se
        assert 1e-4 < se < 0.03
        assert simulation == 0
    assert len(table) == 16


@pytest.mark.parametrize("link", LINKS)
def test_expected_rewards_are_those_of_the_network(link):
    network = truth(link)
    model = BGLM(link).fit(network, mixed(network, 300, seed=1))
    fitted = model.to_network()
    assert fitted.check_model()
    actions = interventions(network, reward="Y", max_size=2)
    table = model.expected_rewards(actions, "Y")
    assert table["action"].tolist() == actions
    for action, value in zip(actions, table["value"], strict=True):
        assert value == pytest.approx(expected_reward(fitted, action, reward="Y"), abs=1e-9)
    query = VariableElimination(fitted).query(["Y"], evidence={"A": 1}, show_progress=False)
    assert query.values.sum() == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.parametrize("link", LINKS)
def test_standard_errors_are_those_of_repeated_studies(link):
    """100 studies: the ratio of standard deviations has a standard error near sqrt(1 / 200) = .071; four are .28."""
    network, action = truth(link), do(B=1, E=0)
    values, errors = [], []
    for seed in range(100):
        value, se = BGLM(link).fit(network, mixed(network, 400, seed=seed)).expected_reward(action, "Y")
        values.append(value)
        errors.append(se)
    assert np.std(values) / np.mean(errors) == pytest.approx(1, abs=0.28)


@pytest.mark.slow
@pytest.mark.parametrize("link", LINKS)
def test_contrasts_cover_as_often_as_they_say(link):
    """Of 200 intervals at 95 % within 190 +- 5 sqrt(200 .95 .05) = 16 cover; the ratio of standard deviations has a
    standard error near sqrt(1 / 400) = .05, five are .25."""
    network, a, b = truth(link), do(B=1, E=0), do(B=0, E=0)
    apart = expected_reward(network, a, reward="Y") - expected_reward(network, b, reward="Y")
    values, errors, covered = [], [], 0
    for seed in range(200):
        contrast = BGLM(link).fit(network, mixed(network, 400, seed=seed)).contrast(a, b, "Y")
        low, high = contrast.confidence_interval()
        covered += low <= apart <= high
        values.append(contrast.value)
        errors.append(contrast.se)
    assert abs(covered - 190) <= 16
    assert np.std(values) / np.mean(errors) == pytest.approx(1, abs=0.25)


def test_a_contrast_is_of_one_fit():
    network = truth("logit")
    model = BGLM().fit(network, mixed(network, 2_000))
    a, b = do(C=1, E=0), do(C=0, E=0)
    contrast, alone = model.contrast(a, b, "Y"), [model.expected_reward(action, "Y") for action in (a, b)]
    assert contrast.value == pytest.approx(alone[0].value - alone[1].value, abs=1e-12)
    assert contrast.se < alone[0].se + alone[1].se
    assert model.contrast(b, a, "Y") == pytest.approx((-contrast.value, contrast.se))
    assert model.contrast(a, a, "Y") == (0, 0)
    scaled = model.contrast(a, b, "Y", {0: 0.2, 1: 0.7})
    assert scaled == pytest.approx((0.5 * contrast.value, 0.5 * contrast.se))


def test_a_contrast_needs_no_equation_that_cancels():
    """Linear: Y = .1 + .5 Z + .3 X; how often Z is 1 is not known where every play sets Z, and does not matter."""
    rng = np.random.default_rng(3)
    z, x = rng.integers(0, 2, (2, 4_000))
    frame = pd.DataFrame({"Z": z, "X": x, "Y": (rng.random(4_000) < 0.1 + 0.5 * z + 0.3 * x).astype(int)})
    model = BGLM("identity").fit(dag([("Z", "Y"), ("X", "Y")]), frame, [do(Z=int(v)) for v in z])
    assert model.expected_reward(do(X=1), "Y").se == math.inf
    contrast = model.contrast(do(X=1), do(X=0), "Y")
    assert abs(contrast.value - 0.3) < 5 * contrast.se
    assert contrast.se < 0.03


def test_errors_of_simulations_are_added_up(monkeypatch):
    """As in a graph too wide for an exact answer."""
    network = truth("logit")
    model = BGLM(draws=5_000).fit(network, mixed(network, 500))
    exact = model.contrast(do(C=1), do(C=0), "Y")
    monkeypatch.setattr(module, "WIDEST_TABLE", 0)
    simulated = model.contrast(do(C=1), do(C=0), "Y")
    errors = model.expected_rewards([do(C=1), do(C=0)], "Y").simulation_se
    assert errors.min() > 0
    assert simulated.se >= math.hypot(0.9 * exact.se, errors.sum())
    assert abs(simulated.value - exact.value) < 5 * errors.sum()


def test_rows_of_an_intervention_serve_all_nodes_but_those_set():
    network = truth("logit")
    samples = mixed(network, 500)
    model = BGLM().fit(network, samples)
    frame = samples.to_frame()
    for node in GRAPH:
        free = np.array([node not in action for action in samples.actions])[samples.which]
        lone = BGLM().fit(GRAPH, frame[free].reset_index(drop=True))
        coefficients = [m.coef_[m.coef_.node == node].theta.tolist() for m in (model, lone)]
        assert coefficients[0] == pytest.approx(coefficients[1], abs=1e-9)


def test_coefficients_as_a_table():
    model = BGLM().fit(GRAPH, pd.DataFrame(list(itertools.product((0, 1), repeat=6)), columns=list(GRAPH.nodes)))
    assert list(model.coef_.columns) == ["node", "parent", "theta"]
    pairs = list(model.coef_[["node", "parent"]].itertuples(index=False, name=None))
    assert pairs[:3] == [("A", INTERCEPT), ("B", INTERCEPT), ("B", "A")]
    assert {(p, v) for v, p in pairs if p != INTERCEPT} == set(EDGES)
    assert np.abs(model.coef_.theta).max() < 1e-9  # every value equally often


def test_partial_fit_is_fit_on_all():
    network = truth("probit")
    samples = mixed(network, 900)
    frame = samples.to_frame()
    whole = BGLM("probit").fit(network, frame)
    parts = BGLM("probit").fit(network, frame[:100])
    assert parts.partial_fit(frame[100:500]).partial_fit(frame[500:]) is parts
    assert parts.coef_.theta.tolist() == pytest.approx(whole.coef_.theta.tolist(), abs=1e-12)
    actions = [samples.actions[i] for i in samples.which]
    unlabelled = BGLM("probit").fit(network, frame.reset_index(drop=True), actions)
    assert unlabelled.coef_.equals(whole.coef_)
    assert not BGLM("probit").fit(network, frame.reset_index(drop=True)).coef_.equals(whole.coef_)


def test_states_keep_their_names_and_1_is_found_among_them():
    network = load_network("asia")
    model = BGLM("cloglog").fit(network, SimulatedEnvironment(network, seed=0).sample(do(), 3_000))
    assert set(model.ones_.values()) == {"yes"}
    given = model.expected_reward(do(bronc="yes"), "dysp", {"yes": 1, "no": 0})
    turned = model.expected_reward(do(bronc="yes"), "dysp", {"yes": 0.2, "no": 0.7})
    assert given.value > 0.7
    assert turned.value == pytest.approx(0.7 - 0.5 * given.value, abs=1e-12)
    assert turned.se == pytest.approx(0.5 * given.se, abs=1e-12)
    fitted = model.to_network()
    assert fitted.get_cpds("dysp").state_names["dysp"] == ["yes", "no"]
    assert expected_reward(fitted, do(bronc="yes"), reward="dysp", reward_values={"yes": 1, "no": 0}) == pytest.approx(
        given.value, abs=1e-9
    )
    chain = dag([("X", "Y")])
    frame = pd.DataFrame({"X": ["low", "high"] * 20, "Y": [0, 1] * 20})
    assert BGLM().fit(chain, frame, states={"X": ["low", "high"]}).ones_ == {"X": "high", "Y": 1}
    assert BGLM().fit(chain, frame, states={"X": ["high", "low"]}).ones_ == {"X": "low", "Y": 1}


def test_a_constant_parent_is_an_intercept():
    names = list(GRAPH.nodes)
    with_constant = dag([*EDGES, *(("X0", v) for v in names)])
    network = truth("identity")
    frame = SimulatedEnvironment(network, seed=0).sample(do(), 500).to_frame()
    plain = BGLM("identity").fit(GRAPH, frame)
    for data in (frame, frame.assign(X0=1)):
        model = BGLM("identity", constant="X0").fit(with_constant, data)
        assert model.coef_.theta.tolist() == plain.coef_.theta.tolist()
        assert set(model.coef_.parent) - set(names) == {"X0"}
        assert model.expected_reward(do(C=1), "Y") == plain.expected_reward(do(C=1), "Y")
        assert "X0" not in model.ones_
        fitted = model.to_network()
        assert fitted.check_model()
        assert expected_reward(fitted, do(C=1), reward="Y") == pytest.approx(
            plain.expected_reward(do(C=1), "Y").value, abs=1e-9
        )
    without = dag([*EDGES, *(("X0", v) for v in names if v != "Y")])
    model = BGLM("identity", constant="X0").fit(without, frame)
    assert INTERCEPT not in set(model.coef_.parent)
    assert model.coef_[model.coef_.node == "Y"].parent.tolist() == ["C", "D", "E"]
    with pytest.raises(ValueError, match="row 3 has another X0 than 1, but it is the constant"):
        BGLM("identity", constant="X0").fit(without, frame.assign(X0=[1] * 3 + [0] * 497))
    with pytest.raises(ValueError, match="sets X0, which has no equation"):
        model.partial_fit(frame.reset_index(drop=True), do(X0=1))
    with pytest.raises(ValueError, match="X0 is always 1 and cannot be set"):
        model.expected_reward(do(X0=1), "Y")
    with pytest.raises(ValueError, match="X0 is the constant and no outcome"):
        model.expected_reward(do(), "X0")
    with pytest.raises(ValueError, match="has causes in the graph"):
        BGLM(constant="B").fit(GRAPH, frame)
    with pytest.raises(ValueError, match="constant must be a variable of the graph"):
        BGLM(constant="Q").fit(GRAPH, frame)


def test_what_the_data_do_not_determine_has_an_infinite_error():
    frame = pd.DataFrame({"X": [0] * 30, "Y": [0, 1, 1] * 10})
    model = BGLM().fit(dag([("X", "Y")]), frame)
    seen, unseen = model.expected_reward(do(X=0), "Y"), model.expected_reward(do(X=1), "Y")
    assert seen.value == pytest.approx(2 / 3, abs=1e-6)
    assert 0.05 < seen.se < 0.15
    assert unseen.se == math.inf
    constant = BGLM().fit(dag([("X", "Y")]), frame.assign(Y=1)).expected_reward(do(X=0), "Y")
    assert constant.value == pytest.approx(1, abs=1e-6)
    assert 0.01 < constant.se < 0.1  # no failure in 30 plays


@pytest.mark.parametrize("method", ["mle", "estimating_equation"])
def test_the_error_is_not_lost_where_a_linear_fit_leaves_the_unit_interval(method):
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 400))
    frame = pd.DataFrame({"A": a, "B": b, "W": rng.random(400) < np.array([[0.2, 0.8], [0.8, 1.0]])[a, b]}).astype(int)
    chain = BGLM("identity", method=method).fit(dag([("A", "W"), ("B", "W")]), frame)
    # all 100 or so plays of this row were 1: at least the error of a hundred plays with half a failure
    assert 0.001 < chain.expected_reward(do(A=1, B=1), "W").se < 0.1
    frame["Z"] = rng.integers(0, 2, 400)
    frame["Y"] = (rng.random(400) < 0.1 + 0.5 * frame.Z + 0.3 * frame.W).astype(int)
    graph = dag([("Z", "Y"), ("W", "Y"), ("A", "W"), ("B", "W")])
    never_free = [do(Z=int(z)) for z in frame.Z]
    model = BGLM("identity", method=method).fit(graph, frame, never_free)
    assert model.expected_reward(do(), "Y").se == math.inf
    assert model.expected_reward(do(Z=1), "Y").se < 0.1


def test_a_wide_node_that_actions_set_takes_no_more_memory_than_its_table():
    names = [f"X{i}" for i in range(16)]
    graph = dag([*((v, "M") for v in names), ("M", "Y")])
    frame = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (300, 18)), columns=[*names, "M", "Y"])
    model = BGLM().fit(graph, frame)
    actions = [do({v: 1, "M": m}) for v in names for m in (0, 1)]
    sigma = model._equations.sigma(actions, "Y", 10)
    assert sigma.exact
    tracemalloc.start()
    sigma(model._equations.theta)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 8 * 4 * module.LARGEST_ARRAY


def test_many_parents():
    """Forty causes of one outcome: no table, one equation; the value by simulation, or in a linear model exactly."""
    names = [f"X{i}" for i in range(40)]
    graph = dag([(v, "Y") for v in names])
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (4_000, 40)), columns=names)
    frame["Y"] = (rng.random(4_000) < 0.2 + 0.015 * frame.sum(axis=1)).astype(int)
    action = do(X0=1, X1=1)
    for link in ("identity", "logit"):
        model = BGLM(link).fit(graph, frame)
        value, se, simulation = model.expected_rewards([action], "Y").iloc[0, 1:]
        assert abs(value - (0.2 + 0.015 * 21)) < 4 * se
        assert (simulation == 0) == (link == "identity")
        assert simulation < se < 0.03
        with pytest.raises(ValueError, match="Y has 40 parents, too many for a table"):
            model.to_network()


def test_a_hidden_constant_is_a_constant():
    graph = dag([("X0", "Y"), ("A", "Y")], {"X0"})
    frame = pd.DataFrame({"A": [0, 1] * 30, "Y": [0, 1, 1] * 20})
    estimate = BGLM("identity", constant="X0").fit(graph, frame).expected_reward(do(A=0), "Y")
    assert estimate.value == pytest.approx(frame.Y[frame.A == 0].mean(), abs=1e-6)


def test_hidden_noise_is_left_out_and_confounders_are_refused():
    noisy = dag([*EDGES, ("U", "Y")], {"U"})
    frame = mixed(truth("logit"), 200).to_frame()
    assert BGLM().fit(noisy, frame).coef_.equals(BGLM().fit(GRAPH, frame).coef_)
    confounded = dag([*EDGES, ("U", "Y"), ("U", "A")], {"U"})
    with pytest.raises(ValueError, match="U is hidden; AdmissibleSequence takes hidden variables"):
        BGLM().fit(confounded, frame)
    with pytest.raises(ValueError, match=r"A has \[0, 1, 2\]; AdmissibleSequence takes any number"):
        BGLM().fit(GRAPH, frame, states={"A": [0, 1, 2]})


def test_it_is_a_scikit_learn_estimator():
    model = BGLM("probit", method="estimating_equation", radius="ell", alpha=0.1, eta=0.2, refresh=7)
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(link="identity").link == "identity"
    assert "link='identity'" in repr(model)


def test_a_fit_and_a_start_do_not_mix():
    frame = mixed(truth("logit"), 100).to_frame()
    model = BGLM().fit(GRAPH, frame)
    model.start(question().recording(list("ABCDE")))
    with pytest.raises(NotFittedError, match="fit a graph and data first"):
        model.expected_reward(do(), "Y")
    model.fit(GRAPH, frame)
    with pytest.raises(NotFittedError, match="has no intervals before start"):
        model.intervals(0.1)
    with pytest.raises(NotFittedError, match="has no intervals before start"):
        model.update(mixed(truth("logit"), 1))
    before = model.coef_
    model.set_params(link="probit", constant="A")  # of the next fit
    assert model.partial_fit(frame[:0]).coef_.equals(before)


def test_errors_stand_alone():
    frame = mixed(truth("logit"), 50).to_frame()
    with pytest.raises(NotFittedError, match="fit a graph and data first"):
        BGLM().expected_reward(do(), "Y")
    with pytest.raises(NotFittedError, match="fit a graph and data first"):
        BGLM().partial_fit(frame)
    with pytest.raises(ValueError, match="link must be one of"):
        BGLM("log").fit(GRAPH, frame)
    with pytest.raises(ValueError, match="method must be one of"):
        BGLM(method="bayes").fit(GRAPH, frame)
    with pytest.raises(ValueError, match=r"lack .*'Y'"):
        BGLM().fit(GRAPH, frame.drop(columns="Y"))
    with pytest.raises(ValueError, match="row 0 has C=0, which contradicts its action do"):
        BGLM().fit(GRAPH, frame.reset_index(drop=True).assign(C=0), do(C=1))
    with pytest.raises(ValueError, match="sets Q, which has no equation"):
        BGLM().fit(GRAPH, frame.reset_index(drop=True), do(Q=1))
    with pytest.raises(TypeError, match="an action must be written"):
        BGLM().fit(GRAPH, frame[:1].reset_index(drop=True), [7])
    with pytest.raises(ValueError, match=r"row 0 is labelled do.*, which contradicts the action given"):
        BGLM().fit(GRAPH, frame, do(D=1) if frame.index[0] != "do(D=1)" else do())
    with pytest.raises(TypeError, match=r"graph must be a pgmpy DAG or network .*, but got str"):
        BGLM().fit("asia", frame)
    for actions in (do(C=1), "do(C=1)", (a for a in [do()])):
        with pytest.raises(TypeError, match="actions must be a list of actions"):
            BGLM().fit(GRAPH, frame).expected_rewards(actions, "Y")
    with pytest.raises(ValueError, match="draws must be an integer"):
        BGLM(draws=0).fit(GRAPH, frame)
    with pytest.raises(ValueError, match="no play to estimate from"):
        BGLM().fit(GRAPH, frame[:0]).expected_reward(do(), "Y")
    model = BGLM().fit(GRAPH, frame)
    before = model.coef_
    with pytest.raises(ValueError, match="C has the states"):
        model.partial_fit(frame.reset_index(drop=True).assign(C=7))
    assert model.coef_.equals(before)
    with pytest.raises(ValueError, match="the reward and cannot be set"):
        model.expected_reward(do(Y=1), "Y")


def test_the_picture():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    model = BGLM().fit(GRAPH, mixed(truth("logit"), 200))
    axes = model.plot()
    texts = [t.get_text() for t in axes.texts]
    for node, parent, theta in model.coef_.itertuples(index=False):
        assert f"{node}\n{theta:.2f}" in texts if parent == INTERCEPT else f"{theta:.2f}" in texts
    pyplot.close("all")


# --------------------------------------------------------------------------------------------------------- in a policy


def question(**options):
    return CausalBandit(GRAPH, reward="Y", arms=interventions(GRAPH, reward="Y", max_size=2), **options)


def test_the_policy_asks_for_what_the_model_needs():
    bandit = CausalBandit(dag([*EDGES, ("Y", "Z")]), reward="Y", arms=[do(E=0), do(E=1)])
    assert bandit.required == ("E",)
    trial = CCPE(bandit, estimator=BGLM())
    assert trial.bandit.required == ("A", "B", "C", "D", "E")
    assert bandit.required == ("E",)
    with pytest.raises(ValueError, match="lack"):
        trial.tell(do(), {"E": 0, "Y": 1})
    trial.tell(do(), dict.fromkeys("ABCDEY", 1))
    assert list(trial.history.columns) == ["A", "B", "C", "D", "E", "Y"]
    with pytest.raises(ValueError, match=r"must record A, B, C, D: use bandit.recording"):
        BGLM().start(bandit)
    with pytest.raises(ValueError, match="only observed variables can be recorded, but got Q"):
        bandit.recording(["Q"])


@pytest.mark.parametrize("radius", BGLM_RADII)
def test_intervals_are_sigma_and_the_radius(radius):
    network = truth("identity")
    bandit = question().recording(list("ABCDE"))
    samples = SimulatedEnvironment(network, seed=0).sample(do(), 400)
    estimator = BGLM("identity", radius=radius, alpha=0.02, eta=0.4, refresh=1).start(bandit)
    intervals = estimator.update(bandit.encode(do(), samples)).intervals(0.1)
    stand_alone = BGLM("identity").fit(GRAPH, samples).expected_rewards(bandit.arms, "Y")["value"].to_numpy()
    # N_{S,Y}, by paths: the outcome and all nodes with a path to it in the graph without the nodes set
    ell = []
    for arm in bandit.arms:
        left = nx.DiGraph(GRAPH)
        left.remove_nodes_from(arm)
        ell.append(1 + len(nx.ancestors(left, "Y")))
    spread = paper_bglm_radius(400, ell, 4, 6, 0.1, reading=radius, alpha=0.02, slope_ratio=1.0, eta=0.4)
    assert intervals.lower == pytest.approx(stand_alone - spread, abs=1e-12)
    assert intervals.upper == pytest.approx(stand_alone + spread, abs=1e-12)


def test_the_readings_of_the_radius_in_figures():
    """Eq. (6) by hand: Experiment 1 at t = 500, D = 5, n = 9, eta = .3 (NUMERICS: 2.1-13 printed, .26-1.2 proved)."""
    level = math.sqrt(math.log(3 * 9 * 500**2 / 0.05) / 500)
    by_hand = {
        "printed": 0.05 / math.sqrt(0.3) * 5**1.5 * 4 * 5**1.5,
        "proved": 0.05 / math.sqrt(0.3) * 4 * 5**1.5,
        "ell_D": 0.05 * 4 * 5**1.5,
        "ell": 0.05 * 4,
        "plain": 0.05,
    }
    for reading, factor in by_hand.items():
        radius = paper_bglm_radius(500, [4], 5, 9, 0.05, reading=reading, alpha=0.05, slope_ratio=1.0, eta=0.3)
        assert radius[0] == pytest.approx(factor * level, rel=1e-12)
    logit = LINKS["logit"]
    ratio = logit.largest_slope / logit.smallest_slope(0.05)
    assert ratio == pytest.approx(0.25 / (0.05 * 0.95))
    with pytest.raises(ValueError, match="radius must be one of"):
        paper_bglm_radius(500, [4], 5, 9, 0.05, reading="lucky", alpha=1.0)


def test_it_fits_observations_alone_every_so_many_plays():
    network, bandit = truth("logit"), question().recording(list("ABCDE"))
    actions = [do(), do(A=1), do(B=0)] * 100
    samples = bandit.encode(actions, SimulatedEnvironment(network, seed=0).perform(actions))
    observed = samples.rows(slice(0, 300, 3))
    for refresh, told, counted in ((50, 149, 34), (50, 150, 50), (50, 300, 100), (1, 299, 100), (1, 7, 3)):
        estimator = BGLM(radius="plain", alpha=0.05, refresh=refresh).start(bandit)
        for start in range(0, told, 10):
            estimator.update(samples.rows(slice(start, min(start + 10, told))))
        expected = BGLM(radius="plain", alpha=0.05, refresh=1).start(bandit).update(observed.rows(slice(0, counted)))
        assert estimator.intervals(0.1).lower.tolist() == expected.intervals(0.1).lower.tolist()


def test_no_interval_before_the_equations_are_determined():
    """do(E=.) is learned from E alone, which took one value; the arms that set E are not determined."""
    network = truth("logit")
    bandit = question().recording(list("ABCDE"))
    frame = SimulatedEnvironment(network, seed=0).sample(do(), 300).to_frame()
    estimator = BGLM(radius="plain", alpha=0.02).start(bandit)
    wide = estimator.update(bandit.encode(do(), frame[frame.E == 1])).intervals(0.1)
    assert wide.upper.max() == math.inf
    assert (wide.upper - wide.lower).min() > 0.2
    narrow = estimator.update(bandit.encode(do(), frame[frame.E == 0])).intervals(0.1)
    assert (narrow.upper - narrow.lower).max() < 0.2
    assert BGLM().start(bandit).intervals(0.1).upper.tolist() == [math.inf] * len(bandit.arms)


def test_the_burn_in():
    """Line 5 by hand: c D / eta^2 log(n t^2 / delta), and the second condition, which is 0 for a linear link."""
    network, bandit = truth("identity"), question().recording(list("ABCDE"))
    n, d, c, eta, delta = 6, 4, 0.4, 0.4, 0.1
    first = next(t for t in itertools.count(1) if t >= c * d / eta**2 * math.log(n * t**2 / delta))
    assert 50 < first < 300
    samples = bandit.encode(do(), SimulatedEnvironment(network, seed=0).sample(do(), first))
    estimator = BGLM("identity", radius="plain", alpha=0.01, eta=eta, burn_in=c, refresh=1).start(bandit)
    before = estimator.update(samples.rows(slice(0, first - 1))).intervals(delta)
    assert before.upper.min() == math.inf
    after = estimator.update(samples.rows(slice(first - 1, first))).intervals(delta)
    assert after.upper.max() < 1
    curved = BGLM("logit", radius="plain", alpha=0.01, eta=eta, burn_in=c).start(bandit).update(samples)
    assert curved.intervals(delta).upper.min() == math.inf  # the second condition: millions


def test_the_certificate_is_heuristic_and_the_paper_constants_say_nothing_soon():
    network = truth("logit")
    result = CCPE(question(), estimator=BGLM(), epsilon=0.3).run(
        SimulatedEnvironment(network, seed=0), budget=600, progress=False
    )
    assert result.certificate in (None, "heuristic")
    assert not result.certified
    theory = BGLM().start(question().recording(list("ABCDE")))
    theory.update(theory.bandit_.encode(do(), SimulatedEnvironment(network, seed=0).sample(do(), 5_000)))
    assert theory.intervals(0.05).upper.min() > 1


@pytest.mark.filterwarnings("ignore:the graph is in doubt")  # the tuned radius is too narrow now and then
def test_experiment_1_is_learned_from_observation():
    """The tuned radius of the paper at 400 plays finds the arm where direct plays alone seldom can."""
    right = 0
    for seed in range(8):
        instance = experiment_1(seed)
        estimator = BGLM("identity", method="estimating_equation", radius="ell", alpha=0.05, refresh=50)
        policy = CCPE(
            instance.bandit, estimator=estimator, direct=EmpiricalMeans("paper", 0.4), epsilon=0, delta=0.1, seed=seed
        )
        policy.run(instance.environment(seed), budget=400, progress=False)
        rewards = expected_rewards(instance.network, instance.bandit, progress=False)
        right += rewards[policy.recommendation] > rewards.max() - 1e-9
    assert right >= 6


def test_errors_in_a_policy():
    with pytest.raises(ValueError, match="U is hidden; AdmissibleSequence"):
        CCPE(
            CausalBandit(dag([*EDGES, ("U", "Y"), ("U", "A")], {"U"}), reward="Y", arms=[do(A=0), do(A=1)]),
            estimator=BGLM(),
        )
    with pytest.raises(ValueError, match="AdmissibleSequence takes any number"):
        CCPE(question(states={"A": [0, 1, 2]}), estimator=BGLM())
    beside = CausalBandit(
        dag([*EDGES, ("A", "Z"), ("U", "Z"), ("U", "W")], {"U"}),
        reward="Y",
        arms=[do(A=0), do(A=1)],
        states={"Z": [0, 1, 2]},
    )
    CCPE(beside, estimator=BGLM())  # what is no ancestor of the reward need not fit the model
    for options, message in (
        ({"radius": "kt"}, "radius must be one of 'printed'"),
        ({"alpha": 0.0}, "alpha must be a positive number"),
        ({"kappa": -1.0}, "kappa must be a positive number"),
        ({"burn_in": math.inf}, "burn_in must be a positive number"),
        ({"eta": 0.7}, "eta must be above 0 and at most .5"),
        ({"refresh": 0}, "refresh must be an integer"),
        ({"link": "log"}, "link must be one of"),
    ):
        with pytest.raises(ValueError, match=message):
            CCPE(question(), estimator=BGLM(**options))
    with pytest.raises(NotFittedError, match="has no intervals before start"):
        BGLM().intervals(0.1)
    for odd in (BGLM, "bglm", 5):
        with pytest.raises(TypeError, match="estimator must be an Estimator"):
            CCPE(question(), estimator=odd)
    constant = dag([("X0", "Y"), ("X", "Y")])
    with pytest.raises(ValueError, match=r"cannot be set, but do.X0=0. is playable"):
        CCPE(
            CausalBandit(constant, reward="Y", arms=[do(X=0), do(X=1)], playable=[do(X=0), do(X=1), do(X0=0)]),
            estimator=BGLM(constant="X0"),
        )
    with pytest.raises(ValueError, match="X0 is to be the constant, but is the reward"):
        BGLM(constant="X0").required(CausalBandit(constant, reward="X0", arms=[do(X=0), do(X=1)]))
    with pytest.raises(ValueError, match="X0 is always 1 and cannot be set"):
        CCPE(
            CausalBandit(dag([("X0", "Y"), ("X", "Y")]), reward="Y", arms=[do(X0=0), do(X=1)]),
            estimator=BGLM(constant="X0"),
        )


def test_the_general_estimator_agrees():
    """Two routes to one effect, from the same 50,000 observations of a model that is one."""
    network = truth("logit")
    samples = SimulatedEnvironment(network, seed=0).sample(do(), 50_000)
    ours = BGLM().fit(network, samples).expected_reward(do(C=1), "Y")
    other = AdmissibleSequence().fit(network, samples.to_frame()).expected_reward(do(C=1), "Y")
    assert abs(ours.value - other.value) < 4 * other.se
    assert ours.se <= other.se * 1.01
