"""What is asked for and not yet told."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

from pgcpe.plays.actions import Action
from pgcpe.plays.samples import Samples

__all__ = ["Plan"]


class Plan:
    """The actions that a sampling rule chose, crossed off as plays of them are told.

    Attributes
    ----------
    left
        What is still to be played, in order.
    followed
        Whether all that was told since it was made was of the plan.
    """

    def __init__(self, actions: Sequence[Action] = ()) -> None:
        self.left = list(actions)
        self.followed = True

    def cross_off(self, told: Samples) -> int:
        """Cross off what was told, and return after how many rows nothing was left, or the number of rows."""
        if not self.left:
            self.followed = self.followed and len(told) == 0
            return len(told)
        missing, n_left = Counter(self.left), len(self.left)
        for row, which in enumerate(told.which.tolist()):
            action = told.actions[which]
            if missing[action] > 0:
                missing[action] -= 1
                n_left -= 1
                if n_left == 0:
                    self.left = []
                    return row + 1
            else:
                self.followed = False
        kept = []
        for action in reversed(self.left):  # the last of equals are those still missing
            if missing[action] > 0:
                missing[action] -= 1
                kept.append(action)
        self.left = kept[::-1]
        return len(told)

    def batch(self, n: int) -> list[Action]:
        """Return n actions to perform at once: what is left, over and over."""
        return list(itertools.islice(itertools.cycle(self.left), n))
