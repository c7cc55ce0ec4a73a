"""What `plan` predicts beside what then happens, on six instances, from the truth as the guess and from a rough one.

    python benchmarks/planned.py --runs 50 --rows data/results/planned.csv

The rough guess has every row of every table drawn anew from a Dirichlet distribution about the true one, as uncertain
as after 100 observations of that row. Plans are made of 20 simulated studies; those that then happen have other seeds.
"""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any

import frame
import numpy as np
import pandas as pd
from makers import shipped
from pgmpy.factors.discrete import TabularCPD

from pgcpe import CausalBandit, SimulatedEnvironment
from pgcpe.experiments import STOPPING_POLICIES, plan, repeat
from pgcpe.paper import experiment_2, parallel

DATA = Path(__file__).parent.parent / "data"
POLICIES = ("CCPE", "LUCB", "top-two")
DELTA, PLANNED_RUNS, WORTH = 0.05, 20, 100.0


INSTANCES: dict[str, tuple[Any, float]] = {
    "asia": (lambda: shipped("asia", "dysp", "no", size=1), 0.1),
    "cancer": (lambda: shipped("cancer", "Dyspnoea", "False", size=1), 0.2),
    "survey": (lambda: shipped("survey", "T", "train", size=1), 0.1),
    "two visits (hidden)": (
        lambda: shipped(str(DATA / "two_visits.bif"), "recovered", "no", ("frailty", "adherence"), size=1),
        0.1,
    ),
    "parallel": (lambda: tuple(parallel([0.5] * 6, [0.4, 0.15, 0.1, 0.05, 0.03, 0.02], 0.2)), 0.1),
    "Experiment 2": (lambda: tuple(experiment_2(0)), 0.1),
}
"""Name to network and bandit, and epsilon."""


def rough(network: Any, seed: int) -> Any:
    """Return a network whose rows are drawn about those of another."""
    rng = np.random.default_rng(seed)
    guess = network.copy()
    guess.latents = set(network.latents)
    guess.remove_cpds(*list(guess.get_cpds()))
    for table in network.get_cpds():
        columns = table.get_values()
        drawn = np.stack([rng.dirichlet(WORTH * column + 1e-3) for column in columns.T], axis=1)
        parents = table.variables[1:]
        guess.add_cpds(
            TabularCPD(
                table.variable,
                len(columns),
                drawn,
                evidence=parents,
                evidence_card=list(table.cardinality[1:]),
                state_names=table.state_names,
            )
        )
    return guess


@cache
def question(name: str) -> tuple[Any, CausalBandit]:
    return INSTANCES[name][0]()


def study(runs: int, jobs: int) -> pd.DataFrame:
    rows = []
    for name, (_, epsilon) in INSTANCES.items():
        network, bandit = question(name)
        options: dict[str, Any] = {"epsilon": epsilon, "delta": DELTA}
        makers = {policy: STOPPING_POLICIES[policy] for policy in POLICIES}
        for guess, truth in (("the truth", network), ("rough", rough(network, 0))):
            planned = plan(bandit, truth, policies=makers, runs=PLANNED_RUNS, n_jobs=jobs, **options)
            rows += [
                {"instance": name, "epsilon": epsilon, "what": f"planned, {guess}", "policy": row.policy}
                | {"low": row.plays_low, "plays": row.plays, "high": row.plays_high}
                for row in planned.itertuples()
            ]
        happened = repeat(
            {policy: partial(make, **options) for policy, make in makers.items()},
            lambda seed, network=network, bandit=bandit: (bandit, SimulatedEnvironment(network, seed=seed)),
            seeds=range(10_000, 10_000 + runs),
            budgets=[100_000],
            n_jobs=jobs,
        )
        rows += [
            {"instance": name, "epsilon": epsilon, "what": "happened", "policy": policy, "seed": seed, "plays": plays}
            for policy, seed, plays in happened[["policy", "seed", "plays"]].itertuples(index=False)
        ]
    return pd.DataFrame(rows)


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return plans and what happened side by side, with the share of studies that fell into the planned range."""
    lines = []
    for (instance, policy), mine in rows.groupby(["instance", "policy"], sort=False):
        plays = mine.loc[mine["what"] == "happened", "plays"].astype(float)
        line: dict[str, Any] = {"instance": instance, "policy": policy}
        for guess in ("the truth", "rough"):
            planned = mine[mine["what"] == f"planned, {guess}"].iloc[0]
            low, high = float(planned["low"]), float(planned["high"])
            line |= {f"{guess}": float(planned["plays"]), f"{guess}, low": low, f"{guess}, high": high}
            line[f"{guess}, inside"] = ((plays >= low) & (plays <= high)).mean()
        lines.append(line | {"happened": plays.median(), "studies": len(plays)})
    return pd.DataFrame(lines)


def markdown(rows: pd.DataFrame) -> str:
    """Return the table of the README."""
    lines = []
    for _, row in table(rows).iterrows():
        cells = [f"{row[g]:,.0f} ({row[f'{g}, low']:,.0f} to {row[f'{g}, high']:,.0f})" for g in ("the truth", "rough")]
        lines.append(
            {
                "instance": row["instance"],
                "policy": row["policy"],
                "planned, guess = truth": cells[0],
                "planned, rough guess": cells[1],
                "happened": f"{row['happened']:,.0f}",
                "inside": f"{row['the truth, inside']:.0%}, {row['rough, inside']:.0%}",
            }
        )
    return frame.as_markdown(pd.DataFrame(lines))


if __name__ == "__main__":
    frame.main(__doc__, study=study, table=table, markdown=markdown, runs=50)
