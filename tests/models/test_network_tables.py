"""The tables of a network, as they are and as they should not be."""

import numpy as np
import pytest

from pgcpe import SimulatedEnvironment, do, expected_reward, load_network


def test_tables_may_name_states_in_different_orders():
    """pgmpy's inference refuses them; the effect does not depend on the order."""
    network = load_network("cancer")
    truth = expected_reward(network, do(Smoker="True"), reward="Dyspnoea", reward_values={"True": 1, "False": 0})
    table = network.get_cpds("Cancer")
    axis = table.variables.index("Smoker")
    table.values = np.flip(table.values, axis=axis)
    table.state_names["Smoker"] = table.state_names["Smoker"][::-1]
    found = expected_reward(network, do(Smoker="True"), reward="Dyspnoea", reward_values={"True": 1, "False": 0})
    assert found == pytest.approx(truth, abs=1e-12)


def test_tables_that_are_none_are_refused():
    network = load_network("cancer")
    network.get_cpds("Smoker").values = np.array([1.5, -0.5])
    for ask in (
        lambda: SimulatedEnvironment(network, seed=0),
        lambda: expected_reward(network, do(), reward="Dyspnoea", reward_values={"True": 1, "False": 0}),
    ):
        with pytest.raises(ValueError, match=r"Smoker has entries that are no probabilities: -0\.5 for False"):
            ask()
