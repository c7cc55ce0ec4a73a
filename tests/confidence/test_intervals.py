"""Intervals: midpoints and intersections."""

import numpy as np

from pgcpe.confidence.intervals import Intervals


def test_intervals():
    vacuous = Intervals.vacuous(3)
    assert (vacuous.lower.tolist(), vacuous.upper.tolist()) == ([0, 0, 0], [1, 1, 1])
    one = Intervals(np.array([0.1, 0.2, 0.7]), np.array([0.4, 0.9, 0.8]))
    other = Intervals(np.array([0.2, 0.0, 0.1]), np.array([0.5, 0.3, 0.6]))
    np.testing.assert_allclose(one.midpoint, [0.25, 0.55, 0.75])
    common = one.intersect(other)
    assert (common.lower.tolist(), common.upper.tolist()) == ([0.2, 0.2, 0.7], [0.4, 0.3, 0.6])
    assert (common.lower > common.upper).tolist() == [False, False, True]  # the third have nothing in common
    for same in (one.intersect(one), one.intersect(vacuous), vacuous.intersect(one)):
        np.testing.assert_array_equal(same.lower, one.lower)
        np.testing.assert_array_equal(same.upper, one.upper)
