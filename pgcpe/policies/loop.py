"""The loop of a study: ask, perform, tell."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tqdm.auto import tqdm

from pgcpe._checks import flag, whole_number
from pgcpe.environment.protocol import Environment
from pgcpe.plays.actions import Action

__all__ = ["AskTell", "play"]

AT_ONCE = 64
"""No more actions are performed before what was seen is told: a crash loses no more."""

REDRAWN = 0.2
"""Seconds between two descriptions beside the progress bar."""


class AskTell(Protocol):
    """What chooses plays: a `Policy`, or anything that asks, is told, and knows when to stop.

    Where there are ``radii``, ``epsilon``, ``delta``, ``cost``, ``certificate``, ``conflicts`` as `Policy` has them,
    the rows of `repeat` show them; ``n_plays`` at the start is what it was told before.
    """

    @property
    def stopped(self) -> bool:
        """Whether to stop."""

    @property
    def recommendation(self) -> Action:
        """The arm that would be returned now."""

    def ask(self) -> Sequence[Action]:
        """Return the actions to perform next; none where nothing is left to play."""

    def tell(self, actions: Sequence[Action], samples: Any) -> Any:
        """Learn from plays of these actions."""


def play(
    policy: AskTell,
    environment: Environment,
    *,
    budget: int | None = None,
    progress: bool | None = True,
    describe: Callable[[], str] | None = None,
) -> int:
    """Ask, perform and tell until the policy stops or has nothing left to play, or the budget is spent.

    Parameters
    ----------
    policy
        What chooses the plays.
    environment
        What performs them.
    budget
        The most plays; the last iteration is cut short where it would exceed it.
    progress
        Whether to show a progress bar; None shows it only on a terminal or in a notebook.
    describe
        Called for a few words beside it.

    Returns
    -------
    int
        The number of plays performed.

    Raises
    ------
    TypeError, ValueError
        If the environment cannot perform, or the budget is no number of plays.
    """
    if not hasattr(environment, "perform"):
        raise TypeError(
            f"environment must have a method perform(actions), but got {type(environment).__name__}; "
            "a network is simulated by SimulatedEnvironment(network, seed=0)"
        )
    if budget is not None:
        whole_number("budget", budget, 0)
    most, played, redrawn = math.inf if budget is None else budget, 0, 0.0
    with tqdm(total=budget, unit=" plays", disable=None if progress is None else not flag("progress", progress)) as bar:
        while played < most and not policy.stopped:
            actions = list(policy.ask())[: int(min(most - played, AT_ONCE))]
            if not actions:
                break
            policy.tell(actions, environment.perform(actions))
            played += len(actions)
            bar.update(len(actions))
            if describe is not None and time.monotonic() - redrawn > REDRAWN:
                redrawn = time.monotonic()
                bar.set_postfix_str(describe(), refresh=False)
    return played
