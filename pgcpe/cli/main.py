"""The command line: ``pgcpe run``, ``pgcpe plan``, ``pgcpe arms``, ``pgcpe identify``, ``pgcpe figure``."""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pgcpe.bandit import CausalBandit
from pgcpe.cli.arguments import parser
from pgcpe.complexity import hard_arms, observation_probabilities
from pgcpe.environment.exact import expected_rewards
from pgcpe.environment.simulator import SimulatedEnvironment
from pgcpe.estimators import AdmissibleSequence, EmpiricalMeans
from pgcpe.experiments import STOPPING_POLICIES, read_rows
from pgcpe.experiments import plan as plan_study
from pgcpe.graphs.explanation import Explanation, explain
from pgcpe.graphs.load import load_network
from pgcpe.graphs.structure import find_state, states_of
from pgcpe.paper.figures import FIGURES
from pgcpe.plays.actions import Action, equal_effect, interventions
from pgcpe.policies import CCPE, LUCB, Policy, PooledCCPE, Result
from pgcpe.policies.result import equal_arms

__all__ = ["main"]

POLICIES: dict[str, Callable[..., Policy]] = {
    "pooled": PooledCCPE,
    "pooled-asymptotic": lambda bandit, **options: PooledCCPE(bandit, guarantee="asymptotic", **options),
    "ccpe": CCPE,
    "ccpe-paper": lambda bandit, **options: CCPE(
        bandit, estimator=AdmissibleSequence("paper"), direct=EmpiricalMeans("paper"), **options
    ),
    "lucb": LUCB,
    "lucb-paper": lambda bandit, **options: LUCB(bandit, radius="paper", **options),
}

PICTURES = (".png", ".svg", ".pdf")
CERTIFIED, BAD_INPUT, NOT_CERTIFIED = 0, 2, 3


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    0: the stopping rule was satisfied. 2: bad input, with one line that says what. 3: the budget is spent, or the graph
    refuted, without a certificate.
    """
    arguments = parser(COMMANDS, sorted(POLICIES)).parse_args(argv)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="pgmpy")
        warnings.showwarning = lambda message, *_, **__: print(f"pgcpe: warning: {message}", file=sys.stderr)
        try:
            return int(arguments.command(arguments))
        except (ValueError, TypeError, OSError, ImportError) as error:
            print(f"pgcpe: {' '.join(str(error).split())}", file=sys.stderr)
            return BAD_INPUT


# -------------------------------------------------------------------------------------------------------- the commands


def run(arguments: argparse.Namespace) -> int:
    """Simulate a study on a network and print what it finds."""
    _check_picture(arguments.plot)
    network, bandit = _question(arguments)
    policy = POLICIES[arguments.policy](bandit, epsilon=arguments.epsilon, delta=arguments.delta, seed=arguments.seed)
    environment = SimulatedEnvironment(network, seed=arguments.seed)
    result = policy.run(environment, budget=arguments.budget, progress=None)
    print(
        json.dumps(_as_json(result) | {"seed": arguments.seed}, indent=2)
        if arguments.json
        else result.to_string(arguments.rows)
    )
    if arguments.plot:
        result.plot().figure.savefig(arguments.plot, dpi=150)
    return NOT_CERTIFIED if result.certificate is None else CERTIFIED


def plan(arguments: argparse.Namespace) -> int:
    """Simulate studies on a network, a guess of the truth, and print how many plays they take."""
    guess, bandit = _question(arguments)
    table = plan_study(
        bandit,
        guess,
        policies={name: STOPPING_POLICIES[name] for name in arguments.policy or STOPPING_POLICIES},
        epsilon=arguments.epsilon,
        delta=arguments.delta,
        runs=arguments.runs,
        budget=arguments.budget,
        seed=arguments.seed,
    )
    if arguments.json:
        print(table.to_json(orient="records", indent=2))
        return CERTIFIED
    best = table.iloc[0]
    print(
        f"{bandit}, epsilon = {arguments.epsilon:g}, delta = {arguments.delta:g}, {arguments.runs} simulated studies\n"
    )
    print(table.to_string(index=False, float_format="{:,.4g}".format, formatters={"wrong": "{:.2f}".format}))
    more = "more than " if best.plays >= arguments.budget else "about "
    print(
        f"\nIf the truth is like {arguments.network}, {best.policy} takes {more}{best.plays:,.0f} plays, "
        f"in eight of ten studies between {best.plays_low:,.0f} and {best.plays_high:,.0f}."
    )
    if (table.stopped < 1).any():
        print(f"stopped: the share that came to an end within {arguments.budget:,} plays; the others count as that.")
    return CERTIFIED


def arms(arguments: argparse.Namespace) -> int:
    """Print every arm: whether observation is enough for it, how it is estimated, and what it was merged with."""
    network, bandit = _question(arguments)
    q = observation_probabilities(network, bandit)
    hard = [False] * len(q)
    if len(q) > 1:
        hard = hard_arms(q, expected_rewards(network, bandit), arguments.epsilon).tolist()
    reasons = {
        action.variables: explain(bandit.graph, action, bandit.reward, states=bandit.states)
        for action in bandit.canonical
    }
    if arguments.json:
        rows = [
            {
                "action": dict(arm),
                "equal_to": [dict(other) for other in bandit.merged[arm][1:]],
                "estimable": sequence is not None,
                "why": reasons[action.variables].words,
                "q_a": float(q_a),
                "hard": is_hard,
            }
            for arm, action, sequence, q_a, is_hard in zip(
                bandit.arms, bandit.canonical, bandit.sequences, q, hard, strict=True
            )
        ]
        print(json.dumps(rows, indent=2))
        return CERTIFIED
    table = pd.DataFrame(
        {
            "arm": map(str, bandit.arms),
            "q_a": q.to_numpy(),
            "by observation": ["hard" if is_hard else "easy" for is_hard in hard],
            "from observation": [_short(reasons[action.variables]) for action in bandit.canonical],
            "equal to": [equal_arms(bandit, arm, 2) for arm in bandit.arms],
        }
    )
    print(f"{bandit}\n\n{table.to_string(index=False, float_format='{:.4g}'.format)}")
    print(
        "\nq_a: how likely passive observation meets the arm in its rarest cell; 0 where it tells nothing of it."
        f"\nhard: for its gap to the best, at epsilon = {arguments.epsilon:g}, observed so seldom that it has to be "
        f"played: {sum(hard)} of {len(hard)} arms, if the truth is like {arguments.network}."
    )
    return CERTIFIED


def _short(why: Explanation) -> str:
    """Return how an effect follows from observation in a few words."""
    if why.sequence is None:
        return f"no: {why.path}"
    adjusted = [v for _, z in why.sequence for v in sorted(z)]
    return f"adjusting for {', '.join(adjusted)}" if adjusted else "as it is"


def identify(arguments: argparse.Namespace) -> int:
    """Print how the effect of an action follows from observation, or why it does not."""
    network = load_network(arguments.network, latents=_names(arguments.latents))
    action = _action(arguments.do)
    states = states_of(network)
    for variable, state in action.items():
        if variable not in states:
            raise ValueError(f"--do sets {variable}, which is no variable of {arguments.network}")
        find_state(states[variable], state, variable)
    outcome, _, good = arguments.reward.partition("=")
    if good and outcome in states:
        find_state(states[outcome], good, outcome)
    smallest = equal_effect(network, action, outcome)
    why = explain(network, smallest, outcome, states=states)
    if arguments.json:
        steps = None if why.sequence is None else [[x, sorted(z)] for x, z in why.sequence]
        answer = {"action": dict(action), "equal_to": dict(smallest), "sequence": steps, "words": why.words}
        print(json.dumps(answer | {"latex": why.latex, "path": why.path}, indent=2))
        return CERTIFIED
    if smallest != action:
        print(f"{action} has provably the effect of {smallest}.")
    print(why)
    return CERTIFIED


def figure(arguments: argparse.Namespace) -> int:
    """Draw a figure of the paper, from rows, new runs, or rows continued by new runs, and print its numbers."""
    drawn = FIGURES[arguments.name]
    picture = arguments.plot or f"figure_{arguments.name}.png"
    _check_picture(picture)
    if arguments.runs is None and arguments.rows is None:
        raise ValueError("say --rows FILE to redraw rows, --runs N to compute them, or both to continue a file")
    if arguments.runs is None:
        rows = read_rows(arguments.rows)
    elif arguments.runs < 1:
        raise ValueError(f"--runs must be at least 1, but got {arguments.runs}")
    else:
        rows = drawn.rows(arguments.runs, file=arguments.rows, n_jobs=arguments.jobs)
    numbers = drawn.numbers(rows)
    if arguments.json:
        print(numbers.to_json(orient="records", indent=2))
    else:
        print(f"{drawn.title}\nThe paper: {drawn.claim}\n")
        for panel, mine in numbers.groupby("panel", sort=False):
            table = mine.pivot(index="x", columns="policy", values="y")[list(dict.fromkeys(mine["policy"]))]
            runs = " to ".join(f"{n:,}" for n in sorted({mine["runs"].min(), mine["runs"].max()}))
            print(f"{panel}, {runs} runs\n{table.to_string(float_format='{:,.4g}'.format)}\n")
        print("Best first; < where the 95 % intervals are apart, ~ where they are not:\n")
        print(drawn.order(rows).to_string(index=False))
    drawn.draw(rows).savefig(picture, dpi=150)
    print(f"\ndrawn to {picture}", file=sys.stderr)
    return CERTIFIED


COMMANDS = {"run": run, "plan": plan, "arms": arms, "identify": identify, "figure": figure}


# ---------------------------------------------------------------------------------------- what the arguments describe


def _check_picture(file: str | None) -> None:
    """Raise unless a picture can be written: a study should not be lost to a name that cannot."""
    if file is None:
        return
    picture = Path(file)
    if picture.suffix not in PICTURES or picture.is_dir() or not os.access(picture.parent, os.W_OK):
        raise ValueError(
            f"--plot must name a {', '.join(PICTURES)} file in a folder that can be written, but got {file}"
        )


def _question(arguments: argparse.Namespace) -> tuple[Any, CausalBandit]:
    """Return the network and the bandit that the arguments describe."""
    network = load_network(arguments.network, latents=_names(arguments.latents))
    reward, _, good = arguments.reward.partition("=")
    states = states_of(network)
    if reward not in states:
        raise ValueError(
            f"--reward must name a variable of {arguments.network}, but got {reward!r}; there are {', '.join(states)}"
        )
    values = None
    if good:
        best = states[reward][find_state(states[reward], good, reward)]
        values = {state: float(state == best) for state in states[reward]}
    elif {str(state) for state in states[reward]} != {"0", "1"}:
        raise ValueError(
            f"{reward} has the states {', '.join(map(str, states[reward]))}; say which one counts 1, as in "
            f"--reward {reward}={states[reward][0]}"
        )
    actions = interventions(
        network,
        reward=reward,
        variables=_names(arguments.variables) or None,
        size=arguments.size,
        max_size=arguments.max_size,
        values=_names(arguments.values) or None,
    )
    return network, CausalBandit(network, reward=reward, reward_values=values, arms=actions)


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _action(texts: Sequence[str]) -> Action:
    """Return the action that several ``--do`` make up."""
    settings: dict[str, Any] = {}
    for text in texts:
        try:
            parsed = Action.parse(f"do({text})")
        except ValueError:
            raise ValueError(f"--do must be written like 'X1=1', but got {text!r}") from None
        for variable, state in parsed.items():
            if variable in settings:
                raise ValueError(f"--do must set a variable once, but {variable} is set twice")
            settings[variable] = state
    return Action(settings)


def _as_json(result: Result) -> dict[str, Any]:
    table = result.table
    return {
        "recommendation": dict(result.recommendation),
        "certified": result.certified,
        "certificate": result.certificate,
        "stops": result.stops,
        "stop_reason": result.stop_reason,
        "n_plays": result.n_plays,
        "epsilon": result.epsilon,
        "delta": result.delta,
        "conflicts": [dict(action) for action in result.conflicts],
        "arms": [
            {"action": dict(action), "estimate": float(m), "lower": float(low), "upper": float(up), "n_plays": int(n)}
            for action, m, low, up, n in zip(
                *(table[c] for c in ("action", "estimate", "lower", "upper", "n_plays")), strict=True
            )
        ],
    }
