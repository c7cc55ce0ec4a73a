"""One estimate, or the difference of two: a value, its standard error, and the interval that they make."""

from __future__ import annotations

import math
from typing import NamedTuple

from scipy.stats import norm

from pgcpe.confidence.intervals import probability

__all__ = ["Contrast", "Estimate"]


class Estimate(NamedTuple):
    """An estimate of an expected reward and its standard error, which is infinite where nothing determines the value.

    Examples
    --------
    >>> estimate = Estimate(0.151, 0.005)
    >>> print(estimate)
    0.1510, 95 % confidence interval 0.1412 to 0.1608
    >>> low, high = estimate.confidence_interval(0.99)
    """

    value: float
    se: float

    def confidence_interval(self, confidence_level: float = 0.95) -> tuple[float, float]:
        """Return ``value -+ z se`` as far as rewards go, 0 to 1: it holds with this probability for large samples."""
        return _interval(self.value, self.se, confidence_level, 0.0)

    def __str__(self) -> str:
        return _words(self.value, self.se, self.confidence_interval())

    def _repr_markdown_(self) -> str:
        return str(self)


class Contrast(NamedTuple):
    """An estimate of how much more one action is expected to yield than another, and its standard error.

    Examples
    --------
    >>> print(Contrast(-0.0123, 0.004))
    -0.0123, 95 % confidence interval -0.0201 to -0.0045
    """

    value: float
    se: float

    def confidence_interval(self, confidence_level: float = 0.95) -> tuple[float, float]:
        """Return ``value -+ z se`` within -1 and 1: it holds with this probability for large samples."""
        return _interval(self.value, self.se, confidence_level, -1.0)

    def __str__(self) -> str:
        return _words(self.value, self.se, self.confidence_interval())

    def _repr_markdown_(self) -> str:
        return str(self)


def _interval(value: float, se: float, confidence_level: float, lowest: float) -> tuple[float, float]:
    half = float(norm.isf(0.5 * (1.0 - probability("confidence_level", confidence_level)))) * se if se > 0.0 else 0.0
    return max(value - half, lowest), min(value + half, 1.0)


def _words(value: float, se: float, interval: tuple[float, float]) -> str:
    """Return an estimate with as many decimals as its standard error has to two digits."""
    decimals = 1 - math.floor(math.log10(se)) if 0.0 < se < math.inf else 4
    low, high = interval
    note = ", which the data do not determine" if se == math.inf else ""
    digits = f".{min(max(decimals, 2), 12)}f"
    return f"{value:{digits}}{note}, 95 % confidence interval {low:{digits}} to {high:{digits}}"
