"""A table over all public entry points: at least two mistakes each, the error each gives, and nothing lost.

State is compared before and after for what has state; the long tables of each module stand in its own tests.
"""

import ast
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from helpers import dag

import pgcpe
from pgcpe import (
    BGLM,
    CCPE,
    KLLUCB,
    LUCB,
    Action,
    AdmissibleSequence,
    CausalBandit,
    CausalSuccessiveRejects,
    EmpiricalMeans,
    Encoder,
    ErrorBudget,
    LilUCB,
    ParallelBandit,
    Policy,
    PooledCCPE,
    PooledTrees,
    PropagatingInference,
    RewardNoise,
    Samples,
    SequentialHalving,
    SimulatedEnvironment,
    Study,
    SuccessiveRejects,
    TableModel,
    TopTwo,
    TwoPhase,
    UniformSampling,
    admissible_sequence,
    check_graph,
    do,
    equal_effect,
    expected_reward,
    expected_rewards,
    explain,
    interventions,
    is_admissible_sequence,
    load_network,
    read_history,
    trace,
)
from pgcpe.confidence.paper_radii import paper_bglm_radius, paper_direct_radius, paper_observational_radius
from pgcpe.confidence.sequences import kt_interval, lucb1_radius
from pgcpe.confidence.tree_region import likelihood_ratio_interval
from pgcpe.experiments import plan, plan_measurements, repeat

GRAPH = dag([("Z", "X"), ("Z", "Y"), ("X", "Y"), ("U", "X")], {"U"})
CANCER = load_network("cancer")
VALUES = {"True": 0, "False": 1}
CONFOUNDED = dag([("X", "Y"), ("U", "X"), ("U", "Y")], {"U"})
ROW = {"Z": 0, "X": 1, "Y": 1}


def question():
    return CausalBandit(GRAPH, reward="Y", arms=[do(X=0), do(X=1)])


def merged():
    chain = dag([("W", "X"), ("X", "Y")])
    return CausalBandit(chain, reward="Y", arms=[do(X=0), do(X=1), do(W=1, X=1)])


def cancer():
    arms = interventions(CANCER, reward="Dyspnoea")
    return CausalBandit(CANCER, reward="Dyspnoea", arms=arms, reward_values=VALUES)


def without_table():
    network = load_network("cancer")
    network.remove_cpds("Smoker")
    return network


def bglm_radius(delta=0.1, reading="ell"):
    return paper_bglm_radius(9, [2], 3, 4, delta, reading=reading, alpha=1.0)


TABLE = [
    ("load_network", lambda: load_network("nowhere.bif"), "there is no file 'nowhere.bif'"),
    ("load_network", lambda: load_network("asia", latents=["U"]), "latents must be variables of the network"),
    ("Action", lambda: Action({1: 0}), "named by a string"),
    ("Action", lambda: Action.parse("do(X)"), "must be written like"),
    ("do", lambda: do({"X": 1}, X=0), "must be set once"),
    ("do", lambda: do(X=[0]), "unhashable"),
    ("interventions", lambda: interventions(GRAPH, reward="Q"), "reward must be a variable"),
    ("interventions", lambda: interventions(GRAPH, reward="Y", size=9), "size must be between 0 and 2"),
    ("admissible_sequence", lambda: admissible_sequence(GRAPH, ["Q"], "Y"), "but got Q"),
    ("admissible_sequence", lambda: admissible_sequence(GRAPH, ["U"], "Y"), "U is latent"),
    ("is_admissible_sequence", lambda: is_admissible_sequence(GRAPH, [("Q", [])], "Y"), "but got Q"),
    ("is_admissible_sequence", lambda: is_admissible_sequence(GRAPH, [("X", ["Q"])], "Y"), "Z must hold variables"),
    ("equal_effect", lambda: equal_effect(GRAPH, do(Y=1), "Y"), "must not be a treatment"),
    ("equal_effect", lambda: equal_effect(GRAPH, do(X=1), "Q"), "but got Q"),
    ("check_graph", lambda: check_graph(GRAPH, 3), "samples must be Samples, a DataFrame"),
    ("check_graph", lambda: check_graph(GRAPH, [ROW], level=2), "level must be between 0 and 1"),
    ("Study", lambda: Study.create("study.pgcpe", 3), "policy must be a policy"),
    ("Study", lambda: Study.open("no such.pgcpe"), "there is no study no such.pgcpe"),
    ("explain", lambda: explain(GRAPH, ["X"], "U"), "U is latent"),
    ("explain", lambda: explain(GRAPH, ["X", "Y"], "Y"), "must not be a treatment"),
    ("CausalBandit", lambda: CausalBandit(GRAPH, reward="Y", arms=[]), "at least one action"),
    ("CausalBandit", lambda: CausalBandit(GRAPH, reward="Y", arms=[do(U=1)]), "latent and cannot be set"),
    ("SimulatedEnvironment", lambda: SimulatedEnvironment(without_table(), seed=0), "Smoker has no table"),
    ("SimulatedEnvironment", lambda: SimulatedEnvironment(CANCER, seed=0).perform([do(Q=1)]), "no observed variable"),
    ("expected_reward", lambda: expected_reward(CANCER, do(), reward="Dyspnoea"), "say what they are worth"),
    ("expected_reward", lambda: expected_reward(GRAPH, do(), reward="Y"), "has no table"),
    ("expected_rewards", lambda: expected_rewards(without_table(), cancer()), "Smoker has no table"),
    ("expected_rewards", lambda: expected_rewards(GRAPH, question()), "has no table"),
    ("Samples", lambda: Samples.from_frame(pd.DataFrame({"X": [1]}), {"Y": (0, 1)}, do()), r"lack \['Y'\]"),
    ("Samples", lambda: Samples.from_frame(pd.DataFrame({"Y": [7]}), {"Y": (0, 1)}, do()), "row 0 .* but got 7"),
    (
        "EmpiricalMeans",
        lambda: EmpiricalMeans("lr").start(question()),
        "radius must be one of 'kt', 'paper', 'kl'",
    ),
    ("EmpiricalMeans", lambda: EmpiricalMeans().start(question()).intervals(2.0), "level must be between"),
    (
        "Encoder",
        lambda: Encoder(question()).encode(do(), ROW, missing="keep"),
        "missing must be one of 'raise', 'drop'",
    ),
    ("Encoder", lambda: Encoder(question()).encode(None, ROW), "give the actions of the plays"),
    ("read_history", lambda: read_history("action,X", question()), "No such file"),
    ("read_history", lambda: read_history("action,X\n", question()), "path must name a file"),
    ("AdmissibleSequence", lambda: AdmissibleSequence().intervals(0.1), "before start"),
    ("AdmissibleSequence", lambda: AdmissibleSequence().fit(GRAPH, 3), "samples must be"),
    ("BGLM", lambda: BGLM().fit(GRAPH, 3), "samples must be"),
    ("BGLM", lambda: BGLM().fit(CONFOUNDED, [ROW]), "U is hidden; AdmissibleSequence"),
    ("BGLM", lambda: BGLM().fit(GRAPH, [{"Z": 0, "X": 1}]), r"lack \['Y'\]"),
    ("BGLM", lambda: BGLM().fit(GRAPH, [ROW | {"X": None}]), "row 0 .* has no value for X"),
    ("BGLM", lambda: BGLM().start(question()).intervals(2.0), "level must be between"),
    ("CCPE", lambda: CCPE(question(), delta=0), "delta must be between 0 and 1"),
    (
        "CCPE",
        lambda: CCPE(question(), direct=AdmissibleSequence()),
        "direct must be a DirectEstimator",
    ),
    ("LUCB", lambda: LUCB(question(), epsilon=1), "epsilon must be at least 0"),
    ("LUCB", lambda: LUCB(question(), radius="lr"), "radius must be"),
    ("KLLUCB", lambda: KLLUCB(GRAPH), "bandit must be a CausalBandit"),
    ("KLLUCB", lambda: KLLUCB(question(), delta=2), "delta must be between 0 and 1"),
    ("LilUCB", lambda: LilUCB(GRAPH), "bandit must be a CausalBandit"),
    ("LilUCB", lambda: LilUCB(question(), alpha=-1), "alpha must be a positive number"),
    ("UniformSampling", lambda: UniformSampling(question(), budget=0), "budget must be at least 1"),
    ("UniformSampling", lambda: UniformSampling(GRAPH, budget=9), "bandit must be a CausalBandit"),
    ("SuccessiveRejects", lambda: SuccessiveRejects(question(), budget=2), "budget must be at least 3 plays"),
    ("SuccessiveRejects", lambda: SuccessiveRejects(question(), budget=2.5), "budget must be an integer"),
    ("SequentialHalving", lambda: SequentialHalving(question(), budget=0), "budget must be at least 1 plays"),
    ("SequentialHalving", lambda: SequentialHalving(question(), budget="9"), "budget must be an integer"),
    ("TopTwo", lambda: TopTwo(GRAPH), "bandit must be a CausalBandit"),
    ("TopTwo", lambda: TopTwo(question(), delta=0), "delta must be between 0 and 1"),
    ("CausalSuccessiveRejects", lambda: CausalSuccessiveRejects(question(), budget=0), "budget must be at least 1"),
    ("CausalSuccessiveRejects", lambda: CausalSuccessiveRejects(question(), budget=9, merge=1), "merge must be one of"),
    ("ParallelBandit", lambda: ParallelBandit(question(), budget=9), "needs a parallel graph"),
    ("ParallelBandit", lambda: ParallelBandit(question(), budget=True), "budget must be an integer"),
    ("PooledCCPE", lambda: PooledCCPE(question(), delta=0.0), "delta must be between 0 and 1"),
    ("PooledCCPE", lambda: PooledCCPE(GRAPH), "bandit must be a CausalBandit"),
    ("PooledCCPE", lambda: PooledCCPE(question(), guarantee="proved"), "guarantee must be one of 'exact', 'direct'"),
    ("PooledCCPE", lambda: PooledCCPE(question(), model="forest"), "model must be one of 'tables', 'trees', None"),
    ("PooledCCPE", lambda: PooledCCPE(question(), sampling="thompson"), "sampling must be one of 'cycle', 'progress'"),
    (
        "PooledCCPE",
        lambda: PooledCCPE(merged(), guarantee="direct"),
        "make the bandit with merge_equal=False",
    ),
    ("PooledTrees", lambda: PooledTrees(refresh=0).start(question()), "refresh must be an integer of at least 1"),
    ("PooledTrees", lambda: PooledTrees().intervals(0.1), "before start"),
    ("TwoPhase", lambda: TwoPhase(question(), budget=-1), "budget must be an integer of at least 0"),
    ("TwoPhase", lambda: TwoPhase(GRAPH, budget=9), "bandit must be a CausalBandit"),
    ("PropagatingInference", lambda: PropagatingInference(question(), budget=9, eta=0.5), "eta must be one of 'cells'"),
    ("PropagatingInference", lambda: PropagatingInference(question(), budget=None), "budget must be an integer"),
    ("TableModel", lambda: TableModel().means(), "before start"),
    ("TableModel", lambda: TableModel(float("nan")).start(question()), "pseudo_count must be"),
    ("plan", lambda: plan(question(), CANCER), "the network must have the variables of the bandit, but lacks X, Y"),
    ("plan", lambda: plan(question(), CANCER, runs=0), "runs must be an integer of at least 1, but got 0"),
    ("RewardNoise", lambda: RewardNoise("Y", (1, 0)), "the lower one first, but got"),
    ("RewardNoise", lambda: RewardNoise("Y", (0, 1), kind="x"), "kind must be one of 'two-point', 'beta', 'censored'"),
    ("trace", lambda: trace(question()), "policy must be a Policy that was told plays, but got CausalBandit"),
    ("trace", lambda: trace(LUCB(question())), "policy must have been told plays, but knows none: tell it, or run it"),
    ("plan_measurements", lambda: plan_measurements(question(), CANCER), "the network must have the variables of"),
    (
        "plan_measurements",
        lambda: plan_measurements(question(), CANCER, runs=0),
        "runs must be an integer of at least 1",
    ),
    ("repeat", lambda: repeat({}, question, seeds=[0], budgets=[5]), "there must be at least one policy"),
    ("repeat", lambda: repeat({"CCPE": CCPE}, question, seeds=[0], budgets=[-5]), "budgets must be positive"),
    ("Policy", lambda: Policy(GRAPH, direct=EmpiricalMeans(), sampling=None, stopping=None), "must be a CausalBandit"),
    (
        "Policy",
        lambda: Policy(question(), sampling=None, stopping=None),
        "sampling must be a SamplingRule",
    ),
    ("ErrorBudget", lambda: ErrorBudget({"a": 0.7, "b": 0.7}, 0.1), "shares must sum to at most 1"),
    ("ErrorBudget", lambda: ErrorBudget({"a": 0.7}, 0.1).spend("b"), "there is no share for 'b'; there are 'a'"),
    ("Policy", lambda: LUCB(question()).tell(do(X=2), ROW), "X has the states 0, 1, but got 2"),
    ("kt_interval", lambda: kt_interval([5], [1, 2], 0.1), "finite arrays over the arms"),
    ("kt_interval", lambda: kt_interval([5], [1], 1.0), "alpha must be between"),
    ("lucb1_radius", lambda: lucb1_radius([1], 2, 3, 0.0), "delta must be between"),
    ("lucb1_radius", lambda: lucb1_radius([1], 2, 3, 1.0), "delta must be between"),
    ("paper_bglm_radius", lambda: bglm_radius(reading="kt"), "radius must be one of"),
    ("paper_bglm_radius", lambda: bglm_radius(delta=0.0), "delta must be between"),
    ("paper_direct_radius", lambda: paper_direct_radius([1], 2, 0.0), "delta must be between"),
    ("paper_direct_radius", lambda: paper_direct_radius([1], 2, 1.5), "delta must be between"),
    ("paper_observational_radius", lambda: paper_observational_radius(9, 1, 1, 1, 2, 3, 0.0), "delta must be between"),
    ("paper_observational_radius", lambda: paper_observational_radius(9, 1, 1, 1, 2, 3, -1), "delta must be between"),
    ("likelihood_ratio_interval", lambda: likelihood_ratio_interval([], [1, 2], [0, 0], 0.1), "must have 1 entries"),
    ("likelihood_ratio_interval", lambda: likelihood_ratio_interval([], [np.nan], [0], 0.1), "must be finite"),
]

WITHOUT_MISTAKES = {
    *("Environment", "Estimator", "IntervalEstimator", "DirectEstimator", "PairwiseEstimator"),
    *("SamplingRule", "RecommendationRule", "StoppingRule"),
    *("Contrast", "Estimate", "Estimated", "GraphCheck", "Intervals", "PolicyState", "Result", "Verdict"),
    "shipped_networks",
}
"""Contracts, values that others make, and a function without arguments."""


@pytest.mark.parametrize(("name", "mistake", "message"), TABLE, ids=[f"{row[0]}-{i}" for i, row in enumerate(TABLE)])
def test_the_error_says_what_is_wrong(name, mistake, message):
    with pytest.raises((ValueError, TypeError, RuntimeError, FileNotFoundError), match=message):
        mistake()


def test_every_public_name_stands_in_the_table_twice():
    names = [row[0] for row in TABLE]
    assert {n for n in pgcpe.__all__ if names.count(n) < 2} == WITHOUT_MISTAKES


def test_a_fitted_estimator_keeps_its_fit():
    for estimator in (AdmissibleSequence(), BGLM()):
        fitted = estimator.fit(GRAPH, [ROW, {"Z": 1, "X": 0, "Y": 0}])
        before = fitted.expected_reward(do(X=1), "Y")
        for mistake in (
            lambda fitted=fitted: fitted.fit(GRAPH, 3),
            lambda fitted=fitted: fitted.partial_fit([ROW], [do(), do()]),
            lambda fitted=fitted: fitted.expected_reward(do(X=7), "Y"),
        ):
            with pytest.raises((ValueError, TypeError)):
                mistake()
            assert fitted.expected_reward(do(X=1), "Y") == before


def test_an_environment_keeps_its_generator():
    environment = SimulatedEnvironment(CANCER, seed=3)
    before = pickle.dumps(environment._rng.bit_generator.state)
    for mistake in ([do(Q=1)], [do(Smoker="perhaps")], ["do()"]):
        with pytest.raises((ValueError, TypeError)):
            environment.perform(mistake)
    assert pickle.dumps(environment._rng.bit_generator.state) == before


JUNK = [
    3, None, "x", b"x", [], {}, [1], object(), float("nan"), [None], [[]], pd.DataFrame({"a": [1]}), pd.Series([1, 2]),
    np.array(3), {1}, {"X": [1]}, {"Y": None}, {"a": {}}, (1, 2), len, range(3), {1: 2}, [do()], pd.NA, "x" * 100_000,
    np.array([1, 2]), ["Y"], [["X"]], -1, 10**30, 2.5, True,
]  # fmt: skip
"""What no entry takes, or hardly any."""

RAW = (
    "unhashable type", "object is not", "not supported between", "has no attribute", "0-d array", "ambiguous",
    "object of type", "not enough values", "int() argument", "could not be converted", "must be real number",
)  # fmt: skip
"""What Python says itself where nothing was checked."""

LEARNERS = (EmpiricalMeans, AdmissibleSequence, BGLM, PooledTrees, TableModel)
ENVIRONMENT = SimulatedEnvironment(CANCER, seed=0)


def observed():
    return question().recording(["Z"])


def instance(seed):
    return cancer(), SimulatedEnvironment(CANCER, seed=seed)


ENTRIES = {
    "reward": lambda it: CausalBandit(GRAPH, reward=it, arms=[do()]),
    "arms": lambda it: CausalBandit(GRAPH, reward="Y", arms=it),
    "playable": lambda it: CausalBandit(GRAPH, reward="Y", arms=[do()], playable=it),
    "costs": lambda it: CausalBandit(GRAPH, reward="Y", arms=[do()], costs=it),
    "states": lambda it: CausalBandit(GRAPH, reward="Y", arms=[do()], states=it),
    "states of X": lambda it: CausalBandit(GRAPH, reward="Y", arms=[do()], states={"X": it}),
    "reward_values": lambda it: CausalBandit(GRAPH, reward="Y", arms=[do()], reward_values=it),
    "value of a state": lambda it: CausalBandit(GRAPH, reward="Y", arms=[do()], reward_values={0: it, 1: 1}),
    "action": lambda it: question().action(it),
    "recording": lambda it: question().recording(it),
    "tell action": lambda it: CCPE(question()).tell(it, [ROW]),
    "tell samples": lambda it: CCPE(question()).tell(do(), it),
    "tell alone": lambda it: CCPE(question()).tell(it),
    "tell value": lambda it: CCPE(question()).tell(do(), [ROW | {"X": it}]),
    "tell missing": lambda it: CCPE(question()).tell(do(), ROW, missing=it),
    "perform": lambda it: SimulatedEnvironment(CANCER, seed=0).perform(it),
    "perform one": lambda it: SimulatedEnvironment(CANCER, seed=0).perform([it]),
    "sample": lambda it: SimulatedEnvironment(CANCER, seed=0).sample(it, 2),
    "sample n": lambda it: SimulatedEnvironment(CANCER, seed=0).sample(do(), it),
    "network": lambda it: SimulatedEnvironment(it, seed=0),
    "expected_reward": lambda it: expected_reward(CANCER, it, reward="Dyspnoea", reward_values=VALUES),
    "expected_rewards": lambda it: expected_rewards(CANCER, it),
    "Action": Action,
    "do": do,
    "parse": Action.parse,
    "variables": lambda it: interventions(GRAPH, reward="Y", variables=it),
    "size": lambda it: interventions(GRAPH, reward="Y", size=it),
    "values": lambda it: interventions(GRAPH, reward="Y", values=it),
    "values of X": lambda it: interventions(GRAPH, reward="Y", values={"X": it}),
    "equal_effect": lambda it: equal_effect(GRAPH, it, "Y"),
    "Encoder": Encoder,
    "read_history": lambda it: read_history("no file", it),
    "from_frame": lambda it: Samples.from_frame(it, {"X": (0, 1)}, do()),
    "from_frame actions": lambda it: Samples.from_frame(pd.DataFrame({"X": [1]}), {"X": (0, 1)}, it),
    "null": lambda it: interventions(GRAPH, reward="Y", null=it),
    "merge_equal": lambda it: CausalBandit(GRAPH, reward="Y", arms=[do()], merge_equal=it),
    "outcome": lambda it: equal_effect(GRAPH, do(X=1), it),
    "outcome of a sequence": lambda it: admissible_sequence(GRAPH, ["X"], it),
    "treatments": lambda it: admissible_sequence(GRAPH, it, "Y"),
    "sequence": lambda it: is_admissible_sequence(GRAPH, it, "Y"),
    "explain": lambda it: explain(GRAPH, it, "Y"),
    "graph": lambda it: admissible_sequence(it, ["X"], "Y"),
    "guarantee": lambda it: PooledCCPE(question(), guarantee=it),
    "model": lambda it: PooledCCPE(question(), model=it),
    "sampling": lambda it: PooledCCPE(question(), sampling=it),
    "refresh": lambda it: PooledCCPE(question(), refresh=it),
    "epsilon": lambda it: PooledCCPE(question(), epsilon=it),
    "delta": lambda it: CCPE(question(), delta=it),
    "seed": lambda it: LUCB(question(), seed=it),
    "seed of an environment": lambda it: SimulatedEnvironment(CANCER, seed=it),
    "radius": lambda it: LUCB(question(), radius=it),
    "alpha": lambda it: LUCB(question(), radius="paper", alpha=it),
    "budget": lambda it: SequentialHalving(question(), budget=it),
    "keep": lambda it: SequentialHalving(question(), budget=9, keep=it),
    "merge": lambda it: CausalSuccessiveRejects(question(), budget=9, merge=it),
    "eta": lambda it: PropagatingInference(question(), budget=9, eta=it),
    "budget of a run": lambda it: LUCB(cancer(), epsilon=0.9).run(ENVIRONMENT, budget=it, progress=False),
    "progress": lambda it: LUCB(cancer(), epsilon=0.9).run(ENVIRONMENT, budget=1, progress=it),
    "ask": lambda it: LUCB(question()).ask(it),
    "link": lambda it: BGLM(it).fit(GRAPH, [ROW]),
    "method": lambda it: BGLM(method=it).fit(GRAPH, [ROW]),
    "constant": lambda it: BGLM(constant=it).fit(GRAPH, [ROW]),
    "draws": lambda it: BGLM(draws=it).fit(GRAPH, [ROW]),
    "actions of an estimate": lambda it: BGLM().fit(GRAPH, [ROW]).expected_rewards(it, "Y"),
    "outcome of an estimate": lambda it: AdmissibleSequence().fit(GRAPH, [ROW]).expected_reward(do(X=1), it),
    "missing of a fit": lambda it: AdmissibleSequence().fit(GRAPH, [ROW], missing=it),
    "pseudo_count": lambda it: TableModel(it).start(question()),
    "level": lambda it: EmpiricalMeans().start(question()).intervals(it),
    **{f"start {kind.__name__}": lambda it, kind=kind: kind().start(it) for kind in LEARNERS},
    **{f"update {kind.__name__}": lambda it, kind=kind: kind().start(observed()).update(it) for kind in LEARNERS},
    "shares": lambda it: ErrorBudget(it, 0.05),
    "spend": lambda it: ErrorBudget({"a": 1.0}, 0.05).spend(it),
    "over": lambda it: ErrorBudget({"a": 1.0}, 0.05).spend("a", over=it),
    "policies": lambda it: repeat(it, instance, seeds=[0], budgets=[1]),
    "instance": lambda it: repeat({"a": LUCB}, None if it is len else it, seeds=[0], budgets=[1]),
    "seeds": lambda it: repeat({"a": LUCB}, instance, seeds=it, budgets=[1]),
    "budgets": lambda it: repeat({"a": LUCB}, instance, seeds=[0], budgets=it),
    "n_jobs": lambda it: repeat({"a": LUCB}, instance, seeds=[0], budgets=[1], n_jobs=it),
    "file": lambda it: repeat({"a": LUCB}, instance, seeds=[0], budgets=[1], file=it),
    "fit": lambda it: AdmissibleSequence().fit(GRAPH, it),
    "fit actions": lambda it: AdmissibleSequence().fit(GRAPH, [ROW], it),
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_whatever_is_given_the_error_is_one_of_value_or_type_and_short(entry):
    """No AttributeError or KeyError, nothing that Python or numpy says of itself, and no more than a part of it."""
    said = []
    for it in JUNK:
        try:
            ENTRIES[entry](it)
        except (ValueError, TypeError, FileNotFoundError) as error:
            said.append(str(error))
    assert said
    assert max(map(len, said)) < 500
    assert not [text for text in said for raw in RAW if raw in text]


def test_the_ways_out_of_estimators():
    """Those that two messages name: the variables to record, and how samples get their rewards."""
    with pytest.raises(ValueError, match=r"use bandit\.recording") as raised:
        BGLM().start(question().recording([]))
    names = ast.literal_eval(re.search(r"recording\((.*)\)", str(raised.value))[1])
    assert BGLM().start(question().recording(names)).bandit_.required == tuple(names)
    drawn = SimulatedEnvironment(CANCER, seed=0).sample(do(), 5)
    with pytest.raises(ValueError, match=r"encode them with bandit\.encode first"):
        EmpiricalMeans().start(cancer()).update(drawn)
    assert EmpiricalMeans().start(cancer()).update(cancer().encode(None, drawn)).plays_.sum() == 5


def test_a_column_is_looked_for_under_a_like_name():
    with pytest.raises(ValueError, match=r"lack \['X'\]; did you mean 'x'"):
        CCPE(question()).tell(do(), {"Z": 0, "x": 1, "Y": 1})
