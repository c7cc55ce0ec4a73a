"""Exact expected rewards, by variable elimination."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from tqdm.auto import tqdm

from pgcpe.bandit import CausalBandit
from pgcpe.environment.reward_noise import RewardNoise
from pgcpe.graphs.states import shown
from pgcpe.graphs.structure import State
from pgcpe.models.elimination import sum_out, tables_upstream
from pgcpe.models.network_tables import Table, tables_of
from pgcpe.plays.actions import Action
from pgcpe.plays.reward_scale import Measured, numbers_of

__all__ = ["arms_by_set", "expected_reward", "expected_rewards"]

MOST_AT_ONCE = 65_536
"""Larger tables of rewards are not worked out for all values of the set variables at once."""


def expected_reward(
    network: Any,
    action: Action,
    *,
    reward: str,
    reward_values: Mapping[State, float] | None = None,
    reward_range: tuple[float, float] | None = None,
) -> float:
    """Return the exact expected reward of an action in a network, by variable elimination.

    Parameters
    ----------
    network
        A pgmpy ``DiscreteBayesianNetwork``.
    action
        The intervention; a state of probability zero may be set.
    reward, reward_values, reward_range
        As for `CausalBandit`; the states of a reward that is measured are named by numbers.

    Raises
    ------
    ValueError
        If a name or a state is unknown.

    Examples
    --------
    >>> from pgcpe import load_network, do
    >>> round(expected_reward(load_network("asia"), do(), reward="dysp", reward_values={"yes": 0, "no": 1}), 4)
    0.564
    """
    values, ends = reward_values, reward_range
    bandit = CausalBandit(
        network, reward=reward, arms=[action], reward_values=values, reward_range=ends, merge_equal=False
    )
    return float(expected_rewards(network, bandit, progress=False).iloc[0])


def expected_rewards(
    network: Any, bandit: CausalBandit, *, noise: RewardNoise | None = None, progress: bool | None = None
) -> pd.Series[float]:
    """Return the exact expected rewards of the arms of a bandit, in its unit, in the network that performs them.

    What matters of an arm the network's own edges say, those of the bandit's graph may be others.

    Parameters
    ----------
    network
        The network, whose tables the bandit does not keep.
    bandit
        The arms, the reward and its values.
    noise
        How a reward that is measured varies around the values of its states. By default the states are named by
        numbers, and it does not.
    progress
        Whether to show a progress bar; by default where there is a terminal.

    Returns
    -------
    pandas.Series
        Indexed by the arms: ``rewards[do(X=1)]``.
    """
    if not isinstance(bandit, CausalBandit):
        raise TypeError(f"bandit must be a CausalBandit, but got {type(bandit).__name__}")
    tables = tables_of(network)
    if missing := sorted({bandit.reward}.union(*bandit.arms) - tables.keys()):
        raise ValueError(f"the network must have the variables of the bandit, but lacks {shown(*missing, show=str)}")
    worth = _worth(tables[bandit.reward], bandit, noise)
    rewards = np.empty(len(bandit.arms))
    hidden = None if progress is None else not progress
    with tqdm(total=len(rewards), desc="expected rewards", disable=hidden) as bar:
        for variables, arms in _arms_by_what_matters(tables, bandit).items():
            codes = [[tables[v].states.index(bandit.arms[i][v]) for v in variables] for i in arms]
            rewards[arms] = _rewards(tables, bandit.reward, worth, variables, np.array(codes, dtype=np.intp))
            bar.update(len(arms))
    return pd.Series(rewards, index=pd.Index(bandit.arms, dtype=object, tupleize_cols=False), name="expected reward")


def _arms_by_what_matters(tables: Mapping[str, Table], bandit: CausalBandit) -> dict[tuple[str, ...], list[int]]:
    """Return the indices of the arms for each set of variables that matter, of those that they set, in a network."""
    arms: dict[tuple[str, ...], list[int]] = {}
    matter: dict[tuple[str, ...], tuple[str, ...]] = {}
    for i, action in enumerate(bandit.arms):
        if (own := action.variables) not in matter:
            upstream = {v for _, axes in tables_upstream(tables, [bandit.reward], past=own) for v in axes}
            matter[own] = tuple([v for v in own if v in upstream])
        arms.setdefault(matter[own], []).append(i)
    return arms


def _worth(table: Table, bandit: CausalBandit, noise: RewardNoise | None) -> dict[State, float]:
    """Return what each state of the reward is worth on average, in the user's unit."""
    if bandit.worth.values is not None:
        return bandit.worth.values
    if noise is None or noise.reward != bandit.reward:
        values = numbers_of(table.states, Measured(bandit.reward, bandit.reward_scale))
    else:
        values = noise.mean(noise.worth(table.states))
    return dict(zip(table.states, values.tolist(), strict=True))


def arms_by_set(bandit: CausalBandit) -> dict[tuple[str, ...], list[int]]:
    """Return for each set of variables that canonical actions set the indices of the arms."""
    arms: dict[tuple[str, ...], list[int]] = {}
    for i, action in enumerate(bandit.canonical):
        arms.setdefault(action.variables, []).append(i)
    return arms


def _rewards(
    tables: Mapping[str, Table],
    reward: str,
    worth: Mapping[State, float],
    variables: tuple[str, ...],
    codes: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Return the expected rewards where variables are set to states, a row of codes for each arm.

    By the truncated factorisation: the product of the tables without those of what is set.
    """
    others = tables_upstream(tables, [reward], past=variables)
    factors = [*others, (np.array([worth[s] for s in tables[reward].states]), (reward,))]
    cards = [len(tables[v].states) for v in variables]
    if math.prod(cards) <= min(MOST_AT_ONCE, 16 * len(codes)):  # all states of the set variables at once
        free = [(np.ones(card), (v,)) for v, card in zip(variables, cards, strict=True)]
        return np.asarray(sum_out([*factors, *free], variables)[tuple(codes.T)])
    chosen = [
        [(np.eye(card)[code], (v,)) for v, card, code in zip(variables, cards, row, strict=True)] for row in codes
    ]
    return np.array([sum_out([*factors, *one]) for one in chosen])
