"""The probability that observation shows an arm."""

import numpy as np
import pytest

from pgcpe import CausalBandit, SimulatedEnvironment, do, interventions, load_network
from pgcpe.complexity import (
    estimated_observation_probabilities,
    observation_probabilities,
)


def test_estimated_q_is_that_of_the_network_of_the_rows():
    """50,000 rows: each share is within .012, five standard errors of the largest."""
    network = load_network("asia")
    arms = interventions(network, reward="dysp", max_size=2)
    bandit = CausalBandit(network, reward="dysp", reward_values={"yes": 0, "no": 1}, arms=arms)
    data = SimulatedEnvironment(network, seed=0).sample(do(), 50_000)
    exact = observation_probabilities(network, bandit, progress=False)
    estimated = estimated_observation_probabilities(bandit, data.to_frame())
    assert np.abs(estimated - exact).max() < 0.012
    assert (estimated.index == exact.index).all()
    assert estimated[do()] == 1
    intervened = SimulatedEnvironment(network, seed=1).sample(do(smoke="yes"), 500).to_frame()
    with pytest.raises(ValueError, match="no passive observation"):
        estimated_observation_probabilities(bandit, intervened)


def test_q_is_nought_without_a_sequence():
    network = load_network("asia", latents=["smoke"])
    bandit = CausalBandit(
        network, reward="dysp", reward_values={"yes": 0, "no": 1}, arms=[do(lung="yes"), do(bronc="no")]
    )
    rows = SimulatedEnvironment(network, seed=0).sample(do(), 200).to_frame()
    assert [s is None for s in bandit.sequences] == [not q for q in estimated_observation_probabilities(bandit, rows)]
