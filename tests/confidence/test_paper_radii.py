"""The radii of the paper are the printed formulas, and have no traps."""

import math

import numpy as np
import pytest

from pgcpe.confidence.paper_radii import paper_direct_radius, paper_observational_radius


def test_direct_radius_is_the_printed_formula():
    plays = np.array([[1, 10], [100, 12_345]])
    expected = 2 * np.sqrt(np.log(57 * np.log(2 * plays) / 0.05) / plays)  # alpha_I = 2
    np.testing.assert_allclose(paper_direct_radius(plays, 57, 0.05), expected, rtol=1e-14)
    np.testing.assert_allclose(paper_direct_radius(plays, 57, 0.05, alpha=0.4), expected / 5, rtol=1e-14)
    # as printed with the derivation, for 57 arms at delta = .05
    table = [1.804, 0.590, 0.190, 0.0611, 0.0195]
    np.testing.assert_allclose(paper_direct_radius([10, 100, 1_000, 10_000, 100_000], 57, 0.05), table, rtol=3e-3)


def test_direct_radius_has_no_traps():
    radii = paper_direct_radius([0, 1, 2], 57, 0.05)
    assert math.isinf(radii[0])
    assert np.all(np.isfinite(radii[1:]))
    # log(|A| log(2n) / delta) is negative for one arm, one play and delta > log 2
    assert paper_direct_radius([1], 1, 0.9) == 0
    with pytest.raises(ValueError, match="delta must be between 0 and 1"):
        paper_direct_radius([1], 2, 1)


@pytest.mark.parametrize(("k", "adjusted", "cells"), [(1, 1, 2), (2, 3, 8), (3, 2, 12)])
def test_observational_radius_is_the_printed_formula(k, adjusted, cells):
    # t is the number of observations, T_a that of the least seen cell
    t, smallest, arms, delta = 1_000, 37, 57, 0.05
    expected = 8 * math.sqrt(math.log(20 * k * arms * adjusted * cells * math.log(2 * t) / delta) / smallest)
    assert paper_observational_radius(t, smallest, k, adjusted, cells, arms, delta) == pytest.approx(expected)
    tuned = paper_observational_radius(t, smallest, k, adjusted, cells, arms, delta, alpha=0.25)
    assert tuned == pytest.approx(expected / 32)


def test_observational_radius_has_no_traps():
    def radius(t=100, smallest=10, k=1, adjusted=1, cells=1):
        return paper_observational_radius(t, smallest, k, adjusted, cells, n_arms=3, delta=0.1)

    assert math.isinf(radius(smallest=0))  # T_a = 0
    assert math.isinf(radius(t=0, smallest=0))
    assert radius(adjusted=0) == radius(adjusted=1) < math.inf  # nothing to adjust for: log 0 as printed
    assert radius(k=0) == radius(k=1) < math.inf  # do()
    with pytest.raises(ValueError, match="delta must be between 0 and 1"):
        paper_observational_radius(100, 10, 1, 1, 2, 3, 0)
