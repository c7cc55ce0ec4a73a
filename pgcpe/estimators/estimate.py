"""One estimate, or the difference of two: a value, its standard error, and the interval that they make."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

from scipy.stats import norm

from pgcpe.confidence.intervals import probability

__all__ = ["Contrast", "Estimate"]


class ValueAndError(NamedTuple):
    """A value and its standard error."""

    value: float
    se: float


class ValueWithin(ValueAndError):
    """A value and its standard error that know between which ends the value lies, and print as an interval."""

    ends: tuple[float, float]

    def __new__(cls, value: float, se: float, ends: tuple[float, float] | None = None) -> Self:
        """Return the pair of value and standard error, which remembers the ends, by default those of its class."""
        made = super().__new__(cls, value, se)
        made.ends = cls.ends if ends is None else ends
        return made

    def _replace(self, **changed: Any) -> Self:
        return type(self)(**{**self._asdict(), "ends": self.ends, **changed})

    def confidence_interval(self, confidence_level: float = 0.95) -> tuple[float, float]:
        """Return ``value -+ z se``, cut off at the ends; it holds with this probability for large samples."""
        return _interval(self.value, self.se, confidence_level, self.ends)

    def __str__(self) -> str:
        return _words(self.value, self.se, self.confidence_interval(), _decimals(self.ends))

    def _repr_markdown_(self) -> str:
        return str(self)


class Estimate(ValueWithin):
    """An estimate of an expected reward and its standard error, which is infinite where nothing determines the value.

    Attributes
    ----------
    value, se
        In the unit of the outcome.
    ends
        The least and the largest value that there can be, by default 0 and 1.

    Examples
    --------
    >>> estimate = Estimate(0.151, 0.005)
    >>> print(estimate)
    0.1510, 95 % confidence interval 0.1412 to 0.1608
    >>> low, high = estimate.confidence_interval(0.99)
    """

    ends = (0.0, 1.0)


class Contrast(ValueWithin):
    """An estimate of how much more one action is expected to yield than another, and its standard error.

    Attributes
    ----------
    value, se
        In the unit of the outcome.
    ends
        The least and the largest difference that there can be, by default -1 and 1.

    Examples
    --------
    >>> print(Contrast(-0.0123, 0.004))
    -0.0123, 95 % confidence interval -0.0201 to -0.0045
    """

    ends = (-1.0, 1.0)


def _interval(value: float, se: float, confidence_level: float, ends: tuple[float, float]) -> tuple[float, float]:
    half = float(norm.isf(0.5 * (1.0 - probability("confidence_level", confidence_level)))) * se if se > 0.0 else 0.0
    return max(value - half, ends[0]), min(value + half, ends[1])


def _words(value: float, se: float, interval: tuple[float, float], least: int) -> str:
    """Return an estimate with as many decimals as its standard error has to two digits, and so many at least."""
    decimals = 1 - math.floor(math.log10(se)) if 0.0 < se < math.inf else 4
    low, high = interval
    note = ", which the data do not determine" if se == math.inf else ""
    digits = f".{min(max(decimals, least), 12)}f"
    return f"{value:{digits}}{note}, 95 % confidence interval {low:{digits}} to {high:{digits}}"


def _decimals(ends: tuple[float, float]) -> int:
    """Return how many decimals a hundredth of a range has; of differences, half as many hundredths."""
    return max(2 - math.ceil(math.log10(max(map(abs, ends)))), 0)
