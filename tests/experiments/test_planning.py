"""A plan is what happens."""

import numpy as np
import pytest

from pgcpe import CCPE, LUCB, SimulatedEnvironment
from pgcpe.experiments import plan
from pgcpe.paper import experiment_2


def test_a_plan_is_what_happens():
    """Planned from 30 studies, performed in 30 others on the same truth: the medians of such small samples of one
    distribution differ by less than a third here (quartiles .8 and 1.25 of the median, as measured)."""
    question = experiment_2(0)
    planned = plan(
        question.bandit, question.network, policies={"LUCB": LUCB}, epsilon=0.2, runs=30, progress=False
    ).iloc[0]
    plays = []
    for seed in range(100, 130):
        policy = LUCB(question.bandit, epsilon=0.2, seed=seed)
        policy.run(SimulatedEnvironment(question.network, seed=seed), progress=False)
        plays.append(policy.n_plays)
    assert np.median(plays) == pytest.approx(planned.plays, rel=1 / 3)
    assert planned.plays_low <= planned.plays <= planned.plays_high
    assert (planned.stopped, planned.wrong, planned.cost) == (1.0, 0.0, planned.plays)


def test_a_plan_that_cannot_be_afforded_says_so():
    question = experiment_2(0)
    table = plan(
        question.bandit,
        question.network,
        policies={"LUCB": LUCB, "CCPE": CCPE},
        epsilon=0.0,
        runs=2,
        budget=100,
        progress=False,
    )
    assert table["stopped"].tolist() == [0, 0]
    assert table["plays"].tolist() == [100, 100]
