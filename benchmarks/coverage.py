"""How often an interval ever fails: paths on which some arm's interval misses its expected reward at some play.

    python benchmarks/coverage.py --paths 1000 --plays 1000 --rows data/results/coverage.csv

Three small models, watched at every play. The arms are played in turn for the direct means, `do()` alone for the
observational ones, `do()` and the arms in turn for the pooled trees; nominal error .1 for all arms together.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm.auto import tqdm

from pgcpe import (
    Action,
    AdmissibleSequence,
    CausalBandit,
    EmpiricalMeans,
    Estimator,
    PooledTrees,
    SimulatedEnvironment,
    do,
    expected_rewards,
    interventions,
    load_network,
)

DATA = Path(__file__).parent.parent / "data"

BACK_DOOR = """network back_door { }
variable Z { type discrete [ 2 ] { 0, 1 }; }
variable X { type discrete [ 2 ] { 0, 1 }; }
variable Y { type discrete [ 2 ] { 0, 1 }; }
probability ( Z ) { table 0.7, 0.3; }
probability ( X | Z ) { (0) 0.8, 0.2; (1) 0.3, 0.7; }
probability ( Y | X, Z ) { (0, 0) 0.9, 0.1; (0, 1) 0.4, 0.6; (1, 0) 0.6, 0.4; (1, 1) 0.05, 0.95; }
"""

THREE_STATES = """network three_states { }
variable Z { type discrete [ 3 ] { a, b, c }; }
variable X { type discrete [ 2 ] { 0, 1 }; }
variable Y { type discrete [ 3 ] { bad, fair, good }; }
probability ( Z ) { table 0.5, 0.4, 0.1; }
probability ( X | Z ) { (a) 0.8, 0.2; (b) 0.5, 0.5; (c) 0.1, 0.9; }
probability ( Y | X, Z ) {
  (0, a) 0.6, 0.3, 0.1; (0, b) 0.3, 0.4, 0.3; (0, c) 0.1, 0.1, 0.8;
  (1, a) 0.3, 0.6, 0.1; (1, b) 0.2, 0.2, 0.6; (1, c) 0.0, 0.5, 0.5;
}
"""


def models() -> dict[str, tuple[Any, CausalBandit]]:
    """Return the networks and questions, by name."""
    made = {}
    for name, source, reward, values, variables, latents in [
        ("back door", BACK_DOOR, "Y", None, ["X"], ()),
        ("three states", THREE_STATES, "Y", {"bad": 0, "fair": 0.5, "good": 1}, ["X"], ()),
        (
            "two visits",
            DATA / "two_visits.bif",
            "recovered",
            {"no": 0, "yes": 1},
            ["drug1", "drug2"],
            ("frailty", "adherence"),
        ),
    ]:
        network = load_network(source, latents=latents)
        arms = interventions(network, reward=reward, variables=variables, size=len(variables), null=False)
        made[name] = network, CausalBandit(network, reward=reward, arms=arms, reward_values=values)
    return made


ESTIMATORS: dict[str, Estimator] = {
    "observation, lr": AdmissibleSequence(refresh=1),
    "observation, paper (8)": AdmissibleSequence("paper", alpha=8.0),
    "observation, tuned (.3)": AdmissibleSequence("paper", alpha=0.3),
    "pooled trees, lr": PooledTrees(refresh=1),
    "direct, kt": EmpiricalMeans(),
    "direct, paper (2)": EmpiricalMeans("paper", alpha=2.0),
    "direct, tuned (.4)": EmpiricalMeans("paper", alpha=0.4),
}


def fails(
    network: Any, bandit: CausalBandit, truth: Any, estimator: Estimator, plays: int, delta: float, seed: int
) -> bool:
    """Return whether an interval fails on one path."""
    turn: tuple[Action, ...] = bandit.arms
    if isinstance(estimator, AdmissibleSequence):
        turn = (do(),)
    elif isinstance(estimator, PooledTrees):
        turn = (do(), *bandit.arms)
    actions = [turn[i % len(turn)] for i in range(plays)]
    level = delta / estimator.start(bandit).n_events_
    told = bandit.encode(actions, SimulatedEnvironment(network, seed=seed).perform(actions))
    for i in range(plays):
        intervals = estimator.update(told.rows(slice(i, i + 1))).intervals(level)
        if np.any(intervals.lower > truth) or np.any(intervals.upper < truth):
            return True
    return False


def study(paths: int, plays: int, delta: float, seed: int, estimators: dict[str, Estimator]) -> pd.DataFrame:
    """Return a row for every model and estimator: the share of paths on which an interval ever failed."""
    rows = []
    for model, (network, bandit) in models().items():
        truth = expected_rewards(network, bandit, progress=False).to_numpy()
        for name, estimator in estimators.items():
            failed = sum(
                fails(network, bandit, truth, estimator, plays, delta, seed + path)
                for path in tqdm(range(paths), f"{model}, {name}", leave=False, disable=None)
            )
            rows.append(
                {
                    "model": model,
                    "arms": len(bandit.arms),
                    "estimator": name,
                    "nominal": delta,
                    "plays": plays,
                    "paths": paths,
                    "seed": seed,
                    "failed": failed,
                    "share": failed / paths,
                }
            )
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--paths", type=int, default=1000)
    parser.add_argument("--plays", type=int, default=1000)
    parser.add_argument("--delta", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=Path, help="write the rows to this CSV file")
    arguments = parser.parse_args()
    rows = study(arguments.paths, arguments.plays, arguments.delta, arguments.seed, ESTIMATORS)
    if arguments.rows:
        rows.to_csv(arguments.rows, index=False)
    print(rows.to_string(index=False, float_format="{:.3f}".format))


if __name__ == "__main__":
    main()
