"""PooledCCPE: every play counted, exact intervals, and the play that adds most."""

from __future__ import annotations

from typing import ClassVar, cast

import numpy as np
from sklearn.base import clone

from pgcpe.bandit import CausalBandit
from pgcpe.confidence import Intervals, asymptotic_threshold, probability
from pgcpe.estimators.base import EmpiricalMeans, PairwiseEstimator
from pgcpe.estimators.bglm import BGLM
from pgcpe.estimators.pooled import PooledTrees
from pgcpe.estimators.pooled_bglm import PooledBGLM
from pgcpe.estimators.tables import TableModel
from pgcpe.policies.base import Policy
from pgcpe.policies.progress import GreatestProgress, HighestChallenger, ObserveLeaderAndOpen, Opening, surest_estimates
from pgcpe.policies.rules import PolicyState, SamplingRule, Seed
from pgcpe.policies.stopping import LikelihoodRatioSet, PairwiseAsymptotic, Reported, SeparatedOrTold

__all__ = ["PooledCCPE"]

GUARANTEES = ("exact", "numerical", "asymptotic")

DIRECT, TREES, PAIRS = 0.15, 0.45, 0.4
"""The shares of delta: direct intervals, those of the trees, pairwise statistics of direct plays."""


class PooledCCPE(Policy):
    """CCPE with every play counted wherever the graph lets it tell something, and a stop in pairs: the one to use.

    An arm is estimated from the plays of all actions: through a tree of its own (`PooledTrees`), which a play enters as
    far as it shows the tree's factors as observation does, and, where the reward has no hidden causes in common with
    others, through the tables P(X | parents) of all nodes (`TableModel`). Of the two, that of the smaller variance
    counts for a pair of arms.

    **exact** (the default): stops when every other arm is separated from the recommended one by exact intervals, or
    told from it by direct plays (`SeparatedOrTold`). The arm returned is within epsilon of the best with probability at
    least 1 - delta at any number of plays, for rewards of any distribution on [0, 1], if the graph is right.

    **asymptotic**: stops when the estimated differences are large for their standard errors (`PairwiseAsymptotic`), by
    far the earlier; what it claims holds in the limit of many plays. `stops` says when either would have stopped.

    Direct plays that contradict the graph (`conflicts`) take an arm's estimate away from it. The exact stop then goes by
    direct plays alone and stays what it was; with two such arms no estimate uses the graph any more.

    Parameters
    ----------
    bandit
        The question. Arms that may not be played are recommended all the same, if the graph identifies them.
    guarantee
        ``"exact"``, ``"numerical"`` or ``"asymptotic"``: by which rule it stops.
    model
        ``"tables"``: trees and tables, for which all ancestors of the reward must be recorded. ``"trees"``: trees
        alone. None: tables where no hidden variable forbids them and the network is small enough. A `BGLM`: its
        equations in place of tables, where you assert that they hold.
    sampling
        ``"cycle"``: ``do()``, the leader and an open challenger in turn, as the paper. ``"progress"``: the action that
        adds most to what tells the leader from all others, for its cost. ``"index"``: that which adds most to what
        tells it from the one with the highest index, for a good recommendation after few plays. None: ``"cycle"`` for
        the exact guarantee at equal costs, else ``"progress"``.
    trust_graph
        False: direct plays alone certify, and the graph only helps to choose what to play.
    fallback
        False: conflicts are reported, but change nothing except that the stop has no certificate.
    refresh
        As for `PooledTrees`.
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
        trust_graph: bool = True,
        fallback: bool = True,
        refresh: int | None = None,
        epsilon: float = 0.05,
        delta: float = 0.05,
        seed: Seed = 0,
    ) -> None:
        _one_of("guarantee", guarantee, GUARANTEES)
        if not isinstance(model, BGLM):
            _one_of("model", model, ("tables", "trees", None))
            if guarantee == "numerical":
                raise ValueError("guarantee='numerical' is that of a BGLM: assert one, as in model=BGLM('logit')")
        _one_of("sampling", sampling, ("cycle", "progress", "index", None))
        if not trust_graph and guarantee != "exact":
            raise ValueError("trust_graph=False certifies from direct plays, which is exact: leave guarantee='exact'")
        probability("delta", delta)
        self.guarantee, self._trusts, self._fallback = guarantee, trust_graph, fallback
        shares = (DIRECT, TREES, PAIRS) if trust_graph else (DIRECT, 0.0, TREES + PAIRS)
        rules: dict[str, Opening] = {"exact": SeparatedOrTold(shares[2] * delta, fallback=fallback)}
        if trust_graph:
            rules["asymptotic"] = PairwiseAsymptotic(delta)
        models: list[PairwiseEstimator] = [PooledTrees(refresh)]
        if isinstance(model, BGLM):
            models.append(PooledBGLM(model))
            if trust_graph:
                rules["numerical"] = LikelihoodRatioSet(delta)
        elif (tables := _tables(bandit, model)) is not None:
            models.append(tables)
        self._reported = Reported(rules, guarantee)
        if sampling is None:
            equal = len(set(bandit.costs.values())) == 1
            sampling = "cycle" if guarantee == "exact" and equal else "progress"
        super().__init__(
            bandit,
            direct=EmpiricalMeans(),
            models=models,
            sampling=_rule(sampling, rules[guarantee], trust_graph),
            stopping=self._reported,
            epsilon=epsilon,
            delta=delta,
            seed=seed,
            shares=(*shares[:2], *[0.0] * (len(models) - 1)),
        )

    def _doubt(self) -> None:
        """Compare direct plays with what all others say, and take the graph away from arms that contradict it."""
        if self.guarantee == "asymptotic" or not self._trusts:
            self._conflicts |= cast(PooledTrees, self._models[0]).contradictions(self.delta)
        if self._fallback and self._conflicts.any():
            suspect = np.count_nonzero(self._conflicts) > 1
            for model in cast(list[PairwiseEstimator], self._models):
                model.distrusted_ = np.ones_like(self._conflicts) if suspect else self._conflicts.copy()

    def _standing(self, merged: Intervals) -> PolicyState:
        """Return what is known; for the asymptotic guarantee with its own intervals to show."""
        state = super()._standing(merged)
        if self.guarantee == "asymptotic" and state.n_plays:
            _, variance = surest_estimates(self._models)
            nats = asymptotic_threshold(state.n_plays, self.delta / len(variance))
            radius = np.sqrt(2.0 * nats * variance)
            state.shown = Intervals(
                np.maximum(state.estimates - radius, 0.0), np.minimum(state.estimates + radius, 1.0)
            )
        return state


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


def _rule(sampling: str, stopping: Opening, observe: bool) -> SamplingRule:
    """Return the rule of that name."""
    if sampling == "cycle":
        return ObserveLeaderAndOpen(stopping, observe=observe)
    return GreatestProgress(stopping) if sampling == "progress" else HighestChallenger()


def _one_of(name: str, value: str | None, known: tuple[str | None, ...]) -> None:
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, but got {value!r}")
