"""Plays to stop of every guarantee of PooledCCPE, and of top-two, on five networks, none of which is the paper's.

    python benchmarks/networks.py --rows data/results/networks.csv.gz

delta = .05, the same seeds for all policies. All interventions on up to two variables, of alarm on one; on the crops
those on two, made good. A run is broken off after 20,000 plays. The numerical guarantee is not run on alarm, whose
tables are too many to be searched.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import frame
import pandas as pd
from guarantee import DATA
from makers import shipped

from pgcpe import CausalBandit, PooledCCPE, SimulatedEnvironment, TopTwo, interventions, load_network
from pgcpe.experiments import repeat
from pgcpe.experiments.running import MakePolicy

DELTA, BROKEN_OFF = 0.05, 20_000
EPSILONS = (0.1, 0.05)

CROPS = ("wheat", "barley", "maize", "beans", "potatoes")


def crop_yield() -> tuple[Any, CausalBandit]:
    """Return which two crops to protect; the climate, which nobody knows, is hidden."""
    network = load_network(DATA / "crop_yield.bif", latents=["climate"])
    arms = interventions(network, reward="harvest", variables=CROPS, size=2, values=["good"])
    worth = {"poor": 0, "fair": 0.5, "good": 1}
    return network, CausalBandit(network, reward="harvest", arms=arms, reward_values=worth)


QUESTIONS: dict[str, Callable[[], tuple[Any, CausalBandit]]] = {
    "asia": lambda: shipped("asia", "dysp", "no", max_size=2),
    "cancer": lambda: shipped("cancer", "Dyspnoea", "False", max_size=2),
    "crop yield (hidden)": crop_yield,
    "two visits (hidden)": lambda: shipped(
        str(DATA / "two_visits.bif"), "recovered", "yes", ("frailty", "adherence"), max_size=2
    ),
    "alarm": lambda: shipped("alarm", "BP", "NORMAL", max_size=1),
}
NOT_NUMERICAL = ("alarm",)


def policies(name: str, epsilon: float) -> dict[str, MakePolicy]:
    """Return what is compared on a network."""
    guarantees = ["direct", "exact", "asymptotic"] + ([] if name in NOT_NUMERICAL else ["numerical"])
    ours: dict[str, MakePolicy] = {
        guarantee: partial(PooledCCPE, guarantee=guarantee, epsilon=epsilon, delta=DELTA) for guarantee in guarantees
    }
    return {
        **ours,
        "top-two": partial(TopTwo, epsilon=epsilon, delta=DELTA),
        "top-two, leader named": partial(TopTwo, named_leader=True, epsilon=epsilon, delta=DELTA),
    }


@cache
def question(name: str, merge: bool) -> tuple[CausalBandit, SimulatedEnvironment]:
    """Return a question; the direct guarantee compares every listed arm, so that none are merged for it."""
    network, bandit = QUESTIONS[name]()
    if not merge and bandit.merges_arms:
        bandit = bandit.unmerged()
    return bandit, SimulatedEnvironment(network, seed=0)


def instance(name: str, merge: bool, seed: int) -> tuple[CausalBandit, SimulatedEnvironment]:
    """Return the question of a seed."""
    bandit, environment = question(name, merge)
    return bandit, environment.reseeded(seed)


def study(runs: int, jobs: int) -> pd.DataFrame:
    """Return the rows."""
    parts = []
    for name in QUESTIONS:
        for epsilon in EPSILONS:
            made = policies(name, epsilon)
            for merge in (True, False):
                some = {policy: make for policy, make in made.items() if (policy != "direct") == merge}
                parts.append(
                    repeat(
                        some,
                        partial(instance, name, merge),
                        seeds=range(runs),
                        budgets=[BROKEN_OFF],
                        experiment=name,
                        n_jobs=jobs,
                        progress=False,
                    )
                )
    return pd.concat(parts, ignore_index=True)


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return for each network, epsilon and policy the median plays and how many runs stopped and were wrong."""
    rows = rows.assign(wrong=rows["stopped"].astype(bool) & (rows["regret"].astype(float) > rows["epsilon"] + 1e-9))
    keys = ["experiment", "epsilon", "policy"]
    return rows.groupby(keys, sort=False).agg(
        arms=("arms", "first"), runs=("seed", "nunique"), plays=("plays", "median"), stopped=("stopped", "sum"),
        wrong=("wrong", "sum"),
    ).reset_index()  # fmt: skip


def markdown(rows: pd.DataFrame) -> str:
    """Return the table of the documentation: medians, and in brackets how many runs did not stop."""
    lines = []
    for (experiment, epsilon), mine in table(rows).groupby(["experiment", "epsilon"], sort=False):
        cells = {
            line.policy: f"{line.plays:,.0f}"
            + (f" ({line.runs - line.stopped} open)" if line.stopped < line.runs else "")
            for line in mine.itertuples()
        }
        at = {"network": experiment, "epsilon": f"{epsilon:g}", "arms": f"{mine['arms'].min()}"}
        lines.append(at | cells | {"wrong": str(mine["wrong"].sum())})
    return frame.as_markdown(pd.DataFrame(lines).fillna(""))


if __name__ == "__main__":
    frame.main(__doc__, study=study, table=table, markdown=markdown, runs=20)
