"""The paper's experiments as data: instances made anew from a seed, the gaps in the text filled as said at each."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from pgcpe.actions import interventions
from pgcpe.bandit import CausalBandit
from pgcpe.environment import SimulatedEnvironment
from pgcpe.networks import pgmpy_part

__all__ = ["Instance", "experiment_1"]


class Instance(NamedTuple):
    """A question and the network that answers it.

    Attributes
    ----------
    network
        The pgmpy ``DiscreteBayesianNetwork``: the truth.
    bandit
        The question, which knows the graph alone.
    """

    network: Any
    bandit: CausalBandit

    def environment(self, seed: int | np.random.SeedSequence | None) -> SimulatedEnvironment:
        """Return a simulator of the network."""
        return SimulatedEnvironment(self.network, seed=seed)


def experiment_1(seed: int | np.random.SeedSequence, *, merge_equal: bool = True) -> Instance:
    """Return an instance of Experiment 1: eight binary causes and a reward, all linear, on a new random graph.

    X_i has two of X_1, ..., X_(i-1) as parents (X_2 one, X_1 none) and ``P(X_i=1) = .4 + .1 + .1``, each .1 where that
    parent is 1. Y has four parents among all eight, with coefficients .3, .3, .3 and .05. The arms set three variables
    to 1.

    X_0, always 1, is an intercept and no node. The paper gives none to Y, though X_0 is to be a parent of all nodes:
    its coefficient is 0 here, which a learner does not know.

    Parameters
    ----------
    seed
        Seed of the graph.
    merge_equal
        As for `CausalBandit`: of the 56 arms 15 to 56 are different interventions, half the time at most 41.

    Examples
    --------
    >>> experiment_1(0).bandit
    CausalBandit(reward='Y', 55 arms merged from 56, 9 variables)
    """
    rng = np.random.default_rng(seed)
    names = [f"X{i}" for i in range(1, 9)]
    models = {}
    for i, name in enumerate(names):
        parents = sorted(rng.choice(i, min(i, 2), replace=False).tolist())
        models[name] = 0.4, {names[p]: 0.1 for p in parents}
    chosen = rng.choice(8, 4, replace=False).tolist()
    models["Y"] = 0.0, {names[p]: weight for p, weight in zip(chosen, (0.3, 0.3, 0.3, 0.05), strict=True)}
    network = _linear_network(models)
    arms = interventions(network, reward="Y", size=3, values=[1], null=False)
    return Instance(network, CausalBandit(network, reward="Y", arms=arms, merge_equal=merge_equal))


def _linear_network(models: dict[str, tuple[float, dict[str, float]]]) -> Any:
    """Return the network of binary nodes, each 1 with its intercept plus the weights of its parents that are 1."""
    network = pgmpy_part("models").DiscreteBayesianNetwork()
    network.add_nodes_from(models)
    for node, (intercept, weights) in models.items():
        network.add_edges_from((parent, node) for parent in weights)
        p = [
            intercept + sum(w * x for w, x in zip(weights.values(), values, strict=True))
            for values in itertools.product((0, 1), repeat=len(weights))
        ]
        network.add_cpds(
            pgmpy_part("factors.discrete").TabularCPD(
                node,
                2,
                [[1 - q for q in p], p],
                evidence=list(weights),
                evidence_card=[2] * len(weights),
                state_names={v: [0, 1] for v in (node, *weights)},
            )
        )
    return network
