"""Environments perform actions: the protocol, a simulator of a network, exact expected rewards."""

from pgcpe.environment.exact import expected_reward, expected_rewards
from pgcpe.environment.protocol import Environment
from pgcpe.environment.reward_noise import RewardNoise
from pgcpe.environment.simulator import SimulatedEnvironment

__all__ = ["Environment", "RewardNoise", "SimulatedEnvironment", "expected_reward", "expected_rewards"]
