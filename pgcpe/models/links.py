"""Link functions of binary generalised linear models: P(X=1 | parents) = f(theta . parents)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from pgcpe._checks import one_of
from pgcpe._numba import njit

__all__ = ["LINKS", "Link", "link_named"]

Floats = NDArray[np.float64]

CODES = {"identity": 0, "logit": 1, "probit": 2, "cloglog": 3}
ROOT_2 = math.sqrt(2.0)
ROOT_2_PI = math.sqrt(2.0 * math.pi)


@dataclass(frozen=True)
class Link:
    """A strictly increasing function from linear predictors to probabilities, f of the paper.

    Attributes
    ----------
    name
        ``"identity"``, ``"logit"``, ``"probit"`` or ``"cloglog"``.
    largest_slope, largest_curvature
        M1 and M2 of Assumption 1: bounds of the first two derivatives.
    """

    name: str
    largest_slope: float
    largest_curvature: float

    @property
    def code(self) -> int:
        """The number by which the loops below know the link."""
        return CODES[self.name]

    def probability(self, predictor: ArrayLike) -> Floats:
        """Return f, within [0, 1]: the identity is cut off there."""
        z = np.asarray(predictor, dtype=np.float64)
        return np.asarray(_probabilities(z.ravel(), self.code)).reshape(z.shape)

    def slope(self, predictor: ArrayLike) -> Floats:
        """Return the derivative of f; of the uncut identity, 1 everywhere."""
        z = np.asarray(predictor, dtype=np.float64)
        return np.asarray(_slopes(z.ravel(), self.code)).reshape(z.shape)

    def curvature(self, predictor: ArrayLike) -> Floats:
        """Return the second derivative of f; of the uncut identity, 0 everywhere."""
        z = np.asarray(predictor, dtype=np.float64)
        slope = self.slope(z)
        if self.name == "identity":
            return np.zeros_like(z)
        if self.name == "logit":
            return np.asarray(slope * (1.0 - 2.0 * self.probability(z)))
        return np.asarray(slope * (-z if self.name == "probit" else 1.0 - np.exp(np.minimum(z, 50.0))))

    def predictor(self, probability: ArrayLike) -> Floats:
        """Return the linear predictor at which f has a probability in (0, 1)."""
        p = np.asarray(probability, dtype=np.float64)
        if self.name == "identity":
            return p
        if self.name == "logit":
            return np.log(p / (1.0 - p))
        if self.name == "probit":
            return np.asarray(ndtri(p))
        return np.log(-np.log1p(-p))

    def smallest_slope(self, rare: float) -> float:
        """Return the smallest slope where probabilities lie in [rare, 1 - rare]: kappa of Assumption 2 there."""
        return float(self.slope(self.predictor([rare, 1.0 - rare])).min())


LINKS = {
    "identity": Link("identity", 1.0, 0.0),
    "logit": Link("logit", 0.25, 1.0 / (6.0 * math.sqrt(3.0))),
    "probit": Link("probit", 1.0 / ROOT_2_PI, math.exp(-0.5) / ROOT_2_PI),
    # u (1 - u) exp(-u) with u = exp(z) is largest in size at u = (3 + sqrt 5) / 2
    "cloglog": Link("cloglog", math.exp(-1.0), (2.0 + math.sqrt(5.0)) * math.exp(-(3.0 + math.sqrt(5.0)) / 2.0)),
}


def link_named(name: str) -> Link:
    """Return a link by its name."""
    one_of("link", name, LINKS)
    return LINKS[name]


@njit(cache=True)
def probability_of(z, code):  # type: ignore[no-untyped-def]
    """Return f(z) of the link with this code, for loops."""
    if code == 0:
        return min(max(z, 0.0), 1.0)
    if code == 1:
        if z >= 0.0:
            return 1.0 / (1.0 + math.exp(-z))
        e = math.exp(z)
        return e / (1.0 + e)
    if code == 2:
        return 0.5 * math.erfc(-z / ROOT_2)
    return -math.expm1(-math.exp(min(z, 50.0)))


@njit(cache=True)
def slope_of(z, code):  # type: ignore[no-untyped-def]
    """Return the derivative of f at z of the link with this code, for loops."""
    if code == 0:
        return 1.0
    if code == 1:
        return probability_of(z, 1) * probability_of(-z, 1)
    if code == 2:
        return math.exp(-0.5 * z * z) / ROOT_2_PI
    return math.exp(min(z, 50.0) - math.exp(min(z, 50.0)))


@njit(cache=True)
def _probabilities(z, code):  # type: ignore[no-untyped-def]
    p = np.empty(len(z))
    for i in range(len(z)):
        p[i] = probability_of(z[i], code)
    return p


@njit(cache=True)
def _slopes(z, code):  # type: ignore[no-untyped-def]
    slope = np.empty(len(z))
    for i in range(len(z)):
        slope[i] = slope_of(z[i], code)
    return slope
