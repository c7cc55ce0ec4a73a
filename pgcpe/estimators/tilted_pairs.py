"""Bets on pairs of arms where hidden causes leave no tables: by the factors of their formulas and by direct plays.

A process belongs to a leader and an arm, and bets towards the leader at all times. Its factors are such that, within a
play, each is conditioned on all before it: so what is bet on them in turn has a conditional mean of one, and their
product is a supermartingale. Two trees that share plays are not like that: given what one tree has seen, what is bet in
the other has another mean. There are two ways out.

* The chain P(variable | all before) of the variables of both formulas, if it is small.
* The tree of one arm, and for the other the mean of its own plays, which are left out of the tree: no play is in both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgcpe.bandit import CausalBandit
from pgcpe.estimators.tilted_bets import RowwiseBets, epochs_begun, unit_rewards
from pgcpe.graphs.answers import factors_of
from pgcpe.graphs.structure import causal_order
from pgcpe.models.arms_in_pairs import ArmsOnChain, Step, TreeAndMean
from pgcpe.models.second_order import DifferenceOfActions
from pgcpe.models.tilted_search import TiltedNull
from pgcpe.plays.actions import Action
from pgcpe.plays.samples import Samples, SamplesBuffer

__all__ = ["MOST_CHAIN_CELLS", "MOST_TREE_CELLS", "PairBets", "TiltedPairs"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MOST_CHAIN_CELLS = 64
"""A chain of more configurations, the reward's two ends among them, has more rows than plays fill."""

MOST_TREE_CELLS = 256
"""A tree of more leaves takes minutes to search."""

LEADER, ARM = 0, 1


class Factor(NamedTuple):
    """P(variable | given) as it is counted: in plays of some actions where other variables have a state.

    Attributes
    ----------
    variable
        Its column in the coding; -1 for the reward.
    card
        The number of states of the variable.
    given, cards
        The columns of the variables by whose states the rows go, and the numbers of these.
    fixed, codes
        The columns of the variables that must have a state, and the codes of these.
    condition
        The names of all that it is conditioned on; None for the mean of direct plays.
    arm
        For this arm's own plays: that of which it is the mean, or that whose plays are in another factor.
    """

    variable: int
    card: int
    given: tuple[int, ...]
    cards: tuple[int, ...]
    fixed: tuple[int, ...]
    codes: tuple[int, ...]
    condition: frozenset[str] | None
    arm: int = -1

    @property
    def rows(self) -> int:
        """The number of its rows."""
        return math.prod(self.cards)

    def counted(self, bandit: CausalBandit, action: Action) -> bool:
        """Return whether plays of an action count: direct ones of a mean, of others those that show the factor."""
        own = self.arm >= 0 and bandit.arm_index(action) == self.arm
        if self.condition is None or own:
            return own and self.condition is None
        variable = bandit.coding.variables[self.variable]
        return bandit.is_invariant_under(frozenset(action.variables), variable, self.condition)


class PairBets(RowwiseBets):
    """The bets of a leader against an arm.

    Parameters
    ----------
    bandit
        The question.
    factors
        The rows bet on; the last ones are those of the reward.
    pair
        How the difference of the two, as actions 0 and 1, depends on them.
    epsilon
        How much worse than the leader than that the arm is not to be to be ruled out.

    Attributes
    ----------
    factors
        As they were given.
    """

    def __init__(
        self, bandit: CausalBandit, factors: Sequence[Factor], pair: DifferenceOfActions, epsilon: float
    ) -> None:
        self._bandit, self.factors = bandit, factors
        values, unit = unit_rewards(bandit.reward_array)
        width = np.repeat([2 if f.variable < 0 else f.card for f in factors], [f.rows for f in factors])
        reward_row = sum(f.rows for f in factors if f.variable >= 0)
        super().__init__(pair, width, reward_row, values, epsilon / unit)
        self._seen = [np.zeros((f.rows, f.card)) for f in factors]
        self._shown: dict[Action, Bools] = {}
        self._told = 0

    def follow(self, rounds: SamplesBuffer) -> None:
        """Count what was told since, and begin the epochs that are due between."""
        while self._told < len(rounds):
            end = min(self.due, len(rounds))
            self.count(rounds.samples_between(self._told, end))
            if self._told == self.due:
                self.begin(LEADER, self._told)

    def difference(self, entries: Floats) -> float:
        """Return how much more the leader is worth than the arm, at the probabilities of all entries."""
        return self._pair.difference(entries, LEADER, ARM)[0]

    def count(self, samples: Samples) -> None:
        """Count plays."""
        for action in samples.actions:
            if action not in self._shown:
                self._shown[action] = np.array([f.counted(self._bandit, action) for f in self.factors])
        shown = np.array([self._shown[action] for action in samples.actions])[samples.which]
        for factor, seen, some in zip(self.factors, self._seen, shown.T, strict=True):
            codes = samples.codes[some & (samples.codes[:, list(factor.fixed)] == factor.codes).all(axis=1)]
            row = np.zeros(len(codes), dtype=np.int64)
            for column, card in zip(factor.given, factor.cards, strict=True):
                row = row * card + codes[:, column]
            seen += np.bincount(row * factor.card + codes[:, factor.variable], minlength=seen.size).reshape(seen.shape)
        self._told += len(samples)

    def _counts(self) -> tuple[Floats, Floats]:
        told = list(zip(self.factors, self._seen, strict=True))
        by_state = np.concatenate([seen for factor, seen in told if factor.variable < 0])
        ends = np.stack([by_state @ (1.0 - self._values), by_state @ self._values], axis=1)
        others = [seen.ravel() for factor, seen in told if factor.variable >= 0]
        return np.concatenate([*others, ends.ravel()]), by_state

    def _apart(self, tables: Floats, leader: int) -> tuple[Floats, Floats]:
        value, slope = self._pair.difference(tables, leader, 1 - leader)
        gap, slopes = np.zeros(2), np.zeros((2, len(tables)))
        gap[1 - leader], slopes[1 - leader] = value, slope
        return gap, slopes


class TiltedPairs:
    """The bets of every leader against every arm, followed as they are asked for.

    Parameters
    ----------
    bandit
        The question; direct plays of an arm are those of all that are merged with it.
    rounds
        All plays, which grow.
    epsilon
        How much worse than the leader than that an arm is not to be to be ruled out.
    """

    bet_on = "the pair"

    def __init__(self, bandit: CausalBandit, rounds: SamplesBuffer, epsilon: float) -> None:
        self._bandit, self.rounds, self._epsilon = bandit, rounds, epsilon
        self._column = {v: j for j, v in enumerate(bandit.coding.variables)}
        self._order = [v for v in causal_order(bandit.graph) if v in self._column and v != bandit.reward]
        self._tree = [self._factors_of_tree(i) for i in range(len(bandit.arms))]
        self._bets: dict[tuple[int, int], PairBets | None] = {}
        self._plays = 0

    @property
    def epochs(self) -> int:
        """How many have begun."""
        return epochs_begun(self._plays)

    def follow(self, leader: int, plays: int) -> None:
        """Take note of how many plays there are."""
        self._plays = plays

    def process(self, leader: int, arm: int) -> tuple[int, ...]:
        """Return which process is to refute that an arm is better than a leader."""
        return leader, arm

    def bets_against(self, leader: int) -> Bools:
        """Return for which arms the leader bets against them."""
        return np.array([arm != leader and self.of(leader, arm) is not None for arm in range(len(self._tree))])

    def null(self, leader: int, arm: int) -> TiltedNull | None:
        """Return the probabilities for which an arm is better than the leader, and what the pair's bets say of them.

        None where there are none, since both depend on them alike and epsilon is positive.
        """
        if (bets := self.of(leader, arm)) is None:
            raise ValueError(f"there must be bets of arm {leader} against arm {arm}, but there are none")
        bets.follow(self.rounds)
        return bets.null(LEADER, ARM)

    def of(self, leader: int, arm: int) -> PairBets | None:
        """Return the bets of a leader against an arm, by the graph alone; None where there can be none."""
        if (leader, arm) not in self._bets:
            self._bets[leader, arm] = self._made(leader, arm)
        return self._bets[leader, arm]

    def _made(self, leader: int, arm: int) -> PairBets | None:
        chain = self._on_chain(leader, arm)
        if chain is not None:
            return chain
        for mean, of_tree in ((leader, arm), (arm, leader)):
            factors = self._tree[of_tree]
            if factors is not None and self._played(mean):
                return self._beside_mean(factors, mean, tree_first=of_tree == leader)
        if self._played(leader) and self._played(arm):
            return self._beside_mean([self._mean_of(arm)], leader, tree_first=False)
        return None

    def _played(self, arm: int) -> bool:
        """Return whether an arm can have direct plays."""
        return any(self._bandit.may_play(action) for action in self._bandit.merged[self._bandit.arms[arm]])

    def _beside_mean(self, factors: Sequence[Factor], mean: int, *, tree_first: bool) -> PairBets:
        """Return bets on a tree, or another mean, and on the mean of an arm, whose plays are left out of the tree."""
        apart = [factor if factor.condition is None else factor._replace(arm=mean) for factor in factors]
        pair = TreeAndMean([factor.card for factor in factors[:-1]], tree_first=tree_first)
        return PairBets(self._bandit, [*apart, self._mean_of(mean)], pair, self._epsilon)

    def _mean_of(self, arm: int) -> Factor:
        return Factor(-1, len(self._bandit.reward_array), (), (), (), (), None, arm)

    def _card(self, variable: str) -> int:
        return len(self._bandit.states[variable])

    def _code(self, arm: int, variable: str) -> int:
        return list(self._bandit.states[variable]).index(self._bandit.canonical[arm][variable])

    def _factors_of_tree(self, arm: int) -> list[Factor] | None:
        """Return the factors of an arm's formula, by the states of what it adjusts for; None where it has no tree."""
        sequence, column = self._bandit.sequences[arm], self._column
        if sequence is None:
            return None
        treated = {x for x, _ in sequence}
        adjusted: list[str] = []
        found = []
        for variable, condition in factors_of(sequence, self._bandit.reward):
            fixed = sorted(treated & condition)
            at = -1 if variable == self._bandit.reward else column[variable]
            found.append(
                Factor(
                    at, self._card(variable),
                    tuple(column[v] for v in adjusted), tuple(self._card(v) for v in adjusted),
                    tuple(column[v] for v in fixed), tuple(self._code(arm, v) for v in fixed), condition,
                )
            )  # fmt: skip
            adjusted.append(variable)
        return found if found[-1].rows <= MOST_TREE_CELLS else None

    def _on_chain(self, leader: int, arm: int) -> PairBets | None:
        """Return bets on the chain of the variables of both formulas; None where there is none, or it is large."""
        sequences = [self._bandit.sequences[i] for i in (leader, arm)]
        if any(sequence is None for sequence in sequences):
            return None
        used = {v for sequence in sequences for x, z in sequence or [] for v in (x, *z)}
        names = [v for v in self._order if v in used]
        cards, columns = [self._card(v) for v in names], [self._column[v] for v in names]
        if 2 * math.prod(cards) > MOST_CHAIN_CELLS:
            return None
        factors = [
            Factor(
                -1 if v == self._bandit.reward else self._column[v], self._card(v),
                tuple(columns[:i]), tuple(cards[:i]), (), (), frozenset(names[:i]),
            )
            for i, v in enumerate([*names, self._bandit.reward])
        ]  # fmt: skip
        position = {v: i for i, v in enumerate(names)}
        formulas = [
            [Step(tuple(sorted(position[v] for v in z)), position[x], self._code(i, x)) for x, z in sequence or []]
            for i, sequence in zip((leader, arm), sequences, strict=True)
        ]
        return PairBets(self._bandit, factors, ArmsOnChain(cards, formulas), self._epsilon)
