"""Searches for the extremes of functions of many variables."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, minimize
from scipy.sparse.linalg import LinearOperator, eigsh

__all__ = ["Minimum", "curved_up", "descend", "mirror_ascent"]

Floats = NDArray[np.float64]
Objective = Callable[[Floats], tuple[float, Floats]]
"""Returns a value and its gradient."""

MOST_STEPS = 500
"""Of each search."""

STEP = 1e-3
"""Of the differences of gradients."""

SMALL = 12
"""So many second derivatives are all worked out."""

ROUGHLY = 0.01
"""The accuracy of curvatures."""


class Minimum(NamedTuple):
    """Where a search ended.

    Attributes
    ----------
    value
        The value there; -inf where it is not to be trusted.
    point
        The point.
    """

    value: float
    point: Floats


def descend(
    objective: Objective,
    start: Floats,
    room: Objective,
    *,
    slack: float = 1e-6,
    bounds: tuple[Floats, Floats] | None = None,
    tolerance: float = 1e-7,
) -> Minimum:
    """Return where a search for the least value ends, -inf if it fails or ends outside or at what is no number.

    Parameters
    ----------
    objective
        What is minimised.
    start
        Where it begins.
    room
        The constraint, not negative inside, and its gradient.
    slack
        How far outside a point may be.
    bounds
        The least and the largest coordinates; none by default.
    tolerance
        The accuracy of the value.
    """
    inside: Any = {"type": "ineq", "fun": lambda u: room(u)[0], "jac": lambda u: room(u)[1]}
    options: Any = {"maxiter": MOST_STEPS, "ftol": tolerance}
    box = None if bounds is None else Bounds(*bounds)
    found = minimize(objective, start, jac=True, method="SLSQP", bounds=box, constraints=[inside], options=options)
    trusted = found.success and room(found.x)[0] >= -slack and math.isfinite(found.fun)
    return Minimum(float(found.fun) if trusted else -math.inf, found.x)


def curved_up(gradient: Callable[[Floats], Floats], n: int, most: int) -> list[tuple[float, Floats]]:
    """Return the directions in which a function curves up most at 0, with the second derivatives along them.

    A product of two factors near 0 rises both where both are positive and where both are negative: along the first such
    direction, and the other way.

    Parameters
    ----------
    gradient
        That of the function.
    n
        The number of variables.
    most
        How many directions.
    """

    def along(direction: Floats) -> Floats:
        """Return how the gradient changes along a direction."""
        return np.asarray((gradient(STEP * direction) - gradient(-STEP * direction)) / (2.0 * STEP))

    if n <= SMALL:
        full = np.array([along(e) for e in np.eye(n)])
        values, directions = np.linalg.eigh(0.5 * (full + full.T))
    else:
        by_product: Any = LinearOperator((n, n), matvec=along, dtype=np.float64)
        values, directions = eigsh(by_product, k=most, which="LA", v0=np.ones(n), tol=ROUGHLY)
    found = sorted(zip(values.tolist(), directions.T, strict=True), key=lambda pair: -pair[0])
    return [(value, direction) for value, direction in found[:most] if value > 0.0]


def mirror_ascent(
    objective: Objective, n: int, steps: int, *, rate: float = 1.0, least: float = 0.0
) -> tuple[Floats, float]:
    """Return the best point met, and its value, on the way up a concave function on the simplex.

    Exponentiated gradient steps from equal shares: ``w *= exp(rate g / max g / sqrt(step))``.

    Parameters
    ----------
    objective
        Returns the value at w and a supergradient, the largest entry of which is positive.
    n
        The length of w.
    steps
        Their number.
    rate
        The length of the first step.
    least
        No share falls below it, up to the normalisation.
    """
    w = np.full(n, 1.0 / n)
    best, most = w, -math.inf
    for step in range(steps):
        value, gradient = objective(w)
        if value > most:
            best, most = w, value
        w = w * np.exp(gradient / gradient.max() * rate / math.sqrt(step + 1.0))
        w /= w.sum()
        if least > 0:
            w = np.maximum(w, least)
            w /= w.sum()
    return best, most
