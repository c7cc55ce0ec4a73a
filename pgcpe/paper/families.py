"""The classes of graphs of Appendix A, and parallel graphs, as generators with their action sets."""

from __future__ import annotations

from collections.abc import Sequence

from pgmpy.base import DAG

from pgcpe.actions import interventions
from pgcpe.bandit import CausalBandit
from pgcpe.paper.instance import Instance, linear_network

__all__ = ["parallel"]


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
        linear_network(models), CausalBandit(graph, reward="Y", arms=interventions(graph, reward="Y", size=1))
    )
