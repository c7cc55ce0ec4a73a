"""Cost of BGLM: a refit after a thousand and after a million plays, and all expected rewards of Experiment 1 at once.

python benchmarks/bglm.py --repeats 20
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from pgmpy.inference import VariableElimination
from tqdm.auto import tqdm

from pgcpe import BGLM, do
from pgcpe.models.links import LINKS
from pgcpe.paper import experiment_1


def milliseconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e3


def refits(repeats: int) -> pd.DataFrame:
    """Return the time to tell one more play and fit again, by the number of plays told before."""
    instance = experiment_1(0)
    few, many = 1_000, 1_000_000
    rows = []
    for link in LINKS:
        models = {}
        for n in (few, many):
            samples = instance.environment(0).sample(do(), n)
            models[n] = BGLM(link).fit(instance.network, samples.rows(slice(0, few)))
            for start in range(few, n, 100_000):
                models[n].partial_fit(samples.rows(slice(start, min(start + 100_000, n))))
        one = instance.environment(1).sample(do(), 1)
        times = np.array(
            [
                [milliseconds(partial(models[n].partial_fit, one)) for n in (few, many)]
                for _ in tqdm(range(repeats), link, leave=False)
            ]
        )
        rows.append(
            {
                "link": link,
                "after 1,000 plays, ms": np.median(times[:, 0]),
                "after 1,000,000, ms": np.median(times[:, 1]),
                "ratio": np.median(times[:, 1] / times[:, 0]),
            }
        )
    return pd.DataFrame(rows)


def rewards(repeats: int) -> pd.DataFrame:
    """Return the time of sigma for all 56 arms in one call, beside pgmpy's variable elimination arm by arm."""
    instance = experiment_1(0, merge_equal=False)
    bandit = instance.bandit
    rows = []
    for link in LINKS:
        model = BGLM(link).fit(instance.network, instance.environment(0).sample(do(), 100_000))
        equations = model._equations
        sigma = equations.sigma(bandit.canonical, "Y", 20_000)
        fitted = model.to_network()
        engines = {arm: VariableElimination(fitted.do(list(arm))) for arm in bandit.canonical}

        def ours(sigma: Any = sigma, theta: Any = equations.theta) -> Any:
            return sigma(theta)

        def theirs(engines: Any = engines) -> Any:
            return np.array(
                [e.query(["Y"], evidence=dict(arm), show_progress=False).values[1] for arm, e in engines.items()]
            )

        by_arm = dict(zip(engines, theirs(), strict=True))
        difference = abs(ours() - np.array([by_arm[arm] for arm in bandit.canonical])).max()
        times = np.array([[milliseconds(ours), milliseconds(theirs)] for _ in tqdm(range(repeats), link, leave=False)])
        rows.append(
            {
                "link": link,
                "56 arms at once, ms": np.median(times[:, 0]),
                "different arms": len(engines),
                "pgmpy, arm by arm, ms": np.median(times[:, 1]),
                "ratio": np.median(times[:, 1] / times[:, 0]),
                "largest difference": difference,
            }
        )
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=20)
    arguments = parser.parse_args()
    for table in (refits(arguments.repeats), rewards(arguments.repeats)):
        print(table.to_string(index=False, float_format="{:.3g}".format), end="\n\n")


if __name__ == "__main__":
    main()
