"""PooledCCPE: every informative play counted, arms compared in pairs, four guarantees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from pgcpe._checks import flag, one_of, whole_number
from pgcpe.bandit import CausalBandit
from pgcpe.estimators.base import Estimator
from pgcpe.estimators.bglm import BGLM
from pgcpe.estimators.pooled_bglm import PooledBGLM
from pgcpe.estimators.pooled_trees import PooledTrees
from pgcpe.estimators.table_model import TableModel
from pgcpe.estimators.tilted_tables import MOST_CONFIGURATIONS
from pgcpe.policies.base import Policy
from pgcpe.policies.error_budget import ErrorBudget
from pgcpe.policies.graph_watch import GraphWatch, MemberCheck, MembersInTurn
from pgcpe.policies.rules.asymptotic import PairwiseAsymptotic
from pgcpe.policies.rules.base import SamplingRule, Seed, StoppingRule, n_arms_of
from pgcpe.policies.rules.direct_evidence import DirectEnds, PairLevels, spend_ends
from pgcpe.policies.rules.leader_bounds import LeaderBounds
from pgcpe.policies.rules.monitored import MonitoredRules
from pgcpe.policies.rules.recommendation import MostSpecificEstimate
from pgcpe.policies.rules.stopping import DirectPairs, PairwiseGLR, SeparatedOrRuledOut
from pgcpe.policies.rules.tilted import TiltedMartingale
from pgcpe.policies.rules.variance_reduction import GreatestProgress, HighestChallenger, ObserveLeaderAndOpen

__all__ = ["PooledCCPE"]

DEFAULT = {"exact": "cycle", "direct": "cycle", "numerical": "progress", "asymptotic": "progress"}
"""The guarantees, and what is played for each unless one says otherwise."""

DIRECT = {"direct upper end": 0.1, "direct lower ends": 0.05, "pairs since naming": 0.75, "pairwise GLR": 0.1}
EXACT = {
    "direct upper end": 0.075,
    "direct lower ends": 0.075,
    "tree upper end": 0.225,
    "tree lower ends": 0.225,
    "pairs since naming": 0.36,
    "pairwise GLR": 0.04,
}
ASYMPTOTIC = {"asymptotic looks": 0.9, "pairs since naming": 0.09, "pairwise GLR": 0.01}
ASYMPTOTIC_LINKED = {**ASYMPTOTIC, "asymptotic looks": 0.8, "link test": 0.1}
TILTED = {"bets on tables": 0.9, "pairs since naming": 0.09, "pairwise GLR": 0.01}
TILTED_PAIRS = {
    "bets on pairs": 0.6,
    **{event: 0.5 * share for event, share in EXACT.items() if event.endswith(("end", "ends"))},
    "pairs since naming": 0.09,
    "pairwise GLR": 0.01,
}
TILTED_LINKED = {"bets on equations": 0.8, "link test": 0.1, "pairs since naming": 0.09, "pairwise GLR": 0.01}
"""How the delta of each guarantee is split; in the last six there is a share for what takes over."""

GRAPH_TEST = 0.1
"""The share of delta of a test of the graph, taken off before all others."""

AFTER = 0.45
"""Once the graph is refuted direct plays decide at this share of delta.

The direct parts of the other guarantees spend .55 of .9 at most until then: together they stay below delta whatever the
graph. If the graph is right all that follows a refutation is paid for by the share of the test.
"""

SHOWN = {"direct intervals": 0.25, "tree intervals": 0.75}
"""How another delta is split among the intervals that are shown and that contradict each other or not."""


class PooledCCPE(Policy):
    """CCPE with every play counted wherever it is informative, and a stop in pairs: the one to use.

    An arm is estimated from the plays of all actions: through a tree of its own (`PooledTrees`), which a play enters as
    far as it shows the tree's factors as observation does, and, where the reward has no hidden causes in common with
    others, through the tables P(X | parents) of all nodes (`TableModel`). Tables are used where there are any,
    since no estimate that is valid there varies less; where they have few counts the stop may use the trees.

    **exact** (the default): stops when every other arm is separated from the recommended one by exact bounds, or
    ruled out by direct plays (`SeparatedOrRuledOut`). The arm returned is within epsilon of the best with probability
    at least 1 - delta at any number of plays, for rewards of any distribution on their range, if the graph is right.
    The leader is named at 64, 256, 1,024, ... plays, before those that decide, so that hardly anything of delta is
    divided among the arms (`LeaderBounds`, `PairLevels`). Intervals that are shown hold for all arms at once,
    and are wider.

    **direct**: stops when plays of the arms themselves rule out every other arm, in pairs (`DirectPairs`); the graph
    only helps to choose what to play. It holds even if the graph is wrong. A bandit that merged arms is refused: make
    it with ``merge_equal=False``.

    **asymptotic**: stops at 100, 140, 196, ... plays when the estimated differences are large for their standard errors
    (`PairwiseAsymptotic`), with the numerical one the earliest; what it claims holds in the limit of many plays.

    **numerical**: stops when bets along the differences of the arms refute all tables for which another arm is better,
    or all coefficients of a BGLM (`TiltedMartingale`), after a hundredth to nine tenths of the plays of the exact
    guarantee, by the question. The set is exact, the search over it numerical. Where there are
    no tables it bets on the leader and each other arm by the variables of both trees, or by the tree of one and direct
    plays of the other, beside bounds as the exact guarantee has them.

    All rules are watched, each at its own full delta: `stops` says when each first would have stopped; that of the
    numerical guarantee only where it decides or there is a BGLM, since its searches take long.

    Direct plays that contradict the graph (`conflicts`) take an arm's estimate away from it, and the direct rule, for
    which every guarantee keeps a share of delta, takes over; where the graph had merged arms there is no certificate
    then. With two such arms no estimate uses the graph any more.

    Parameters
    ----------
    bandit
        The question. Arms that may not be played are recommended all the same, if the graph identifies them.
    guarantee
        ``"exact"``, ``"direct"``, ``"numerical"`` or ``"asymptotic"``: by which rule it stops.
    model
        ``"tables"``: trees and tables, for which all ancestors of the reward must be recorded. ``"trees"``: trees
        alone. None: tables where no hidden variable forbids them and the network is small enough. A `BGLM`: its
        equations in place of tables, where you assert that they hold.
    sampling
        ``"cycle"``: ``do()``, the leader and an open challenger in turn, as the paper. ``"progress"``: the action that
        adds most to what resolves the leader from all others, for its cost. ``"index"``: that which adds most to what
        resolves it from the one with the highest index, for a good recommendation after few plays. None: ``"cycle"``
        for the exact and the direct guarantee, which rest on direct plays more than estimates do, else ``"progress"``.
    refresh
        As for `PooledTrees`.
    check_graph
        Whether all that the graph says is tested while it is used, for a tenth of delta (see `check_graph`). Merged
        arms are then played in turn. Once the graph is refuted, a warning says by which statement; what was certified
        by the graph is withdrawn, and plays of every listed arm itself decide.
    check_members
        With `check_graph`, no certificate that rests on merged arms is given before each of them that may be played was
        played so often, or is below the recommended arm by three nats of direct plays, and none looks better than it by
        more than epsilon (at least a twentieth of the reward's range). 0: off.
    epsilon, delta, seed
        As for `Policy`.

    Examples
    --------
    >>> from pgcpe.paper import experiment_3
    >>> question = experiment_3(5)
    >>> result = PooledCCPE(question.bandit, epsilon=0.1).run(question.environment(0), progress=False)
    >>> result.recommendation, result.certificate
    (do(X2=1, X3=1), 'exact')
    """

    plays_arms: ClassVar[bool] = False

    def __init__(
        self,
        bandit: CausalBandit,
        *,
        guarantee: str = "exact",
        model: str | BGLM | None = None,
        sampling: str | None = None,
        refresh: int | None = None,
        check_graph: bool = False,
        check_members: int = 20,
        epsilon: float | None = None,
        delta: float = 0.05,
        seed: Seed = 0,
    ) -> None:
        n_arms_of(bandit)
        _check_options(bandit, guarantee, model, sampling)
        self.check_graph = flag("check_graph", check_graph)
        self.check_members = whole_number("check_members", check_members, 0)
        if check_graph and guarantee == "direct":
            raise ValueError("guarantee='direct' rests on no graph: leave check_graph out")
        self.guarantee, self.model, self.sampling, self.refresh = guarantee, model, sampling, refresh
        models = _models(bandit, model, refresh)
        split = _shares(model, guarantee, guarantee == "numerical" and _searchable(bandit, models), check_graph)
        budgets = {name: ErrorBudget(shares, delta) for name, shares in split.items()}
        rules = self._rules = _rules(bandit, budgets)
        play = _sampling(sampling or DEFAULT[guarantee], rules[guarantee], observe=guarantee != "direct")
        tested: dict[str, Any] = {}
        if check_graph:
            level = budgets[guarantee].spend("graph test", by="GraphWatch")
            tested = {"watch": GraphWatch(level), "members": MemberCheck(bandit, check_members)}
            play = MembersInTurn(play, bandit)
        super().__init__(
            bandit,
            models=models,
            sampling=play,
            recommendation=MostSpecificEstimate(),
            stopping=MonitoredRules(rules, guarantee),
            error_budget=budgets[guarantee],
            shown=ErrorBudget(SHOWN, delta),
            epsilon=epsilon,
            delta=delta,
            seed=seed,
            **tested,
        )
        self._check_identified()

    def _check_identified(self) -> None:
        """Raise if an arm that may not be played is one of which the graph says nothing."""
        # trees alone make exact intervals, and nothing but plays of the arms a direct certificate
        bandit, says = self.bandit, self.state.pairwise[: {"exact": 1, "direct": 0}.get(self.guarantee)]
        known = np.any([np.zeros(len(bandit.arms), np.bool_), *(model.served_ for model in says)], axis=0)
        if barred := [
            str(arm) for arm, some in zip(bandit.arms, known, strict=True) if not some and arm not in bandit.costs
        ]:
            raise ValueError(
                f"an arm that the graph does not identify must be playable, but playable lacks {', '.join(barred[:5])}"
            )

    def _without_graph(self) -> Policy | None:
        """Return the direct guarantee for every listed arm, told the same plays; None if some may not be played."""
        bandit = self.bandit.unmerged()
        if any(arm not in bandit.costs for arm in bandit.arms):
            return None
        kept = any(isinstance(model, TableModel) for model in self._knowledge.models)
        successor = PooledCCPE(
            bandit,
            guarantee="direct",
            model="tables" if kept else "trees",  # which keeps what was recorded
            refresh=self.refresh,
            epsilon=self.epsilon,
            delta=AFTER * self.delta,
            seed=self.seed,
        )
        successor._knowledge.reject_graph()
        successor._stopping = MonitoredRules({"direct": successor._rules["direct"]}, "direct")
        return successor.tell(self._knowledge.told.samples())


def _shares(
    model: str | BGLM | None, guarantee: str, by_tables: bool, check_graph: bool
) -> dict[str, Mapping[str, float]]:
    """Return for each guarantee that is watched how its delta is split."""
    linked = isinstance(model, BGLM)
    shares: dict[str, Mapping[str, float]] = {
        "direct": DIRECT,
        "exact": EXACT,
        "asymptotic": ASYMPTOTIC_LINKED if linked else ASYMPTOTIC,
    }
    if linked or guarantee == "numerical":
        shares["numerical"] = TILTED_LINKED if linked else TILTED if by_tables else TILTED_PAIRS
    if not check_graph:
        return shares
    left = 1.0 - GRAPH_TEST
    return {
        name: {"graph test": GRAPH_TEST, **{event: left * share for event, share in own.items()}}
        for name, own in shares.items()
    }


def _rules(bandit: CausalBandit, budgets: Mapping[str, ErrorBudget]) -> dict[str, StoppingRule]:
    """Return the rules of all guarantees, each with what it may spend of its own delta."""
    n_arms, listed = len(bandit.arms), len(bandit.listed)
    pairs = max(n_arms - 1, 1)

    def in_pairs(budget: ErrorBudget) -> PairwiseGLR:
        """Return the rule for direct plays at its share of a budget."""
        return PairwiseGLR(PairLevels.spend(budget, pairs, by="PairwiseGLR"))

    def bounds(budget: ErrorBudget) -> LeaderBounds:
        """Return the bounds of a leader at their share of a budget."""
        own = DirectEnds(spend_ends(budget, "direct", n_arms, by="DirectEnds"), n_arms)
        return LeaderBounds(own, spend_ends(budget, "tree", n_arms, by="PooledTrees"))

    direct, exact, asymptotic = (budgets[name] for name in ("direct", "exact", "asymptotic"))
    ends = DirectEnds(spend_ends(direct, "direct", listed, by="DirectPairs"), listed)
    rules: dict[str, StoppingRule] = {
        "direct": DirectPairs(PairLevels.spend(direct, max(listed - 1, 1), by="DirectPairs"), ends),
        "exact": SeparatedOrRuledOut(in_pairs(exact), bounds(exact)),
        "asymptotic": PairwiseAsymptotic(
            asymptotic.spend("asymptotic looks", by="PairwiseAsymptotic"),
            n_arms,
            in_pairs(asymptotic),
            shown_level=asymptotic.delta / n_arms,
        ),
    }
    if "numerical" in budgets:
        numerical = budgets["numerical"]
        on = next(kind for kind in ("tables", "equations", "pairs") if f"bets on {kind}" in numerical.shares)
        leaders = pairs if on == "pairs" else 1  # any may be returned in place of the best arm
        level = numerical.spend(f"bets on {on}", over=leaders, by="TiltedMartingale")
        beside = bounds(numerical) if on == "pairs" else None
        rules["numerical"] = TiltedMartingale(level, in_pairs(numerical), on=on, bounds=beside)
    return rules


def _models(bandit: CausalBandit, model: str | BGLM | None, refresh: int | None) -> list[Estimator]:
    """Return the estimators, each of which assumes more than those before it."""
    models: list[Estimator] = [PooledTrees(refresh)]
    if (tables := _tables(bandit, None if isinstance(model, BGLM) else model)) is not None:
        models.append(tables)
    return [*models, PooledBGLM(model)] if isinstance(model, BGLM) else models


def _tables(bandit: CausalBandit, model: str | None) -> TableModel | None:
    """Return the tables where they are asked for or, by default, possible."""
    if model == "trees":
        return None
    tables = TableModel()
    try:
        small = clone(tables).start(bandit.recording(tables.required(bandit))).compares
    except ValueError:
        if model is None:
            return None
        raise
    if not small and model == "tables":
        raise ValueError("the ancestors of the reward have too many configurations for model='tables'")
    return tables if small else None


def _searchable(bandit: CausalBandit, models: Sequence[Estimator]) -> bool:
    """Return whether there are tables that can be searched."""
    for tables in models:
        if isinstance(tables, TableModel):
            started = clone(tables).start(bandit.recording(tables.required(bandit)))
            return bool(started.table_counts.layout.has_at_most(MOST_CONFIGURATIONS))
    return False


def _sampling(sampling: str, stopping: StoppingRule, *, observe: bool) -> SamplingRule:
    """Return the rule of that name."""
    if sampling == "cycle":
        return ObserveLeaderAndOpen(stopping, observe=observe)
    return GreatestProgress(stopping) if sampling == "progress" else HighestChallenger()


def _check_options(bandit: CausalBandit, guarantee: str, model: str | BGLM | None, sampling: str | None) -> None:
    """Check what the options must be, each by itself and together."""
    one_of("guarantee", guarantee, DEFAULT)
    if not isinstance(model, BGLM):
        one_of("model", model, ("tables", "trees", None))
    one_of("sampling", sampling, ("cycle", "progress", "index", None))
    if guarantee == "numerical" and bandit.worth.measured is not None:
        raise ValueError(
            f"guarantee='numerical' searches tables of states, but the reward {bandit.reward} is measured and has "
            "none: guarantee='exact' takes any reward, or reward_values says what its states are worth"
        )
    if guarantee == "direct" and bandit.merges_arms:
        raise ValueError(
            "guarantee='direct' compares every listed arm by its own plays, but the graph merged some: "
            "make the bandit with merge_equal=False"
        )
