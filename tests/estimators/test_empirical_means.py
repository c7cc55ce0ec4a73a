"""Direct means and their intervals against direct computations on the same rows."""

import numpy as np
from estimators.visits import draws

from pgcpe import (
    EmpiricalMeans,
    do,
)
from pgcpe.confidence.paper_radii import paper_direct_radius
from pgcpe.confidence.sequences import kt_interval


def test_direct_means_count_equal_actions_and_no_others(visits):
    estimator = EmpiricalMeans().start(visits)
    arm = do(drug1="new", drug2="new")
    told = draws(visits, 100, action=arm)
    estimator.update(told).update(draws(visits, 50))
    i = visits.index(visits.action(arm))
    assert estimator.plays_[i] == 100
    assert estimator.plays_[visits.index(do())] == 50
    assert estimator.plays_.sum() == 150
    assert estimator.rewards_[i] == (told.to_frame().recovered == "yes").sum()


def test_direct_intervals_are_those_of_confidence(visits):
    n_arms = len(visits.arms)
    for radius in ("kt", "paper"):
        estimator = EmpiricalMeans(radius).start(visits)
        for seed in range(3):  # only arms with new plays are worked out again
            estimator.update(draws(visits, 7, seed=seed, action=do(drug1="new"))).intervals(0.02 / n_arms)
        intervals = estimator.update(draws(visits, 40)).intervals(0.02 / n_arms)
        n, x = estimator.plays_, estimator.rewards_
        if radius == "kt":
            expected = kt_interval(n, x, 0.02 / n_arms)
            assert np.allclose(intervals.lower, expected.lower, atol=1e-12)
            assert np.allclose(intervals.upper, expected.upper, atol=1e-12)
        else:
            half = paper_direct_radius(n, n_arms, 0.02)
            mean = np.divide(x, n, out=np.full(n_arms, 0.5), where=n > 0)
            assert np.allclose(intervals.lower, mean - half)
            assert np.allclose(intervals.upper, mean + half)
