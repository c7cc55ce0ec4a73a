"""The graph tested while a policy uses it, and members of merged classes played before a certificate rests on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgcpe.bandit import CausalBandit
from pgcpe.confidence.independence import EqualMeans
from pgcpe.confidence.pairwise import transport_costs
from pgcpe.estimators.graph_statements import Statement, statements_of
from pgcpe.estimators.graph_test import GraphTest, StatementCounts
from pgcpe.plays.actions import Action
from pgcpe.plays.samples import Samples, SamplesBuffer
from pgcpe.policies.rules.base import SamplingRule
from pgcpe.policies.rules.state import PolicyState

__all__ = ["GraphWatch", "MemberCheck", "MembersInTurn", "Refutation"]

FIRST_LOOK, GROWTH, MANY = 20, 1.07, 400
"""The test is looked at after so many plays, and whenever they have grown by the factor: once more by it for every so
many statements, so that looks take a small part of the time of a study."""

LEAST_GAP = 0.05
"""A member whose mean is above the recommended arm's by less than this is not waited for."""

ENOUGH = 3.0
"""So much evidence of direct plays, in nats, that a member is not better by more than that stands for all plays asked.

At one look about exp(-3) = .05 of the members that are better have it by chance; twenty plays leave a tenth of those
unnoticed that are better by .2.
"""

SHOWN = 3


class Refutation(NamedTuple):
    """What refuted a graph: a statement of it, in words with its numbers, and after how many plays.

    Attributes
    ----------
    statement
        The strongest of those refuted.
    words
        It with its numbers.
    n_plays
        The plays told by then.
    """

    statement: Statement
    words: str
    n_plays: int

    def __str__(self) -> str:
        return f"{self.words}, after {self.n_plays:,} plays"


class GraphWatch:
    """Tests all that the graph says of the plays told, at fixed numbers of plays.

    Half of its level goes to the e-values of all statements (`GraphTest`), half to blocks: for each merged class of
    which several members may be played, rounds of one play of each member against a common mean
    (`pgcpe.confidence.independence.EqualMeans`). Statements, weights and classes are fixed before data.

    Parameters
    ----------
    level
        The probability of refuting a right graph.

    Attributes
    ----------
    refutation
        What refuted the graph; None as long as nothing has.
    """

    def __init__(self, level: float) -> None:
        self.level = level
        self.refutation: Refutation | None = None

    def start(self, bandit: CausalBandit) -> None:
        """Fix what is tested, for the variables that a bandit records."""
        possible = list(dict.fromkeys([*bandit.playable, *(a for a in bandit.listed if bandit.may_play(a))]))
        coding, self._reward, self._scale = bandit.coding, bandit.reward, bandit.reward_scale
        made = statements_of(
            bandit.graph,
            bandit.states,
            possible,
            variables=coding.variables,
            reward=bandit.reward,
            factors=bandit.factors,
        )
        self._test = GraphTest(StatementCounts(bandit.graph, made, bandit.states, coding, possible))
        playable = [tuple(a for a in some if bandit.may_play(a)) for some in bandit.merged.values()]
        self._classes = [some for some in playable if len(some) > 1]
        self._blocks = [EqualMeans(len(some)) for some in self._classes]
        self._at = {a: (i, j) for i, some in enumerate(self._classes) for j, a in enumerate(some)}
        self._due, self._growth = FIRST_LOOK, GROWTH ** (1 + min(len(made) // MANY, 4))

    def look(self, told: SamplesBuffer) -> bool:
        """Look at all numbers of plays that are due, and return whether the graph is refuted now for the first time."""
        if self.refutation is not None:
            return False
        while self._due <= len(told) and self.refutation is None:
            new = told.samples_between(self._test.n_plays, self._due)
            self._test.look(new)
            self._add(new)
            self._due = max(self._due + 1, math.ceil(self._due * self._growth))
            self.refutation = self._found()
        return self.refutation is not None

    def _add(self, new: Samples) -> None:
        """Hand the rewards of members to the blocks."""
        places = [self._at.get(action) for action in new.actions]
        if any(place is not None for place in places):
            for which, reward in zip(new.which.tolist(), new.known_rewards.tolist(), strict=True):
                if (place := places[which]) is not None:
                    self._blocks[place[0]].add(place[1], reward)

    def _found(self) -> Refutation | None:
        """Return what has reached its threshold."""
        test, n = self._test, self._test.n_plays
        each = self.level / 2.0 if self._blocks else self.level
        if test.is_refuted(each):
            strongest = int(np.argmax(np.log(test.weights) + test.highest))
            statement = test.counts.statements[strongest]
            return Refutation(
                statement,
                f"{statement} (e-value {math.exp(min(test.highest[strongest], 700.0)):.3g}; "
                f"all together {math.exp(min(test.combined, 700.0)):.3g} where {1.0 / each:.3g} refutes)",
                n,
            )
        for some, block in zip(self._classes, self._blocks, strict=True):
            if block.log_factor >= math.log(len(self._blocks) / each):
                values = map(self._scale.text, self._scale.value(block.means))
                means = ", ".join(f"{a}: {m}" for a, m in zip(some[:SHOWN], values, strict=False))
                more = f" and {len(some) - SHOWN} more" if len(some) > SHOWN else ""
                merged = Statement("merging", self._reward, None, members=some)
                return Refutation(merged, f"equal effect of {means}{more} ({block.rounds} plays of each)", n)
        return None


class MemberCheck:
    """No certificate that rests on merging before the members of the merged classes were played themselves.

    Every member that may be played needs a number of plays, or fewer that put it below the recommended arm by
    themselves; and none may have a direct mean above the recommended arm's by more than epsilon, at least .05. It
    guards against a graph that merges arms of different effect; it is no part of the guarantee.

    Parameters
    ----------
    bandit
        The question.
    least
        How many plays of each member, where fewer do not say enough; 0 for no check.
    """

    def __init__(self, bandit: CausalBandit, least: int) -> None:
        self.least = least
        several = np.bincount(bandit.arm_of_listed, minlength=len(bandit.arms)) > 1
        self._merged = several[bandit.arm_of_listed]
        self._playable = np.array([bandit.may_play(a) for a in bandit.listed], dtype=np.bool_)

    def lacking(self, state: PolicyState, arm: int) -> list[Action]:
        """Return one play of every member that lacks plays, or looks better than an arm to certify; that arm too."""
        if not self.least:
            return []
        listed, plays = state.bandit.listed, state.listed_plays
        h, gap = state.bandit.listed_index(state.bandit.arms[arm]), max(state.epsilon, LEAST_GAP)
        asked = self._merged & self._playable
        below = transport_costs(plays, state.listed_rewards, h, gap) >= ENOUGH
        below[h] = False
        if (few := asked & (plays < self.least) & ~below).any():
            few[h] |= self._playable[h] and plays[h] < self.least  # or its plays say little of the others
            return [listed[i] for i in np.flatnonzero(few)]
        means = state.listed_rewards / np.maximum(plays, 1.0)
        level = means[h] if plays[h] else state.estimates[arm]
        better = np.flatnonzero(asked & (means > level + gap))
        again = [listed[h]] if self._playable[h] and len(better) else []
        return [*again, *(listed[i] for i in better if i != h)]

    def never_played(self, state: PolicyState) -> str:
        """Return in words which members of merged classes were never played; empty if none."""
        left = np.flatnonzero(self._merged & (state.listed_plays == 0))
        named = ", ".join(str(state.bandit.listed[i]) for i in left[:SHOWN])
        more = f" and {len(left) - SHOWN} more" if len(left) > SHOWN else ""
        return f"merged and never played: {named}{more}" if len(left) else ""


class MembersInTurn(SamplingRule):
    """Another rule's choice, with the members of a merged class played in turn.

    If the graph is right that is all the same; if it is not, the plays of each member are there to show it.
    """

    def __init__(self, rule: SamplingRule, bandit: CausalBandit) -> None:
        self._rule = rule
        self._members = {
            arm: playable
            for arm, some in bandit.merged.items()
            if len(playable := [bandit.listed_index(a) for a in some if bandit.may_play(a)]) > 1
        }

    def choose(self, state: PolicyState, pending: Sequence[Action] = ()) -> list[Action]:
        """Return the actions that the other rule chooses, each by its member of the fewest plays so far."""
        chosen = self._rule.choose(state, pending)
        if not self._members:
            return chosen
        plays: NDArray[np.float64] = state.listed_plays.copy()
        listed, found = state.bandit.listed, []
        for action in chosen:
            if action in self._members:
                member = min(self._members[action], key=lambda i: (plays[i], i))
                plays[member] += 1.0
                action = listed[member]
            found.append(action)
        return found
