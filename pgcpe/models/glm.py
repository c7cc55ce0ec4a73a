"""Fits of one binary generalised linear model to weighted rows: arrays in, arrays out; no graph is known here.

A row is a distinct value v of the design with the numbers of ones and of zeros seen there, so that the cost of a fit
depends on the rows and not on how often they were seen.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression, LogisticRegression

from pgcpe._numba import njit
from pgcpe.models.links import Link, probability_of, slope_of

__all__ = [
    "METHODS",
    "WeightedRows",
    "coefficient_variance",
    "fisher_scoring",
    "fit_rows",
    "independent_columns",
    "influence",
    "mean_and_slope",
    "score",
]

Floats = NDArray[np.float64]

METHODS = ("mle", "estimating_equation")

SMALLEST_COUNT = 1e-9
"""Added to the ones and the zeros of every row that was seen: where the data alone put the maximum at infinity
(separable data, a node that never varied) it keeps it finite, elsewhere it moves nothing."""

MOST_STEPS = 200

LONGEST_STEP = 2.0
"""No coefficient moves further in one step: far from the solution the equation is not linear."""

DIVISIBLE = 1e-15
"""Where nothing else is said probabilities are kept this far off 0 and 1, by which variances are not 0."""

EPSILON = float(np.finfo(np.float64).eps)

MOST_PARENTS = 62
"""The values of a node's parents are kept as the bits of one integer."""


class WeightedRows:
    """The data of one node: the distinct values of its parents that were seen, with how often it was 1 and 0 there.

    Attributes
    ----------
    values
        Array of shape (rows, parents) of 0 and 1.
    ones, zeros
        Arrays over the rows.
    """

    def __init__(self, n_parents: int) -> None:
        if n_parents > MOST_PARENTS:
            raise ValueError(f"a node may have at most {MOST_PARENTS} parents, but one has {n_parents}")
        self._bits = np.arange(n_parents, dtype=np.int64)
        self._keys = np.empty(0, dtype=np.int64)
        self.ones: Floats = np.empty(0)
        self.zeros: Floats = np.empty(0)

    @property
    def values(self) -> NDArray[np.int64]:
        """The distinct values of the parents."""
        return (self._keys[:, None] >> self._bits) & 1

    def add(self, values: NDArray[np.bool_], node: NDArray[np.bool_]) -> None:
        """Count plays: the parents' values, of shape (plays, parents), and the node's own."""
        keys = np.concatenate([self._keys, (values.astype(np.int64) << self._bits).sum(axis=1)])
        ones, zeros = np.concatenate([self.ones, node]), np.concatenate([self.zeros, ~node])
        self._keys, row = np.unique(keys, return_inverse=True)
        self.ones = np.bincount(row, weights=ones, minlength=len(self._keys)).astype(np.float64)
        self.zeros = np.bincount(row, weights=zeros, minlength=len(self._keys)).astype(np.float64)


def fit_rows(link: Link, design: Floats, ones: Floats, zeros: Floats, method: str = "mle") -> Floats:
    """Return the coefficients of a node.

    Parameters
    ----------
    link
        The link f.
    design
        Array of shape (rows, columns): the distinct v.
    ones, zeros
        Arrays over the rows: how often the node was 1 and 0 there. Rows never seen count for nothing.
    method
        ``"mle"``: the maximum of the likelihood. ``"estimating_equation"``: the root of ``sum (x - f(v theta)) v``
        (Algorithm 2). They are the same for the logit link; for the identity the latter is least squares.

    Returns
    -------
    numpy.ndarray
        One coefficient a column. A column that depends linearly on those before it in all rows seen, such as that of a
        parent that never varied, has coefficient 0.

    Notes
    -----
    scikit-learn (identity, logit) or statsmodels (probit, cloglog) find the neighbourhood; their tolerances are
    relative to the number of observations, so Newton steps on the equation itself finish. For the identity link the
    likelihood is maximised where no row seen has a probability outside [0, 1], which no library does.
    """
    seen = (ones + zeros > 0) & design.any(axis=1)  # a row of zeros says nothing of theta
    design, ones, zeros = design[seen], ones[seen], zeros[seen]
    theta = np.zeros(design.shape[1])
    free = independent_columns(design)
    if free.any():
        some = design[:, free]
        exact = link.name == "identity" and method == "estimating_equation"
        nudge = 0.0 if exact else SMALLEST_COUNT
        start = _library_fit(link, some, ones + nudge, zeros + nudge, method)
        theta[free] = start if exact else _finished(link, some, ones + nudge, zeros + nudge, method, start)
    return theta


def _finished(link: Link, design: Floats, ones: Floats, zeros: Floats, method: str, start: Floats) -> Floats:
    """Return the solution near a start, to rounding."""
    design, floor = np.ascontiguousarray(design), np.full(len(design), DIVISIBLE)
    found, _ = fisher_scoring(design, ones, zeros, start, link.code, method == "mle", 0.0, floor, 4.0 * EPSILON)
    return np.asarray(found)


def score(link: Link, design: Floats, ones: Floats, zeros: Floats, theta: Floats, method: str = "mle") -> Floats:
    """Return the left-hand side of the equation that `fit_rows` solves; zero at a solution inside the space."""
    floor = np.full(len(design), DIVISIBLE)
    design, ones, zeros, theta = (np.ascontiguousarray(part, dtype=np.float64) for part in (design, ones, zeros, theta))
    return np.asarray(_equation(design, ones, zeros, theta, link.code, method == "mle", 0.0, floor)[1])


def coefficient_variance(
    link: Link, design: Floats, ones: Floats, zeros: Floats, theta: Floats, direction: Floats, method: str = "mle"
) -> float:
    """Return the large-sample variance of ``direction . theta``, infinite where the rows seen do not determine it.

    It is the sandwich ``A^-1 B A^-1`` of the equation, for the likelihood the inverse Fisher information.
    """
    seen = ones + zeros > 0
    design, n = design[seen], (ones + zeros)[seen]
    free = independent_columns(design)
    inside = design.T @ np.linalg.lstsq(design.T, direction, rcond=None)[0] if len(design) else np.zeros_like(direction)
    if np.abs(inside - direction).max(initial=0.0) > 1e-8 * max(np.abs(direction).max(initial=0.0), 1e-300):
        return float("inf")
    if not free.any():
        return 0.0
    some = design[:, free]
    p, slope = mean_and_slope(some @ theta[free], np.full(len(some), DIVISIBLE), link.code)
    weight = slope / (p * (1.0 - p)) if method == "mle" else np.ones_like(p)
    bread = (some.T * (n * weight * slope)) @ some
    meat = (some.T * (n * weight**2 * p * (1.0 - p))) @ some
    half = np.linalg.solve(bread, direction[free])
    return float(half @ meat @ half)


def influence(
    design: Floats, plays: Floats, mean: Floats, slope: Floats, gradient: Floats, ridge: float
) -> tuple[Floats, Floats]:
    """Return how a step of ``I^-1 c`` in the coefficients moves the probabilities of the rows, and ``c' I^-1 c``.

    I is the Fisher information and a ridge, c the derivative by the coefficients of something whose derivative by the
    probabilities is `gradient`.

    Parameters
    ----------
    design, plays
        The rows, and how often each was seen.
    mean, slope, gradient
        Arrays of shape (cases, rows): the probabilities, inside (0, 1), the slopes of the link there, and the gradient.
    ridge
        What is added to the information about each coefficient.
    """
    weight = plays * slope**2 / (mean * (1.0 - mean))
    information = (design.T * weight[:, None, :]) @ design + ridge * np.eye(design.shape[1])
    c = (gradient * slope) @ design
    step = np.linalg.solve(information, c[:, :, None])[:, :, 0]
    return (step @ design.T) * slope, (c * step).sum(axis=1)


def independent_columns(design: Floats) -> NDArray[np.bool_]:
    """Return which columns do not depend linearly on those before them."""
    free = np.zeros(design.shape[1], dtype=np.bool_)
    basis = np.empty((len(design), 0))
    for j, column in enumerate(design.T):
        rest = column - basis @ (basis.T @ column)
        rest -= basis @ (basis.T @ rest)
        size = float(np.linalg.norm(rest))
        if size > 1e-9 * max(float(np.linalg.norm(column)), 1.0):
            free[j], basis = True, np.column_stack([basis, rest / size])
    return free


def _library_fit(link: Link, design: Floats, ones: Floats, zeros: Floats, method: str) -> Floats:
    n = ones + zeros
    if link.name == "identity":
        fitted = LinearRegression(fit_intercept=False).fit(design, ones / n, sample_weight=n)
        return _inside(design, fitted.coef_) if method == "mle" else np.asarray(fitted.coef_, dtype=np.float64)
    if link.name == "logit":
        twice, outcome = np.concatenate([design, design]), np.repeat([1, 0], len(design))
        regression = LogisticRegression(C=np.inf, fit_intercept=False, solver="newton-cholesky", tol=1e-10)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # separable data: `fisher_scoring` finishes
            regression.fit(twice, outcome, sample_weight=np.concatenate([ones, zeros]))
        return np.asarray(regression.coef_[0], dtype=np.float64)
    return _statsmodels_fit(link, design, ones, zeros)


def _statsmodels_fit(link: Link, design: Floats, ones: Floats, zeros: Floats) -> Floats:
    import statsmodels.api as sm  # only where its links are asked for: it takes a second
    from statsmodels.genmod.families import links

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as above
        family = sm.families.Binomial(link={"probit": links.Probit, "cloglog": links.CLogLog}[link.name]())
        params: Any = sm.GLM(np.column_stack([ones, zeros]), design, family=family).fit().params
    return np.asarray(params) if np.isfinite(params).all() else np.zeros(design.shape[1])


def _inside(design: Floats, theta: Floats) -> Floats:
    """Return a point on the way to `theta` where the probabilities of all rows lie inside (0, 1)."""
    # equal shares of one half are inside, as rows hold 0 and 1 and not 0 alone
    start = np.full(design.shape[1], 0.5 / design.shape[1])
    share = 1.0
    while not ((p := design @ (start + share * (theta - start))).min() > 0.0 and p.max() < 1.0):
        share *= 0.5
    return np.asarray(start + share * (theta - start))


@njit(cache=True)
def mean_and_slope(predictor, floor, code):  # type: ignore[no-untyped-def]
    """Return the link's probabilities, kept `floor` off 0 and 1, and its slopes; arrays over the rows."""
    mean, slope = np.empty(len(predictor)), np.empty(len(predictor))
    for r in range(len(predictor)):
        mean[r] = min(max(probability_of(predictor[r], code), floor[r]), 1.0 - floor[r])
        slope[r] = max(slope_of(predictor[r], code), 1e-300)
    return mean, slope


@njit(cache=True)
def fisher_scoring(  # type: ignore[no-untyped-def]
    design, ones, zeros, start, code, likelihood, ridge, floor, tolerance
):
    """Return the coefficients that solve the equation of a node, and the inverse information, before the last step.

    Fisher scoring, with the step halved until it helps.

    Parameters
    ----------
    design
        Array of shape (rows, columns), contiguous.
    ones, zeros
        Arrays over the rows.
    start
        The coefficients to begin with.
    code
        That of the link.
    likelihood
        Whether the equation is that of the likelihood, or else ``sum (x - f(v theta)) v``.
    ridge
        What is added to the information about each coefficient; 0 where columns are independent.
    floor
        Array over the rows: how far off 0 and 1 the probabilities are kept. A solution that is further off is that of
        the equation without floors.
    tolerance
        A step smaller than this, relative to one more than the largest coefficient, is the last.
    """
    theta = start.copy()
    merit, value, information = _equation(design, ones, zeros, theta, code, likelihood, ridge, floor)
    singular = len(theta) * EPSILON  # without a ridge, where slopes vanish
    for _ in range(MOST_STEPS if len(theta) > 0 else 0):
        step = np.linalg.solve(information, value) if ridge > 0.0 else np.linalg.lstsq(information, value, singular)[0]
        largest, tiny = np.abs(step).max(), tolerance * (1.0 + np.abs(theta).max())
        if largest > LONGEST_STEP:
            step, largest = step * (LONGEST_STEP / largest), LONGEST_STEP
        slack = 1e-12 * abs(merit) if likelihood else 0.0  # rounding of a sum of logarithms
        while largest > tiny:
            after = _equation(design, ones, zeros, theta + step, code, likelihood, ridge, floor)
            if after[0] >= merit - slack:
                merit, value, information = after
                break
            step, largest = 0.5 * step, 0.5 * largest
        theta = theta + step
        if not largest > tiny:
            break
    return theta, np.linalg.inv(information) if ridge > 0.0 else np.linalg.pinv(information, singular)


@njit(cache=True)
def _equation(design, ones, zeros, theta, code, likelihood, ridge, floor):  # type: ignore[no-untyped-def]
    """Return what a step must not lower, the equation's left-hand side, and minus its expected derivative.

    The first is the log-likelihood less the ridge's penalty, continued beyond the floors so that the equation stays its
    derivative, or minus the size of the equation.
    """
    d = design.shape[1]
    predictor = design @ theta
    merit, value, information = -0.5 * ridge * (theta @ theta), -ridge * theta, ridge * np.eye(d)
    for r in range(len(predictor)):
        n, exact = ones[r] + zeros[r], probability_of(predictor[r], code)
        p, slope = min(max(exact, floor[r]), 1.0 - floor[r]), max(slope_of(predictor[r], code), 1e-300)
        fitted = p
        if code == 0:  # the identity, uncut: least squares with the weights
            exact = fitted = predictor[r]
        weight = slope / (p * (1.0 - p)) if likelihood else 1.0
        for a in range(d):
            value[a] += design[r, a] * weight * (ones[r] - n * fitted)
            for b in range(a + 1):
                information[a, b] += design[r, a] * design[r, b] * n * weight * slope
        if likelihood:
            # beyond the floor along the tangent, of the identity along the parabola
            beyond = exact - p
            bend = 0.5 * n * beyond if code == 0 else 0.0
            merit += ones[r] * math.log(p) + zeros[r] * math.log1p(-p)
            merit += beyond * (ones[r] - n * p - bend) / (p * (1.0 - p))
    for a in range(d):
        for b in range(a):
            information[b, a] = information[a, b]
    return merit if likelihood else -math.sqrt(value @ value), value, information
