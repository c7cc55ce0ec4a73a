"""``pgcpe run``: simulate a study on a network until it stops."""

from __future__ import annotations

import argparse
import json
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pgcpe.cli.question import check_picture, question
from pgcpe.environment.protocol import Environment
from pgcpe.environment.simulator import SimulatedEnvironment
from pgcpe.estimators import AdmissibleSequence, EmpiricalMeans
from pgcpe.plays.actions import Action
from pgcpe.policies import CCPE, LUCB, Policy, PooledCCPE

__all__ = ["POLICIES", "carry_out"]

POLICIES: dict[str, Callable[..., Policy]] = {
    "pooled": PooledCCPE,
    "pooled-asymptotic": lambda bandit, **options: PooledCCPE(bandit, guarantee="asymptotic", **options),
    "pooled-numerical": lambda bandit, **options: PooledCCPE(bandit, guarantee="numerical", **options),
    "ccpe": CCPE,
    "ccpe-paper": lambda bandit, **options: CCPE(
        bandit, estimator=AdmissibleSequence("paper"), direct=EmpiricalMeans("paper"), **options
    ),
    "lucb": LUCB,
    "lucb-paper": lambda bandit, **options: LUCB(bandit, radius="paper", **options),
}

CERTIFIED, NOT_CERTIFIED, INTERRUPTED = 0, 3, 130


def carry_out(arguments: argparse.Namespace) -> int:
    """Simulate a study on a network and print what it finds, so far if it is interrupted."""
    check_picture(arguments.plot)
    network, bandit = question(arguments)
    policy = POLICIES[arguments.policy](bandit, epsilon=arguments.epsilon, delta=arguments.delta, seed=arguments.seed)
    code = None
    with interruptible(SimulatedEnvironment(network, seed=arguments.seed)) as environment:
        try:
            result = policy.run(environment, budget=arguments.budget, progress=None)
        except KeyboardInterrupt:
            result, code = policy.result(f"interrupted after {policy.n_plays} plays"), INTERRUPTED
    print(
        json.dumps(result.to_dict() | {"seed": arguments.seed}, indent=2)
        if arguments.json
        else result.to_string(arguments.rows)
    )
    if arguments.plot:
        result.plot().figure.savefig(arguments.plot, dpi=150)
    return code or (NOT_CERTIFIED if result.certificate is None else CERTIFIED)


@contextmanager
def interruptible(environment: Environment) -> Iterator[Environment]:
    """Give an environment that raises KeyboardInterrupt at the next play after Ctrl-C, between two tells.

    The policy is then as the last tell left it. A second Ctrl-C is not waited with.
    """
    interrupts: list[int] = []

    class Interruptible:
        """The environment, which an interrupt keeps from performing more."""

        def perform(self, actions: Sequence[Action]) -> Any:
            """Perform the actions unless there was an interrupt."""
            if interrupts:
                raise KeyboardInterrupt
            return environment.perform(actions)

    def note(number: int, _: Any) -> None:
        """Keep that there was an interrupt; the next one is handled as before."""
        interrupts.append(number)
        signal.signal(signal.SIGINT, before)

    if threading.current_thread() is not threading.main_thread():  # which alone receives signals
        yield environment
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield Interruptible()
    finally:
        signal.signal(signal.SIGINT, before)
