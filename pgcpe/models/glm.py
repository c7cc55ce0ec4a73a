"""Fits of one binary generalised linear model to weighted rows: arrays in, arrays out; no graph is known here.

A row is a distinct value v of the design with the numbers of ones and of zeros seen there, so that the cost of a fit
depends on the rows and not on how often they were seen.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlog1py, xlogy
from sklearn.linear_model import LinearRegression, LogisticRegression

from pgcpe.models.links import Link

__all__ = ["METHODS", "WeightedRows", "coefficient_variance", "fit_rows", "independent_columns", "score"]

Floats = NDArray[np.float64]

METHODS = ("mle", "estimating_equation")

SMALLEST_COUNT = 1e-9
"""Added to the ones and the zeros of every row that was seen: where the data alone put the maximum at infinity
(separable data, a node that never varied) it keeps it finite, elsewhere it moves nothing."""

MOST_STEPS = 200

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
        theta[free] = start if exact else _newton(link, some, ones + nudge, zeros + nudge, method, start)
    return theta


def score(link: Link, design: Floats, ones: Floats, zeros: Floats, theta: Floats, method: str = "mle") -> Floats:
    """Return the left-hand side of the equation that `fit_rows` solves; zero at a solution inside the space."""
    return _equation(link, design, ones, zeros, theta, method)[0]


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
    p, slope = _at(link, some @ theta[free])
    weight = slope / (p * (1.0 - p)) if method == "mle" else np.ones_like(p)
    bread = (some.T * (n * weight * slope)) @ some
    meat = (some.T * (n * weight**2 * p * (1.0 - p))) @ some
    half = np.linalg.solve(bread, direction[free])
    return float(half @ meat @ half)


def _at(link: Link, predictor: Floats) -> tuple[Floats, Floats]:
    """Return probabilities, kept off 0 and 1 for division, and slopes."""
    return np.clip(link.probability(predictor), 1e-15, 1.0 - 1e-15), np.maximum(link.slope(predictor), 1e-300)


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
            warnings.simplefilter("ignore")  # separable data: `_newton` finishes
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


def _equation(
    link: Link, design: Floats, ones: Floats, zeros: Floats, theta: Floats, method: str
) -> tuple[Floats, Floats]:
    """Return the equation's left-hand side and minus its expected derivative."""
    n = ones + zeros
    p, slope = _at(link, design @ theta)
    weight = slope / (p * (1.0 - p)) if method == "mle" else np.ones_like(p)
    residual = ones - n * (design @ theta if link.name == "identity" else p)
    return design.T @ (weight * residual), (design.T * (n * weight * slope)) @ design


def _newton(link: Link, design: Floats, ones: Floats, zeros: Floats, method: str, theta: Floats) -> Floats:
    """Return the root of the equation, from a start near it: Fisher scoring with the step halved until it helps."""

    def merit(theta: Floats) -> float:
        """Return what a step must not lower: the log likelihood, or minus the size of the equation."""
        if method != "mle":
            return -float(np.linalg.norm(_equation(link, design, ones, zeros, theta, method)[0]))
        if link.name == "identity" and not ((p := design @ theta).min() > 0.0 and p.max() < 1.0):
            return -np.inf
        p = np.asarray(link.probability(design @ theta))
        return float(np.sum(xlogy(ones, p) + xlog1py(zeros, -p)))

    current, tiny = merit(theta), 1e-15 * (1.0 + float(np.abs(theta).max()))
    for _ in range(MOST_STEPS):
        value, derivative = _equation(link, design, ones, zeros, theta, method)
        step = np.asarray(np.linalg.lstsq(derivative, value, rcond=None)[0])
        slack = 1e-12 * abs(current) if method == "mle" else 0.0  # rounding of a sum of logarithms
        while not (after := merit(theta + step)) >= current - slack and np.abs(step).max() > tiny:
            step = 0.5 * step
        if np.abs(step).max() <= tiny:
            break
        theta, current = theta + step, after
    return theta
