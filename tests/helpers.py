"""What several tests need: random graphs and networks, exact distributions by enumeration, the small cases."""

from __future__ import annotations

import importlib
import itertools
import json
import sys
from pathlib import Path

import networkx as nx
import numpy as np
from pgmpy.base import DAG
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork

CASES = Path(__file__).parent / "cases"
ROOT = Path(__file__).parent.parent


def benchmark(name: str):
    """A script of the folder benchmarks, as a module."""
    folder = str(ROOT / "benchmarks")
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module(name)


def case(name: str) -> dict:
    return json.loads((CASES / f"{name}.json").read_text())


def dag(edges, latents=(), nodes=()) -> DAG:
    graph = DAG()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edges)
    graph.latents = set(latents)
    return graph


def case_network(content: dict) -> DiscreteBayesianNetwork:
    """The binary network of a case, with states 0 and 1."""
    network = DiscreteBayesianNetwork()
    network.add_nodes_from(content["p_one"])
    network.add_edges_from(content["edges"])
    for variable, given in content["p_one"].items():
        parents = given["parents"]
        ones = [given["table"][",".join(map(str, key))] for key in itertools.product((0, 1), repeat=len(parents))]
        network.add_cpds(
            TabularCPD(
                variable,
                2,
                [[1 - p for p in ones], ones],
                evidence=parents,
                evidence_card=[2] * len(parents),
                state_names={v: [0, 1] for v in (variable, *parents)},
            )
        )
    network.latents = set(content["latents"])
    return network


def random_dag(rng: np.random.Generator, observed: int, latents: int, density: float) -> DAG:
    """A random DAG; each latent causes two observed variables."""
    names = [f"V{i}" for i in range(observed)]
    edges = [(a, b) for a, b in itertools.combinations(names, 2) if rng.random() < density]
    hidden = [f"U{i}" for i in range(latents)]
    for u in hidden:
        edges += [(u, v) for v in rng.choice(names, 2, replace=False)]
    return dag([(str(a), str(b)) for a, b in edges], hidden, [*names, *hidden])


def random_questions(seed, n):
    """Random graphs with hidden causes, treatments and an outcome."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        observed = int(rng.integers(4, 7))
        graph = random_dag(rng, observed, int(rng.integers(0, 4)), float(rng.choice([0.3, 0.45, 0.6])))
        outcome = f"V{observed - 1}" if rng.random() < 0.9 else f"V{observed - 2}"
        pool = [f"V{i}" for i in range(observed) if f"V{i}" != outcome]
        yield graph, [str(v) for v in rng.choice(pool, int(rng.integers(1, 4)), replace=False)], outcome


def hidden_anywhere(rng, n, density=0.45):
    """A random DAG whose latent variables are not only roots, and may be causes of each other."""
    names = [f"V{i}" for i in range(n)]
    edges = [(a, b) for a, b in itertools.combinations(names, 2) if rng.random() < density]
    return dag(edges, map(str, rng.choice(names[:-1], int(rng.integers(1, 3)), replace=False)), names)


def random_tables(
    rng: np.random.Generator, graph: nx.DiGraph, most: int = 3
) -> dict[str, tuple[list[str], np.ndarray]]:
    """Random tables with two to `most` states: variable -> (parents, array with the variable itself last)."""
    card = {v: int(rng.integers(2, most + 1)) for v in graph}
    tables = {}
    for v in graph:
        parents = list(graph.predecessors(v))
        tables[v] = parents, rng.dirichlet(np.ones(card[v]), size=tuple(card[p] for p in parents))
    return tables


def joint(tables: dict[str, tuple[list[str], np.ndarray]], setting: dict[str, int] | None = None) -> np.ndarray:
    """The joint distribution, axes in the order of `tables`, by truncated factorisation under do(setting)."""
    order = list(tables)
    product = np.ones([tables[v][1].shape[-1] for v in order])
    for v, (parents, values) in tables.items():
        if setting and v in setting:
            values, parents = np.eye(values.shape[-1])[setting[v]], []
        axes = [order.index(p) for p in (*parents, v)]
        rank = np.argsort(axes)
        product = product * np.expand_dims(values.transpose(rank), [i for i in range(len(order)) if i not in axes])
    return product


def is_separated(graph: nx.DiGraph, x: str, y: str, given: set[str]) -> bool:
    """d-separation by the moral graph of the ancestors, written for the tests alone."""
    closed = {x, y, *given}
    ancestral = nx.DiGraph(graph.subgraph(closed.union(*(nx.ancestors(graph, v) for v in closed))))
    moral = nx.Graph(ancestral.edges)
    moral.add_nodes_from(ancestral)
    for v in ancestral:
        moral.add_edges_from(itertools.combinations(ancestral.predecessors(v), 2))
    moral.remove_nodes_from(given)
    return not nx.has_path(moral, x, y)
