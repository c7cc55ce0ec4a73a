"""Plays until each policy stops, on the paper's experiments, beside what any algorithm needs.

    python benchmarks/stops.py --file stops.csv

A new graph each run (Experiment 3 has one), all values of s, arms of equal effect merged, epsilon = 0, delta = .05.
All runs are broken off after 300,000 plays; of how many there are `RUNS` says. The last
line of each experiment is the approximate characteristic time of the first graph times kl(delta, 1 - delta): what the
best mix of plays needs to second order, not a proved bound. Rows in the file are kept, and the study goes on from them;
data/results/stops.csv.gz is the file, packed. Policies with more runs have seen the graphs of the others and more.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import frame
import numpy as np
import pandas as pd
from scipy import stats

from pgcpe import (
    BGLM,
    CCPE,
    KLLUCB,
    LUCB,
    AdmissibleSequence,
    CausalBandit,
    EmpiricalMeans,
    PooledCCPE,
    SimulatedEnvironment,
    TopTwo,
)
from pgcpe.complexity import least_plays, quadratic_characteristic_time
from pgcpe.experiments import read_rows, repeat
from pgcpe.experiments.running import MakePolicy
from pgcpe.paper import Instance, experiment_1, experiment_2, experiment_3

DELTA, BROKEN_OFF = 0.05, 300_000
RUNS = {"asymptotic": 200, "exact": 40, "numerical": 40, "others": 40, "proved": 10}
"""How many runs each group of policies has."""

FIXED: dict[str, Any] = {"epsilon": 0.0, "delta": DELTA}
NEVER = 10**9
"""A refresh beyond all plays: the intervals of the other guarantee are not worked out."""

QUESTIONS: dict[str, Callable[[int], Instance]] = {
    "Experiment 1": experiment_1,
    "Experiment 2": experiment_2,
    "Experiment 3, n = 5": lambda seed: experiment_3(5),
    "Experiment 3, n = 8": lambda seed: experiment_3(8),
}

LINEAR = BGLM("identity")
TUNED = {
    "Experiment 1": BGLM("identity", method="estimating_equation", radius="ell", alpha=0.05, eta=0.3, kappa=1.0),
    "Experiment 2": AdmissibleSequence("paper", 0.25),
    "Experiment 3, n = 5": AdmissibleSequence("paper", 0.3),
    "Experiment 3, n = 8": AdmissibleSequence("paper", 0.3),
}


def proved(name: str) -> dict[str, MakePolicy]:
    """Return the policies with the constants of the theorems."""
    estimator = BGLM("identity", eta=0.3, kappa=1.0) if name == "Experiment 1" else AdmissibleSequence("paper", 8.0)
    return {
        "LUCB, beta_I, alpha 2": partial(LUCB, radius="paper", alpha=2.0, **FIXED),
        "CCPE, constants of the theorem": partial(
            CCPE, estimator=estimator, direct=EmpiricalMeans("paper", 2.0), **FIXED
        ),
    }


def others(name: str) -> dict[str, MakePolicy]:
    """Return the policies to compare with."""
    return {
        "LUCB, KT": partial(LUCB, **FIXED),
        "KL-LUCB": partial(KLLUCB, **FIXED),
        "top-two, GLR": partial(TopTwo, **FIXED),
        "CCPE, tuned": partial(CCPE, estimator=TUNED[name], direct=EmpiricalMeans("paper", 0.4), **FIXED),
    }


def exact(name: str) -> dict[str, MakePolicy]:
    """Return the pooled policy with a guarantee at any number of plays."""
    return {"PooledCCPE, exact": partial(PooledCCPE, **FIXED)}


def numerical(name: str) -> dict[str, MakePolicy]:
    """Return the pooled policy with that guarantee up to a search, of a BGLM; of tables see numerical.py."""
    if name != "Experiment 1":
        return {}
    return {
        "PooledCCPE, numerical, BGLM": partial(PooledCCPE, guarantee="numerical", model=LINEAR, refresh=NEVER, **FIXED)
    }


def asymptotic(name: str) -> dict[str, MakePolicy]:
    """Return the pooled policies with the asymptotic guarantee."""
    options: dict[str, Any] = {"guarantee": "asymptotic", "refresh": NEVER, **FIXED}
    more: dict[str, MakePolicy] = {}
    if name == "Experiment 1":
        more["PooledCCPE, asymptotic, BGLM"] = partial(PooledCCPE, model=LINEAR, **options)
    return {"PooledCCPE, asymptotic": partial(PooledCCPE, **options), **more}


def instance(name: str, seed: int) -> tuple[CausalBandit, SimulatedEnvironment]:
    """Return the question of a seed."""
    made = QUESTIONS[name](seed)
    return made.bandit, made.environment(np.random.SeedSequence([1, seed]))


def run(
    name: str,
    policies: Mapping[str, MakePolicy],
    runs: int,
    jobs: int,
    file: Path | None = None,
    first_seed: int = 0,
) -> pd.DataFrame:
    """Return the rows of some policies on an experiment."""
    return repeat(
        policies,
        partial(instance, name),
        seeds=range(first_seed, first_seed + runs),
        budgets=[BROKEN_OFF],
        experiment=name,
        file=file,
        n_jobs=jobs,
    )


GROUPS: dict[str, Callable[[str], dict[str, MakePolicy]]] = {
    "asymptotic": asymptotic,
    "exact": exact,
    "numerical": numerical,
    "others": others,
    "proved": proved,
}


def study(jobs: int, file: Path) -> None:
    """Compute what is not in the file yet, the quick parts first."""
    for group, make in GROUPS.items():
        for name in QUESTIONS:
            if policies := make(name):
                run(name, policies, RUNS[group], jobs, file)
            print(table(read_rows(file)).to_string(index=False), flush=True)


def median_interval(plays: pd.Series[int]) -> tuple[float, float]:
    """Return a 95 % bootstrap interval of the median, from 10,000 draws."""
    found = stats.bootstrap(
        (plays.to_numpy(),), np.median, n_resamples=10_000, method="percentile", random_state=np.random.default_rng(0)
    ).confidence_interval
    return float(found.low), float(found.high)


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a line for each experiment and policy."""
    lines = []
    for (experiment, policy), mine in rows.groupby(["experiment", "policy"], sort=False):
        low, high = median_interval(mine["plays"])
        lines.append(
            {
                "experiment": experiment,
                "policy": policy,
                "arms": f"{mine['arms'].min()}" + (f"-{mine['arms'].max()}" if mine["arms"].nunique() > 1 else ""),
                "runs": len(mine),
                "plays": mine["plays"].median(),
                "low": low,
                "high": high,
                "stopped": mine["stopped"].mean(),
                "wrong": int((mine["stopped"] & ~mine["correct"]).sum()),
                "certificate": "/".join(sorted(set(mine["certificate"]) - {""})) or "none",
                "radius": mine["radius"].iloc[0],
            }
        )
    return pd.DataFrame(lines)


def approximate_bound(name: str) -> float:
    """Return the approximate characteristic time of the first graph, in plays at delta."""
    made = QUESTIONS[name](0)
    return least_plays(quadratic_characteristic_time(made.network, made.bandit), DELTA)


def markdown(rows: pd.DataFrame) -> str:
    """Return the table of the README."""
    summed = table(rows)
    lines = []
    for name in QUESTIONS:
        for _, row in summed[summed["experiment"] == name].sort_values("plays", ascending=False).iterrows():
            unfinished = "> " if row["high"] >= BROKEN_OFF else ""
            plays = f"{unfinished}{row['plays']:,.0f} ({row['low']:,.0f} to {row['high']:,.0f})"
            shown = row[["experiment", "policy", "certificate", "arms", "runs", "wrong"]].astype(str)
            lines.append({**shown, "plays to stop (95 %)": plays})
        time = "approximate characteristic time of the first graph, times kl"
        bound = f"{approximate_bound(name):,.0f}"
        lines.append({"experiment": name, "policy": time, "plays to stop (95 %)": bound})
    columns = ["experiment", "policy", "certificate", "arms", "runs", "plays to stop (95 %)", "wrong"]
    return frame.as_markdown(pd.DataFrame(lines, columns=columns).fillna(""))


def summary(rows: pd.DataFrame) -> str:
    """Return the short table of the documentation: median plays, a column for each experiment."""
    plays = table(rows).pivot(index="policy", columns="experiment", values="plays")
    certificate = (
        rows[rows["certificate"] != ""].groupby("policy")["certificate"].agg(lambda c: "/".join(sorted(set(c))))
    )
    order = plays.max(axis=1).sort_values(ascending=False).index
    shown = plays.loc[order, list(QUESTIONS)].map(lambda n: "" if np.isnan(n) else f"{n:,.0f}")
    shown.insert(0, "certificate", [certificate.get(policy, "none") for policy in order])
    return frame.as_markdown(shown.reset_index())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2, help="default %(default)s")
    parser.add_argument("--file", type=Path, required=True, help="CSV file that the rows are kept in")
    parser.add_argument("--markdown", action="store_true", help="print the tables of the READMEs from the file")
    arguments = parser.parse_args()
    if arguments.markdown:
        print(markdown(read_rows(arguments.file)), summary(read_rows(arguments.file)), sep="\n\n")
    else:
        study(arguments.jobs, arguments.file)
