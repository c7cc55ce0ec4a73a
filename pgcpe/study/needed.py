"""How many plays more a study is likely to take: simulated from its current estimate."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgcpe._checks import whole_number
from pgcpe.environment.protocol import Environment
from pgcpe.environment.simulator import SimulatedEnvironment
from pgcpe.estimators.table_model import TableModel
from pgcpe.graphs.identification import drop_exogenous_noise
from pgcpe.graphs.structure import latents_of, pgmpy_part
from pgcpe.plays.actions import Action
from pgcpe.policies.base import Policy
from pgcpe.policies.loop import play
from pgcpe.study.status import PlaysNeeded

__all__ = ["estimated_environment", "plays_needed", "plays_without", "why_unknown"]


def plays_needed(policy: Policy, *, runs: int = 10, budget: int = 20_000, seed: int = 0) -> PlaysNeeded | None:
    """Return how many plays more a policy is likely to take, if the truth is like its current estimate.

    As good as that estimate, most of all its gaps between the best arms, which early on are chance.

    Parameters
    ----------
    policy
        What was told all plays so far. It is left as it is.
    runs
        How many studies are simulated from here.
    budget
        After how many plays they are broken off.
    seed
        The first of their seeds.

    Returns
    -------
    PlaysNeeded or None
        None where the distributions of what has to be recorded are not known: the plays do not show them, for hidden
        causes in common, or the policy keeps no tables.
    """
    return _simulated(policy, policy, runs=runs, budget=budget, seed=seed)


def plays_without(
    policy: Policy, *, runs: int = 10, budget: int = 20_000, seed: int = 0
) -> dict[str, PlaysNeeded | None]:
    """Return for each variable that a policy has recorded, and nothing sets, the plays needed without it.

    They are those of a study that takes up the plays told so far without the variable, taken for hidden, and never
    records it; simulated as `plays_needed` does. None where that cannot be said: the plays do not show the truth, or no
    policy can do without.

    Parameters
    ----------
    policy, runs, budget, seed
        As for `plays_needed`.
    """
    bandit = policy.bandit
    parameters = {name: value for name, value in policy.get_params().items() if name != "bandit"}
    found: dict[str, PlaysNeeded | None] = {}
    for variable in bandit.required:
        if variable in bandit.settable:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                without = type(policy)(bandit.leaving_out([variable]), **parameters)
                without.tell(policy.result().told)
        except ValueError:
            found[variable] = None
        else:
            found[variable] = _simulated(without, policy, runs=runs, budget=budget, seed=seed)
    return found


def why_unknown(policy: Policy) -> str:
    """Return in words why it cannot be said how many plays more a policy takes."""
    bandit = policy.bandit
    together = f"{', '.join(bandit.required)} and {bandit.reward} come about together"
    if hidden := sorted(latents_of(drop_exogenous_noise(bandit.graph, bandit.reward))):
        cause = f"the plays do not show how {together} ({', '.join(hidden)} hidden)"
    else:
        cause = f"the policy keeps no tables of how {together}"
    return f"How many plays more it takes cannot be said: {cause}."


def _simulated(policy: Policy, truth: Policy, *, runs: int, budget: int, seed: int) -> PlaysNeeded | None:
    """Return how many plays more a policy takes where the truth is what another one has estimated."""
    runs, budget, seed = whole_number("runs", runs, 1), whole_number("budget", budget, 1), whole_number("seed", seed, 0)
    if policy.stopped:
        return PlaysNeeded(0.0, 0.0, 0.0, 0.0, runs, budget)
    if estimated_environment(truth, seed) is None:
        return None
    plays, costs = [], []
    for number in range(seed, seed + runs):
        simulated, environment = copy.copy(policy), estimated_environment(truth, number)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of conflicts by chance
            n = play(simulated, environment, budget=budget, progress=False) if environment is not None else 0
        plays.append(n if simulated.stopped else budget)
        costs.append(simulated.cost - policy.cost)
    low, median, high = np.quantile(plays, [0.1, 0.5, 0.9])
    return PlaysNeeded(float(median), float(low), float(high), float(np.median(costs)), runs, budget)


def estimated_environment(policy: Policy, seed: int) -> Environment | None:
    """Return a simulator of what a policy has estimated: its tables, or the arms' rewards where it records no more.

    None where it records variables of which the tables cannot be learned.
    """
    for model in policy.state.models:
        if isinstance(model, TableModel):
            return SimulatedEnvironment(_network(policy, model), seed=seed)
    return None if policy.bandit.required else _EstimatedRewards(policy, seed)


def _network(policy: Policy, model: TableModel) -> Any:
    """Return the estimated network; a variable that is no cause of the reward stands alone, with equal shares."""
    bandit = policy.bandit
    states = dict(bandit.states)
    if bandit.worth.measured is not None:  # of any distribution with that mean the one that varies most
        ends = bandit.reward_scale.value(bandit.reward_array)
        states[bandit.reward] = tuple(ends.tolist())
    factors, networks = pgmpy_part("factors.discrete"), pgmpy_part("models")
    network = networks.DiscreteBayesianNetwork()
    network.add_nodes_from(bandit.observed)
    of_node: dict[str, tuple[tuple[str, ...], NDArray[np.float64]]] = {
        v: ((), np.full(len(states[v]), 1.0 / len(states[v]))) for v in bandit.observed if v not in model.nodes_
    }
    for i, values in model.tables().items():
        of_node[model.nodes_[i]] = tuple(model.nodes_[p] for p in model.parents_[i]), values
    for v, (parents, values) in of_node.items():
        network.add_edges_from([(parent, v) for parent in parents])
        cards = [len(states[p]) for p in parents]
        columns = np.moveaxis(values, -1, 0).reshape(len(states[v]), -1)
        names = {u: list(states[u]) for u in (v, *parents)}
        network.add_cpds(factors.TabularCPD(v, len(columns), columns, list(parents), cards, state_names=names))
    return network


class _EstimatedRewards:
    """Performs arms whose reward is the best or the worst there is, with the estimated mean."""

    def __init__(self, policy: Policy, seed: int) -> None:
        bandit, table = policy.bandit, policy.result().table
        self._bandit, self._rng = bandit, np.random.default_rng(seed)
        low, high = bandit.reward_array.min(), bandit.reward_array.max()
        means = dict(zip(table["action"], bandit.reward_scale.share(table["estimate"]), strict=True))
        share = {a: (m - low) / (high - low) if high > low else 0.0 for a, m in means.items()}
        self._share = {a: float(np.clip(s, 0.0, 1.0)) for a, s in share.items()}
        told = bandit.states.get(bandit.reward) or tuple(bandit.reward_scale.value(bandit.reward_array).tolist())
        self._told = told[int(bandit.reward_array.argmin())], told[int(bandit.reward_array.argmax())]

    def perform(self, actions: Sequence[Action]) -> list[dict[str, Any]]:
        """Return the reward of each action; an action that is no arm has a mean of one half."""
        drawn = self._rng.random(len(actions))
        share = [
            self._share.get(self._bandit.arms[i] if (i := self._bandit.index(a)) >= 0 else a, 0.5) for a in actions
        ]
        return [{self._bandit.reward: self._told[int(u < s)]} for u, s in zip(drawn, share, strict=True)]
