"""What every policy does with its candidates: leader, challenger and ties."""

import math

import numpy as np
import pytest
from pgmpy.base import DAG

from pgcpe import LUCB, CausalBandit, do
from pgcpe.policies.rules.state import best_arm

GRAPH = DAG([("Z", "X"), ("Z", "Y"), ("X", "Y")])


def question(**options):
    return CausalBandit(GRAPH, **({"reward": "Y", "arms": [do(X=0), do(X=1)]} | options))


def rows(n, **values):
    return [values] * n


def test_leader_and_challenger():
    policy = LUCB(question(arms=[do(X=0), do(X=1), do()]))
    policy.tell(do(X=1), rows(50, Z=0, X=1, Y=1))
    policy.tell(do(X=0), rows(50, Z=0, X=0, Y=1)).tell(do(X=0), rows(10, Z=0, X=0, Y=0))
    assert policy.recommendation == do(X=1)  # highest midpoint
    assert policy.ask() == [do(), do(X=1)]  # never played: highest upper end
    policy.tell(do(), rows(50, Z=0, X=0, Y=0))
    assert policy.ask() == [do(X=0), do(X=1)]


@pytest.mark.parametrize("value", [0.5, math.inf, -math.inf])
def test_ties_go_to_the_arm_with_fewest_plays_then_to_the_random_order(value):
    values, rank = np.full(5, value), np.array([3, 1, 4, 0, 2])
    assert best_arm(values, np.array([2.0, 1.0, 2.0, 3.0, 1.0]), rank) == 1
    assert best_arm(values, np.array([2.0, 1.0, 2.0, 3.0, 1.0]), rank, skip=1) == 4
    assert best_arm(values, np.ones(5), rank) == 3
    assert best_arm(values, np.ones(5), rank, allowed=rank > 1) == 4
