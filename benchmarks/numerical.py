"""Plays until the numerical rule for tables stops, on the questions of stops.py, made as there, and on two networks.

    python benchmarks/numerical.py --file numerical.csv

delta = .05. On the paper's experiments epsilon = 0, and a new graph each run but for Experiment 3; what to play was
chosen on seeds 0 to 19, so that these begin at another. On asia and cancer, of which the arms set up to two variables,
epsilon is .05 or .1, and the exact and the asymptotic guarantee meet the same seeds. Rows in the file are kept, and the
study goes on from them; data/results/numerical.csv is the file.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import frame
import numpy as np
import pandas as pd
import stops
from makers import shipped

from pgcpe import CausalBandit, PooledCCPE, SimulatedEnvironment
from pgcpe.experiments import read_rows, repeat
from pgcpe.experiments.running import MakePolicy

NUMERICAL = {"PooledCCPE, numerical": partial(PooledCCPE, guarantee="numerical", refresh=stops.NEVER, **stops.FIXED)}
FIRST_SEED = 1000
RUNS = {"Experiment 3, n = 5": 20, "Experiment 2": 20, "Experiment 3, n = 8": 10}
"""How many runs each of the paper's experiments has."""

SHIPPED = {"asia": ("dysp", "no"), "cancer": ("Dyspnoea", "False")}
"""Of each network the reward and the state of it that counts 1."""

EPSILONS, RUNS_OF_SHIPPED = (0.05, 0.1), 20
MOST = 100_000


def beside(epsilon: float) -> dict[str, MakePolicy]:
    """Return the policies that are compared on the same seeds."""
    options: dict[str, Any] = {"epsilon": epsilon, "delta": stops.DELTA}
    return {
        "PooledCCPE, exact": partial(PooledCCPE, **options),
        "PooledCCPE, numerical": partial(PooledCCPE, guarantee="numerical", refresh=stops.NEVER, **options),
        "PooledCCPE, asymptotic": partial(PooledCCPE, guarantee="asymptotic", refresh=stops.NEVER, **options),
    }


def posed(name: str, seed: int) -> tuple[CausalBandit, SimulatedEnvironment]:
    """Return the question of a network, and its environment of a seed."""
    network, bandit = shipped(name, *SHIPPED[name], max_size=2)
    return bandit, SimulatedEnvironment(network, seed=np.random.SeedSequence([18, seed]))


def run_shipped(name: str, epsilon: float, runs: int, jobs: int, file: Path | None = None) -> pd.DataFrame:
    """Return the rows of all three guarantees on a network."""
    return repeat(
        beside(epsilon),
        partial(posed, name),
        seeds=range(runs),
        budgets=[MOST],
        experiment=f"{name}, epsilon = {epsilon:g}",
        file=file,
        n_jobs=jobs,
    )


def study(jobs: int, file: Path) -> None:
    """Compute what is not in the file yet."""
    for name in SHIPPED:
        for epsilon in EPSILONS:
            run_shipped(name, epsilon, RUNS_OF_SHIPPED, jobs, file)
    for name, runs in RUNS.items():
        stops.run(name, NUMERICAL, runs, jobs, file, FIRST_SEED)


def markdown(rows: pd.DataFrame) -> str:
    """Return the table of the README."""
    lines = [
        {
            "experiment": line.experiment,
            "guarantee": line.policy.removeprefix("PooledCCPE, "),
            "arms": line.arms,
            "runs": line.runs,
            "plays to stop (95 %)": f"{line.plays:,.0f} ({line.low:,.0f} to {line.high:,.0f})",
            "wrong": line.wrong,
        }
        for line in stops.table(rows).sort_values("experiment", kind="stable").itertuples()
    ]
    return frame.as_markdown(pd.DataFrame(lines).astype(str))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1, help="default %(default)s")
    parser.add_argument("--file", type=Path, required=True, help="CSV file that the rows are kept in")
    parser.add_argument("--markdown", action="store_true", help="print the table of the README from the file")
    arguments = parser.parse_args()
    if not arguments.markdown:
        study(arguments.jobs, arguments.file)
    kept = read_rows(arguments.file)
    print(markdown(kept) if arguments.markdown else stops.table(kept).to_string(index=False))
