"""Wrong answers of a comparison that is looked at after every play: plain confidence intervals beside `PooledCCPE`.

    python benchmarks/looks.py --runs 200 --rows data/results/looks.csv.gz

Two drugs, one better than the other by `GAPS`; severity bears on recovery and, where nobody intervenes, on who gets
which. The plain way plays them in turn, looks after every play once each has had ten, and stops when the 95 %
confidence interval of the difference, 1.96 standard errors either way, does not hold 0. `PooledCCPE` is asked for the
best arm with epsilon = 0, delta = .05, which is as often as the plain interval is said to err. A run is wrong when it
stopped for the worse drug.

    python benchmarks/looks.py --redraw data/results/looks.csv.gz --figure docs/figures/looks.png
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import frame
import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from pgmpy.models import DiscreteBayesianNetwork
from tqdm.auto import tqdm

from pgcpe import CausalBandit, PooledCCPE, SimulatedEnvironment, do
from pgcpe.paper.instances import binary_network

GAPS = (0.025, 0.05, 0.1, 0.2)
DELTA, BUDGET, FIRST_LOOK, Z = 0.05, 100_000, 10, 1.96
PLAIN, OURS = "plain 95 % intervals", "PooledCCPE, exact"
ARMS = [do(drug=0), do(drug=1)]


def trial(gap: float) -> tuple[DiscreteBayesianNetwork, CausalBandit]:
    """Return a network in which do(drug=1) is better than do(drug=0) by the gap, around one half, and the question."""
    network = binary_network(
        {
            "severity": ([], lambda: 0.5),
            "drug": (["severity"], lambda severe: 0.7 if severe else 0.3),
            "recovered": (["severity", "drug"], lambda severe, drug: 0.65 - 0.3 * severe + gap * (drug - 0.5)),
        }
    )
    return network, CausalBandit(network, reward="recovered", arms=ARMS)


def plain(gap: float, seed: int) -> dict[str, Any]:
    """Play in turn and look at the plain interval of the difference after every play; return where that stops."""
    network, _ = trial(gap)
    environment = SimulatedEnvironment(network, seed=seed)
    worse, better = (
        environment.sample(arm, BUDGET // 2).to_frame()["recovered"].to_numpy(dtype=np.float64) for arm in ARMS
    )
    plays = np.arange(2 * FIRST_LOOK, BUDGET + 1)
    n = np.stack([(plays + 1) // 2, plays // 2])
    mean = np.stack([np.cumsum(some)[count - 1] / count for some, count in zip((worse, better), n, strict=True)])
    difference, se = mean[1] - mean[0], np.sqrt((mean * (1.0 - mean) / n).sum(axis=0))
    stops = np.abs(difference) > Z * se
    first = int(stops.argmax())
    return {
        "policy": PLAIN,
        "gap": gap,
        "seed": seed,
        "plays": int(plays[first]) if stops.any() else BUDGET,
        "stopped": bool(stops.any()),
        "wrong": bool(stops.any() and difference[first] < 0),
    }


def ours(gap: float, seed: int) -> dict[str, Any]:
    """Run `PooledCCPE` on the same question."""
    network, bandit = trial(gap)
    policy = PooledCCPE(bandit, epsilon=0.0, delta=DELTA, seed=seed)
    result = policy.run(SimulatedEnvironment(network, seed=seed), budget=BUDGET, progress=False)
    return {
        "policy": OURS,
        "gap": gap,
        "seed": seed,
        "plays": result.n_plays,
        "stopped": result.stopped,
        "wrong": result.stopped and result.recommendation == ARMS[0],
    }


def study(runs: int, jobs: int) -> pd.DataFrame:
    """Return a row for each way, gap and seed; there are five times as many of the plain way, which costs little."""
    work = [delayed(plain)(gap, seed) for gap in GAPS for seed in range(5 * runs)]
    work += [delayed(ours)(gap, seed) for gap in GAPS for seed in range(runs)]
    return pd.DataFrame(tqdm(Parallel(n_jobs=jobs, return_as="generator")(work), total=len(work), disable=None))


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return for each way and gap the runs, how many stopped, the share of them all that was wrong, median plays."""
    grouped = rows.groupby(["policy", "gap"], sort=False)
    return grouped.agg(
        runs=("seed", "size"), stopped=("stopped", "sum"), wrong=("wrong", "mean"), plays=("plays", "median")
    ).reset_index()


def markdown(rows: pd.DataFrame) -> str:
    """Return the table of the documentation."""
    summed = table(rows)
    shown = {
        "policy": summed["policy"],
        "gap": summed["gap"].map("{:g}".format),
        "runs": summed["runs"].map("{:,}".format),
        "stopped": summed["stopped"].map("{:,}".format),
        "wrong": summed["wrong"].map("{:.3f}".format),
        "median plays": summed["plays"].map("{:,.0f}".format),
    }
    return frame.as_markdown(pd.DataFrame(shown))


def draw(rows: pd.DataFrame) -> Any:
    """Return the figure: wrong answers and plays to stop by the gap."""
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for (name, some), marker, line, colour in zip(
        table(rows).groupby("policy", sort=False), "so", ("--", "-"), ("tab:orange", "tab:blue"), strict=True
    ):
        style = {"marker": marker, "linestyle": line, "color": colour, "label": name}
        left.plot(some["gap"], 100 * some["wrong"], **style)
        right.plot(some["gap"], some["plays"], **style)
    left.axhline(100 * DELTA, color="black", linewidth=1, linestyle=":")
    left.annotate("what both are said to keep: 5 %", (min(GAPS), 100 * DELTA), ha="left", va="bottom", fontsize=8)
    left.set(ylabel="stopped for the worse drug, % of runs", ylim=(-1, None))
    right.set(ylabel="median plays to stop", yscale="log")
    for ax in (left, right):
        ax.set(xscale="log", xlabel="how much better the better drug is", xticks=GAPS, xticklabels=GAPS)
        ax.minorticks_off()
        ax.spines[["top", "right"]].set_visible(False)
    right.legend(frameon=False, fontsize=9)
    return figure


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(add_help=False)
    arguments.add_argument("--figure", type=Path)
    found, _ = arguments.parse_known_args()
    if found.figure:
        draw(frame.read(Path("data/results/looks.csv.gz"))).savefig(found.figure, dpi=110)
    else:
        frame.main(__doc__, study=study, table=table, markdown=markdown, runs=200)
