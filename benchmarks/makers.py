"""Questions and policies that several studies share."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from pgcpe import (
    CausalBandit,
    CausalSuccessiveRejects,
    ParallelBandit,
    Policy,
    PropagatingInference,
    SequentialHalving,
    SuccessiveRejects,
    TwoPhase,
    UniformSampling,
    interventions,
    load_network,
)


def shipped(name: str, reward: str, good: str, latents: tuple[str, ...] = (), **size: int) -> tuple[Any, CausalBandit]:
    """Return a network and all its interventions of a size; one state of the reward counts 1, the others 0."""
    network = load_network(name, latents=latents)
    states = network.get_cpds(reward).state_names[reward]
    values = {state: float(state == good) for state in states}
    arms = interventions(network, reward=reward, **size)
    return network, CausalBandit(network, reward=reward, arms=arms, reward_values=values)


FIXED_BUDGET: dict[str, Callable[..., Policy]] = {
    "uniform": UniformSampling,
    "Successive Rejects": SuccessiveRejects,
    "Sequential Halving": SequentialHalving,
    "Sequential Halving, kept": partial(SequentialHalving, keep=True),
    "Causal SR, larger": CausalSuccessiveRejects,
    "Causal SR, counts": partial(CausalSuccessiveRejects, merge="counts"),
    "Causal SR, variance": partial(CausalSuccessiveRejects, merge="variance"),
    "parallel bandit": ParallelBandit,
    "two-phase": TwoPhase,
    "Propagating-Inference, 1/C": PropagatingInference,
    "Propagating-Inference, optimised": partial(PropagatingInference, eta="optimised"),
}
