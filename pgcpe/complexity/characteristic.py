"""Characteristic times: how many plays every algorithm needs on an instance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, linprog
from scipy.special import rel_entr

from pgcpe.bandit import CausalBandit
from pgcpe.complexity.hardness import at_least_two
from pgcpe.confidence.intervals import probability
from pgcpe.confidence.sequences import bernoulli_kl
from pgcpe.estimators.table_model import TableModel, variances
from pgcpe.graphs.structure import causal_order
from pgcpe.models.contraction import Contraction
from pgcpe.models.network_tables import tables_of
from pgcpe.models.search import mirror_ascent
from pgcpe.plays.samples import ForcedCodes

__all__ = [
    "characteristic_time",
    "informed_characteristic_time",
    "least_delta",
    "least_plays",
    "quadratic_characteristic_time",
]

Floats = NDArray[np.float64]

SMALLEST_LOG_DELTA = -700.0
"""Smaller deltas are treated as 0."""


def least_plays(time: float, delta: float) -> float:
    """Return ``T* kl(delta, 1 - delta)``: a delta-correct algorithm plays no less on average.

    Examples
    --------
    >>> round(least_plays(100.0, 0.05), 1)
    265.0
    """
    return float(time * bernoulli_kl(probability("delta", delta), 1.0 - delta))


def least_delta(time: float, plays: float) -> float:
    """Return the delta at which `least_plays` is that many: what so many plays can be asked to guarantee; at most 1/2.

    Examples
    --------
    >>> round(least_delta(100.0, 265.0), 3)
    0.05
    """
    if not (time > 0 and plays >= 0):
        raise ValueError(f"time must be positive and plays at least 0, but got {time} and {plays}")

    def excess(log_delta: float) -> float:
        """Return by how many plays the least number at a delta exceeds those that there are."""
        return least_plays(time, math.exp(log_delta)) - plays

    if plays == 0.0 or excess(SMALLEST_LOG_DELTA) <= 0.0:
        return 0.5 if plays == 0.0 else math.exp(SMALLEST_LOG_DELTA)
    return math.exp(brentq(excess, SMALLEST_LOG_DELTA, math.log(0.5), xtol=1e-14))


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
    mu = np.sort(at_least_two("rewards", rewards))[::-1]
    if not 0.0 < mu[-1] <= mu[0] < 1.0:
        raise ValueError(f"rewards must lie inside (0, 1), but lie in [{mu[-1]}, {mu[0]}]")
    if mu[0] == mu[1]:
        raise ValueError("the best arm must be unique: otherwise no number of plays tells it")

    best, rest = mu[0], mu[1:]

    def weight(rival: float, cost: float) -> float:
        """Return the weight of a rival, per weight of the best arm, at which the pair's information is `cost`."""
        high = 1.0
        while _pair(best, rival, high) < cost:
            high *= 2.0
        return float(brentq(lambda x: _pair(best, rival, x) - cost, 0.0, high, xtol=1e-300, rtol=1e-15))

    def excess(cost: float) -> float:
        """Return ``sum_l kl(mu_h, m_l) / kl(mu_l, m_l) - 1``, 0 at the optimum, where all pairs cost the same."""
        x = np.array([weight(rival, cost) for rival in rest])
        middle = (best + x * rest) / (1.0 + x)
        return float((_kl(best, middle) / _kl(rest, middle)).sum() - 1.0)

    most = float(_kl(best, rest).min()) * (1.0 - 1e-12)
    cost = brentq(excess, 1e-9 * most, most, rtol=1e-14)
    x = np.array([weight(rival, cost) for rival in rest])
    return float((1.0 + x.sum()) / _pair(best, rest, x).min())


def _pair(best: float, rest: Any, x: Any) -> Any:
    """Return the information of a pair, per weight of the best arm, if the rival has x times that weight."""
    middle = (best + x * rest) / (1.0 + x)
    return _kl(best, middle) + x * _kl(rest, middle)


def _kl(p: ArrayLike, q: ArrayLike) -> Floats:
    p, q = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    return np.asarray(rel_entr(p, q) + rel_entr(1.0 - p, 1.0 - q))


# ------------------------------------------------------------------------------------------------- side information


def informed_characteristic_time(network: Any, bandit: CausalBandit, *, gap: float = 0.005) -> float:
    """Return a lower bound on T* where every play shows the parents of the reward and their distribution is known.

    Any delta-correct algorithm for the bandit with epsilon = 0 plays at least ``T* kl(delta, 1 - delta)`` times on
    average: one that is told the distribution of all other variables, hidden ones too, is only helped.

    ``1/T* = max_w min_l V_l(w)``, V_l the least information ``sum_x N_x kl(r_x, r'_x)`` that tells r = P(Y=1 | x) from
    an r' under which arm l is as good as the best one, ``N_x = sum_b w_b P_b(x)`` over the playable actions b. The
    maximum is enclosed by cutting planes: every r' met gives ``V_l(w) <= sum_b w_b g_b`` for all w, and the linear
    programme over these bounds is the certificate.

    Parameters
    ----------
    network
        The network, with a reward worth 0 or 1 in each state.
    bandit
        The question.
    gap
        The relative distance of the two bounds at which the search ends; after 300 programmes it ends anyhow.

    Raises
    ------
    ValueError
        If the reward has other values, the best arm is not unique, or the graph is too wide.

    Examples
    --------
    A single cause of the reward, set or observed: to know its distribution is no help, to see it is.

    >>> from pgcpe.paper import parallel
    >>> question = parallel([0.5], [0.2], 0.4)
    >>> round(informed_characteristic_time(question.network, question.bandit), 1)
    49.7
    """
    if bandit.worth.measured is not None:
        raise ValueError(f"the reward must have states, each worth 0 or 1, but {bandit.reward} is measured")
    if not np.isin(bandit.reward_array, (0.0, 1.0)).all():
        raise ValueError(f"the reward must be worth 0 or 1, but has the values {bandit.reward_array.tolist()}")
    likely, of_arms, r = _parents_of_reward(network, bandit)
    mu = of_arms @ r
    best = int(mu.argmax())
    if np.delete(mu, best).max(initial=-np.inf) > mu[best] - 1e-12:
        raise ValueError("the best arm must be unique: otherwise no number of plays tells it")
    met = likely.max(axis=0) > 0
    likely, r = likely[:, met], r[met]
    contrast = np.delete(of_arms, best, axis=0)[:, met] - of_arms[best, met]
    return 1.0 / _largest_minimum(likely, r, contrast, gap)


def quadratic_characteristic_time(network: Any, bandit: CausalBandit, *, steps: int = 2_000) -> float:
    """Return the approximate characteristic time of the tables P(X | parents), no row of which is known.

    ``1/T = max_w min_l gap_l^2 / (2 sum_r s_lr / N_r)``, with s_lr the variance that one play of row r adds to the
    difference of arm l from the best, and ``N_r`` the plays of the row for each play of the mix w of playable actions:
    what the best mix needs for every nat of ``log(1/delta)``, to second order. It is no proved bound: the weights are
    those of a mirror ascent, and the quadratic form is that of small gaps.

    Parameters
    ----------
    network
        The network.
    bandit
        The question; no variable may be hidden that confounds ancestors of the reward.
    steps
        Steps of the ascent.

    Raises
    ------
    ValueError
        If a hidden variable confounds others, or the best arm is not unique.

    Examples
    --------
    >>> from pgcpe.paper import experiment_3
    >>> question = experiment_3(5)
    >>> round(quadratic_characteristic_time(question.network, question.bandit))
    42
    """
    model = TableModel()
    bandit = bandit.recording(model.required(bandit))
    known = model.start(bandit)._tables
    p = _entries(network, known.nodes, known.parents, bandit)
    found = known.layout.derivatives(p, bandit.reward_array)
    n_arms = len(bandit.arms)
    mean = found.mean[:n_arms]
    best = int(mean.argmax())
    gap = mean[best] - np.delete(mean, best)
    if gap.min(initial=np.inf) < 1e-12:
        raise ValueError("the best arm must be unique: otherwise no number of plays tells it")
    spread = variances(found.slope[:n_arms], found.slope[best], p, np.ones(len(known.layout.width)), known.layout.width)
    spread, reach = np.delete(spread, best, axis=0), found.reach[known.playable]

    def objective(w: Floats) -> tuple[float, Floats]:
        """Return the nats of the hardest arm for each play of the mix, and the direction in which they grow."""
        plays = w @ reach
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(spread > 0, spread / plays, 0.0)
            nats = gap**2 / (2.0 * shares.sum(axis=1))
            hardest = int(nats.argmin())
            by_row = np.where(shares[hardest] > 0, shares[hardest] / plays, 0.0)
        return float(nats[hardest]), reach @ by_row

    return 1.0 / mirror_ascent(objective, len(reach), steps)[1]


def _entries(network: Any, nodes: Sequence[str], parents: Sequence[tuple[int, ...]], bandit: CausalBandit) -> Floats:
    """Return P(X | parents) of some nodes, flat, states in the bandit's order; other causes are summed out."""
    tables = tables_of(network)
    order = causal_order(network)
    position = {v: i for i, v in enumerate(order)}
    every = [tuple(position[p] for p in tables[v].parents) for v in order]
    cards = [len(tables[v].states) for v in order]
    nothing = np.full((1, len(order)), -1)
    parts = []
    for node, ps in zip(nodes, parents, strict=True):
        kept = [*(nodes[p] for p in ps), node]
        joint = Contraction(every, cards, nothing, tuple(position[v] for v in kept))(
            {i: tables[v].values for i, v in enumerate(order)}
        )[0]
        for axis, v in enumerate(kept):
            joint = joint.take([tables[v].states.index(s) for s in bandit.states[v]], axis=axis)
        rows = joint.sum(axis=-1, keepdims=True)
        parts.append(np.where(rows > 0, joint / np.where(rows > 0, rows, 1.0), 1.0 / joint.shape[-1]).ravel())
    return np.concatenate(parts)


def _parents_of_reward(network: Any, bandit: CausalBandit) -> tuple[Floats, Floats, Floats]:
    """Return P_b(x) of the playable actions and of the arms, arrays of shape (actions, x), and P(Y=1 | x)."""
    tables = tables_of(network)
    order = causal_order(network)
    position = {v: i for i, v in enumerate(order)}
    parents = [tuple(position[p] for p in tables[v].parents) for v in order]
    states = [tables[v].states for v in order]
    codes = ForcedCodes(order, states)
    rows = codes.rows([*bandit.playable, *bandit.arms])
    reward = position[bandit.reward]
    contraction = Contraction(parents, [len(s) for s in states], codes.table[rows], parents[reward])
    if not contraction.exact:
        raise ValueError("the graph is too wide for its distributions to be worked out")
    joint = contraction({i: tables[v].values for i, v in enumerate(order)}).reshape(len(rows), -1)
    value = np.array([bandit.reward_array[bandit.states[bandit.reward].index(s)] for s in states[reward]])
    r = (tables[bandit.reward].values @ value).ravel()
    return joint[: len(bandit.playable)], joint[len(bandit.playable) :], r


def _largest_minimum(likely: Floats, r: Floats, contrast: Floats, gap: float) -> float:
    """Return an upper bound on max_w min_l V_l(w), from cutting planes about a mirror ascent."""
    actions, cuts = len(likely), []

    def objective(w: Floats) -> tuple[float, Floats]:
        """Return min_l V_l(w) and its gradient, a cutting plane."""
        information, gradients = _informations(w, likely, r, contrast)
        hardest = int(information.argmin())
        cuts.append(gradients[hardest])
        return float(information[hardest]), gradients[hardest]

    _, lower = mirror_ascent(objective, actions, 200)
    upper = np.inf
    for _ in range(300):
        w, upper = _programme(np.array(cuts))
        if upper <= lower * (1.0 + gap):
            break
        w = (w + 1e-3 / actions) / (1.0 + 1e-3)  # keeps every x in sight
        information, gradients = _informations(w, likely, r, contrast)
        lower = max(lower, information.min())
        cuts.extend(gradients[np.argsort(information)[:5]])
    return upper


def _programme(cuts: Floats) -> tuple[Floats, float]:
    """Return the w in the simplex of the largest ``min_j cuts_j w``, and that value."""
    n = cuts.shape[1]
    solved = linprog(
        np.append(np.zeros(n), -1.0),
        A_ub=np.column_stack([-cuts, np.ones(len(cuts))]),
        b_ub=np.zeros(len(cuts)),
        A_eq=np.append(np.ones(n), 0.0)[None, :],
        b_eq=[1.0],
        bounds=[(0, None)] * n + [(None, None)],
    )
    if not solved.success:
        raise RuntimeError(f"the linear programme over {len(cuts)} bounds failed: {solved.message}")
    x = np.asarray(solved.x)
    return np.maximum(x[:-1], 0.0), float(x[-1])


def _informations(w: Floats, likely: Floats, r: Floats, contrast: Floats) -> tuple[Floats, Floats]:
    """Return V_l(w) of every rival l, from above, and its gradient, an array of shape (rivals, actions).

    r' solves ``N_x (r'_x - r_x) = lambda c_x r'_x (1 - r'_x)`` with the smallest lambda for which ``c r' >= 0``.
    """
    n = w @ likely
    low, high = np.zeros(len(contrast)), np.ones(len(contrast))
    while (short := (contrast * _tilted(high, n, r, contrast)).sum(axis=1) < 0.0).any():
        high[short] *= 4.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        below = (contrast * _tilted(middle, n, r, contrast)).sum(axis=1) < 0.0
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    alternative = _tilted(high, n, r, contrast)
    divergence = rel_entr(r, alternative) + rel_entr(1.0 - r, 1.0 - alternative)
    return divergence @ n, divergence @ likely.T


def _tilted(multiplier: Floats, n: Floats, r: Floats, contrast: Floats) -> Floats:
    """Return r' for a multiplier of each rival, the root in [0, 1] of its quadratic equation."""
    slope = multiplier[:, None] * contrast
    up = slope >= 0.0
    start = np.where(up, r, 1.0 - r)  # where r' falls, 1 - r' rises in the same way
    a = np.abs(slope)
    b = n - a
    root = np.sqrt(b**2 + 4.0 * a * n * start)
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = np.where(b > 0.0, 2.0 * n * start / (b + root), (root - b) / (2.0 * a))  # without cancellation
    moved = np.where(a > 0.0, moved, start)
    return np.where(up, moved, 1.0 - moved)
