"""Differences of two actions, their slopes and second derivatives, beside `Layout.derivatives` and differences."""

import numpy as np
import pytest

from pgcpe.models.derivatives import Layout
from pgcpe.models.second_order import PairOfActions

FORCED = np.array([[-1, -1, -1, -1], [-1, 1, -1, -1], [0, -1, 1, -1], [-1, 2, 0, -1]])
VALUES = np.array([0.1, 0.9])
PAIRS = np.array([[0, 1], [2, 1], [3, 0], [1, 1]])


@pytest.fixture
def layout():
    return Layout([(), (0,), (0, 1), (1, 2)], [2, 3, 2, 2], FORCED)


@pytest.fixture
def tables(layout):
    return np.random.default_rng(3).random((len(PAIRS), layout.entry_start[-1]))


def test_slopes_are_those_of_the_layout(layout, tables):
    pair = PairOfActions(layout, VALUES)
    found = pair.slopes(tables, PAIRS)
    for p, (a, b), slopes in zip(tables, PAIRS, found, strict=True):
        known = layout.derivatives(p, VALUES)
        assert slopes == pytest.approx(known.slope[a] - known.slope[b], abs=1e-14)
        value, alone = pair.difference(p, a, b)
        assert value == pytest.approx(known.mean[a] - known.mean[b], abs=1e-14)
        assert alone == pytest.approx(slopes, abs=1e-14)


def test_products_are_how_slopes_change(layout, tables):
    pair = PairOfActions(layout, VALUES)
    along = np.random.default_rng(4).normal(size=tables.shape)
    step = 1e-6
    numeric = (pair.slopes(tables + step * along, PAIRS) - pair.slopes(tables - step * along, PAIRS)) / (2 * step)
    products = pair.products(tables, PAIRS, along)
    assert np.abs(products[:3]).max() > 0.1
    assert products == pytest.approx(numeric, abs=1e-8)
