"""The theorems beside what happens: plays of the paper's algorithms and their bounds, errors at a fixed budget.

    python benchmarks/theorems.py --runs 20 --rows data/results/theorems.csv.gz

*Plays to stop* (runs each): CCPE-General with alphas (8, 2) beside the bound of Theorem 2, CCPE-BGLM with the proved
radius and alpha 6 sqrt(2) beside that of Theorem 1, both with the constants that their proofs give once mended, and the
lower bound of Theorem 3, on parallel graphs, with the proof's constant. epsilon = 0, delta = .05.

*Fixed budget* (25 times the runs each): the setting of Lattimore et al. 2016, figure 2a: T = 400, 50 independent causes
of which the first m are 1 with probability 1/m, the others with 1/2; P(Y=1) is .8 where X_1 is 1, and such that do()
has .5. m counts the causes that are hard to observe. Beside each error of Causal Successive Rejects its bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import frame
import pandas as pd

from pgcpe import (
    BGLM,
    CCPE,
    AdmissibleSequence,
    CausalBandit,
    CausalSuccessiveRejects,
    EmpiricalMeans,
    ParallelBandit,
    SequentialHalving,
    SimulatedEnvironment,
    SuccessiveRejects,
    do,
)
from pgcpe.complexity import (
    bglm_observation_probabilities,
    bglm_plays,
    causal_rejects_error,
    gap_dependent_threshold,
    general_plays,
    observation_probabilities,
    observation_threshold,
    parallel_lower_bound,
)
from pgcpe.experiments import repeat
from pgcpe.paper import Instance, experiment_1, experiment_2, experiment_3, parallel

DELTA, BUDGET = 0.05, 400
BROKEN_OFF = 500_000
HARD = (2, 8, 16, 24, 32, 40, 48)
"""m."""

FIXED: dict[str, Any] = {"epsilon": 0.0, "delta": DELTA}
DIRECT = EmpiricalMeans("paper", 2.0)

GENERAL = {"CCPE-General": partial(CCPE, estimator=AdmissibleSequence("paper", 8.0), direct=DIRECT, **FIXED)}
LINEAR = {
    "CCPE-BGLM": partial(
        CCPE,
        estimator=BGLM(
            "identity",
            method="estimating_equation",
            radius="proved",
            alpha=6 * math.sqrt(2),
            eta=0.3,
            kappa=1.0,
            refresh=20_000,
        ),
        direct=DIRECT,
        **FIXED,
    )
}
REJECTING: dict[str, Callable[..., Any]] = {
    "Causal SR": CausalSuccessiveRejects,
    "Causal SR, variance": partial(CausalSuccessiveRejects, merge="variance"),
    "Successive Rejects": SuccessiveRejects,
    "Sequential Halving": SequentialHalving,
    "parallel bandit": ParallelBandit,
}


class Question(NamedTuple):
    """An instance with what the theorems say of it."""

    bandit: CausalBandit
    simulator: SimulatedEnvironment
    m: int
    bound: float
    lower: float

    def __call__(self, seed: int) -> tuple[CausalBandit, SimulatedEnvironment]:
        """Return the bandit and an environment of its own for each seed, as `repeat` asks for them."""
        return self.bandit, self.simulator.reseeded(seed)


def asked(made: Instance, theorem: int, null: int | None = None) -> Question:
    """Return an instance with its threshold and bounds."""
    network, bandit = made
    simulator = made.environment(None)
    rewards = simulator.expected_rewards(bandit)  # which it remembers, on every worker
    if theorem == 1:
        q = bglm_observation_probabilities(bandit)
        bound = bglm_plays(q, rewards, DELTA, n_nodes=len(bandit.graph), eta=0.3)
    else:
        q = observation_probabilities(network, bandit, progress=False)
        size = max(len(arm) for arm in bandit.arms)
        bound = general_plays(q, rewards, DELTA, n_treatments=size)
    lower = 0.0 if null is None else parallel_lower_bound(q, rewards, DELTA, null)
    return Question(bandit, simulator, gap_dependent_threshold(q, rewards), bound, lower)


def lattimore(m: int, n: int = 50, gain: float = 0.3) -> Instance:
    """Return the parallel graph of figure 2a of Lattimore et al."""
    q = [1.0 / m] * m + [0.5] * (n - m)
    loss = gain * q[0] / (1 - q[0])
    return parallel(q, [gain + loss] + [0.0] * (n - 1), 0.5 - loss)


def of_parallel(q: list[float]) -> Question:
    made = parallel(q, [0.4, 0.15, 0.1, 0.05, 0.03, 0.02], 0.2)
    return asked(made, 2, made.bandit.arms.index(do()))


QUESTIONS: dict[str, tuple[Callable[[], Question], dict[str, Any]]] = {
    "parallel, all 1/2": (cache(lambda: of_parallel([0.5] * 6)), GENERAL),
    "parallel, three rare": (cache(lambda: of_parallel([0.5] * 3 + [0.05] * 3)), GENERAL),
    "parallel, all rare": (cache(lambda: of_parallel([0.05] * 6)), GENERAL),
    "Experiment 2": (cache(lambda: asked(experiment_2(0), 2)), GENERAL),
    "Experiment 3, n = 5": (cache(lambda: asked(experiment_3(5), 2)), GENERAL),
    "Experiment 1": (cache(lambda: asked(experiment_1(0), 1)), LINEAR),
}


def fixed_budget(m: int) -> Question:
    """Return Lattimore's graph with the bound on the error of Causal Successive Rejects."""
    network, bandit = made = lattimore(m)
    simulator = made.environment(None)
    rewards = simulator.expected_rewards(bandit)
    q = observation_probabilities(network, bandit, progress=False)
    bound = causal_rejects_error(q, rewards, BUDGET)
    return Question(bandit, simulator, observation_threshold(q), bound, 0.0)


def run(name: str, question: Question, policies: dict[str, Any], seeds: range, budget: int, jobs: int) -> pd.DataFrame:
    """Return the rows of some policies on a question, with what the theorems say."""
    rows = repeat(policies, question, seeds=seeds, budgets=[budget], experiment=name, n_jobs=jobs)
    rows = rows.assign(m=question.m, bound=question.bound, lower=question.lower)
    names = ["experiment", "policy", "arms", "m", "bound", "lower", "seed", "budget", "plays", "stopped", "correct"]
    return rows[names].round({"bound": 4, "lower": 4})


def study(runs: int, jobs: int) -> pd.DataFrame:
    parts = []
    for name, (made, policies) in QUESTIONS.items():
        parts.append(run(name, made(), policies, range(runs), BROKEN_OFF, jobs))
        print(table(parts[-1]).to_string(), flush=True)
    for m in HARD:
        parts.append(run(f"Lattimore, m = {m}", fixed_budget(m), REJECTING, range(25 * runs), BUDGET, jobs))
        print(table(parts[-1]).to_string(), flush=True)
    return pd.concat(parts, ignore_index=True)


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return for each instance and policy the error and the plays to stop, beside the bounds."""
    keys = ["experiment", "arms", "m", "bound", "lower", "policy"]
    grouped = rows.assign(error=~rows["correct"].astype(bool)).groupby(keys, sort=False)
    summed = {"runs": ("seed", "size"), "plays": ("plays", "median"), "most": ("plays", "max")}
    return grouped.agg(**summed, stopped=("stopped", "mean"), error=("error", "mean")).reset_index()


def markdown(rows: pd.DataFrame) -> str:
    """Return the tables of the README: plays to stop, then errors at a fixed budget."""
    summed = table(rows)
    stops = summed[summed["experiment"].isin(QUESTIONS)]
    lines = [
        {
            "instance": row["experiment"],
            "arms": row["arms"],
            "hard": row["m"],
            "lower bound": f"{row['lower']:,.1f}" if row["experiment"].startswith("parallel") else "",
            "policy": row["policy"],
            "plays": f"{row['plays']:,.0f}",
            "most": f"{row['most']:,.0f}",
            "upper bound": f"{row['bound']:,.0f}",
            "wrong": f"{row['error'] * row['runs']:.0f}",
        }
        for _, row in stops.iterrows()
    ]
    rest = summed[~summed["experiment"].isin(QUESTIONS)]
    errors = rest.pivot(index="m", columns="policy", values="error")[list(REJECTING)].map("{:.3f}".format)
    errors["bound on Causal SR"] = rest.groupby("m")["bound"].first().map("{:.2g}".format)
    return f"{frame.as_markdown(pd.DataFrame(lines))}\n\n{frame.as_markdown(errors.reset_index())}"


if __name__ == "__main__":
    frame.main(__doc__, study=study, table=table, markdown=markdown, runs=20)
