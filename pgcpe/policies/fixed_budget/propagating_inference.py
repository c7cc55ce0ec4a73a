"""Propagating inference: a fixed budget spread so that every row of every table is seen."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pgcpe._checks import one_of
from pgcpe.bandit import CausalBandit
from pgcpe.estimators.table_model import TableModel
from pgcpe.models.contraction import Contraction
from pgcpe.models.search import mirror_ascent
from pgcpe.plays.actions import Action
from pgcpe.policies.base import Policy
from pgcpe.policies.rules.base import RecommendationRule, Seed, n_arms_of
from pgcpe.policies.rules.phases import Phases, checked_budget, planned
from pgcpe.policies.rules.state import PolicyState

__all__ = ["PropagatingInference", "minimax_shares"]

Floats = NDArray[np.float64]

ETAS = ("cells", "optimised")


class PropagatingInference(Policy):
    """Causal bandits with propagating inference (Yabe et al. 2018): tables of all nodes, learned row by row.

    The rows (cells) are those of P(X = . | parents = z), C in all, nodes in causal order. Phase 1 spends T/3: cell
    after cell, T/(3C) plays of the arm under which, by the tables so far, it is most likely. Phase 2 spends 2T/3 on
    shares eta of the arms. The arm recommended is the best by the tables from all plays.

    Guarantee, fixed budget: a simple regret of order ``sqrt(max(gamma, n) log(K T) / T)``, gamma the value of the
    problem that ``eta="optimised"`` solves. It is for their lambda; as in the paper's experiments lambda is 0 here: no
    row is cut off for being rare. No hidden variables but the noise of single nodes. Read from the descriptions of
    others, not from the source itself.

    Parameters
    ----------
    bandit
        The question. All ancestors of the reward are recorded.
    budget
        T, at least 1.
    eta
        ``"cells"``: phase 2 repeats phase 1, 1/C of its plays for the arm of each cell, as the paper's experiments have
        it. ``"optimised"``: the shares least in ``max_a sum_cells P_a(cell)^2 / sum_b eta_b P_b(cell)``, at the tables
        after phase 1.
    seed
        As for `Policy`.

    Raises
    ------
    ValueError
        If hidden variables are left.
    """

    def __init__(
        self,
        bandit: CausalBandit,
        *,
        budget: int,
        eta: str = "cells",
        seed: Seed = 0,
    ) -> None:
        one_of("eta", eta, ETAS)
        phases = _Propagation(checked_budget(budget, 1, n_arms_of(bandit)), eta)
        self.budget, self.eta = budget, eta
        parts = planned(phases, budget, TableModel(pseudo_count=0.0), recommendation=TableMeans())
        super().__init__(bandit, **parts, seed=seed)


class _Propagation(Phases):
    """One phase for each cell, then a last one for all."""

    def __init__(self, budget: int, eta: str) -> None:
        super().__init__()
        self._budget, self._eta = budget, eta
        self._cells: list[tuple[int, int]] | None = None  # node, number of the parents' values
        self._chosen: list[int] = []  # for each cell so far its arm
        self._at: tuple[int, int] | None = None
        self._rows: Floats = np.zeros((0, 0))

    def next_phase(self, state: PolicyState) -> list[Action] | None:
        """Return the plays of the next phase, None if there is none."""
        model = state.estimator(TableModel)
        if self._cells is None:
            self._cells = _cells(model)
            self._assigned = np.zeros(len(model.forced_))
        done, count = len(self._chosen), len(self._cells)
        if done > count:
            return None
        if done == count:
            self._chosen.append(-1)
            spent = _share(self._budget, count, count)
            return self._last_phase(state, model, self._budget - spent)
        node, cell = self._cells[done]
        likely = self._probabilities(model, node)[:, cell]
        best = np.flatnonzero(likely > likely.max() - 1e-12)  # of equals that with fewest plays so far
        arm = int(best[np.lexsort((state.rank[best], self._assigned[best]))[0]])
        self._chosen.append(arm)
        plays = _share(self._budget, done + 1, count) - _share(self._budget, done, count)
        self._assigned[arm] += 1.0 / count
        return [state.bandit.arms[arm]] * plays

    def _probabilities(self, model: TableModel, node: int) -> Floats:
        """Return how likely each row of a node is under each arm; 0 under arms that set the node."""
        at = node, round(model.counts_[-1].sum())  # no arm sets the reward, which is last: all plays
        if at != self._at:
            self._at, self._rows = at, cell_probabilities(model, node)
        return self._rows

    def _last_phase(self, state: PolicyState, model: TableModel, plays: int) -> list[Action]:
        """Return the plays of phase 2, by cumulative rounding of the shares."""
        chosen = np.array(self._chosen[:-1], dtype=np.intp)
        if self._eta == "cells":
            order, ends = chosen, np.arange(1, len(chosen) + 1) / len(chosen)
        else:
            nodes = sorted({node for node, _ in self._cells or []})
            eta = minimax_shares(np.concatenate([cell_probabilities(model, node) for node in nodes], axis=1))
            order = np.argsort(state.rank)
            ends = np.cumsum(eta[order])
        counts = np.diff(np.round(plays * ends / ends[-1]).astype(int), prepend=0)
        return [state.bandit.arms[i] for i, n in zip(order, counts, strict=True) for _ in range(n)]


class TableMeans(RecommendationRule):
    """The expected rewards by the tables of all nodes."""

    def estimates(self, state: PolicyState) -> Floats:
        """Return the means by the tables."""
        return state.estimator(TableModel).means()


def _share(budget: int, cells: int, of: int) -> int:
    """Return the plays of phase 1 for the first cells."""
    return int(budget * cells / (3.0 * of) + 1e-9)


def _cells(model: TableModel) -> list[tuple[int, int]]:
    """Return all rows of the nodes that some arm leaves free: node and number of the parents' values."""
    free = np.any(model.forced_ < 0, axis=0).tolist()
    return [
        (node, cell)
        for node, counts in enumerate(model.counts_)
        if free[node]
        for cell in range(counts.size // counts.shape[-1])
    ]


def cell_probabilities(model: TableModel, node: int) -> Floats:
    """Return how likely each value of a node's parents is under each arm by the tables; 0 under arms that set it.

    An array of shape (arms, values of the parents), the last parent's changing fastest.
    """
    contraction = Contraction(model.parents_, model.cards_, model.forced_, model.parents_[node])
    likely = contraction(model.tables()).reshape(len(model.forced_), -1)
    return np.where(model.forced_[:, [node]] < 0, likely, 0.0)


def minimax_shares(likely: Floats, steps: int = 400) -> Floats:
    """Return shares eta of the arms that make ``max_a sum_c P_a(c)^2 / sum_b eta_b P_b(c)`` small, which is convex.

    By exponentiated gradient steps from equal shares; the best point met is returned.

    Parameters
    ----------
    likely
        P, array of shape (arms, cells).
    """
    seen = likely[:, likely.max(axis=0) > 0]

    def objective(eta: Floats) -> tuple[float, Floats]:
        """Return minus the largest sum, and minus its gradient."""
        each = seen**2 @ (1.0 / (eta @ seen))
        worst = int(each.argmax())
        return -float(each[worst]), seen @ (seen[worst] ** 2 / (eta @ seen) ** 2)

    return mirror_ascent(objective, len(seen), steps, rate=2.0, least=1e-9)[0]
