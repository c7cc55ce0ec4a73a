"""Plays that are pending: what the next one adds is what it adds once they are told, up to chance."""

import numpy as np
import pytest

from pgcpe import BGLM, PooledTrees, TableModel, do
from pgcpe.estimators.pooled_bglm import PooledBGLM
from pgcpe.paper import experiment_2, experiment_3

MODELS = {
    "trees": (experiment_3, PooledTrees),
    "trees of a graph without hidden causes": (experiment_2, PooledTrees),
    "tables": (experiment_2, TableModel),
    "BGLM": (experiment_2, lambda: PooledBGLM(BGLM("identity"))),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("which", ["observation", "an arm"])
def test_pending_plays_count_as_told(name, which):
    """3,000 plays of random actions are told, as many of one action are pending, and then told: what one play more of
    each action adds then. A row of a table was seen a few hundred times, so that what it adds, which has the square of
    its count n in it, varies by 2 / sqrt(n) = .14 for 200: two standard errors for each action, and for the sum over
    all of them, where that averages out, less than one. Actions that add little then are left out: among them are those
    of arms that were estimated by their own plays before, and by their trees then."""
    made, model = MODELS[name]
    question = made(4)
    bandit = question.bandit
    environment, rng = question.environment(0), np.random.default_rng(0)
    model = model()
    bandit = bandit.recording(model.required(bandit))
    model.start(bandit)
    actions = [bandit.playable[i] for i in rng.integers(0, len(bandit.playable), 3000)]
    model.update(bandit.encode(actions, environment.perform(actions)))
    weights, leader = np.ones(len(bandit.arms)), 1
    playable = list(bandit.playable)
    b = playable.index(do()) if which == "observation" else playable.index(bandit.arms[1])
    pending = np.zeros(len(playable))
    pending[b] = 3000
    before = model.variance_reduction(leader, weights)
    expected = model.variance_reduction(leader, weights, None, pending)
    more = [playable[b]] * 3000
    model.update(bandit.encode(more, environment.perform(more)))
    found = model.variance_reduction(leader, weights)
    assert (expected <= before * (1 + 1e-12)).all()
    assert expected[b] < 0.6 * before[b]
    counts = found > 0.1 * found.max()
    np.testing.assert_allclose(expected[counts], found[counts], rtol=0.28)
    assert expected[counts].sum() == pytest.approx(found[counts].sum(), rel=0.14)


def test_nothing_pending_changes_nothing():
    question = experiment_2(4)
    bandit = question.bandit
    for model in (PooledTrees(), TableModel(), PooledBGLM(BGLM("identity"))):
        own = bandit.recording(model.required(bandit))
        model.start(own).update(own.encode([do()] * 50, question.environment(0).perform([do()] * 50)))
        weights, none = np.arange(len(own.arms), dtype=float), np.zeros(len(own.playable))
        found = model.variance_reduction(0, weights)
        np.testing.assert_allclose(model.variance_reduction(0, weights, None, none), found, rtol=1e-9)
