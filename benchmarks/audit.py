"""How often a stop or a conflict is wrong on a right graph, where counts are rare or strata many.

    python benchmarks/audit.py --runs 300 --rows data/results/audit.csv

Each case is a question with the arms do(X=0) and do(X=1), told passive observations, with the asymptotic guarantee and
epsilon = 0, looked at whenever the plays have grown by a hundredth or, where there are many strata, once. A run is
`wrong` if it stopped for the other arm; of `conflicts` if direct plays were found to contradict the graph.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
from frame import main
from joblib import Parallel, delayed
from pgmpy.base import DAG

from pgcpe import CausalBandit, PooledCCPE, PooledTrees, do

ARMS = [do(X=0), do(X=1)]
CONFOUNDED = DAG([("Z", "X"), ("Z", "Y"), ("X", "Y")])


class Case(NamedTuple):
    """A question and what is told: `strata` equal values of Z (1: no Z), P(X = 1), E[Y | X], observations, delta.

    ``own`` plays of each arm are told beside them where conflicts are looked for; the search for worse cases draws
    strata, P(X = 1) and means anew in every run.
    """

    strata: int
    x: float
    means: tuple[float, float]
    observations: int
    delta: float
    own: int = 0
    drawn: bool = False


CASES = {
    "256 strata": Case(256, 0.1, (0.03, 0.02), 25_600, 0.05),
    "rare treatment": Case(1, 0.05, (0.1, 0.102), 4_000, 0.01),
    "128 strata, conflicts": Case(128, 0.1, (0.03, 0.02), 12_800, 0.05, own=2_000),
    "drawn strata": Case(0, 0.0, (0.0, 0.0), 0, 0.05, drawn=True),
}


def _drawn(seed: int) -> Case:
    """Return a case of 8 to 256 strata, a rare treatment, rare outcomes and 20 to 200 observations a stratum."""
    rng = np.random.default_rng([seed, 1])
    strata = int(2 ** rng.uniform(3, 8))
    low = float(np.exp(rng.uniform(np.log(0.005), np.log(0.1))))
    means = (low, low * float(rng.uniform(1.05, 1.5)))
    x, each = float(rng.uniform(0.03, 0.3)), int(rng.uniform(20, 200))
    return Case(strata, x, means if rng.random() < 0.5 else means[::-1], strata * each, 0.05)


def _observations(case: Case, n: int, rng: np.random.Generator, x: int | None = None) -> pd.DataFrame:
    z = rng.integers(0, case.strata, n)
    treated = (rng.random(n) < case.x).astype(int) if x is None else np.full(n, x)
    y = (rng.random(n) < np.array(case.means)[treated]).astype(int)
    return pd.DataFrame({"Z": z, "X": treated, "Y": y})


def run(name: str, seed: int) -> dict[str, bool]:
    """Return whether a run stopped, whether for the worse arm, and whether a conflict was found."""
    case = CASES[name]
    if case.drawn:
        case = _drawn(seed)
    rng = np.random.default_rng(seed)
    graph = CONFOUNDED if case.strata > 1 else DAG([("X", "Y")])
    states = {"Z": tuple(range(case.strata))} if case.strata > 1 else None
    bandit = CausalBandit(graph, reward="Y", arms=ARMS, states=states)
    told = _observations(case, case.observations, rng)
    if case.own:
        trees = PooledTrees().start(bandit).update(bandit.encode(do(), told))
        for x, arm in enumerate(ARMS):
            trees.update(bandit.encode(arm, _observations(case, case.own, rng, x)))
        return {"stopped": False, "wrong": False, "conflicts": bool(trees.contradictions(case.delta).any())}
    policy = PooledCCPE(bandit, guarantee="asymptotic", epsilon=0.0, delta=case.delta)
    looks = [case.observations] if case.strata > 1 else _looks(case.observations)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of conflicts
        for start, end in zip([0, *looks], looks, strict=False):
            policy.tell(do(), told.iloc[start:end][[*graph.nodes]])
            if policy.stopped:
                break
    wrong = policy.stopped and policy.recommendation != ARMS[int(np.argmax(case.means))]
    return {"stopped": policy.stopped, "wrong": wrong, "conflicts": False}


def _looks(n: int) -> list[int]:
    looks = [100]
    while looks[-1] < n:
        looks.append(min(max(looks[-1] + 1, int(looks[-1] * 1.01)), n))
    return looks


def study(runs: int, jobs: int) -> pd.DataFrame:
    """Return a row for each case."""
    rows = []
    for name, case in CASES.items():
        found = pd.DataFrame(Parallel(jobs)(delayed(run)(name, seed) for seed in range(runs)))
        rows.append({"case": name, "delta": case.delta, "runs": runs, **found.sum().astype(int).to_dict()})
    return pd.DataFrame(rows)


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows as they are."""
    return rows


def markdown(rows: pd.DataFrame) -> str:
    """Return the table of the README."""
    return str(rows.to_markdown(index=False))


if __name__ == "__main__":
    main(__doc__, study=study, table=table, markdown=markdown, runs=300)
