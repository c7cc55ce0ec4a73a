"""All policies on four instances: error after once, one and a half times and twice the lower bound, plays to stop.

    python benchmarks/baselines.py --runs 500 --rows data/results/baselines.csv.gz

The lower bound is ``T* kl(.05, .95)``, what any algorithm with delta = .05 plays on average, one that knows the
distribution of all but the reward included ("no structure": one that uses its own plays alone). A policy of a fixed
budget owes nothing to it: it may do better, the number beside an error says by how much. It divides the error by the
delta whose bound the budget is. epsilon = 0, delta = .05; runs are broken off after 10,000 plays. LUCB1, whose radius
needs three to ten times the plays of the others, is not run to its stop; Experiment 2's model, the slowest, has a
fifth of the runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import frame
import numpy as np
import pandas as pd
from makers import FIXED_BUDGET, shipped
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork

from pgcpe import (
    CCPE,
    KLLUCB,
    LUCB,
    AdmissibleSequence,
    CausalBandit,
    EmpiricalMeans,
    LilUCB,
    Policy,
    SimulatedEnvironment,
    TopTwo,
    expected_rewards,
    interventions,
)
from pgcpe.complexity import characteristic_time, informed_characteristic_time, least_delta, least_plays
from pgcpe.experiments import repeat
from pgcpe.paper import experiment_2, parallel

DATA = Path(__file__).parent.parent / "data"
DELTA = 0.05
BROKEN_OFF = 10_000

FIXED: dict[str, Any] = {"epsilon": 0.0, "delta": DELTA}


class Question(NamedTuple):
    """An instance with its characteristic time."""

    network: Any
    bandit: CausalBandit
    time: float

    @property
    def bound(self) -> int:
        """The lower bound on plays."""
        return round(least_plays(self.time, DELTA))

    @property
    def budgets(self) -> tuple[int, int, int]:
        """Once, one and a half times and twice the bound."""
        return self.bound, round(1.5 * self.bound), 2 * self.bound


def no_structure() -> Question:
    """Ten values of one variable, confounded with the reward: nothing is learned but by playing them."""
    means = np.array([0.7, 0.5, 0.5, 0.45, 0.45, 0.4, 0.4, 0.35, 0.35, 0.3])
    network = DiscreteBayesianNetwork([("U", "X"), ("U", "Y"), ("X", "Y")])
    slanted = np.stack([np.linspace(1, 3, 10), np.linspace(3, 1, 10)], axis=1)
    one = np.stack([means - 0.1, means + 0.1], axis=1).ravel()
    network.add_cpds(
        TabularCPD("U", 2, [[0.5], [0.5]]),
        TabularCPD("X", 10, slanted / slanted.sum(axis=0), evidence=["U"], evidence_card=[2]),
        TabularCPD("Y", 2, [1 - one, one], evidence=["X", "U"], evidence_card=[10, 2]),
    )
    network.latents = {"U"}
    bandit = CausalBandit(network, reward="Y", arms=interventions(network, reward="Y", size=1, null=False))
    return Question(network, bandit, characteristic_time(expected_rewards(network, bandit, progress=False)))


def informed(network: Any, bandit: CausalBandit) -> Question:
    return Question(network, bandit, informed_characteristic_time(network, bandit))


def hidden() -> Question:
    """Two visits of a patient, with hidden frailty and adherence: which value of one variable does most harm."""
    return informed(*shipped(str(DATA / "two_visits.bif"), "recovered", "no", ("frailty", "adherence"), size=1))


INSTANCES: dict[str, Callable[[], Question]] = {
    "no structure": cache(no_structure),
    "parallel": cache(lambda: informed(*parallel([0.5] * 6, [0.4, 0.15, 0.1, 0.05, 0.03, 0.02], 0.2))),
    "Experiment 2": cache(lambda: informed(*experiment_2(0))),
    "hidden": cache(hidden),
}

STOPPING: dict[str, Callable[..., Policy]] = {
    "LUCB": partial(LUCB, **FIXED),
    "KL-LUCB": partial(KLLUCB, **FIXED),
    "lil'UCB heuristic": partial(LilUCB, delta=DELTA),
    "top-two, GLR": partial(TopTwo, **FIXED),
    "CCPE": partial(CCPE, **FIXED),
    "CCPE tuned (.3, .4)": partial(
        CCPE, estimator=AdmissibleSequence("paper", 0.3), direct=EmpiricalMeans("paper", 0.4), **FIXED
    ),
}

BUDGETED: dict[str, Callable[..., Policy]] = {"LUCB1": partial(LUCB, radius="lucb1", **FIXED), **FIXED_BUDGET}

NOT_FOR = {
    "no structure": {"parallel bandit", "Propagating-Inference, 1/C", "Propagating-Inference, optimised"},
    "parallel": set(),
    "Experiment 2": {"parallel bandit", "two-phase"},
    "hidden": {"parallel bandit", "Propagating-Inference, 1/C", "Propagating-Inference, optimised"},
}
"""Policies that an instance has no place for: other graphs, hidden variables, or arms that set two variables."""


def run(name: str, policies: dict[str, Callable[..., Policy]], seeds: range, jobs: int) -> pd.DataFrame:
    """Return the rows of some policies on an instance."""
    question = INSTANCES[name]()
    rows = repeat(
        policies,
        lambda seed: (question.bandit, SimulatedEnvironment(question.network, seed=seed)),
        seeds=seeds,
        budgets=[*question.budgets, *([BROKEN_OFF] if set(policies) <= set(STOPPING) else [])],
        cuts=question.budgets,
        n_jobs=jobs,
    )
    rows.insert(0, "instance", name)
    rows.insert(1, "bound", question.bound)
    return rows[["instance", "bound", "policy", "arms", "seed", "budget", "plays", "stopped", "certificate", "correct"]]


def study(runs: int, jobs: int) -> pd.DataFrame:
    parts = []
    for name in INSTANCES:
        seeds = range(runs // 5 if name == "Experiment 2" else runs)
        budgeted = {policy: make for policy, make in BUDGETED.items() if policy not in NOT_FOR[name]}
        parts += [run(name, STOPPING, seeds, jobs), run(name, budgeted, seeds, jobs)]
        print(table(pd.concat(parts[-2:])).to_string(), flush=True)
    return pd.concat(parts, ignore_index=True)


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return for each instance and policy its errors, each over the delta of its budget, and its plays to stop."""
    summed = []
    for (instance, policy), mine in rows.groupby(["instance", "policy"], sort=False):
        bound = int(mine["bound"].iloc[0])
        line: dict[str, Any] = {"instance": instance, "bound": bound, "policy": policy, "runs": mine["seed"].nunique()}
        for times in (1, 1.5, 2):
            error = 1.0 - mine.loc[mine["budget"] == round(bound * times), "correct"].mean()
            time = bound / least_plays(1.0, DELTA)
            line |= {f"error at {times:g}": error, f"over delta {times:g}": error / least_delta(time, bound * times)}
        last = mine[mine["budget"] == BROKEN_OFF]
        if len(last):
            line |= {"plays": last["plays"].median(), "over bound": last["plays"].median() / bound}
            line |= {"stopped": last["stopped"].mean(), "wrong stops": int((last["stopped"] & ~last["correct"]).sum())}
        summed.append(line)
    return pd.DataFrame(summed)


def markdown(rows: pd.DataFrame) -> str:
    """Return the tables of the README, one for each instance."""
    parts = []
    summed = table(rows)
    for instance, mine in summed.groupby("instance", sort=False):
        bound = int(mine["bound"].iloc[0])
        budgets = [round(bound * times) for times in (1, 1.5, 2)]
        lines = []
        for _, row in mine.iterrows():
            line = {"policy": row["policy"]}
            for budget, t in zip(budgets, ("1", "1.5", "2"), strict=True):
                line[f"error at {budget:,}"] = f"{row[f'error at {t}']:.3f} ({row[f'over delta {t}']:.2g})"
            more = "> " if row["plays"] == BROKEN_OFF else ""
            stop = "" if np.isnan(row["plays"]) else f"{more}{row['plays']:,.0f} ({more}{row['over bound']:.1f})"
            wrong = "" if np.isnan(row["plays"]) else f"{row['wrong stops']:.0f}"
            lines.append(line | {"plays to stop": stop, "wrong stops": wrong})
        parts.append(f"**{instance}**: at least {bound:,} plays\n\n{frame.as_markdown(pd.DataFrame(lines))}")
    return "\n\n".join(parts)


if __name__ == "__main__":
    frame.main(__doc__, study=study, table=table, markdown=markdown, runs=500)
