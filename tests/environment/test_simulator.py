"""The simulator draws from the mutilated network."""

import numpy as np
import pandas as pd
import pytest
from pgmpy.base import DAG
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork
from scipy import stats

from pgcpe import SimulatedEnvironment, do, expected_reward, load_network

IMPOSSIBLE = """network n { }
variable A { type discrete [ 2 ] { no, yes }; }
variable Y { type discrete [ 2 ] { 0, 1 }; }
probability ( A ) { table 1, 0; }
probability ( Y | A ) { (no) 0.9, 0.1; (yes) 0.2, 0.8; }
"""


def test_samples_follow_the_mutilated_network():
    network = load_network("asia")
    environment = SimulatedEnvironment(network, seed=1)
    n = 20_000
    for action in [do(), do(smoke="yes"), do(either="no", bronc="yes")]:
        frame = environment.sample(action, n).to_frame()
        hits = (frame["dysp"] == "yes").sum()
        truth = expected_reward(network, action, reward="dysp", reward_values={"yes": 1, "no": 0})
        # exact binomial test: with three actions at 1e-4 each a right sampler fails for one seed in 3,000
        assert stats.binomtest(int(hits), n, truth).pvalue > 1e-4
        assert all((frame[v] == s).all() for v, s in action.items())


def test_joint_distribution_of_a_small_network():
    network = load_network("cancer")
    n = 40_000
    frame = SimulatedEnvironment(network, seed=3).sample(do(), n).to_frame()
    order = list(frame.columns)
    joint = np.ones([2] * 5)
    for table in network.cpds:
        axes = [order.index(v) for v in table.variables]
        joint = joint * np.moveaxis(
            table.values.reshape(table.values.shape + (1,) * (5 - len(axes))),
            range(len(axes)),
            axes,
        )
    states = {v: network.get_cpds(v).state_names[v] for v in order}
    counts = np.zeros_like(joint)
    for row, k in frame.value_counts().items():
        counts[tuple(states[v].index(s) for v, s in zip(order, row, strict=True))] = k
    often = joint.ravel() * n >= 5
    expected = np.append(joint.ravel()[often], joint.ravel()[~often].sum()) * n
    observed = np.append(counts.ravel()[often], counts.ravel()[~often].sum())
    assert stats.chisquare(observed, expected).pvalue > 1e-4


def test_a_state_of_probability_zero_can_be_set():
    network = load_network(IMPOSSIBLE)
    assert expected_reward(network, do(A="yes"), reward="Y") == pytest.approx(0.8, abs=1e-12)
    assert expected_reward(network, do(), reward="Y") == pytest.approx(0.1, abs=1e-12)
    frame = SimulatedEnvironment(network, seed=0).sample(do(A="yes"), 5_000).to_frame()
    assert (frame["A"] == "yes").all()
    # binomial(5000, .8) is within 5 standard deviations, 28, of its mean but for 6e-7
    assert abs((frame["Y"] == "1").sum() - 4_000) < 5 * np.sqrt(5_000 * 0.8 * 0.2)


def test_same_seed_same_samples_and_the_global_generator_is_left_alone():
    network = load_network("asia")
    before = np.random.get_state()[1].copy()
    first = SimulatedEnvironment(network, seed=5).perform([do(), do(smoke="no")] * 50)
    second = SimulatedEnvironment(network, seed=5).perform([do(), do(smoke="no")] * 50)
    assert np.array_equal(first.codes, second.codes)
    assert not np.array_equal(first.codes, SimulatedEnvironment(network, seed=6).perform([do()] * 100).codes)
    assert np.array_equal(np.random.get_state()[1], before)


def test_latents_are_sampled_and_not_shown():
    network = load_network("asia", latents=["smoke"])
    environment = SimulatedEnvironment(network, seed=0)
    assert "smoke" not in environment.sample(do(), 3).to_frame()
    with pytest.raises(ValueError, match="no observed variable"):
        environment.perform([do(smoke="yes")])


def test_many_rows_come_in_chunks(monkeypatch):
    monkeypatch.setattr("pgcpe.environment.simulator.CHUNK", 100)
    frame = SimulatedEnvironment(load_network("asia"), seed=0).sample(do(smoke="no"), 1_000).to_frame()
    assert len(frame) == 1_000
    assert (frame["smoke"] == "no").all()
    assert 0.01 < (frame["bronc"] == "yes").mean() < 0.99


def test_errors():
    network = load_network("asia")
    with pytest.raises(ValueError, match="no observed variable"):
        SimulatedEnvironment(network, seed=0).perform([do(Q=1)])
    with pytest.raises(ValueError, match="smoke has the states"):
        SimulatedEnvironment(network, seed=0).perform([do(smoke="maybe")])
    with pytest.raises(ValueError, match="must not be negative"):
        SimulatedEnvironment(network, seed=0).sample(do(), -1)
    with pytest.raises(ValueError, match="A has no table"):
        SimulatedEnvironment(DAG([("A", "Y")]), seed=0)
    with pytest.raises(ValueError, match="no variable of the graph"):
        expected_reward(network, do(Q=1), reward="dysp", reward_values={"yes": 0, "no": 1})
    with pytest.raises(ValueError, match="say what they are worth"):
        expected_reward(network, do(), reward="dysp")
    network.remove_cpds("smoke")
    with pytest.raises(ValueError, match="smoke has no table"):
        SimulatedEnvironment(network, seed=0)


def test_one_action_is_one_play():
    environment = SimulatedEnvironment(load_network("asia"), seed=0)
    assert len(environment.perform(do())) == len(environment.perform(do(smoke="yes", bronc="no"))) == 1
    with pytest.raises(TypeError, match="an action must be written"):
        environment.perform(["do()"])


# ------------------------------------------------------------------------------------- names and orders of states, text


def test_states_named_by_numbers_are_not_their_codes():
    """X and Y take 1 and 2 and agree: do(X=2) gives 2, which is no code of theirs."""
    network = DiscreteBayesianNetwork([("X", "Y")])
    network.fit(pd.DataFrame({"X": [1, 2] * 30, "Y": [1, 2] * 30}))
    frame = SimulatedEnvironment(network, seed=1).sample(do(X=2), 40).to_frame()
    assert frame.drop_duplicates().values.tolist() == [[2, 2]]


def test_a_table_may_order_its_parents_and_their_states_its_own_way():
    """By hand: .1, .7 * .1 + .3 * .9 = .34 and .9; and, of Y given B and A in the table's order, .8, .5 and
    .2 * .9 + .3 * .7 + .5 * .5 = .64."""
    swapped = DiscreteBayesianNetwork([("A", "Y")])
    own = {"Y": [0, 1], "A": ["no", "yes"]}
    swapped.add_cpds(
        TabularCPD("A", 2, [[0.7], [0.3]], state_names={"A": ["yes", "no"]}),
        TabularCPD("Y", 2, [[0.1, 0.9], [0.9, 0.1]], ["A"], [2], state_names=own),
    )
    for action, right in ((do(A="yes"), 0.1), (do(), 0.34), (do(A="no"), 0.9)):
        assert expected_reward(swapped, action, reward="Y") == pytest.approx(right, abs=1e-12)
    turned = DiscreteBayesianNetwork([("A", "Y"), ("B", "Y")])
    rows = [[0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]]
    turned.add_cpds(
        TabularCPD("A", 2, [[0.7], [0.3]]),
        TabularCPD("B", 3, [[0.2], [0.3], [0.5]]),
        TabularCPD("Y", 2, rows, ["B", "A"], [3, 2]),
    )
    for action, right in ((do(A=1, B=0), 0.8), (do(A=0, B=2), 0.5), (do(A=0), 0.64)):
        assert expected_reward(turned, action, reward="Y") == pytest.approx(right, abs=1e-12)


@pytest.mark.parametrize(
    ("actions", "error", "message"),
    [
        (3, TypeError, r"actions must be a list such as \[do\(X=1\)\], but got 3"),
        ("do()", TypeError, "actions must be a list such as"),
        ({"A": "yes"}, TypeError, "actions must be a list such as"),
        (["do()"], TypeError, "an action must be written"),
        ([do(B="yes")], ValueError, "sets B, which is no observed variable of the network"),
        ([do(a="yes")], ValueError, "did you mean 'A'"),
        ([do(A="Yes")], ValueError, "A has the states 'no', 'yes', but got 'Yes'; did you mean 'yes'"),
    ],
)
def test_what_cannot_be_performed(actions, error, message):
    environment = SimulatedEnvironment(load_network(IMPOSSIBLE), seed=0)
    with pytest.raises(error, match=message):
        environment.perform(actions)
    assert len(environment.perform([do()])) == 1
