"""Fits of single nodes: the equations they solve, statsmodels, and data on which no fit exists."""

import itertools
import warnings

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.genmod.families import links

from pgcpe.models.glm import METHODS, WeightedRows, coefficient_variance, fit_rows, independent_columns, score
from pgcpe.models.links import LINKS

STATSMODELS = {"identity": links.Identity, "logit": links.Logit, "probit": links.Probit, "cloglog": links.CLogLog}


def all_rows(n_parents):
    values = np.array(list(itertools.product((0, 1), repeat=n_parents)), dtype=float).reshape(2**n_parents, n_parents)
    return np.column_stack([np.ones(len(values)), values])


def random_data(rng, link, n_parents, most):
    """Rows with probabilities well inside (0, 1)."""
    design = all_rows(n_parents)
    n = rng.integers(20, most, len(design)).astype(float)
    if link.name == "identity":
        theta = np.array([0.2, *(0.6 / max(n_parents, 1) * rng.uniform(0.3, 1, n_parents))])
    else:
        theta = rng.normal(0, 0.5, n_parents + 1)
    ones = rng.binomial(n.astype(int), link.probability(design @ theta)).astype(float)
    return design, ones, n - ones, theta


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", LINKS)
def test_the_equation_is_solved(name, method):
    link, rng = LINKS[name], np.random.default_rng(0)
    for _ in range(60):
        design, ones, zeros, _ = random_data(rng, link, int(rng.integers(0, 5)), int(rng.choice([40, 2_000, 100_000])))
        theta = fit_rows(link, design, ones, zeros, method)
        p = design @ theta
        if name == "identity" and method == "mle" and not (p.min() > 1e-3 and p.max() < 1 - 1e-3):
            continue  # the maximum lies on the boundary; see below
        assert np.abs(score(link, design, ones, zeros, theta, method)).max() < 1e-6


@pytest.mark.parametrize("name", LINKS)
def test_maximum_likelihood_is_that_of_statsmodels(name):
    link, rng = LINKS[name], np.random.default_rng(1)
    for _ in range(20):
        design, ones, zeros, truth = random_data(rng, link, int(rng.integers(1, 4)), 3_000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the identity link, which statsmodels calls unsafe
            family = sm.families.Binomial(link=STATSMODELS[name]())
            peer = sm.GLM(np.column_stack([ones, zeros]), design, family=family).fit(start_params=truth, tol=1e-13)
        theta = fit_rows(link, design, ones, zeros)
        assert theta == pytest.approx(peer.params, abs=1e-6)
        information = peer.cov_params()
        for direction in np.eye(len(theta)):
            ours = coefficient_variance(link, design, ones, zeros, theta, direction)
            assert ours == pytest.approx(direction @ information @ direction, rel=1e-4)


def test_the_two_methods_agree_on_the_canonical_link_alone():
    rng = np.random.default_rng(2)
    for name, link in LINKS.items():
        design, ones, zeros, _ = random_data(rng, link, 3, 200)
        first, second = (fit_rows(link, design, ones, zeros, method) for method in METHODS)
        assert (np.abs(first - second).max() < 1e-9) == (name == "logit")


def test_least_squares():
    rng = np.random.default_rng(3)
    design, ones, zeros, _ = random_data(rng, LINKS["identity"], 3, 50)
    rows = np.repeat(np.arange(len(design)), (ones + zeros).astype(int))
    outcome = np.concatenate([np.r_[np.ones(int(a)), np.zeros(int(b))] for a, b in zip(ones, zeros, strict=True)])
    expected = np.linalg.lstsq(design[rows], outcome, rcond=None)[0]
    assert fit_rows(LINKS["identity"], design, ones, zeros, "estimating_equation") == pytest.approx(expected, abs=1e-12)


def test_the_linear_likelihood_is_maximised_inside_the_unit_interval():
    """Where least squares leaves [0, 1] on a row seen, against a fine grid."""
    link, design = LINKS["identity"], all_rows(1)
    ones, zeros = np.array([0.0, 9.0]), np.array([30.0, 1.0])
    assert fit_rows(link, design, ones, zeros) == pytest.approx([0.0, 0.9], abs=1e-6)
    design = np.array([[1.0, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1]])
    ones, zeros = np.array([0.0, 3, 4, 30]), np.array([20.0, 17, 16, 2])
    theta = fit_rows(link, design, ones, zeros)
    grid = np.array(
        list(itertools.product(np.linspace(1e-6, 0.2, 41), np.linspace(0, 0.8, 81), np.linspace(0, 0.8, 81)))
    )
    p = grid @ design.T
    inside = (p > 0).all(axis=1) & (p < 1).all(axis=1)
    best = (ones * np.log(p[inside]) + zeros * np.log1p(-p[inside])).sum(axis=1).max()
    q = np.clip(design @ theta, 1e-12, 1 - 1e-12)
    assert (ones * np.log(q) + zeros * np.log1p(-q)).sum() >= best - 1e-6


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", LINKS)
def test_data_without_a_fit_have_a_defined_one(name, method):
    link, design = LINKS[name], all_rows(2)
    n = np.array([30.0, 10, 20, 15])
    for ones in (n, 0 * n, n * [0, 0, 1, 1]):  # one class, the other, separated by the first parent
        theta = fit_rows(link, design, ones, n - ones, method)
        assert np.isfinite(theta).all()
        assert link.probability(design @ theta) == pytest.approx(ones / n, abs=1e-6)
    assert fit_rows(link, design, 0 * n, 0 * n, method).tolist() == [0, 0, 0]
    assert fit_rows(link, np.empty((0, 3)), np.empty(0), np.empty(0), method).tolist() == [0, 0, 0]


@pytest.mark.parametrize("name", LINKS)
def test_parents_that_never_varied_or_repeat_others_have_coefficient_0(name):
    link, design = LINKS[name], all_rows(2)
    ones, zeros = np.array([3.0, 0, 4, 0]), np.array([7.0, 0, 4, 0])  # the second parent was always 0
    theta = fit_rows(link, design, ones, zeros)
    assert theta[2] == 0
    assert link.probability(design @ theta)[[0, 2]] == pytest.approx([0.3, 0.5], abs=1e-8)
    assert coefficient_variance(link, design, ones, zeros, theta, np.array([1.0, 0, 1])) == np.inf
    assert np.isfinite(coefficient_variance(link, design, ones, zeros, theta, np.array([1.0, 1, 0])))
    twins = design[[0, 3]]
    theta = fit_rows(link, twins, ones[[0, 2]], zeros[[0, 2]])
    assert theta[2] == 0
    assert np.isfinite(coefficient_variance(link, twins, ones[[0, 2]], zeros[[0, 2]], theta, np.array([1.0, 1, 1])))
    assert independent_columns(twins).tolist() == [True, True, False]


def test_no_constant_no_parents():
    """A node without columns has probability f(0) whatever the data."""
    assert len(fit_rows(LINKS["logit"], np.empty((1, 0)), np.array([3.0]), np.array([1.0]))) == 0


def test_without_a_constant_the_row_of_zeros_says_nothing():
    design = np.array([[0.0], [1.0]])
    theta = fit_rows(LINKS["identity"], design, np.array([0.0, 6.0]), np.array([10.0, 4.0]))
    assert theta == pytest.approx([0.6], abs=1e-8)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", LINKS)
def test_the_variance_is_that_of_repeated_fits(name, method):
    """600 fits: the ratio of variances has a standard error near sqrt(2 / 600) = .058; four of them are .23."""
    link, rng = LINKS[name], np.random.default_rng(4)
    design, _, _, theta = random_data(rng, link, 2, 400)
    n = np.array([400, 100, 150, 300])
    direction = np.array([1.0, 0.5, -0.7])
    fits = []
    for _ in range(600):
        ones = rng.binomial(n, link.probability(design @ theta)).astype(float)
        fits.append(fit_rows(link, design, ones, n - ones, method) @ direction)
    expected = link.probability(design @ theta) * n
    variance = coefficient_variance(link, design, expected, n - expected, theta, direction, method)
    assert np.var(fits) / variance == pytest.approx(1, abs=0.23)


def test_weighted_rows_count():
    rng = np.random.default_rng(5)
    values, node = rng.random((500, 3)) < 0.4, rng.random(500) < 0.6
    whole, parts = WeightedRows(3), WeightedRows(3)
    whole.add(values, node)
    for start in range(0, 500, 7):
        parts.add(values[start : start + 7], node[start : start + 7])
    for rows in (whole, parts):
        assert len(rows.values) <= 8
        for value, ones, zeros in zip(rows.values, rows.ones, rows.zeros, strict=True):
            here = (values == value).all(axis=1)
            assert (ones, zeros) == ((here & node).sum(), (here & ~node).sum())
        assert rows.ones.sum() + rows.zeros.sum() == 500
    wide = WeightedRows(62)
    wide.add(np.ones((2, 62), dtype=bool), np.array([True, False]))
    assert wide.values.tolist() == [[1] * 62]
    with pytest.raises(ValueError, match="at most 62 parents, but one has 63"):
        WeightedRows(63)
