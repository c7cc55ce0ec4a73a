"""Pooled trees: what they count, that their regions are those of martingales, and that they hold; and the policy."""

import itertools
import math

import numpy as np
import pytest
from helpers import joint
from pgmpy.base import DAG

from pgcpe import BGLM, AdmissibleSequence, CausalBandit, PooledCCPE, SimulatedEnvironment, TableModel, do
from pgcpe.confidence.tree_region import TOLERANCE
from pgcpe.estimators.forest_values import progress, smoothed_values, variance_falls
from pgcpe.estimators.pooled_trees import PooledTrees
from pgcpe.estimators.schedule import FIRST_SNAPSHOT, snapshot_share
from pgcpe.paper import experiment_2, experiment_3, two_layer
from pgcpe.paper.instances import binary_network


def counts(trees, arm):
    """The counts into the nodes, of the leaves, and the rewards there, of one arm."""
    start, leaf = trees._forest.node_start, trees._forest.leaf_start
    into, n, x = trees._counts
    return into[start[arm] : start[arm + 1]], n[leaf[arm] : leaf[arm + 1]], x[leaf[arm] : leaf[arm + 1]]


def test_of_observation_alone_the_trees_are_those_of_the_adjustment_formula():
    for made in (experiment_2(1), experiment_3(4), two_layer(2, n=5)):
        samples = made.bandit.encode(do(), made.environment(0).sample(do(), 50))
        pooled, passive = PooledTrees().start(made.bandit), AdmissibleSequence().start(made.bandit)
        assert pooled.served_.tolist() == passive.served_.tolist()
        pooled.update(samples), passive.update(samples)
        value, variance = smoothed_values(pooled._forest, pooled._walks())
        served = pooled.served_
        np.testing.assert_allclose(np.stack([value, variance])[:, served], np.stack(passive.smoothed())[:, served])
        # before the first snapshot there is one region, at its share of delta
        # (both searches end within TOLERANCE outside of the extremes; where they end depends on how they were compiled)
        ours, theirs = pooled.intervals(0.1), passive.intervals(0.1 * snapshot_share(0))
        np.testing.assert_allclose([ours.lower, ours.upper], [theirs.lower, theirs.upper], rtol=0, atol=TOLERANCE)


def test_the_shares_of_the_snapshots_sum_to_one():
    assert sum(map(snapshot_share, range(100_000))) == pytest.approx(1.0, abs=1e-5)


def back_door():
    """Z -> X -> Y, Z -> Y, and W, which causes nothing but may be set."""
    network = binary_network(
        {
            "Z": ([], lambda: 0.3),
            "W": ([], lambda: 0.5),
            "X": (["Z"], lambda z: 0.2 + 0.5 * z),
            "Y": (["X", "Z"], lambda x, z: 0.1 + 0.3 * x + 0.4 * z),
        }
    )
    arms = [do(X=1), do(X=0)]
    playable = [*arms, do(), do(Z=1), do(W=1)]
    return network, CausalBandit(network, reward="Y", arms=arms, playable=playable)


def test_each_play_counts_where_it_may():
    network, bandit = back_door()
    trees = PooledTrees().start(bandit)
    environment = SimulatedEnvironment(network, seed=0)
    n_of = {do(): 7, do(X=1): 5, do(X=0): 4, do(Z=1): 6, do(W=1): 3}
    seen = {}
    for action, n in n_of.items():
        samples = environment.sample(action, n)
        seen[action] = samples.to_frame()
        trees.update(bandit.encode(action, samples))
    into, n, x = counts(trees, 0)  # do(X=1): P(Z), then E[Y | Z, X=1]
    free = [do(), do(X=1), do(X=0), do(W=1)]  # plays that leave Z alone
    assert into[0] == sum(n_of[a] for a in free)
    assert into[2] == sum((seen[a]["Z"] == 1).sum() for a in free)
    for z in (0, 1):
        rows = [seen[a][(seen[a]["Z"] == z) & (seen[a]["X"] == 1)] for a in free]
        assert n[z] == sum(map(len, rows))
        assert x[z] == sum(r["Y"].sum() for r in rows)
    # plays that set Z would be right for the second factor, but not for the first: nested admission leaves them out


def test_what_is_known_does_not_depend_on_how_it_was_told():
    made = experiment_3(4)
    actions = [do(), *made.bandit.arms[:6]] * 60
    samples = made.environment(3).perform(actions)
    whole = PooledTrees().start(made.bandit).update(made.bandit.encode(actions, samples))
    pieces = PooledTrees().start(made.bandit)
    told = made.bandit.encode(actions, samples)
    for start, end in itertools.pairwise([0, 1, 5, FIRST_SNAPSHOT - 1, FIRST_SNAPSHOT + 3, 257, 300, len(actions)]):
        pieces.update(told.rows(slice(start, end)))
    for one, other in zip(whole._counts, pieces._counts, strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(whole._regions.before, pieces._regions.before, strict=True):
        np.testing.assert_array_equal(one, other)
    assert whole._regions.shares.tolist() == pieces._regions.shares.tolist() == [snapshot_share(j) for j in range(3)]
    one, other = whole.intervals(0.1), pieces.intervals(0.1)
    np.testing.assert_array_equal([one.lower, one.upper], [other.lower, other.upper])


def mixture_over_likelihood(trees, arm, truth):
    """The martingale: over all nodes, the mixtures of what was counted over its likelihood under the truth."""
    into, n, x = counts(trees, arm)
    p_z, p_y = truth
    log = 0.0
    for a, b, p in [(into[2], into[1], p_z), *((x[z], n[z] - x[z], p_y[z]) for z in (0, 1))]:
        log += math.lgamma(a + 0.5) + math.lgamma(b + 0.5) - math.lgamma(a + b + 1) - math.log(math.pi)
        log -= a * math.log(p) + b * math.log(1 - p)
    return math.exp(log)


def test_the_martingale_has_mean_one_under_adaptive_plays():
    """All paths of four plays that are chosen by what was seen: do() first, then do(X=1) after a reward, else do(Z=1)
    or do()."""
    network, bandit = back_door()
    tables = {c.variable: (c.variables[1:], np.moveaxis(c.values, 0, -1)) for c in network.cpds}
    order = list(tables)
    laws = {}
    for action in (do(), do(X=1), do(Z=1)):
        law = joint(tables, dict(action))
        laws[action] = [
            (cell, law[cell])
            for cell in itertools.product((0, 1), repeat=4)
            if law[cell] > 0 and not cell[order.index("W")]
        ]
    total = mean = 0.0
    places = [order.index(v) for v in bandit.coding.variables]

    def go(plays, codes, weight):
        nonlocal total, mean
        if len(plays) == 4:
            trees = PooledTrees().start(bandit)
            samples = bandit.encode(do(), SimulatedEnvironment(network, seed=0).sample(do(), 0))
            told = np.array(codes, dtype=np.int32)
            told = type(samples)(samples.coding, told, tuple(plays), np.arange(4), told[:, -1].astype(float))
            trees.update(told)
            total += weight
            mean += weight * mixture_over_likelihood(trees, 0, (0.3, [0.4, 0.8]))
            return
        action = do() if not plays else do(X=1) if codes[-1][-1] else (do(Z=1) if len(plays) % 2 else do())
        for cell, probability in laws[action]:
            # W is a fair coin without effect, left out of the sum
            go([*plays, action], [*codes, [cell[i] for i in places]], weight * 2 * probability)

    go([], [], 1.0)
    assert total == pytest.approx(1.0, abs=1e-12)
    assert mean == pytest.approx(1.0, abs=1e-10)


# ----------------------------------------------------------------------------------------------- what once went wrong


def chain():
    """A -> B -> Y, both strong: the better arm by far is do(A=0)."""
    network = binary_network(
        {
            "A": ([], lambda: 0.5),
            "B": (["A"], lambda a: 0.9 - 0.8 * a),
            "Y": (["B"], lambda b: 0.05 + 0.9 * b),
        }
    )
    return network, CausalBandit(network, reward="Y", arms=[do(A=1), do(A=0)])


@pytest.mark.parametrize(
    "options", [{"guarantee": "asymptotic"}, {"guarantee": "numerical", "model": BGLM("logit")}, {}]
)
def test_nothing_is_certified_before_anything_is_known(options):
    """With equal tables an effect through B has no first-order variance at all: it is a product of two unknown ones."""
    network, bandit = chain()
    policy = PooledCCPE(bandit, epsilon=0.1, **options)
    assert (policy.stopped, policy.certificate, policy.n_plays) == (False, None, 0)
    assert set(policy.stops.values()) == {None}
    result = policy.run(SimulatedEnvironment(network, seed=0), progress=False)
    assert result.recommendation == do(A=0)


def rare_treatment():
    """Eleven coins and a rare X cause Y, but only X matters: of the table of Y most rows stay empty."""
    coins = {f"Z{i}": ([], lambda: 0.5) for i in range(11)}
    network = binary_network(
        {**coins, "X": ([], lambda: 0.01), "Y": ([*coins, "X"], lambda *of: 0.95 if of[-1] else 0.8)}
    )
    return network, CausalBandit(network, reward="Y", arms=[do(X=0), do(X=1)])


def test_rows_that_were_never_seen_do_not_make_an_estimate_sure():
    network, bandit = rare_treatment()
    for seed in range(3):
        environment = SimulatedEnvironment(network, seed=seed)
        policy = PooledCCPE(bandit, guarantee="asymptotic", epsilon=0.0, seed=seed)
        policy.tell(do(), environment.sample(do(), 2000))
        assert policy.recommendation == do(X=1) or not policy.stopped
        assert policy.run(environment, budget=2000, progress=False).recommendation == do(X=1)
        assert policy.conflicts == ()


def test_an_action_that_is_not_listed_is_nobodys_direct_play():
    """By this graph do(W=1, X=1) has the effect of do(X=1): that is the graph's word, not a direct play."""
    graph = DAG([("X", "Y"), ("X", "W")])
    arms, playable = [do(X=1), do(X=0)], [do(X=1), do(X=0), do(W=1, X=1), do()]
    for merge in (True, False):
        bandit = CausalBandit(graph, reward="Y", arms=arms, playable=playable, merge_equal=merge)
        policy = PooledCCPE(bandit, guarantee="direct")
        policy.tell(do(W=1, X=1), [{"X": 1, "Y": 1}] * 300).tell(do(X=0), [{"X": 0, "Y": i % 2} for i in range(300)])
        assert policy.state.plays.tolist() == [0, 300]
        assert not policy.stopped


def confounded():
    """What the learner does not know causes both the drug and the recovery; its tree is biased for both arms."""
    network = binary_network(
        {
            "S": ([], lambda: 0.5),
            "D": (["S"], lambda s: 0.1 + 0.8 * s),
            "Y": (["D", "S"], lambda d, s: 0.8 - 0.5 * s + 0.1 * d),
        }
    )
    return network, CausalBandit(DAG([("D", "Y")]), reward="Y", arms=[do(D=0), do(D=1)])


@pytest.mark.filterwarnings("ignore:the graph is in doubt")
@pytest.mark.parametrize("guarantee", ["exact", "asymptotic"])
def test_a_contradicted_graph(guarantee):
    """Direct plays take over, and the answer is right."""
    network, bandit = confounded()
    policy = PooledCCPE(bandit, guarantee=guarantee, epsilon=0.02, delta=0.1)
    environment = SimulatedEnvironment(network, seed=1)
    for action in (do(), *bandit.arms):
        policy.tell(action, environment.sample(action, 400))
    result = policy.run(environment, progress=False, budget=20_000)
    assert len(result.conflicts) == 2
    assert "doubt" in result.summary
    assert (result.recommendation, result.certificate) == (do(D=1), "direct")


def test_a_contradicted_graph_had_merged_arms():
    """The pairs know no graph, but the classes of arms do: the stop then has no certificate."""
    conflicts = np.array([True, False])
    network, _ = chain()
    bandit = CausalBandit(network, reward="Y", arms=[do(B=1), do(A=1, B=1), do(B=0)])
    policy = PooledCCPE(bandit, epsilon=0.1)
    policy._knowledge.conflicts = conflicts
    for action in bandit.arms:
        policy.tell(action, SimulatedEnvironment(network, seed=0).sample(action, 200))
    assert policy.stopped
    assert policy.certificate is None
    assert policy.stop_reason.endswith("contradicts the graph, by which others were merged")


def taught(made, plays=300, seed=5):
    """Trees that were told plays of all arms and of do()."""
    rng = np.random.default_rng(seed)
    chosen = [
        do() if rng.random() < 0.4 else made.bandit.arms[rng.integers(len(made.bandit.arms))] for _ in range(plays)
    ]
    samples = made.bandit.encode(chosen, made.environment(seed).perform(chosen))
    return PooledTrees().start(made.bandit).update(samples)


def test_what_a_play_adds_is_the_sum_over_the_arms_one_by_one():
    """Arms that an action does not touch are added up by shape; here each action and arm by itself."""
    made = experiment_2(1)
    trees, weights = taught(made), np.random.default_rng(0).random(len(made.bandit.arms))
    leader = 3
    found, bandit = trees.variance_reduction(leader, weights), made.bandit
    one_by_one = np.zeros(len(bandit.playable))
    for i, weight in enumerate(weights):
        if i != leader:
            one_by_one += weight * trees.variance_reduction(leader, np.eye(len(weights))[i])
    np.testing.assert_allclose(found, one_by_one, rtol=1e-9)
    forest, walks = trees._forest, trees._walks()
    falls = variance_falls(forest, walks, np.zeros(len(forest.column)))
    cards = np.array([len(states) for states in bandit.coding.states])
    shares = (trees._passive + 0.5) / (trees._passive.sum(axis=1) + 0.5 * cards)[:, None]
    of_arm = np.where(trees._smoothed(None).tree, weights, 0.0)
    out, by_pairs = np.zeros(len(bandit.playable)), np.zeros(len(bandit.playable))
    progress(forest, falls, trees._playable(), shares, of_arm, out)
    forced, depths = bandit.forced_codes(bandit.playable), trees._depths(bandit.playable)
    for b in range(len(out)):
        for i in range(len(of_arm)):
            agree, checked = 1.0, 0
            treated = forest.treated[forest.treated_start[i] : forest.treated_start[i + 1]]
            for level in range(depths[b, forest.set_of[i]]):
                at = forest.level_start[i] + level
                for column, state in treated[checked : forest.before[at]]:
                    agree *= shares[column, state] if forced[b, column] < 0 else float(forced[b, column] == state)
                checked = forest.before[at]
                by_pairs[b] += of_arm[i] * agree * falls[at]
    np.testing.assert_allclose(out, by_pairs, rtol=1e-9)
    assert (out > 0).all()


@pytest.mark.parametrize("kind", [PooledTrees, TableModel])
def test_differences_of_some_arms_are_those_of_all(kind):
    made = experiment_2(1)
    trees = taught(made)
    model = (
        trees if kind is PooledTrees else TableModel().start(made.bandit.recording(TableModel().required(made.bandit)))
    )
    if kind is TableModel:
        rng = np.random.default_rng(5)
        chosen = [do() if rng.random() < 0.4 else made.bandit.arms[rng.integers(84)] for _ in range(300)]
        model.update(model.bandit_.encode(chosen, made.environment(5).perform(chosen)))
    arms = np.array([7, 2, 40])
    for epsilon in (None, 0.05):
        whole, some = model.differences(2, epsilon=epsilon), model.differences(2, epsilon=epsilon, arms=arms)
        for one, other in zip(whole, some, strict=True):
            np.testing.assert_allclose(one[arms], other, rtol=1e-12)


def test_contradictions_are_looked_for_where_plays_are_new_and_everywhere_now_and_then():
    """A graph without Z -> Y: passive plays and do(X) tell different rewards of X. Own plays come first here, and the
    passive ones make the contradiction: it is found once the plays have grown by a tenth."""
    network = binary_network(
        {
            "Z": ([], lambda: 0.5),
            "X": (["Z"], lambda z: 0.1 + 0.8 * z),
            "Y": (["X", "Z"], lambda x, z: 0.1 + 0.8 * z + 0.0 * x),
        }
    )
    wrong = DAG([("Z", "X"), ("X", "Y")])
    bandit = CausalBandit(wrong, reward="Y", arms=[do(X=0), do(X=1)], playable=[do(), do(X=0), do(X=1)])
    environment = SimulatedEnvironment(network, seed=0)
    trees = PooledTrees().start(bandit)
    for action, n in ((do(X=0), 400), (do(X=1), 400)):
        trees.update(bandit.encode(action, environment.sample(action, n)))
        assert not trees.contradictions(0.05).any()
    trees.update(bandit.encode(do(), environment.sample(do(), 40)))
    assert not trees.contradictions(0.05).any()
    trees.update(bandit.encode(do(), environment.sample(do(), 400)))
    assert trees.contradictions(0.05).all()
    fresh = PooledTrees().start(bandit)
    fresh.update(trees._rounds.samples())
    assert fresh.contradictions(0.05).all()


def test_smoothed_differences_are_those_of_the_estimates():
    """Variances are added, those of the arms' own plays where they say more."""
    made = experiment_2(1)
    trees = taught(made)
    for leader in (0, 3):
        gap, variance, off = trees.smoothed_differences(leader)
        assert gap == pytest.approx(trees.estimates()[leader] - trees.estimates(), abs=1e-15)
        own = trees._smoothed(None).variance
        others = np.arange(len(own)) != leader
        assert variance[others] == pytest.approx((own + own[leader])[others], rel=1e-12)
        assert variance[leader] == 0.0
        assert not off.any()
    nothing = PooledTrees().start(made.bandit)
    assert (np.delete(nothing.smoothed_differences(0).variance, 0) > 0.1).all()
    assert not nothing.differences(0).variance.any()
