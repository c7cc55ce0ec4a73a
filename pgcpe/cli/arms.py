"""``pgcpe arms``: the arms and what is known of them."""

from __future__ import annotations

import argparse
import json

import pandas as pd

from pgcpe.cli.question import question, tolerance
from pgcpe.complexity import hard_arms, observation_probabilities
from pgcpe.environment.exact import expected_rewards
from pgcpe.graphs.explanation import Explanation, explain
from pgcpe.policies.result import equal_arms

__all__ = ["carry_out"]


def carry_out(arguments: argparse.Namespace) -> int:
    """Print every arm: whether observation is enough for it, how it is estimated, and what it was merged with."""
    network, bandit = question(arguments)
    scale, epsilon = bandit.reward_scale, tolerance(arguments, bandit)
    q = observation_probabilities(network, bandit)
    hard = [False] * len(q)
    if len(q) > 1:
        shares = scale.share(expected_rewards(network, bandit))
        hard = hard_arms(q, shares, epsilon / scale.width).tolist()
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
        return 0
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
        f"\nhard: for its gap to the best, at epsilon = {epsilon:g}, observed so seldom that it has to be "
        f"played: {sum(hard)} of {len(hard)} arms, if the truth is like {arguments.network}."
    )
    return 0


def _short(why: Explanation) -> str:
    """Return how an effect follows from observation in a few words."""
    if why.sequence is None:
        return f"no: {why.path}"
    adjusted = [v for _, z in why.sequence for v in sorted(z)]
    return f"adjusting for {', '.join(adjusted)}" if adjusted else "as it is"
