"""Several stopping rules at once: one decides, the others are watched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pgcpe.confidence.intervals import Intervals
from pgcpe.estimators.claims import Claim
from pgcpe.policies.rules.base import NOT_YET, Progress, RuledOut, StoppingRule, Verdict
from pgcpe.policies.rules.state import PolicyState

__all__ = ["MonitoredRules"]

RECHECK_GROWTH = 1.01
"""Rules that do not decide are looked at when the plays have grown by this factor."""


class MonitoredRules(StoppingRule):
    """Stop by one of several rules, and record after how many plays each of them would first have stopped.

    The others are looked at when the plays have grown by a hundredth, and where they have to be.

    Parameters
    ----------
    rules
        The rules by the name of their guarantee.
    decides
        The name of the one to stop by.

    Attributes
    ----------
    stopping_times
        For each name the number of plays told when it first would have stopped with a certificate, or None.
    """

    def __init__(self, rules: Mapping[str, StoppingRule], decides: str) -> None:
        self.rules, self._decides = dict(rules), decides
        self._deciding = self.rules[decides]
        self.after_conflict = self._deciding.after_conflict
        self.stopping_times: dict[str, int | None] = dict.fromkeys(rules)
        self._looked = 0.0

    def check(self, state: PolicyState) -> Verdict:
        """Return what the deciding rule says."""
        look = state.n_plays >= RECHECK_GROWTH * self._looked
        if look:
            self._looked = state.n_plays
        decisive = NOT_YET
        for name, rule in self.rules.items():
            now = look or rule.next_look(state.n_plays - 1) == state.n_plays
            if name == self._decides or (now and self.stopping_times[name] is None):
                verdict = rule.check(state)
                if verdict.stop and verdict.certificate is not None and self.stopping_times[name] is None:
                    self.stopping_times[name] = state.n_plays
                decisive = verdict if name == self._decides else decisive
        return decisive

    def next_look(self, n_plays: int) -> float:
        """Return when the first of all rules has to be asked."""
        return min(rule.next_look(n_plays) for rule in self.rules.values())

    def upper(self, state: PolicyState) -> NDArray[np.float64]:
        """Return the upper ends by which the deciding rule ranks challengers."""
        return self._deciding.upper(state)

    def contenders(self, state: PolicyState) -> NDArray[np.bool_]:
        """Return what the deciding rule says."""
        return self._deciding.contenders(state)

    def unresolved(self, state: PolicyState) -> NDArray[np.bool_]:
        """Return which arms the deciding rule does not rule out."""
        return self._deciding.unresolved(state)

    def plays_to_resolve(self, state: PolicyState, gap: float) -> float:
        """Return what the deciding rule says."""
        return self._deciding.plays_to_resolve(state, gap)

    def shown(self, state: PolicyState) -> Intervals:
        """Return what the deciding rule shows."""
        return self._deciding.shown(state)

    def claims(self, state: PolicyState) -> Sequence[Claim]:
        """Return what the deciding rule says."""
        return self._deciding.claims(state)

    def unresolved_without(
        self, state: PolicyState, parted: PolicyState, left_out: NDArray[np.bool_]
    ) -> NDArray[np.bool_] | None:
        """Return what the deciding rule says."""
        return self._deciding.unresolved_without(state, parted, left_out)

    def ruled_out(self) -> RuledOut | None:
        """Return what the deciding rule says."""
        return self._deciding.ruled_out()

    def progress(self, state: PolicyState) -> Progress | None:
        """Return what the deciding rule says."""
        return self._deciding.progress(state)

    def evidence_so_far(self, state: PolicyState) -> Progress | None:
        """Return what the deciding rule says."""
        return self._deciding.evidence_so_far(state)
