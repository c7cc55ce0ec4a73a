"""Networks of binary nodes from functions of their parents."""

import itertools

import pytest

from pgcpe import CausalBandit, do, expected_reward
from pgcpe.paper.instances import Instance, binary_network, linear_network


def test_a_table_is_the_function_at_every_value_of_the_parents():
    network = binary_network(
        {"A": ([], lambda: 0.3), "B": ([], lambda: 0.6), "Y": (["B", "A"], lambda b, a: 0.1 + 0.5 * b * a)}
    )
    assert sorted(network.edges) == [("A", "Y"), ("B", "Y")]
    for a, b in itertools.product((0, 1), repeat=2):
        assert expected_reward(network, do(A=a, B=b), reward="Y") == pytest.approx(0.1 + 0.5 * a * b)
    assert expected_reward(network, do(), reward="Y") == pytest.approx(0.1 + 0.5 * 0.3 * 0.6)


def test_a_linear_equation_is_cut_to_what_a_probability_can_be():
    network = linear_network({"A": (0.5, {}), "B": (0.5, {}), "Y": (0.2, {"A": 0.7, "B": 0.4})})
    rewards = {(a, b): expected_reward(network, do(A=a, B=b), reward="Y") for a in (0, 1) for b in (0, 1)}
    assert rewards == pytest.approx({(0, 0): 0.2, (0, 1): 0.6, (1, 0): 0.9, (1, 1): 1.0})


def test_an_instance_simulates_its_network():
    network = linear_network({"A": (1.0, {}), "Y": (0.0, {"A": 1.0})})
    instance = Instance(network, CausalBandit(network, reward="Y", arms=[do(A=0), do(A=1)]))
    frame = instance.environment(0).perform([do(), do(A=0), do(A=1)]).to_frame()
    assert frame["Y"].tolist() == [1, 0, 1]
