"""A simulator of a network, by ancestral sampling."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pgcpe._checks import generator
from pgcpe._numba import njit
from pgcpe.bandit import CausalBandit
from pgcpe.environment.exact import expected_rewards
from pgcpe.environment.reward_noise import RewardNoise
from pgcpe.graphs.states import did_you_mean, is_several, shown
from pgcpe.graphs.structure import causal_order, states_of, structure_of
from pgcpe.models.network_tables import tables_of
from pgcpe.plays.actions import Action
from pgcpe.plays.frames import distinct_actions
from pgcpe.plays.reward_scale import Measured
from pgcpe.plays.samples import Coding, ForcedCodes, Samples

__all__ = ["SimulatedEnvironment"]

CHUNK = 4_000_000
"""How many uniform numbers are drawn at once."""


class SimulatedEnvironment:
    """Performs actions in a network, by ancestral sampling.

    The tables are compiled once to arrays; intervened variables take their state whatever its probability.

    Parameters
    ----------
    network
        A pgmpy ``DiscreteBayesianNetwork`` with a table for every variable. Its latents are sampled, never shown.
    seed
        Seed of the environment's own generator.
    reward_noise
        Makes the reward a number, drawn around the value of the state that the network draws for it.

    Raises
    ------
    ValueError
        If a table is missing or does not fit the graph, or the noise does not fit the network.

    Examples
    --------
    >>> from pgcpe import load_network, do
    >>> environment = SimulatedEnvironment(load_network("asia"), seed=0)
    >>> environment.perform([do(), do(smoke="yes")]).to_frame()[["smoke", "dysp"]]
                  smoke dysp
    action
    do()            yes   no
    do(smoke=yes)   yes  yes
    """

    def __init__(
        self, network: Any, *, seed: int | np.random.SeedSequence | None, reward_noise: RewardNoise | None = None
    ) -> None:
        graph = structure_of(network)
        self.network, self.states = network, states_of(network)
        self._order = causal_order(graph)
        self._compile(network, graph)
        observed = [v for v in graph.nodes if v not in graph.latents]
        column = {v: j for j, v in enumerate(observed)}
        self._column = np.array([column.get(v, -1) for v in self._order], dtype=np.int64)
        self.coding = Coding(tuple(observed), tuple(self.states[v] for v in observed))
        self._forced = ForcedCodes(self._order, [self.states[v] for v in self._order])
        self._checked: set[Action] = set()
        self._truth: dict[CausalBandit, pd.Series[float]] = {}
        self._rng = generator(seed)
        self.reward_noise = reward_noise
        if reward_noise is not None:
            self._measure(reward_noise)

    def _measure(self, noise: RewardNoise) -> None:
        """Have the reward of samples be a number in place of a state."""
        if not isinstance(noise, RewardNoise):
            raise TypeError(f"reward_noise must be a RewardNoise, but got {shown(noise)}")
        known = self.coding.variables
        if noise.reward not in known:
            raise ValueError(
                f"reward_noise must name an observed variable of the network, but got {shown(noise.reward)}"
                f"{did_you_mean(noise.reward, known)}"
            )
        self._worth = noise.worth(self.states[noise.reward])
        self._told = [j for j, v in enumerate(known) if v != noise.reward]
        self._measured = Coding(
            tuple(known[j] for j in self._told),
            tuple(self.coding.states[j] for j in self._told),
            Measured(noise.reward, noise.scale),
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> SimulatedEnvironment:
        """Return one that will give the same samples; the tables, which never change, are shared."""
        twin = copy.copy(self)
        twin._rng = copy.deepcopy(self._rng, memo)
        return twin

    def reseeded(self, seed: int | np.random.SeedSequence | None) -> SimulatedEnvironment:
        """Return a simulator of the same network with a seed of its own; what was compiled is shared."""
        twin = copy.copy(self)
        twin._rng = generator(seed)
        return twin

    def perform(self, actions: Sequence[Action]) -> Samples:
        """Perform the actions, each once, and return what was observed, in order."""
        if isinstance(actions, Action):
            actions = [actions]
        if not is_several(actions) or isinstance(actions, Mapping):
            raise TypeError(f"actions must be a list such as [do(X=1)], but got {shown(actions)}")
        return self._draw(*distinct_actions([_checked(action) for action in actions]))

    def sample(self, action: Action, n: int) -> Samples:
        """Perform one action `n` times."""
        if not isinstance(n, Integral):
            raise TypeError(f"n must be an integer, but got {shown(n)}")
        if n < 0:
            raise ValueError(f"n must not be negative, but got {n}")
        return self._draw((_checked(action),), np.zeros(n, dtype=np.intp))

    def expected_rewards(self, bandit: CausalBandit) -> pd.Series[float]:
        """Return the exact expected rewards of the arms of a bandit, which no policy asks for; worked out once."""
        if bandit not in self._truth:
            self._truth[bandit] = expected_rewards(self.network, bandit, noise=self.reward_noise, progress=False)
        return self._truth[bandit]

    def _draw(self, actions: tuple[Action, ...], which: NDArray[np.intp]) -> Samples:
        if not self._checked.issuperset(actions):
            for action in actions:
                if unknown := sorted(set(action) - set(self.coding.variables)):
                    raise ValueError(
                        f"{shown(action, show=str)} sets {shown(*unknown, show=str)}, which is no observed variable of "
                        f"the network{did_you_mean(unknown[0], self.coding.variables)}"
                    )
            self._checked.update(actions)
        rows = self._forced.rows(actions)[which]
        codes = np.empty((len(which), len(self.coding.variables)), dtype=np.int32)
        step = max(1, CHUNK // len(self._order))
        for start in range(0, len(which), step):
            some = rows[start : start + step]
            uniform = self._rng.random((len(some), len(self._order)))
            _sample(
                self._parents,
                self._offset,
                self._cumulative,
                self._forced.table,
                some,
                uniform,
                self._column,
                codes[start:],
            )
        if self.reward_noise is None:
            return Samples(self.coding, codes, actions, which)
        state = codes[:, self.coding.variables.index(self.reward_noise.reward)]
        drawn = self.reward_noise.draw(self._worth[state], self._rng)
        rewards = self.reward_noise.scale.share(drawn)
        return Samples(self._measured, codes[:, self._told], actions, which, rewards)

    def _compile(self, network: Any, graph: Any) -> None:
        """Lay all tables out in one array of cumulative probabilities.

        Node i in topological order has at `_offset[i]` its column for the first parent configuration; `_parents[i]`
        lists (position, stride) of its parents, ended by position -1.
        """
        position = {v: i for i, v in enumerate(self._order)}
        width = max([graph.in_degree(v) for v in self._order], default=0) + 1
        self._parents = np.full((len(self._order), width, 2), -1, dtype=np.int64)
        self._offset = np.zeros(len(self._order) + 1, dtype=np.int64)
        columns = []
        tables = tables_of(network)
        for i, variable in enumerate(self._order):
            table = tables[variable]
            cumulative = np.cumsum(table.values.reshape(-1, len(table.states)), axis=1)
            cumulative[:, -1] = 1.0
            columns.append(cumulative.ravel())
            stride = len(table.states)
            for k in range(len(table.parents) - 1, -1, -1):
                self._parents[i, k] = position[table.parents[k]], stride
                stride *= table.values.shape[k]
            self._offset[i + 1] = self._offset[i] + cumulative.size
        self._cumulative = np.concatenate(columns)


def _checked(action: Action) -> Action:
    if not isinstance(action, Action):
        raise TypeError(f"an action must be written do(X=1) or do({{'X': 1}}), but got {shown(action)}")
    return action


@njit(cache=True)
def _sample(parents, offset, cumulative, forced, rows, uniform, column, codes):  # type: ignore[no-untyped-def]
    """Fill the rows of `codes` by ancestral sampling."""
    nodes = len(column)
    value = np.empty(nodes, dtype=np.int64)
    for row in range(len(rows)):
        for i in range(nodes):
            state = forced[rows[row], i]
            if state < 0:
                start = offset[i]
                k = 0
                while parents[i, k, 0] >= 0:
                    start += value[parents[i, k, 0]] * parents[i, k, 1]
                    k += 1
                state = 0
                while uniform[row, i] >= cumulative[start + state]:
                    state += 1
            value[i] = state
            if column[i] >= 0:
                codes[row, column[i]] = state
