"""Expected rewards from all plays that may be used: a tree of cells for every arm, fed by the plays of all actions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from pgcpe.bandit import CausalBandit
from pgcpe.confidence.intervals import Intervals, probability
from pgcpe.confidence.sequences import asymptotic_threshold, kt_interval
from pgcpe.confidence.tree import Walk, shrunk_share
from pgcpe.estimators.base import (
    Arms,
    Comparison,
    EndLevels,
    Estimated,
    IntervalEstimator,
    PairwiseEstimator,
    Rejected,
    check_samples,
    started,
)
from pgcpe.estimators.claims import Claim, adjustment_claims
from pgcpe.estimators.empirical_means import add_plays
from pgcpe.estimators.forest import Plays, count_own_plays, count_plays, forest_of, shared_influences
from pgcpe.estimators.forest_values import (
    Playable,
    expected_rounds,
    plain_without,
    progress,
    smoothed_values,
    variance_falls,
    variances_at,
    variances_if_equal,
    walk_plain,
    walk_smoothed,
)
from pgcpe.estimators.schedule import FIRST_SNAPSHOT, GROWTH, MAX_SNAPSHOTS, checked_refresh, last_due, snapshot_share
from pgcpe.estimators.tree_bounds import Regions, TreeBounds
from pgcpe.plays.actions import Action
from pgcpe.plays.encoding import check_question
from pgcpe.plays.samples import Samples, SamplesBuffer

__all__ = ["PooledTrees"]

Floats = NDArray[np.float64]

TEST_ALL_GROWTH = 1.1
"""All arms are tested for contradictions when the plays have grown by this factor."""


class PooledTrees(IntervalEstimator, PairwiseEstimator):
    """The reward of an arm through its admissible sequence, from every play that shows a factor of the formula.

    The formula (Eq. 4) is a product of factors P(Z_l | before) and of the mean reward given all of them. A play of
    any action counts for a factor if it shows the same distribution as observation does (`is_invariant_under`, on the
    action as it is played) and for all factors before it: then the bound is a concave problem. So an arm's own
    plays stand in its tree beside observation, and those of other arms where the graph allows.

    The intervals are exact. Beside the region of all plays there are some begun at snapshots of the counts, which bet
    with what was counted before and lose fewer nats (`bound_since`); each spends a share of delta fixed
    in advance (`snapshot_share`). A policy has only those ends worked out that decide (`TreeBounds`).

    Estimates are those of smoothed frequencies, differences those of plain ones. An arm without a tree, one for which
    the graph is rejected, and one that its own plays determine better than its tree, is estimated from its own plays.

    Parameters
    ----------
    refresh
        After how many plays more a policy may have ends of intervals worked out anew; by default after every play up
        to a hundred, then whenever the plays have grown by a hundredth.

    Attributes
    ----------
    served_
        Boolean array over the arms: which have a tree. ``do()`` has none; its own plays are the same data.
    """

    event: ClassVar[str] = "tree intervals"

    def __init__(self, refresh: int | None = None) -> None:
        self.refresh = refresh

    @property
    def certificate(self) -> str:
        """``"exact"``."""
        return "exact"

    def start(self, bandit: CausalBandit) -> Self:
        """Forget everything and lay out the trees for the arms of a bandit."""
        check_question(bandit)
        self.bandit_ = bandit
        self._forest, self._factors = forest_of(bandit)
        self.served_ = np.diff(self._forest.treated_start) > 0
        self._counts, self._own = self._forest.counts(), self._forest.counts()
        self._direct = np.zeros((2, len(bandit.arms)))  # own plays and the sums of their rewards
        self._regions, self._bounds = Regions(self._forest, snapshot_share(0)), TreeBounds(self._forest, self.served_)
        self._compared: dict[EndLevels, TreeBounds] = {}
        self._snapshots, self._next_snapshot, self._plays = 0, FIRST_SNAPSHOT, 0
        self._depth_of: dict[frozenset[str], NDArray[np.int8]] = {}
        self._refresh = checked_refresh(self.refresh)
        self._rounds = SamplesBuffer(bandit.coding)
        self._arm_of_action, self._depth_of_action = self._arms_of(()), self._depths(())  # of those of the rounds
        self._passive = np.zeros((len(bandit.coding.variables), max(map(len, bandit.coding.states), default=1)))
        self._of_actions: Playable | None = None
        self._of_playable = np.array([bandit.arm_index(action) for action in bandit.playable], dtype=np.int64)
        self._tested, self._all_tested, self._tested_level = np.zeros(len(bandit.arms)), 0, math.nan
        self._contradicted = np.zeros(len(bandit.arms), dtype=np.bool_)
        self._rewards = float(bandit.reward_array.min()), float(bandit.reward_array.max())
        self._now: _Standing | None = None
        self._ranked: _Standing | None = None
        self._walked: Walk | None = None
        return self

    def update(self, samples: Samples) -> Self:
        """Count every play for the factors that it shows."""
        check_samples(samples)
        start, end = self._plays, self._plays + len(samples)
        while self._plays < end:  # a snapshot stands between the same two plays, however they were handed over
            until = min(end, self._next_snapshot)
            self._count(samples.rows(slice(self._plays - start, until - start)))
            if until == self._next_snapshot:
                self._snapshots += 1
                self._regions.begin(self._counts, snapshot_share(self._snapshots), MAX_SNAPSHOTS)
                self._next_snapshot *= GROWTH
        self._rounds.append(samples)
        if new := self._rounds.actions(len(self._arm_of_action)):
            self._arm_of_action = np.append(self._arm_of_action, self._arms_of(new))
            self._depth_of_action = np.vstack([self._depth_of_action, self._depths(new)])
        self._now = self._ranked = self._walked = None
        return self

    def _count(self, samples: Samples) -> None:
        depth, plays = self._depths(samples.actions), Plays.of(samples)
        arm = self._arms_of(samples.actions)
        count_plays(self._forest, self._counts, plays, depth)
        count_own_plays(self._forest, self._own, plays, depth, arm)
        add_plays(arm, samples.which, plays.rewards, *self._direct)
        passive = samples.codes[np.array([not a for a in samples.actions], dtype=np.bool_)[samples.which]]
        for j, codes in enumerate(passive.T):
            self._passive[j] += np.bincount(codes, minlength=self._passive.shape[1])
        self._plays += len(samples)

    def _arms_of(self, actions: Sequence[Action]) -> NDArray[np.int64]:
        return np.array([self.bandit_.arm_index(action) for action in actions], dtype=np.int64)

    def _depths(self, actions: Sequence[Action]) -> NDArray[np.int8]:
        """Return for each action and shape of trees how many factors, from the first on, plays of the action show."""
        return np.array([self._depth(a.variables) for a in actions], dtype=np.int8).reshape(-1, len(self._factors))

    def _depth(self, played: tuple[str, ...]) -> NDArray[np.int8]:
        key = frozenset(played)
        if key not in self._depth_of:
            depths = np.zeros(len(self._factors), dtype=np.int8)
            for i, factors in enumerate(self._factors):
                for variable, given in factors:
                    if not self.bandit_.is_invariant_under(key, variable, given):
                        break
                    depths[i] += 1
            self._depth_of[key] = depths
        return self._depth_of[key]

    @property
    def rounds(self) -> SamplesBuffer:
        """All plays told so far; it grows with them."""
        started(self)
        return self._rounds

    @property
    def n_events_(self) -> int:
        """The number of arms with a tree."""
        return max(int(self.served_.sum()), 1)

    def intervals(self, level: float) -> Intervals:
        """Return intervals for the arms with a tree; [0, 1] for the others."""
        started(self)
        return self._bounds.now(self._counts, self._regions, probability("level", level))

    def bounds(self, level: float) -> Intervals:
        """Return the intervals as far as they were worked out."""
        return self._bounds.known(level)

    def tighten(self, level: float, asked: Comparison) -> bool:
        """Work out those ends that a comparison turns on."""
        due = last_due(self._plays, self._refresh)
        return self._bounds.tighten(self._counts, self._regions, due, level, asked)

    def claims(self) -> list[Claim]:
        """Return by which steps of their admissible sequences arms are estimated."""
        return adjustment_claims(self.bandit_, self.served_)

    def compare(self, levels: EndLevels, asked: Comparison, named: Sequence[int] = ()) -> Intervals:
        """Return bounds that decide a comparison; those in the way are worked out."""
        if levels not in self._compared:
            self._compared[levels] = TreeBounds(self._forest, self.served_)
        due = last_due(self._plays, self._refresh)
        return self._compared[levels].compare(self._counts, self._regions, due, levels, asked, named)

    # ------------------------------------------------------------------------------------------------ arms in pairs

    def estimates(self, rejected: Rejected = None) -> Floats:
        """Return of every arm the smoothed estimate, by its tree or its own plays."""
        return self._smoothed(rejected).value.copy()

    def plug_in(self, rejected: Rejected = None) -> Estimated:
        """Return of every arm the unbiased estimate, its variance and bias bound, by its tree or its own plays."""
        standing = self._plain(rejected)
        return Estimated(standing.value.copy(), standing.variance.copy(), standing.bias_bound.copy())

    def differences(
        self, leader: int, rejected: Rejected = None, epsilon: float | None = None, arms: Arms = None
    ) -> Estimated:
        """Return how far arms are below the leader, the variance, shared rounds as such, and the bias bound."""
        arms = np.arange(len(self.served_)) if arms is None else arms
        standing = self._plain(rejected)
        value, alone = standing.value[leader] - standing.value[arms], standing.variance[arms]
        variance, moved, moved_leader = self._moved(standing, leader, arms)
        variance += np.maximum(alone - moved, 0.0)  # what shrinking adds
        variance += max(standing.variance[leader] - moved_leader, 0.0)
        if epsilon is not None:
            apart = alone + standing.variance[leader]
            of_pairs = arms, value + epsilon, apart
            equal = variances_if_equal(
                self._forest, self._counts, self._direct, standing.tree, of_pairs, leader, self._rewards[0]
            )
            variance += np.maximum(equal - apart, 0.0)
        off = standing.bias_bound[arms] + standing.bias_bound[leader]
        variance[arms == leader] = off[arms == leader] = 0.0
        return Estimated(value, variance, off)

    def smoothed_differences(self, leader: int, rejected: Rejected = None) -> Estimated:
        """Return how far the smoothed estimates of arms are below the leader's; their variances are added."""
        standing = self._smoothed(rejected)
        variance = standing.variance + standing.variance[leader]
        variance[leader] = 0.0
        return Estimated(standing.value[leader] - standing.value, variance, np.zeros(len(variance)))

    def variance_reduction(
        self, leader: int, weights: Floats, rejected: Rejected = None, pending: Floats | None = None
    ) -> Floats:
        """Return for each playable action what one play of it takes off the variances of the differences to the
        leader, each times its weight.

        The rounds that both arms share are not made use of: the sum is that of the arms' own variances.
        """
        standing, bandit = self._smoothed(rejected), self.bandit_
        of_arm = np.array(weights, dtype=np.float64)
        of_arm[leader] = weights.sum() - weights[leader]
        out = np.zeros(len(bandit.playable))
        cards = np.array([len(states) for states in bandit.coding.states])
        shares = (self._passive + 0.5) / (self._passive.sum(axis=1) + 0.5 * cards)[:, None]
        playable, expected = self._playable(), np.zeros(len(self._forest.column))
        if pending is not None:
            expected_rounds(self._forest, playable, shares, pending, expected)
        falls = variance_falls(self._forest, self._walks(), expected)
        progress(self._forest, falls, playable, shares, np.where(standing.tree, of_arm, 0.0), out)
        n, x = self._direct
        mean = (x + 0.5) / (n + 1.0)
        listed, seen = self._of_playable >= 0, np.maximum(n, 0.5)
        if pending is not None:
            np.add.at(seen, self._of_playable[listed], pending[listed])
        by_own = np.where(standing.tree, 0.0, of_arm * mean * (1.0 - mean) / seen**2)
        out[listed] += by_own[self._of_playable[listed]]
        return out

    def _playable(self) -> Playable:
        """Return what is to be known of the playable actions, worked out when it is first asked for."""
        if self._of_actions is None:
            playable = self.bandit_.playable
            one_of = {action.variables: action for action in playable}
            number = {variables: k for k, variables in enumerate(one_of)}
            set_of = np.array([number[action.variables] for action in playable], dtype=np.int64)
            forced, depth = self.bandit_.forced_codes(playable), self._depths(list(one_of.values()))
            self._of_actions = Playable.of(self._forest, forced, set_of, depth)
        return self._of_actions

    def without_own_plays(self) -> Floats:
        """Return what the trees say without the arms' own plays; 1/2 without a tree."""
        return np.where(self.served_, self._without_own()[0], 0.5)

    def _without_own(self, arms: NDArray[np.intp] | None = None) -> tuple[Floats, Floats, Floats]:
        """Return the trees' unbiased estimates, variances and bias bounds without the arms' own plays."""
        arms = np.arange(len(self.served_)) if arms is None else arms
        value, variance, off = plain_without(self._forest, self._counts, self._own, *self._rewards, arms)
        return value, variance, off

    def contradictions(self, level: float) -> NDArray[np.bool_]:
        """Return which arms' own plays and all other plays contradict each other.

        That is, the exact interval of the own plays and the asymptotic one of the tree without them have nothing in
        common, each at half of the level over the number of arms with a tree. The latter is that of the unbiased
        estimate, wider by its bias bound; its variance is the larger of that at the estimate and that at the nearest
        end of the former. Arms that have new plays are tested, and all of them when the plays have grown by a tenth.
        """
        started(self)
        n, _ = self._direct
        test = self.served_ & (n > 0)
        if self._plays < TEST_ALL_GROWTH * self._all_tested and level == self._tested_level:
            test &= n > self._tested
        else:
            self._all_tested, self._tested_level = self._plays, level
        self._tested = n.copy()
        if test.any():
            self._contradicted[test] = self._contradict(np.flatnonzero(test), 0.5 * level / self.n_events_)
        return self._contradicted.copy()

    def _contradict(self, arms: NDArray[np.intp], alpha: float) -> NDArray[np.bool_]:
        value, variance, off = self._without_own(arms)
        n, x = self._direct
        own = kt_interval(n[arms], x[arms], alpha)
        apart = np.where(value < own.lower, own.lower - value, np.minimum(own.upper - value, 0.0))
        at_end = variances_at(self._forest, self._counts, self._own, arms, apart, variance, self._rewards[0])
        nats = asymptotic_threshold(max(self._plays, 1), alpha)
        return np.asarray(np.abs(apart) > off + np.sqrt(2.0 * nats * at_end))

    def _smoothed(self, rejected: Rejected) -> _Standing:
        """Return the smoothed estimates, worked out once for what was told."""
        by_graph = self._by_graph(rejected)
        if self._ranked is None or (self._ranked.by_graph != by_graph).any():
            n, x = self._direct
            own = (x + 0.5) / (n + 1.0)
            direct = Estimated(own, own * (1.0 - own) / np.maximum(n, 0.5), np.zeros(len(n)))
            value, variance = smoothed_values(self._forest, self._walks())
            trees = Estimated(value, variance, direct.bias_bound)
            self._ranked = _Standing.of(direct, trees, trees.variance < direct.variance, by_graph)
        return self._ranked

    def _plain(self, rejected: Rejected) -> _Standing:
        """Return the unbiased estimates, worked out once for what was told."""
        by_graph = self._by_graph(rejected)
        if self._now is None or (self._now.by_graph != by_graph).any():
            self._plain_walks = self._forest.walks()
            trees = Estimated(*walk_plain(self._forest, self._counts, *self._rewards, self._plain_walks))
            direct = self._own_means()
            error, its_error = (some.variance + some.bias_bound**2 for some in (direct, trees))
            self._now = _Standing.of(direct, trees, its_error < error, by_graph)
        return self._now

    def _own_means(self) -> Estimated:
        """Return the unbiased estimates from the arms' own plays, as those of trees of one leaf."""
        n, x = self._direct
        low, high = self._rewards
        seen = n > 0
        value = np.divide(x, n, out=np.full(len(n), 0.5 * (low + high)), where=seen)
        share = shrunk_share(x, n, x, n, 2)
        variance = np.divide(share * (1.0 - share), n, out=np.zeros(len(n)), where=seen)
        return Estimated(value, variance, np.where(seen, 0.0, high - low))

    def _by_graph(self, rejected: Rejected) -> NDArray[np.bool_]:
        started(self)
        return self.served_ if rejected is None else self.served_ & ~rejected

    def _walks(self) -> Walk:
        """Return the smoothed walks through all trees, made once for what was told."""
        if self._walked is None:
            self._walked = self._forest.walks()
            walk_smoothed(self._forest, self._counts, self._walked)
        return self._walked

    def _moved(self, standing: _Standing, leader: int, arms: NDArray[np.intp]) -> tuple[Floats, Floats, float]:
        """Return, summed over the rounds, the squares of what they moved the leader less each arm, each arm, and it."""
        n, _ = self._direct
        own, plays = (self._arm_of_action, n, standing.value, standing.tree), Plays(*self._rounds.arrays())
        apart, alone, of_leader = shared_influences(
            self._forest, self._plain_walks, plays, self._depth_of_action, own, leader, arms
        )
        return apart, alone, of_leader


@dataclass
class _Standing:
    """What is known of every arm, by its tree or not: value, variance, bias bound."""

    value: Floats
    variance: Floats
    bias_bound: Floats
    tree: NDArray[np.bool_]
    by_graph: NDArray[np.bool_]

    @classmethod
    def of(cls, direct: Estimated, trees: Estimated, better: NDArray[np.bool_], by_graph: NDArray[np.bool_]) -> Self:
        """Return for each arm what its tree says, where the graph allows and that is better, else its own plays."""
        tree = by_graph & better
        value, variance, off = (np.where(tree, said, own) for said, own in zip(trees, direct, strict=True))
        return cls(value, variance, off, tree, by_graph.copy())
