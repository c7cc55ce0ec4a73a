"""The paper's experiments as data: instances made anew from a seed, the gaps in the text filled as said at each."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from pgmpy.base import DAG

from pgcpe.actions import interventions
from pgcpe.bandit import CausalBandit
from pgcpe.environment import SimulatedEnvironment
from pgcpe.networks import pgmpy_part

__all__ = ["Instance", "experiment_1", "experiment_2", "parallel"]


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


def experiment_2(seed: int | np.random.SeedSequence, *, merge_equal: bool = True, null: bool = False) -> Instance:
    """Return an instance of Experiment 2: seven binary causes and a reward on a new random graph, nothing hidden.

    X_i has two of X_1, ..., X_(i-1) as parents (X_2 one, X_1 none) and is 1 with probability .55 where they are equal
    (X_2: where X_1 is 1), else .45; X_1 with .5. Y has the parents X_3, ..., X_7, of which X_7 has no effect: it is 1
    with probability .9 where X_3 = X_4 = 1, else ``.7 + .05 X_3 + .05 X_4`` where X_5 = X_6 = 1, else never. The arms
    set two variables, to all values: do(X3=1, X4=1) is best with .9, do(X5=1, X6=1) second.

    The paper's "P(X_2=1) = .55 if X_0 = 1" is read as X_1, and the first case of Y that holds as the one meant.

    Parameters
    ----------
    seed
        Seed of the graph.
    merge_equal
        As for `CausalBandit`.
    null
        Whether ``do()`` is an arm too.

    Examples
    --------
    >>> experiment_2(0, merge_equal=False).bandit
    CausalBandit(reward='Y', 84 arms, 8 variables)
    """
    rng = np.random.default_rng(seed)
    names = [f"X{i}" for i in range(1, 8)]
    nodes: dict[str, tuple[list[str], Callable[..., float]]] = {
        "X1": ([], lambda: 0.5),
        "X2": (["X1"], lambda x: 0.55 if x else 0.45),
    }
    for i in range(2, 7):
        parents = sorted(rng.choice(i, 2, replace=False).tolist())
        nodes[names[i]] = [names[p] for p in parents], lambda a, b: 0.55 if a == b else 0.45

    def reward(x3: int, x4: int, x5: int, x6: int, x7: int) -> float:
        if x3 and x4:
            return 0.9
        return 0.7 + 0.05 * x3 + 0.05 * x4 if x5 and x6 else 0.0

    nodes["Y"] = names[2:], reward
    network = _binary_network(nodes)
    arms = interventions(network, reward="Y", size=2, null=null)
    return Instance(network, CausalBandit(network, reward="Y", arms=arms, merge_equal=merge_equal))


def parallel(q: Sequence[float], weights: Sequence[float], intercept: float) -> Instance:
    """Return a parallel graph: independent causes X_1, ..., X_n of a reward that is linear in them.

    The arms are ``do()`` and ``do(X_i=x)`` for all i and x. The learner's graph has an edge from every cause; the
    network only from those of weight other than 0, so that n may be large.

    Parameters
    ----------
    q
        P(X_i = 1).
    weights, intercept
        ``P(Y=1) = intercept + sum_i weights_i X_i``.

    Raises
    ------
    ValueError
        If the lengths differ, or a probability leaves [0, 1].

    Examples
    --------
    >>> parallel([0.5] * 3, [0.2, 0.1, 0.0], 0.3).bandit
    CausalBandit(reward='Y', 7 arms, 4 variables)
    """
    if len(q) != len(weights):
        raise ValueError(f"q and weights must have the same length, but have {len(q)} and {len(weights)}")
    low, high = intercept + sum(min(w, 0.0) for w in weights), intercept + sum(max(w, 0.0) for w in weights)
    if not (all(0 <= p <= 1 for p in q) and low >= -1e-12 and high <= 1 + 1e-12):
        raise ValueError(f"q and the reward must be probabilities, but got q={list(q)} and a reward in [{low}, {high}]")
    names = [f"X{i}" for i in range(1, len(q) + 1)]
    models: dict[str, tuple[float, dict[str, float]]] = {name: (p, {}) for name, p in zip(names, q, strict=True)}
    models["Y"] = intercept, {name: w for name, w in zip(names, weights, strict=True) if w}
    graph = DAG()
    graph.add_nodes_from([*names, "Y"])
    graph.add_edges_from((name, "Y") for name in names)
    return Instance(
        _linear_network(models), CausalBandit(graph, reward="Y", arms=interventions(graph, reward="Y", size=1))
    )


def _linear_network(models: dict[str, tuple[float, dict[str, float]]]) -> Any:
    """Return the network of binary nodes, each 1 with its intercept plus the weights of its parents that are 1."""

    def equation(intercept: float, weights: list[float]) -> Callable[..., float]:
        return lambda *values: intercept + sum(w * x for w, x in zip(weights, values, strict=True))

    return _binary_network(
        {node: (list(weights), equation(base, list(weights.values()))) for node, (base, weights) in models.items()}
    )


def _binary_network(nodes: Mapping[str, tuple[list[str], Callable[..., float]]]) -> Any:
    """Return the network of binary nodes, each with its parents and its probability of 1 as a function of theirs."""
    network = pgmpy_part("models").DiscreteBayesianNetwork()
    network.add_nodes_from(nodes)
    for node, (parents, probability) in nodes.items():
        network.add_edges_from((parent, node) for parent in parents)
        p = [probability(*values) for values in itertools.product((0, 1), repeat=len(parents))]
        network.add_cpds(
            pgmpy_part("factors.discrete").TabularCPD(
                node,
                2,
                [[1 - one for one in p], p],
                evidence=parents,
                evidence_card=[2] * len(parents),
                state_names={v: [0, 1] for v in (node, *parents)},
            )
        )
    return network
