"""``pgcpe plan``: how many plays a study would take."""

from __future__ import annotations

import argparse
from typing import Any

from pgcpe.bandit import CausalBandit
from pgcpe.cli.question import names, question, tolerance
from pgcpe.experiments import STOPPING_POLICIES, plan, plan_measurements

__all__ = ["carry_out"]


def carry_out(arguments: argparse.Namespace) -> int:
    """Simulate studies on a network, a guess of the truth, and print how many plays they take."""
    guess, bandit = question(arguments)
    epsilon = tolerance(arguments, bandit)
    if arguments.measurements:
        return _measurements(arguments, bandit, guess, epsilon)
    table = plan(
        bandit,
        guess,
        policies={name: STOPPING_POLICIES[name] for name in arguments.policy or STOPPING_POLICIES},
        epsilon=epsilon,
        delta=arguments.delta,
        runs=arguments.runs,
        budget=arguments.budget,
        seed=arguments.seed,
        recording=None if arguments.recording is None else names(arguments.recording, bandit.observed),
    )
    if arguments.json:
        print(table.to_json(orient="records", indent=2))
        return 0
    best = table.iloc[0]
    print(f"{bandit}, epsilon = {epsilon:g}, delta = {arguments.delta:g}, {arguments.runs} simulated studies\n")
    print(table.to_string(index=False, float_format="{:,.4g}".format, formatters={"wrong": "{:.2f}".format}))
    more = "more than " if best.plays >= arguments.budget else "about "
    print(
        f"\nIf the truth is like {arguments.network}, {best.policy} takes {more}{best.plays:,.0f} plays, "
        f"in eight of ten studies between {best.plays_low:,.0f} and {best.plays_high:,.0f}."
    )
    if (table.stopped < 1).any():
        print(f"stopped: the share that came to an end within {arguments.budget:,} plays; the others count as that.")
    return 0


def _measurements(arguments: argparse.Namespace, bandit: CausalBandit, guess: Any, epsilon: float) -> int:
    """Print what leaving out each variable that is recorded would cost in plays."""
    if arguments.policy or arguments.recording is not None:
        raise ValueError(
            "--measurements is about PooledCCPE and all that it records: leave --policy and --recording out"
        )
    table = plan_measurements(
        bandit,
        guess,
        epsilon=epsilon,
        delta=arguments.delta,
        runs=arguments.runs,
        budget=arguments.budget,
        seed=arguments.seed,
    )
    if arguments.json:
        print(table.to_json(orient="records", indent=2))
        return 0
    shown = table[["left_out", "recorded", "plays", "ratio", "plays_low", "plays_high"]]
    print(f"What PooledCCPE takes without a measurement, if the truth is like {arguments.network}\n")
    print(shown.to_string(index=False, float_format="{:,.4g}".format, na_rep="cannot do without"))
    return 0
