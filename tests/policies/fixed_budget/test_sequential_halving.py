"""Sequential Halving against runs by hand."""

import numpy as np
from policies.fixed_budget.four_arms import play, question

from pgcpe import SequentialHalving, do


def test_sequential_halving_by_hand():
    """K = 4, T = 24, two rounds of 12: three plays each, then six each for the better two."""
    policy = SequentialHalving(question(), budget=24, seed=2)
    order = np.argsort(policy.state.rank).tolist()
    performed = play(policy, [[0], [1, 0, 1], [1], [0, 0, 1]])
    assert performed[:12] == order * 3
    assert performed[12:] == [x for x in order if x in (1, 2)] * 6
    assert policy.recommendation == do(X=2)


def test_sequential_halving_with_and_without_the_plays_of_earlier_rounds():
    """Arm 0 has 3 of 3, then 2 of 6; arm 1 has 1 of 3, then 3 of 6: 5 of 9 against 4 of 9, or 2 of 6 against 3 of 6."""
    rewards = [[1, 1, 1, 1, 1, 0, 0, 0, 0], [1, 0, 0, 1, 1, 1, 0, 0, 0], [0], [0]]
    for keep, best in ((False, 1), (True, 0)):
        policy = SequentialHalving(question(), budget=24, keep=keep)
        assert len(play(policy, rewards)) == 24
        assert policy.recommendation == do(X=best)
