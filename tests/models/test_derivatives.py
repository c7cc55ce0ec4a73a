"""Derivatives of expected rewards, and what rests on them: variances and gains of the tables; those of the trees."""

import itertools
import math

import numpy as np
import pytest
from helpers import dag
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork

from pgcpe import CausalBandit, SimulatedEnvironment, TableModel, do, expected_rewards
from pgcpe.estimators.pooled_trees import PooledTrees
from pgcpe.models.derivatives import MOST_CONFIGURATIONS, Layout
from pgcpe.paper.instances import binary_network

# -------------------------------------------------------------------------------------------------------- derivatives


def random_case(rng):
    """Parents, cards, settings and, node by node and row by row, tables with some zeros."""
    n = int(rng.integers(2, 6))
    cards = rng.integers(2, 4, n).tolist()
    parents = [tuple(p for p in range(i) if rng.random() < 0.5) for i in range(n)]
    forced = np.where(rng.random((4, n)) < 0.4, rng.integers(0, cards, (4, n)), -1)
    forced[:, -1] = -1
    forced[0] = -1
    tables = []
    for i, ps in enumerate(parents):
        drawn = rng.dirichlet(np.ones(cards[i]), size=tuple(cards[p] for p in ps))
        drawn[rng.random(drawn.shape) < 0.1] = 0.0
        tables.append(drawn / np.maximum(drawn.sum(axis=-1, keepdims=True), 1e-300))
    return parents, cards, forced, tables, rng.random(cards[-1])


def configurations(parents, cards, setting, tables):
    """All configurations under a setting, each with the product of the entries of the nodes left free."""
    for values in itertools.product(*map(range, cards)):
        if all(s in (-1, v) for s, v in zip(setting, values, strict=True)):
            entries = [
                tables[i][(*(values[p] for p in ps), values[i])] for i, ps in enumerate(parents) if setting[i] < 0
            ]
            yield values, math.prod(entries)


def by_enumeration(parents, cards, setting, tables, rewards):
    """The expected reward, and for each node the probability of its parents' values where it is free."""
    mean, met = 0.0, [np.zeros(table.shape[:-1]) for table in tables]
    for values, weight in configurations(parents, cards, setting, tables):
        mean += weight * rewards[values[-1]]
        for i, ps in enumerate(parents):
            if setting[i] < 0:
                met[i][tuple(values[p] for p in ps)] += weight
    return mean, np.concatenate([m.ravel() for m in met])


@pytest.mark.parametrize("seed", range(12))
def test_mean_and_reach_are_those_of_the_joint_distribution(seed):
    parents, cards, forced, tables, rewards = random_case(np.random.default_rng(seed))
    tables = [np.where(t.sum(axis=-1, keepdims=True) > 0, t, 1.0 / t.shape[-1]) for t in tables]
    found = Layout(parents, cards, forced).derivatives(np.concatenate([t.ravel() for t in tables]), rewards)
    for a, setting in enumerate(forced):
        mean, met = by_enumeration(parents, cards, setting, tables, rewards)
        assert found.mean[a] == pytest.approx(mean, abs=1e-12)
        assert found.reach[a] == pytest.approx(met, abs=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_slopes_are_central_differences(seed):
    """No path meets an entry twice: the mean is linear in each, and the difference exact but for rounding."""
    parents, cards, forced, tables, rewards = random_case(np.random.default_rng(100 + seed))
    found = Layout(parents, cards, forced).derivatives(np.concatenate([t.ravel() for t in tables]), rewards)
    entry = 0
    for table in tables:
        for cell in np.ndindex(table.shape):
            kept, slopes = table[cell], np.zeros(len(forced))
            for sign in (1, -1):
                table[cell] = kept + sign * 0.01
                slopes += [sign * by_enumeration(parents, cards, s, tables, rewards)[0] / 0.02 for s in forced]
            table[cell] = kept
            assert found.slope[:, entry] == pytest.approx(slopes, abs=1e-11)
            entry += 1
    assert entry == found.slope.shape[1]


def test_the_layout_by_hand():
    layout = Layout([(), (), (0, 1)], [2, 3, 2], np.array([[-1, -1, -1]]))
    assert layout.row_start.tolist() == [0, 1, 2, 8]
    assert layout.entry_start.tolist() == [0, 2, 5, 17]
    assert layout.width.tolist() == [2, 3, 2, 2, 2, 2, 2, 2]


def test_small_counts_the_configurations_of_all_actions():
    n = int(math.log2(MOST_CONFIGURATIONS))
    free, one_set = np.full(n, -1), np.array([0] + [-1] * (n - 1))
    none = [()] * n
    assert Layout(none, [2] * n, free[None]).small
    assert not Layout(none, [2] * n, np.array([free, one_set])).small
    assert Layout(none, [2] * n, np.array([one_set, one_set])).small
    assert not Layout([()] * 60, [3] * 60, np.full((1, 60), -1)).small


def test_a_network_too_large_is_refused_aloud():
    names = [f"V{i}" for i in range(24)]
    graph = dag([*itertools.pairwise(names), (names[-1], "Y")])
    bandit = CausalBandit(graph, reward="Y", arms=[do(V0=0), do(V0=1)])
    model = TableModel().start(bandit.recording(names))
    assert not model.compares
    assert model.means() == pytest.approx(0.5)
    for ask in (model.estimates, lambda: model.differences(0), lambda: model.variance_reduction(0, np.ones(2))):
        with pytest.raises(ValueError, match="too many configurations to compare arms"):
            ask()


# ------------------------------------------------------------------------------------------------------------- tables


def three_states():
    """A -> B -> Y, A -> Y, where A has three states, and a root C -> Y."""
    network = DiscreteBayesianNetwork([("A", "B"), ("A", "Y"), ("B", "Y"), ("C", "Y")])
    names = {"A": [0, 1, 2], "B": [0, 1], "C": [0, 1], "Y": [0, 1]}
    b, y = np.array([0.3, 0.5, 0.7]), np.array([0.2, 0.35, 0.5, 0.3, 0.6, 0.8, 0.55, 0.4, 0.7, 0.25, 0.45, 0.65])
    network.add_cpds(
        TabularCPD("A", 3, [[0.3], [0.4], [0.3]], state_names={"A": names["A"]}),
        TabularCPD("B", 2, [1 - b, b], ["A"], [3], {v: names[v] for v in "BA"}),
        TabularCPD("C", 2, [[0.6], [0.4]], state_names={"C": names["C"]}),
        TabularCPD("Y", 2, [1 - y, y], ["A", "B", "C"], [3, 2, 2], {v: names[v] for v in "YABC"}),
    )
    arms = [do(A=0), do(A=2), do(B=1), do(B=0, C=1), do()]
    playable = [do(), *arms[:3], do(A=1), do(C=0)]
    bandit = CausalBandit(network, reward="Y", arms=arms, playable=playable)
    return network, bandit.recording(TableModel().required(bandit))


def spread_over_data_sets(network, bandit, estimator, actions, n, leader):
    """Of n data sets the variance of the estimated differences, the mean of the variances claimed, the mean gap."""
    environment = SimulatedEnvironment(network, seed=5)
    found = []
    for _ in range(n):
        samples = bandit.encode(actions, environment.perform(actions))
        found.append(estimator.start(bandit).update(samples).differences(leader))
    gaps, claimed, _ = (np.array(part) for part in zip(*found, strict=True))
    return gaps.var(axis=0, ddof=1), claimed.mean(axis=0), gaps.mean(axis=0)


def test_variances_of_differences_are_those_of_repeated_studies():
    """Of 400 data sets an empirical variance has a relative standard error of sqrt(2 / 399) = .071, and four of them
    are .28. Every row is met by at least 36 plays on average, so that what the delta method leaves out is a few per
    cent; independent variances would be far off where rows are shared."""
    network, bandit = three_states()
    actions = [do()] * 300 + [do(A=0)] * 60 + [do(A=2)] * 60 + [do(B=1)] * 60 + [do(C=0)] * 120
    empirical, claimed, gap = spread_over_data_sets(network, bandit, TableModel(), actions, 400, leader=1)
    others = [0, 2, 3, 4]
    assert empirical[others] / claimed[others] == pytest.approx(1.0, abs=0.28)
    assert claimed[1] == empirical[1] == 0.0
    truth = expected_rewards(network, bandit, progress=False).to_numpy()
    assert gap == pytest.approx(truth[1] - truth, abs=4 * math.sqrt(claimed.max() / 400) + 0.005)  # .005: smoothing


def observed(bandit):
    network, _ = three_states()
    actions = [do()] * 200 + [do(A=0)] * 40 + [do(B=1)] * 60 + [do(A=1)] * 25 + [do(C=0)] * 30
    return bandit.encode(actions, SimulatedEnvironment(network, seed=2).perform(actions))


def taught():
    _, bandit = three_states()
    return TableModel().start(bandit).update(observed(bandit))


def shrunk(model):
    """The shares of variances: four plays more for each row at the mean of all, four for the node, equally."""
    tables = []
    for counts in model.counts_:
        n, states = counts.sum(), counts.shape[-1]
        mean = (counts.reshape(-1, states).sum(axis=0) + 1 / states) / (n + 1)
        rows = (counts + 4 * mean) / (counts.sum(axis=-1, keepdims=True) + 4)
        tables.append((n * rows + 4 / states) / (n + 4))
    return tables


def by_rows(model, leader, shares=None):
    """For each arm and row the variance of one play's influence on the difference: by moving entries one by one."""
    parents, cards, forced = model.parents_, model.cards_, model.forced_
    tables, rewards = list(model.tables().values()), model.bandit_.reward_array
    out = []
    for table, share in zip(tables, shares or tables, strict=True):
        slopes = np.empty((len(forced), *table.shape))
        for cell in np.ndindex(table.shape):
            kept = table[cell]
            table[cell] = kept + 1.0  # the mean is linear in an entry
            slopes[(slice(None), *cell)] = [by_enumeration(parents, cards, s, tables, rewards)[0] for s in forced]
            table[cell] = kept
        slopes -= model.means().reshape(-1, *([1] * table.ndim))
        apart = slopes[leader] - slopes
        variance = (share * apart**2).sum(axis=-1) - (share * apart).sum(axis=-1) ** 2
        out.append(variance.reshape(len(forced), -1))
    return np.concatenate(out, axis=1)


def test_the_variance_is_a_sum_over_rows_and_rows_in_common_cancel():
    model = taught()
    n = np.concatenate([c.sum(axis=-1).ravel() for c in model.counts_])
    for leader in range(len(model.bandit_.arms)):
        gap, variance, off = model.differences(leader)
        plain = TableModel(pseudo_count=0.0).start(model.bandit_).update(observed(model.bandit_))
        assert gap == pytest.approx(plain.means()[leader] - plain.means(), abs=1e-12)
        assert variance == pytest.approx((by_rows(plain, leader, shrunk(plain)) / n).sum(axis=1), rel=1e-9, abs=1e-15)
        assert variance[leader] == 0.0
        assert np.delete(variance, leader).min() > 1e-5
        assert not off.any()  # every row was seen
    # do(A=0) and do(A=2) share the row of C alone, do(B=1) and do() those of A, C and of Y where B = 1
    own = model.plug_in().variance
    variance = model.differences(2)[1]
    assert variance[4] < 0.7 * (own[2] + own[4])


def test_a_gain_is_the_fall_of_the_variances_as_every_row_grows_by_its_reach():
    model = taught()
    weights = np.array([0.0, 2.0, 0.5, 1.0, 0.0])
    spread = weights @ by_rows(model, 0)
    n = np.concatenate([c.sum(axis=-1).ravel() for c in model.counts_])
    tables, found = list(model.tables().values()), model.variance_reduction(0, weights)
    assert len(found) == len(model.bandit_.playable)
    for action, gain in zip(model.bandit_.playable, found, strict=True):
        setting = [model.bandit_.states[v].index(action[v]) if v in action else -1 for v in model.nodes_]
        _, met = by_enumeration(model.parents_, model.cards_, setting, tables, model.bandit_.reward_array)
        step = 1e-4
        fall = (spread / (n - step * met)).sum() - (spread / (n + step * met)).sum()
        assert gain == pytest.approx(fall / (2 * step), rel=1e-6)
        assert gain > 0
    assert model.variance_reduction(0, np.eye(5)[0]) == pytest.approx(0.0, abs=1e-18)  # the leader against itself


def test_smoothed_differences_are_of_the_estimates_and_uncertain_where_nothing_was_seen():
    """Row by row the variance that `variance_reduction` is taken off, a row never seen as if of half a play."""
    network, bandit = three_states()
    actions = [do(A=0)] * 90 + [do(A=1)] * 30
    narrow = TableModel().start(bandit)
    narrow.update(bandit.encode(actions, SimulatedEnvironment(network, seed=3).perform(actions)))
    for model in (taught(), narrow):
        n = np.concatenate([c.sum(axis=-1).ravel() for c in model.counts_])
        for leader in range(len(bandit.arms)):
            gap, variance, off = model.smoothed_differences(leader)
            assert gap == pytest.approx(model.estimates()[leader] - model.estimates(), abs=1e-15)
            assert variance == pytest.approx((by_rows(model, leader) / np.maximum(n, 0.5)).sum(axis=1), abs=1e-15)
            assert not off.any()
    # do(A=2) was never played: the plain estimates are off by at most something, with next to no variance
    assert narrow.differences(0).variance[1] < 0.01 < 0.1 < narrow.smoothed_differences(0).variance[1]
    assert narrow.differences(0).bias_bound[1] > 0.5


def test_distrusted_arms_are_not_compared():
    model = taught()
    rejected = np.array([False, True, False, False, False])
    assert np.isnan(model.estimates(rejected)).tolist() == rejected.tolist()
    for said in (model.plug_in(rejected), model.differences(0, rejected), model.smoothed_differences(0, rejected)):
        assert np.isinf(said.variance).tolist() == rejected.tolist()
    for ask in (model.differences, model.smoothed_differences):
        assert np.isinf(ask(1, rejected).variance).all()


# -------------------------------------------------------------------------------------------------------------- trees


def two_leaves(same):
    """A hundred observations of every Z and X; nine in ten are rewarded where Z = 1, or else where Z = X."""
    graph = dag([("Z", "X"), ("Z", "Y"), ("X", "Y")])
    bandit = CausalBandit(graph, reward="Y", arms=[do(X=0), do(X=1)])
    cells = np.array([(z, x, k < (90 if z == (1 if same else x) else 10)) for z, x, k in np.ndindex(2, 2, 100)], int)
    rows = [dict(zip("ZXY", map(int, cell), strict=True)) for cell in cells]
    trees = PooledTrees().start(bandit).update(bandit.encode(do(), rows))
    return trees, *trees_by_hand(*cells.T)


def trees_by_hand(z, x, y):
    """The variances of the two arms and of their difference, from the influence of every round and what shrinking adds:
    a leaf has four plays more at the mean of both, and both together four, half of them rewarded."""
    moved, own = np.zeros((2, 400)), np.zeros(2)
    for arm in (0, 1):
        s = np.array([y[(z == v) & (x == arm)].sum() for v in (0, 1)])
        q, mean = s / 100, (s.sum() + 0.5) / 201
        p = (200 * (s + 4 * mean) / 104 + 2) / 204
        own[arm] = (q[1] - q[0]) ** 2 / 4 / 400 + (p * (1 - p) / 4 / 100).sum()
        moved[arm] = (q[z] - q.mean()) / 400 + np.where(x == arm, 0.5 * (y - q[z]) / 100, 0.0)
    return own, ((moved[0] - moved[1]) ** 2).sum() + (own - (moved**2).sum(axis=1)).sum()


def test_two_trees_with_a_root_in_common_and_opposite_leaves():
    """Z is fair; E[Y | Z] is .1, .9 for one arm and .9, .1 for the other. Per play of n the root adds .16 to the
    variance of either arm and .64, not .32, to that of their difference; the leaves, of n / 4 plays, .18 to each. The
    shrinking makes the .09 of a leaf (.1 + .4 * 4 / 104) (1 - ...) = .102, and of all 400 plays 4 more .106 at most."""
    trees, own, variance = two_leaves(same=False)
    value, found, off = trees.plug_in()
    assert (value, off) == (pytest.approx(0.5), pytest.approx(0.0))
    assert found == pytest.approx(own, rel=1e-9)
    gap, found, _ = trees.differences(0)
    assert gap == pytest.approx(0.0, abs=1e-12)
    assert found == pytest.approx([0.0, variance], rel=1e-9)
    assert own == pytest.approx((0.16 + 0.18 * 0.106 / 0.09) / 400, rel=0.02)
    assert found[1] == pytest.approx((0.64 + 0.36 * 0.106 / 0.09) / 400, rel=0.02)
    assert trees.differences(1)[1] == pytest.approx([variance, 0.0], rel=1e-9)


def test_two_trees_with_a_root_in_common_and_the_same_leaves():
    """Then the root adds nothing to the variance of the difference, and the leaves .36; but for the shrinking."""
    trees, own, variance = two_leaves(same=True)
    found = trees.differences(0)[1]
    assert found == pytest.approx([0.0, variance], rel=1e-9)
    assert found[1] == pytest.approx(0.36 * 0.106 / 0.09 / 400, rel=0.03)
    assert trees.plug_in().variance == pytest.approx(own, rel=1e-9)


def hidden_cause():
    """U -> Z -> X -> Y and U -> Y with U hidden: Z is adjusted for, and plays of X stand in the tree."""
    network = binary_network(
        {
            "U": ([], lambda: 0.4),
            "Z": (["U"], lambda u: 0.25 + 0.5 * u),
            "X": (["Z"], lambda z: 0.3 + 0.4 * z),
            "Y": (["X", "U"], lambda x, u: 0.2 + 0.3 * x + (0.3 - 0.25 * x) * u),
        }
    )
    network.latents = {"U"}
    return network, CausalBandit(network, reward="Y", arms=[do(X=0), do(X=1), do(Z=1), do()])


def test_variances_of_trees_are_those_of_repeated_studies_with_a_hidden_cause():
    """As for the tables: within four relative standard errors of a variance from 400 data sets, .28."""
    network, bandit = hidden_cause()
    assert bandit.observed == ("Z", "X", "Y")
    actions = [do()] * 250 + [do(X=0)] * 40 + [do(X=1)] * 60 + [do(Z=1)] * 100
    for leader in (0, 1):
        empirical, claimed, _ = spread_over_data_sets(network, bandit, PooledTrees(), actions, 400, leader)
        others = [i for i in range(4) if i != leader]
        assert empirical[others] / claimed[others] == pytest.approx(1.0, abs=0.28)


def test_what_cells_never_seen_may_be_off_by():
    network = binary_network({"Z": ([], lambda: 0.5), "Y": (["Z", "X"], lambda z, x: 0.5), "X": ([], lambda: 0.5)})
    bandit = CausalBandit(network, reward="Y", arms=[do(X=0), do(X=1)]).recording(["Z"])
    rows = [{"Z": 0, "X": 0, "Y": 1}] * 7 + [{"Z": 1, "X": 0, "Y": 0}] * 3 + [{"Z": 0, "X": 1, "Y": 1}] * 5
    samples = bandit.encode(do(), rows)
    tables, trees = (made.start(bandit).update(samples) for made in (TableModel(), PooledTrees()))
    # no play shows Y where Z = X = 1: three in fifteen have Z = 1, and the reward may be anything there
    assert tables.plug_in().bias_bound == pytest.approx([0.0, 3 / 15], rel=1e-12)
    assert tables.differences(0).bias_bound == pytest.approx([0.0, 3 / 15], rel=1e-12)
    few = PooledTrees().start(bandit).update(samples.rows(slice(4)))
    assert few.plug_in().bias_bound.max() <= 1.0
    # the tree of an arm is the mean reward of its own level here, without Z: five plays or more of either
    assert trees.served_.all()
    assert trees.plug_in().bias_bound == pytest.approx([0.0, 0.0])
