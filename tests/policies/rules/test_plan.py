"""Plans: what is told is crossed off in whatever order it comes."""

from collections import Counter

import numpy as np
import pytest

from pgcpe import do
from pgcpe.plays.frames import distinct_actions
from pgcpe.plays.samples import Coding, Samples
from pgcpe.policies.rules.plan import Plan

A, B, C, OTHER = do(A=1), do(B=1), do(), do(A=0)


def told(*actions):
    return Samples(Coding((), ()), np.empty((len(actions), 0), dtype=np.int32), *distinct_actions(actions))


def at_every_play(row):
    return row + 1


@pytest.mark.parametrize(
    ("actions", "rows", "left", "followed"),
    [
        ([], 0, [A, B, A, C], True),
        ([A, B], 2, [A, C], True),  # in order
        ([A, B, A, C], 4, [], True),
        ([A, B, A, C, A], 4, [], True),
        ([C, A], 2, [B, A], True),  # the last of equals is what is left
        ([A, C, B, A, B], 4, [], True),
        ([A, OTHER, B], 2, [B, A, C], False),  # a look is due after the next play
        ([A, A, A, B], 3, [B, C], False),
        ([OTHER], 1, [A, B, A, C], False),
    ],
)
def test_what_is_told_is_crossed_off(actions, rows, left, followed):
    plan = Plan([A, B, A, C])
    assert plan.cross_off(told(*actions), at_every_play) == rows
    assert (plan.left, plan.followed) == (left, followed)


def test_a_plan_that_was_left_is_crossed_off_to_the_next_look():
    plan = Plan([A, B, C])
    plan.followed = False
    assert plan.cross_off(told(A, B), lambda row: row + 1) == 1
    assert plan.left == [B, C]


def test_any_order_one_by_one_or_at_once():
    rng = np.random.default_rng(0)
    for _ in range(200):
        asked = [[A, B, C][i] for i in rng.integers(0, 3, 6)]
        given = [asked[i] for i in rng.permutation(6)[: rng.integers(1, 6)]]
        at_once, one_by_one = Plan(asked), Plan(asked)
        assert at_once.cross_off(told(*given), at_every_play) == len(given)
        for action in given:
            one_by_one.cross_off(told(action), at_every_play)
        assert at_once.left == one_by_one.left
        assert Counter(at_once.left) == Counter(asked) - Counter(given)
