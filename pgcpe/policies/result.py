"""What a run found: a table, a picture, the reason why it stopped."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from pgcpe.bandit import CausalBandit
from pgcpe.confidence.intervals import Intervals
from pgcpe.plays.actions import Action
from pgcpe.plays.reward_scale import RewardScale
from pgcpe.plays.samples import Samples
from pgcpe.plotting.intervals import plot_intervals
from pgcpe.plotting.plays import plot_plays
from pgcpe.policies.error_budget import ErrorBudget
from pgcpe.policies.rules.base import Progress, RuledOut, StoppingRule
from pgcpe.policies.rules.state import PolicyState

__all__ = ["Result", "arms_table", "equal_arms", "left_open", "to_close"]

GAP, SHOWN = 0.01, 3
"""The gap, and how many arms, that are named where a budget ended the run."""


@dataclass(frozen=True, repr=False, eq=False)
class Result:
    """What a run found.

    Attributes
    ----------
    recommendation
        The arm returned.
    certified
        Whether it is proved to be within `epsilon` of the best with probability ``1 - delta``, if `assumptions` hold.
    certificate
        ``"direct"`` (from plays of the arms themselves, on any graph); ``"exact"`` (if the graph is right);
        ``"numerical"`` (the set is exact, the search over it is not proved); ``"asymptotic"`` (it holds in the limit of
        many plays); ``"heuristic"`` (the constants are not proved); or None.
    stop_reason
        Why the run ended.
    n_plays, cost
        The number of plays told, and their cost.
    plays_by_action
        The number of plays of each action.
    table
        One row an arm, the recommendation first, then by estimate: action, estimate (by which the policy ranks), lower,
        upper, all three in the unit of the reward, n_plays, and, where there are any, the argument that ruled the arm
        out ("ruled out by"), its evidence ("nats"), the upper end by which it was compared (of the first arm the lower
        end; "bound", and the other way round where less is better), conflict and the arms merged with it. As long as it
        goes on: the evidence of the arms in pairs that the recommended one is better ("nats") and how much of it rules
        an arm out ("asked"), where the stopping rule counts any.
    conflicts
        The arms whose own plays and all others had nothing in common, by the intervals of either.
    epsilon, delta
        What was asked for, epsilon in the unit of the reward.
    stopped
        Whether the run has ended.
    stops
        Where a policy watches several guarantees: the plays at which the rule of each first would have stopped.
    certified_at
        The number of plays at which the certificate was earned; later plays change estimates only.
    assumptions
        What the certificate rests on beyond honest reporting, in words.
    error_budget
        How delta was split.
    dropped
        How many plays told with ``missing="drop"`` were left out, by the variable that was missing.
    refutation
        What refuted the graph, where the policy tests it; empty if nothing has.
    reward_scale
        The range of the reward, and whether less of it is better.
    """

    recommendation: Action
    certified: bool
    certificate: str | None
    stop_reason: str
    n_plays: int
    cost: float
    plays_by_action: dict[Action, int]
    table: pd.DataFrame
    conflicts: tuple[Action, ...]
    epsilon: float
    delta: float
    stopped: bool
    told: Samples = field(repr=False)
    stops: dict[str, int | None] = field(default_factory=dict)
    certified_at: int | None = None
    assumptions: tuple[str, ...] = ()
    error_budget: ErrorBudget | None = None
    dropped: dict[str, int] = field(default_factory=dict)
    refutation: str = ""
    reward_scale: RewardScale = RewardScale()  # noqa: RUF009  # frozen

    @cached_property
    def history(self) -> pd.DataFrame:
        """What was told: one row a play, indexed by action."""
        return self.told.to_frame()

    @property
    def summary(self) -> str:
        """What is recommended, its certificate and what that rests on, why the run ended and what it took."""
        best = self.table.iloc[0]
        worth = {
            "direct": f"within {self.epsilon:g} of the best with probability at least {1 - self.delta:g}",
            "exact": f"within {self.epsilon:g} of the best with probability at least {1 - self.delta:g}",
            "asymptotic": f"within {self.epsilon:g} of the best with probability {1 - self.delta:g} if plays are many",
            "numerical": f"within {self.epsilon:g} of the best with probability {1 - self.delta:g} numerically",
            "heuristic": "by a rule whose constants are not proved",
            None: "not certified",
        }[self.certificate]
        cost = f" at a cost of {self.cost:,g}" if self.cost != self.n_plays else ""
        watched = [f"{name} {f'after {n:,}' if n is not None else 'not yet'}" for name, n in self.stops.items()]
        rules = f"\nWould have stopped: {', '.join(watched)}." if len(watched) > 1 else ""
        rests = ""
        if self.certificate is not None:
            rests = f"\nRests on: {'; '.join(self.assumptions) or 'direct plays alone, whatever the graph'}."
        lacking = [f"{n:,} {'lacks' if n == 1 else 'lack'} {variable}" for variable, n in self.dropped.items()]
        dropped = f"\nPlays left out: {', '.join(lacking)}." if lacking else ""
        doubt = f"\nThe graph is in doubt at {', '.join(map(str, self.conflicts))}." if self.conflicts else ""
        if self.refutation:
            doubt = f"\nThe graph is refuted: {self.refutation}."
        text, less = self.reward_scale.text, " (less is better)" if self.reward_scale.minimise else ""
        return (
            f"{self.recommendation}: expected reward{less} {text(best.estimate)} in [{text(best.lower)}, "
            f"{text(best.upper)}], {worth}.\n{'Stopped after' if self.stopped else 'So far'} {self.n_plays:,} "
            f"{'play' if self.n_plays == 1 else 'plays'}{cost}: {self.stop_reason}.{rests}{dropped}{rules}{doubt}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what was found in plain values: actions as mappings, one entry an arm; without the history."""
        columns = ("estimate", "lower", "upper")
        arms = [
            {"action": dict(row["action"]), **{c: float(row[c]) for c in columns}, "n_plays": int(row["n_plays"])}
            for row in self.table.to_dict("records")
        ]
        return {
            "recommendation": dict(self.recommendation),
            "certified": self.certified,
            "certificate": self.certificate,
            "certified_at": self.certified_at,
            "assumptions": list(self.assumptions),
            "stopped": self.stopped,
            "stops": self.stops,
            "stop_reason": self.stop_reason,
            "n_plays": self.n_plays,
            "cost": self.cost,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "reward_range": [self.reward_scale.low, self.reward_scale.high],
            "minimise": self.reward_scale.minimise,
            "conflicts": [dict(action) for action in self.conflicts],
            "refutation": self.refutation,
            "dropped": self.dropped,
            "arms": arms,
        }

    def to_json(self, indent: int | None = None) -> str:
        """Return `to_dict` as JSON; states that JSON has no value for, such as a date, by their text."""
        return json.dumps(self.to_dict(), indent=indent, default=str)

    def to_string(self, rows: int = 10) -> str:
        """Return the summary and the first rows of the table."""
        shown = self.table.head(max(rows, 1)).to_string(index=False, **self._formats)
        return f"{self.summary}\n\n{shown}{self._more(rows)}"

    def __repr__(self) -> str:
        return self.to_string()

    def _repr_html_(self) -> str:
        table = self.table.head(20).to_html(index=False, border=0, **self._formats)
        return f"<p>{escape(self.summary).replace(chr(10), '<br>')}</p>{table}<p>{self._more(20).strip()}</p>"

    @property
    def _formats(self) -> dict[str, Any]:
        return table_formats(self.reward_scale)

    def _more(self, rows: int) -> str:
        left = len(self.table) - max(rows, 1)
        return f"\n... and {left} more {'arm' if left == 1 else 'arms'}" if left > 0 else ""

    def plot(self, rows: int = 25, ax: Any = None) -> Any:
        """Draw the intervals of the best arms; return the matplotlib axes."""
        title = self.summary.split("\n")[0]
        if len(self.table) > rows:
            title += f" The best {rows} of {len(self.table)} arms."
        scale = self.reward_scale
        unit: dict[str, Any] = {"minimise": scale.minimise, "decimals": scale.decimals}
        return plot_intervals(self.table.head(rows), epsilon=self.epsilon, title=title, ax=ax, **unit)

    def plot_plays(self, rows: int = 10, ax: Any = None) -> Any:
        """Draw how often the most frequent actions were played; return the matplotlib axes."""
        title = f"{self.n_plays:,} plays; dark: {self.recommendation}, hatched: observation"
        return plot_plays(self.plays_by_action, best=self.recommendation, rows=rows, title=title, ax=ax)


def table_formats(scale: RewardScale) -> dict[str, Any]:
    """Return how pandas is to print a table of arms: rewards to a thousandth of their range."""
    of_reward = dict.fromkeys(("estimate", "lower", "upper", "bound"), scale.text)
    return {"float_format": "{:.3f}".format, "formatters": {"action": str, **of_reward}, "na_rep": ""}


def arms_table(
    state: PolicyState,
    recommended: int,
    intervals: Intervals,
    ruled_out: RuledOut | None = None,
    so_far: Progress | None = None,
) -> pd.DataFrame:
    """Return the table of `Result`."""
    bandit, conflicts = state.bandit, state.conflicts
    first = np.arange(len(bandit.arms)) != recommended
    order = np.lexsort((-intervals.upper, -state.estimates, first))
    scale = bandit.reward_scale
    lower, upper = scale.ends(intervals.lower, intervals.upper)
    columns: dict[str, Any] = {
        "action": [bandit.arms[i] for i in order],
        "estimate": scale.value(state.estimates)[order],
        "lower": lower[order],
        "upper": upper[order],
        "n_plays": state.plays[order].astype(int),
    }
    if ruled_out is not None and ruled_out.leader == recommended:
        columns["ruled out by"] = [ruled_out.by[i] for i in order]
        if np.isfinite(ruled_out.nats).any():
            columns["nats"] = ruled_out.nats[order]
        if ruled_out.bound is not None:
            columns["bound"] = scale.value(ruled_out.bound)[order]
    if so_far is not None:
        columns["nats"] = np.where(np.isinf(so_far.nats), np.nan, np.maximum(so_far.nats, 0.0))[order]
        columns["asked"] = np.where(np.isinf(so_far.nats), np.nan, so_far.asked)[order]
    if conflicts.any():
        columns["conflict"] = conflicts[order]
    equal = [equal_arms(bandit, arm) for arm in columns["action"]]
    if any(equal):
        columns["equal to"] = equal
    return pd.DataFrame(columns)


def equal_arms(bandit: CausalBandit, arm: Action, shown: int = 3) -> str:
    """Return the arms that were merged with an arm, in words; the first few of many."""
    others = bandit.merged[arm][1:]
    more = f" and {len(others) - shown} more" if len(others) > shown else ""
    return ", ".join(map(str, others[:shown])) + more


def to_close(state: PolicyState, intervals: Intervals) -> str:
    """Return in words the leader, its challenger, and how far their intervals are from separated."""
    arms, h = state.bandit.arms, state.leader
    if len(arms) == 1:
        return str(arms[h])
    other = state.challenger(intervals.upper)
    gap = max(intervals.upper[other] - intervals.lower[h] - state.epsilon, 0.0)
    scale = state.bandit.reward_scale
    return f"{arms[h]} against {arms[other]}, {scale.text(scale.width * gap)} to close"


def left_open(state: PolicyState, stopping: StoppingRule) -> str:
    """Return in words which arms are not resolved yet, and how many plays a gap of .01 would take."""
    arms = state.bandit.arms
    left = np.flatnonzero(stopping.unresolved(state))
    if len(left) == 0:  # by the variances at the estimates alone
        left = np.array([state.challenger()])
    left = left[np.lexsort((-stopping.shown(state).upper[left], -state.estimates[left]))]
    more = f" and {len(left) - SHOWN} more" if len(left) > SHOWN else ""
    said = f"{arms[state.leader]} is not resolved from {', '.join(str(arms[i]) for i in left[:SHOWN])}{more}"
    plays = stopping.plays_to_resolve(state, GAP)
    if not 0.0 < plays < np.inf:  # no play says anything of the difference
        return said
    gap = state.bandit.reward_scale.width * GAP
    return f"{said}; to resolve a gap of {gap:g} takes about {float(f'{plays:.2g}'):,.0f} plays"
