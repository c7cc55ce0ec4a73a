"""What the test of the graph inside `PooledCCPE` costs: CPU of a play, and plays to stop.

    python benchmarks/graph_cost.py --rows data/results/graph_cost.csv

cpu: microseconds a play of ask, perform and tell together, from the first play to the 500th, the 2,000th and to the
stop at epsilon = 0, and how many of them the test takes; of three repeats the cheapest. *alarm*: all interventions on
up to one variable, 1,817 statements. plays: to the stop at epsilon = .1, delta = .05, with the same seeds: without the
test, with it, and with members of merged classes played before a certificate. A run is broken off after 20,000 plays.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import frame
import pandas as pd
from joblib import Parallel, delayed
from plays import Question, paper, shipped

from pgcpe import CausalBandit, PooledCCPE, SimulatedEnvironment, interventions, load_network
from pgcpe.paper import experiment_2

EDGES, REPEATS, MOST = (500, 2000, 8000), 3, 20_000


def alarm() -> Question:
    """Return the question about all interventions on up to one variable of alarm."""
    network = load_network("alarm")
    states = network.get_cpds("BP").state_names["BP"]
    values = {state: float(state == "NORMAL") for state in states}
    arms = interventions(network, reward="BP", max_size=1)
    return Question(network, CausalBandit(network, reward="BP", reward_values=values, arms=arms))


QUESTIONS: dict[str, Callable[[], Question]] = {
    "Experiment 2": partial(paper, experiment_2),
    "asia": partial(shipped, "asia", "dysp", "no"),
    "alarm": alarm,
}

POLICIES: dict[str, dict[str, Any]] = {
    "exact": {},
    "exact, graph tested, members 0": {"check_graph": True, "check_members": 0},
    "exact, graph tested, members 20": {"check_graph": True},
    "asymptotic": {"guarantee": "asymptotic"},
    "asymptotic, graph tested, members 0": {"guarantee": "asymptotic", "check_graph": True, "check_members": 0},
    "asymptotic, graph tested, members 20": {"guarantee": "asymptotic", "check_graph": True},
}


def timed(question: Question, most: int) -> tuple[int, float, float]:
    """Return the plays to the stop, at most so many, the CPU time of all and that of the test, in seconds."""
    policy, environment = PooledCCPE(question.bandit, check_graph=True, epsilon=0.0), question.environment()
    look, spent = policy._watch.look, [0.0]

    def watched(told: Any) -> bool:
        start = time.process_time()
        found = look(told)
        spent[0] += time.process_time() - start
        return found

    policy._watch.look = watched
    start = time.process_time()
    while policy.n_plays < most and not policy.stopped:
        actions = policy.ask()
        policy.tell(actions, environment.perform(actions))
    return policy.n_plays, time.process_time() - start, spent[0]


def cpu(name: str) -> list[dict[str, Any]]:
    """Return a row for each number of plays."""
    question, rows = QUESTIONS[name](), []
    timed(question, 100)  # compiles
    for most in EDGES:
        n, all_, test = min((timed(question, most) for _ in range(REPEATS)), key=lambda found: found[1])
        us = {"us": round(all_ / n * 1e6, 1), "test_us": round(test / n * 1e6, 1)}
        rows.append({"study": "cpu", "question": name, "policy": "exact, epsilon 0", "seed": 0, "plays": n, **us})
    return rows


def plays(name: str, seed: int) -> list[dict[str, Any]]:
    """Return a row for each policy."""
    question, rows = QUESTIONS[name](), []
    for policy, options in POLICIES.items():
        made = PooledCCPE(question.bandit, epsilon=0.1, seed=seed, **options)
        result = made.run(SimulatedEnvironment(question.network, seed=seed), budget=MOST, progress=False)
        row = {"study": "plays", "question": name, "policy": policy, "seed": seed, "plays": result.n_plays}
        rows.append(row | {"us": "", "test_us": ""})
    return rows


def study(runs: int, jobs: int) -> pd.DataFrame:
    """Return the rows of both."""
    warnings.filterwarnings("ignore", message="the graph is")
    rows = [row for name in QUESTIONS for row in cpu(name)]
    work = [(name, seed) for name in ("asia", "Experiment 2") for seed in range(runs)]
    found = Parallel(n_jobs=jobs)(delayed(plays)(*one) for one in work)
    return pd.DataFrame([*rows, *(row for some in found for row in some)])


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return what a play costs, and the test of it."""
    some = rows[rows["study"] == "cpu"].astype({"us": float, "test_us": float})
    share = (some["test_us"] / some["us"]).map("{:.3f}".format)
    return pd.DataFrame(
        {
            "question": some["question"],
            "plays": some["plays"].map("{:,}".format),
            "us a play": some["us"].map("{:.0f}".format),
            "of it the test": some["test_us"].map("{:.0f}".format),
            "share": share,
        }
    )


def table_of_plays(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the plays to the stop of each policy, and in all beside the one without the test."""
    lines, some = [], rows[rows["study"] == "plays"]
    for (question, policy), own in some.groupby(["question", "policy"], sort=False):
        plain = some[(some["question"] == question) & (some["policy"] == policy.split(",")[0])]
        lines.append(
            {
                "question": question,
                "policy": policy,
                "runs": f"{len(own)}",
                "median plays": f"{own['plays'].median():,.0f}",
                "plays in all": f"{own['plays'].sum() / plain['plays'].sum():.3f}",
            }
        )
    return pd.DataFrame(lines)


def markdown(rows: pd.DataFrame) -> str:
    """Return the tables of the README."""
    return "\n\n".join(frame.as_markdown(some) for some in (table(rows), table_of_plays(rows)))


if __name__ == "__main__":
    frame.main(__doc__, study=study, table=table, markdown=markdown, runs=8)
