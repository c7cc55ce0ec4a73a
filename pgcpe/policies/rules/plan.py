"""What is asked for and not yet told."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence

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

    def cross_off(self, told: Samples, due: Callable[[int], int]) -> int:
        """Cross off what was told, and return how many rows were: those until nothing is left or a look is due.

        Parameters
        ----------
        told
            What was told.
        due
            Returns after how many rows the first look after a row is due. Looks are once the plan was not followed.
        """
        missing, n_left = Counter(self.left), len(self.left)
        end = len(told) if self.followed else min(due(0), len(told))
        for row, which in enumerate(told.which.tolist()):
            action = told.actions[which]
            if row == end:
                break
            if missing[action] > 0:
                missing[action] -= 1
                n_left -= 1
                if n_left == 0:
                    self.left = []
                    return row + 1
            elif self.followed:
                self.followed, end = False, min(due(row), len(told))
        kept = []
        for action in reversed(self.left):  # the last of equals are those still missing
            if missing[action] > 0:
                missing[action] -= 1
                kept.append(action)
        self.left = kept[::-1]
        return end

    def batch(self, n: int) -> list[Action]:
        """Return n actions to perform at once: what is left, over and over."""
        return list(itertools.islice(itertools.cycle(self.left), n))
