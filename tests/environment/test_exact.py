"""Exact expected rewards."""

import numpy as np
import pytest
from pgmpy.base import DAG

from pgcpe import CausalBandit, do, expected_rewards, interventions, load_network
from pgcpe.paper.instances import binary_network


def test_expected_rewards_is_a_series_over_the_arms():
    network = load_network("cancer")
    arms = interventions(network, reward="Dyspnoea", max_size=1)
    bandit = CausalBandit(network, reward="Dyspnoea", arms=arms, reward_values={"True": 0, "False": 1})
    series = expected_rewards(network, bandit)
    assert tuple(series.index) == bandit.arms
    assert series[do(Cancer="True")] == pytest.approx(0.35, abs=1e-12)


def test_where_the_graph_of_the_question_is_another_the_network_says_what_matters():
    """By the graph A does not matter beside B; in the network do(A=1, B=1) is worth .2 + .4 + .2."""
    network = binary_network(
        {
            "A": ([], lambda: 0.5),
            "B": (["A"], lambda a: 0.7 if a else 0.3),
            "Y": (["A", "B"], lambda a, b: 0.2 + 0.4 * a + 0.2 * b),
        }
    )
    wrong = DAG([("A", "B"), ("B", "Y")])
    arms = [do(B=1), do(A=0, B=1), do(A=1, B=1)]
    apart = CausalBandit(wrong, reward="Y", arms=arms, merge_equal=False)
    np.testing.assert_allclose(expected_rewards(network, apart, progress=False), [0.6, 0.4, 0.8], rtol=1e-12)
    merged = CausalBandit(wrong, reward="Y", arms=arms[1:])
    np.testing.assert_allclose(expected_rewards(network, merged, progress=False), [0.4], rtol=1e-12)
