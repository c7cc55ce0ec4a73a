"""Bounds by which a leader is separated."""

import numpy as np
import pytest
from policies.confounded import question, state

from pgcpe.confidence.sequences import kt_interval
from pgcpe.estimators.base import EndLevels
from pgcpe.policies.rules.direct_evidence import DirectEnds
from pgcpe.policies.rules.leader_bounds import LeaderBounds
from pgcpe.policies.rules.stopping import PairwiseGLR, SeparatedOrRuledOut


def test_bounds_are_worked_out_once_for_a_state_and_by_own_plays_in_conflict():
    bandit, plays, rewards = question(), [90.0] * 5, [80.0, 9.0, 9.0, 9.0, 9.0]
    bounds = LeaderBounds(DirectEnds(EndLevels(0.01, 0.01), 5), EndLevels(0.02, 0.02))
    rule = SeparatedOrRuledOut(PairwiseGLR(1e-300), bounds)
    now = state(bandit, plays=plays, rewards=rewards, conflicts=np.array([False, True, False, False, False]))
    assert bounds.of(now, np.ones(5, np.bool_)) is bounds.of(now, np.zeros(5, np.bool_))
    assert rule.check(now)[:3:2] == (True, "direct")
    assert rule.upper(now)[1] == pytest.approx(kt_interval(plays, rewards, 0.03).upper[1])  # it has no tree here
