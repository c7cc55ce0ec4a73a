"""The unit and the direction of a reward: where its values lie in [0, 1], and columns of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from pgcpe._checks import flag
from pgcpe.graphs.states import is_several, shown
from pgcpe.plays.frames import MISSING, row_named

__all__ = ["Measured", "RewardScale", "in_range", "measured_shares", "measured_values", "number_of", "numbers_of"]

Floats = NDArray[np.float64]

DIGITS = 12
"""Of a value that went to [0, 1] and back so many digits of the range are kept: it reads as it was told."""

SHARE_SHOWN = 3
"""To so many digits of the range values are shown."""


@dataclass(frozen=True)
class RewardScale:
    """The range of a reward in the user's unit, and whether more or less of it is better.

    Policies work on shares of the range: 0 is the worst reward there can be and 1 the best. This is the one place where
    the two are turned into each other.

    Attributes
    ----------
    low, high
        The least and the largest value there can be.
    minimise
        Whether smaller values are better.

    Examples
    --------
    >>> minutes = RewardScale(0, 60, minimise=True)
    >>> float(minutes.share(15.0)), float(minutes.value(0.75))
    (0.75, 15.0)
    """

    low: float = 0.0
    high: float = 1.0
    minimise: bool = False

    @classmethod
    def checked(cls, reward_range: Any, minimise: Any) -> Self:
        """Return the scale of what a user gave: ``(low, high)`` or None, for 0 to 1, and the direction.

        Raises
        ------
        TypeError, ValueError
            If the range is no pair of finite numbers, the lower first.
        """
        flag("minimise", minimise)
        if reward_range is None:
            return cls(minimise=bool(minimise))
        ends: Sequence[Any] = list(reward_range) if is_several(reward_range) else []
        if len(ends) != 2 or any(not isinstance(end, Real) or isinstance(end, bool) for end in ends):
            raise TypeError(
                "reward_range must be the least and the largest reward there can be, as in (0, 100), "
                f"but got {shown(reward_range)}"
            )
        low, high = (float(end) for end in ends)
        if not (math.isfinite(low) and math.isfinite(high) and math.isfinite(high - low) and low < high):
            raise ValueError(
                f"reward_range must be two finite numbers, the lower one first, but got {shown(reward_range)}"
            )
        return cls(low, high, bool(minimise))

    @property
    def is_plain(self) -> bool:
        """Whether it is that of rewards in [0, 1] of which more is better."""
        return self == RewardScale()

    @property
    def tolerance(self) -> float:
        """The default of epsilon: a twentieth of the range."""
        return 0.05 * self.width

    @property
    def width(self) -> float:
        """The length of the range."""
        return self.high - self.low

    def share(self, values: ArrayLike) -> Floats:
        """Return where values in the user's unit lie: 0 at the worst end of the range, 1 at the best."""
        shares = (np.asarray(values, dtype=np.float64) - self.low) / self.width
        return 1.0 - shares if self.minimise else shares

    def value(self, shares: ArrayLike) -> Floats:
        """Return values in the user's unit."""
        above = np.asarray(shares, dtype=np.float64)
        return self.low + self.width * (1.0 - above if self.minimise else above)

    def told(self, shares: ArrayLike) -> Floats:
        """Return values as they were told, which rounding on the way to shares and back would change in last digits."""
        return np.asarray(np.round(self.value(shares), max(DIGITS - math.ceil(math.log10(self.width)), 0)))

    def ends(self, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
        """Return the ends of intervals in the user's unit, the lower first."""
        ends = self.value(lower), self.value(upper)
        return ends[::-1] if self.minimise else ends

    def text(self, value: float) -> str:
        """Return a value in the user's unit to a thousandth of the range."""
        return f"{value:.{self.decimals}f}"

    @property
    def decimals(self) -> int:
        """How many decimals are shown of values in the user's unit."""
        return max(SHARE_SHOWN - math.ceil(math.log10(self.width)), 0)

    @property
    def in_words(self) -> str:
        """The range as errors and pages name it: ``0 to 100``."""
        return f"{self.low:g} to {self.high:g}"


class Measured(NamedTuple):
    """A reward that is a number, not a state: its variable and its scale."""

    variable: str
    scale: RewardScale


def number_of(value: Any) -> float | None:
    """Return the number that a value is, or that a text says; NaN for a missing value, None if it is neither."""
    if isinstance(value, str):
        text = value.strip()
        if text in MISSING:
            return math.nan
        try:
            return float(text.replace("_", "?"))  # Python reads 1_0 as ten
        except ValueError:
            return None
    if value is None or value is pd.NA or value is pd.NaT:
        return math.nan
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        return None
    return float(value)


def measured_values(column: pd.Series[Any], reward: Measured) -> Floats:
    """Return the values of a column of rewards in the user's unit, NaN where they are missing.

    Raises
    ------
    ValueError
        If one is no number, or out of the range; the row is named.
    """
    variable, scale = reward
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        values = column.to_numpy(dtype=np.float64, na_value=math.nan)
    else:
        read = [number_of(value) for value in column]
        if None in read:
            row = read.index(None)
            text = str(column.iloc[row])
            point = number_of(text.replace(",", "."))
            way = f"; with a decimal point it would be {point:.15g}" if "," in text and point is not None else ""
            raise ValueError(
                f"{row_named(row, column.index)}: {variable} must be a number from {scale.in_words}, "
                f"but got {shown(column.iloc[row])}{way}"
            )
        values = np.array(read, dtype=np.float64)
    if (beyond := (values < scale.low) | (values > scale.high)).any():
        row = int(np.argmax(beyond))
        raise ValueError(
            f"{row_named(row, column.index)}: {variable} must lie in its range, {scale.in_words}, "
            f"but got {values[row]:.15g}; intervals hold for rewards that cannot leave the range: "
            "a new question with a wider reward_range takes it"
        )
    return values


def measured_shares(column: pd.Series[Any], reward: Measured) -> Floats:
    """Return where the values of a column lie in the range, none of which may be missing.

    Raises
    ------
    ValueError
        If one is missing, no number, or out of the range; the row is named.
    """
    values = measured_values(column, reward)
    if (absent := np.isnan(values)).any():
        raise ValueError(f"{row_named(int(np.argmax(absent)), column.index)} has no value for {reward.variable}")
    return reward.scale.share(values)


def numbers_of(states: Sequence[Any], reward: Measured) -> Floats:
    """Return the numbers that the states of a reward are named by, where it is measured.

    Raises
    ------
    ValueError
        If one is named by none, or it is out of the range.
    """
    numbers = [number_of(state) for state in states]
    if odd := [state for state, number in zip(states, numbers, strict=True) if number is None or math.isnan(number)]:
        raise ValueError(
            f"the reward {reward.variable} is measured, so that its states in the network must be named by numbers, "
            f"but there is {shown(odd[0])}: reward_noise=RewardNoise(..., values=...) says what each is"
        )
    return in_range(numbers, states, reward)


def in_range(numbers: Sequence[Any], states: Sequence[Any], reward: Measured) -> Floats:
    """Return the values of states as an array, or raise where one is out of the range."""
    scale = reward.scale
    for state, number in zip(states, numbers, strict=True):
        if not isinstance(number, Real) or not scale.low <= float(number) <= scale.high:
            raise ValueError(
                f"the states of {reward.variable} must have values in {scale.in_words}, "
                f"but {shown(state)} has {shown(number)}"
            )
    return np.array(numbers, dtype=np.float64)
