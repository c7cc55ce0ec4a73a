"""Rewards that are numbers, for simulations: drawn around what the state of the reward in a network is worth."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pgcpe._checks import one_of
from pgcpe.graphs.states import find_state, shown
from pgcpe.graphs.structure import State
from pgcpe.plays.reward_scale import Measured, RewardScale, in_range, numbers_of

__all__ = ["RewardNoise"]

Floats = NDArray[np.float64]

KINDS = ("two-point", "beta", "censored")


@dataclass(frozen=True)
class RewardNoise:
    """How a reward that is measured varies, in a simulation, around the value of its state.

    Parameters
    ----------
    reward
        The reward variable, whose state a network draws.
    reward_range
        The least and the largest reward there can be, which no draw leaves.
    kind
        ``"two-point"``: one of the two ends, of which no distribution of that mean on the range varies more.
        ``"beta"``: a Beta distribution. ``"censored"``: a normal one, cut off to the nearer end, as by an instrument
        with a scale that ends.
    spread
        In (0, 1]: of a Beta distribution its variance, as a share of that of the two ends; of a censored one the
        standard deviation before it is cut, as a share of the range. The two ends have none.
    values
        The value of each state, in the range: the mean of a two-point and a Beta distribution; by default the numbers
        that the states are named by.

    Examples
    --------
    >>> import numpy as np
    >>> noise = RewardNoise("yield", (0, 100), "censored", spread=0.2, values={"poor": 20, "good": 70})
    >>> noise.draw([20.0, 70.0], np.random.default_rng(0)).round(1).tolist()
    [22.5, 67.4]
    >>> noise.mean([20.0, 70.0]).round(2).tolist()
    [21.67, 69.42]
    """

    reward: str
    reward_range: tuple[float, float]
    kind: str = "beta"
    spread: float = 0.2
    values: Mapping[State, float] | None = None

    def __post_init__(self) -> None:
        RewardScale.checked(self.reward_range if self.reward_range is not None else (), minimise=False)
        one_of("kind", self.kind, KINDS)
        if not isinstance(self.spread, Real) or isinstance(self.spread, bool) or not 0 < self.spread <= 1:
            raise ValueError(f"spread must be above 0 and at most 1, but got {shown(self.spread)}")
        if self.values is not None and not isinstance(self.values, Mapping):
            raise TypeError(f"values must map each state to its value, but got {shown(self.values)}")

    @property
    def scale(self) -> RewardScale:
        """The range."""
        return RewardScale.checked(self.reward_range, minimise=False)

    def worth(self, states: Sequence[State]) -> Floats:
        """Return the value of each state.

        Raises
        ------
        ValueError
            If one has none, or it is out of the range.
        """
        if self.values is None:
            return numbers_of(states, Measured(self.reward, self.scale))
        given = {find_state(states, state, self.reward): value for state, value in self.values.items()}
        if lacking := [state for code, state in enumerate(states) if code not in given]:
            raise ValueError(f"values must give every state of {self.reward} a value, but lacks [{shown(*lacking)}]")
        return in_range([given[code] for code in range(len(states))], states, Measured(self.reward, self.scale))

    def draw(self, values: ArrayLike, rng: np.random.Generator) -> Floats:
        """Return one reward for each value."""
        share = self.scale.share(values)
        if self.kind == "two-point" or (self.kind == "beta" and self.spread == 1):
            drawn = (rng.random(share.shape) < share).astype(np.float64)
        elif self.kind == "beta":
            more = 1.0 / self.spread - 1.0  # Var = m (1 - m) / (1 + a + b)
            inside = np.clip(share, 1e-9, 1.0 - 1e-9)
            drawn = np.where((share > 0) & (share < 1), rng.beta(more * inside, more * (1.0 - inside)), share)
        else:
            drawn = np.clip(share + self.spread * rng.standard_normal(share.shape), 0.0, 1.0)
        return np.clip(self.scale.told(drawn), self.scale.low, self.scale.high)

    def mean(self, values: ArrayLike) -> Floats:
        """Return the mean of what is drawn for each value."""
        if self.kind != "censored":
            return np.asarray(values, dtype=np.float64)
        share = self.scale.share(values)
        return self.scale.value(_ramp(share, self.spread) - _ramp(share - 1.0, self.spread))


def _ramp(mean: Floats, sd: float) -> Floats:
    """Return E max(X, 0) for normal variables X."""
    at = mean / sd
    density = np.exp(-0.5 * at**2) / math.sqrt(2.0 * math.pi)
    below = np.array([0.5 * math.erfc(-x / math.sqrt(2.0)) for x in np.ravel(at)]).reshape(at.shape)
    return np.asarray(mean * below + sd * density)
