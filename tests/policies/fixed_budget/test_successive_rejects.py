"""Successive Rejects against a run by hand."""

import numpy as np
import pytest
from policies.fixed_budget.four_arms import play, question

from pgcpe import SuccessiveRejects, do
from pgcpe.complexity.hardness import log_bar
from pgcpe.policies.fixed_budget.successive_rejects import rejection_counts


def test_the_first_twenty_plays_of_successive_rejects_by_hand():
    """K = 4, T = 24: logbar = 19/12, so n = ceil(20 * 12/19 / (4, 3, 2)) = 4, 5, 7. Plays: 16, then 3, then 2 * 2."""
    assert log_bar(4) == pytest.approx(19 / 12)
    assert rejection_counts(4, 20) == [4, 5, 7]
    policy = SuccessiveRejects(question(), budget=24, seed=1)
    order = np.argsort(policy.state.rank).tolist()
    # arm 0 always fails and goes first, arm 3 succeeds once in five and goes second, arms 1 and 2 stay
    performed = play(policy, [[0], [1, 1, 1, 0], [1], [0, 0, 1, 0, 0]])
    assert performed[:16] == order * 4
    assert performed[16:19] == [x for x in order if x != 0]
    assert performed[19:] == [x for x in order if x in (1, 2)] * 2
    assert len(performed) == 23 <= 24
    assert policy.recommendation == do(X=2)
