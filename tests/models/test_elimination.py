"""Sums over variables against enumeration, and what they make of effects against pgmpy."""

import itertools

import numpy as np
import pytest
from helpers import joint, random_dag, random_tables
from pgmpy.inference import VariableElimination

from pgcpe import CausalBandit, do, expected_rewards, interventions, load_network
from pgcpe.environment import exact
from pgcpe.models.elimination import sum_out, tables_upstream
from pgcpe.models.network_tables import Table


def test_the_empty_product_is_one():
    assert sum_out([]) == 1.0


def test_sums_are_those_of_the_joint_distribution():
    rng = np.random.default_rng(0)
    for _ in range(40):
        drawn = random_tables(rng, random_dag(rng, int(rng.integers(3, 7)), 1, 0.5))
        order, whole = list(drawn), joint(drawn)
        tables = {v: Table(tuple(p), tuple(range(x.shape[-1])), x) for v, (p, x) in drawn.items()}
        kept = [str(v) for v in rng.permutation(order)[: int(rng.integers(1, 4))]]
        expected = whole.sum(axis=tuple(i for i, v in enumerate(order) if v not in kept))
        expected = expected.transpose(np.argsort(np.argsort([order.index(v) for v in kept])))
        found = sum_out(tables_upstream(tables, kept), kept)
        assert found == pytest.approx(expected, abs=1e-12)


def test_only_what_is_upstream_is_summed():
    tables = {v: Table(p, (0, 1), np.ones((2,) * (len(p) + 1)) / 2) for v, p in CHAIN.items()}
    assert [axes[-1] for _, axes in tables_upstream(tables, ["C"])] == ["A", "B", "C"]
    assert [axes[-1] for _, axes in tables_upstream(tables, ["C"], past=["B"])] == ["C"]


CHAIN = {"A": (), "B": ("A",), "C": ("B",), "D": ("C",)}


@pytest.mark.parametrize("most", [1, 65_536])
def test_effects_are_those_of_pgmpy(most, monkeypatch):
    """By its inference in the mutilated network, one state of the set variables at a time or all at once."""
    monkeypatch.setattr(exact, "MOST_AT_ONCE", most)
    network = load_network("asia")
    arms = interventions(network, reward="dysp", variables=["smoke", "lung", "either"], max_size=2)
    bandit = CausalBandit(network, reward="dysp", arms=arms, reward_values={"yes": 0.25, "no": 1})
    rewards = expected_rewards(network, bandit, progress=False)
    for arm in arms:
        if arm.get("either") == "no" or not arm:
            continue  # pgmpy leaves a state of probability zero at zero
        variables = list(arm)
        cut = VariableElimination(network.do(variables))
        found = cut.query(["dysp"], evidence=dict(arm), show_progress=False)
        worth = found.get_value(dysp="no") + 0.25 * found.get_value(dysp="yes")
        assert rewards[bandit.arms[bandit.index(arm)]] == pytest.approx(worth, abs=1e-12)
    assert set(itertools.chain.from_iterable(arms)) == {"smoke", "lung", "either"}
    assert rewards[do()] == pytest.approx(0.75 * 0.564029 + 0.25, abs=1e-6)
