"""Questions and policies that several studies share."""

from __future__ import annotations

from collections.abc import Callable
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
    "uniform": lambda bandit, rng, budget: UniformSampling(bandit, budget=budget, seed=rng),
    "Successive Rejects": lambda bandit, rng, budget: SuccessiveRejects(bandit, budget=budget, seed=rng),
    "Sequential Halving": lambda bandit, rng, budget: SequentialHalving(bandit, budget=budget, seed=rng),
    "Sequential Halving, kept": lambda bandit, rng, budget: SequentialHalving(
        bandit, budget=budget, keep=True, seed=rng
    ),
    "Causal SR, larger": lambda bandit, rng, budget: CausalSuccessiveRejects(bandit, budget=budget, seed=rng),
    "Causal SR, counts": lambda bandit, rng, budget: CausalSuccessiveRejects(
        bandit, budget=budget, merge="counts", seed=rng
    ),
    "Causal SR, variance": lambda bandit, rng, budget: CausalSuccessiveRejects(
        bandit, budget=budget, merge="variance", seed=rng
    ),
    "parallel bandit": lambda bandit, rng, budget: ParallelBandit(bandit, budget=budget, seed=rng),
    "two-phase": lambda bandit, rng, budget: TwoPhase(bandit, budget=budget, seed=rng),
    "Propagating-Inference, 1/C": lambda bandit, rng, budget: PropagatingInference(bandit, budget=budget, seed=rng),
    "Propagating-Inference, optimised": lambda bandit, rng, budget: PropagatingInference(
        bandit, budget=budget, eta="optimised", seed=rng
    ),
}
