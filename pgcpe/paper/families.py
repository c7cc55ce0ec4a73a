"""The classes of graphs of Appendix A, and parallel graphs, as generators with their action sets."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from pgmpy.base import DAG

from pgcpe._checks import generator
from pgcpe.bandit import CausalBandit
from pgcpe.paper.instances import Instance, binary_network, linear_network
from pgcpe.plays.actions import interventions

__all__ = ["causal_tree", "collaborative", "parallel", "two_layer"]

MOST_CAUSES = 20
"""A table has a row for every combination of the causes."""


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
        If the lengths differ, a probability leaves [0, 1], or more than 20 weights are not 0.

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
    if (causes := sum(w != 0 for w in weights)) > MOST_CAUSES:
        raise ValueError(f"weights must have at most {MOST_CAUSES} other than 0, but got {causes}")
    names = [f"X{i}" for i in range(1, len(q) + 1)]
    models: dict[str, tuple[float, dict[str, float]]] = {name: (p, {}) for name, p in zip(names, q, strict=True)}
    models["Y"] = intercept, {name: w for name, w in zip(names, weights, strict=True) if w}
    graph = DAG()
    graph.add_nodes_from([*names, "Y"])
    graph.add_edges_from((name, "Y") for name in names)
    return Instance(
        linear_network(models), CausalBandit(graph, reward="Y", arms=interventions(graph, reward="Y", size=1))
    )


def two_layer(
    seed: int | np.random.SeedSequence,
    *,
    n: int = 8,
    n_key: int = 2,
    max_size: int = 2,
    confounders: int = 1,
    merge_equal: bool = True,
) -> Instance:
    """Return a two-layer graph: keys X_1, ..., X_k, the other variables that they cause, and a reward of the latter.

    A key may be a cause of later keys and of any other variable, each with probability 1/2; every other variable has
    one cause at least, and is one of Y. The arms are ``do()`` and ``do(S=s)`` for all sets S of up to `max_size`
    variables that are no keys.

    The keys are an adjustment set for every arm. The paper asks for ``k <= log2(n) / 2`` besides: its bound needs that,
    the adjustment does not, and it is not asked for here.

    Parameters
    ----------
    seed
        Seed of the graph and of the tables, whose probabilities of 1 are uniform on [.1, .9].
    n, n_key
        The number of variables without Y and the hidden ones, and how many of them are keys, from 1 to n - 1. The
        table of Y has 2^(n - n_key) rows.
    max_size
        How many variables an arm sets at most.
    confounders
        How many pairs of keys have a hidden cause.
    merge_equal
        As for `CausalBandit`; no two arms are equal here, since each variable they set is a cause of Y.

    Raises
    ------
    ValueError
        If a number leaves its range, there are not so many pairs, or a variable had over 20 causes.

    Examples
    --------
    >>> two_layer(0).bandit
    CausalBandit(reward='Y', 73 arms, 10 variables)
    """
    if not 1 <= n_key < n:
        raise ValueError(f"n_key must be between 1 and n - 1, but got n_key={n_key} and n={n}")
    rng = generator(seed)
    keys, rest = _names(n)[:n_key], _names(n)[n_key:]
    parents = _some_in_order(rng, keys)
    for name in rest:
        certain = keys[rng.integers(n_key)]
        parents[name] = [key for key in keys if rng.random() < 0.5 or key == certain]
    parents["Y"] = rest
    network = _random_network(rng, parents, list(itertools.combinations(keys, 2)), confounders)
    return _instance(network, [[name] for name in rest], max_size, merge_equal)


def collaborative(
    seed: int | np.random.SeedSequence,
    *,
    blocks: int = 3,
    block_size: int = 3,
    max_size: int = 2,
    confounders: int = 2,
    merge_equal: bool = True,
) -> Instance:
    """Return a collaborative graph: blocks of variables, all of them causes of the reward, without a link between them.

    A variable may be a cause of later ones of its block, each with probability 1/2. The arms are ``do()`` and
    ``do(S=s)`` for all sets S of up to `max_size` variables, no two of one block.

    The paper adjusts for the blocks that S meets, without S. That is right only where no variable of S is a cause of
    another one of its block, which then lies on its way to Y. There is an admissible sequence exactly where no
    variable of S is linked to an effect of its own by hidden causes, directly or through others.

    Parameters
    ----------
    seed
        Seed of the graph and of the tables, whose probabilities of 1 are uniform on [.1, .9].
    blocks, block_size
        The number of blocks and of variables in each. The table of Y has 2^(blocks * block_size) rows.
    max_size
        How many variables an arm sets at most; no more than there are blocks.
    confounders
        How many pairs of variables of one block have a hidden cause.
    merge_equal
        As for `CausalBandit`; no two arms are equal here, since every variable is a cause of Y.

    Raises
    ------
    ValueError
        If a number leaves its range, there are not so many pairs, or a variable had over 20 causes.

    Examples
    --------
    >>> collaborative(0).bandit
    CausalBandit(reward='Y', 127 arms, 12 variables)
    """
    if min(blocks, block_size) < 1:
        raise ValueError(f"blocks and block_size must be at least 1, but got {blocks} and {block_size}")
    rng = generator(seed)
    names = _names(blocks * block_size)
    groups = [names[i : i + block_size] for i in range(0, len(names), block_size)]
    parents = {name: above for group in groups for name, above in _some_in_order(rng, group).items()}
    parents["Y"] = names
    pairs = [pair for group in groups for pair in itertools.combinations(group, 2)]
    return _instance(_random_network(rng, parents, pairs, confounders), groups, max_size, merge_equal)


def causal_tree(
    seed: int | np.random.SeedSequence, *, n: int = 8, max_size: int = 2, confounders: int = 2, merge_equal: bool = True
) -> Instance:
    """Return a causal tree: X_1 is its root, the parent of X_i is any of X_1, ..., X_(i-1), the leaves are causes of Y.

    Hidden causes are shared by nodes of the same layer only. The arms are ``do()`` and ``do(S=s)`` for all sets S of up
    to `max_size` variables.

    The paper does not say where Y is. As a node of the tree it would have one parent, and P(Y | do(x)) = P(Y | x) for
    every x on the way to it; but the paper's example conditions Y on several branches, so it is below all of them here.

    With S_i the variables of S in layer i and C their component of hidden causes, the paper adjusts for C and its
    parents. As printed this holds S_i itself, for which nobody can adjust; without S_i it is an admissible sequence.

    Parameters
    ----------
    seed
        Seed of the graph and of the tables, whose probabilities of 1 are uniform on [.1, .9].
    n
        The number of nodes of the tree, at least 1. The table of Y has 2^(number of leaves) rows.
    max_size
        How many variables an arm sets at most.
    confounders
        How many pairs of nodes of one layer have a hidden cause; all there are where the tree has fewer.
    merge_equal
        As for `CausalBandit`: a node matters only if some path from it to Y avoids the others that are set.

    Raises
    ------
    ValueError
        If a number leaves its range, or a variable had over 20 causes.

    Examples
    --------
    >>> causal_tree(0).bandit
    CausalBandit(reward='Y', 125 arms merged from 129, 11 variables)
    """
    if n < 1:
        raise ValueError(f"n must be at least 1, but got {n}")
    rng = generator(seed)
    names = _names(n)
    parents: dict[str, list[str]] = {"X1": []}
    layer = {"X1": 0}
    for i in range(1, n):
        above = names[rng.integers(i)]
        parents[names[i]], layer[names[i]] = [above], layer[above] + 1
    inner = set(itertools.chain(*parents.values()))
    parents["Y"] = [name for name in names if name not in inner]
    pairs = [(a, b) for a, b in itertools.combinations(names, 2) if layer[a] == layer[b]]
    network = _random_network(rng, parents, pairs, min(confounders, len(pairs)))
    return _instance(network, [[name] for name in names], max_size, merge_equal)


# --------------------------------------------------------------------------------------------------- what they share


def _names(n: int) -> list[str]:
    return [f"X{i}" for i in range(1, n + 1)]


def _some_in_order(rng: np.random.Generator, names: list[str]) -> dict[str, list[str]]:
    """Return for each name its parents: each of those before it with probability 1/2."""
    return {name: [above for above in names[:i] if rng.random() < 0.5] for i, name in enumerate(names)}


def _random_network(
    rng: np.random.Generator, parents: dict[str, list[str]], pairs: list[tuple[str, str]], confounders: int
) -> Any:
    """Return a binary network with random tables, and with hidden causes U1, U2, ... of some of the pairs."""
    if not 0 <= confounders <= len(pairs):
        raise ValueError(f"confounders must be between 0 and {len(pairs)}, the pairs there are, but got {confounders}")
    chosen = sorted(rng.choice(len(pairs), confounders, replace=False).tolist())
    hidden = {f"U{k}": pairs[i] for k, i in enumerate(chosen, start=1)}
    nodes: dict[str, tuple[list[str], Callable[..., float]]] = {u: ([], rng.uniform(0.1, 0.9, ()).item) for u in hidden}
    for node, observed in parents.items():
        causes = [*observed, *(u for u, pair in hidden.items() if node in pair)]
        if len(causes) > MOST_CAUSES:
            raise ValueError(f"{node} must have at most {MOST_CAUSES} causes, but got {len(causes)}")
        nodes[node] = causes, rng.uniform(0.1, 0.9, (2,) * len(causes)).item
    network = binary_network(nodes)
    network.latents = set(hidden)
    return network


def _instance(network: Any, groups: list[list[str]], max_size: int, merge_equal: bool) -> Instance:
    """Return the instance whose arms set up to `max_size` variables, no two of one group, or none."""
    if not 1 <= max_size <= len(groups):
        raise ValueError(f"max_size must be between 1 and {len(groups)}, but got {max_size}")
    group = {name: i for i, names in enumerate(groups) for name in names}
    arms = interventions(network, reward="Y", variables=group, max_size=max_size)
    arms = [arm for arm in arms if len({group[name] for name in arm}) == len(arm)]
    return Instance(network, CausalBandit(network, reward="Y", arms=arms, merge_equal=merge_equal))
