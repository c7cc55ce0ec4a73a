"""Searches for the extremes of functions of many variables."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["mirror_ascent"]

Floats = NDArray[np.float64]


def mirror_ascent(
    objective: Callable[[Floats], tuple[float, Floats]], n: int, steps: int, *, rate: float = 1.0, least: float = 0.0
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
