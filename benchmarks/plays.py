"""CPU time of a play in microseconds: ask, perform and tell together, after so many plays.

    python benchmarks/plays.py --version now --rows data/results/plays.csv

Beside each policy a bare compiled loop of LUCB runs in turn with it, in the same process: the same simulator and the
same intervals on the same arms, with no ask and tell, no checks and no history. Of all repeats the least counts, since
other work on the machine only adds. Rows in the file are kept, but those of the same version, question and policy;
those of an older version come from this script with PYTHONPATH set to a checkout of it. A run ends with the window in
which the policy stops. LUCB1 stands beside that of the package ``best-arm``, where it is installed: on a Bernoulli
bandit with the same expected rewards, since it knows no network.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from frame import as_markdown, write
from numba import njit
from numpy.typing import NDArray
from tqdm.auto import tqdm

from pgcpe import (
    BGLM,
    CCPE,
    LUCB,
    CausalBandit,
    PooledCCPE,
    SimulatedEnvironment,
    TopTwo,
    interventions,
    load_network,
)
from pgcpe.confidence.sequences import refresh_kt
from pgcpe.environment.simulator import _sample
from pgcpe.paper import experiment_1, experiment_2
from pgcpe.policies.loop import AT_ONCE

EDGES = (0, 100, 500, 2_000, 8_000)
"""Where the windows of plays begin and end."""

FIRST = 500
"""The plays that targets are about: the first so many."""

DELTA, SEED = 0.05, 0
LOOP, SIMULATOR, PUBLISHED, PACKAGE = "compiled loop of LUCB", "simulator alone", "LUCB1", "LUCB1 of best-arm"
KEY = ["version", "question", "policy"]
COLUMNS = [*KEY, "arms", "start", "end", "us", "loop_us", "repeats", "stopped"]


class Question(NamedTuple):
    """A network and what is asked about it."""

    network: Any
    bandit: CausalBandit

    def environment(self) -> SimulatedEnvironment:
        """Return a simulator, the same each time."""
        return SimulatedEnvironment(self.network, seed=SEED)


def shipped(name: str, reward: str, good: str) -> Question:
    """Return the question about all interventions on up to two variables of a shipped network."""
    network = load_network(name)
    values = {state: float(state == good) for state in network.get_cpds(reward).state_names[reward]}
    arms = interventions(network, reward=reward, max_size=2)
    return Question(network, CausalBandit(network, reward=reward, reward_values=values, arms=arms))


def paper(make: Callable[[int], Any]) -> Question:
    """Return the question of one of the paper's experiments."""
    made = make(SEED)
    return Question(made.network, made.bandit)


def fifty() -> Question:
    """Return the question about all interventions on up to two of 35 variables of the network of `large`."""
    from large import REWARD, SETTABLE, large_network

    network = large_network(SEED)
    arms = interventions(network, reward=REWARD, variables=SETTABLE, max_size=2)
    return Question(network, CausalBandit(network, reward=REWARD, arms=arms))


QUESTIONS: dict[str, Callable[[], Question]] = {
    "asia": partial(shipped, "asia", "dysp", "no"),
    "Experiment 2": partial(paper, experiment_2),
    "alarm": partial(shipped, "alarm", "BP", "NORMAL"),
    "50 variables": fifty,
    "Experiment 1": partial(paper, experiment_1),
}

FIXED: dict[str, Any] = {"epsilon": 0.0, "delta": DELTA}
POLICIES: dict[str, Callable[[CausalBandit], Any]] = {
    "LUCB": partial(LUCB, **FIXED),
    "TopTwo": partial(TopTwo, **FIXED),
    "CCPE, exact": partial(CCPE, **FIXED),
    "PooledCCPE, exact": partial(PooledCCPE, **FIXED),
    "PooledCCPE, asymptotic": partial(PooledCCPE, guarantee="asymptotic", **FIXED),
    PUBLISHED: partial(LUCB, radius="lucb1", **FIXED),
}
LINEAR: dict[str, Callable[[CausalBandit], Any]] = {
    "PooledCCPE, numerical, BGLM": partial(PooledCCPE, guarantee="numerical", model=BGLM("identity"), **FIXED)
}
"""For Experiment 1, whose model it is."""


def policies_of(name: str) -> list[str]:
    """Return what is measured on a question, by name."""
    if name == "Experiment 1":
        return list(LINEAR)
    return [SIMULATOR, *POLICIES, *([] if name == "50 variables" else [PACKAGE])]  # it needs all expected rewards


# ------------------------------------------------------------------------------------------------------ what is timed


def timed(policy: Any, environment: SimulatedEnvironment, edges: Sequence[int]) -> tuple[list[float], int | None]:
    """Ask, perform and tell; return the CPU time at the edges, and after how many plays the policy stopped.

    Nothing is read beyond the window in which it stops.
    """
    n, stopped = 0, None
    seconds = [time.process_time()]
    for edge in edges[1:]:
        while n < edge:
            actions = policy.ask()[: min(edge - n, AT_ONCE)]
            policy.tell(actions, environment.perform(actions))
            n += len(actions)
            if stopped is None and policy.stopped:
                stopped = n
        seconds.append(time.process_time())
        if stopped is not None:
            break
    return seconds, stopped


def simulator_alone(question: Question, edges: Sequence[int]) -> list[float]:
    """Perform pairs of actions; return the CPU time at the edges."""
    environment, arms = question.environment(), question.bandit.arms
    pairs = itertools.cycle([[arms[i], arms[-1 - i]] for i in range(len(arms))])
    seconds = [time.process_time()]
    for start, end in itertools.pairwise(edges):
        for _ in range(start, end, 2):
            environment.perform(next(pairs))
        seconds.append(time.process_time())
    return seconds


def compiled_loop(question: Question, edges: Sequence[int]) -> list[float]:
    """Play LUCB in a loop that is compiled as a whole; return the CPU time at the edges."""
    arguments = loop_arguments(question)
    seconds = [time.process_time()]
    for start, end in itertools.pairwise(edges):
        lucb_loop(end - start, *arguments)
        seconds.append(time.process_time())
    return seconds


def loop_arguments(question: Question) -> tuple[Any, ...]:
    """Return what `lucb_loop` is given besides the number of plays; the last, what is known, grows with every call."""
    environment, bandit = question.environment(), question.bandit
    rows = environment._forced.rows(bandit.arms)  # lays out the table
    forced = environment._forced.table[rows]
    tables = environment._parents, environment._offset, environment._cumulative, forced, environment._column
    k, reward = len(bandit.arms), environment.coding.variables.index(bandit.reward)
    known = np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(k), np.ones(k)
    return np.random.default_rng(SEED), tables, bandit.reward_array, reward, np.full((2, k), math.log(k / DELTA)), known


@njit  # type: ignore[untyped-decorator]
def lucb_loop(n, rng, tables, worth, reward, nats, known):  # type: ignore[no-untyped-def]
    """Play pairs of the highest midpoint and the highest upper end among the rest, n plays in all."""
    parents, offset, cumulative, forced, column = tables
    plays, rewards, done, lower, upper = known
    uniform = np.empty((2, len(column)))
    codes = np.empty((2, len(column)), dtype=np.int32)
    pair = np.zeros(2, dtype=np.int64)
    for _ in range(n // 2):
        refresh_kt(plays, rewards, done, nats, lower, upper)
        leader = 0
        for i in range(1, len(plays)):
            if lower[i] + upper[i] > lower[leader] + upper[leader]:
                leader = i
        challenger = 1 if leader == 0 else 0
        for i in range(len(plays)):
            if i != leader and upper[i] > upper[challenger]:
                challenger = i
        pair[0], pair[1] = challenger, leader
        for row in range(2):
            for j in range(len(column)):
                uniform[row, j] = rng.random()
        _sample(parents, offset, cumulative, forced, pair, uniform, column, codes)
        for row in range(2):
            plays[pair[row]] += 1
            rewards[pair[row]] += worth[codes[row, reward]]


def best_arm_lucb1(probabilities: NDArray[np.float64], edges: Sequence[int]) -> tuple[list[float], int | None]:
    """Run LUCB1 of the package on a Bernoulli bandit; return the CPU time at the edges, and when it stopped."""
    from best_arm.environment import BernoulliEnvironment
    from best_arm.model import ALGO_REGISTRY
    from best_arm.stopping_conditions import LUCBStoppingCondition

    n, left, stopped = 0, list(edges[:0:-1]), None

    class Timed(BernoulliEnvironment):  # type: ignore[misc]  # the package is not typed
        def sample(self, arm: int) -> float:
            nonlocal n
            n += 1
            if left and n > left[-1]:
                left.pop()
                seconds.append(time.process_time())
            return float(super().sample(arm))

    class UntilTheLast(LUCBStoppingCondition):  # type: ignore[misc]
        def should_stop(self, counts: Any, rewards: Any, env: Any, confidence: float) -> bool:
            nonlocal stopped
            if stopped is None and super().should_stop(counts, rewards, env, confidence):
                stopped = n
            return not left

    np.random.seed(SEED)  # noqa: NPY002  # the package draws from numpy's own
    environment = Timed.__new__(Timed)  # its constructor draws the probabilities
    environment.probs, environment.num_arms = probabilities.tolist(), len(probabilities)
    seconds = [time.process_time()]
    ALGO_REGISTRY["lucb"](environment, DELTA, UntilTheLast(epsilon=0.0)).run()
    return seconds, stopped


# -------------------------------------------------------------------------------------------------------------- rows


def measured(question: Question, policy: str, edges: Sequence[int]) -> tuple[list[float], int | None]:
    """Run what is named once; return the CPU time at the edges, and after how many plays it stopped."""
    if policy == SIMULATOR:
        return simulator_alone(question, edges), None
    if policy == PACKAGE:
        truth = question.environment().expected_rewards(question.bandit).to_numpy(dtype=np.float64)
        return best_arm_lucb1(truth, edges)
    made = (POLICIES | LINEAR)[policy](question.bandit)
    made.ask()
    return timed(made, question.environment(), edges)


def rows_of(version: str, name: str, policy: str, plays: int, repeats: int) -> list[dict[str, Any]]:
    """Return a row for each window up to so many plays."""
    question, edges = QUESTIONS[name](), [edge for edge in EDGES if edge <= plays]
    own, loops, stopped = [], [], None
    for _ in range(repeats):
        seconds, stopped = measured(question, policy, edges)
        own.append(np.diff(seconds))
        loops.append(np.diff(compiled_loop(question, edges)))
    arms = len(question.bandit.arms)
    rows = []
    for i, (start, end) in enumerate(itertools.pairwise(edges[: len(own[0]) + 1])):
        least = {
            what: min(s[i] for s in runs) / (end - start) * 1e6 for what, runs in (("us", own), ("loop_us", loops))
        }
        row = {"version": version, "question": name, "policy": policy, "arms": arms, "start": start, "end": end}
        rows.append(row | {what: round(us, 2) for what, us in least.items()} | {"repeats": repeats, "stopped": stopped})
    return rows


def study(version: str, work: list[tuple[str, str]], plays: int, repeats: int, file: Path | None) -> pd.DataFrame:
    """Return the rows of questions and policies by name, those in the file included; they are written as they come."""
    rows = pd.read_csv(file) if file and file.exists() else pd.DataFrame(columns=COLUMNS)
    warm_up(sorted({policy for _, policy in work}))
    for name, policy in tqdm(work):
        new = pd.DataFrame(rows_of(version, name, policy, plays, repeats), columns=COLUMNS)
        rows = merged(rows, new)
        if file:
            write(rows, file)
    return rows


def merged(old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """Return all rows, the new ones in place of those of the same version, question and policy."""
    again = set(new[KEY].itertuples(index=False, name=None))
    kept = old[[row not in again for row in old[KEY].itertuples(index=False, name=None)]]
    return new if kept.empty else pd.concat([kept, new], ignore_index=True)


def warm_up(policies: Sequence[str]) -> None:
    """Have everything compiled or loaded that will run."""
    asia, first = QUESTIONS["asia"](), QUESTIONS["Experiment 1"]()
    compiled_loop(asia, [0, 10])
    for policy in policies:
        measured(first if policy in LINEAR else asia, policy, [0, 120])


# ------------------------------------------------------------------------------------------------------------- table


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return microseconds a play, before to now, in the windows and over the first 500 plays, by question and policy.

    "loops" is how many times what the compiled loop of LUCB takes the first 500 plays take now.
    """
    by = ["question", "arms", "version", "start", "end"]
    loops = rows.groupby(by, as_index=False)["loop_us"].min().assign(policy=LOOP)
    every = pd.concat([loops.assign(us=loops["loop_us"]), rows])
    lines = []
    for name in [q for q in QUESTIONS if q in set(every["question"])]:
        for policy in [LOOP, *policies_of(name)]:
            some = every[(every["question"] == name) & (every["policy"] == policy)]
            if len(some):
                before, now = some[some["version"] == "before"], some[some["version"] == "now"]
                line = {"question": name, "arms": f"{some['arms'].iloc[0]:,}", "policy": policy}
                for start, end in itertools.pairwise(EDGES):
                    line[f"{start:,}-{end:,}"] = spoken(over(before, "us", start, end), over(now, "us", start, end))
                line[f"first {FIRST}"] = spoken(over(before, "us", 0, FIRST), over(now, "us", 0, FIRST))
                ratio = over(now, "us", 0, FIRST) / over(now, "loop_us", 0, FIRST)
                lines.append(line | {"loops": "" if math.isnan(ratio) else f"{ratio:,.1f}"})
    return pd.DataFrame(lines)


def over(rows: pd.DataFrame, column: str, start: int, end: int) -> float:
    """Return the mean of a column over the plays from start to end; nan where they were not all measured."""
    some = rows[(rows["start"] >= start) & (rows["end"] <= end)]
    width = some["end"] - some["start"]
    return float((some[column] * width).sum() / width.sum()) if width.sum() == end - start else math.nan


def spoken(before: float, now: float) -> str:
    """Return a pair of figures; a dash for one that was not measured."""
    said = ["-" if math.isnan(us) else f"{us:,.1f}" if us < 10 else f"{us:,.0f}" for us in (before, now)]
    return "" if said == ["-", "-"] else " to ".join(said)


def main() -> None:
    """Measure, or draw the table of what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", default="now", choices=["before", "now"], help="default %(default)s")
    parser.add_argument("--questions", nargs="+", choices=list(QUESTIONS), default=list(QUESTIONS), metavar="NAME")
    parser.add_argument("--policies", nargs="+", metavar="NAME", help="default all")
    parser.add_argument("--plays", type=int, default=EDGES[-1], help="windows up to so many, default %(default)s")
    parser.add_argument("--repeats", type=int, default=3, help="default %(default)s")
    parser.add_argument("--rows", type=Path, help="add the rows to this CSV file")
    parser.add_argument("--redraw", type=Path, help="print the table of the rows in this CSV file")
    parser.add_argument("--markdown", action="store_true", help="print the table of the README")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    if arguments.redraw:
        rows = pd.read_csv(arguments.redraw)
    else:
        work = [
            (name, policy)
            for name in arguments.questions
            for policy in policies_of(name)
            if policy in (arguments.policies or [policy]) and (policy != PACKAGE or find_spec("best_arm"))
        ]
        rows = study(arguments.version, work, arguments.plays, arguments.repeats, arguments.rows)
    drawn = table(rows)
    print(as_markdown(drawn) if arguments.markdown else drawn.to_string(index=False))


if __name__ == "__main__":
    main()
