"""The radii of the paper, in every reading that its text allows. None of them carries a full guarantee."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from pgcpe._checks import one_of
from pgcpe._numba import njit
from pgcpe.confidence.intervals import Floats, probability

__all__ = ["BGLM_RADII", "paper_bglm_radius", "paper_direct_radius", "paper_observational_radius"]


def paper_direct_radius(plays: ArrayLike, n_arms: int, delta: float, alpha: float = 2.0) -> Floats:
    """Return beta_I of Eqs. (6) and (12): ``alpha sqrt(log(|A| log(2n) / delta) / n)``; infinite where n = 0.

    ``alpha = 2`` is the constant of the theorems, the smaller ones of the experiments have no guarantee.
    """
    n = np.asarray(plays, dtype=np.float64)
    return np.array([union_radius(k, n_arms / probability("delta", delta), k, alpha) for k in n.ravel()]).reshape(
        n.shape
    )


def paper_observational_radius(
    observations: int,
    smallest_cell: float,
    n_treatments: int,
    n_adjusted: int,
    n_cells: int,
    n_arms: int,
    delta: float,
    alpha: float = 8.0,
) -> float:
    """Return beta_O of Eq. (12): ``alpha sqrt(log(20 k |A| Z_a I_a log(2t) / delta) / T_a)``; infinite where T_a = 0.

    As printed the logarithm is that of 0 where nothing is adjusted for; k and Z_a are taken as at least 1, and t is the
    number of observations, as in the proof.

    Parameters
    ----------
    observations
        t.
    smallest_cell, n_treatments, n_adjusted, n_cells
        T_a = min_z T_{a,z}, k = |S|, Z_a = |Z| and I_a, the number of values of Z.
    alpha
        8 in the theorem; its proof has gaps, so that not even this has a full guarantee.
    """
    union = paper_observational_union(n_treatments, n_adjusted, n_cells, n_arms)
    return float(union_radius(smallest_cell, union / probability("delta", delta), observations, alpha))


BGLM_RADII = ("printed", "proved", "ell_D", "ell", "plain")
"""The readings of beta_O for BGLM, see `paper_bglm_radius`."""


def paper_bglm_radius(
    observations: int,
    n_on_paths: ArrayLike,
    most_parents: int,
    n_nodes: int,
    delta: float,
    *,
    reading: str,
    alpha: float,
    slope_ratio: float = 1.0,
    eta: float = 1.0,
) -> Floats:
    """Return beta_O of Eq. (6), ``alpha c sqrt(log(3 n t^2 / delta) / t)``, in one of five readings of the factor c.

    ========== ============================================ ==========================================================
    reading    c                                            worth
    ========== ============================================ ==========================================================
    printed    M1 / (kappa sqrt(eta)) D^1.5 l D^1.5         Eq. (6) with q_a of Eq. (5): D^1.5 stands in both
    proved     M1 / (kappa sqrt(eta)) l D^1.5               where the proof ends; with alpha = 6 sqrt(2) the theorem
    ell_D      l D^1.5                                      proved for a linear model, less sqrt(eta)
    ell        l                                            the only one whose best alphas are the paper's (.05, .4)
    plain      1                                            the rate alone
    ========== ============================================ ==========================================================

    None carries a full guarantee. The proof bounds the estimate in one fixed direction and uses it in many, and spends
    delta more often than it has it. The last three are for tuned alphas.

    Parameters
    ----------
    observations
        t, at least 1.
    n_on_paths
        l, array over the arms: the size of N_{S,Y} (`pgcpe.graphs.identification.nodes_on_paths`).
    most_parents, n_nodes
        D, counting the constant parent, and n, the number of nodes with an equation.
    slope_ratio, eta
        M1 / kappa, and the probability of Assumption 3.
    """
    one_of("radius", reading, BGLM_RADII)
    ell, d = np.asarray(n_on_paths, dtype=np.float64), float(most_parents) ** 1.5
    assumed = slope_ratio / math.sqrt(eta)
    factor = {
        "printed": assumed * d * ell * d,
        "proved": assumed * ell * d,
        "ell_D": ell * d,
        "ell": ell,
        "plain": np.ones_like(ell),
    }[reading]
    level = math.log(3.0 * n_nodes * float(observations) ** 2 / probability("delta", delta))
    return np.asarray(alpha * factor * math.sqrt(level / observations))


def paper_observational_union(n_treatments: int, n_adjusted: int, n_cells: int, n_arms: int) -> float:
    """Return ``20 k |A| Z_a I_a``, the number of events in beta_O's union bound."""
    return 20.0 * max(n_treatments, 1) * n_arms * max(n_adjusted, 1) * n_cells


@njit(cache=True)
def union_radius(n, union_over_delta, t, alpha):  # type: ignore[no-untyped-def]
    """Return ``alpha sqrt(log(union log(2t) / delta) / n)``, the form of both of the paper's radii."""
    if n <= 0:
        return math.inf
    return alpha * math.sqrt(max(math.log(union_over_delta * math.log(2.0 * max(t, 1))), 0.0) / n)


@njit(cache=True)
def refresh_paper(plays, rewards, done, arms_over_delta, alpha, lower, upper):  # type: ignore[no-untyped-def]
    """Recompute mean -+ `paper_direct_radius` in place for the arms whose plays are not those of `done`."""
    for i in range(len(plays)):
        if plays[i] != done[i] and plays[i] > 0:
            done[i] = plays[i]
            mean, radius = rewards[i] / plays[i], union_radius(plays[i], arms_over_delta, plays[i], alpha)
            lower[i], upper[i] = mean - radius, mean + radius
