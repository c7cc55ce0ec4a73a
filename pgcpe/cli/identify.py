"""``pgcpe identify``: how an effect follows from observation."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from pgcpe.cli.question import names, settings
from pgcpe.graphs.explanation import explain
from pgcpe.graphs.load import load_network
from pgcpe.graphs.states import find_state
from pgcpe.graphs.structure import State, States, states_of
from pgcpe.plays.actions import Action, equal_effect

__all__ = ["carry_out"]


def carry_out(arguments: argparse.Namespace) -> int:
    """Print how the effect of an action follows from observation, or why it does not."""
    network = load_network(arguments.network, latents=names(arguments.latents))
    states = states_of(network)
    action = _action(arguments.do, states, arguments.network)
    outcome, _, good = (arguments.reward, "", "") if arguments.reward in states else arguments.reward.partition("=")
    if good and outcome in states:
        find_state(states[outcome], good, outcome)
    smallest = equal_effect(network, action, outcome)
    why = explain(network, smallest, outcome, states=states)
    if arguments.json:
        steps = None if why.sequence is None else [[x, sorted(z)] for x, z in why.sequence]
        answer = {"action": dict(action), "equal_to": dict(smallest), "sequence": steps, "words": why.words}
        formula = {"formula": why.formula, "latex": why.latex}
        print(json.dumps(answer | formula | {"path": why.path, "measure": list(why.measure)}, indent=2))
        return 0
    if smallest != action:
        print(f"{action} has provably the effect of {smallest}.")
    print(why)
    return 0


def _action(texts: Sequence[str], states: States, network: str) -> Action:
    """Return the action that several ``--do`` make up."""
    whole: dict[str, State] = {}
    for text in texts:
        for variable, state in settings(text, states, network).items():
            if variable in whole:
                raise ValueError(f"--do must set a variable once, but {variable} is set twice")
            whole[variable] = state
    return Action(whole)
