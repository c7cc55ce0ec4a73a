"""Measures of how hard a question is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from tqdm.auto import tqdm

from pgcpe.bandit import CausalBandit
from pgcpe.networks import pgmpy_part

__all__ = ["observation_probabilities"]


def observation_probabilities(network: Any, bandit: CausalBandit, *, progress: bool | None = None) -> pd.Series[float]:
    """Return q_a of every arm, exactly, from the network: how easily it is estimated by observation.

    ``q_a = min_z P(S=s, Z_a=z)`` over the values of the variables of the arm's admissible sequence (section 5.1); 1 for
    ``do()``, 0 for an arm without a sequence. An arm merged with others has the q of its canonical action.

    Parameters
    ----------
    network
        The network the bandit was made of.
    bandit
        The arms.
    progress
        Whether to show a progress bar; by default where there is a terminal.

    Returns
    -------
    pandas.Series
        In [0, 1], indexed by the arms.

    Examples
    --------
    >>> from pgcpe import do, interventions, load_network
    >>> network = load_network("cancer")
    >>> arms = interventions(network, reward="Dyspnoea", variables=["Smoker", "Cancer"])
    >>> bandit = CausalBandit(network, reward="Dyspnoea", arms=arms, reward_values={"True": 0, "False": 1})
    >>> observation_probabilities(network, bandit).round(4).tolist()
    [1.0, 0.3, 0.7, 0.0116, 0.9884]
    """
    engine = pgmpy_part("inference").VariableElimination(network)
    joints: dict[tuple[str, ...], Any] = {}
    q = np.zeros(len(bandit.arms))
    hidden = None if progress is None else not progress
    pairs = list(zip(bandit.canonical, bandit.sequences, strict=True))
    for i, (action, sequence) in enumerate(tqdm(pairs, "q_a", disable=hidden)):
        if sequence is None:
            continue
        if not action:
            q[i] = 1.0
            continue
        if action.variables not in joints:
            joints[action.variables] = engine.query(
                [v for x, z in sequence for v in (x, *sorted(z))], show_progress=False
            )
        joint = joints[action.variables]
        chosen = tuple(joint.state_names[v].index(action[v]) if v in action else slice(None) for v in joint.variables)
        q[i] = np.min(joint.values[chosen])
    return pd.Series(q, index=pd.Index(bandit.arms, dtype=object, tupleize_cols=False), name="q_a")
