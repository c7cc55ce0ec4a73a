"""Counts in trees of cells."""

import numpy as np
from estimators.visits import draws

from pgcpe import (
    AdmissibleSequence,
)


def test_a_log_is_the_sum_of_its_rows(visits):
    """A million rows go through the same loop as one."""
    told = draws(visits, 1_000_000)
    estimator = AdmissibleSequence(refresh=1).start(visits).update(told)
    forest, counts = estimator._forest, estimator._counts
    frame = told.to_frame()
    for i, action in enumerate(visits.canonical):
        agree = np.all([np.ones(len(frame)), *(frame[v] == state for v, state in action.items())], axis=0)
        leaves = slice(forest.leaf_start[i], forest.leaf_start[i + 1])
        if leaves.start == leaves.stop:  # no sequence
            assert visits.sequences[i] is None
            continue
        assert counts.into[forest.node_start[i]] == 1_000_000
        assert counts.n[leaves].sum() == agree.sum()
        assert counts.x[leaves].sum() == (frame.recovered[agree] == "yes").sum()
