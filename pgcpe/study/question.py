"""The question of a study and its policy as plain JSON, and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from pgmpy.base import DAG

from pgcpe.bandit import CausalBandit
from pgcpe.graphs.states import shown
from pgcpe.plays.actions import Action
from pgcpe.policies.base import Policy

__all__ = ["fingerprint", "from_plain", "in_words", "plain_state", "to_plain"]

POLICIES = (
    "PooledCCPE",
    "CCPE",
    "LUCB",
    "KLLUCB",
    "LilUCB",
    "TopTwo",
    "CausalSuccessiveRejects",
    "ParallelBandit",
    "PropagatingInference",
    "SequentialHalving",
    "SuccessiveRejects",
    "TwoPhase",
    "UniformSampling",
)
ESTIMATORS = ("AdmissibleSequence", "BGLM", "EmpiricalMeans")
"""What a file names by its class: nothing else is ever imported because a file says so."""


def to_plain(policy: Policy) -> dict[str, Any]:
    """Return the question of a policy, its class and parameters, as JSON has them.

    Raises
    ------
    TypeError, ValueError
        If it is no policy of the package, was told something, or has a part that JSON cannot hold.
    """
    if not isinstance(policy, Policy):
        raise TypeError(f"policy must be a policy, such as PooledCCPE(bandit), but got {type(policy).__name__}")
    if type(policy).__module__.split(".")[0] != "pgcpe" or type(policy).__name__ not in POLICIES:
        raise ValueError(
            f"a study keeps a policy by its name, which must be one of {', '.join(POLICIES)}, "
            f"but got {type(policy).__name__}"
        )
    if policy.n_plays:
        raise ValueError(
            f"a study must begin with a policy that was told nothing, but this one was told {policy.n_plays:,} plays: "
            "study.import_log(policy.history) tells them to the study"
        )
    parameters = {name: value for name, value in policy.get_params().items() if name != "bandit"}
    return {
        **_plain_bandit(policy.bandit),
        "policy": {"class": type(policy).__name__, "parameters": {k: _plain(k, v) for k, v in parameters.items()}},
    }


def from_plain(question: Mapping[str, Any]) -> Policy:
    """Return the policy of a question, told nothing: the inverse of `to_plain`."""
    graph = DAG()
    graph.add_nodes_from(question["graph"]["nodes"])
    graph.add_edges_from([tuple(edge) for edge in question["graph"]["edges"]])
    graph.latents = set(question["graph"]["latents"])
    states, reward, values = question["states"], question["reward"], question["reward_values"]
    playable = [Action(action) for action in question["playable"]]
    bandit = CausalBandit(
        graph,
        reward=reward,
        arms=[Action(arm) for arm in question["arms"]],
        playable=playable,
        costs=dict(zip(playable, question["costs"], strict=True)),
        states=states,
        reward_values=None if values is None else dict(zip(states[reward], values, strict=True)),
        reward_range=question.get("reward_range"),
        minimise=question.get("minimise", False),
        merge_equal=question["merge_equal"],
    )
    named = question["policy"]
    policy = _made(named, POLICIES, "policies", bandit)
    if not isinstance(policy, Policy):
        raise TypeError(f"{named['class']} is no policy")
    return policy


def fingerprint(question: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a question: of graph, states, reward, arms, costs, policy, epsilon, delta and seed."""
    text = json.dumps(question, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def plain_state(state: Any, variable: str) -> str | int | float | bool:
    """Return a state of a variable if JSON has it, or raise."""
    if isinstance(state, (str, bool, int, float)):
        return state
    raise ValueError(
        f"a study keeps states that are text, numbers or true and false, but {variable} has {shown(state)}: "
        f"name it by text, as in states={{{variable!r}: [{str(state)!r}, ...]}}"
    )


def _plain_bandit(bandit: CausalBandit) -> dict[str, Any]:
    states = {v: [plain_state(s, v) for s in own] for v, own in bandit.states.items()}
    told = bandit.worth.options
    values = None if told["reward_values"] is None else list(told["reward_values"].values())
    scale: dict[str, Any] = {"minimise": True} if told["minimise"] else {}
    if told["reward_range"] is not None:
        scale["reward_range"] = list(told["reward_range"])
    return {
        "graph": {
            "nodes": list(bandit.graph.nodes),
            "edges": [list(edge) for edge in bandit.graph.edges],
            "latents": sorted(v for v in bandit.graph.nodes if v not in bandit.observed),
        },
        "states": states,
        "reward": bandit.reward,
        "reward_values": values,
        **scale,  # left out where it says nothing: fingerprints of before stay what they are
        "arms": [dict(arm) for arm in bandit.listed],
        "playable": [dict(action) for action in bandit.playable],
        "costs": [bandit.costs[action] for action in bandit.playable],
        "merge_equal": bandit.merges,
    }


def _plain(name: str, value: Any) -> Any:
    """Return a parameter of a policy as JSON has it."""
    if type(value).__name__ in ESTIMATORS and type(value).__module__.startswith("pgcpe."):
        inner = {key: _plain(key, own) for key, own in value.get_params(deep=False).items()}
        return {"class": type(value).__name__, "parameters": inner}
    value = value.item() if hasattr(value, "item") else value
    if value is None and name == "seed":
        raise ValueError("a study needs a seed that can be written down, such as seed=0, but got None")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise ValueError(
        f"a study keeps parameters that are numbers, text, or one of {', '.join(ESTIMATORS)}, "
        f"but {name} is {shown(value)}"
    )


def _made(named: Mapping[str, Any], known: tuple[str, ...], room: str, *first: Any) -> Any:
    """Return an object of a class that the package knows, made with parameters from a file."""
    if named["class"] not in known:
        raise ValueError(f"the file names the class {shown(named['class'])}, which must be one of {', '.join(known)}")
    parameters = {
        name: _made(value, ESTIMATORS, "estimators") if isinstance(value, dict) else value
        for name, value in named["parameters"].items()
    }
    return getattr(import_module(f"pgcpe.{room}"), named["class"])(*first, **parameters)


def in_words(policy: Policy) -> str:
    """Return the question of a policy in two or three sentences."""
    bandit = policy.bandit
    arms = f"{len(bandit.listed)} interventions" if len(bandit.listed) > 1 else "1 intervention"
    hidden = [v for v in bandit.graph.nodes if v not in bandit.observed]
    if bandit.worth.values is None:
        worth = f"a number from {bandit.reward_scale.in_words}"
    else:
        worth = ", ".join(f"{state} = {value:g}" for state, value in bandit.worth.values.items())
    most = "lowest" if bandit.reward_scale.minimise else "highest"
    unseen = f", {len(hidden)} of them hidden ({', '.join(hidden)})" if hidden else ""
    return (
        f"Which of {arms} gives the {most} expected {bandit.reward} ({worth})? "
        f"The answer may be worse than the best by {policy.epsilon:g}, and wrong with probability {policy.delta:g}. "
        f"The graph has {len(bandit.graph)} variables{unseen}, and {bandit.graph.number_of_edges()} edges."
    )
