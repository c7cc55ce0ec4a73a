"""The paper's instances, against what its text and independent computation say of them."""

import numpy as np
import pytest

from pgcpe import do, expected_rewards
from pgcpe.complexity import bglm_observation_probabilities
from pgcpe.identification import nodes_on_paths
from pgcpe.paper import experiment_1


def test_experiment_1():
    seen = set()
    for seed in range(12):
        network, bandit = experiment_1(seed)
        assert set(network.nodes) == {*(f"X{i}" for i in range(1, 9)), "Y"}
        degrees = [network.in_degree(f"X{i}") for i in range(1, 9)]
        assert degrees == [0, 1, 2, 2, 2, 2, 2, 2]
        parents = list(network.get_cpds("Y").variables[1:])
        assert len(parents) == network.in_degree("Y") == 4
        for i in range(1, 9):
            values = network.get_cpds(f"X{i}").values[1]
            ones = np.indices(values.shape).sum(axis=0)
            assert values == pytest.approx(0.4 + 0.1 * ones)
        rewards = expected_rewards(network, bandit, progress=False).sort_values(ascending=False)
        assert rewards.index[0] in bandit.arms
        assert 0.9199 < rewards.iloc[0] < 0.9301  # .9 + .05 P(X^(4)=1), which is .4-.6
        # the second best replaces one of the three, which were worth .3 and are 1 with probability .4-.6 else, and may
        # gain the .05 of the fourth: the gap lies between .3 * .4 - .05 * .6 and .3 * .6
        assert 0.09 < rewards.iloc[0] - rewards.iloc[1] < 0.18
        best = do(dict.fromkeys(parents[:3], 1))
        assert bandit.index(best) == bandit.arms.index(rewards.index[0])
        assert sum(map(len, bandit.merged.values())) == 56
        assert 25 <= len(bandit.arms) <= 55
        sizes = {len(nodes_on_paths(network, arm, "Y")) for arm in bandit.arms}
        assert sizes <= set(range(2, 7))
        q = bglm_observation_probabilities(bandit)
        assert q[rewards.index[0]] == pytest.approx(1 / (len(nodes_on_paths(network, best, "Y")) ** 2 * 5**3))
        seen.add(tuple(sorted(network.edges)))
    assert len(seen) == 12
    assert tuple(sorted(experiment_1(3).network.edges)) in seen
    assert len(experiment_1(1, merge_equal=False).bandit.arms) == 56
    assert experiment_1(0).environment(0).perform([do(X1=1)]).to_frame()["X1"].tolist() == [1]
