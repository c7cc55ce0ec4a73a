"""Cost of one play in microseconds: sampling, update, intervals and choice together.

    python benchmarks/plays.py --plays 6000 --repeats 5

Beside each figure stands its ratio to a plain numpy loop of LUCB with the paper's radius on the same arms, run in turn
with it; that has no ask and tell, no checks and no history.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from tqdm.auto import tqdm

from pgcpe import (
    BGLM,
    CCPE,
    LUCB,
    AdmissibleSequence,
    CausalBandit,
    EmpiricalMeans,
    PooledCCPE,
    SimulatedEnvironment,
    interventions,
    load_network,
)
from pgcpe.paper import experiment_2

POLICIES: dict[str, Callable[[CausalBandit], Any]] = {
    "LUCB exact (kt)": lambda bandit: LUCB(bandit, epsilon=0.0),
    "LUCB paper": lambda bandit: LUCB(bandit, epsilon=0.0, radius="paper"),
    "CCPE paper": lambda bandit: CCPE(
        bandit, epsilon=0.0, estimator=AdmissibleSequence("paper"), direct=EmpiricalMeans("paper")
    ),
    "CCPE exact (lr, kt)": lambda bandit: CCPE(bandit, epsilon=0.0),
    "PooledCCPE exact": lambda bandit: PooledCCPE(bandit, epsilon=0.0),
}

POOLED: dict[str, Callable[[CausalBandit], Any]] = {
    "PooledCCPE exact": lambda bandit: PooledCCPE(bandit, epsilon=0.0),
    "PooledCCPE asymptotic": lambda bandit: PooledCCPE(bandit, epsilon=0.0, guarantee="asymptotic"),
    "PooledCCPE asymptotic alone": lambda bandit: PooledCCPE(
        bandit, epsilon=0.0, guarantee="asymptotic", refresh=10**9
    ),
    "PooledCCPE numerical (BGLM)": lambda bandit: PooledCCPE(
        bandit, epsilon=0.0, guarantee="numerical", model=BGLM("logit"), refresh=10**9
    ),
}
"""On Experiment 2, to the stop or so many plays; "alone": without the intervals of the other rule."""


def question(name: str, reward: str, good: str) -> tuple[Any, CausalBandit]:
    if name == "Experiment 2":
        made = experiment_2(0)
        return made.network, made.bandit
    network = load_network(name)
    values = {state: float(state == good) for state in network.get_cpds(reward).state_names[reward]}
    arms = interventions(network, reward=reward, max_size=2)
    return network, CausalBandit(network, reward=reward, reward_values=values, arms=arms)


def plain_numpy(environment: SimulatedEnvironment, bandit: CausalBandit, plays: int) -> None:
    """LUCB as it is usually written down."""
    column = environment.coding.variables.index(bandit.reward)
    k = len(bandit.arms)
    n, x = np.zeros(k), np.zeros(k)
    for _ in range(plays // 2):
        mean = np.where(n > 0, x / np.maximum(n, 1), 0.5)
        radius = 2 * np.sqrt(np.log(k * np.log(2 * np.maximum(n, 1)) / 0.05) / np.maximum(n, 1))
        upper = np.where(n > 0, np.minimum(mean + radius, 1), 1)
        h = int(np.argmax(mean))
        upper[h] = -1
        pair = [h, int(np.argmax(upper))]
        codes = environment.perform([bandit.arms[i] for i in pair]).codes[:, column]
        n[pair] += 1
        x[pair] += bandit.reward_array[codes]


def microseconds(work: Callable[[], int]) -> float:
    start = time.perf_counter()
    plays = work()
    return (time.perf_counter() - start) / plays * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plays", type=int, default=6000)
    parser.add_argument("--pooled", action="store_true", help="the ways of PooledCCPE, on Experiment 2 and on alarm")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    rows = []
    asia, alarm, second = ("asia", "dysp", "no"), ("alarm", "BP", "NORMAL"), ("Experiment 2", "Y", "1")
    only_exact = {"PooledCCPE exact": POOLED["PooledCCPE exact"]}
    work = [(second, POOLED), (alarm, only_exact)] if arguments.pooled else [(asia, POLICIES), (alarm, POLICIES)]
    for (name, reward, good), policies in work:
        network, bandit = question(name, reward, good)
        for label, make in policies.items():

            def run(make: Callable[[CausalBandit], Any] = make, network: Any = network, bandit: Any = bandit) -> int:
                result = make(bandit).run(SimulatedEnvironment(network, seed=0), arguments.plays, progress=False)
                return result.n_plays

            def beside(network: Any = network, bandit: Any = bandit) -> int:
                plain_numpy(SimulatedEnvironment(network, seed=0), bandit, arguments.plays)
                return arguments.plays

            make(bandit).run(SimulatedEnvironment(network, seed=1), 12, progress=False)  # compile
            times = [
                (microseconds(run), microseconds(beside))
                for _ in tqdm(range(arguments.repeats), f"{name}, {label}", leave=False)
            ]
            rows.append(
                {
                    "network": name,
                    "arms": len(bandit.arms),
                    "policy": label,
                    "us a play": np.median([a for a, _ in times]),
                    "least": min(a for a, _ in times),
                    "plain numpy LUCB": np.median([b for _, b in times]),
                    "ratio": np.median([a / b for a, b in times]),
                }
            )
    print(pd.DataFrame(rows).to_string(index=False, float_format="{:.2f}".format))


if __name__ == "__main__":
    main()
