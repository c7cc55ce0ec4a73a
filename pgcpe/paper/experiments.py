"""The paper's Experiments 1 to 3, made anew from a seed; the gaps in the text are filled as said at each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pgcpe._checks import generator
from pgcpe.bandit import CausalBandit
from pgcpe.paper.instances import Instance, binary_network, linear_network
from pgcpe.plays.actions import interventions

__all__ = ["experiment_1", "experiment_2", "experiment_3"]


def experiment_1(seed: int | np.random.SeedSequence, *, merge_equal: bool = True, null: bool = False) -> Instance:
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
    null
        Whether ``do()`` is an arm too.

    Examples
    --------
    >>> experiment_1(0).bandit
    CausalBandit(reward='Y', 55 arms merged from 56, 9 variables)
    """
    rng = generator(seed)
    names = [f"X{i}" for i in range(1, 9)]
    models = {}
    for i, name in enumerate(names):
        parents = sorted(rng.choice(i, min(i, 2), replace=False).tolist())
        models[name] = 0.4, {names[p]: 0.1 for p in parents}
    chosen = rng.choice(8, 4, replace=False).tolist()
    models["Y"] = 0.0, {names[p]: weight for p, weight in zip(chosen, (0.3, 0.3, 0.3, 0.05), strict=True)}
    network = linear_network(models)
    arms = interventions(network, reward="Y", size=3, values=[1], null=null)
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
    rng = generator(seed)
    names = [f"X{i}" for i in range(1, 8)]
    nodes: dict[str, tuple[list[str], Callable[..., float]]] = {
        "X1": ([], lambda: 0.5),
        "X2": (["X1"], lambda x: 0.55 if x else 0.45),
    }
    for i in range(2, 7):
        parents = sorted(rng.choice(i, 2, replace=False).tolist())
        nodes[names[i]] = [names[p] for p in parents], lambda a, b: 0.55 if a == b else 0.45

    def reward(x3: int, x4: int, x5: int, x6: int, x7: int) -> float:
        """Return P(Y = 1) given its parents."""
        if x3 and x4:
            return 0.9
        return 0.7 + 0.05 * x3 + 0.05 * x4 if x5 and x6 else 0.0

    nodes["Y"] = names[2:], reward
    network = binary_network(nodes)
    arms = interventions(network, reward="Y", size=2, null=null)
    return Instance(network, CausalBandit(network, reward="Y", arms=arms, merge_equal=merge_equal))


def experiment_3(
    n: int = 5, *, values: Sequence[int] | None = None, merge_equal: bool = True, null: bool = False
) -> Instance:
    """Return Experiment 3: a reward with n causes, all with hidden causes of their own; the same for every seed.

    X_1 is a cause of X_0 and of X_2, ..., X_(n+1), which are those of Y; the hidden U_i is one of X_(i+2) and of X_0,
    0 <= i < n. ``P(U_i=1) = P(X_1=1) = 1/2``; P(X_i=1) is .5 where both its causes are 1, else .4;
    ``P(X_0=1) = min(mean of the U_i + .1 X_1, 1)``; ``P(Y=1) = .4 X_2 + .4 X_3 + .2/n (X_4 + ... + X_(n+1))``. The arms
    set two of the causes of Y. X_1 alone has to be adjusted for; X_0, an effect of all hidden variables, must not be.

    The text numbers the hidden variables from 1 in one place and from 0 in another, sums up to an X_(n+2) that there is
    not, and says neither n nor to which values the arms set their variables.

    Parameters
    ----------
    n
        The number of causes of Y, from 3 to 18: the table of X_0 has 2^(n+1) rows.
    values
        To what the arms set their variables: by default both values, 4 n (n - 1) / 2 arms; ``[1]``: to 1 alone.
    merge_equal
        As for `CausalBandit`.
    null
        Whether ``do()`` is an arm too.

    Raises
    ------
    ValueError
        If n is out of range.

    Examples
    --------
    >>> experiment_3(5).bandit
    CausalBandit(reward='Y', 40 arms, 13 variables)
    >>> experiment_3(5, values=[1]).bandit
    CausalBandit(reward='Y', 10 arms, 13 variables)
    """
    if not 3 <= n <= 18:
        raise ValueError(f"n must be between 3 and 18, but got {n}")
    hidden, causes = [f"U{i}" for i in range(n)], [f"X{i}" for i in range(2, n + 2)]
    nodes: dict[str, tuple[list[str], Callable[..., float]]] = {u: ([], lambda: 0.5) for u in hidden}
    nodes["X1"] = [], lambda: 0.5
    nodes["X0"] = [*hidden, "X1"], lambda *of: min(sum(of[:-1]) / n + 0.1 * of[-1], 1.0)
    for x, u in zip(causes, hidden, strict=True):
        nodes[x] = ["X1", u], lambda x1, u: 0.5 if x1 and u else 0.4
    nodes["Y"] = causes, lambda x2, x3, *rest: 0.4 * (x2 + x3) + 0.2 / n * sum(rest)
    network = binary_network(nodes)
    network.latents = set(hidden)
    arms = interventions(network, reward="Y", variables=causes, size=2, values=values, null=null)
    return Instance(network, CausalBandit(network, reward="Y", arms=arms, merge_equal=merge_equal))
