"""Exact expected rewards."""

import pytest

from pgcpe import CausalBandit, do, expected_rewards, interventions, load_network


def test_expected_rewards_is_a_series_over_the_arms():
    network = load_network("cancer")
    arms = interventions(network, reward="Dyspnoea", max_size=1)
    bandit = CausalBandit(network, reward="Dyspnoea", arms=arms, reward_values={"True": 0, "False": 1})
    series = expected_rewards(network, bandit)
    assert tuple(series.index) == bandit.arms
    assert series[do(Cancer="True")] == pytest.approx(0.35, abs=1e-12)
