"""A study of 100,000 plays: seconds to open, to ask and to tell a hundred, to show where it stands; bytes of the file.

    python benchmarks/study_size.py --rows data/results/study_size.csv

The plays are asked for and told 1,000 at a time. The policy must be in the end where one is that was told the same
plays one by one: its intervals and what it asks for are compared.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from frame import as_markdown, parser_of, write

from pgcpe import LUCB, CausalBandit, Policy, PooledCCPE, SimulatedEnvironment, Study, interventions, load_network
from pgcpe.policies.loop import AT_ONCE

SIZES = (1_000, 10_000, 100_000)
AT_A_TIME, ASKED = 1_000, 100
POLICIES: dict[str, Callable[[CausalBandit], Policy]] = {
    "LUCB": lambda bandit: LUCB(bandit, epsilon=0.0, delta=1e-300),
    "PooledCCPE, asymptotic": lambda bandit: PooledCCPE(bandit, guarantee="asymptotic", epsilon=0.0, delta=1e-300),
    "PooledCCPE, exact": lambda bandit: PooledCCPE(bandit, epsilon=0.0, delta=1e-300),
}
"""With a delta so small that none of them stops before."""


def measured(name: str, size: int, folder: Path) -> dict[str, Any]:
    """Return the row of a policy and a number of plays."""
    network = load_network("cancer")
    arms = interventions(network, reward="Dyspnoea", max_size=2)
    bandit = CausalBandit(network, reward="Dyspnoea", arms=arms, reward_values={"True": 0, "False": 1})
    policy, path = POLICIES[name](bandit), folder / f"{size}.pgcpe"
    study, environment = Study.create(path, policy), SimulatedEnvironment(network, seed=0)
    rng = np.random.default_rng(0)
    for _ in range(0, size, AT_A_TIME):  # any plays will do: to choose so many well takes longer than to keep them
        actions = [bandit.playable[i] for i in rng.integers(0, len(bandit.playable), AT_A_TIME)]
        with study._replay.journal.writing() as writer:
            first = writer.next_play()
            writer.append("asked", [(first + i, {"action": dict(a)}) for i, a in enumerate(actions)], "bench")
        samples = environment.perform(actions)
        study.tell(range(first, first + AT_A_TIME), samples.to_frame(), by="bench")
        for start in range(0, AT_A_TIME, AT_ONCE):
            some = slice(start, start + AT_ONCE)
            policy.tell(actions[some], samples.rows(some))
    row: dict[str, Any] = {"policy": name, "plays": size, "megabytes": round(path.stat().st_size / 1e6, 2)}
    row["open"], opened = _timed(lambda: Study.open(path))
    same = opened.policy.ask() == policy.ask()
    for end in ("lower", "upper"):
        same &= bool(np.array_equal(getattr(opened.policy.intervals, end), getattr(policy.intervals, end)))
    row["ask"], plays = _timed(lambda: opened.ask(ASKED))
    rows = environment.perform([play.action for play in plays]).to_frame()
    row["tell"], _ = _timed(lambda: opened.tell(plays, rows))
    row["status"], _ = _timed(opened.status)
    return row | {"same": same}


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    value = call()
    return round(time.perf_counter() - start, 3), value


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows as they are shown."""
    shown = rows.assign(plays=rows["plays"].map("{:,}".format), megabytes=rows["megabytes"].map("{:.1f}".format))
    for step in ("open", "ask", "tell", "status"):
        shown[step] = shown[step].map("{:.2f}".format)
    names = {"ask": "ask 100", "tell": "tell 100", "same": "same as told live"}
    return shown.assign(same=["yes" if same else "no" for same in rows["same"]]).rename(columns=names)


def main() -> None:
    """Measure, or draw the table of what was measured."""
    parser = parser_of(__doc__)
    arguments = parser.parse_args()
    if arguments.redraw:
        rows = pd.read_csv(arguments.redraw)
    else:
        out = []
        for name in POLICIES:
            with tempfile.TemporaryDirectory() as folder:
                out += [measured(name, size, Path(folder)) for size in SIZES]
        rows = pd.DataFrame(out)
        if arguments.rows:
            write(rows, arguments.rows)
    drawn = table(rows)
    print(as_markdown(drawn) if arguments.markdown else drawn.to_string(index=False))


if __name__ == "__main__":
    main()
