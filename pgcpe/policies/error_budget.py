"""Where delta is spent: named shares, checked once, spent once."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import NamedTuple

import pandas as pd

from pgcpe._checks import whole_number
from pgcpe.confidence.intervals import probability
from pgcpe.graphs.states import shown

__all__ = ["ErrorBudget"]

ROUNDING = 1e-9


class Spent(NamedTuple):
    """Who spends a share, over how many events."""

    by: str
    over: int


class ErrorBudget:
    """The overall error probability delta, split into named shares.

    A share is what one kind of event may cost, all in all: `spend` hands out the error probability of each of them. As
    long as every part takes what it may err in from here, the answer is wrong with probability at most delta.

    Parameters
    ----------
    shares
        Event to its share of delta, each above 0; they sum to at most 1.
    delta
        The probability of a wrong answer, in (0, 1).

    Raises
    ------
    ValueError
        If delta is out of range, a share is not positive, or they sum to more than 1.

    Examples
    --------
    >>> budget = ErrorBudget({"direct intervals": 0.5, "observational intervals": 0.5}, 0.05)
    >>> budget.spend("direct intervals", over=10, by="EmpiricalMeans")
    0.0025
    >>> budget
    ErrorBudget, delta = 0.05
                      event  share  delta  over        spent by
           direct intervals    0.5  0.025    10  EmpiricalMeans
    observational intervals    0.5  0.025     -               -
    """

    def __init__(self, shares: Mapping[str, float], delta: float) -> None:
        self.delta = probability("delta", delta)
        if not isinstance(shares, Mapping) or not all(isinstance(share, Real) for share in shares.values()):
            raise TypeError(f"shares must map events to numbers, as in {{'intervals': 1.0}}, but got {shown(shares)}")
        self.shares = dict(shares)
        if wrong := [f"{event}: {share}" for event, share in self.shares.items() if not share > 0]:
            raise ValueError(f"shares must be above 0, but got {', '.join(wrong)}")
        if (total := sum(self.shares.values())) > 1.0 + ROUNDING:
            raise ValueError(f"shares must sum to at most 1, but sum to {total:g}")
        self._spent: dict[str, Spent] = {}

    def spend(self, event: str, *, over: int = 1, by: str = "") -> float:
        """Return the error probability of each of so many events that share a share, and enter it as spent.

        Raises
        ------
        ValueError
            If there is no such share, or no event.
        RuntimeError
            If it was spent before: two parts cannot err on the same share.
        """
        if not isinstance(event, str) or event not in self.shares:
            raise ValueError(f"there is no share for {shown(event)}; there are {', '.join(map(repr, self.shares))}")
        over = whole_number("over", over, 1)
        if event in self._spent:
            raise RuntimeError(f"the share for {event!r} was spent by {self._spent[event].by} already")
        self._spent[event] = Spent(by, over)
        return self.delta * self.shares[event] / over

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each share: event, share, delta, over how many events, spent by; 0 and "" if not spent."""
        spent = [self._spent.get(event, Spent("", 0)) for event in self.shares]
        return pd.DataFrame(
            {
                "event": list(self.shares),
                "share": list(self.shares.values()),
                "delta": [self.delta * share for share in self.shares.values()],
                "over": [some.over for some in spent],
                "spent by": [some.by for some in spent],
            }
        )

    def __repr__(self) -> str:
        return f"ErrorBudget, delta = {self.delta:g}\n{self._shown.to_string(index=False)}"

    def _repr_html_(self) -> str:
        return str(self._shown.to_html(index=False, border=0))

    @property
    def _shown(self) -> pd.DataFrame:
        frame = self.to_frame()
        return frame.assign(
            share=frame["share"].map("{:g}".format),
            delta=frame["delta"].map("{:g}".format),
            over=[str(over) if over else "-" for over in frame["over"]],
            **{"spent by": [by or "-" for by in frame["spent by"]]},
        )
