"""Tables at plain frequencies: the extremes over rows never seen, and what the difference of two arms may be off by."""

import itertools

import numpy as np
import pytest
from helpers import dag

from pgcpe import CausalBandit, TableModel, do
from pgcpe.estimators.pooled_trees import PooledTrees
from pgcpe.models.derivatives import Layout

GRAPH = dag([("Z", "X"), ("Z", "Y"), ("X", "Y")])


def question(strata=2):
    bandit = CausalBandit(GRAPH, reward="Y", arms=[do(X=0), do(X=1)], states={"Z": tuple(range(strata))})
    return bandit.recording(["Z"])


def told(estimator, rows):
    bandit = question()
    frame = [dict(zip("ZXY", row, strict=True)) for row, times in rows for _ in range(times)]
    return estimator.start(bandit).update(bandit.encode(do(), frame))


def test_extremes_are_those_over_all_tables():
    """A -> B -> Y, A -> Y with three rows unknown, against all their deterministic tables; a row of Y is met by one
    prefix alone here."""
    layout = Layout([(), (0,), (0, 1)], [2, 2, 2], np.array([[-1, -1, -1], [-1, 1, -1]]))
    rng = np.random.default_rng(0)
    rows = rng.dirichlet([1.0, 1.0], size=len(layout.width))
    unseen = np.isin(np.arange(len(rows)), [2, 4, 5])
    values = np.array([0.1, 0.7])
    low, high = layout.extremes(rows.ravel(), values, unseen)
    means = []
    for corners in itertools.product((0.0, 1.0), repeat=3):
        rows[unseen] = np.column_stack([corners, 1 - np.array(corners)])
        means.append(layout.derivatives(rows.ravel(), values).mean)
    assert low == pytest.approx(np.min(means, axis=0), abs=1e-12)
    assert high == pytest.approx(np.max(means, axis=0), abs=1e-12)


def test_trees_and_tables_agree_where_both_are_the_formula():
    """Value and variance of E[Y | do(X)] from the same plays: the tables' rows are the tree's cells."""
    rows = [((z, x, y), 5 + 3 * z + 2 * x + 4 * y) for z, x, y in itertools.product((0, 1), repeat=3)]
    tables, trees = told(TableModel(), rows), told(PooledTrees(), rows)
    assert tables.plug_in().value == pytest.approx(trees.plug_in().value, abs=1e-12)
    assert tables.plug_in().bias_bound == pytest.approx(0.0, abs=1e-12)
    # the pooled mean of a leaf is over all rows of Y in the one, over those of the arm in the other
    assert tables.plug_in().variance == pytest.approx(trees.plug_in().variance, rel=0.05)
    assert tables.differences(0).value == pytest.approx(trees.differences(0).value, abs=1e-12)


def test_a_row_never_seen_widens_the_bound_of_the_arms_that_meet_it():
    rows = [((0, 0, 1), 6), ((0, 1, 0), 3), ((0, 1, 1), 3), ((1, 0, 0), 4)]  # none with Z = X = 1
    for model in (told(TableModel(), rows), told(PooledTrees(), rows)):
        assert model.plug_in().bias_bound == pytest.approx([0.0, 4 / 16], abs=1e-12)
        assert model.differences(0).bias_bound == pytest.approx([0.0, 4 / 16], abs=1e-12)
    # the tree takes the mean of the strata seen, the tables that of all rows of Y
    assert told(PooledTrees(), rows).plug_in().value[1] == pytest.approx(0.5)
    assert told(TableModel(), rows).plug_in().value[1] == pytest.approx(12 / 16 * 0.5 + 4 / 16 * 9 / 16)


@pytest.mark.parametrize("estimator", [TableModel(), PooledTrees()])
def test_evidence_after_zeros_grows_as_counts_allow(estimator):
    """X = 1 was never rewarded in n plays, X = 0 in a tenth of very many: that has the probability .9^n, 4.2 nats at
    n = 40. At the frequencies alone the evidence would be of the order of n^2: .1^2 / (2 V), with V below 1e-4."""
    graph = dag([("X", "Y")])
    bandit = CausalBandit(graph, reward="Y", arms=[do(X=0), do(X=1)])
    if isinstance(estimator, TableModel):
        bandit = bandit.recording(estimator.required(bandit))
    rows = [{"X": 0, "Y": 0}] * 90_000 + [{"X": 0, "Y": 1}] * 10_000 + [{"X": 1, "Y": 0}] * 40
    said = estimator.start(bandit).update(bandit.encode(do(), rows)).differences(0, epsilon=0.0)
    assert said.value[1] == pytest.approx(0.1)
    evidence = said.value[1] ** 2 / (2 * said.variance[1])
    assert 0.3 * 40 * 0.105 < evidence < 40 * 0.105
    plain = estimator.differences(0)
    assert plain.value[1] ** 2 / (2 * plain.variance[1]) > evidence


def test_in_the_bulk_the_variance_at_the_null_is_that_at_the_estimate():
    rows = [((z, x, y), 100 + 5 * z + 5 * x * y) for z, x, y in itertools.product((0, 1), repeat=3)]
    for model in (told(TableModel(), rows), told(PooledTrees(), rows)):
        at_estimate, at_null = model.differences(0).variance[1], model.differences(0, epsilon=0.01).variance[1]
        assert at_estimate <= at_null <= 1.001 * at_estimate


@pytest.mark.parametrize("model", [TableModel, PooledTrees])
@pytest.mark.parametrize(
    ("plays", "zeros", "share"), [(10_000, 1_000, 0.01), (100_000, 1_000, 0.01), (10_000, 20, 0.3)]
)
def test_zeros_beside_a_leader_with_many_plays_are_worth_what_their_probability_is(model, plays, zeros, share):
    """The evidence that an arm of zeros alone is below the leader, against the likelihood ratio of equal means."""
    ones = int(plays * share)
    bandit = CausalBandit(dag([("X", "Y")]), reward="Y", arms=[do(X=0), do(X=1)])
    told = model().start(bandit)
    for x, y, times in ((0, 0, zeros), (1, 0, plays - ones), (1, 1, ones)):
        told.update(bandit.encode(do(X=x), [{"X": x, "Y": y}] * times))
    gap, variance, _ = (part[0] for part in told.differences(1, epsilon=0.0))
    m = ones / (plays + zeros)
    likelihood_ratio = -zeros * np.log1p(-m) + ones * np.log(share / m) + (plays - ones) * np.log((1 - share) / (1 - m))
    # half of it in the limit: the variance at equal means is about m / zeros
    assert 0.4 * likelihood_ratio < gap**2 / (2.0 * variance) <= likelihood_ratio
