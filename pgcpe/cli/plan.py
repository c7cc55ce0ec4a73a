"""``pgcpe plan``: how many plays a study would take."""

from __future__ import annotations

import argparse

from pgcpe.cli.question import question, tolerance
from pgcpe.experiments import STOPPING_POLICIES, plan

__all__ = ["carry_out"]


def carry_out(arguments: argparse.Namespace) -> int:
    """Simulate studies on a network, a guess of the truth, and print how many plays they take."""
    guess, bandit = question(arguments)
    epsilon = tolerance(arguments, bandit)
    table = plan(
        bandit,
        guess,
        policies={name: STOPPING_POLICIES[name] for name in arguments.policy or STOPPING_POLICIES},
        epsilon=epsilon,
        delta=arguments.delta,
        runs=arguments.runs,
        budget=arguments.budget,
        seed=arguments.seed,
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
