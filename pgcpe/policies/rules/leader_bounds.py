"""Bounds by which a leader is separated from the other arms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pgcpe.confidence.intervals import Intervals
from pgcpe.estimators.base import Comparison, EndLevels, IntervalEstimator, PairwiseEstimator
from pgcpe.policies.rules.direct_evidence import DirectEnds
from pgcpe.policies.rules.state import PolicyState

__all__ = ["LeaderBounds"]


class LeaderBounds:
    """Bounds by which a leader is separated: its lower end, and upper ends that each hold for one fixed arm.

    Only the upper end of the best arm can make a wrong stop, so that what an upper end may err in is not divided among
    the arms. That of the lower ends is, but for what began when the leader was named.

    Parameters
    ----------
    direct
        The ends by own plays.
    models
        What those of the other estimators may err in.
    """

    def __init__(self, direct: DirectEnds, models: EndLevels) -> None:
        self._direct, self._models, self._began = direct, models, False
        self._last: tuple[PolicyState, Intervals] | None = None
        self._by_graph: Intervals | None = None

    def of(self, state: PolicyState, contenders: NDArray[np.bool_]) -> Intervals:
        """Return the bounds, those of contenders as tight as the comparison needs; once for each state."""
        if self._last is None or self._last[0] is not state:
            self._last = state, self._work_out(state, contenders)
        return self._last[1]

    def _work_out(self, state: PolicyState, contenders: NDArray[np.bool_]) -> Intervals:
        models = [model for model in state.models if isinstance(model, IntervalEstimator)]
        if not self._began:
            self._began = True
            served = [model.served_ for model in models if isinstance(model, PairwiseEstimator)]
            alone = ~np.any([np.zeros(len(state.plays), dtype=np.bool_), *served], axis=0)
            self._direct.allow_more(alone, self._models.upper)
        direct = self._direct.now(state.plays, state.rewards)
        known = Intervals(direct.lower.copy(), direct.upper.copy())
        self._by_graph = Intervals(np.zeros(len(known.lower)), np.ones(len(known.lower)))
        if state.conflicts.any():
            return known
        named = [then.arm for then in state.named]
        for model in models:
            asked = Comparison(state.leader, contenders, state.epsilon, known)
            found = model.compare(self._models, asked, named)
            self._by_graph, known = self._by_graph.intersect(found), known.intersect(found)
        return known

    def without(self, parted: PolicyState, left_out: NDArray[np.bool_]) -> Intervals:
        """Return the bounds of the last state by other direct plays, without what the models say of some arms."""
        direct = self._direct.anew(parted.plays, parted.rewards)
        if self._by_graph is None:
            return direct
        graph = self._by_graph
        return direct.intersect(Intervals(np.where(left_out, 0.0, graph.lower), np.where(left_out, 1.0, graph.upper)))
