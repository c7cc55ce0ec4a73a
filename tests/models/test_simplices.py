"""Rows of probabilities in a box."""

import numpy as np
import pytest

from pgcpe.models.simplices import RowsInBox

START = np.array([0, 2, 5, 9, 11])


@pytest.fixture
def tables():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.dirichlet(np.ones(m)) for m in np.diff(START)])


def test_there_and_back(tables):
    box = RowsInBox(START, np.array([0, 2, 3]), tables)
    assert (box.n, box.row.tolist()) == (5, [0, 2, 2, 2, 3])
    other = np.concatenate([np.random.default_rng(1).dirichlet(np.ones(m)) for m in np.diff(START)])
    back = box.tables(box.point(other))
    assert back[2:5] == pytest.approx(tables[2:5])  # it does not move
    for a, b in ((0, 2), (5, 9), (9, 11)):
        assert back[a:b] == pytest.approx(other[a:b])


def test_corners_are_reached_up_to_the_edge():
    box = RowsInBox(START, np.arange(4), np.full(11, 0.5))
    corner = np.zeros(11)
    corner[[1, 2, 8, 9]] = 1.0
    assert box.tables(box.point(corner)) == pytest.approx(corner, abs=1e-8)


def test_gradients(tables):
    box = RowsInBox(START, np.array([0, 1, 2]), tables)
    weight = np.random.default_rng(2).normal(size=(2, 11))
    point, step = box.point(tables), 1e-6

    def value(u):
        p = box.tables(u)
        return weight[0] @ p + (weight[1] @ p) ** 2

    by_entry = weight[0] + 2.0 * (weight[1] @ tables) * weight[1]
    numeric = [(value(point + step * e) - value(point - step * e)) / (2 * step) for e in np.eye(box.n)]
    assert box.gradient(point, by_entry) == pytest.approx(numeric, abs=1e-8)
