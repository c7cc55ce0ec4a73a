"""What the states of a reward are worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from pgcpe.graphs.states import find_state, shown, state_name
from pgcpe.graphs.structure import State

__all__ = ["reward_array"]

LESS_AND_MORE = [("false", "true"), ("no", "yes"), ("bad", "good"), ("low", "high"), ("absent", "present")]
LESS_AND_MORE += [("negative", "positive"), ("failure", "success"), ("off", "on"), ("0", "1")]
"""Names of two states of which the second says that there is more of what the variable is called."""


def reward_array(states: Sequence[State], reward: str, values: Mapping[State, float] | None) -> NDArray[np.float64]:
    """Return the value of each state of the reward."""
    way = f"as in reward_values={_example(states)}"
    if values is None:
        if {state_name(s) for s in states} != {"0", "1"}:
            raise ValueError(f"{reward} has the states {shown(*states)}; say what they are worth, {way}")
        return np.array([float(state_name(s)) for s in states])
    if not isinstance(values, Mapping):
        raise TypeError(f"reward_values must map each state of {reward} to its value, {way}, but got {shown(values)}")
    array = np.full(len(states), np.nan)
    for state, value in values.items():
        code = find_state(states, state, reward)
        if not isinstance(value, Real):
            raise TypeError(f"reward_values must be numbers in [0, 1], but {shown(state)} has {shown(value)}")
        if not np.isnan(array[code]):
            raise ValueError(f"reward_values must give every state of {reward} one value, but {shown(state)} has two")
        if not 0 <= value <= 1:
            raise ValueError(f"reward_values must lie in [0, 1], but {shown(state)} has {shown(value)}")
        array[code] = value
    if lacking := [s for s, value in zip(states, array, strict=True) if np.isnan(value)]:
        raise ValueError(f"reward_values must give every state of {reward} a value, but lacks [{shown(*lacking)}]")
    return array


def _example(states: Sequence[State]) -> str:
    """Return an example of reward values, with numbers where the names of the states say which is the larger."""
    names = [state_name(s).lower() for s in states]
    pair = next((pair for pair in LESS_AND_MORE if set(pair) == set(names)), None)
    values = ["..."] * len(states) if pair is None else [f"{pair.index(name)}" for name in names]
    items = shown(*zip(states, values, strict=True), show=lambda item: f"{shown(item[0])}: {item[1]}")
    return f"{{{items}}}" + ("" if pair else ", with a number in [0, 1] for each")
