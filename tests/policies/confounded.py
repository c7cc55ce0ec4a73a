"""A confounded question, and what a policy would know of it: for the tests of policies and of their rules."""

import numpy as np

from pgcpe import CausalBandit, SimulatedEnvironment, do
from pgcpe.confidence.intervals import Intervals
from pgcpe.estimators.base import Estimated, PairwiseEstimator
from pgcpe.paper.instances import binary_network
from pgcpe.policies.rules.base import NOT_YET, StoppingRule
from pgcpe.policies.rules.state import PolicyState

ARMS = [do(A=1, B=1), do(A=1), do(A=0), do(B=1), do(B=0)]


def network():
    """Z -> A -> Y, Z -> Y, B -> Y; the best arm is the first, by .1 at least."""
    return binary_network(
        {
            "Z": ([], lambda: 0.3),
            "A": (["Z"], lambda z: 0.3 + 0.4 * z),
            "B": ([], lambda: 0.5),
            "Y": (["A", "B", "Z"], lambda a, b, z: 0.15 + 0.35 * a + 0.25 * b + 0.15 * z),
        }
    )


def question(arms=ARMS, **options):
    return CausalBandit(network(), reward="Y", arms=arms, **options)


def environment(seed=0):
    return SimulatedEnvironment(network(), seed=seed)


def told(policy, actions, seed=0):
    return policy.tell(actions, environment(seed).perform(actions))


class Fixed(PairwiseEstimator):
    """Says of the arms what it is given."""

    def __init__(self, gap, variance, gains=None, off=0.0):
        self.gap, self.variance, self.gains = np.array(gap), np.array(variance), gains
        self.bias_bound = np.full(len(gap), off)
        self.served_ = np.ones(len(gap), dtype=np.bool_)
        self.asked = []

    def start(self, bandit):
        return self

    def update(self, samples):
        return self

    def estimates(self, rejected=None):
        return np.where(np.isfinite(self.variance), 0.5 - self.gap, np.nan)

    def plug_in(self, rejected=None):
        return Estimated(0.5 - self.gap, self.variance, self.bias_bound)

    def differences(self, leader, rejected=None, epsilon=None, arms=None):
        arms = slice(None) if arms is None else arms
        return Estimated(self.gap[arms], self.variance[arms], self.bias_bound[arms])

    def variance_reduction(self, leader, weights, rejected=None):
        self.asked.append((leader, weights.tolist()))
        return self.gains @ weights


def state(bandit, leader=0, models=(), **given):
    """What a policy would know, with every arm at [0, 1] after no play but for what is given."""
    k = len(bandit.arms)
    arrays = {
        name: np.array(given.pop(name, np.full(k, default)), dtype=np.float64)
        for name, default in (("lower", 0.0), ("upper", 1.0), ("plays", 0.0), ("rewards", 0.0), ("estimates", 0.5))
    }
    known = {"epsilon": 0.0, "conflicts": np.zeros(k, np.bool_), "n_plays": 100, "n_observed": 50} | given
    return PolicyState(
        bandit=bandit,
        intervals=Intervals(arrays["lower"], arrays["upper"]),
        plays=arrays["plays"],
        rewards=arrays["rewards"],
        listed_plays=arrays["plays"],
        listed_rewards=arrays["rewards"],
        rank=np.arange(k),
        leader=leader,
        certificate="exact",
        rejected=None,
        models=tuple(models),
        estimates=arrays["estimates"],
        **({"index": arrays["upper"]} | known),
    )


class Open(StoppingRule):
    """A stopping rule that is open for the arms it is given."""

    def __init__(self, *arms):
        self.arms = arms

    def check(self, state):
        return NOT_YET

    def unresolved(self, state):
        return np.isin(np.arange(len(state.plays)), self.arms)
