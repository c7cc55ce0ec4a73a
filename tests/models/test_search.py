"""Searches: what they find, and that they fail closed."""

import math

import numpy as np
import pytest

from pgcpe.models.search import descend, minimise, mirror_ascent, starts_in_ball


def ball(radius):
    return lambda u: (radius**2 - float(u @ u), -2 * u)


def product(tilt):
    """-(u v) and a slope: both lobes of the product, u = v = +-1 / sqrt 2 in the unit ball, the second the deeper by
    2 tilt sqrt 2, while the gradient at 0 shows a third way, along w."""

    def objective(x):
        u, v, w = x
        value = -u * v + tilt * (u + v) - 0.3 * w
        return value, np.array([-v + tilt, -u + tilt, -0.3])

    return objective


def least_on_sphere(objective):
    """By a grid: the objectives here have their minimum on the sphere."""
    theta, phi = np.meshgrid(np.linspace(0, np.pi, 100), np.linspace(0, 2 * np.pi, 200))
    points = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)])
    return min(objective(p)[0] for p in points.reshape(3, -1).T)


@pytest.mark.parametrize("tilt", [0.02, -0.02, 0.0])
def test_both_lobes_of_a_product_are_found(tilt):
    objective = product(tilt)
    starts = starts_in_ball(objective, 3, 1.0)
    assert len(starts) > 3  # the product curves down both ways along (1, 1, 0)
    assert minimise(objective, starts, ball(1.0)) == pytest.approx(least_on_sphere(objective), abs=1e-3)


def test_a_plane_needs_no_more_starts_than_its_slope():
    slope = np.array([0.3, -0.4, 0.0])
    starts = starts_in_ball(lambda u: (float(slope @ u), slope), 3, 2.0)
    assert len(starts) == 3
    assert minimise(lambda u: (float(slope @ u), slope), starts, ball(2.0)) == pytest.approx(-1.0, abs=1e-5)


def test_a_search_that_cannot_be_trusted_fails_closed():
    plane = np.array([1.0, 0.0])
    starts = [np.array([-0.5, 0.1]), np.array([-0.5, -0.2])]

    def known(u):
        return float(plane @ u), plane

    assert minimise(known, starts, ball(1.0)) == pytest.approx(-1.0, abs=1e-5)
    assert minimise(known, starts[:1], ball(1.0)) == -math.inf  # no second search confirms it
    assert minimise(lambda u: (math.nan, plane), starts, ball(1.0)) == -math.inf
    assert minimise(known, starts, lambda u: (-1.0, np.zeros(2))) == -math.inf  # nothing is feasible

    def two_wells(u):  # at -1 and at 1; the second is the deeper
        return float((u[0] ** 2 - 1) ** 2 - 0.1 * u[0]), np.array([4 * u[0] * (u[0] ** 2 - 1) - 0.1, 0.0])

    apart = [np.array([-0.9, 0.0]), np.array([0.9, 0.0])]
    assert minimise(two_wells, apart, ball(3.0)) == -math.inf  # each found another
    assert minimise(two_wells, [*apart, np.array([0.8, 0.0])], ball(3.0)) == pytest.approx(-0.1, abs=0.01)


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
