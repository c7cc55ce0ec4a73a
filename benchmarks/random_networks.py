"""Random networks with hidden causes and rare states, and questions about them."""

from __future__ import annotations

import itertools
from typing import Any

import networkx as nx
import numpy as np
from pgmpy.base import DAG
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork

from pgcpe import CausalBandit, expected_rewards, interventions

SMALLEST = 0.02
"""No entry of a table is smaller."""

MOST_ARMS = 8


def random_network(rng: np.random.Generator) -> DiscreteBayesianNetwork:
    """Return 5 to 8 variables of two or three states, the reward binary and last, with up to two hidden causes."""
    n, hidden = int(rng.integers(5, 9)), int(rng.integers(0, 3))
    names = [f"V{i}" for i in range(n - 1)] + ["Y"]
    density = rng.choice([0.35, 0.5])
    edges = [(a, b) for a, b in itertools.combinations(names, 2) if rng.random() < density]
    if not any(b == "Y" for _, b in edges):
        edges.append((names[-2], "Y"))
    for i in range(hidden):
        edges += [(f"U{i}", str(v)) for v in rng.choice(names, 2, replace=False)]
    network = DiscreteBayesianNetwork()
    network.add_nodes_from([*(f"U{i}" for i in range(hidden)), *names])
    network.add_edges_from(edges)
    states = {v: 2 if v == "Y" or v.startswith("U") else int(rng.integers(2, 4)) for v in network.nodes}
    for v in network.nodes:
        parents = list(network.predecessors(v))
        rows = int(np.prod([states[p] for p in parents]))
        values = rng.dirichlet(np.full(states[v], 0.7), size=rows)
        values = SMALLEST + (1.0 - states[v] * SMALLEST) * values
        network.add_cpds(
            TabularCPD(v, states[v], values.T, evidence=parents, evidence_card=[states[p] for p in parents])
        )
    network.latents = {f"U{i}" for i in range(hidden)}
    return network


def question(
    network: DiscreteBayesianNetwork, rng: np.random.Generator, graph: DAG | None = None, *, merge: bool = True
) -> CausalBandit:
    """Return a question about a network: up to eight arms, ``do()`` among them; by another graph if one is given."""
    arms = interventions(network, reward="Y", size=1, null=False)
    chosen = rng.choice(len(arms), min(MOST_ARMS - 1, len(arms)), replace=False)
    listed = [*interventions(network, reward="Y", size=0), *(arms[i] for i in sorted(chosen))]
    states = {v: network.get_cpds(v).state_names[v] for v in network.nodes}
    known = network if graph is None else graph
    states = {v: names for v, names in states.items() if v in known}
    return CausalBandit(known, reward="Y", arms=listed, states=None if graph is None else states, merge_equal=merge)


def near_tie(rng: np.random.Generator, epsilon: float) -> tuple[DiscreteBayesianNetwork, CausalBandit]:
    """Return a confounded treatment whose best state is better than the next by a little more than epsilon."""
    gap, share, slant = epsilon * 1.1, rng.uniform(0.2, 0.5), rng.uniform(0.05, 0.3)
    base = rng.uniform(0.25, 0.6)
    network = DiscreteBayesianNetwork([("Z", "X"), ("Z", "Y"), ("X", "Y")])
    effect = np.array([0.0, gap, -0.1])
    with_z = base + effect + slant * (1.0 - share)
    without = base + effect - slant * share
    x_given_z = np.clip(rng.dirichlet(np.full(3, 2.0), size=2), 0.05, None)
    one = np.stack([without, with_z], axis=1).ravel()
    network.add_cpds(
        TabularCPD("Z", 2, [[1.0 - share], [share]]),
        TabularCPD("X", 3, (x_given_z / x_given_z.sum(axis=1, keepdims=True)).T, evidence=["Z"], evidence_card=[2]),
        TabularCPD("Y", 2, [1.0 - one, one], evidence=["X", "Z"], evidence_card=[3, 2]),
    )
    return network, CausalBandit(network, reward="Y", arms=interventions(network, reward="Y", variables=["X"], size=1))


def one_apart(rng: np.random.Generator, n_arms: int, epsilon: float) -> tuple[DiscreteBayesianNetwork, CausalBandit]:
    """Return a treatment of many states; one is better than all others, exact ties, by a little more than epsilon."""
    one = np.full(n_arms, 0.2)
    one[rng.integers(n_arms)] += epsilon + 0.005
    network = DiscreteBayesianNetwork([("X", "Y")])
    network.add_cpds(
        TabularCPD("X", n_arms, np.full((n_arms, 1), 1.0 / n_arms)),
        TabularCPD("Y", 2, [1.0 - one, one], evidence=["X"], evidence_card=[n_arms]),
    )
    return network, CausalBandit(network, reward="Y", arms=interventions(network, reward="Y", size=1))


def spoiled(network: DiscreteBayesianNetwork, rng: np.random.Generator) -> DAG:
    """Return the network's graph without one of its edges, or one of its hidden causes."""
    graph = nx.DiGraph(network)
    hidden = sorted(network.latents)
    seen = [(a, b) for a, b in sorted(graph.edges) if a not in network.latents]
    at = int(rng.integers(len(seen) + len(hidden)))
    if at < len(seen):
        graph.remove_edge(*seen[at])
    else:
        graph.remove_node(hidden[at - len(seen)])
    left = DAG()
    left.add_nodes_from(graph.nodes)
    left.add_edges_from(graph.edges)
    left.latents = {u for u in hidden if u in graph}
    return left


def values_of(network: DiscreteBayesianNetwork, bandit: CausalBandit) -> Any:
    """Return the true expected rewards of all arms that were listed, also of those that the bandit's graph merged."""
    listed = [arm for merged in bandit.merged.values() for arm in merged]
    question = CausalBandit(network, reward=bandit.reward, arms=listed, merge_equal=False)
    return expected_rewards(network, question, progress=False)
