"""Plays to stop of a study that begins with logs under interventions, beside one that begins with nothing.

    python benchmarks/logs.py --runs 10 --rows data/results/logs.csv

Three networks. The logs are rows that somebody else made: a third passive, the others under interventions that set one
variable to one state, drawn at random, which are no arms where these set two. They are imported into a `Study` before
the first ask. Counted are the plays performed until the stop, logs not included.
"""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from frame import as_markdown, main
from joblib import Parallel, delayed
from makers import shipped

from pgcpe import CausalBandit, PooledCCPE, SimulatedEnvironment, Study, do, interventions
from pgcpe.paper import experiment_3

DATA = Path(__file__).parent.parent / "data"
EPSILON = {"Experiment 3": 0.05, "cancer": 0.1, "two visits": 0.15}
LOGS = (0, 100, 300, 1000)
BROKEN_OFF = 20_000
GUARANTEES = ("asymptotic", "exact")


def instance(name: str) -> tuple[Any, CausalBandit]:
    """Return a network and its question."""
    if name == "Experiment 3":
        question = experiment_3(5)
        return question.network, question.bandit
    if name == "cancer":
        return shipped("cancer", "Dyspnoea", "False", max_size=1)
    hidden = ("frailty", "adherence")
    return shipped(str(DATA / "two_visits.bif"), "recovered", "yes", hidden, variables=["drug1", "drug2"], size=2)


def log(network: Any, bandit: CausalBandit, n: int, seed: int) -> pd.DataFrame:
    """Return a log of n rows, a third of them passive, the others with one variable set."""
    rng = np.random.default_rng([seed, 1])
    one = interventions(network, reward=bandit.reward, variables=sorted(bandit.settable), size=1, null=False)
    actions = [do() if rng.random() < 1 / 3 else one[rng.integers(len(one))] for _ in range(n)]
    return SimulatedEnvironment(network, seed=np.random.SeedSequence([seed, 2])).perform(actions).to_frame()


def run(name: str, guarantee: str, n: int, seed: int) -> dict[str, Any]:
    """Return the row of one study."""
    network, bandit = instance(name)
    made = PooledCCPE(bandit, guarantee=guarantee, epsilon=EPSILON[name], seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        study = Study.create(Path(folder) / "study.pgcpe", made)
        before = [str(action) for action in study.policy.ask()]
        if n:
            study.import_log(log(network, bandit, n, seed))
        first = [str(play.action) for play in study.ask()]
        policy = study.policy
    environment = SimulatedEnvironment(network, seed=np.random.SeedSequence([seed, 3]))
    result = policy.run(environment, budget=BROKEN_OFF, progress=False)
    truth = environment.expected_rewards(bandit)
    regret = float(truth.max() - truth.iloc[bandit.index(result.recommendation)])
    return {
        "question": name,
        "guarantee": guarantee,
        "log": n,
        "seed": seed,
        "plays": result.n_plays - n,
        "stopped": policy.stopped,
        "wrong": policy.stopped and regret > EPSILON[name] + 1e-9,
        "first_ask": "; ".join(first),
        "changed": first != before,
    }


def study(runs: int, jobs: int) -> pd.DataFrame:
    """Return the rows of all settings."""
    settings = [
        (name, guarantee, n, seed)
        for name, guarantee, n in itertools.product(EPSILON, GUARANTEES, LOGS)
        for seed in range(runs)
    ]
    return pd.DataFrame(Parallel(n_jobs=jobs)(delayed(run)(*setting) for setting in settings))


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the mean plays with the standard error, by the size of the log, and how often it changed the first ask."""
    lines = []
    for (question, guarantee), some in rows.groupby(["question", "guarantee"], sort=False):
        line = {"question": question, "guarantee": guarantee}
        for n in LOGS:
            plays = some.loc[some["log"] == n, "plays"]
            line[f"log of {n:,}" if n else "no log"] = f"{plays.mean():,.0f} ± {plays.sem():,.0f}"
        logged = some[some["log"] > 0]
        line["first ask changed"] = f"{int(logged['changed'].sum())} of {len(logged)}"
        lines.append(line | {"wrong": f"{int(some['wrong'].sum())} of {len(some)}"})
    return pd.DataFrame(lines)


def markdown(rows: pd.DataFrame) -> str:
    """Return the table of the README."""
    return as_markdown(table(rows))


if __name__ == "__main__":
    main(__doc__, study=study, table=table, markdown=markdown, runs=10)
