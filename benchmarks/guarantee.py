"""Wrong certified answers and plays to stop of CCPE and LUCB on five networks.

    python benchmarks/guarantee.py --runs 200 --rows data/results/guarantee.csv

A run is wrong when the arm it stopped with is worse than the best by more than epsilon. Every run has its own seed for
the environment and for ties; a run that does not stop within the budget is counted as such.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import frame
import pandas as pd
from joblib import Parallel, delayed
from makers import shipped
from tqdm.auto import tqdm

from pgcpe import (
    CCPE,
    LUCB,
    AdmissibleSequence,
    CausalBandit,
    EmpiricalMeans,
    Policy,
    SimulatedEnvironment,
    do,
    expected_rewards,
    load_network,
)

DATA = Path(__file__).parent.parent / "data"
DELTA, BUDGET = 0.05, 1_000_000

NEAR_TIE = """network near_tie { }
variable A { type discrete [ 2 ] { 0, 1 }; }
variable B { type discrete [ 2 ] { 0, 1 }; }
variable Y { type discrete [ 2 ] { 0, 1 }; }
probability ( A ) { table 0.5, 0.5; }
probability ( B ) { table 0.5, 0.5; }
probability ( Y | A, B ) { (0, 0) 0.65, 0.35; (0, 1) 0.5, 0.5; (1, 0) 0.45, 0.55; (1, 1) 0.445, 0.555; }
"""
"""do(A=1, B=1) gives .555 and do(A=0, B=1) .5."""


def near_tie() -> tuple[Any, CausalBandit]:
    """Two arms .055 apart, a little over epsilon = .05: one is right and the other just wrong."""
    network = load_network(NEAR_TIE)
    return network, CausalBandit(network, reward="Y", arms=[do(A=1, B=1), do(A=0, B=1)])


INSTANCES: dict[str, tuple[Callable[[], tuple[Any, CausalBandit]], float]] = {
    "asia": (lambda: shipped("asia", "dysp", "no", max_size=2), 0.15),
    "cancer": (lambda: shipped("cancer", "Dyspnoea", "False", max_size=2), 0.15),
    "survey": (lambda: shipped("survey", "T", "car", max_size=2), 0.2),
    "two visits (hidden)": (
        lambda: shipped(str(DATA / "two_visits.bif"), "recovered", "yes", ("frailty", "adherence"), max_size=2),
        0.2,
    ),
    "near tie": (near_tie, 0.05),
}

POLICIES: dict[str, Callable[..., Policy]] = {
    "CCPE exact": lambda bandit, **o: CCPE(bandit, **o),
    "CCPE paper (8, 2)": lambda bandit, **o: CCPE(
        bandit, estimator=AdmissibleSequence("paper", 8.0), direct=EmpiricalMeans("paper", 2.0), **o
    ),
    "CCPE tuned (.3, .4)": lambda bandit, **o: CCPE(
        bandit, estimator=AdmissibleSequence("paper", 0.3), direct=EmpiricalMeans("paper", 0.4), **o
    ),
    "LUCB exact": lambda bandit, **o: LUCB(bandit, **o),
}


def run(instance: str, policy: str, seeds: list[int], delta: float, budget: int) -> list[dict[str, Any]]:
    """Run one policy on one instance with several seeds; return a row for each."""
    import warnings

    warnings.filterwarnings("ignore", message="the graph is in doubt")
    make, epsilon = INSTANCES[instance]
    network, bandit = make()
    truth = expected_rewards(network, bandit, progress=False)
    rows = []
    for seed in seeds:
        made = POLICIES[policy](bandit, epsilon=epsilon, delta=delta, seed=seed)
        result = made.run(SimulatedEnvironment(network, seed=seed), budget=budget, progress=False)
        regret = truth.max() - truth[result.recommendation]
        rows.append(
            {
                "instance": instance,
                "policy": policy,
                "arms": len(bandit.arms),
                "epsilon": epsilon,
                "delta": delta,
                "seed": seed,
                "plays": result.n_plays,
                "stopped": made.stopped,
                "certificate": result.certificate or "",
                "recommendation": str(result.recommendation),
                "regret": round(float(regret), 6),
                "wrong": made.stopped and regret > epsilon + 1e-9,
                "conflicts": len(result.conflicts),
            }
        )
    return rows


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows summed up: share of wrong stops, quartiles of plays."""
    grouped = rows.groupby(["instance", "policy"], sort=False)
    return pd.DataFrame(
        {
            "arms": grouped["arms"].first(),
            "epsilon": grouped["epsilon"].first(),
            "delta": grouped["delta"].first(),
            "runs": grouped.size(),
            "stopped": grouped["stopped"].mean(),
            "wrong": grouped["wrong"].mean(),
            "plays 25%": grouped["plays"].quantile(0.25).astype(int),
            "plays median": grouped["plays"].median().astype(int),
            "plays 75%": grouped["plays"].quantile(0.75).astype(int),
            "with conflicts": grouped["conflicts"].agg(lambda c: (c > 0).mean()),
        }
    ).reset_index()


def markdown(rows: pd.DataFrame) -> str:
    """Return the table of the documentation: median plays to stop, and the wrong ones among the runs that stopped."""
    summed = table(rows).set_index(["instance", "policy"])
    policies = list(dict.fromkeys(rows["policy"]))
    lines = []
    for instance in dict.fromkeys(rows["instance"]):
        first = summed.loc[(instance, policies[0])]
        line = {"network": instance, "arms": int(first["arms"]), "epsilon": f"{first['epsilon']:g}"}
        for policy in policies:
            mine = rows[(rows["instance"] == instance) & (rows["policy"] == policy)]
            plays, wrong = int(summed.loc[(instance, policy), "plays median"]), int(mine["wrong"].sum())
            line[policy] = f"{plays:,} ({wrong} wrong)"
        lines.append(line)
    return frame.as_markdown(pd.DataFrame(lines))


def study(runs: int, jobs: int) -> pd.DataFrame:
    """Return the rows of all instances and policies."""
    work = [
        delayed(run)(instance, policy, list(range(start, min(start + 10, runs))), DELTA, BUDGET)
        for instance in INSTANCES
        for policy in POLICIES
        for start in range(0, runs, 10)
    ]
    done = Parallel(n_jobs=jobs, return_as="generator")(work)
    return pd.DataFrame([row for some in tqdm(done, total=len(work), unit=" tens") for row in some])


if __name__ == "__main__":
    frame.main(__doc__, study=study, table=table, markdown=markdown, runs=200)
