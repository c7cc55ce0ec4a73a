"""What a reward is worth: the values of its states, or the range of one that is measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pgcpe.graphs.states import find_state, shown, state_name
from pgcpe.graphs.structure import State
from pgcpe.plays.reward_scale import Measured, RewardScale

__all__ = ["RewardWorth", "reward_array"]

LESS_AND_MORE = [("false", "true"), ("no", "yes"), ("bad", "good"), ("low", "high"), ("absent", "present")]
LESS_AND_MORE += [("negative", "positive"), ("failure", "success"), ("off", "on"), ("0", "1")]
"""Names of two states of which the second says that there is more of what the variable is called."""


@dataclass(frozen=True, eq=False)
class RewardWorth:
    """What a reward is worth.

    Attributes
    ----------
    scale
        Its range and direction.
    values
        The value of each state, in the user's unit; None where it is measured.
    shares
        Array over the states: their shares of the range, 1 for the best there can be. A reward that is measured counts,
        where states are counted, for the two ends of the range between which it lies: 0 and 1.
    measured
        The reward and its scale where it is a number; None where it has states.
    """

    scale: RewardScale
    values: dict[State, float] | None
    shares: NDArray[np.float64]
    measured: Measured | None

    @classmethod
    def of(
        cls, reward: str, states: Sequence[State], values: Any, reward_range: Any, *, minimise: Any, named: bool
    ) -> Self:
        """Return what a user says of a reward.

        Parameters
        ----------
        reward, states
            Its name, and the states that the graph has for it.
        values, reward_range, minimise
            As for `CausalBandit`: with a range and no values it is measured.
        named
            Whether the user has named its states, which one that is measured does not have.

        Raises
        ------
        TypeError, ValueError
            If these do not fit each other.
        """
        scale, measured = RewardScale.checked(reward_range, minimise), None
        own: dict[State, float] | None = None
        if reward_range is not None and values is None:
            if named:
                raise ValueError(
                    f"with reward_range the reward {reward} is measured and has no states: leave it out of states, or "
                    "say by reward_values what each state is worth"
                )
            measured, shares = Measured(reward, scale), np.array([0.0, 1.0])
        else:
            worth = reward_array(states, reward, values, scale)
            own, shares = dict(zip(states, worth.tolist(), strict=True)), scale.share(worth)
        shares.setflags(write=False)
        return cls(scale, own, shares, measured)

    @property
    def options(self) -> dict[str, Any]:
        """The values, the range and the direction, by the names of the parameters of `CausalBandit`."""
        scale = self.scale
        plain = self.measured is None and (scale.low, scale.high) == (0.0, 1.0)
        ends = None if plain else (scale.low, scale.high)
        return {"reward_values": self.values, "reward_range": ends, "minimise": scale.minimise}


def reward_array(
    states: Sequence[State],
    reward: str,
    values: Mapping[State, float] | None,
    scale: RewardScale = RewardScale(),  # noqa: B008  # frozen
) -> NDArray[np.float64]:
    """Return the value of each state of the reward, in the user's unit."""
    interval = f"[{scale.low:g}, {scale.high:g}]"
    way = f"as in reward_values={_example(states, interval)}"
    if values is None:
        if {state_name(s) for s in states} != {"0", "1"}:
            raise ValueError(
                f"{reward} has the states {shown(*states)}; say what they are worth, {way}, "
                "or reward_range=(low, high) if it is measured"
            )
        return np.array([float(state_name(s)) for s in states])
    if not isinstance(values, Mapping):
        raise TypeError(f"reward_values must map each state of {reward} to its value, {way}, but got {shown(values)}")
    array = np.full(len(states), np.nan)
    for state, value in values.items():
        code = find_state(states, state, reward)
        if not isinstance(value, Real):
            raise TypeError(f"reward_values must be numbers in {interval}, but {shown(state)} has {shown(value)}")
        if not np.isnan(array[code]):
            raise ValueError(f"reward_values must give every state of {reward} one value, but {shown(state)} has two")
        if not scale.low <= value <= scale.high:
            raise ValueError(f"reward_values must lie in {interval}, but {shown(state)} has {shown(value)}")
        array[code] = value
    if lacking := [s for s, value in zip(states, array, strict=True) if np.isnan(value)]:
        raise ValueError(f"reward_values must give every state of {reward} a value, but lacks [{shown(*lacking)}]")
    return array


def _example(states: Sequence[State], interval: str) -> str:
    """Return an example of reward values, with numbers where the names of the states say which is the larger."""
    names = [state_name(s).lower() for s in states]
    pair = next((pair for pair in LESS_AND_MORE if set(pair) == set(names)), None)
    values = ["..."] * len(states) if pair is None else [f"{pair.index(name)}" for name in names]
    items = shown(*zip(states, values, strict=True), show=lambda item: f"{shown(item[0])}: {item[1]}")
    return f"{{{items}}}" + ("" if pair else f", with a number in {interval} for each")
