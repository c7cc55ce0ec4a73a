"""Searches: what they find, and that they fail closed."""

import math

import numpy as np
import pytest

from pgcpe.models.search import curved_up, descend, mirror_ascent


def ball(radius):
    return lambda u: (radius**2 - float(u @ u), -2 * u)


def test_both_ways_along_what_curves_up():
    """u v rises along (1, 1) and against it, and falls along (1, -1)."""
    found = curved_up(lambda x: np.array([x[1] + 0.3, x[0] - 0.2, 0.5]), 3, 2)
    assert [value for value, _ in found] == [pytest.approx(1.0)]
    assert np.abs(found[0][1]) == pytest.approx([math.sqrt(0.5), math.sqrt(0.5), 0.0], abs=1e-6)
    assert curved_up(lambda x: np.array([0.3, -0.4]), 2, 2) == []


def test_of_many_variables_the_largest_curvatures_are_found():
    rng = np.random.default_rng(0)
    root = np.linalg.qr(rng.standard_normal((40, 40)))[0]
    values = np.concatenate([[3.0, 2.0, 1.0], rng.uniform(-0.5, 0.2, 37)])
    found = curved_up(lambda x: root @ (values * (root.T @ x)), 40, 3)
    assert [value for value, _ in found] == pytest.approx([3.0, 2.0, 1.0], rel=0.01)
    for k, (_, direction) in enumerate(found):
        assert abs(direction @ root[:, k]) > 0.99


def test_a_search_that_cannot_be_trusted_fails_closed():
    plane = np.array([1.0, 0.0])

    def known(u):
        return float(plane @ u), plane

    start = np.array([-0.5, 0.1])
    assert descend(known, start, ball(1.0)).value == pytest.approx(-1.0, abs=1e-5)
    assert descend(lambda u: (math.nan, plane), start, ball(1.0)).value == -math.inf
    assert descend(known, start, lambda u: (-1.0, np.zeros(2))).value == -math.inf  # nothing is feasible


def test_bounds():
    plane = np.array([1.0, 0.5])
    box = np.array([-0.3, -0.3]), np.array([1.0, 1.0])
    found = descend(lambda u: (float(plane @ u), plane), np.array([0.1, -0.2]), ball(1.0), bounds=box)
    assert found.value == pytest.approx(-0.45)
    assert found.point == pytest.approx([-0.3, -0.3])


def test_mirror_ascent_on_a_linear_and_a_concave_function():
    gain = np.array([0.2, 0.5, 0.3])
    w, value = mirror_ascent(lambda w: (float(gain @ w), gain), 3, 2_000)
    assert value == pytest.approx(0.5, abs=1e-3)
    assert w.argmax() == 1
    w, _ = mirror_ascent(lambda w: (float(np.log(w) @ gain), gain / w), 3, 2_000, least=1e-9)
    assert w == pytest.approx(gain, abs=0.01)  # sum of shares times log w is largest at the shares
