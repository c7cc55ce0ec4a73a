"""What a figure is: settings as data, rows by `repeat`, numbers from the rows, then a drawing of these."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from pgcpe.experiments import repeat, summarise
from pgcpe.experiments.running import MakeInstance, MakePolicy
from pgcpe.plotting import plot_curves

__all__ = ["Errors", "Figure", "Part", "PlaysToStop"]

BROKEN_OFF = 20_000
"""Runs to the stop end here at the latest."""


@dataclass(frozen=True)
class Part:
    """An experiment of a figure: policies on an instance.

    Attributes
    ----------
    name
        What the rows call it.
    policies
        Name to maker, as for `repeat`.
    instance
        As for `repeat`.
    at
        What a curve over several parts has on its axis; None where each part is a panel of its own.
    reading
        What several parts of one panel share.
    """

    name: str
    policies: Mapping[str, MakePolicy]
    instance: MakeInstance
    at: float | None = None
    reading: str = ""


@dataclass(frozen=True)
class Figure(ABC):
    """Settings of a figure.

    Attributes
    ----------
    title
        What it shows.
    claim
        What the paper says it shows.
    parts
        Its experiments.
    iteration
        How many plays an iteration of each policy is, 1 for those not named.
    styles
        As for `plot_curves`, so that a policy has one colour in all figures.
    """

    title: str
    claim: str
    parts: tuple[Part, ...]
    iteration: Mapping[str, int]
    styles: Mapping[str, int] = field(default_factory=dict)

    def rows(
        self,
        runs: int,
        *,
        file: str | Path | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> pd.DataFrame:
        """Run the experiments on seeds 0, ..., runs - 1; `file`, `n_jobs` and `progress` as for `repeat`."""
        parts = []
        for part in self.parts:
            budgets = {policy: self.budgets(policy) for policy in part.policies}
            parts.append(
                repeat(
                    part.policies,
                    part.instance,
                    seeds=range(runs),
                    budgets=budgets,
                    cuts=budgets,  # the policies are looked at, and go on from there
                    experiment=part.name,
                    file=file,
                    n_jobs=n_jobs,
                    progress=progress,
                )
            )
        return pd.concat(parts, ignore_index=True)

    def of(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the rows that belong to the figure.

        Raises
        ------
        ValueError
            If there is none of some experiment or policy.
        """
        if missing := {"experiment", "policy", "budget", "plays", "stopped", "correct"} - set(rows):
            raise ValueError(f"rows must be those of `repeat`, but lack {', '.join(sorted(missing))}")
        chosen = []
        for part in self.parts:
            mine = rows[rows["experiment"] == part.name]
            for policy in part.policies:
                found = mine[(mine["policy"] == policy) & mine["budget"].isin(self.budgets(policy))]
                if found["budget"].nunique() < len(self.budgets(policy)):
                    raise ValueError(f"rows must have every budget of {policy} in {part.name}, but do not")
                chosen.append(found)
        return pd.concat(chosen, ignore_index=True)

    @property
    def counted(self) -> dict[str, Mapping[str, int]]:
        """The ways to count: plays, and where they differ iterations; each with the plays that count as one."""
        ways: dict[str, Mapping[str, int]] = {"plays": {}}
        return ways | {"iterations": self.iteration} if self.iteration else ways

    @abstractmethod
    def budgets(self, policy: str) -> list[int]:
        """Return after how many plays a policy is looked at."""

    @abstractmethod
    def numbers(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return what is drawn: ``panel``, ``policy``, ``x``, ``y``, ``low``, ``high`` (95 %), ``runs``, and more."""

    @abstractmethod
    def draw(self, rows: pd.DataFrame) -> Any:
        """Draw rows and return the matplotlib figure."""

    def order(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return for each panel and each point of its axis the policies, the best first.

        ``<`` stands between two whose 95 % intervals are apart, ``~`` between two that may as well be the other way
        round.
        """
        lines = []
        for (panel, x), mine in self.numbers(rows).groupby(["panel", "x"], sort=False):
            ranked = mine.sort_values("y", kind="stable")
            apart = ranked["high"].to_numpy()[:-1] < ranked["low"].to_numpy()[1:]
            signs = ["", *(" < " if far else " ~ " for far in apart)]
            text = "".join(sign + policy for sign, policy in zip(signs, ranked["policy"], strict=True))
            lines.append({"panel": panel, "at": x, "order": text})
        return pd.DataFrame(lines)


@dataclass(frozen=True)
class Errors(Figure):
    """Error of the recommendation over time.

    Attributes
    ----------
    times
        T, in plays and in iterations.
    logarithmic
        Whether the axis of T is.
    """

    times: tuple[int, ...] = ()
    logarithmic: bool = False

    def budgets(self, policy: str) -> list[int]:
        """Return T counted in either way."""
        return sorted({time * self.iteration.get(policy, 1) for time in self.times} | set(self.times))

    def numbers(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the errors with intervals of Wilson."""
        summed = summarise(self.of(rows))
        parts = []
        for part in self.parts:
            for way, iteration in self.counted.items():
                for policy in part.policies:
                    mine = summed[(summed["experiment"] == part.name) & (summed["policy"] == policy)]
                    mine = mine[mine["budget"].isin([time * iteration.get(policy, 1) for time in self.times])]
                    name = f"{part.name}: T in {way}" if len(self.parts) > 1 else f"T in {way}"
                    parts.append(
                        pd.DataFrame(
                            {
                                "panel": name,
                                "policy": policy,
                                "x": mine["budget"] // iteration.get(policy, 1),
                                "y": mine["error"],
                                "low": mine["error_low"],
                                "high": mine["error_high"],
                                "runs": mine["runs"],
                            }
                        )
                    )
        return pd.concat(parts, ignore_index=True)

    def draw(self, rows: pd.DataFrame) -> Any:
        """Draw a panel for each part and way to count."""
        return plot_curves(
            self.numbers(rows),
            title=self.title,
            x="T",
            y="error of the recommendation",
            columns=2,
            styles=self.styles,
            logarithmic_x=self.logarithmic,
        )


@dataclass(frozen=True)
class PlaysToStop(Figure):
    """How long each policy runs until it stops, over what the parts differ in."""

    def budgets(self, policy: str) -> list[int]:
        """Return where runs are broken off."""
        return [BROKEN_OFF]

    def numbers(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the medians with their intervals, ``stopped`` and ``wrong`` as in `summarise`, and a ``note``."""
        summed = summarise(self.of(rows))
        parts = []
        for way, iteration in self.counted.items():
            for part in self.parts:
                mine = summed[summed["experiment"] == part.name]
                each = mine["policy"].map(lambda policy, of=iteration: of.get(policy, 1))
                parts.append(
                    pd.DataFrame(
                        {
                            "panel": f"{part.reading}: {way}",
                            "policy": mine["policy"],
                            "x": part.at,
                            "y": mine["plays"] / each,
                            "low": mine["plays_low"] / each,
                            "high": mine["plays_high"] / each,
                            "runs": mine["runs"],
                            "stopped": mine["stopped"],
                            "wrong": mine["wrong"],
                            "note": [f"{share:.0%} wrong" if share else "" for share in mine["wrong"] / mine["runs"]],
                        }
                    )
                )
        return pd.concat(parts, ignore_index=True)

    def draw(self, rows: pd.DataFrame) -> Any:
        """Draw a panel for each reading and way to count."""
        return plot_curves(
            self.numbers(rows),
            title=self.title,
            x="n, the number of causes of the reward",
            y="median until it stops",
            columns=len({part.reading for part in self.parts}),
            styles=self.styles,
            logarithmic_y=True,
        )
