"""The contracts of the three rules of a policy."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgcpe.bandit import CausalBandit
from pgcpe.confidence.intervals import Intervals
from pgcpe.estimators.claims import Claim
from pgcpe.plays.actions import Action
from pgcpe.policies.rules.state import PolicyState, best_arm

__all__ = [
    "Progress",
    "RecommendationRule",
    "RuledOut",
    "SamplingRule",
    "Seed",
    "StoppingRule",
    "Verdict",
    "n_arms_of",
]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

Seed = int | np.random.SeedSequence | np.random.Generator | None
"""What a generator is made of; a generator itself is drawn from once."""


class Verdict(NamedTuple):
    """Whether to stop, why, what that is worth, for which arm, and what it rests on.

    Attributes
    ----------
    stop
        Whether to stop now.
    reason
        Why, in words.
    certificate
        ``"direct"``, ``"exact"``, ``"numerical"``, ``"asymptotic"``, ``"heuristic"``, or None.
    arm
        The index of the arm that is within epsilon of the best.
    assumptions
        What that rests on beyond honest reporting, in words; none where direct plays alone decided.
    """

    stop: bool
    reason: str = ""
    certificate: str | None = None
    arm: int = -1
    assumptions: tuple[str, ...] = ()


NOT_YET = Verdict(False)


class RuledOut(NamedTuple):
    """By which argument a rule has ruled out each arm but one, for `Result.table`.

    Attributes
    ----------
    leader
        The index of the arm that is left.
    by
        For each arm the argument, in words; empty for the leader.
    nats
        Array over the arms: the evidence, infinite where the argument needs none, NaN for the leader.
    bound
        Array over the arms, as shares of the reward's range: the upper end that was compared, of the leader the lower
        end; None where none was.
    """

    leader: int
    by: tuple[str, ...]
    nats: Floats
    bound: Floats | None = None


class Progress(NamedTuple):
    """How far a rule is with each arm but the leader, for those who want to see it.

    Attributes
    ----------
    nats, asked
        Arrays over the arms: the evidence against each, and how much rules it out; infinite evidence at the leader.
    bounds
        The ends that are compared instead, where they are: an arm that ends at the leader's lower end plus epsilon, or
        below, is ruled out.
    """

    nats: Floats
    asked: Floats
    bounds: Intervals | None = None


class SamplingRule(ABC):
    """Chooses the next actions. It may look at anything: the guarantee does not rest on it.

    Attributes
    ----------
    planned
        Whether plays are planned ahead to a budget: such a plan is kept whatever else is told, and the rule knows no
        epsilon and no delta.
    """

    planned: ClassVar[bool] = False

    @abstractmethod
    def choose(self, state: PolicyState, pending: Sequence[Action] = ()) -> list[Action]:
        """Return the actions of the next iteration, none if nothing is left to play.

        Parameters
        ----------
        state
            What is known.
        pending
            Plays that were asked for and not yet told, those that were chosen before in the same batch among them. Each
            is to count as one more play of its action (`PolicyState.expecting`): a rule that leaves them out asks for
            the same plays over and over in a large batch.
        """


class RecommendationRule:
    """Says which arm would be returned now, by default that of the highest midpoint. No guarantee rests on it.

    Attributes
    ----------
    by_intervals
        Whether it ranks by ends of intervals: what is recommended rests then on those of now, not on those of when they
        were worked out last.
    """

    by_intervals: ClassVar[bool] = True

    def estimates(self, state: PolicyState) -> Floats:
        """Return an array over the arms, as shares of the reward's range: the estimates to rank by and to report."""
        return state.intervals.midpoint

    def eligible(self, state: PolicyState) -> Bools | None:
        """Return a boolean array over the arms: which may still be recommended; None for all."""
        return None

    def recommend(self, state: PolicyState) -> PolicyState:
        """Return the state with the rule's estimates and leader."""
        ranked = state.changed(estimates=self.estimates(state))
        return ranked.changed(leader=self.leader(ranked))

    def leader(self, state: PolicyState) -> int:
        """Return the arm of the largest of ``state.estimates``; ties go to fewest plays, then to the random order."""
        return best_arm(state.estimates, state.plays, state.rank, allowed=self.eligible(state))


class StoppingRule(ABC):
    """Decides when to stop. It alone carries the guarantee, and computes what it claims from all arms itself.

    Attributes
    ----------
    after_conflict
        What a conflict of direct plays with the graph changes, in words.
    """

    after_conflict: str = "from now on direct plays alone count there"

    @abstractmethod
    def check(self, state: PolicyState) -> Verdict:
        """Return whether to stop now."""

    def next_look(self, n_plays: int) -> float:
        """Return the first number of plays after this one at which it has to be asked, by default infinity.

        It is asked at other times too.
        """
        return math.inf

    def contenders(self, state: PolicyState) -> Bools:
        """Return which arms only intervals can rule out, by default all but the leader."""
        return np.asarray(np.arange(len(state.plays)) != state.leader)

    def unresolved(self, state: PolicyState) -> Bools:
        """Return which arms are not ruled out yet, by default all but the leader."""
        return np.asarray(np.arange(len(state.plays)) != state.leader)

    def upper(self, state: PolicyState) -> Floats:
        """Return the upper ends by which challengers are ranked, by default those of the intervals."""
        return state.intervals.upper

    def plays_to_resolve(self, state: PolicyState, gap: float) -> float:
        """Return about how many plays it takes to resolve a gap; infinite if unknown."""
        return math.inf

    def shown(self, state: PolicyState) -> Intervals:
        """Return the intervals to report beside the verdict, by default those of the estimators within [0, 1]."""
        return state.intervals.clipped

    def ruled_out(self) -> RuledOut | None:
        """Return by which argument each arm was ruled out when it stopped; None if it does not say."""
        return None

    def claims(self, state: PolicyState) -> Sequence[Claim]:
        """Return what a stop takes from the graph, by the arms that it says something of; by default nothing."""
        return ()

    def unresolved_without(self, state: PolicyState, parted: PolicyState, left_out: Bools) -> Bools | None:
        """Return which arms would not be ruled out by less than what a stop rested on; None if it does not say.

        Parameters
        ----------
        state
            That of the stop.
        parted
            The same with other direct plays of the arms: without those that count by the graph alone.
        left_out
            Boolean array over the arms: of which the graph may say nothing.
        """
        return None

    def progress(self, state: PolicyState) -> Progress | None:
        """Return how far it is with each arm; None if it does not say."""
        return None

    def evidence_so_far(self, state: PolicyState) -> Progress | None:
        """Return the part of `progress` that a table of a run that goes on shows: no bound is worked out for it."""
        return self.progress(state)


def n_arms_of(bandit: CausalBandit) -> int:
    """Return the number of arms of what must be a bandit."""
    if not isinstance(bandit, CausalBandit):
        raise TypeError(f"bandit must be a CausalBandit, but got {type(bandit).__name__}")
    return len(bandit.arms)
