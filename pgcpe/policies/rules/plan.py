"""What is asked for and not yet told."""

from __future__ import annotations

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
        n = len(told)
        end = n if self.followed else min(due(0), n)
        at_first = told.which[: min(end, len(self.left))].tolist()  # of a log of many plays few are looked at at once
        in_order = _n_in_common(self.left, [told.actions[i] for i in at_first])
        self.left = self.left[in_order:]
        if in_order == end or (in_order > 0 and not self.left):
            return in_order
        missing, n_left = Counter(self.left), len(self.left)
        row = in_order
        while row < end:
            action = told.actions[told.which[row]]
            if missing[action] > 0:
                missing[action] -= 1
                n_left -= 1
                if n_left == 0:
                    self.left = []
                    return row + 1
            elif self.followed:
                self.followed, end = False, min(due(row), n)
            row += 1
        kept = []
        for action in reversed(self.left):  # the last of equals are those still missing
            if missing[action] > 0:
                missing[action] -= 1
                kept.append(action)
        self.left = kept[::-1]
        return end

    def without(self, pending: Sequence[Action]) -> list[Action]:
        """Return what is left but for plays that are pending, the first of equals."""
        expected, left = Counter(pending), []
        for action in self.left:
            if expected[action] > 0:
                expected[action] -= 1
            else:
                left.append(action)
        return left


def _n_in_common(some: Sequence[Action], others: Sequence[Action]) -> int:
    """Return how many actions two sequences have in common at their beginning."""
    n = 0
    for one, other in zip(some, others, strict=False):
        if one != other:
            break
        n += 1
    return n
