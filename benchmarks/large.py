"""A question with really many arms: 50 variables of two or three states, sets of up to three of which are set."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from pgcpe.graphs.tables import build_network

VARIABLES, HIDDEN = 50, 4
REWARD = f"V{VARIABLES - 1}"
LATENTS = tuple(f"U{i}" for i in range(HIDDEN))
SETTABLE = tuple(f"V{i}" for i in range(7, 42))
"""Of these all sets of up to three are set to all of their states: 100,419 arms, ``do()`` among them."""

REACH, MOST_PARENTS = 15, 3
"""A variable has up to three parents among the fifteen before it, so that effects pass through many others."""


def large_network(seed: int = 0) -> Any:
    """Return the network: tables drawn at random, the reward last with the states 0 and 1, four hidden causes of two.

    Parameters
    ----------
    seed
        Of the edges, the numbers of states and the tables.
    """
    rng = np.random.default_rng(seed)
    parents: dict[str, list[str]] = {u: [] for u in LATENTS}
    for i in range(VARIABLES):
        n = min(i, int(rng.integers(1, MOST_PARENTS + 1)))
        chosen = rng.choice(np.arange(max(0, i - REACH), i), n, replace=False)
        parents[f"V{i}"] = [f"V{j}" for j in sorted(chosen)]
    for u in LATENTS:
        for i in rng.choice(VARIABLES, 2, replace=False):
            parents[f"V{i}"].append(u)
    states = {v: tuple(range(int(rng.integers(2, 4)))) for v in parents}
    states |= dict.fromkeys((*LATENTS, REWARD), (0, 1))
    tables = {}
    for v, known in parents.items():
        rows = rng.dirichlet(np.ones(len(states[v])), tuple(len(states[p]) for p in known))
        tables[v] = known, np.moveaxis(rows, -1, 0)
    return build_network({v: tuple(map(str, s)) for v, s in states.items()}, tables, LATENTS)


if __name__ == "__main__":
    from pgcpe import CausalBandit, interventions

    network = large_network()
    arms = interventions(network, reward=REWARD, variables=SETTABLE, max_size=3)
    print(f"{len(network)} variables, {network.number_of_edges()} edges, {len(arms):,} arms")
    print(len(nx.ancestors(network, REWARD)), "ancestors of the reward")
    print(CausalBandit(network, reward=REWARD, arms=arms))
