"""What a policy knew at any time, by telling it its plays once more."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from pgcpe._checks import whole_number
from pgcpe.policies.base import Policy

__all__ = ["trace"]

FIRST = 16
"""The first look after so many plays."""


def trace(policy: Policy, looks: int = 60) -> pd.DataFrame:
    """Return what a policy knew after growing numbers of its plays, to see how a study came to its end.

    A policy is a function of what it was told and of its seed: a clone of it is told the same plays in the same order.

    Parameters
    ----------
    policy
        A policy that was told plays. It stays as it is.
    looks
        How often it is looked at, evenly on the scale of the logarithm, the last time after all plays.

    Returns
    -------
    DataFrame
        One row for each look and arm: ``plays``, ``action``, ``leader`` (whether it would be returned then),
        ``estimate``, ``lower``, ``upper``, ``n_plays`` (of the arm itself), ``ruled out`` (by the stopping rule), and
        the evidence against it in ``nats`` with what is ``asked``, NaN where the rule counts none. The rule compares
        with the arm of the best estimate; while another one would be returned, as it may be after a stop, no arm is
        ruled out and no evidence counted. ``attrs`` says whether less is better (``minimise``) and to how many
        ``decimals`` rewards are shown. `plot_over_plays` and `plot_evidence` of `pgcpe.plotting` draw it.

    Raises
    ------
    TypeError
        If it is no policy.
    ValueError
        If nothing was told.

    Examples
    --------
    >>> from pgcpe import PooledCCPE
    >>> from pgcpe.paper import experiment_3
    >>> question = experiment_3(5)
    >>> policy = PooledCCPE(question.bandit, epsilon=0.1)
    >>> result = policy.run(question.environment(0), progress=False)
    >>> last = trace(policy, looks=5).query("plays == plays.max()")
    >>> last.loc[last["leader"], "action"].item() == result.recommendation
    True
    """
    if not isinstance(policy, Policy):
        raise TypeError(f"policy must be a Policy that was told plays, but got {type(policy).__name__}")
    whole_number("looks", looks, 1)
    told = policy.result().told
    if len(told) == 0:
        raise ValueError("policy must have been told plays, but knows none: tell it, or run it, first")
    again = clone(policy)
    rows: list[dict[str, Any]] = []
    done = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said when the plays were told
        for n in np.unique(np.geomspace(min(FIRST, len(told)), len(told), looks).round().astype(int)):
            again.tell(told.rows(slice(done, n)))
            done = int(n)
            rows += _look(again, done)
    traced, scale = pd.DataFrame(rows), policy.bandit.reward_scale
    traced.attrs = {"minimise": scale.minimise, "decimals": scale.decimals}
    return traced


def _look(policy: Policy, n: int) -> list[dict[str, Any]]:
    """Return a row for each arm, as a policy knows it."""
    state, intervals, best = policy.state, policy.intervals, policy.recommendation
    estimates = policy.bandit.reward_scale.value(state.estimates)
    ruled_out = np.zeros(len(state.plays), dtype=np.bool_)
    nats, asked = np.full((2, len(state.plays)), np.nan)
    if state.leader == policy._recommended:  # else what the rule says is of another arm
        ruled_out = ~policy._stopping.unresolved(state)
        if (said := policy._stopping.progress(state)) is not None:
            nats, asked = np.where(np.isinf(said.nats), np.nan, said.nats), said.asked
    return [
        {
            "plays": n,
            "action": arm,
            "leader": arm == best,
            "estimate": estimates[i],
            "lower": intervals.lower[i],
            "upper": intervals.upper[i],
            "n_plays": int(state.plays[i]),
            "ruled out": bool(ruled_out[i] and arm != best),
            "nats": nats[i],
            "asked": asked[i],
        }
        for i, arm in enumerate(policy.bandit.arms)
    ]
