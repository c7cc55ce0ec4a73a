"""Bets on equations by exact enumeration, gradients beside differences, what is bet beside a numeric influence."""

import copy
import itertools
import math

import numpy as np
import pytest
from helpers import dag

from pgcpe import BGLM, CausalBandit, SimulatedEnvironment, do
from pgcpe.estimators.pooled_bglm import PooledBGLM
from pgcpe.estimators.tilted_equations import TiltedEquations
from pgcpe.models import tilted_equations
from pgcpe.models.glm import fit_rows
from pgcpe.models.links import LINKS
from pgcpe.paper.instances import binary_network

ARMS = [do(), do(X=0), do(X=1)]
P_X, P_Y = 0.35, (0.3, 0.6)


def small(link, values=None):
    """X -> Y, with two coefficients for Y; their truth beside."""
    bandit = CausalBandit(dag([("X", "Y")]), reward="Y", arms=ARMS, reward_values=values).recording(["X"])
    model = PooledBGLM(BGLM(link)).start(bandit)
    at = LINKS[link].predictor
    return model, np.array([at(P_X), at(P_Y[0]), at(P_Y[1]) - at(P_Y[0])], dtype=float)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(("arm", "values"), [(0, None), (2, {0: 0.8, 1: 0.3})])
def test_the_evidence_against_the_truth_has_mean_one(link, arm, values):
    """All outcomes of four plays that are chosen by the last one; epochs with different leaders, the first the arm."""
    start, truth = small(link, values)
    n, leaders = 4, {1: arm, 2: 1, 3: 2 - arm}
    told = {
        (k, x, y): start.bandit_.encode([ARMS[k]], [{"X": x, "Y": y}])
        for k, x, y in itertools.product(range(3), (0, 1), (0, 1))
        if k == 0 or x == k - 1
    }
    reached = np.zeros(2)

    def evidence(bets):
        return math.exp(bets.of(arm).log_evidence(truth)[0]) if bets.epochs else 1.0

    def mean_after(bets, plays, last, weight, highest):
        if plays in leaders:
            bets.begin(leaders[plays], plays)
        now = evidence(bets)
        highest = max(highest, now)
        if plays == n:
            reached[:] += weight * np.array([highest >= 2.0, highest >= 5.0])
            return now
        action = 0 if last == 1 else 1 + plays % 2
        expected = total = 0.0
        for (k, x, y), sample in told.items():
            if k == action:
                p = (1.0 if k else (P_X if x else 1 - P_X)) * (P_Y[x] if y else 1 - P_Y[x])
                after = copy.deepcopy(bets)
                after.model.update(sample)
                expected += p * evidence(after)
                total += p * mean_after(after, plays + 1, y, weight * p, highest)
        assert expected == pytest.approx(now, rel=1e-9)
        return total

    assert mean_after(TiltedEquations(start, 0.0), 0, 0, 1.0, 0.0) == pytest.approx(1.0, abs=1e-9)
    assert reached[0] <= 0.5
    assert reached[1] <= 0.2


def large(link, n=400, seed=0):
    """A -> B -> Y <- A, C, told of plays of all kinds; the bets, and the leader of now."""
    f = LINKS[link].probability
    base, step = (0.25, 0.2) if link == "identity" else (float(LINKS[link].predictor(0.25)), 0.5)
    network = binary_network(
        {
            "A": ([], lambda: 0.4),
            "C": ([], lambda: 0.55),
            "B": (["A"], lambda a: float(f(base + step * a))),
            "Y": (["A", "B", "C"], lambda a, b, c: float(f(base + step * (a + b + c)))),
        }
    )
    bandit = CausalBandit(network, reward="Y", arms=[do(A=0), do(A=1), do(B=1), do(A=1, C=0), do(C=1)])
    model = PooledBGLM(BGLM(link))
    bandit = bandit.recording(model.required(bandit))
    bets, rng, world = TiltedEquations(model.start(bandit), 0.0), np.random.default_rng(seed), None
    world, plays = SimulatedEnvironment(network, seed=seed), 0
    while plays < n:
        until = min(bets.due, n)
        actions = [bandit.playable[i] for i in rng.integers(len(bandit.playable), size=until - plays)]
        model.update(bandit.encode(actions, world.perform(actions)))
        plays = until
        bets.follow(int(model.estimates().argmax()), plays)
    return bets, int(model.estimates().argmax())


@pytest.mark.parametrize("link", LINKS)
def test_gradients(link):
    bets, leader = large(link)
    null = bets.null(leader, (leader + 1) % 5)
    rng, step = np.random.default_rng(1), 1e-5
    for _ in range(3):
        point = 0.5 * rng.normal(size=null.n)
        assert null.point(null.parameters(point)) == pytest.approx(point, abs=1e-9)
        for function in (null.evidence, null.room):
            numeric = [
                (function(point + step * e)[0] - function(point - step * e)[0]) / (2 * step) for e in np.eye(null.n)
            ]
            assert function(point)[1] == pytest.approx(numeric, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("link", LINKS)
def test_what_is_bet_is_in_proportion_to_the_influence_of_an_outcome(link, monkeypatch):
    """A fit to the plays of each row in proportion, with a little more of an outcome in one of them: by how much more
    the difference of the arms moves with a 1 than with a 0 there."""
    bets, _ = large(link, 150)
    bets.epochs = bets.epochs[-1:]
    epoch, arm = bets.epochs[0], (bets.epochs[0].leader + 1) % 5
    theta, equations = epoch.estimate, bets._equations
    known = []
    evidence = tilted_equations.log_evidence
    monkeypatch.setattr(tilted_equations, "log_evidence", lambda *given: known.append(given[2]) or evidence(*given))
    against = bets.of(arm)
    against.log_evidence(theta)
    bet = known[0][0, equations.one]
    p = equations.at(equations.design @ theta, 1e-12).mean
    share, node, step = epoch.share, equations.node_of_row, 1e-4

    def difference(ones, zeros):
        fits = [
            fit_rows(bets.model._link, design, ones[node == i], zeros[node == i])
            for i, design in enumerate(bets.model._designs)
        ]
        return against.difference(np.concatenate(fits), epoch.leader, arm)[0]

    influence = []
    for row in np.eye(len(p)):
        up, down = (difference(share * p + step * a * row, share * (1 - p) + step * (1 - a) * row) for a in (1, 0))
        influence.append((up - down) / step)
    # the ridge of the information, .05 of 150 plays, is not in the fit
    assert bet == pytest.approx(epoch.stake[arm] * np.array(influence), rel=0.03, abs=0.01 * np.abs(bet).max())


def test_it_does_bet():
    """The evidence against a bad arm's being better grows, that against the truth does not."""
    bets, leader = large("identity", 1_500)
    worst = 0  # do(A=0)
    found, theta = bets.null(leader, worst).least(-math.inf)
    assert found > 10.0
    assert bets.of(worst).difference(theta, worst, leader)[0] >= -1e-4
    truth = {"A": [0.4], "C": [0.55], "B": [0.25, 0.2], "Y": [0.25, 0.2, 0.2, 0.2]}
    of_nodes = np.concatenate([truth[v] for v in bets.model.table_counts.nodes])
    assert bets.of(worst).log_evidence(of_nodes)[0] < 3.0


def test_predictions_are_those_of_the_fits_at_the_start_of_epochs():
    """By hand: of each node the sum over the epochs of the log-likelihood of what came, at the fit before."""
    bets, leader = large("logit", 100)
    found = bets._bets((leader + 1) % 5)
    counts = [*(epoch.counts for epoch in bets.epochs), bets._counts()[0]]
    total = np.zeros(4)
    for epoch, after in zip(bets.epochs, counts[1:], strict=True):
        new = after - epoch.counts
        p = 1.0 / (1.0 + np.exp(-bets._equations.design @ epoch.estimate))
        before = epoch.counts[bets._equations.one] + epoch.counts[bets._equations.zero]
        p = np.clip(p, 1.0 / (before + 4.0), 1.0 - 1.0 / (before + 4.0))
        by_row = new[bets._equations.one] * np.log(p) + new[bets._equations.zero] * np.log1p(-p)
        total += np.bincount(bets._equations.node_of_row, by_row)
    bet_on = found.begun == 0
    assert bet_on.any()
    assert found.predicted[bet_on] == pytest.approx(total[bet_on])
