"""The paper's figures by name, as settings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from pgcpe.bandit import CausalBandit
from pgcpe.environment.simulator import SimulatedEnvironment
from pgcpe.estimators import BGLM, AdmissibleSequence, EmpiricalMeans
from pgcpe.experiments.running import MakePolicy
from pgcpe.paper.experiments import experiment_1, experiment_2, experiment_3
from pgcpe.paper.figures.base import Errors, Figure, Part, PlaysToStop
from pgcpe.paper.instances import Instance
from pgcpe.policies import (
    CCPE,
    LUCB,
    CausalSuccessiveRejects,
    LilUCB,
    PooledCCPE,
    PropagatingInference,
    SequentialHalving,
    SuccessiveRejects,
    UniformSampling,
)

__all__ = ["FIGURES"]


NEVER = 10**9
"""A refresh beyond all plays: intervals that certify nothing here are not worked out."""


def _direct(alpha: float, delta: float) -> dict[str, MakePolicy]:
    """Return the two policies without a graph, with a factor of their radii."""
    factor = f"({alpha:g})".replace("0.", ".")
    return {
        f"LUCB1 {factor}": partial(LUCB, radius="lucb1", alpha=alpha, epsilon=0.0, delta=delta),
        f"lil'UCB {factor}": partial(LilUCB, alpha=alpha, delta=delta),
    }


def _ccpe(estimator: Any, delta: float) -> MakePolicy:
    return partial(CCPE, estimator=estimator, direct=EmpiricalMeans("paper", 0.4), epsilon=0.0, delta=delta)


def _bglm(refresh: int) -> BGLM:
    """Return the model of Experiment 1: eta as Assumption 3 gives it there, .30 to .35."""
    return BGLM("identity", method="estimating_equation", radius="ell", alpha=0.05, eta=0.3, kappa=1.0, refresh=refresh)


def _simulated(made: Instance, seed: int) -> tuple[CausalBandit, SimulatedEnvironment]:
    return made.bandit, made.environment(np.random.SeedSequence([1, seed]))


def _experiment_1(seed: int) -> tuple[CausalBandit, SimulatedEnvironment]:
    return _simulated(experiment_1(seed, merge_equal=False, null=True), seed)


def _experiment_2(seed: int) -> tuple[CausalBandit, SimulatedEnvironment]:
    return _simulated(experiment_2(seed, merge_equal=False, null=True), seed)


@cache
def _compiled_3(n: int, values: tuple[int, ...] | None) -> tuple[CausalBandit, SimulatedEnvironment]:
    made = experiment_3(n, values=values, merge_equal=False, null=True)
    return made.bandit, made.environment(None)


def _experiment_3(seed: int, *, n: int, values: tuple[int, ...] | None) -> tuple[CausalBandit, SimulatedEnvironment]:
    bandit, simulator = _compiled_3(n, values)
    return bandit, simulator.reseeded(np.random.SeedSequence([1, seed]))


def _hidden(delta: float) -> dict[str, MakePolicy]:
    """Return the policies of Experiment 3."""
    return {
        **_direct(0.25, delta),
        "CCPE-General (.3, .4)": _ccpe(AdmissibleSequence("paper", 0.3), delta),
    }


PROPAGATING: dict[str, MakePolicy] = {"Propagating-Inference": PropagatingInference}


def _pooled(name: str, **options: Any) -> dict[str, MakePolicy]:
    """Return our own policy, looking for a good recommendation after few plays."""
    make = partial(
        PooledCCPE, guarantee="asymptotic", sampling="index", refresh=NEVER, epsilon=0.0, delta=0.1, **options
    )
    return {name: make}


READINGS: dict[str, tuple[int, ...] | None] = {"s all values": None, "s = 1": (1,)}
"""The two readings of Experiment 3's action set."""


def _parts_of_3(name: str, sizes: Sequence[int], delta: float) -> tuple[Part, ...]:
    return tuple(
        Part(
            f"{name}, n = {n}, {reading}",
            _hidden(delta),
            partial(_experiment_3, n=n, values=values),
            at=n,
            reading=reading,
        )
        for reading, values in READINGS.items()
        for n in sizes
    )


ITERATION_3 = {"LUCB1 (.25)": 2, "CCPE-General (.3, .4)": 3}

FIGURES: dict[str, Figure] = {
    "1": Errors(
        title="Experiment 1: linear models, a new graph each run, 57 arms",
        claim="CCPE-BGLM converges quicker than all other algorithms.",
        parts=(
            Part(
                "Experiment 1",
                {
                    **_direct(0.3, 0.1),
                    **PROPAGATING,
                    "CCPE-BGLM (.05, .4), fitted every 50 plays": _ccpe(_bglm(50), 0.1),
                    "CCPE-BGLM (.05, .4), fitted every 50 iterations": _ccpe(_bglm(150), 0.1),
                },
                _experiment_1,
            ),
        ),
        iteration={
            "LUCB1 (.3)": 2,
            "CCPE-BGLM (.05, .4), fitted every 50 plays": 3,
            "CCPE-BGLM (.05, .4), fitted every 50 iterations": 3,
        },
        times=tuple(range(50, 501, 50)),
    ),
    "2": Errors(
        title="Experiment 2: nothing hidden, a new graph each run, 85 arms",
        claim="CCPE-General performs almost the same as Propagating-Inference.",
        parts=(
            Part(
                "Experiment 2",
                {
                    **_direct(0.3, 0.1),
                    **PROPAGATING,
                    "CCPE-General (.25, .4)": _ccpe(AdmissibleSequence("paper", 0.25), 0.1),
                },
                _experiment_2,
            ),
        ),
        iteration={"LUCB1 (.3)": 2, "CCPE-General (.25, .4)": 3},
        times=tuple(range(50, 601, 50)),
    ),
    "3a": PlaysToStop(
        title="Experiment 3: hidden variables, until it stops (delta = .05)",
        claim="CCPE-General needs fewer samples than LUCB and lil'UCB.",
        parts=_parts_of_3("Experiment 3 until it stops", (5, 8, 10), 0.05),
        iteration=ITERATION_3,
        styles={"CCPE-General (.3, .4)": 3},
    ),
    "3b": Errors(
        title="Experiment 3: hidden variables, n = 5, 41 and 11 arms",
        claim="CCPE-General has a smaller error probability than LUCB and lil'UCB.",
        parts=_parts_of_3("Experiment 3", (5,), 0.1),
        iteration=ITERATION_3,
        styles={"CCPE-General (.3, .4)": 3},
        times=tuple(range(50, 501, 50)),
    ),
    "pooled": Errors(
        title="Every play counted: PooledCCPE beside the others",
        claim="The paper has no such policy; its own stand beside it.",
        parts=(
            Part(
                "Experiment 1",
                {
                    **_direct(0.3, 0.1),
                    **PROPAGATING,
                    "CCPE-BGLM (.05, .4), fitted every 50 plays": _ccpe(_bglm(50), 0.1),
                    **_pooled("PooledCCPE"),
                    **_pooled("PooledCCPE, BGLM", model=BGLM("identity")),
                },
                _experiment_1,
            ),
            Part(
                "Experiment 2",
                {
                    **_direct(0.3, 0.1),
                    **PROPAGATING,
                    "CCPE-General (.25, .4)": _ccpe(AdmissibleSequence("paper", 0.25), 0.1),
                    **_pooled("PooledCCPE"),
                },
                _experiment_2,
            ),
            *(
                Part(
                    f"Experiment 3, n = {n}, s all values",
                    {**_hidden(0.1), **_pooled("PooledCCPE")},
                    partial(_experiment_3, n=n, values=None),
                )
                for n in (5, 8)
            ),
        ),
        iteration={},
        styles={
            "LUCB1 (.25)": 0,
            "lil'UCB (.25)": 1,
            "CCPE-General (.25, .4)": 3,
            "CCPE-General (.3, .4)": 3,
            "PooledCCPE": 4,
            "PooledCCPE, BGLM": 5,
        },
        times=(50, 100, 150, 200, 300, 400, 500),
        logarithmic=True,
    ),
    "budget": Errors(
        title="Fixed budget on Experiment 2, 85 arms",
        claim="Causal Successive Rejects outperforms Successive Rejects and Sequential Halving.",
        parts=(
            Part(
                "Experiment 2",
                {
                    "uniform": UniformSampling,
                    "Successive Rejects": SuccessiveRejects,
                    "Sequential Halving": SequentialHalving,
                    "Sequential Halving, kept": partial(SequentialHalving, keep=True),
                    "Causal SR, larger": CausalSuccessiveRejects,
                    "Causal SR, counts": partial(CausalSuccessiveRejects, merge="counts"),
                    "Causal SR, variance": partial(CausalSuccessiveRejects, merge="variance"),
                    "Propagating-Inference, optimised": partial(PropagatingInference, eta="optimised"),
                },
                _experiment_2,
            ),
        ),
        iteration={},
        times=(100, 150, 200, 300, 400, 800, 1600),
        logarithmic=True,
    ),
}
"""The figures by the names of the command line: three of the paper, 3a and 3b, one of `PooledCCPE` on these
experiments, and that of Algorithm 4, which the paper describes without an experiment."""
