"""How often an interval of a reward that is a number ever fails, at looks that are set beforehand.

    python benchmarks/coverage_measured.py --runs 500 --rows data/results/coverage_measured.csv

Three networks whose reward is drawn in minutes around the value of its state: one of the two ends of the range, Beta,
or normal and cut off at the ends. Intervals are in minutes, as a user is shown them; a path fails where the expected
reward of some arm leaves its interval at some look. Nominal error .1 for all arms together.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from frame import as_markdown, main
from joblib import Parallel, delayed

from pgcpe import (
    Action,
    AdmissibleSequence,
    CausalBandit,
    EmpiricalMeans,
    Estimator,
    PooledTrees,
    RewardNoise,
    SimulatedEnvironment,
    do,
    interventions,
    load_network,
)

DATA = Path(__file__).parent.parent / "data"

RANGE, DELTA, PLAYS = (-20.0, 100.0), 0.1, 500
LOOKS = np.unique(np.geomspace(4, PLAYS, 40).round().astype(int))

NOISES = {
    "two ends": {"kind": "two-point"},
    "Beta": {"kind": "beta", "spread": 0.1},
    "cut off": {"kind": "censored", "spread": 0.4},
}
MODELS: dict[str, tuple[Any, tuple[str, ...], str, dict[str, float], list[str]]] = {
    "cancer": ("cancer", (), "Dyspnoea", {"True": 75.0, "False": 10.0}, ["Smoker", "Cancer"]),
    "survey": ("survey", (), "T", {"car": 0.0, "train": 40.0, "other": 85.0}, ["E", "R"]),
    "two visits": (
        DATA / "two_visits.bif",
        ("frailty", "adherence"),
        "recovered",
        {"yes": 10.0, "no": 75.0},
        ["drug1", "drug2"],
    ),
}
"""Network, latents, reward, the values of its states, and what is set."""

ESTIMATORS: dict[str, Estimator] = {
    "own plays": EmpiricalMeans(),
    "observation": AdmissibleSequence(refresh=1),
    "pooled trees": PooledTrees(refresh=1),
}


def question(model: str, noise: str) -> tuple[CausalBandit, SimulatedEnvironment]:
    """Return the question of a model with a measured reward, of which less is better but in one."""
    source, latents, reward, values, variables = MODELS[model]
    network = load_network(source, latents=latents)
    drawn = RewardNoise(reward, RANGE, values=values, **NOISES[noise])
    arms = interventions(network, reward=reward, variables=variables, size=2, null=False)
    bandit = CausalBandit(network, reward=reward, arms=arms, reward_range=RANGE, minimise=model != "survey")
    return bandit, SimulatedEnvironment(network, seed=None, reward_noise=drawn)


def path(
    bandit: CausalBandit, environment: SimulatedEnvironment, estimator: Estimator, truth: Any, seed: int
) -> tuple[bool, float]:
    """Return whether an interval fails on one path, and their mean width after all plays, in the user's unit."""
    turn: tuple[Action, ...] = bandit.arms
    if isinstance(estimator, AdmissibleSequence):
        turn = (do(),)
    elif isinstance(estimator, PooledTrees):
        turn = (do(), *bandit.arms)
    actions = [turn[i % len(turn)] for i in range(PLAYS)]
    level = DELTA / estimator.start(bandit).n_events_
    told = bandit.encode(environment.reseeded(seed).perform(actions))
    done, failed, width = 0, False, 0.0
    for look in LOOKS.tolist():
        found = estimator.update(told.rows(slice(done, look))).intervals(level)
        lower, upper = bandit.reward_scale.ends(found.lower, found.upper)
        failed |= bool(np.any(lower > truth) or np.any(upper < truth))
        done, width = look, float((upper - lower).mean())
    return failed, width


def row(model: str, noise: str, name: str, paths: int, seed: int) -> dict[str, Any]:
    """Return how many of the paths of a setting failed."""
    bandit, environment = question(model, noise)
    truth = environment.expected_rewards(bandit).to_numpy()
    found = [path(bandit, environment, ESTIMATORS[name], truth, seed + k) for k in range(paths)]
    failed = sum(one for one, _ in found)
    return {
        "model": model,
        "arms": len(bandit.arms),
        "reward": noise,
        "intervals": name,
        "nominal": DELTA,
        "plays": PLAYS,
        "looks": len(LOOKS),
        "paths": paths,
        "seed": seed,
        "failed": failed,
        "share": failed / paths,
        "width": round(float(np.mean([width for _, width in found])), 3),
    }


def study(runs: int, jobs: int) -> pd.DataFrame:
    """Return the rows of all settings."""
    settings = [(model, noise, name, runs, 0) for model in MODELS for noise in NOISES for name in ESTIMATORS]
    return pd.DataFrame(Parallel(n_jobs=jobs)(delayed(row)(*setting) for setting in settings))


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the share of failed paths and the mean width at the end, a line for each model and distribution."""
    lines = []
    for (model, noise), some in rows.groupby(["model", "reward"], sort=False):
        line = {"model": model, "reward": noise}
        for one in some.itertuples(index=False):
            line[one.intervals] = f"{one.share:.3f} (width {one.width:.1f})"
        lines.append(line)
    return pd.DataFrame(lines)


def markdown(rows: pd.DataFrame) -> str:
    """Return the table of the README."""
    return as_markdown(table(rows))


if __name__ == "__main__":
    main(__doc__, study=study, table=table, markdown=markdown, runs=500)
