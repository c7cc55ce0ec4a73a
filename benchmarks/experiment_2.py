"""Experiment 2: error of the recommendation after so many plays, of the baselines and of CCPE-General.

    python benchmarks/experiment_2.py --runs 1000 --rows data/results/experiment_2.csv.gz

Every run has a new random graph with 85 arms, ``do()`` among them, none merged; all policies meet the same graphs.
epsilon = 0, delta = .1, alphas as the paper found them. Policies of a fixed budget are run anew for each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import frame
import numpy as np
import pandas as pd
from makers import FIXED_BUDGET

from pgcpe import (
    CCPE,
    LUCB,
    AdmissibleSequence,
    CausalBandit,
    EmpiricalMeans,
    LilUCB,
    Policy,
    SimulatedEnvironment,
)
from pgcpe.experiments import repeat, summarise
from pgcpe.paper import experiment_2

BUDGETS = (100, 150, 200, 300)

FIXED: dict[str, Any] = {"epsilon": 0.0, "delta": 0.1}

POLICIES: dict[str, Callable[..., Policy]] = {
    "LUCB1 (.3)": lambda bandit, rng: LUCB(bandit, radius="lucb1", alpha=0.3, seed=rng, **FIXED),
    "lil'UCB (.3)": lambda bandit, rng: LilUCB(bandit, alpha=0.3, delta=0.1, seed=rng),
    "CCPE-General (.25, .4)": lambda bandit, rng: CCPE(
        bandit,
        estimator=AdmissibleSequence("paper", 0.25),
        direct=EmpiricalMeans("paper", 0.4),
        seed=rng,
        **FIXED,
    ),
    **{name: make for name, make in FIXED_BUDGET.items() if name not in ("parallel bandit", "two-phase")},
}


def instance(seed: int) -> tuple[CausalBandit, SimulatedEnvironment]:
    made = experiment_2(seed, merge_equal=False, null=True)
    return made.bandit, made.environment(np.random.SeedSequence([1, seed]))


def study(runs: int, jobs: int) -> pd.DataFrame:
    rows = repeat(POLICIES, instance, seeds=range(runs), budgets=BUDGETS, n_jobs=jobs)
    return rows[["seed", "policy", "budget", "plays", "stopped", "correct"]]


def markdown(rows: pd.DataFrame) -> str:
    """Return the table of the README."""
    errors = summarise(rows).pivot(index="policy", columns="budget", values="error").loc[list(POLICIES)]
    lines = ["| policy | " + " | ".join(f"{b} plays" for b in BUDGETS) + " |", "|---" * (1 + len(BUDGETS)) + "|"]
    lines += [f"| {policy} | " + " | ".join(f"{e:.3f}" for e in row) + " |" for policy, row in errors.iterrows()]
    return "\n".join(lines)


if __name__ == "__main__":
    frame.main(__doc__, study=study, table=summarise, markdown=markdown, runs=1000)
