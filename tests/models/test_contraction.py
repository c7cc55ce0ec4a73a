"""Contraction of tables with any number of states, against enumeration of the joint distribution."""

import numpy as np
import pytest
from helpers import joint, random_dag, random_tables

from pgcpe.models.contraction import Contraction


def random_network(rng, nodes=6):
    """Tables in causal order, with random settings of at most two nodes that are not the last."""
    tables = random_tables(rng, random_dag(rng, nodes, 0, 0.5))
    order = list(tables)
    cards = [tables[v][1].shape[-1] for v in order]
    parents = [tuple(order.index(p) for p in tables[v][0]) for v in order]
    settings = [{}]
    for _ in range(5):
        chosen = rng.choice(nodes - 1, int(rng.integers(1, 3)), replace=False).tolist()
        settings.append({i: int(rng.integers(cards[i])) for i in chosen})
    forced = np.array([[setting.get(i, -1) for i in range(nodes)] for setting in settings])
    return tables, order, cards, parents, settings, forced


@pytest.mark.parametrize("seed", range(8))
def test_expected_values_and_marginals_are_those_of_enumeration(seed):
    rng = np.random.default_rng(seed)
    tables, order, cards, parents, settings, forced = random_network(rng)
    arrays = {i: tables[v][1] for i, v in enumerate(order)}
    value = rng.random(cards[-1])
    expected = Contraction(parents, cards, forced, 5)({**arrays, 5: arrays[5] @ value})
    kept = tuple(sorted(rng.choice(5, 2, replace=False).tolist()))
    marginal = Contraction(parents, cards, forced, kept)(arrays)
    for a, setting in enumerate(settings):
        exact = joint(tables, {order[i]: s for i, s in setting.items()})
        assert expected[a] == pytest.approx((exact.sum(axis=tuple(range(5))) * value).sum(), abs=1e-12)
        others = tuple(i for i in range(6) if i not in kept)
        assert marginal[a] == pytest.approx(exact.sum(axis=others), abs=1e-12)


def test_nothing_kept_is_one():
    assert Contraction([()], [2], np.array([[-1], [0]]), ())({}).tolist() == [1.0, 1.0]


def test_only_ancestors_are_relevant():
    contraction = Contraction([(), (), (0,), (1,)], [2, 2, 2, 2], np.full((1, 4), -1), 2)
    assert contraction.relevant == [0, 2]
