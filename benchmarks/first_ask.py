"""Time and memory from a file to the first ask: every question and policy in a fresh process, its imports included.

``python benchmarks/first_ask.py --limit 300`` prints a table; what took longer than the limit did not finish.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from frame import as_markdown


class Question(NamedTuple):
    """A network by name or file, the reward, the state that counts 1, and which interventions are listed."""

    network: str
    reward: str
    good: str
    arms: dict[str, Any]
    latents: tuple[str, ...] = ()
    merge: bool = True


def questions(large: Path) -> dict[str, Question]:
    """Return the questions by name; that of 100,000 arms is about the network in a file."""
    from large import LATENTS, REWARD, SETTABLE

    many = Question(str(large), REWARD, "1", {"variables": SETTABLE, "max_size": 3}, LATENTS)
    return {
        "alarm": Question("alarm", "BP", "NORMAL", {"max_size": 2}),
        "win95pts": Question("win95pts", "Problem1", "Normal_Output", {"max_size": 2}),
        "100,000": many,
        "100,000 apart": many._replace(merge=False),
    }


def first_ask(question: Question, policy: str) -> dict[str, Any]:
    """Return the seconds of CPU of every stage, and the most memory that the process had.

    For the policy ``"none"``: what the actions and the bandit hold, in bytes for each listed arm.
    """
    seconds = {}

    def done(stage: str) -> None:
        seconds[stage] = time.process_time() - sum(seconds.values())

    import pgcpe
    from pgcpe import CausalBandit, interventions

    done("import")
    network = pgcpe.load_network(question.network, latents=question.latents)
    done("load")
    if policy == "none":
        tracemalloc.start()
    arms = interventions(network, reward=question.reward, **question.arms)
    done("interventions")
    values = {s: float(s == question.good) for s in network.get_cpds(question.reward).state_names[question.reward]}
    bandit = CausalBandit(network, reward=question.reward, reward_values=values, arms=arms, merge_equal=question.merge)
    done("bandit")
    _ = bandit.required
    done("identified")
    if policy == "none":
        return {"bytes an arm": tracemalloc.get_traced_memory()[0] / len(arms)}
    asked = getattr(pgcpe, policy)(bandit)
    done("construct")
    asked.ask()
    done("ask")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # kilobytes on Linux
    return {"listed": len(bandit.listed), "arms": len(bandit.arms), **seconds, "peak MB": peak}


def in_a_process(question: Question, policy: str, limit: float) -> dict[str, Any]:
    """Return what `first_ask` does in a process of its own, or that it did not finish."""
    command = [sys.executable, "-W", "ignore", __file__, "--one", json.dumps([question, policy])]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=True).stdout
    except subprocess.TimeoutExpired:
        return {"total": f"over {limit:g} s"}
    row = json.loads(said)
    if policy == "none":
        return {name: f"{value:.0f}" for name, value in row.items()}
    counts = {name: f"{row.pop(name):,.0f}" for name in ("listed", "arms", "peak MB")}
    return {**counts, "total": f"{sum(row.values()):.2f}", **{stage: f"{s:.2f}" for stage, s in row.items()}}


def main() -> None:
    """Print the table, or the figures of one question."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one question, default %(default)g")
    parser.add_argument("--policies", nargs="+", default=["none", "LUCB", "PooledCCPE"])
    parser.add_argument("--questions", nargs="+", help="by name, default all")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        question, policy = json.loads(arguments.one)
        print(json.dumps(first_ask(Question(*question), policy)))
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "large.bif"
        write_large(file)
        asked = questions(file)
        rows = [
            {"question": name, "policy": policy} | in_a_process(asked[name], policy, arguments.limit)
            for policy in arguments.policies
            for name in arguments.questions or asked
        ]
    print(as_markdown(pd.DataFrame(rows).fillna("")))


def write_large(file: Path) -> None:
    """Write the network of 50 variables to a BIF file."""
    from large import large_network
    from pgmpy.readwrite import BIFWriter

    BIFWriter(large_network()).write(str(file))


if __name__ == "__main__":
    main()
