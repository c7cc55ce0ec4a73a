"""PooledCCPE: every play counted, exact intervals, and the play that adds most."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import ClassVar, cast

import numpy as np
from sklearn.base import clone

from pgcpe.bandit import CausalBandit
from pgcpe.confidence.intervals import Intervals, probability
from pgcpe.confidence.sequences import asymptotic_threshold
from pgcpe.estimators.base import PairwiseEstimator
from pgcpe.estimators.bglm import BGLM
from pgcpe.estimators.empirical_means import EmpiricalMeans
from pgcpe.estimators.pooled_bglm import PooledBGLM
from pgcpe.estimators.pooled_trees import PooledTrees
from pgcpe.estimators.table_model import TableModel
from pgcpe.plays.actions import Action
from pgcpe.policies.base import Policy
from pgcpe.policies.rules.base import GuardedStop, PolicyState, SamplingRule, Seed, most_specific_estimate
from pgcpe.policies.rules.phases import n_arms_of
from pgcpe.policies.rules.stopping import (
    LikelihoodRatioSet,
    MonitoredRules,
    PairwiseAsymptotic,
    SeparatedOrRuledOut,
)
from pgcpe.policies.rules.variance_reduction import (
    GreatestProgress,
    HighestChallenger,
    ObserveLeaderAndOpen,
)

__all__ = ["PooledCCPE"]

DEFAULT = {"exact": "cycle", "numerical": "progress", "asymptotic": "progress"}
"""The guarantees, and what is played for each unless one says otherwise."""

DIRECT, TREES, PAIRS = 0.15, 0.45, 0.4
"""The shares of delta: direct intervals, those of the trees, pairwise statistics of direct plays."""


COEFFICIENTS, GIVEN_UP, IN_PLACE = 0.5, 0.1, 0.4
"""For the numerical guarantee the shares of the set of coefficients, of giving up a link that is right, and of the
exact rule that is in place of the set once the link was given up or direct plays contradict the graph."""

GAP, SHOWN = 0.01, 3
"""The gap, and how many arms, that are named where a budget ended the run."""


class PooledCCPE(Policy):
    """CCPE with every play counted wherever the graph lets it tell something, and a stop in pairs: the one to use.

    An arm is estimated from the plays of all actions: through a tree of its own (`PooledTrees`), which a play enters as
    far as it shows the tree's factors as observation does, and, where the reward has no hidden causes in common with
    others, through the tables P(X | parents) of all nodes (`TableModel`). Where there are tables they are what counts,
    for of estimates that hold there none varies less; where little was seen of them the stop may go by the trees.

    **exact** (the default): stops when every other arm is separated from the recommended one by exact intervals, or
    ruled out by direct plays (`SeparatedOrRuledOut`). The arm returned is within epsilon of the best with probability
    at least 1 - delta at any number of plays, for rewards of any distribution on [0, 1], if the graph is right.

    **asymptotic**: stops when the estimated differences are large for their standard errors (`PairwiseAsymptotic`), by
    far the earlier; what it claims holds in the limit of many plays. `stops` says when either would have stopped.

    Direct plays that contradict the graph (`conflicts`) take an arm's estimate away from it. The exact stop then goes
    by direct plays alone and keeps its certificate, unless the graph had merged arms; with two such arms no estimate
    uses the graph any more.

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
        the exact guarantee, which rests on direct plays more than estimates do, else ``"progress"``.
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
        n_arms_of(bandit)
        _check_options(bandit, guarantee, model, sampling, trust_graph)
        probability("delta", delta)
        self.guarantee, self._trusts, self._fallback = guarantee, trust_graph, fallback
        level = IN_PLACE if guarantee == "numerical" else 1.0
        direct, trees, pairs = (level * s for s in ((DIRECT, TREES, PAIRS) if trust_graph else (DIRECT, 0.0, 0.85)))
        rules: dict[str, GuardedStop] = {"exact": SeparatedOrRuledOut(pairs * delta, fallback=fallback)}
        if trust_graph:
            rules["asymptotic"] = PairwiseAsymptotic(delta)
        models: list[PairwiseEstimator] = [PooledTrees(refresh)]
        if isinstance(model, BGLM):
            models.append(PooledBGLM(model))
            if trust_graph:
                rules["numerical"] = LikelihoodRatioSet(COEFFICIENTS * delta, rules["exact"])
        elif (tables := _tables(bandit, model)) is not None:
            models.append(tables)
        self._rules = rules
        super().__init__(
            bandit,
            direct=EmpiricalMeans(),
            models=models,
            sampling=_rule(sampling or DEFAULT[guarantee], rules[guarantee], trust_graph),
            stopping=MonitoredRules(rules, guarantee, doubtful=not fallback),
            epsilon=epsilon,
            delta=delta,
            seed=seed,
            shares=(direct, trees, *[0.0] * (len(models) - 1)),
        )
        told_by = self.state.pairwise[: 1 if guarantee == "exact" else None]  # trees alone make exact intervals
        known = np.any([model.served_ for model in told_by], axis=0) & trust_graph
        if barred := [
            str(arm) for arm, some in zip(bandit.arms, known, strict=True) if not some and arm not in bandit.costs
        ]:
            raise ValueError(f"no play tells of an arm that is not identified: playable lacks {', '.join(barred[:5])}")

    def _doubt(self) -> None:
        """Compare direct plays with what all others say, and take the graph away from arms that contradict it.

        How conflicts are found is free: without the graph the exact rule goes by statistics that always hold.
        """
        self._conflicts |= cast(PooledTrees, self._models[0]).contradictions(self.delta)
        if self._fallback and self._conflicts.any():
            suspect = np.count_nonzero(self._conflicts) > 1
            self._rejected = np.ones_like(self._conflicts) if suspect else self._conflicts.copy()
        bglm = self._models[-1]
        if isinstance(bglm, PooledBGLM) and bglm.refuted(GIVEN_UP * self.delta):
            self._models.pop()
            if (tables := _tables(self.bandit, None)) is not None:
                tables.start(self.bandit).update(self._told.samples())
                self._models.append(tables)
            self._shares = self._shares[: 1 + len(self._models)]
            instead = "the trees" if tables is None else "tables"
            warnings.warn(
                f"the plays contradict the {bglm.model.link} link: the BGLM is given up for {instead}", stacklevel=4
            )

    def _warning(self, arms: Sequence[Action]) -> str:
        """Return what is said of arms found in conflict, with their numbers."""
        trees = cast(PooledTrees, self._models[0])
        n, mean, others = self._direct.plays_, self._direct.means_, trees.without_own_plays()
        index = [self.bandit.arms.index(arm) for arm in arms]
        shown = [f"{self.bandit.arms[i]} ({n[i]:.0f} plays: {mean[i]:.3f}, all others: {others[i]:.3f})" for i in index]
        said = f"direct plays contradict the graph at {', '.join(shown)}"
        if not self._fallback:
            return f"{said}; nothing is done about it, and the stop will have no certificate"
        if self._trusts and self.guarantee == "exact":
            said += "; from now on direct plays alone decide when to stop"
        if np.count_nonzero(self._conflicts) > 1:
            return f"{said}; the graph is suspect, and nothing is estimated through it any more"
        return f"{said}; this arm is estimated from direct plays alone"

    def _left_open(self) -> str:
        """Return which arms could not be told from the leader, and what a gap of .01 would take."""
        state, rule = self.state, self._rules[self.guarantee]
        if state.challenger < 0:
            return self._in_words()
        left = np.flatnonzero(rule.unresolved(state))
        left = left[np.lexsort((-state.intervals.upper[left], -state.estimates[left]))]
        shown = ", ".join(str(self.bandit.arms[i]) for i in left[:SHOWN])
        more = f" and {len(left) - SHOWN} more" if len(left) > SHOWN else ""
        said = f"{state.bandit.arms[state.leader]} could not be told from {shown}{more}"
        plays = rule.plays_to_resolve(state, GAP)
        if not 0.0 < plays < np.inf:  # no play tells of the difference
            return said
        return f"{said}; to tell a gap of {GAP:g} takes about {float(f'{plays:.2g}'):,.0f} plays"

    def _standing(self, merged: Intervals) -> PolicyState:
        """Return what is known; for the asymptotic guarantee with its own intervals to show."""
        state = super()._standing(merged)
        if self.guarantee == "asymptotic" and state.n_plays:
            said, _ = most_specific_estimate(state.pairwise, lambda model: model.plug_in(self._rejected))
            nats = asymptotic_threshold(state.n_plays, self.delta / len(said.value))
            radius = np.sqrt(2.0 * nats * said.variance) + said.bias_bound
            state.shown = Intervals(np.maximum(said.value - radius, 0.0), np.minimum(said.value + radius, 1.0))
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


def _rule(sampling: str, stopping: GuardedStop, observe: bool) -> SamplingRule:
    """Return the rule of that name."""
    if sampling == "cycle":
        return ObserveLeaderAndOpen(stopping, observe=observe)
    return GreatestProgress(stopping) if sampling == "progress" else HighestChallenger()


def _check_options(
    bandit: CausalBandit, guarantee: str, model: str | BGLM | None, sampling: str | None, trust_graph: bool
) -> None:
    """Check what the options must be, each by itself and together."""
    _one_of("guarantee", guarantee, tuple(DEFAULT))
    if not isinstance(model, BGLM):
        _one_of("model", model, ("tables", "trees", None))
        if guarantee == "numerical":
            raise ValueError("guarantee='numerical' is that of a BGLM: assert one, as in model=BGLM('logit')")
    _one_of("sampling", sampling, ("cycle", "progress", "index", None))
    if not trust_graph and guarantee != "exact":
        raise ValueError("trust_graph=False certifies from direct plays, which is exact: leave guarantee='exact'")
    if not trust_graph and bandit.merges:
        raise ValueError(
            "trust_graph=False cannot use that the graph makes arms equal: make the bandit with merge_equal=False"
        )


def _one_of(name: str, value: str | None, known: tuple[str | None, ...]) -> None:
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, but got {value!r}")
