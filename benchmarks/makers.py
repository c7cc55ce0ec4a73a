"""Questions and policies that several studies share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pgcpe import CausalBandit, ParallelBandit, Policy, PropagatingInference, TwoPhase, interventions, load_network
from pgcpe.paper.figures import FIGURES


def shipped(name: str, reward: str, good: str, latents: tuple[str, ...] = (), **size: int) -> tuple[Any, CausalBandit]:
    """Return a network and all its interventions of a size; one state of the reward counts 1, the others 0."""
    network = load_network(name, latents=latents)
    states = network.get_cpds(reward).state_names[reward]
    values = {state: float(state == good) for state in states}
    arms = interventions(network, reward=reward, **size)
    return network, CausalBandit(network, reward=reward, arms=arms, reward_values=values)


FIXED_BUDGET: dict[str, Callable[..., Policy]] = {
    **FIGURES["budget"].parts[0].policies,
    "parallel bandit": ParallelBandit,
    "two-phase": TwoPhase,
    "Propagating-Inference, 1/C": PropagatingInference,
}
