"""A stopping rule by bets along the differences of arms: all tables for which another arm is better are refuted."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from pgcpe._checks import one_of
from pgcpe.confidence.intervals import probability
from pgcpe.estimators.base import PairwiseEstimator
from pgcpe.estimators.claims import Claim
from pgcpe.estimators.pooled_bglm import PooledBGLM
from pgcpe.estimators.pooled_trees import PooledTrees
from pgcpe.estimators.table_model import TableModel
from pgcpe.estimators.tilted_bets import epoch_start, epochs_begun
from pgcpe.estimators.tilted_equations import TiltedEquations
from pgcpe.estimators.tilted_pairs import TiltedPairs
from pgcpe.estimators.tilted_tables import TiltedTables
from pgcpe.policies.rules.base import NOT_YET, RuledOut, StoppingRule, Verdict
from pgcpe.policies.rules.leader_bounds import LeaderBounds
from pgcpe.policies.rules.state import PolicyState
from pgcpe.policies.rules.stopping import (
    BY_BOUNDS,
    BY_PLAYS,
    PairwiseGLR,
    SeparatedOrRuledOut,
    assumed_by,
    by_direct_plays,
    no_better,
    without_merged,
)

__all__ = ["TiltedMartingale"]

SomeBets = TiltedTables | TiltedEquations | TiltedPairs

Floats = NDArray[np.float64]

MARGIN = 0.05
"""So much more evidence than the level needs is asked, in nats: a search may end that much above the least."""

BY_BETS = "bets on {}"


@cache
def _threads() -> ThreadpoolController:
    """Return what sets the threads of linear algebra: a search has few variables, and many threads slow it tenfold."""
    return ThreadpoolController()


class TiltedMartingale(StoppingRule):
    """Stop when, for every other arm, its bets refute all tables for which it is better than the leader by epsilon.

    Of each arm there is one process, fixed before the plays: a bet, for every set of tables, along the direction in
    which the difference between it and those that led moves (`pgcpe.confidence.tilted`). If the arm returned is worse
    than the best by more than epsilon, the true tables are among those for which the best arm is better. So the process
    of that one arm has to be large at the truth, which it ever is with probability at most `level`. No union over arms
    is needed, and no leader named beforehand; at the midpoints of tables and estimates what a bet says of all else
    cancels to third order.

    Where hidden causes leave no tables a process belongs to the leader and an arm, and bets towards that leader
    (`TiltedPairs`): whichever led could be returned, so the level is that of a pair. There may be pairs without bets,
    and those whose bets use few of the plays. So an arm can be ruled out by bounds, too, as the exact rule has them.

    Numerical: the set of tables that is refuted is exact; that a search found those with the least evidence is not
    proved. It is only made where the estimates say stop to second order, the arm that is hardest to rule out first. An
    arm can be ruled out by direct plays in pairs instead, which have an error probability of their own, and which alone
    decide once direct plays contradict the graph.

    Parameters
    ----------
    level
        The error probability of a process: that of an arm, or that of a leader and an arm.
    otherwise
        The rule for direct plays.
    on
        What the bets are on: ``"tables"``, the ``"equations"`` of a BGLM, or ``"pairs"``, where there are neither.
    bounds
        The bounds that rule out arms, too; None for none.
    """

    after_conflict = SeparatedOrRuledOut.after_conflict

    def __init__(
        self, level: float, otherwise: PairwiseGLR, *, on: str = "tables", bounds: LeaderBounds | None = None
    ) -> None:
        self._asked = MARGIN - math.log(probability("level", level))
        one_of("on", on, ("tables", "equations", "pairs"))
        self._otherwise, self._on, self._bounds = otherwise, on, bounds
        self._bets: SomeBets | None = None
        self._witness: dict[tuple[int, ...], Floats] = {}  # tables for which an arm is better, not refuted by its bets
        self._in_the_way = -1  # the arm that was not ruled out last time
        self._found: RuledOut | None = None
        self._verdict = NOT_YET

    def next_look(self, n_plays: int) -> int:
        """Return when the next epoch begins: the leader and the estimates of then are those to bet by."""
        return epoch_start(epochs_begun(n_plays))

    def _follow(self, state: PolicyState) -> SomeBets:
        """Return the bets; an epoch begins if it is time."""
        if self._bets is None:
            self._bets = self._made(state)
        self._bets.follow(state.leader, state.n_plays)
        return self._bets

    def _made(self, state: PolicyState) -> SomeBets:
        bandit = state.bandit
        if self._on == "pairs":
            return TiltedPairs(bandit, state.estimator(PooledTrees).rounds, state.epsilon)
        if self._on == "equations":
            return TiltedEquations(state.estimator(PooledBGLM), state.epsilon)
        counts = state.estimator(TableModel).table_counts
        return TiltedTables(counts, bandit.reward_array, len(bandit.arms), state.epsilon)

    def _in_doubt(self, state: PolicyState) -> bool:
        """Return whether the graph or the link is: then direct plays decide."""
        refuted = self._on == "equations" and not any(isinstance(model, PooledBGLM) for model in state.models)
        return bool(state.conflicts.any()) or refuted

    def _estimated(self, state: PolicyState) -> Floats:
        """Return the evidence against each arm to second order, in nats; infinite at the leader."""
        gap = np.maximum(state.cautious.gap + state.epsilon, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            evidence = np.where(gap > 0, gap**2 / (2.0 * state.cautious.variance), 0.0)
        evidence[state.leader] = math.inf
        return evidence

    def unresolved(self, state: PolicyState) -> NDArray[np.bool_]:
        """Return which arms direct plays do not rule out: bets rule out all others together, or none."""
        return self._otherwise.unresolved(state)

    def plays_to_resolve(self, state: PolicyState, gap: float) -> float:
        """Return about how many plays resolve a gap to the nearest arm, if its variance falls as the plays grow."""
        if self._in_doubt(state):
            return self._otherwise.plays_to_resolve(state, gap)
        variance = state.cautious.variance[int(np.argmin(self._estimated(state)))]
        return float(2.0 * variance * state.n_plays * self._asked / gap**2)

    def check(self, state: PolicyState) -> Verdict:
        """Return whether all others are ruled out."""
        if self._in_doubt(state):
            return without_merged(self._otherwise.check(state), state)
        if not self._verdict.stop:  # tables once refuted stay so
            self._verdict = self._look(state)
        return self._verdict

    def _look(self, state: PolicyState) -> Verdict:
        """Return whether all others are ruled out now."""
        bets, evidence = self._follow(state), self._estimated(state)
        left = self._otherwise.unresolved(state)
        if not bets.epochs or (evidence[left] < self._asked).any():
            return NOT_YET
        ends = None if self._bounds is None else self._bounds.of(state, left)
        bounded = left & (False if ends is None else ends.upper <= ends.lower[state.leader] + state.epsilon)
        left = left & ~bounded
        if (left & ~bets.bets_against(state.leader)).any() or self._still_in_the_way(bets, state, left):
            return NOT_YET
        nats = np.where(bounded, math.nan, self._otherwise.evidence(state))
        nats[state.leader] = math.nan
        hardest_first = np.argsort(np.where(left, evidence, math.inf), kind="stable")[: np.count_nonzero(left)]
        with _threads().limit(limits=1, user_api="blas"):
            for arm in hardest_first:
                nats[arm] = self._least(bets, state.leader, int(arm))
                if not nats[arm] >= self._asked:
                    self._in_the_way = int(arm)
                    return NOT_YET
        by_bets = BY_BETS.format(bets.bet_on)
        by = [by_bets if bet else BY_BOUNDS if bound else BY_PLAYS for bet, bound in zip(left, bounded, strict=True)]
        by[state.leader] = ""
        is_leader = np.arange(len(by)) == state.leader
        bound = None if ends is None else np.where(is_leader, ends.lower, ends.upper)
        self._found = RuledOut(state.leader, tuple(by), nats, bound)
        reason, assumed = self._reason(state, nats, left, bounded), assumed_by(state, PairwiseEstimator)
        return Verdict(True, reason, "numerical", state.leader, assumed)

    def _still_in_the_way(self, bets: SomeBets, state: PolicyState, left: NDArray[np.bool_]) -> bool:
        """Return whether tables found earlier are still not refuted: then no search is needed."""
        arm = self._in_the_way
        process = bets.process(state.leader, arm)
        if arm < 0 or not left[arm] or process not in self._witness:
            return False
        null = bets.null(state.leader, arm)
        return null is not None and null.contradicts(self._witness[process], self._asked)

    def _least(self, bets: SomeBets, leader: int, arm: int) -> float:
        """Return the least evidence of an arm against tables for which it is better; -infinity if it is not known."""
        null = bets.null(leader, arm)
        if null is None:
            return math.inf
        least, self._witness[bets.process(leader, arm)] = null.least(self._asked)
        return least

    def _reason(self, state: PolicyState, nats: Floats, by_bets: NDArray[np.bool_], bounded: NDArray[np.bool_]) -> str:
        """Return in words by what the others are ruled out."""
        others = {"bounds": np.count_nonzero(bounded)}
        others["direct plays"] = len(nats) - 1 - np.count_nonzero(by_bets) - others["bounds"]
        if not np.isfinite(nats[by_bets]).any():  # no bets, or both depend on all probabilities alike
            others["the graph"] = np.count_nonzero(by_bets)
            by = " and ".join(f"{n} by {argument}" for argument, n in others.items() if n)
            return f"{no_better(state)}: all others are ruled out, {by}"
        nearest = int(np.where(by_bets, nats, math.inf).argmin())
        more = "".join(f", and {argument} {n} of the others" for argument, n in others.items() if n)
        return (
            f"{no_better(state)} for any probabilities that the plays allow: bets on them rule out "
            f"{state.bandit.arms[nearest]} least, by {nats[nearest]:.2f} of {self._asked:.2f} nats{more}"
        )

    def claims(self, state: PolicyState) -> list[Claim]:
        """Return what the estimates take from the graph."""
        if self._on == "pairs":
            return state.estimator(PooledTrees).claims()
        return state.estimator(TableModel).claims() if self._on == "tables" else state.estimator(PooledBGLM).claims()

    def unresolved_without(
        self, state: PolicyState, parted: PolicyState, left_out: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Return which arms direct plays do not rule out of those whose estimates are left out."""
        return by_direct_plays(self._otherwise, state, parted, left_out)

    def ruled_out(self) -> RuledOut | None:
        """Return by which argument each arm was ruled out when it stopped."""
        return self._found
