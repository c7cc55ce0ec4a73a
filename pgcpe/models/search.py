"""Searches for the extremes of functions of many variables."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, minimize

__all__ = ["Minimum", "minimise", "mirror_ascent", "starts_in_ball"]

Floats = NDArray[np.float64]
Objective = Callable[[Floats], tuple[float, Floats]]
"""Returns a value and its gradient."""

MOST_STEPS = 500
"""Of each search."""

AGREEMENT = 1e-4
"""Searches that end within this of one another have found the same value."""

AGREED_STEPS = 100.0
"""Or within so many times their tolerance."""

STEP = 1e-4
"""Of the differences of gradients."""

CURVED = 0.05
"""A direction is curved if the quadratic term gains this share of what the linear one does over the ball."""


class Minimum(NamedTuple):
    """What `minimise` returns.

    Attributes
    ----------
    value
        The least value, or -inf.
    point
        Where it is; where the search cannot be trusted, that of the search that says so.
    """

    value: float
    point: Floats


def minimise(
    objective: Objective,
    starts: Sequence[Floats],
    room: Objective,
    *,
    slack: float = 1e-6,
    bounds: tuple[Floats, Floats] | None = None,
    enough: float = -math.inf,
    tolerance: float = 1e-7,
) -> Minimum:
    """Return the least value found where `room` is not negative, -inf where the search cannot be trusted.

    That is: where a search from any start fails, ends outside by more than `slack` or at what is no number, or where no
    second search confirms the least value. A local minimum that no start leads to is not found: `starts_in_ball`.

    Parameters
    ----------
    objective
        What is minimised.
    starts
        At least two points.
    room
        The constraint, and its gradient.
    slack
        How far outside a point may be.
    bounds
        The least and the largest coordinates; none by default.
    enough
        A value below this is returned at once, unconfirmed.
    tolerance
        The accuracy of values.
    """
    inside: Any = {"type": "ineq", "fun": lambda u: room(u)[0], "jac": lambda u: room(u)[1]}
    options: Any = {"maxiter": MOST_STEPS, "ftol": tolerance}
    box = None if bounds is None else Bounds(*bounds)
    ends: list[Minimum] = []
    for start in starts:
        found = minimize(objective, start, jac=True, method="SLSQP", bounds=box, constraints=[inside], options=options)
        if not found.success or not room(found.x)[0] >= -slack or not math.isfinite(found.fun):
            return Minimum(-math.inf, found.x)
        ends.append(Minimum(float(found.fun), found.x))
        if ends[-1].value < enough:
            return ends[-1]
    least = min(ends, key=lambda end: end.value)
    confirmed = sum(end.value <= least.value + max(AGREEMENT, AGREED_STEPS * tolerance) for end in ends) >= 2
    return least if confirmed else Minimum(-math.inf, least.point)


def starts_in_ball(objective: Objective, n: int, radius: float, *, seed: int = 0) -> list[Floats]:
    """Return points of a ball about 0 from which to look for all lobes of an objective that is about quadratic there.

    Down the gradient, twice beside it, and both ways along each direction in which the objective curves down by much:
    of a product of two factors near 0 one lobe has both positive, the other both negative.
    """
    rng = np.random.default_rng(seed)
    down = -objective(np.zeros(n))[1]
    size = float(np.linalg.norm(down))
    aside = rng.standard_normal((3, n))
    toward = down / size if size > 0 else aside[0] / np.linalg.norm(aside[0])
    starts = [(0.9 - 0.3 * k) * radius * toward + (k > 0) * aside[k] * radius / n for k in range(3)]
    unit = STEP * radius * np.eye(n)
    curvature = np.array([objective(e)[1] - objective(-e)[1] for e in unit]) / (2.0 * STEP * radius)
    values, directions = np.linalg.eigh(0.5 * (curvature + curvature.T))
    for value, direction in zip(values, directions.T, strict=True):
        if -0.5 * value * radius**2 > CURVED * max(size * radius, AGREEMENT):
            starts += [share * radius * direction for share in (0.9, -0.9, 0.6, -0.6)]
    return starts


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
