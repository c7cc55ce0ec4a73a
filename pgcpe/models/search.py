"""Searches for the extremes of functions of many variables."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, minimize

__all__ = ["Minimum", "descend", "minimise", "mirror_ascent", "starts_in_ball"]

Floats = NDArray[np.float64]
Objective = Callable[[Floats], tuple[float, Floats]]
"""Returns a value and its gradient."""

MOST_STEPS = 500
"""Of each search."""

AGREEMENT = 1e-4
"""Searches that end within this of one another have found the same value."""

STEP = 1e-4
"""Of the differences of gradients."""

CURVED = 0.05
"""A direction is curved if the quadratic term gains this share of what the linear one does over the ball."""


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


def minimise(objective: Objective, starts: Sequence[Floats], room: Objective, *, slack: float = 1e-6) -> float:
    """Return the least value found where `room` is not negative, and -inf where the search cannot be trusted.

    That is: where a search from any start fails (`descend`), or where no second search confirms the least value. A
    local minimum that no start leads to is not found: `starts_in_ball`.

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
    """
    values = []
    for start in starts:
        values.append(descend(objective, start, room, slack=slack).value)
        if values[-1] == -math.inf:
            return -math.inf
    least = min(values)
    return least if sum(value <= least + AGREEMENT for value in values) >= 2 else -math.inf


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
