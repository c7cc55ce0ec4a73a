"""A search for questions where stops are wrong more often than they may be, on right graphs, by every guarantee.

    python benchmarks/audit_search.py --rows data/results/audit_search.csv

Two hundred questions of either kind are drawn: `strata`, 8 to 256 values of a cause of treatment and reward, a rare
treatment, rare rewards; and `rare`, no such cause, a rare treatment, rewards rare and nearly as frequent by both arms.
Each is told passive observations, then plays of both arms in turn, with epsilon = 0, and looked at by the package's
schedule, whenever the plays have grown by a hundredth. The five with most wrong stops by any guarantee, and among those
with as many wrong the most stops, are run again from fresh seeds, `again` in the rows: a share that is the largest of
many is large by chance too, one measured afterwards is not.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
from audit import ARMS, CONFOUNDED
from frame import main
from joblib import Parallel, delayed
from pgmpy.base import DAG

from pgcpe import CausalBandit, PooledCCPE, do
from pgcpe.policies.rules.base import StoppingRule, Verdict
from pgcpe.policies.rules.state import PolicyState

INSTANCES, WORST = 200, 5
NEVER = 10**9
FIRST_RUNS = {"strata": 2, "rare": 5}
"""Runs of each question in the search."""

MODES = ("direct", "exact", "trees", "tables")
"""The guarantees; the last two are the asymptotic one by the model of that name."""


class Drawn(NamedTuple):
    """A question: values of Z (1: no Z), P(X = 1), E[Y | X = 0 and 1], and what is told: passive plays, own of each."""

    strata: int
    x: float
    mean0: float
    mean1: float
    observations: int
    own: int
    delta: float


def drawn(kind: str, number: int) -> Drawn:
    """Return a question of the search."""
    rng = np.random.default_rng([number, 4 if kind == "strata" else 5])
    if kind == "strata":
        strata, x = int(2 ** rng.uniform(3, 8)), float(rng.uniform(0.03, 0.3))
        low, ratio = (
            float(np.exp(rng.uniform(np.log(0.005), np.log(0.1)))),
            float(np.exp(rng.uniform(np.log(1.02), np.log(2.0)))),
        )
        observations, own, delta = strata * int(rng.uniform(10, 100)), int(rng.uniform(50, 500)), 0.05
    else:
        strata, x = 1, float(np.exp(rng.uniform(np.log(0.005), np.log(0.2))))
        low, ratio = float(np.exp(rng.uniform(np.log(0.005), np.log(0.2)))), float(rng.uniform(1.005, 1.05))
        observations, own, delta = int(rng.uniform(500, 4_000)), int(rng.uniform(20, 300)), 0.01
    means = (low, low * ratio) if rng.random() < 0.5 else (low * ratio, low)
    return Drawn(strata, x, *means, observations, own, delta)


class Noted(StoppingRule):
    """A rule that keeps its first verdict with a certificate."""

    def __init__(self, rule: StoppingRule) -> None:
        self._rule = rule
        self.first: Verdict | None = None

    def check(self, state: PolicyState) -> Verdict:
        """Return what the rule says."""
        verdict = self._rule.check(state)
        if self.first is None and verdict.stop and verdict.certificate is not None:
            self.first = verdict
        return verdict

    def unresolved(self, state: PolicyState) -> np.ndarray:
        """Return what the rule says."""
        return self._rule.unresolved(state)


def stops(question: Drawn, seed: list[int]) -> dict[str, bool | None]:
    """Return for each mode whether it stopped for the better arm; None where it did not stop."""
    rng = np.random.default_rng(seed)
    graph, states = (CONFOUNDED, {"Z": tuple(range(question.strata))}) if question.strata > 1 else (XY, None)
    bandit = CausalBandit(graph, reward="Y", arms=ARMS, states=states)
    n = question.observations + 2 * question.own
    x = (rng.random(n) < question.x).astype(int)
    x[question.observations :] = np.arange(2 * question.own) % 2
    means = np.array([question.mean0, question.mean1])
    frame = pd.DataFrame(
        {"Z": rng.integers(0, question.strata, n), "X": x, "Y": (rng.random(n) < means[x]).astype(int)}
    )[list(graph)]
    actions = [do()] * question.observations + ARMS * question.own
    found: dict[str, bool | None] = {}
    for model in ("trees", "tables"):
        # exact intervals, worked out forty times, are those of the trees whatever the model
        refresh = max(n // 40, 1) if model == "trees" else NEVER
        options = {"guarantee": "direct", "model": model, "refresh": refresh, "epsilon": 0.0, "delta": question.delta}
        policy = PooledCCPE(bandit, **options)
        rules = policy._stopping.rules
        rules.update({name: Noted(rule) for name, rule in rules.items()})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of conflicts
            policy.tell(actions, frame)
        for name in (model,) if model == "tables" else ("direct", "exact", model):
            first = rules[name if name in rules else "asymptotic"].first
            found[name] = None if first is None else bandit.arms[first.arm] == ARMS[int(np.argmax(means))]
    return found


XY = DAG([("X", "Y")])


def row(kind: str, number: int, runs: int, again: bool, jobs: int) -> dict[str, object]:
    """Return the row of a question: what it is, and how many runs stopped and were wrong, by mode."""
    question = drawn(kind, number)
    first = 10_000 * again
    found = pd.DataFrame(
        Parallel(jobs)(delayed(stops)(question, [first + run, number, 6]) for run in range(runs)), dtype=object
    )
    counts = {}
    for mode in MODES:
        counts[f"stopped_{mode}"] = int(found[mode].notna().sum())
        counts[f"wrong_{mode}"] = int((found[mode] == False).sum())  # noqa: E712  # None is neither
    return {"kind": kind, "number": number, "again": again, **question._asdict(), "runs": runs, **counts}


def study(runs: int, jobs: int) -> pd.DataFrame:
    """Return the rows of the search, and those of the worst questions from fresh seeds."""
    rows = []
    for kind, first in FIRST_RUNS.items():
        mine = pd.DataFrame(Parallel(jobs)(delayed(row)(kind, number, first, False, 1) for number in range(INSTANCES)))
        most = mine.assign(
            wrong=mine[[f"wrong_{mode}" for mode in MODES]].max(axis=1),
            stopped=mine[[f"stopped_{mode}" for mode in MODES]].max(axis=1),
        ).sort_values(["wrong", "stopped"], ascending=False, kind="stable")
        rows += [mine, pd.DataFrame([row(kind, int(i), runs, True, jobs) for i in most["number"][:WORST]])]
    return pd.concat(rows, ignore_index=True)


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a line for each kind: in the search stops and wrong ones of all runs, then the worst share afterwards."""
    lines = []
    for (kind, again), mine in rows.groupby(["kind", "again"], sort=False):
        for mode in MODES:
            share = mine[f"wrong_{mode}"] / mine["runs"]
            lines.append(
                {
                    "kind": kind,
                    "questions": f"{len(mine)} worst, again" if again else f"{len(mine)}",
                    "mode": mode,
                    "delta": mine["delta"].iloc[0],
                    "runs": int(mine["runs"].sum()),
                    "stopped": int(mine[f"stopped_{mode}"].sum()),
                    "wrong": int(mine[f"wrong_{mode}"].sum()),
                    "worst share": float(share.max()),
                }
            )
    return pd.DataFrame(lines)


def markdown(rows: pd.DataFrame) -> str:
    """Return the table of the README."""
    return str(table(rows).to_markdown(index=False))


if __name__ == "__main__":
    main(__doc__, study=study, table=table, markdown=markdown, runs=100)
