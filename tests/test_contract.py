"""One contract for every policy."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from pgmpy.base import DAG

from pgcpe import (
    BGLM,
    CCPE,
    KLLUCB,
    LUCB,
    AdmissibleSequence,
    CausalBandit,
    CausalSuccessiveRejects,
    EmpiricalMeans,
    LilUCB,
    ParallelBandit,
    PooledCCPE,
    PropagatingInference,
    Samples,
    SequentialHalving,
    SimulatedEnvironment,
    SuccessiveRejects,
    TopTwo,
    TwoPhase,
    UniformSampling,
    do,
    expected_rewards,
    interventions,
    load_network,
)

NETWORK = load_network("cancer")
VALUES = {"True": 0, "False": 1}

POLICIES = {
    "CCPE": CCPE,
    "CCPE paper": lambda bandit, **o: CCPE(
        bandit, estimator=AdmissibleSequence("paper", alpha=0.3), direct=EmpiricalMeans("paper", alpha=0.4), **o
    ),
    "CCPE BGLM paper": lambda bandit, **o: CCPE(bandit, estimator=BGLM(radius="ell_D", alpha=0.5, refresh=20), **o),
    "CCPE refresh": lambda bandit, **o: CCPE(bandit, estimator=AdmissibleSequence(refresh=50), **o),
    "LUCB": LUCB,
    **{
        f"{cls.__name__} budget": lambda bandit, epsilon=0, delta=0, cls=cls, **o: cls(bandit, budget=400, **o)
        for cls in (
            UniformSampling,
            SuccessiveRejects,
            SequentialHalving,
            CausalSuccessiveRejects,
            PropagatingInference,
            ParallelBandit,
            TwoPhase,
        )
    },
    **{
        f"CausalSuccessiveRejects {merge} budget": lambda bandit, epsilon=0, delta=0, merge=merge, **o: (
            CausalSuccessiveRejects(bandit, budget=400, merge=merge, **o)
        )
        for merge in ("counts", "variance")
    },
    "PropagatingInference optimised budget": lambda bandit, epsilon=0, delta=0, **o: PropagatingInference(
        bandit, budget=400, eta="optimised", **o
    ),
    "PooledCCPE": PooledCCPE,
    "PooledCCPE refresh": lambda bandit, **o: PooledCCPE(bandit, refresh=50, **o),
    "PooledCCPE progress": lambda bandit, **o: PooledCCPE(bandit, sampling="progress", refresh=50, **o),
    "PooledCCPE asymptotic": lambda bandit, **o: PooledCCPE(bandit, guarantee="asymptotic", refresh=50, **o),
    "PooledCCPE numerical": lambda bandit, **o: PooledCCPE(bandit, guarantee="numerical", refresh=50, **o),
    "PooledCCPE BGLM": lambda bandit, **o: PooledCCPE(bandit, model=BGLM(), refresh=50, **o),
    "TopTwo": TopTwo,
    "KL-LUCB": KLLUCB,
    "lil'UCB paper": lambda bandit, epsilon=0, **o: LilUCB(bandit, **o),
    "LUCB1": lambda bandit, **o: LUCB(bandit, radius="lucb1", **o),
    "LUCB paper": lambda bandit, **o: LUCB(bandit, radius="paper", alpha=0.3, **o),
}


PARALLEL = DAG([(v, "Dyspnoea") for v in ("Pollution", "Smoker", "Cancer")])
PARALLEL.add_node("Xray")
"""As good a graph for the effects of single variables on the reward, and parallel."""


@pytest.fixture(params=POLICIES)
def name(request):
    return request.param


@pytest.fixture
def make_bandit(name):
    """Makes the question a policy is for: two rules know arms of one variable alone, one of them parallel graphs."""
    atomic = name in ("TwoPhase budget", "ParallelBandit budget")
    graph = PARALLEL if name == "ParallelBandit budget" else NETWORK
    arms = interventions(NETWORK, reward="Dyspnoea", max_size=1 if atomic else 2)
    states = {v: NETWORK.get_cpds(v).state_names[v] for v in NETWORK}
    given = {"reward": "Dyspnoea", "reward_values": VALUES, "arms": arms, "states": states}
    return lambda **options: CausalBandit(graph, **(given | options))


@pytest.fixture
def bandit(make_bandit):
    return make_bandit()


@pytest.fixture
def make(name):
    return POLICIES[name]


def known(policy):
    """What a policy would say, for comparison."""
    return (
        policy.ask(),
        policy.recommendation,
        policy.stopped,
        policy.stop_reason,
        policy.n_plays,
        policy.plays_by_action,
        policy.intervals.lower.tolist(),
        policy.intervals.upper.tolist(),
        policy.conflicts,
        policy.stops,
        policy.certified_at,
        policy.assumptions,
    )


def played(make, bandit, n=60, seed=0):
    policy = make(bandit, epsilon=0.01, seed=seed)
    policy.run(SimulatedEnvironment(NETWORK, seed=seed), budget=n, progress=False)
    return policy


def test_everything_is_defined_before_the_first_tell(make, bandit):
    policy = make(bandit)
    assert policy.recommendation in bandit.arms
    assert (policy.n_plays, policy.plays_by_action, policy.stopped, policy.stop_reason) == (0, {}, False, "")
    assert policy.history.empty
    assert np.array_equal(policy.intervals.midpoint, np.full(len(bandit.arms), 0.5))
    assert not policy.result().certified


def test_ask_is_pure_and_asks_for_playable_actions(name, make, bandit):
    policy = played(make, bandit)
    asked = policy.ask()
    asked.append("scribble")
    assert policy.ask() == asked[:-1]
    assert set(policy.ask()) <= set(bandit.playable)
    first = policy.ask()[:7]  # beyond an iteration all so far are pending; of a phase what is left of it
    assert policy.ask(7)[: len(first)] == first
    assert len(policy.ask(7)) == (len(first) if "budget" in name else 7)


def test_who_asks_while_plays_are_pending_gets_those_that_follow(name, make, bandit):
    """Asked by two, one iteration and the rest, it is the batch that one would get; nothing is learned by it."""
    policy = played(make, bandit)
    before, first = known(policy), policy.ask()
    whole = policy.ask(len(first) + 9)
    assert policy.ask(9, pending=first) == whole[len(first) :]
    assert policy.ask(pending=[str(action) for action in first]) == policy.ask(None, pending=first)
    assert known(policy) == before
    if "budget" in name:
        assert policy.ask(pending=first) == []
    else:
        assert set(whole) <= set(bandit.playable)


BATCHED = ["LUCB", "KL-LUCB", "TopTwo", "CCPE", "PooledCCPE", "lil'UCB paper", "LUCB1"]


@pytest.mark.parametrize("name", BATCHED)
def test_fifty_at_once_are_not_all_of_an_iteration(name):
    """What is pending counts: a batch goes on to other arms than one iteration names."""
    arms = interventions(NETWORK, reward="Dyspnoea", max_size=2)
    policy = played(POLICIES[name], CausalBandit(NETWORK, reward="Dyspnoea", arms=arms, reward_values=VALUES))
    assert len(set(policy.ask(50))) > len(set(policy.ask()))


def test_tell_returns_itself_and_takes_every_form(make, bandit):
    frame = SimulatedEnvironment(NETWORK, seed=3).sample(do(), 30).to_frame()
    forms = [
        SimulatedEnvironment(NETWORK, seed=3).sample(do(), 30),
        frame,
        frame.reset_index(drop=True).to_dict("records"),
        frame.reset_index(drop=True).to_dict("list"),
        frame[["Dyspnoea", *bandit.required]].assign(junk=0),
    ]
    policies = [make(bandit) for _ in forms]
    for policy, form in zip(policies, forms, strict=True):
        assert policy.tell(do(), form) is policy
        assert known(policy) == known(policies[0])
    one_by_one = make(bandit)
    for row in frame.to_dict("records"):
        one_by_one.tell(do(), row)
    assert known(one_by_one)[1:6] == known(policies[0])[1:6]
    assert np.allclose(one_by_one.intervals.lower, policies[0].intervals.lower)


def test_state_depends_on_the_rows_and_not_on_how_they_came(make, bandit):
    environment = SimulatedEnvironment(NETWORK, seed=8)
    actions = [bandit.playable[i] for i in np.random.default_rng(0).integers(0, len(bandit.playable), 300)]
    samples = environment.perform(actions)
    whole = make(bandit).tell(actions, samples)
    parts = make(bandit)
    for start in range(0, 300, 7):
        parts.tell(actions[start : start + 7], samples.rows(slice(start, start + 7)))
    assert known(parts) == known(whole)


@pytest.mark.filterwarnings("ignore:Cancer is False in all")  # which is rare
def test_history_replays_to_the_same_state(make, bandit):
    policy = played(make, bandit, n=200)
    history = policy.history
    assert len(history) == policy.n_plays == 200
    again = make(bandit, epsilon=0.01)
    again.tell(list(history.index), history)
    assert known(again) == known(policy)


def test_what_was_asked_for_can_be_given_up(name, make, bandit):
    policy = played(make, bandit, n=61)
    fresh = make(bandit, epsilon=0.01).tell(list(policy.history.index), policy.history)
    left = policy.ask()
    assert policy.cancel() is policy
    assert policy.n_plays == 61
    assert policy.recommendation == fresh.recommendation
    if "budget" in name:  # the plays of a phase are kept
        assert policy.ask() == left
    else:
        assert policy.ask() == fresh.cancel().ask()


def test_same_seed_same_run_and_the_global_generator_is_left_alone(make, bandit):
    before = np.random.get_state()[1].copy()
    assert known(played(make, bandit, seed=4)) == known(played(make, bandit, seed=4))
    assert np.array_equal(np.random.get_state()[1], before)


def test_ties_are_broken_by_the_seed_and_not_by_the_order(make, bandit):
    first = {make(bandit, seed=seed).recommendation for seed in range(40)}
    assert len(first) > 5


def test_any_action_on_observed_variables_may_be_told(make, bandit):
    policy = make(bandit)
    environment = SimulatedEnvironment(NETWORK, seed=0)
    odd = do(Cancer="True", Xray="positive")
    policy.tell([odd], environment.perform([odd]))
    assert policy.n_plays == 1
    table = policy.result().table
    listed = odd in bandit.listed  # merged by name; an action that is not listed is no arm's direct play
    assert table.n_plays[table.action == do(Cancer="True")].tolist() == [int(listed)]


def test_states_are_found_by_name(make):
    bandit = CausalBandit(DAG([("X", "Y")]), reward="Y", arms=[do(X=0), do(X=1)])
    policy = make(bandit).tell([do(X="1")], [{"X": "1", "Y": 1.0}])
    assert policy.plays_by_action == {do(X=1): 1}


BAD = {
    "missing column": (lambda: (do(), {"Dyspnoea": "True"}), "lack"),
    "missing reward": (lambda: (do(), {"Pollution": "low", "Smoker": "True", "Cancer": "True"}), "lack"),
    "unknown state": (lambda: (do(), row(Smoker="perhaps")), "Smoker has the states"),
    "missing value": (lambda: (do(), row(Smoker=None)), "row 0 .* no value for Smoker"),
    "contradiction": (lambda: (do(Smoker="False"), row()), "contradicts its action"),
    "second row bad": (lambda: (do(), [row(), row(Dyspnoea="?")]), "row 1 "),
    "number of actions": (lambda: ([do(), do()], [row()]), "2 actions for 1 plays"),
    "number of samples": (lambda: ([do()], SimulatedEnvironment(NETWORK, seed=0).sample(do(), 2)), "actions told"),
    "other actions": (
        lambda: (do(Smoker="True"), SimulatedEnvironment(NETWORK, seed=0).sample(do(), 2)),
        "actions told",
    ),
    "unknown variable": (lambda: (do(Q=1), row()), "no variable"),
    "reward set": (lambda: (do(Dyspnoea="True"), row()), "the reward and cannot be set"),
    "no action": (lambda: (7, row()), "object is not iterable|an action must be written"),
    "no action in a list": (lambda: ([{"Smoker": "True"}], [row()]), "an action must be written"),
    "text of no action": (lambda: ("do(Smoker)", row()), "an action must be written"),
    "contradiction beside": (lambda: (do(Xray="positive"), row(Xray="negative")), "Xray=negative, which contradicts"),
    "labelled otherwise": (
        lambda: (do(Smoker="True"), SimulatedEnvironment(NETWORK, seed=0).sample(do(), 2).to_frame()),
        "labelled do\\(\\), which contradicts",
    ),
    "codes that are none": (lambda: (do(), broken(codes=-1)), "has the code -1"),
    "codes of floats": (lambda: (do(), broken(dtype=float)), "int32 codes"),
    "an action that is none": (lambda: (do(), broken(which=3)), "must name one of their 1 actions"),
    "no samples": (lambda: (do(), 3), "samples must be"),
}


def broken(codes=0, which=0, dtype=np.int32):
    """Samples that no environment gives."""
    right = SimulatedEnvironment(NETWORK, seed=0).sample(do(), 2)
    return Samples(right.coding, (right.codes * 0 + codes).astype(dtype), right.actions, right.which + which)


def row(**changes):
    return {"Pollution": "low", "Smoker": "True", "Cancer": "False", "Dyspnoea": "True"} | changes


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named_and_changes_nothing(make, bandit, case):
    policy = played(make, bandit)
    before = pickle.dumps(known(policy))
    bad, message = BAD[case]
    if case in ("missing column", "missing value") and not policy.bandit.required:
        assert policy.tell(*bad()).n_plays == len(policy.history) == 61  # action and outcome are enough
        return
    with pytest.raises((ValueError, TypeError), match=message):
        policy.tell(*bad())
    assert pickle.dumps(known(policy)) == before
    assert len(policy.history) == policy.n_plays


def test_an_environment_that_fails_loses_nothing(make, bandit):
    class Broken:
        def __init__(self):
            self.real, self.calls, self.performed = SimulatedEnvironment(NETWORK, seed=0), 0, 0

        def perform(self, actions):
            self.calls += 1
            if self.calls == 5:
                raise KeyboardInterrupt
            self.performed += len(actions)
            return self.real.perform(actions)

    policy = make(bandit, epsilon=0.01)
    broken = Broken()
    with pytest.raises(KeyboardInterrupt):
        policy.run(broken, progress=False)
    assert policy.n_plays == broken.performed > 4
    policy.run(SimulatedEnvironment(NETWORK, seed=0), budget=10, progress=False)
    assert policy.n_plays == broken.performed + 10


@pytest.mark.parametrize("budget", [0, 1, 2, 10, 31])
def test_a_budget_is_spent_and_never_exceeded(make, bandit, budget):
    result = make(bandit, epsilon=0.0).run(SimulatedEnvironment(NETWORK, seed=0), budget=budget, progress=False)
    assert result.n_plays == budget == sum(result.plays_by_action.values())
    assert (result.certified, result.certificate) == (False, None)
    assert f"budget of {budget} plays is spent" in result.stop_reason


def test_a_run_stops_and_is_right(name, make, bandit):
    if name.startswith("lil'UCB"):
        return  # knows no epsilon, and the two best arms are .005 apart; its stop is tested by hand
    policy = make(bandit, epsilon=0.3, delta=0.1)
    result = policy.run(SimulatedEnvironment(NETWORK, seed=0), progress=False)
    truth = expected_rewards(NETWORK, bandit)
    assert policy.stopped
    assert truth.max() - truth[result.recommendation] <= 0.3
    assert result.certified == (result.certificate == "exact")
    assert result.certificate == (
        None
        if "budget" in name
        else "heuristic"
        if "paper" in name
        else next((worth for worth in ("asymptotic", "numerical") if worth in name), "exact")
    )
    assert "budget" not in name or (result.n_plays <= 400 and policy.ask() == [])
    assert result.table.action[0] == result.recommendation == policy.recommendation
    assert len(result.table) == len(bandit.arms)
    assert result.stop_reason == policy.stop_reason
    assert list(result.history.columns) == [*bandit.required, "Dyspnoea"]


def test_copies_go_their_own_way(make, bandit):
    policy = played(make, bandit)
    for copied in (copy.deepcopy(policy), pickle.loads(pickle.dumps(policy))):
        before = known(policy)
        assert known(copied) == before
        copied.run(SimulatedEnvironment(NETWORK, seed=1), budget=9, progress=False)
        assert known(policy) == before


def test_one_class_of_arms_needs_no_play(make, make_bandit):
    bandit = make_bandit(arms=[do(), do(Xray="positive"), do(Xray="negative")])
    result = make(bandit).run(SimulatedEnvironment(NETWORK, seed=0), progress=False)
    assert (result.n_plays, result.certified) == (0, True)
    assert "provably the same effect" in result.stop_reason


def test_cost_is_counted(make, make_bandit):
    bandit = make_bandit(costs={do(): 0.25})
    result = make(bandit, epsilon=0.0).run(SimulatedEnvironment(NETWORK, seed=0), budget=30, progress=False)
    observed = result.plays_by_action.get(do(), 0)
    assert result.cost == pytest.approx(30 - 0.75 * observed)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": -0.1}, "epsilon must be"),
        ({"epsilon": 1}, "epsilon must be"),
        ({"delta": 0}, "delta must be"),
        ({"delta": 1.5}, "delta must be"),
        ({"epsilon": float("nan")}, "epsilon must be"),
        ({"epsilon": "0.1"}, "epsilon must be a number"),
        ({"delta": None}, "delta must be a number"),
    ],
)
def test_bad_options(name, make, bandit, options, message):
    if "budget" in name or (name == "lil'UCB paper" and "epsilon" in options):
        return  # there is no such option
    with pytest.raises((ValueError, TypeError), match=message):
        make(bandit, **options)


def test_bad_bandits_and_calls(make, make_bandit, bandit):
    with pytest.raises(TypeError, match="bandit must be a CausalBandit"):
        make(NETWORK)
    if make(bandit).plays_arms:
        with pytest.raises(ValueError, match="playable lacks"):
            make(make_bandit(playable=[do()]))
    else:  # the graph identifies all arms here
        assert make(make_bandit(playable=[do()])).ask()[0] == do()
    for budget in (-1, 2.5, float("nan")):
        with pytest.raises((ValueError, TypeError), match="budget must be an integer"):
            make(bandit).run(SimulatedEnvironment(NETWORK, seed=0), budget=budget)
    with pytest.raises(TypeError, match="environment must have a method perform"):
        make(bandit).run(NETWORK)
    for n in (0, 2.5):
        with pytest.raises((ValueError, TypeError), match="n must be an integer"):
            make(bandit).ask(n)


def test_a_result_can_be_read(make, bandit):
    result = played(make, bandit).result()
    assert str(result.recommendation) in repr(result)
    assert "<table" in result._repr_html_()
    assert "do(" in result._repr_html_()
    assert isinstance(result.table, pd.DataFrame)


def test_nothing_told_is_nothing_learned(make, bandit):
    policy = played(make, bandit)
    before = known(policy)
    policy.tell([], SimulatedEnvironment(NETWORK, seed=0).perform([]))
    policy.tell(do(), SimulatedEnvironment(NETWORK, seed=0).sample(do(), 5).to_frame().iloc[:0])
    assert known(policy) == before
