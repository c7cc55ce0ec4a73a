"""Rewards that are numbers in simulations: their means, their range, and what is refused."""

import itertools
import math

import numpy as np
import pytest

from pgcpe import CausalBandit, RewardNoise, SimulatedEnvironment, do, expected_reward, expected_rewards, load_network
from pgcpe.models.network_tables import tables_of

VALUES = {"True": 20.0, "False": 70.0}


def noise(kind="beta", **options):
    return RewardNoise("Dyspnoea", (0, 100), kind, **{"values": VALUES, **options})


@pytest.mark.parametrize("kind", ["two-point", "beta", "censored"])
@pytest.mark.parametrize("spread", [0.1, 0.5, 1.0])
def test_draws_stay_in_the_range_and_have_the_mean_that_is_said(kind, spread):
    """Within 5 standard errors of 40,000 draws, which a right mean leaves with probability 6e-7."""
    own, rng = noise(kind, spread=spread), np.random.default_rng(3)
    for value in (0.0, 3.0, 50.0, 70.0, 100.0):
        drawn = own.draw(np.full(40_000, value), rng)
        assert drawn.min() >= 0
        assert drawn.max() <= 100
        assert abs(drawn.mean() - own.mean([value])[0]) <= 5 * drawn.std() / 200 + 1e-9


def test_the_spread_is_what_it_says():
    """Of a Beta its share of the variance of the two ends; within 5 standard errors of a sample variance."""
    drawn = noise("beta", spread=0.3).draw(np.full(40_000, 40.0), np.random.default_rng(0)) / 100
    squares = (drawn - 0.4) ** 2
    assert abs(squares.mean() - 0.3 * 0.4 * 0.6) < 5 * squares.std() / 200
    assert set(noise("two-point").draw([40.0] * 50, np.random.default_rng(0))) == {0.0, 100.0}


def test_a_simulated_reward_is_a_number_in_the_users_unit_drawn_by_the_seed():
    network = load_network("cancer")
    first, second = (SimulatedEnvironment(network, seed=5, reward_noise=noise()) for _ in range(2))
    frame = first.perform([do(), do(Smoker="True")] * 50).to_frame()
    assert frame.equals(second.perform([do(), do(Smoker="True")] * 50).to_frame())
    assert frame["Dyspnoea"].between(0, 100).all()
    assert frame["Dyspnoea"].nunique() == 100
    plain = SimulatedEnvironment(network, seed=5).perform([do(), do(Smoker="True")] * 50).to_frame()
    others = [v for v in plain if v != "Dyspnoea"]
    assert frame[others].equals(plain[others])  # the network draws what it drew


def test_expected_rewards_by_enumeration():
    """Of a censored reward, whose mean is not the value of its state: the sum over all joint states."""
    network, own = load_network("cancer"), noise("censored", spread=0.6)
    bandit = CausalBandit(network, reward="Dyspnoea", arms=[do(), do(Smoker="True")], reward_range=(0, 100))
    found = SimulatedEnvironment(network, seed=0, reward_noise=own).expected_rewards(bandit)
    tables, rng = tables_of(network), np.random.default_rng(0)
    for arm, value in found.items():
        total = 0.0
        names = list(tables)
        for states in itertools.product(*(tables[v].states for v in names)):
            at = dict(zip(names, states, strict=True))
            p = 1.0
            for v, table in tables.items():
                if v in arm:
                    p *= at[v] == arm[v]
                else:
                    cell = tuple(tables[u].states.index(at[u]) for u in (*table.parents, v))
                    p *= table.values[cell]
            total += p * own.mean([VALUES[at["Dyspnoea"]]])[0]
        assert value == pytest.approx(total, abs=1e-9)
    drawn = own.draw(np.full(100_000, 20.0), rng)
    assert abs(drawn.mean() - own.mean([20.0])[0]) < 5 * drawn.std() / math.sqrt(100_000)


def test_states_named_by_numbers_are_worth_them():
    network = load_network("cancer")
    with pytest.raises(ValueError, match=r"must be named by numbers, but there is 'True': reward_noise=RewardNoise"):
        expected_reward(network, do(), reward="Dyspnoea", reward_range=(0, 1))
    for table in network.cpds:  # the same network with the reward's states 20 and 70
        if "Dyspnoea" in table.state_names:
            states = ["20" if s == "True" else "70" for s in table.state_names["Dyspnoea"]]
            table.state_names["Dyspnoea"] = states
            table.name_to_no["Dyspnoea"] = {s: i for i, s in enumerate(states)}
            table.no_to_name["Dyspnoea"] = dict(enumerate(states))
    bandit = CausalBandit(network, reward="Dyspnoea", arms=[do()], reward_range=(0, 100), minimise=True)
    share = expected_reward(load_network("cancer"), do(), reward="Dyspnoea", reward_values={"True": 0.2, "False": 0.7})
    assert expected_rewards(network, bandit).iloc[0] == pytest.approx(100 * share)
    told = bandit.encode(SimulatedEnvironment(network, seed=0).perform([do()] * 40))
    assert set(told.to_frame()["Dyspnoea"]) == {20.0, 70.0}


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: RewardNoise("Y", (1, 0)), "the lower one first"),
        (lambda: RewardNoise("Y", None), "the least and the largest reward"),
        (lambda: RewardNoise("Y", (0, 1), "normal"), "kind must be one of 'two-point', 'beta', 'censored'"),
        (lambda: RewardNoise("Y", (0, 1), spread=0), "spread must be above 0 and at most 1, but got 0"),
        (lambda: RewardNoise("Y", (0, 1), values=[1, 2]), "values must map each state to its value"),
        (lambda: noise(values={"True": 1}).worth(["True", "False"]), r"but lacks \['False'\]"),
        (lambda: noise(values={"True": 1, "False": 101}).worth(["True", "False"]), "'False' has 101"),
        (lambda: SimulatedEnvironment(load_network("cancer"), seed=0, reward_noise="beta"), "must be a RewardNoise"),
        (
            lambda: SimulatedEnvironment(load_network("cancer"), seed=0, reward_noise=RewardNoise("Dyspnea", (0, 1))),
            "must name an observed variable of the network, but got .*Dyspnoea",
        ),
    ],
)
def test_what_is_refused(make, said):
    with pytest.raises((ValueError, TypeError), match=said):
        make()
