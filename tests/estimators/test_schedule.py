"""When an estimator looks at what it was told."""

import numpy as np
import pytest
from estimators.visits import draws

from pgcpe import (
    AdmissibleSequence,
)


@pytest.mark.parametrize("radius", ["lr", "paper"])
@pytest.mark.parametrize("refresh", [None, 1, 50])
def test_intervals_depend_on_the_rows_alone(visits, radius, refresh):
    told = draws(visits, 1_234)
    whole = AdmissibleSequence(radius, refresh=refresh).start(visits).update(told).intervals(0.05)
    parts = AdmissibleSequence(radius, refresh=refresh).start(visits)
    for start in (*range(0, 300, 3), *range(300, 1_234, 101)):
        parts.update(told.rows(slice(start, start + (3 if start < 300 else 101))))
    assert np.array_equal(parts.intervals(0.05).lower, whole.lower)
    assert np.array_equal(parts.intervals(0.05).upper, whole.upper)


def test_refresh_by_default_lags_by_at_most_a_hundredth(visits):
    estimator = AdmissibleSequence().start(visits)
    told = draws(visits, 1)
    for n in range(1, 3_000):
        estimator.update(told)
        assert n - estimator._counted <= (0 if n <= 100 else 0.01 * n)
