"""A plan is what happens."""

import numpy as np
import pytest
from pgmpy.base import DAG

from pgcpe import (
    CCPE,
    KLLUCB,
    LUCB,
    CausalBandit,
    PooledCCPE,
    RewardNoise,
    SimulatedEnvironment,
    do,
    load_network,
)
from pgcpe.experiments import plan, plan_measurements
from pgcpe.paper import experiment_2
from pgcpe.paper.instances import binary_network


def test_a_plan_is_what_happens():
    """Planned from 30 studies, performed in 30 others on the same truth: the medians of such small samples of one
    distribution differ by less than a third here (quartiles .8 and 1.25 of the median, as measured)."""
    question = experiment_2(0)
    planned = plan(
        question.bandit, question.network, policies={"LUCB": LUCB}, epsilon=0.2, runs=30, progress=False
    ).iloc[0]
    plays = []
    for seed in range(100, 130):
        policy = LUCB(question.bandit, epsilon=0.2, seed=seed)
        policy.run(SimulatedEnvironment(question.network, seed=seed), progress=False)
        plays.append(policy.n_plays)
    assert np.median(plays) == pytest.approx(planned.plays, rel=1 / 3)
    assert planned.plays_low <= planned.plays <= planned.plays_high
    assert (planned.stopped, planned.wrong, planned.cost) == (1.0, 0.0, planned.plays)


def test_a_plan_that_cannot_be_afforded_says_so():
    question = experiment_2(0)
    table = plan(
        question.bandit,
        question.network,
        policies={"LUCB": LUCB, "CCPE": CCPE},
        epsilon=0.0,
        runs=2,
        budget=100,
        progress=False,
    )
    assert table["stopped"].tolist() == [0, 0]
    assert table["plays"].tolist() == [100, 100]


def smoking(**options):
    network = load_network("cancer")
    arms = [do(Smoker="True"), do(Smoker="False")]
    values = {"True": 0, "False": 1}
    return network, CausalBandit(network, reward="Cancer", arms=arms, **{"reward_values": values, **options})


def test_what_leaving_out_a_measurement_costs_is_a_plan_of_the_question_without_it():
    network, bandit = smoking()
    options = {"epsilon": 0.05, "runs": 3, "n_jobs": 1, "progress": False}
    table = plan_measurements(bandit, network, **options).set_index("left_out")
    assert table["recorded"].to_dict() == {"nothing": "Pollution, Smoker", "Pollution": "Smoker"}
    pooled = {"pooled": PooledCCPE}
    for left, kept in (("nothing", ["Pollution", "Smoker"]), ("Pollution", [])):
        alone = plan(bandit, network, policies=pooled, recording=kept, **options).iloc[0]
        assert alone["plays"] == table.loc[left, "plays"]
    hidden = bandit.leaving_out(["Pollution"])
    policy = PooledCCPE(hidden, epsilon=0.05, seed=0)
    assert "Pollution" not in policy.bandit.observed
    assert hidden.arms == bandit.arms
    assert table.loc["Pollution", "ratio"] == table.loc["Pollution", "plays"] / table.loc["nothing", "plays"]


def test_what_no_policy_can_do_without_is_said():
    """do() alone may be played: without the confounder an arm is not identified."""
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    network = DiscreteBayesianNetwork([("Z", "X"), ("Z", "Y"), ("X", "Y")])
    network.add_cpds(
        TabularCPD("Z", 2, [[0.5], [0.5]]),
        TabularCPD("X", 2, [[0.7, 0.3], [0.3, 0.7]], ["Z"], [2]),
        TabularCPD("Y", 2, [[0.9, 0.5, 0.4, 0.1], [0.1, 0.5, 0.6, 0.9]], ["Z", "X"], [2, 2]),
    )
    bandit = CausalBandit(network, reward="Y", arms=[do(X=0), do(X=1)], playable=[do()])
    table = plan_measurements(bandit, network, epsilon=0.2, runs=2, n_jobs=1, progress=False)
    assert table["left_out"].tolist() == ["nothing", "Z"]
    assert np.isfinite(table["plays"].iloc[0])
    assert np.isnan(table["plays"].iloc[1])


@pytest.mark.parametrize(
    ("left", "said"),
    [
        (["Smoker"], "only what is merely recorded can be left out, but Smoker is set by arms"),
        (["Cancer"], "but Cancer is the reward"),
        (["Polution"], "only observed variables can be recorded, but got Polution.*did you mean 'Pollution'"),
        ([3], "must be a list of names, but got 3"),
    ],
)
def test_what_cannot_be_left_out(left, said):
    with pytest.raises((ValueError, TypeError), match=said):
        smoking()[1].leaving_out(left)


def test_a_plan_of_a_reward_that_is_a_number():
    """Epsilon and regret in its unit: the best arm is .05 of the range better or nearly so, and is found."""
    network, bandit = smoking(reward_values=None, reward_range=(0, 200))
    noise = RewardNoise("Cancer", (0, 200), "beta", values={"True": 0.0, "False": 200.0})
    table = plan(
        bandit,
        network,
        policies={"KL-LUCB": KLLUCB},
        epsilon=20,
        runs=3,
        n_jobs=1,
        progress=False,
        reward_noise=noise,
    )
    assert table["wrong"].tolist() == [0.0]
    assert table["stopped"].tolist() == [1.0]


def test_a_plan_by_a_wrong_graph_is_judged_by_all_that_was_listed():
    """The graph merges do(B=1) with do(A=1, B=1) and do(A=0, B=1), of means .6, .8 and .4: its best is off by .2."""
    truth = binary_network(
        {
            "A": ([], lambda: 0.5),
            "B": (["A"], lambda a: 0.7 if a else 0.3),
            "Y": (["A", "B"], lambda a, b: 0.2 + 0.4 * a + 0.2 * b),
        }
    )
    wrong = DAG([("A", "B"), ("B", "Y")])
    arms = [do(B=0), do(B=1), *(do(A=a, B=b) for a in (0, 1) for b in (0, 1))]
    bandit = CausalBandit(wrong, reward="Y", arms=arms)
    policies = {"by the graph": PooledCCPE}
    table = plan(bandit, truth, policies=policies, epsilon=0.1, runs=3, n_jobs=1, progress=False)
    assert table.loc[0, ["stopped", "wrong"]].tolist() == [1.0, 1.0]
