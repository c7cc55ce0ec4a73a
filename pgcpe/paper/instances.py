"""What an instance is, and networks of binary nodes from functions of their parents."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from pgcpe.bandit import CausalBandit
from pgcpe.environment.simulator import SimulatedEnvironment
from pgcpe.graphs.structure import pgmpy_part

__all__ = ["Instance", "binary_network", "linear_network"]


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


def linear_network(models: dict[str, tuple[float, dict[str, float]]]) -> Any:
    """Return the network of binary nodes, each 1 with its intercept plus the weights of its parents that are 1."""

    def equation(intercept: float, weights: list[float]) -> Callable[..., float]:
        """Return the linear function of the parents, cut off at 0 and 1."""
        return lambda *values: min(max(intercept + sum(w * x for w, x in zip(weights, values, strict=True)), 0.0), 1.0)

    return binary_network(
        {node: (list(weights), equation(base, list(weights.values()))) for node, (base, weights) in models.items()}
    )


def binary_network(nodes: Mapping[str, tuple[list[str], Callable[..., float]]]) -> Any:
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
