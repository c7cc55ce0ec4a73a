"""Where a study ends at the latest."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from numbers import Real
from typing import Any, NamedTuple, Self

import pandas as pd

from pgcpe._checks import whole_number
from pgcpe.graphs.states import shown

__all__ = ["Deadline"]

ROUNDING = 1e-9


class Deadline(NamedTuple):
    """Where a study ends at the latest: after so many plays, at such a cost, at such a time; None for no limit.

    Attributes
    ----------
    max_plays
        The most plays, pending ones included; plays from a log are not counted.
    max_cost
        The same for their cost.
    until
        The time (with its time zone) from which nothing is asked for any more.
    """

    max_plays: int | None = None
    max_cost: float | None = None
    until: datetime | None = None

    @classmethod
    def checked(cls, max_plays: Any, max_cost: Any, until: Any) -> Self:
        """Return what a user gave.

        Raises
        ------
        TypeError, ValueError
            If it is no number of plays, no cost, or no time.
        """
        plays = None if max_plays is None else whole_number("max_plays", max_plays, 1)
        if max_cost is not None and (not isinstance(max_cost, Real) or isinstance(max_cost, bool)):
            raise TypeError(f"max_cost must be a number, but got {shown(max_cost)}")
        cost = None if max_cost is None else float(max_cost)
        if cost is not None and not 0 < cost < math.inf:
            raise ValueError(f"max_cost must be positive, but got {shown(max_cost)}")
        return cls(plays, cost, None if until is None else _time(until))

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Return what `to_plain` wrote."""
        until = plain["until"]
        return cls(plain["max_plays"], plain["max_cost"], None if until is None else datetime.fromisoformat(until))

    def to_plain(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {**self._asdict(), "until": None if self.until is None else self.until.isoformat()}

    def allows(self, plays: int, cost: float) -> bool:
        """Return whether so many plays, at such a cost, are within the limits."""
        within = self.max_plays is None or plays <= self.max_plays
        return within and (self.max_cost is None or cost <= self.max_cost * (1.0 + ROUNDING))

    def passed(self, now: datetime) -> bool:
        """Return whether the time is over."""
        return self.until is not None and now >= self.until

    def reached(self, plays: int, cost: float, least: float, now: datetime) -> str:
        """Return in words which limit keeps from a play more that costs at least so much; empty for none."""
        if self.passed(now):
            return f"the time is over since {self.until:%Y-%m-%d %H:%M} UTC"
        if self.max_plays is not None and plays >= self.max_plays:
            return f"the budget of {self.max_plays:,} plays is spent"
        if not self.allows(plays, cost + least):
            return f"the budget of {self.max_cost:,g} is spent: {cost:,g} of it, and a play costs at least {least:,g}"
        return ""


def _time(until: Any) -> datetime:
    """Return the time (UTC) that is meant; without a zone that of this computer."""
    try:
        if not isinstance(until, (str, datetime)):
            raise TypeError("a number is no time")
        return pd.Timestamp(until).to_pydatetime().astimezone(UTC)
    except (ValueError, TypeError):
        raise ValueError(f"until must be a time such as '2026-05-31 18:00', but got {shown(until)}") from None
