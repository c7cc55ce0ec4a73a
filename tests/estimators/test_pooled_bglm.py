"""A BGLM from all plays: its fits, what it says of arms in pairs, and whether its link is refuted."""

import itertools
import math

import numpy as np
import pytest
from helpers import dag
from scipy.optimize import minimize
from scipy.special import betaln, expit
from sklearn.exceptions import NotFittedError

from pgcpe import BGLM, CausalBandit, SimulatedEnvironment, do, expected_rewards
from pgcpe.confidence.sequences import kt_regret
from pgcpe.estimators.pooled_bglm import PooledBGLM
from pgcpe.models.links import LINKS
from pgcpe.paper.instances import binary_network

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


def chain(**options):
    """X -> Y."""
    return CausalBandit(dag([("X", "Y")]), reward="Y", arms=[do(X=0), do(X=1)], **options).recording(["X"])


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
    value, variance, _ = model.plug_in()
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
    gaps, claimed, _ = (np.array(part) for part in zip(*found, strict=True))
    others = [0, 2, 3, 4, 5, 6]
    assert gaps.var(axis=0, ddof=1)[others] / claimed.mean(axis=0)[others] == pytest.approx(1.0, abs=0.28)
    assert (claimed[:, 1] == 0).all()
    # coefficients are shared: added up, the variances of the two arms would be far off
    own = model.plug_in().variance
    assert (claimed.mean(axis=0) / (own + own[1]))[others].min() < 0.72


@pytest.mark.parametrize("link", LINKS)
def test_evidence_after_zeros_grows_as_counts_allow(link):
    """X = 1 was never rewarded in n plays, X = 0 in a tenth of very many: that has the probability .9^n. At the fit
    alone, where X = 1 has a reward near 1 / n, the evidence is of the order of n^2."""
    bandit, evidence, at_fit = chain(), [], []
    plays = np.array([100, 200, 400, 800])
    for n in plays:
        rows = [(0, 0)] * 90_000 + [(0, 1)] * 10_000 + [(1, 0)] * int(n)
        model = told(PooledBGLM(BGLM(link), refresh=len(rows)).start(bandit), bandit, do(), rows)
        for out, epsilon in ((evidence, 0.0), (at_fit, None)):
            gap, variance, _ = model.differences(0, epsilon=epsilon)
            out.append(gap[1] ** 2 / (2 * variance[1]))
    truth_ = -plays * math.log(0.9)
    assert (0.3 * truth_ < evidence).all()
    assert (evidence < truth_).all()
    assert evidence[-1] / evidence[0] < 1.25 * plays[-1] / plays[0]  # of 100 plays those added show
    assert (at_fit > 3 * truth_).all()


@pytest.mark.parametrize("link", LINKS)
def test_in_the_bulk_the_variance_at_the_null_is_that_at_the_fit(link):
    """Of 28,000 plays: a step of two or three standard errors for arms as near as that, which moves the variance by as
    many hundredths at most; those further off may have more."""
    bandit = question(link)
    model = PooledBGLM(BGLM(link), refresh=28_000).start(bandit).update(played(link, 0, times=50, bandit=bandit))
    gap, at_fit, _ = model.differences(1)
    at_null = model.differences(1, epsilon=0.01).variance
    near = np.abs(gap + 0.01) < 3 * np.sqrt(at_fit)
    assert near.sum() > 0
    assert (at_fit <= at_null).all()
    assert at_null[near] == pytest.approx(at_fit[near], rel=0.03)
    assert at_null[1] == 0


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
    before, gains = weights @ model.differences(1)[1], model.variance_reduction(1, weights)
    found, _ = model._directions()
    layout, plays = model._tables.layout, 0.01 * len(samples)
    for action, reach, gain in zip(bandit.playable, found.reach[model._tables.playable], gains, strict=True):
        more = taught()
        more._tables.counts += plays * np.repeat(reach, layout.width) * model._p
        more._fit()
        assert gain == pytest.approx((before - weights @ more.differences(1)[1]) / plays, rel=0.05), action
    assert model.variance_reduction(1, np.eye(7)[1]) == pytest.approx(0.0, abs=1e-18)


# ------------------------------------------------------------------------------------------------------------- pieces


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
    np.testing.assert_array_equal(whole.differences(0), pieces.differences(0))


# ------------------------------------------------------------------------------------------------------ is it refuted


def log_likelihood(ones, n, p):
    return sum(a * math.log(q) + (m - a) * math.log1p(-q) for a, m, q in zip(ones, n, p, strict=True))


@pytest.mark.parametrize("link", LINKS)
def test_a_true_model_is_seldom_refuted(link):
    """Each study has at most alpha = .02 at all its plays together: that one of five refutes has at most .1, and the
    seeds are fixed."""
    bandit = question(link)
    for seed in range(5):
        samples = played(link, seed, bandit=bandit)
        model = PooledBGLM(BGLM(link)).start(bandit)
        for start in range(0, len(samples), 40):
            assert not model.update(samples.rows(slice(start, start + 40))).refuted(0.02)


@pytest.mark.parametrize("link", ["logit", "identity"])
def test_causes_that_do_not_add_up_refute_it(link):
    """Y is likely where A and B differ: 400 plays are worth 400 (log 2 - H(.1)) = 147 nats, less a few."""
    graph = {"A": ([], lambda: 0.5), "B": ([], lambda: 0.5), "Y": (["A", "B"], lambda a, b: 0.9 if a != b else 0.1)}
    network = binary_network(graph)
    bandit = CausalBandit(network, reward="Y", arms=[do(A=0), do(A=1), do(B=0), do(B=1)])
    bandit = bandit.recording(["A", "B"])
    model = PooledBGLM(BGLM(link)).start(bandit)
    assert not model.refuted(0.05)
    environment = SimulatedEnvironment(network, seed=0)
    model.update(bandit.encode(do(), environment.sample(do(), 5)))
    assert not model.refuted(0.05)
    model.update(bandit.encode(do(), environment.sample(do(), 395)))
    assert model.refuted(0.05)
    assert model.refuted(1e-40)
    assert not model.refuted(1e-80)


def test_it_is_refuted_just_where_the_mixture_is_so_much_above_the_best_fit():
    """Few plays, so that the ridge and the added plays of the fit would show: the ratio by hand."""
    bandit = CausalBandit(dag([("A", "Y"), ("B", "Y")]), reward="Y", arms=[do(A=0), do(A=1), do(B=0), do(B=1)])
    bandit = bandit.recording(["A", "B"])
    ones, n = np.array([1, 14, 18, 2]), np.array([16, 15, 19, 22])
    rows = [{"A": a, "B": b, "Y": int(k < ones[2 * a + b])} for a, b in np.ndindex(2, 2) for k in range(n[2 * a + b])]
    rows = [{v: int(x) for v, x in row.items()} for row in rows]
    model = PooledBGLM(BGLM()).start(bandit).update(bandit.encode(do(), rows))
    design = np.array([[1, 0, 0], [1, 0, 1], [1, 1, 0], [1, 1, 1]])

    def loss(theta):
        return -log_likelihood(ones, n, expit(design @ theta))

    ratio = minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-6}).fun
    ratio += (betaln(ones + 0.5, n - ones + 0.5) - betaln(0.5, 0.5)).sum()
    for root in (n[2:].sum(), n[[1, 3]].sum()):
        ratio -= kt_regret(float(root), float(n.sum()))
    assert ratio > math.log(20)
    assert model.refuted(math.exp(-ratio + 1e-5))
    assert not model.refuted(math.exp(-ratio - 1e-5))


def test_what_it_cannot_model_is_refused():
    names = [f"V{i}" for i in range(24)]
    bandit = CausalBandit(dag([*itertools.pairwise(names), (names[-1], "Y")]), reward="Y", arms=[do(V0=0), do(V0=1)])
    with pytest.raises(ValueError, match="too many configurations to compare arms by this model"):
        PooledBGLM(BGLM()).start(bandit.recording(names))
    with pytest.raises(ValueError, match="X has"):
        PooledBGLM(BGLM()).required(chain(states={"X": [0, 1, 2]}))
    for ask in (lambda m: m.estimates(), lambda m: m.differences(0)):
        with pytest.raises(NotFittedError, match="start"):
            ask(PooledBGLM(BGLM()))
