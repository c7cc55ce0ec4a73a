"""How often the certificates of the numerical guarantee are wrong, and how its searches end, on small random networks.

    python benchmarks/wrong_numerical.py --rows data/results/wrong_numerical.csv --runs 300

delta = .1, epsilon = .05. Random networks of 5 to 8 variables (`random_networks.py`) without hidden causes and, a third
as many, with some; near ties, two thirds as many, of which the best arm is better than the next by 1.1 epsilon. A run
is broken off after 1,000 plays. It counts as wrong when it stopped with a certificate for an arm that is worse than the
best by more than epsilon. A search is *not trusted* where too few ended well or none confirmed the least value: then it
never certifies, so that it may put off a stop. Seconds are of the processor.
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import frame
import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from random_networks import near_tie, question, random_network, values_of

from pgcpe import CausalBandit, PooledCCPE, SimulatedEnvironment
from pgcpe.models.tilted_search import TiltedNull

DELTA, EPSILON, PLAYS, NEVER = 0.1, 0.05, 1_000, 10**9
SHARES = {"nothing hidden": 1.0, "hidden causes": 1.0 / 3.0, "near ties": 2.0 / 3.0}
"""Of the runs asked for how many each study has."""


def posed(study: str, seed: int) -> tuple[Any, CausalBandit]:
    """Return the network of a seed and what is asked of it: the first drawn that is of the kind."""
    rng = np.random.default_rng(np.random.SeedSequence([18, list(SHARES).index(study), seed]))
    if study == "near ties":
        return near_tie(rng, EPSILON)
    drawn = map(random_network, itertools.repeat(rng))
    network = next(one for one in drawn if bool(one.latents) == (study == "hidden causes"))
    return network, question(network, rng)


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count searches, and those that are not trusted."""
    found: Counter[str] = Counter()
    least = TiltedNull.least

    def search(self: TiltedNull, asked: float) -> tuple[float, Any]:
        value, parameters = least(self, asked)
        found["searches"] += 1
        found["not trusted"] += value == -np.inf
        return value, parameters

    with mock.patch.object(TiltedNull, "least", search):
        yield found


def run(study: str, seed: int) -> dict[str, Any]:
    """Return a row."""
    warnings.filterwarnings("ignore", message="the graph is in doubt")
    network, bandit = posed(study, seed)
    truth = values_of(network, bandit)
    refresh = None if study == "hidden causes" else NEVER  # bounds are part of the rule there
    policy = PooledCCPE(bandit, guarantee="numerical", refresh=refresh, epsilon=EPSILON, delta=DELTA, seed=seed)
    before = time.process_time()
    with counted() as searched:
        result = policy.run(SimulatedEnvironment(network, seed=seed), budget=PLAYS, progress=False)
    regret = float(truth.max() - truth[result.recommendation])
    return {
        "study": study,
        "seed": seed,
        "arms": len(bandit.arms),
        "plays": result.n_plays,
        "certificate": result.certificate or "",
        "regret": round(regret, 6),
        "wrong": result.certificate is not None and regret > EPSILON + 1e-9,
        "searches": searched["searches"],
        "not trusted": searched["not trusted"],
        "seconds": round(time.process_time() - before, 2),
    }


def study(runs: int, jobs: int) -> pd.DataFrame:
    """Return the rows."""
    asked = [(name, seed) for name, share in SHARES.items() for seed in range(round(runs * share))]
    return pd.DataFrame(Parallel(n_jobs=jobs)(delayed(run)(*one) for one in asked))


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a line for each study."""
    lines = []
    for name, mine in rows.groupby("study", sort=False):
        lines.append(
            {
                "study": name,
                "runs": len(mine),
                "certified": int(mine["certificate"].ne("").sum()),
                "wrong": int(mine["wrong"].sum()),
                "median plays": f"{mine['plays'].median():,.0f}",
                "searches": int(mine["searches"].sum()),
                "not trusted": int(mine["not trusted"].sum()),
                "seconds a run": f"{mine['seconds'].median():.1f}",
            }
        )
    return pd.DataFrame(lines)


def markdown(rows: pd.DataFrame) -> str:
    """Return the table of the README."""
    return frame.as_markdown(table(rows).astype(str))


if __name__ == "__main__":
    frame.main(__doc__, study=study, table=table, markdown=markdown, runs=300)
