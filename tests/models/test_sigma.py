"""sigma(theta, a) by its three ways, against enumeration of the joint distribution; Lemma 1 of the paper."""

import itertools

import numpy as np
import pytest

from pgcpe.models import contraction as module
from pgcpe.models.links import LINKS
from pgcpe.models.sigma import Regressions, Sigma


def random_model(rng, n, most_parents, link, *, inside=True, constants=0.85):
    """Random regressions and coefficients; with the identity link all probabilities inside [0, 1], if wanted."""
    parents = []
    for i in range(n):
        k = min(i, int(rng.integers(0, most_parents + 1)))
        parents.append(tuple(sorted(rng.choice(i, k, replace=False).tolist()) if k else ()))
    constant = tuple(bool(rng.random() < constants) for _ in range(n))
    regressions = Regressions(tuple(f"V{i}" for i in range(n)), tuple(parents), constant)
    return regressions, [random_theta(rng, regressions.columns(i), link, inside) for i in range(n)]


def random_theta(rng, columns, link, inside=True):
    if link.name != "identity":
        return rng.normal(0, 0.9, columns)
    theta = rng.dirichlet(np.ones(columns + 1))[:columns]
    return theta if inside else rng.normal(0.2, 0.6, columns)


def random_actions(rng, n, actions):
    """The first is do(); the last node, the outcome, stays free."""
    forced = np.full((actions, n), -1)
    for row in forced[1:]:
        chosen = rng.choice(n - 1, min(int(rng.integers(1, 4)), n - 1), replace=False)
        row[chosen] = rng.integers(0, 2, len(chosen))
    return forced


def probabilities(regressions, link, theta, values):
    """P(node = 1) for each node, given an array of values of all nodes: plays x nodes."""
    return np.column_stack(
        [
            link.probability(regressions.design(i, values[:, list(regressions.parents[i])]) @ theta[i])
            for i in range(len(regressions.nodes))
        ]
    )


def by_enumeration(regressions, link, theta, forced, outcome):
    values = np.array(list(itertools.product((0, 1), repeat=len(regressions.nodes))))
    one = probabilities(regressions, link, theta, values)
    chance = np.where(values == 1, one, 1 - one)
    answers = []
    for row in forced:
        weight = np.where(row < 0, chance, values == row).prod(axis=1)
        answers.append(weight @ values[:, outcome])
    return np.array(answers)


@pytest.mark.parametrize("inside", [True, False], ids=["", "cut off"])
@pytest.mark.parametrize("name", LINKS)
def test_exact_on_graphs_up_to_twelve_nodes(name, inside):
    link, rng = LINKS[name], np.random.default_rng(0)
    for n in (1, 2, 3, 5, 8, 12):
        regressions, theta = random_model(rng, n, 4, link, inside=inside)
        forced = random_actions(rng, n, 5) if n > 1 else np.full((1, 1), -1)
        outcome = n - 1
        sigma = Sigma(regressions, link, outcome, forced)
        value, error = sigma.with_errors(theta)
        assert value == pytest.approx(by_enumeration(regressions, link, theta, forced, outcome), abs=1e-9)
        assert not error.any()
        assert sigma(theta).tolist() == value.tolist()


def test_an_outcome_inside_the_graph():
    link, rng = LINKS["logit"], np.random.default_rng(1)
    regressions, theta = random_model(rng, 7, 3, link)
    forced = np.full((3, 7), -1)
    forced[1, 0], forced[2, 6] = 1, 0  # the last is no cause of the outcome
    sigma = Sigma(regressions, link, 4, forced)
    assert sigma(theta) == pytest.approx(by_enumeration(regressions, link, theta, forced, 4), abs=1e-12)
    assert sigma(theta)[0] == pytest.approx(sigma(theta)[2], abs=1e-15)


def test_actions_in_parts_give_the_same(monkeypatch):
    link, rng = LINKS["probit"], np.random.default_rng(2)
    regressions, theta = random_model(rng, 8, 3, link)
    forced = random_actions(rng, 8, 11)
    whole = Sigma(regressions, link, 7, forced)(theta)
    monkeypatch.setattr(module, "LARGEST_ARRAY", 16)
    parts = Sigma(regressions, link, 7, forced)
    assert 0 < parts._contract._actions_at_once < 11
    assert parts(theta) == pytest.approx(whole, abs=1e-14)


@pytest.mark.parametrize("name", LINKS)
def test_the_gradient_is_that_of_small_steps(name):
    link, rng = LINKS[name], np.random.default_rng(3)
    regressions, theta = random_model(rng, 7, 3, link)
    sigma = Sigma(regressions, link, 6, random_actions(rng, 7, 4))
    gradient, h = sigma.gradient(theta), 1e-6
    moved = 0.0
    for i in range(7):
        for k in range(regressions.columns(i)):
            up, down = ([t.copy() for t in theta] for _ in range(2))
            up[i][k] += h
            down[i][k] -= h
            slope = (sigma(up) - sigma(down)) / (2 * h)
            assert gradient[i][:, k] == pytest.approx(slope, abs=1e-8)
            moved = max(moved, np.abs(slope).max())
    assert moved > 0.1


def test_the_gradient_does_not_stop_at_the_cut():
    """Y is 0 in all rows but one, by the cut; its slope counts there too, the same whether contracted or simulated."""
    regressions = Regressions(("X", "Y"), ((), (0,)), (True, True))
    sigma = Sigma(regressions, LINKS["identity"], 1, np.array([[-1, -1]]), draws=100_000)
    theta = [np.array([0.3]), np.array([-0.1, 0.7])]
    gradient = sigma.gradient(theta)
    assert gradient[1][0] == pytest.approx([1.0, 0.3], abs=1e-12)
    # in simulation the score of Y where X = 0 is 1 / .001 with probability .001: variance 1,000
    assert np.abs(sigma._simulate(theta)[1][1][0] - [1.0, 0.3]).max() < 4 * np.sqrt(1_000 / 100_000)


def test_draws_are_checked():
    for draws, error in ((0, ValueError), (-5, ValueError), (1.5, TypeError), ("x", TypeError), (None, TypeError)):
        with pytest.raises(error, match="draws must be an integer of at least 1"):
            Sigma(Regressions(("Y",), ((),), (True,)), LINKS["logit"], 0, np.array([[-1]]), draws=draws)


# --------------------------------------------------------------------------------------------- simulation, thresholds


def wide(rng, n, link):
    """A graph of n nodes whose exact treatment needs a table over all causes of the outcome at once."""
    parents = [()] + [tuple(rng.choice(i, min(i, 3), replace=False).tolist()) for i in range(1, n - 1)]
    parents.append(tuple(range(n - 1)))
    regressions = Regressions(tuple(f"V{i}" for i in range(n)), tuple(parents), (True,) * n)
    return regressions, [random_theta(rng, regressions.columns(i), link) for i in range(n)]


def test_simulation_on_sixty_nodes_where_the_means_are_known():
    """Linear, so that the means follow by propagation. 20 dependent values: 4 standard errors for each."""
    link, rng = LINKS["identity"], np.random.default_rng(4)
    regressions, theta = wide(rng, 60, link)
    sigma = Sigma(regressions, link, 59, random_actions(rng, 60, 20))
    assert not sigma.exact
    exact, none = sigma.with_errors(theta)
    assert not none.any()
    theta[59] = theta[59].copy()
    theta[59][0] -= 2e-12 + theta[59][0]  # a hair below 0 at one configuration: no longer provably linear
    simulated, error = sigma.with_errors(theta)
    exact = sigma._means(theta)[59]
    assert (error > 0).all()
    assert np.abs(simulated - exact).max() < 4 * error.max()
    assert np.all(np.abs(simulated - exact) < 4 * error)


@pytest.mark.parametrize("name", ["logit", "probit", "cloglog"])
def test_simulation_on_sixty_nodes_where_the_contraction_is_exact(name):
    """A narrow graph of sixty nodes both ways, values and derivatives."""
    link, rng = LINKS[name], np.random.default_rng(5)
    parents = tuple(tuple(range(max(0, i - 2), i)) for i in range(60))
    regressions = Regressions(tuple(f"V{i}" for i in range(60)), parents, (True,) * 60)
    theta = [random_theta(rng, regressions.columns(i), link) for i in range(60)]
    forced = np.full((3, 60), -1)
    forced[1, 57], forced[2, [56, 58]] = 1, 0
    sigma = Sigma(regressions, link, 59, forced, draws=100_000)
    assert sigma.exact
    exact, gradient = sigma(theta), sigma.gradient(theta)
    p, derivative = sigma._simulate(theta)
    assert np.all(np.abs(p - exact) < 4 * np.sqrt(exact * (1 - exact) / 100_000))
    for i in (55, 58, 59):
        # a score has variance f'^2 / (p (1 - p)) < 1 for these links, and so has its product with the outcome
        assert np.abs(derivative[i] - gradient[i]).max() < 4 / np.sqrt(100_000)


def test_actions_and_coefficients_share_their_thresholds():
    """The difference of two equal actions is exactly 0, that of two near coefficients far below the noise."""
    link, rng = LINKS["logit"], np.random.default_rng(6)
    regressions, theta = wide(rng, 30, link)
    forced = np.full((2, 30), -1)
    sigma = Sigma(regressions, link, 29, forced)
    assert not sigma.exact
    value, error = sigma.with_errors(theta)
    assert value[0] == value[1]
    near = [t + 1e-4 for t in theta]
    assert abs(sigma(near) - value).max() < error.max() / 2


# ------------------------------------------------------------------------------------------------------------- Lemma 1


@pytest.mark.parametrize("name", LINKS)
def test_lemma_1(name):
    """|sigma(theta, a) - sigma(theta', a)| <= sum over N_{S,Y} of E |V_X (theta_X - theta'_X)| M1, V drawn at theta."""
    link, rng = LINKS[name], np.random.default_rng(7)
    values = np.array(list(itertools.product((0, 1), repeat=6)))
    tightest = np.inf
    for _ in range(150):
        regressions, theta = random_model(rng, 6, 3, link)
        apart = rng.choice([0.05, 0.3, 1.0])
        other = [(1 - apart) * t + apart * random_theta(rng, len(t), link) for t in theta]
        forced = random_actions(rng, 6, 4)
        sigma = Sigma(regressions, link, 5, forced)
        one = probabilities(regressions, link, theta, values)
        chance = np.where(values == 1, one, 1 - one)
        for row, difference in zip(forced, np.abs(sigma(theta) - sigma(other)), strict=True):
            reached = {5}
            for node in range(5, -1, -1):
                if node in reached and row[node] < 0:
                    reached.update(regressions.parents[node])
            weight = np.where(row < 0, chance, values == row).prod(axis=1)
            bound = 0.0
            for node in (v for v in reached if row[v] < 0):
                step = regressions.design(node, values[:, list(regressions.parents[node])])
                bound += weight @ np.abs(step @ (theta[node] - other[node])) * link.largest_slope
            assert difference <= bound + 1e-12
            if bound > 1e-9:
                tightest = min(tightest, bound / max(difference, 1e-300))
    assert tightest < 1.3  # the bound is nearly attained, so that the test would see a factor missing
