"""Exact expected rewards, by variable elimination."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from tqdm.auto import tqdm

from pgcpe.bandit import CausalBandit
from pgcpe.graphs.states import shown
from pgcpe.graphs.structure import State, pgmpy_part
from pgcpe.models.network_tables import sound_network
from pgcpe.plays.actions import Action

__all__ = ["expected_reward", "expected_rewards"]

MOST_AT_ONCE = 65_536
"""Larger tables of rewards are not worked out for all values of the set variables at once."""


def expected_reward(
    network: Any, action: Action, *, reward: str, reward_values: Mapping[State, float] | None = None
) -> float:
    """Return the exact expected reward of an action in a network, by variable elimination.

    Parameters
    ----------
    network
        A pgmpy ``DiscreteBayesianNetwork``.
    action
        The intervention; a state of probability zero may be set.
    reward, reward_values
        As for `CausalBandit`.

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
    bandit = CausalBandit(network, reward=reward, arms=[action], reward_values=reward_values, merge_equal=False)
    return float(expected_rewards(network, bandit, progress=False).iloc[0])


def expected_rewards(network: Any, bandit: CausalBandit, *, progress: bool | None = None) -> pd.Series[float]:
    """Return the exact expected rewards of the arms of a bandit, from the network it was made of.

    Parameters
    ----------
    network
        The network, whose tables the bandit does not keep.
    bandit
        The arms, the reward and its values.
    progress
        Whether to show a progress bar; by default where there is a terminal.

    Returns
    -------
    pandas.Series
        Indexed by the arms: ``rewards[do(X=1)]``.
    """
    if not isinstance(bandit, CausalBandit):
        raise TypeError(f"bandit must be a CausalBandit, but got {type(bandit).__name__}")
    network = sound_network(network)
    if missing := sorted({bandit.reward}.union(*bandit.canonical) - set(network)):
        raise ValueError(f"the network must have the variables of the bandit, but lacks {shown(*missing, show=str)}")
    sets: dict[tuple[str, ...], list[int]] = {}
    for i, action in enumerate(bandit.canonical):
        sets.setdefault(action.variables, []).append(i)
    rewards = np.empty(len(bandit.arms))
    hidden = None if progress is None else not progress
    with tqdm(total=len(rewards), desc="expected rewards", disable=hidden) as bar:
        for variables, arms in sets.items():
            engine = _engine(network, variables)
            cells = math.prod(len(bandit.states[v]) for v in variables)
            if cells <= min(MOST_AT_ONCE, 16 * len(arms)):  # one query for all values of the set variables
                factor = engine.query([bandit.reward, *variables], show_progress=False)
                for i in arms:
                    rewards[i] = _expectation(factor, bandit, bandit.canonical[i])
            else:
                for i in arms:
                    factor = engine.query([bandit.reward], evidence=dict(bandit.canonical[i]), show_progress=False)
                    rewards[i] = _expectation(factor, bandit, Action())
            bar.update(len(arms))
    return pd.Series(rewards, index=pd.Index(bandit.arms, dtype=object, tupleize_cols=False), name="expected reward")


def _expectation(factor: Any, bandit: CausalBandit, action: Action) -> float:
    """Return the expected reward given an action's values, from a factor over the reward and what the action sets."""
    chosen = tuple(factor.state_names[v].index(action[v]) if v in action else slice(None) for v in factor.variables)
    values = factor.values[chosen]
    names = factor.state_names[bandit.reward]
    ordered = values[[names.index(s) for s in bandit.states[bandit.reward]]]
    return float(ordered @ bandit.reward_array / ordered.sum())


def _engine(network: Any, variables: tuple[str, ...]) -> Any:
    """Return variable elimination on the network in which `variables` have no causes.

    Their tables are made uniform: pgmpy averages them over the parents instead, which leaves a state of probability
    zero at zero and makes nonsense of it as evidence.
    """
    factors = pgmpy_part("factors.discrete")
    cut = network.do(list(variables)) if variables else network
    for variable in variables:
        names = cut.get_cpds(variable).state_names[variable]
        cut.remove_cpds(variable)
        uniform = [[1 / len(names)]] * len(names)
        cut.add_cpds(factors.TabularCPD(variable, len(names), uniform, state_names={variable: names}))
    return pgmpy_part("inference").VariableElimination(cut)
