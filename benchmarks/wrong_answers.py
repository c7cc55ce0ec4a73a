"""How often certificates of `PooledCCPE` are wrong: random networks, ties, wrong graphs, a hostile sampler.

    python benchmarks/wrong_answers.py --file data/results/wrong_answers.csv.gz

delta = .1, epsilon = .05. Random networks of 5 to 8 variables (`random_networks.py`), near ties, eighty arms of which
one is better than all others, equal ones, by a little more than epsilon = .2, and networks whose learner lacks one of
the edges or hidden causes, as many as `STUDIES` says. A run is broken off after so many plays as it says, and counts as
wrong when it stopped with a certificate for an arm that is worse than the best of all listed by more than epsilon; what
a wrong graph merged is listed too.

The hostile sampler knows the truth and always plays the row whose estimate is least in favour of one of two equal arms,
once all rows were played none more than eight times as often as another, and observes after every forty plays. That arm
certified counts as wrong: it would be if the other were better by nothing at all. Nominal error .05 at epsilon 0, up to
1,000 plays.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import frame
import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork
from random_networks import near_tie, one_apart, question, random_network, spoiled, values_of
from tqdm.auto import tqdm

from pgcpe import CausalBandit, PooledCCPE, SimulatedEnvironment, do

DELTA, EPSILON = 0.1, 0.05
NEVER = 10**9

DIRECT = "direct, no arms merged"
UNMERGED = ("exact, no arms merged", "asymptotic, no arms merged", DIRECT)
"""All others merge the arms that the learner's graph makes equal."""

TRUSTING: dict[str, Callable[..., PooledCCPE]] = {
    "exact": PooledCCPE,
    "asymptotic": partial(PooledCCPE, guarantee="asymptotic", refresh=NEVER),
}
VARIANTS: dict[str, Callable[..., PooledCCPE]] = {
    **TRUSTING,
    "exact, no arms merged": PooledCCPE,
    "asymptotic, no arms merged": partial(PooledCCPE, guarantee="asymptotic", refresh=NEVER),
    DIRECT: partial(PooledCCPE, guarantee="direct"),
}


class Study(NamedTuple):
    """How many networks a study has, when a run is broken off, what plays, and the tolerance."""

    networks: int
    plays: int
    policies: dict[str, Callable[..., PooledCCPE]]
    epsilon: float = EPSILON


SOUND = {**TRUSTING, DIRECT: VARIANTS[DIRECT]}
"""Whose guarantee holds, at least in the limit, where the graph is right."""

STUDIES: dict[str, Study] = {
    "random networks": Study(2000, 1500, SOUND),
    "near ties": Study(200, 20_000, SOUND),
    "eighty arms, one apart": Study(300, 30_000, SOUND, epsilon=0.2),
    "wrong graphs": Study(200, 3000, VARIANTS),
}

NUMBERS = {"random networks": 0, "near ties": 1, "wrong graphs": 2, "eighty arms, one apart": 3}
"""What the seeds of a study begin with."""

HOSTILE_ROWS, HOSTILE_RUNS, HOSTILE_PLAYS, HOSTILE_DELTA = (4, 8, 16), 200, 1000, 0.05


def posed(study: str, seed: int, *, merge: bool = True) -> tuple[DiscreteBayesianNetwork, CausalBandit]:
    """Return the network of a seed and what is asked of it; with arms that the graph makes equal merged or not."""
    rng = np.random.default_rng(np.random.SeedSequence([NUMBERS[study], seed]))
    if study == "near ties":
        return near_tie(rng, EPSILON)
    if study == "eighty arms, one apart":
        return one_apart(rng, 80, STUDIES[study].epsilon)
    network = random_network(rng)
    return network, question(network, rng, spoiled(network, rng) if study == "wrong graphs" else None, merge=merge)


def run(study: str, seed: int) -> list[dict[str, Any]]:
    """Return a row for each policy."""
    warnings.filterwarnings("ignore", message="the graph is in doubt")
    _, plays, policies, epsilon = STUDIES[study]
    truth = values_of(*posed(study, seed))
    rows = []
    for name, make in policies.items():
        network, bandit = posed(study, seed, merge=name not in UNMERGED)
        policy = make(bandit, epsilon=epsilon, delta=DELTA, seed=seed)
        result = policy.run(SimulatedEnvironment(network, seed=seed), budget=plays, progress=False)
        regret = float(truth.max() - truth[result.recommendation])
        rows.append(
            {
                "study": study,
                "seed": seed,
                "policy": name,
                "variables": len(network.nodes) - len(network.latents),
                "hidden": len(network.latents),
                "arms": len(bandit.arms),
                "plays": result.n_plays,
                "stopped": policy.stopped,
                "certificate": result.certificate or "",
                "regret": round(regret, 6),
                "wrong": result.certificate is not None and regret > epsilon + 1e-9,
                "conflicts": len(result.conflicts),
            }
        )
    return rows


def hostile_network(rows: int) -> DiscreteBayesianNetwork:
    """Return a treatment without effect beside a cause of so many states that the reward has that many rows."""
    states = rows // 2
    network = DiscreteBayesianNetwork([("Z", "Y"), ("X", "Y")])
    network.add_cpds(
        TabularCPD("Z", states, np.full((states, 1), 1.0 / states)),
        TabularCPD("X", 2, [[0.5], [0.5]]),
        TabularCPD("Y", 2, np.full((2, rows), 0.5), evidence=["X", "Z"], evidence_card=[2, states]),
    )
    return network


def hostile(rows: int, seed: int) -> dict[str, Any]:
    """Return whether a sampler that looks for a wrong answer finds one."""
    network = hostile_network(rows)
    cells = [do(X=x, Z=z) for x in (0, 1) for z in range(rows // 2)]
    bandit = CausalBandit(network, reward="Y", arms=[do(X=0), do(X=1)], playable=[do(), *cells], merge_equal=False)
    policy = PooledCCPE(bandit, guarantee="asymptotic", refresh=NEVER, epsilon=0.0, delta=HOSTILE_DELTA, seed=seed)
    environment = SimulatedEnvironment(network, seed=seed)
    n, ones = np.zeros(rows), np.zeros(rows)
    favours = np.repeat([-1.0, 1.0], rows // 2)  # the wrong answer it is after: X = 1 is better
    wrong, turn = False, 0
    while policy.n_plays < HOSTILE_PLAYS and not wrong:
        z = favours * (ones - 0.5 * n) / np.sqrt(np.maximum(n, 1.0))
        allowed = n < 8.0 * max(n.min(), 1.0)
        row = int(np.where(allowed, z, np.inf).argmin())
        actions = [cells[row]] * 4 + ([do()] if turn % 10 == 0 else [])
        samples = environment.perform(actions)
        told = bandit.encode(actions, samples)
        n[row] += 4
        ones[row] += told.codes[:4, -1].sum()
        policy.tell(actions, samples)
        turn += 1
        wrong = policy.stopped and policy.recommendation == do(X=1)
    return {
        "study": "hostile sampler",
        "seed": seed,
        "policy": f"asymptotic, {rows} rows",
        "variables": 3,
        "hidden": 0,
        "arms": 2,
        "plays": policy.n_plays,
        "stopped": policy.stopped,
        "certificate": policy.certificate or "",
        "regret": 0.0,
        "wrong": wrong,
        "conflicts": 0,
    }


def study(jobs: int, file: Path) -> None:
    """Add what the file has not yet, a hundred networks at a time."""
    kept = pd.read_csv(file, keep_default_na=False) if file.exists() else pd.DataFrame({"study": [], "seed": []})
    work: list[tuple[str, list[Any]]] = []
    for name, (networks, *_) in list(STUDIES.items())[::-1]:
        done = set(kept.loc[kept["study"] == name, "seed"])
        left = [seed for seed in range(networks) if seed not in done]
        work += [(name, [delayed(run)(name, s) for s in left[i : i + 100]]) for i in range(0, len(left), 100)]
    if not (kept["study"] == "hostile sampler").any():
        jobs_of = [delayed(hostile)(rows, seed) for rows in HOSTILE_ROWS for seed in range(HOSTILE_RUNS)]
        work.insert(0, ("hostile sampler", jobs_of))
    for name, some in tqdm(work, unit=" hundreds"):
        found = Parallel(n_jobs=jobs)(some)
        rows = found if name == "hostile sampler" else [row for rows in found for row in rows]
        kept = pd.concat([kept, pd.DataFrame(rows)], ignore_index=True)
        kept.to_csv(file, index=False)


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return for each study and policy how often it stopped, was certified, wrong, in conflict; the median plays."""
    rows = rows.assign(certified=rows["certificate"].ne(""), doubted=rows["conflicts"].gt(0))
    grouped = rows.groupby(["study", "policy"], sort=False)
    return grouped.agg(
        runs=("seed", "size"),
        stopped=("stopped", "sum"),
        certified=("certified", "sum"),
        wrong=("wrong", "sum"),
        doubted=("doubted", "sum"),
        plays=("plays", "median"),
    ).reset_index()


def markdown(rows: pd.DataFrame) -> str:
    """Return the table of the README."""
    lines = []
    for row in table(rows).itertuples(index=False):
        share, broken_off = row.wrong / max(row.runs, 1), "> " if row.stopped <= row.runs / 2 else ""
        lines.append(
            {
                "study": row.study,
                "policy": row.policy,
                "runs": f"{row.runs:,}",
                "stopped": f"{row.stopped:,}",
                "certified": f"{row.certified:,}",
                "wrong": f"{row.wrong} ({share:.3f})",
                "with conflicts": row.doubted,
                "median plays": f"{broken_off}{row.plays:,.0f}",
            }
        )
    return frame.as_markdown(pd.DataFrame(lines))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2, help="default %(default)s")
    parser.add_argument("--file", type=Path, required=True, help="CSV file that the rows are kept in")
    parser.add_argument("--markdown", action="store_true", help="print the table of the README from the file")
    arguments = parser.parse_args()
    if not arguments.markdown:
        study(arguments.jobs, arguments.file)
    kept = pd.read_csv(arguments.file, keep_default_na=False)
    print(markdown(kept) if arguments.markdown else table(kept).to_string(index=False))
