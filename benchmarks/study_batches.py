"""Plays to stop where so many are asked for at once and results come late by a random time.

    python benchmarks/study_batches.py --runs 5 --rows data/results/study_batches.csv

Every day a batch is asked for, whatever is pending. The result of a play comes at the end of its day or later: each day
with probability one half. Counted are all plays asked for until the policy stops, those that are pending then among
them. "At once" is the policy's own loop: one iteration after the other, nothing late. "Blind" is a batch in which what
is pending does not count: the iteration over and over.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from frame import as_markdown, main
from joblib import Parallel, delayed

from pgcpe import PooledCCPE
from pgcpe.paper import experiment_2, experiment_3
from pgcpe.plays.actions import Action

QUESTIONS = {"Experiment 2": experiment_2, "Experiment 3": experiment_3}
N, EPSILON, DELTA = 5, 0.05, 0.05
BATCHES = (1, 5, 20, 100)
RUNS_EXACT = 0.4
"""Of the exact rule so many of the runs."""

BROKEN_OFF = 20_000
ON_TIME = 0.5
WAYS = ("pending counted", "blind")


def batch(policy: PooledCCPE, n: int, pending: Sequence[Action], way: str) -> list[Action]:
    """Return the plays of a day."""
    if way == "blind":
        return list(itertools.islice(itertools.cycle(policy.ask()), n))
    return policy.ask(n, pending)


def late(question: str, guarantee: str, n: int, way: str, seed: int) -> dict[str, Any]:
    """Return the row of a study with batches; ``n=0`` is the policy's own loop."""
    made = QUESTIONS[question](N)
    policy = PooledCCPE(made.bandit, guarantee=guarantee, epsilon=EPSILON, delta=DELTA, seed=seed)
    environment, rng = made.environment(seed), np.random.default_rng([seed, n])
    asked, days, waiting = 0, 0, []
    if n == 0:
        policy.run(environment, budget=BROKEN_OFF, progress=False)
        asked = policy.n_plays
    while n and not policy.stopped and asked < BROKEN_OFF:
        actions = batch(policy, n, [action for action, _ in waiting], way)
        frame = environment.perform(actions).to_frame()
        waiting += list(zip(actions, frame.to_dict("records"), strict=True))
        asked, days = asked + len(actions), days + 1
        done = rng.random(len(waiting)) < ON_TIME
        come = [play for play, now in zip(waiting, done, strict=True) if now]
        waiting = [play for play, now in zip(waiting, done, strict=True) if not now]
        if come:
            policy.tell([action for action, _ in come], [row for _, row in come])
    truth = environment.expected_rewards(made.bandit)
    regret = float(truth.max() - truth[policy.recommendation])
    return {
        "question": question,
        "guarantee": guarantee,
        "batch": n,
        "way": way if n else "at once",
        "seed": seed,
        "asked": asked,
        "told": policy.n_plays,
        "days": days,
        "stopped": policy.stopped,
        "wrong": policy.stopped and regret > EPSILON,
    }


def study(runs: int, jobs: int) -> pd.DataFrame:
    """Return the rows of all settings."""
    settings = [
        (question, guarantee, n, way, seed)
        for question in QUESTIONS
        for guarantee, some in (("asymptotic", runs), ("exact", max(1, int(RUNS_EXACT * runs))))
        for n, way in [(0, WAYS[0]), *itertools.product(BATCHES, WAYS)]
        if n != 1 or way == WAYS[0]  # one at a time is never blind
        for seed in range(some)
    ]
    return pd.DataFrame(Parallel(n_jobs=jobs)(delayed(late)(*setting) for setting in settings))


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the mean plays asked for, with the standard error, by the size of the batch; then beside one loop."""
    lines = []
    for (question, guarantee), some in rows.groupby(["question", "guarantee"], sort=False):
        alone = some[some["batch"] == 0]["asked"].mean()
        for way in WAYS:
            line = {"question": question, "guarantee": guarantee, "batches": way, "at once": f"{alone:,.0f}"}
            for n in BATCHES:
                asked = some[(some["batch"] == n) & (some["way"] == way)]["asked"]
                told = f"{asked.mean():,.0f} ± {asked.sem():,.0f} ({asked.mean() / alone:.2f})"
                line[f"{n} a day"] = told if len(asked) else "-"
            chosen = some[(some["way"] == way) | (some["batch"] == 0)]
            lines.append(line | {"wrong": f"{int(chosen['wrong'].sum())} of {len(chosen)}"})
    return pd.DataFrame(lines)


def markdown(rows: pd.DataFrame) -> str:
    """Return the table of the README."""
    return as_markdown(table(rows))


if __name__ == "__main__":
    main(__doc__, study=study, table=table, markdown=markdown, runs=5)
