"""Measures of how hard a question is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import rel_entr
from tqdm.auto import tqdm

from pgcpe.bandit import CausalBandit
from pgcpe.confidence import probability
from pgcpe.estimators.equations import modelled_graph
from pgcpe.identification import nodes_on_paths
from pgcpe.networks import pgmpy_part

__all__ = [
    "bglm_observation_probabilities",
    "characteristic_time",
    "fixed_budget_hardness",
    "fixed_budget_weights",
    "gap_dependent_threshold",
    "gaps",
    "hardness",
    "observation_probabilities",
    "observation_threshold",
    "parallel_lower_bound",
]

Floats = NDArray[np.float64]


def bglm_observation_probabilities(bandit: CausalBandit, *, constant: str | None = None) -> pd.Series[float]:
    """Return q_a of every arm in a BGLM, Eq. (5): ``1 / (l^2 D^3)``, which depends on the graph alone; 1 for ``do()``.

    l is the size of N_{S,Y} and D the largest number of parents of a node among the ancestors of the reward, the
    constant included.

    Parameters
    ----------
    bandit
        The arms.
    constant
        As for `BGLM`.

    Raises
    ------
    ValueError
        If the graph has hidden common causes or a node more than two states.

    Examples
    --------
    >>> from pgmpy.base import DAG
    >>> from pgcpe import do
    >>> bandit = CausalBandit(DAG([("A", "B"), ("B", "Y")]), reward="Y", arms=[do(), do(A=1), do(B=1)])
    >>> bglm_observation_probabilities(bandit).round(4).tolist()
    [1.0, 0.0312, 0.125]
    """
    graph = modelled_graph(bandit.graph, bandit.states, bandit.reward, constant)
    most = max(graph.in_degree(v) + (constant is None) for v in graph if v != constant)
    ell = np.array([len(nodes_on_paths(graph, arm, bandit.reward) - {constant}) for arm in bandit.canonical])
    q = np.where([not arm for arm in bandit.canonical], 1.0, 1.0 / (ell**2 * float(most) ** 3))
    return pd.Series(q, index=pd.Index(bandit.arms, dtype=object, tupleize_cols=False), name="q_a")


def observation_probabilities(network: Any, bandit: CausalBandit, *, progress: bool | None = None) -> pd.Series[float]:
    """Return q_a of every arm, exactly, from the network: how easily it is estimated by observation.

    ``q_a = min_z P(S=s, Z_a=z)`` over the values of the variables of the arm's admissible sequence (section 5.1); 1 for
    ``do()``, 0 for an arm without a sequence. An arm merged with others has the q of its canonical action.

    Parameters
    ----------
    network
        The network the bandit was made of.
    bandit
        The arms.
    progress
        Whether to show a progress bar; by default where there is a terminal.

    Returns
    -------
    pandas.Series
        In [0, 1], indexed by the arms.

    Examples
    --------
    >>> from pgcpe import do, interventions, load_network
    >>> network = load_network("cancer")
    >>> arms = interventions(network, reward="Dyspnoea", variables=["Smoker", "Cancer"])
    >>> bandit = CausalBandit(network, reward="Dyspnoea", arms=arms, reward_values={"True": 0, "False": 1})
    >>> observation_probabilities(network, bandit).round(4).tolist()
    [1.0, 0.3, 0.7, 0.0116, 0.9884]
    """
    engine = pgmpy_part("inference").VariableElimination(network)
    joints: dict[tuple[str, ...], Any] = {}
    q = np.zeros(len(bandit.arms))
    hidden = None if progress is None else not progress
    pairs = list(zip(bandit.canonical, bandit.sequences, strict=True))
    for i, (action, sequence) in enumerate(tqdm(pairs, "q_a", disable=hidden)):
        if sequence is None:
            continue
        if not action:
            q[i] = 1.0
            continue
        if action.variables not in joints:
            joints[action.variables] = engine.query(
                [v for x, z in sequence for v in (x, *sorted(z))], show_progress=False
            )
        joint = joints[action.variables]
        chosen = tuple(joint.state_names[v].index(action[v]) if v in action else slice(None) for v in joint.variables)
        q[i] = np.min(joint.values[chosen])
    return pd.Series(q, index=pd.Index(bandit.arms, dtype=object, tupleize_cols=False), name="q_a")


# ---------------------------------------------------------------------------------------------- thresholds and hardness


def gaps(rewards: ArrayLike) -> Floats:
    """Return Delta_a for each arm: how far it is below the best; for the best, how far the second best is below it.

    Examples
    --------
    >>> gaps([0.5, 0.8, 0.7]).round(2).tolist()
    [0.3, 0.1, 0.1]
    """
    mu = _at_least_two("rewards", rewards)
    best = int(mu.argmax())
    delta = np.asarray(mu[best] - mu)
    delta[best] = np.delete(delta, best).min()
    return delta


def observation_threshold(q: ArrayLike) -> int:
    """Return m (Definition 1): the smallest t such that at most t arms have ``q_a < 1/t``. At most K.

    Examples
    --------
    The balanced parallel graph on ten variables:

    >>> observation_threshold([1.0] + [0.5] * 20)
    2
    """
    q = np.asarray(q, dtype=np.float64)
    return next((t for t in range(1, len(q)) if np.count_nonzero(q < 1.0 / t) <= t), len(q))


def hardness(q: ArrayLike, rewards: ArrayLike, epsilon: float = 0.0) -> Floats:
    """Return H_1, ..., H_K (section 3): the sums of ``1 / max(Delta_a, epsilon/2)^2`` over the hardest arms.

    The arms are taken in the order of ``q_a max(Delta_a, epsilon/2)^2``. H_K is the H of LUCB. Infinite where the best
    arm is not unique and epsilon is 0.
    """
    squared = np.maximum(gaps(rewards), epsilon / 2.0) ** 2
    order = np.argsort(np.asarray(q, dtype=np.float64) * squared, kind="stable")
    with np.errstate(divide="ignore"):
        return np.asarray(np.cumsum(1.0 / squared[order]), dtype=np.float64)


def gap_dependent_threshold(q: ArrayLike, rewards: ArrayLike, epsilon: float = 0.0) -> int:
    """Return m_{epsilon,Delta} (Definition 2): the number of hard arms, at most twice the observation threshold.

    It is the smallest t such that at most t arms have ``q_a max(Delta_a, epsilon/2)^2 < 1/H_t``.

    Examples
    --------
    Section 3's example at n = 8: m = 8, but only the two arms close together are hard.

    >>> q, rewards = [1.0] + [1 / 8] * 15, [0.4, 0.9, 0.9 - 1 / 8] + [0.4] * 13
    >>> observation_threshold(q), gap_dependent_threshold(q, rewards)
    (8, 2)
    """
    worth = np.asarray(q, dtype=np.float64) * np.maximum(gaps(rewards), epsilon / 2.0) ** 2
    sums = hardness(q, rewards, epsilon)
    hard = 1.0 - 1e-12  # an arm with worth = 1/H_t, such as the hardest at t = 1 with q = 1, is not hard
    with np.errstate(invalid="ignore"):  # 0 times infinity: best arms that are equal
        return next((t for t in range(1, len(worth)) if np.count_nonzero(worth * sums[t - 1] < hard) <= t), len(worth))


def fixed_budget_weights(n_arms: int, threshold: int) -> Floats:
    """Return alpha_1, ..., alpha_N of Theorem 5: what Causal Successive Rejects gains over 1/k by observing.

    Parameters
    ----------
    n_arms, threshold
        N and m.
    """
    k = np.arange(1, n_arms + 1)
    tail = np.append(np.cumsum(1.0 / k[::-1])[::-1][1:], 0.0)  # sum of 1/i over i > k
    hard = 1.0 / k + tail[threshold - 1] / threshold
    return np.where(k > threshold, (1.0 + tail) / threshold, hard)


def fixed_budget_hardness(q: ArrayLike, rewards: ArrayLike, epsilon: float = 0.0) -> float:
    """Return H_3 of Theorem 5: ``max_k 1 / (alpha_k max(Delta^(k), epsilon)^2)``, never above the H_2 of SR and SH."""
    ordered = np.sort(np.maximum(gaps(rewards), epsilon))
    alpha = fixed_budget_weights(len(ordered), observation_threshold(q))
    with np.errstate(divide="ignore"):
        return float((1.0 / (alpha * ordered**2)).max())


# ------------------------------------------------------------------------------------------------------- lower bounds


def parallel_lower_bound(q: ArrayLike, rewards: ArrayLike, delta: float, null: int, epsilon: float = 0.0) -> float:
    """Return the lower bound of Theorem 3 on the plays for a parallel graph and atomic interventions; at least 0.

    Its Omega hides a constant; the proof gives .09/32, which is used here. At the sizes of studies it is often 0 and
    says nothing: ask `characteristic_time` then.

    Parameters
    ----------
    q, rewards
        Arrays over the arms.
    delta
        The error probability.
    null
        The index of ``do()``.
    """
    squared = np.maximum(gaps(rewards), epsilon / 2.0) ** 2
    order = np.argsort(np.asarray(q, dtype=np.float64) * squared, kind="stable")
    few = gap_dependent_threshold(q, rewards, epsilon) - 1
    if few < 1:
        return 0.0
    hard = squared[order[:few]]
    inside = (1.0 / hard).sum() - 1.0 / hard.min() - 1.0 / squared[null]
    return max(0.0, 0.09 / 32.0 * float(inside) * math.log(1.0 / probability("delta", delta)))


def characteristic_time(rewards: ArrayLike) -> float:
    """Return T* of a bandit without structure: any delta-correct algorithm plays at least ``T* kl(delta, 1 - delta)``.

    ``1/T* = max_w min_l w_h kl(mu_h, m_l) + w_l kl(mu_l, m_l)`` with m_l the mean of the two weighted by w (Garivier
    and Kaufmann 2016, whose Theorem 5 is solved by bisection).

    Parameters
    ----------
    rewards
        The true expected rewards in (0, 1), the best of them unique.

    Raises
    ------
    ValueError
        If the best arm is not unique, or a reward is not inside (0, 1).

    Examples
    --------
    Two arms, symmetric about one half: equal weights, 2 / (2 kl(.6, .5)).

    >>> round(characteristic_time([0.6, 0.4]), 2)
    49.66
    """
    mu = np.sort(_at_least_two("rewards", rewards))[::-1]
    if not 0.0 < mu[-1] <= mu[0] < 1.0:
        raise ValueError(f"rewards must lie inside (0, 1), but lie in [{mu[-1]}, {mu[0]}]")
    if mu[0] == mu[1]:
        raise ValueError("the best arm must be unique: otherwise no number of plays tells it")

    best, rest = mu[0], mu[1:]

    def weights(cost: float) -> Floats:
        """Return the weight of each rival, per weight of the best arm, at which the pair's information is `cost`."""
        low, high = np.zeros_like(rest), np.ones_like(rest)
        while (short := _pair(best, rest, high) < cost).any():
            high[short] *= 2.0
        for _ in range(100):
            middle = 0.5 * (low + high)
            below = _pair(best, rest, middle) < cost
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return high

    # with all pairs at equal cost y the optimum balances sum_l kl(mu_h, m_l) / kl(mu_l, m_l) = 1 (their Theorem 5)
    low, high = 0.0, float(_kl(best, rest).min()) * (1.0 - 1e-12)
    for _ in range(100):
        cost = 0.5 * (low + high)
        x = weights(cost)
        middle = (best + x * rest) / (1.0 + x)
        if (_kl(best, middle) / _kl(rest, middle)).sum() < 1.0:
            low = cost
        else:
            high = cost
    x = weights(low)
    return float((1.0 + x.sum()) / _pair(best, rest, x).min())


def _pair(best: float, rest: Floats, x: Floats) -> Floats:
    """Return the information of a pair, per weight of the best arm, if the rival has x times that weight."""
    middle = (best + x * rest) / (1.0 + x)
    return _kl(best, middle) + x * _kl(rest, middle)


def _kl(p: ArrayLike, q: ArrayLike) -> Floats:
    p, q = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    return np.asarray(rel_entr(p, q) + rel_entr(1.0 - p, 1.0 - q))


def _at_least_two(name: str, values: ArrayLike) -> Floats:
    array = np.array(values, dtype=np.float64)
    if array.ndim != 1 or len(array) < 2 or not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite numbers of at least two arms, but got {values!r}")
    return array
