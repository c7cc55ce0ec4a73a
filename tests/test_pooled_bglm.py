"""A BGLM from all plays: its fits, what it says of arms in pairs, and its region."""

import itertools
import math

import numpy as np
import pytest
from helpers import dag
from scipy.optimize import brentq

from pgcpe import BGLM, CausalBandit, SimulatedEnvironment, do, expected_rewards
from pgcpe.estimators import pooled_bglm
from pgcpe.estimators.base import snapshot_share
from pgcpe.estimators.pooled_bglm import PooledBGLM, _Region
from pgcpe.links import LINKS
from pgcpe.paper.instance import binary_network

ARMS = [do(A=0), do(A=1), do(B=0), do(B=1), do(A=1, C=0), do(C=1), do()]
PLAYED = {do(): 300, do(A=1): 70, do(B=0): 80, do(C=1): 50, do(A=0, B=1): 60}


def truth(link):
    """A -> B -> Y, A -> Y, C -> Y by equations of the link, with probabilities between .25 and .85."""
    f = LINKS[link].probability
    base, step = (0.25, 0.2) if link == "identity" else (float(LINKS[link].predictor(0.25)), 0.5)
    return binary_network(
        {
            "A": ([], lambda: 0.4),
            "C": ([], lambda: 0.55),
            "B": (["A"], lambda a: float(f(base + step * a))),
            "Y": (["A", "B", "C"], lambda a, b, c: float(f(base + step * (a + b + c)))),
        }
    )


def question(link, **options):
    bandit = CausalBandit(truth(link), reward="Y", arms=ARMS, **options)
    return bandit.recording(PooledBGLM(BGLM(link)).required(bandit))


def played(link, seed, times=1, bandit=None):
    """Plays of all kinds, in an order that mixes them."""
    bandit = bandit or question(link)
    actions = [a for a, n in PLAYED.items() for _ in range(n * times)]
    actions = [actions[i] for i in np.random.default_rng(seed).permutation(len(actions))]
    return bandit.encode(actions, SimulatedEnvironment(truth(link), seed=seed).perform(actions))


def chain(states=2, arms=(do(X=0), do(X=1)), **options):
    """X -> Y."""
    return CausalBandit(dag([("X", "Y")]), reward="Y", arms=arms, **options).recording(["X"])


def told(model, bandit, actions, rows):
    return model.update(bandit.encode(actions, [dict(zip(("X", "Y"), row, strict=True)) for row in rows]))


# --------------------------------------------------------------------------------------------------------------- fits


@pytest.mark.parametrize("link", LINKS)
def test_of_many_plays_it_is_the_fit_of_the_stand_alone_model(link):
    """The ridge and the added play move a coefficient by its variance times a score of order one: of 28,000 plays, by
    a few hundredths of its standard error."""
    bandit = question(link)
    samples = played(link, 0, times=50, bandit=bandit)
    model = PooledBGLM(BGLM(link), refresh=len(samples)).start(bandit).update(samples)
    alone = BGLM(link).fit(bandit.graph, samples)
    table = alone.expected_rewards(bandit.arms, "Y")
    value, variance = model.estimates()
    assert np.abs(value - table["value"].to_numpy()).max() < 0.1 * table["se"].min()
    assert np.sqrt(variance) == pytest.approx(table["se"].to_numpy(), rel=0.01)
    fitted = np.concatenate([alone.coef_[alone.coef_.node == v].theta for v in model._tables.nodes])
    assert np.concatenate(model.theta_) == pytest.approx(fitted, abs=0.01)
    truth_ = expected_rewards(truth(link), bandit, progress=False).to_numpy()
    assert (np.abs(value - truth_) < 4 * np.sqrt(variance)).all()


@pytest.mark.parametrize("link", ["identity", "logit"])
def test_variances_of_differences_are_those_of_repeated_studies(link):
    """Of 400 data sets an empirical variance has a relative standard error of sqrt(2 / 399) = .071; four are .28."""
    bandit = question(link)
    model = PooledBGLM(BGLM(link), refresh=560)
    found = [model.start(bandit).update(played(link, seed, bandit=bandit)).differences(1) for seed in range(400)]
    gaps, claimed = (np.array(part) for part in zip(*found, strict=True))
    others = [0, 2, 3, 4, 5, 6]
    assert gaps.var(axis=0, ddof=1)[others] / claimed.mean(axis=0)[others] == pytest.approx(1.0, abs=0.28)
    assert (claimed[:, 1] == 0).all()
    # coefficients are shared: added up, the variances of the two arms would be far off
    own = model.estimates()[1]
    assert (claimed.mean(axis=0) / (own + own[1])).min() < 0.5 * 0.72


@pytest.mark.parametrize("link", ["identity", "logit", "cloglog"])
def test_a_gain_is_the_fall_of_the_variances(link):
    """One play in a hundred more of an action, in the proportions that the fit expects, by a new fit; the fall is
    convex in the plays, by at most a few hundredths there."""
    bandit = question(link, playable=[do(), do(A=1), do(B=0), do(A=1, B=1), do(A=0, B=0, C=0)])
    samples = played(link, 3, times=4, bandit=bandit)
    weights = np.array([1.0, 0.0, 0.5, 2.0, 0.0, 1.0, 0.0])

    def taught():
        return PooledBGLM(BGLM(link), refresh=len(samples)).start(bandit).update(samples)

    model = taught()
    before, gains = weights @ model.differences(1)[1], model.gain(1, weights)
    found, _ = model._directions()
    layout, plays = model._tables.layout, 0.01 * len(samples)
    for action, reach, gain in zip(bandit.playable, found.reach[model._tables.playable], gains, strict=True):
        more = taught()
        more._tables.counts += plays * np.repeat(reach, layout.width) * model._p
        more._fit()
        assert gain == pytest.approx((before - weights @ more.differences(1)[1]) / plays, rel=0.05), action
    assert model.gain(1, np.eye(7)[1]) == pytest.approx(0.0, abs=1e-18)


# ------------------------------------------------------------------------------------------------------- bets, pieces


@pytest.mark.parametrize("refresh", [None, 50])
def test_what_is_known_does_not_depend_on_how_it_was_told(refresh):
    bandit = question("logit")
    samples = played("logit", 1, bandit=bandit)
    whole = PooledBGLM(BGLM(), refresh).start(bandit).update(samples)
    pieces = PooledBGLM(BGLM(), refresh).start(bandit)
    for start, end in itertools.pairwise([0, 1, 7, 63, 66, 100, 101, 256, 300, len(samples)]):
        pieces.update(samples.rows(slice(start, end)))
    for one, other in zip(whole.theta_, pieces.theta_, strict=True):
        np.testing.assert_array_equal(one, other)
    assert whole._bet == pytest.approx(pieces._bet, abs=1e-9)
    assert [j for j, *_ in whole._snapshots] == [j for j, *_ in pieces._snapshots] == [0, 1, 2]
    for (_, counts, bet), (_, other_counts, other_bet) in zip(whole._snapshots, pieces._snapshots, strict=True):
        np.testing.assert_array_equal(counts, other_counts)
        assert bet == pytest.approx(other_bet, abs=1e-9)
    np.testing.assert_array_equal(whole.differences(0), pieces.differences(0))
    assert whole.evidence(0, 0.05, 0.1)[1] == pytest.approx(pieces.evidence(0, 0.05, 0.1)[1], abs=1e-9)


@pytest.mark.parametrize(("link", "refresh"), [("logit", 1), ("logit", 2), ("identity", 1), ("cloglog", 3)])
def test_the_martingale_has_mean_one_under_adaptive_plays(link, refresh):
    """All paths of four plays that are chosen by what was seen; the bet over the likelihood at the truth."""
    bandit = chain()
    p_x, p_y = 0.35, (0.2, 0.6)
    total = mean = 0.0

    def go(plays, rows, weight):
        nonlocal total, mean
        if len(plays) == 4:
            model = told(PooledBGLM(BGLM(link), refresh).start(bandit), bandit, plays, rows)
            total += weight
            mean += weight * math.exp(model._bet) / weight  # the weight of a path is its likelihood
            return
        action = do() if not plays or rows[-1][0] == rows[-1][1] else do(X=1) if rows[-1][0] else do(X=0)
        for x, y in itertools.product((0, 1), repeat=2):
            if action and action["X"] != x:
                continue
            likelihood = 1.0 if action else (p_x if x else 1 - p_x)
            go([*plays, action], [*rows, (x, y)], weight * likelihood * (p_y[x] if y else 1 - p_y[x]))

    go([], [], 1.0)
    assert total == pytest.approx(1.0, abs=1e-12)
    assert mean == pytest.approx(1.0, abs=1e-10)


def test_bets_are_made_before_a_play_is_seen():
    """By hand: at the start 1/2 each; after one play of Y = 1 at X = 1 the next is bet on by the fit to it."""
    bandit = chain()
    model = told(PooledBGLM(BGLM(), 1).start(bandit), bandit, [do(X=1)], [(1, 1)])
    assert model._bet == pytest.approx(math.log(0.5), abs=1e-12)
    p = 1 / (1 + math.exp(-model.theta_[1].sum()))
    assert 0.5 < p < 0.9
    told(model, bandit, [do(X=1)], [(1, 1)])
    assert model._bet == pytest.approx(math.log(0.5) + math.log(min(p, 0.8)), abs=1e-12)  # not above 1 - 1 / (1 + 4)
