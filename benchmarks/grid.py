"""The factors of the radii, found by grid search over .05, .1, ..., 1 as in the paper, beside those that it reports.

    python benchmarks/grid.py --runs 30 --rows data/results/grid.csv

Mean error at 150, 300 and 450 plays, which are 50, 100 and 150 iterations of CCPE. Of CCPE-BGLM, whose fits are slow,
one factor is searched at a time, the other at the paper's value, and with half the runs. epsilon = 0, delta = .1.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import frame
import pandas as pd

from pgcpe import BGLM, CCPE, LUCB, AdmissibleSequence, CausalBandit, EmpiricalMeans, LilUCB, Policy
from pgcpe.experiments import ALPHAS, grid_search
from pgcpe.paper.figures import FIGURES

BUDGETS = (150, 300, 450)

FIXED: dict[str, Any] = {"epsilon": 0.0, "delta": 0.1}


def general(bandit: CausalBandit, *, alpha_O: float, alpha_I: float, seed: Any) -> Policy:
    """CCPE-General with the paper's radii."""
    direct = EmpiricalMeans("paper", alpha_I)
    return CCPE(bandit, estimator=AdmissibleSequence("paper", alpha_O), direct=direct, seed=seed, **FIXED)


def linear(bandit: CausalBandit, *, alpha_O: float, alpha_I: float, seed: Any) -> Policy:
    """CCPE-BGLM as in figure 1, fitted every 50 iterations."""
    model = BGLM("identity", method="estimating_equation", radius="ell", alpha=alpha_O, eta=0.3, kappa=1.0, refresh=150)
    return CCPE(bandit, estimator=model, direct=EmpiricalMeans("paper", alpha_I), seed=seed, **FIXED)


LUCB1 = partial(LUCB, radius="lucb1", **FIXED)
LIL = partial(LilUCB, delta=0.1)
BOTH = {"alpha_O": ALPHAS, "alpha_I": ALPHAS}

SEARCHES: list[tuple[str, str, Any, dict[str, Any], str, int]] = [
    ("1", "LUCB1", LUCB1, {"alpha": ALPHAS}, ".3", 1),
    ("1", "lil'UCB", LIL, {"alpha": ALPHAS}, ".3", 1),
    ("1", "CCPE-BGLM, alpha_O", linear, {"alpha_O": ALPHAS, "alpha_I": [0.4]}, ".05, .4", 2),
    ("1", "CCPE-BGLM, alpha_I", linear, {"alpha_O": [0.05], "alpha_I": ALPHAS}, ".05, .4", 2),
    ("2", "LUCB1", LUCB1, {"alpha": ALPHAS}, ".3", 1),
    ("2", "lil'UCB", LIL, {"alpha": ALPHAS}, ".3", 1),
    ("2", "CCPE-General", general, BOTH, ".25, .4", 1),
    ("3b", "LUCB1", LUCB1, {"alpha": ALPHAS}, ".25", 1),
    ("3b", "lil'UCB", LIL, {"alpha": ALPHAS}, ".25", 1),
    ("3b", "CCPE-General", general, BOTH, ".3, .4", 1),
]
"""Figure, policy, maker, grid, what the paper found, and by how much fewer runs."""


def study(runs: int, jobs: int) -> pd.DataFrame:
    parts = []
    for figure, policy, make, grid, paper, fewer in SEARCHES:
        part = FIGURES[figure].parts[0]
        found = grid_search(
            make, part.instance, grid, seeds=range(runs // fewer), budgets=BUDGETS, cuts=BUDGETS, n_jobs=jobs
        )
        found.insert(0, "experiment", part.name)
        found.insert(1, "policy", policy)
        parts.append(found.assign(paper=paper))
        print(found.head(3).to_string(), flush=True)
    rows = pd.concat(parts, ignore_index=True)
    errors = [name for name in rows if name.startswith("error")]
    return rows.round(dict.fromkeys(errors, 4))[
        ["experiment", "policy", "alpha", "alpha_O", "alpha_I", *errors, "runs", "paper"]
    ]


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return for each search the best factors and those of the paper, with their mean errors."""
    lines = []
    for (experiment, policy), mine in rows.groupby(["experiment", "policy"], sort=False):
        names = [name for name in ("alpha", "alpha_O", "alpha_I") if not _missing(mine[name]).any()]
        settings = mine[names].astype(float).to_numpy().tolist()
        reported = [float(value) for value in mine["paper"].astype(str).iloc[0].split(", ")]
        best, paper = mine.iloc[0], mine.iloc[settings.index(reported)]
        # as good as the best: within twice the standard error of the difference of two shares of so many runs
        noise = 2.0 * (2.0 * best["error"] * (1.0 - best["error"]) / (3.0 * best["runs"])) ** 0.5
        alike = int((mine["error"] <= best["error"] + noise).sum())
        lines.append(
            {"experiment": experiment, "policy": policy, "runs": best["runs"], "best": _text(settings[0])}
            | {"error": best["error"], "as good": f"{alike} of {len(mine)}"}
            | {"paper": _text(reported), "its error": paper["error"]}
        )
    return pd.DataFrame(lines)


def _missing(column: pd.Series) -> pd.Series:
    return column.isna() | (column.astype(str) == "")


def _text(factors: list[float]) -> str:
    return ", ".join(f"{value:g}".removeprefix("0") for value in factors)


def markdown(rows: pd.DataFrame) -> str:
    """Return the table of the README."""
    summed = table(rows)
    return frame.as_markdown(summed.map(lambda value: f"{value:.3f}" if isinstance(value, float) else value))


if __name__ == "__main__":
    frame.main(__doc__, study=study, table=table, markdown=markdown, runs=30)
