"""What the arguments of several commands describe: a network, a bandit, lists of names, a picture."""

from __future__ import annotations

import argparse
import csv
import itertools
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

from pgmpy.base import DAG

from pgcpe.bandit import CausalBandit
from pgcpe.graphs.load import load_network
from pgcpe.graphs.states import did_you_mean, find_state
from pgcpe.graphs.structure import State, States, shortened, states_of
from pgcpe.plays.actions import Action, interventions

__all__ = ["check_picture", "graph", "names", "question", "settings", "tolerance"]

PICTURES = (".png", ".svg", ".pdf")


def check_picture(file: str | None) -> None:
    """Raise unless a picture can be written: a study should not be lost to a name that cannot."""
    if file is None:
        return
    picture = Path(file)
    if picture.suffix not in PICTURES or picture.is_dir() or not os.access(picture.parent, os.W_OK):
        raise ValueError(
            f"--plot must name a {', '.join(PICTURES)} file in a folder that can be written, but got {file}"
        )


def names(text: str | None, known: Collection[str] = ()) -> list[str]:
    """Return the names of a list as CSV has it: quotes protect a name with commas; a known name is one as it stands.

    Examples
    --------
    >>> names('U1, "dose, in mg"')
    ['U1', 'dose, in mg']
    """
    if text is not None and text in known:
        return [text]
    try:
        (row,) = csv.reader([text or ""], skipinitialspace=True, strict=True)
    except csv.Error as error:
        raise ValueError(f'a list of names must be written like A,B,"C, D", but {text!r} has {error}') from None
    return [name.strip() for name in row if name.strip()]


def question(arguments: argparse.Namespace) -> tuple[Any, CausalBandit]:
    """Return the network, or the graph, and the bandit that the arguments describe."""
    network, given = graph(arguments)
    states = states_of(network, given)
    ends = None if arguments.reward_range is None else tuple(arguments.reward_range)
    reward, values = _reward(arguments.reward, states, arguments.network, measured=ends is not None)
    actions = interventions(
        network,
        reward=reward,
        variables=names(arguments.variables, states) or None,
        size=arguments.size,
        max_size=arguments.max_size,
        values=names(arguments.values, {str(s) for some in states.values() for s in some}) or None,
        states=given,
    )
    costs = dict(_cost(text) for text in getattr(arguments, "cost", None) or ())
    return network, CausalBandit(
        network,
        reward=reward,
        arms=actions,
        costs=costs,
        states=given,
        reward_values=values,
        reward_range=ends,
        minimise=arguments.minimise,
    )


def tolerance(arguments: argparse.Namespace, bandit: CausalBandit) -> float:
    """Return epsilon, in the unit of the reward; a twentieth of its range where nothing is said."""
    return bandit.reward_scale.tolerance if arguments.epsilon is None else float(arguments.epsilon)


def _cost(text: str) -> tuple[Action, float]:
    action, _, cost = text.rpartition("=")
    try:
        return Action.parse(action), float(cost)
    except ValueError:
        raise ValueError(f"--cost must be written like 'do()=0.1', but got {text!r}") from None


def graph(arguments: argparse.Namespace) -> tuple[Any, dict[str, list[str]] | None]:
    """Return the network of a file, or the graph of edges like ``"dose -> cured; diet -> cured"``, and states for it.

    Raises
    ------
    ValueError
        If states are given for a network, which has its own, or are not written like ``dose=low,high``.
    """
    text, given = arguments.network, getattr(arguments, "states", None)
    if "->" not in text or Path(text).is_file():
        if given:
            raise ValueError(f"--states is for a graph written as edges, but {shortened(text)} names its own states")
        return load_network(text, latents=names(arguments.latents)), None
    edges = []
    for chain in filter(None, (part.strip() for part in text.replace("\n", ";").split(";"))):
        nodes = [node.strip() for node in chain.split("->")]
        if len(nodes) < 2 or "" in nodes:
            raise ValueError(f"edges must be written like 'dose -> cured; diet -> cured', but got {chain!r}")
        edges += list(itertools.pairwise(nodes))
    dag = DAG(edges)
    if unknown := [v for v in names(arguments.latents) if v not in dag]:
        raise ValueError(f"--latents names {unknown[0]!r}, which no edge has{did_you_mean(unknown[0], dag)}")
    dag.latents = set(names(arguments.latents))
    states: dict[str, list[str]] = {}
    for setting in given or ():
        variable, _, some = setting.partition("=")
        if not some or variable not in dag:
            raise ValueError(
                f"--states must be written like dose=low,high with a variable of the graph, not {setting!r}"
            )
        states[variable] = names(some)
    return dag, states


def _reward(text: str, states: States, network: str, *, measured: bool) -> tuple[str, dict[State, float] | None]:
    """Return the reward variable and what its states are worth, None where they are 0 and 1 and none is named.

    One that is measured has no states.
    """
    good: str | None = None
    if text in states or "=" not in text:
        reward = text
    else:
        reward, good = _setting(text, states) or text.split("=", 1)
    if reward not in states:
        raise ValueError(
            f"--reward must name a variable of {network}, but got {reward!r}{did_you_mean(reward, states)}; "
            f"there are {shortened(', '.join(states), 400)}"
        )
    if measured:
        if good is not None:
            raise ValueError(f"with --reward-range the reward is a number: write --reward {reward}, not {text!r}")
        return reward, None
    if good is not None:
        best = find_state(states[reward], good, reward)
        return reward, {state: float(code == best) for code, state in enumerate(states[reward])}
    if {str(state) for state in states[reward]} != {"0", "1"}:
        raise ValueError(
            f"{reward} has the states {', '.join(map(str, states[reward]))}; say which one counts 1, as in "
            f"--reward {reward}={states[reward][0]}, or --reward-range LOW HIGH if it is a number"
        )
    return reward, None


def settings(text: str, states: States, network: str) -> dict[str, State]:
    """Return what a ``--do`` sets: ``A=1`` with a known variable and state as they are, else as in ``do(...)``.

    `network` is its name for messages.

    Raises
    ------
    ValueError
        If it is neither, or a variable or a state is unknown.
    """
    single = _setting(text, states)
    if single and single[1] in map(str, states[single[0]]):
        return dict([single])
    try:
        parsed = Action.parse(f"do({text})")
    except ValueError:
        raise ValueError(
            f"--do must be written like 'X1=1', with quotes around names with commas, but got {text!r}"
        ) from None
    for variable in parsed:
        if variable not in states:
            raise ValueError(f"--do sets {variable}, which is no variable of {network}{did_you_mean(variable, states)}")
    return {v: states[v][find_state(states[v], state, v)] for v, state in parsed.items()}


def _setting(text: str, states: States) -> tuple[str, str] | None:
    """Return the longest known variable that a text ``VARIABLE=STATE`` begins with, and the rest."""
    known = [variable for variable in states if text.startswith(f"{variable}=")]
    variable = max(known, key=len, default=None)
    return None if variable is None else (variable, text.removeprefix(f"{variable}="))
