"""How a study went: intervals and evidence over its plays, and what was played."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from pgcpe.plotting.axes import BEST, OTHER, escaped, key, pyplot

__all__ = ["plot_evidence", "plot_over_plays", "plot_plays"]

REST = 10
"""How many actions have a bar of their own unless one says otherwise."""


def plot_over_plays(traced: pd.DataFrame, *, action: Any = None, title: str = "", ax: Any = None) -> Any:
    """Draw the intervals of the arm that was recommended last, and of another one, over the plays; return the axes.

    Parameters
    ----------
    traced
        As `trace` returns it, whose ``attrs`` say to how many decimals rewards are shown and whether less is better.
    action
        The other arm, by default the one that was ruled out last.
    title
        The title.
    ax
        Axes to draw on, by default those of a new figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed (``pip install pgcpe[plot]``).
    ValueError
        If the arm is not in the table.
    """
    figure, ax = _axes(ax)
    best, (minimise, decimals) = _recommended(traced), _unit(traced)
    for arm, colour, style, hatch in (
        (best, BEST, "-", ""),
        (_other(traced, best, action), OTHER, "--", "///"),
    ):
        mine = traced[traced["action"] == arm]
        ax.fill_between(
            mine["plays"], mine["lower"], mine["upper"], facecolor=colour, edgecolor=colour, alpha=0.35, hatch=hatch
        )
        ax.plot(mine["plays"], mine["estimate"], color=colour, linestyle=style, label=escaped(str(arm)))
        last = mine.iloc[-1]
        ax.annotate(
            f"{last.estimate:.{decimals}f} [{last.lower:.{decimals}f}, {last.upper:.{decimals}f}]",
            (last.plays, last.estimate),
            xytext=(6, 6 if arm == best else -10),
            textcoords="offset points",
            fontsize="small",
            annotation_clip=False,
        )
    ax.set_ylabel("expected reward" + (" (less is better)" if minimise else ""))
    return _finished(ax, figure, title)


def plot_evidence(traced: pd.DataFrame, *, action: Any = None, title: str = "", ax: Any = None) -> Any:
    """Draw the evidence against an arm over the plays, with how much is asked, and return the axes.

    The evidence is that for the arm that was recommended last, as its stopping rule counts it: in nats, of which about
    three are odds of twenty to one. It is drawn as long as the rule compares with that arm. A dotted line stands where
    bounds ruled the arm out.

    Parameters
    ----------
    traced
        As `trace` returns it.
    action
        The arm, by default the one that was ruled out last.
    title
        The title.
    ax
        Axes to draw on, by default those of a new figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed (``pip install pgcpe[plot]``).
    ValueError
        If the arm is not in the table, or its rule counts no evidence.
    """
    figure, ax = _axes(ax)
    best = _recommended(traced)
    arm = _other(traced, best, action)
    led = traced.loc[traced["leader"]].set_index("plays")["action"]
    mine = traced[traced["action"] == arm].set_index("plays")
    mine = mine[led.reindex(mine.index) == best].dropna(subset=["nats"])  # else it is for another pair
    if mine.empty:
        raise ValueError(f"there must be evidence in nats against {arm}, but the rule counts none: use plot_over_plays")
    against = f"evidence against {escaped(str(arm))}"
    ax.plot(mine.index, mine["nats"].clip(lower=0.0), color=BEST, marker="o", markersize=3, label=against)
    ax.plot(mine.index, mine["asked"], color="black", linestyle="--", drawstyle="steps-post", label="asked")
    last = mine.iloc[-1]
    when = f" after {last.name:,} plays" if last.name < traced["plays"].max() else ""
    ax.annotate(
        f"{last.nats:.1f} of {last.asked:.1f}{when}",
        (mine.index[-1], last.nats),
        xytext=(6, 0),
        textcoords="offset points",
        fontsize="small",
        annotation_clip=False,
    )
    by_bounds = mine.index[mine["ruled out"] & (mine["nats"] < mine["asked"])]
    if len(by_bounds):
        side = "above" if _unit(traced)[0] else "below"
        ax.axvline(by_bounds[0], color="black", linestyle=":", label=f"{side} the other by its bounds")
    ax.set_ylabel("evidence in nats (3 are 20 to 1)")
    ax.set_ylim(bottom=0)
    return _finished(ax, figure, title or f"for {best}")


def plot_plays(plays: Mapping[Any, int], *, best: Any = None, rows: int = REST, title: str = "", ax: Any = None) -> Any:
    """Draw how often each action was played, as bars with their numbers, and return the axes.

    Parameters
    ----------
    plays
        As `Result.plays_by_action`.
    best
        The action whose bar is dark; the empty one, ``do()``, is hatched.
    rows
        How many of the most frequent actions have a bar of their own; the others share one.
    title
        The title.
    ax
        Axes to draw on, by default those of a new figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed (``pip install pgcpe[plot]``).
    ValueError
        If there was no play.
    """
    if not plays:
        raise ValueError("there must be at least one play to draw")
    ranked = sorted(plays.items(), key=lambda item: -item[1])
    bars = [(str(action), n, BEST if action == best else OTHER, "" if action else "///") for action, n in ranked[:rows]]
    if rest := [n for _, n in ranked[rows:]]:
        bars.append((f"{len(rest)} other actions", sum(rest), "white", ""))
    _, ax = _axes(ax, height=1.2 + 0.3 * len(bars))
    height = np.arange(len(bars))[::-1]
    names, counts, colours, hatches = zip(*bars, strict=True)
    drawn = ax.barh(height, counts, color=colours, hatch=hatches, edgecolor="#333333", linewidth=0.8)
    total = sum(plays.values())
    ax.bar_label(drawn, [f"{n:,} ({n / total:.0%})" for n in counts], padding=3, fontsize="small")
    ax.set_yticks(height, [escaped(name) for name in names])
    ax.set_xlabel("plays")
    ax.margins(x=0.15)
    ax.set_title(escaped(title), fontsize="medium", loc="left", wrap=True)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _axes(ax: Any, height: float = 3.4) -> tuple[Any, Any]:
    """Return a new figure and its axes, or None and those given."""
    plt = pyplot()
    return (None, ax) if ax is not None else plt.subplots(figsize=(8, height), layout="constrained")


def _finished(ax: Any, figure: Any, title: str) -> Any:
    """Return axes with what those over plays share."""
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    ax.set_xlabel("plays")
    ax.set_title(escaped(title), fontsize="medium", loc="left", wrap=True)
    ax.spines[["top", "right"]].set_visible(False)
    key(ax, figure)
    return ax


def _unit(traced: pd.DataFrame) -> tuple[bool, int]:
    """Return whether less is better, and to how many decimals rewards are shown: of a reward in [0, 1] unless said."""
    return traced.attrs.get("minimise", False), traced.attrs.get("decimals", 3)


def _recommended(traced: pd.DataFrame) -> Any:
    """Return the arm that was recommended last."""
    return traced.loc[traced["leader"], "action"].iloc[-1]


def _other(traced: pd.DataFrame, best: Any, action: Any) -> Any:
    """Return the arm asked for, by default the one ruled out last; of several the one whose estimate is nearest."""
    others = traced[traced["action"] != best]
    if action is not None:
        if not (others["action"] == action).any():
            raise ValueError(f"action must be one of the arms traced other than {best}, but got {action}")
        return action
    if others.empty:
        raise ValueError("there must be two arms to compare")
    left = others[~others["ruled out"]]
    latest = left[left["plays"] == left["plays"].max()] if len(left) else others
    best_then = traced[(traced["action"] == best) & (traced["plays"] == latest["plays"].iloc[-1])]["estimate"].iloc[0]
    return latest.loc[(latest["estimate"] - best_then).abs().idxmin(), "action"]
