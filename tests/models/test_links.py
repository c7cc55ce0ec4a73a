"""Link functions against scipy, and their constants against a fine grid."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from pgcpe.models.links import LINKS, link_named

GRID = np.linspace(-8, 8, 16_001)
FUNCTIONS = {
    "identity": lambda z: np.clip(z, 0, 1),
    "logit": expit,
    "probit": norm.cdf,
    "cloglog": lambda z: 1 - np.exp(-np.exp(z)),
}


@pytest.mark.parametrize("name", LINKS)
def test_the_function_and_its_inverse(name):
    link = link_named(name)
    assert np.allclose(link.probability(GRID), FUNCTIONS[name](GRID), rtol=1e-12, atol=1e-15)
    p = np.linspace(0.001, 0.999, 999)
    assert np.allclose(link.probability(link.predictor(p)), p, rtol=1e-12)
    assert link.probability(np.zeros((2, 3))).shape == (2, 3)


@pytest.mark.parametrize("name", LINKS)
def test_slopes_and_their_bounds(name):
    link = link_named(name)
    inner = GRID if name != "identity" else np.linspace(0.001, 0.999, 999)
    h = 1e-5
    slope = (link.probability(inner + h) - link.probability(inner - h)) / (2 * h)
    assert np.allclose(link.slope(inner), slope, atol=1e-9)
    assert link.slope(GRID).max() == pytest.approx(link.largest_slope, rel=1e-6)
    curvature = np.abs(link.slope(GRID + h) - link.slope(GRID - h)) / (2 * h)
    assert curvature.max() == pytest.approx(link.largest_curvature, rel=1e-5, abs=1e-12)
    inside = link.predictor(np.linspace(0.05, 0.95, 1001))
    assert link.smallest_slope(0.05) == pytest.approx(link.slope(inside).min(), rel=1e-12)


@pytest.mark.parametrize("name", LINKS)
def test_far_out(name):
    link = link_named(name)
    p = link.probability([-1e4, -800.0, 800.0, 1e4])
    assert p.tolist() == pytest.approx([0, 0, 1, 1], abs=1e-15)
    assert np.isfinite(link.slope([-1e4, 1e4])).all()


def test_unknown_link():
    with pytest.raises(ValueError, match="link must be one of 'identity', 'logit', 'probit', 'cloglog', but got 'log'"):
        link_named("log")
