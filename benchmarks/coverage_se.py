"""How often the true expected reward lies within 1.96 standard errors of the estimate, from passive observations.

    python benchmarks/coverage_se.py --runs 200 --rows data/results/coverage_se.csv

Eight small questions, E[Y | do(X=1)] where Z causes X and Y and X causes Y: an easy one, and ones where something is
rare or the strata of Z are many. `complete` is the share of data sets in which every stratum has a row with X = 1:
elsewhere the standard error holds what a stratum without rows may be off by.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from frame import main
from joblib import Parallel, delayed
from numpy.typing import NDArray
from pgmpy.base import DAG

from pgcpe import BGLM, AdmissibleSequence, do

SIZES = (50, 200, 1_000)
GRAPH = DAG([("Z", "X"), ("Z", "Y"), ("X", "Y")])
Floats = NDArray[np.float64]


class Instance(NamedTuple):
    """P(Z = z), P(X = 1 | z) and P(Y = 1 | z, X = 0 and 1), arrays over z."""

    z: Floats
    x: Floats
    y: Floats
    logistic: bool = False

    @property
    def truth(self) -> float:
        """E[Y | do(X=1)]."""
        return float(self.z @ self.y[:, 1])

    def draw(self, n: int, rng: np.random.Generator) -> pd.DataFrame:
        """Return passive observations."""
        z = rng.choice(len(self.z), size=n, p=self.z)
        x = (rng.random(n) < self.x[z]).astype(int)
        y = (rng.random(n) < self.y[z, x]).astype(int)
        return pd.DataFrame({"Z": z, "X": x, "Y": y})


def _binary(z: float, x: tuple[float, float], y: tuple[tuple[float, float], tuple[float, float]]) -> Instance:
    return Instance(np.array([1 - z, z]), np.array(x), np.array(y))


def _strata(n: int, x: float, reward: float) -> Instance:
    """Strata of equal size; the chance of a reward grows over them from half of `reward` to one and a half."""
    share = np.linspace(0.5, 1.5, n) * reward
    return Instance(np.full(n, 1.0 / n), np.full(n, x), np.column_stack([share, share]))


def _logistic() -> Instance:
    rows = -1.0 + np.array([[0.0, 1.2], [0.8, 2.0]])
    return Instance(np.array([0.6, 0.4]), 1 / (1 + np.exp([1.0, -0.5])), 1 / (1 + np.exp(-rows)), logistic=True)


EASY = ((0.2, 0.5), (0.4, 0.7))
INSTANCES = {
    "binary Z": _binary(0.4, (0.3, 0.6), EASY),
    "P(Z=1)=.03": _binary(0.03, (0.3, 0.6), EASY),
    "P(X=1)=.02": _binary(0.4, (0.02, 0.02), EASY),
    "reward .01": _binary(0.4, (0.3, 0.6), ((0.01, 0.01), (0.01, 0.01))),
    "P(X=1 given Z=1)=.02": _binary(0.4, (0.5, 0.02), EASY),
    "8 strata, reward .1": _strata(8, 0.5, 0.1),
    "32 strata, reward .05": _strata(32, 0.2, 0.05),
    "BGLM(logit)": _logistic(),
}


def estimate(name: str, n: int, seed: int) -> dict[str, float | bool]:
    """Return one estimate, whether it covers the truth, and whether every stratum has a row of X = 1."""
    instance = INSTANCES[name]
    frame = instance.draw(n, np.random.default_rng([seed, n, list(INSTANCES).index(name)]))
    model = BGLM("logit") if instance.logistic else AdmissibleSequence()
    states = {"Z": tuple(range(len(instance.z)))}
    value, se = model.fit(GRAPH, frame, states=states).expected_reward(do(X=1), "Y")
    treated = frame.loc[frame["X"] == 1, "Z"].nunique()
    return {
        "value": value,
        "covered": abs(value - instance.truth) <= 1.96 * se,
        "complete": treated == len(instance.z),
    }


def cell(name: str, n: int, runs: int, jobs: int) -> dict[str, object]:
    """Return the row of a question and size."""
    found = pd.DataFrame(Parallel(jobs)(delayed(estimate)(name, n, seed) for seed in range(runs)))
    complete = found["complete"].to_numpy()
    return {
        "instance": name,
        "observations": n,
        "runs": runs,
        "truth": INSTANCES[name].truth,
        "mean": found["value"].mean(),
        "covered": int(found["covered"].sum()),
        "complete": int(complete.sum()),
        "covered_complete": int(found["covered"].to_numpy()[complete].sum()),
    }


def study(runs: int, jobs: int) -> pd.DataFrame:
    """Return a row for each question and size."""
    return pd.DataFrame([cell(name, n, runs, jobs) for name in INSTANCES for n in SIZES])


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the coverage of each question and size."""
    return rows.assign(coverage=rows["covered"] / rows["runs"], complete=rows["complete"] / rows["runs"]).drop(
        columns=["covered", "covered_complete"]
    )


def markdown(rows: pd.DataFrame) -> str:
    """Return the table of the README: coverage at each size."""
    shares = rows.assign(coverage=rows["covered"] / rows["runs"])
    cells = shares.pivot(index="instance", columns="observations", values="coverage").loc[list(INSTANCES)]
    return str(cells.to_markdown(floatfmt=".3f"))


if __name__ == "__main__":
    main(__doc__, study=study, table=table, markdown=markdown, runs=200)
