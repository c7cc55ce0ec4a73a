"""q_a: how easily an arm is estimated by observation alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from tqdm.auto import tqdm

from pgcpe.bandit import CausalBandit
from pgcpe.environment.exact import arms_by_set
from pgcpe.estimators.admissible import AdmissibleSequence
from pgcpe.estimators.node_equations import modelled_graph
from pgcpe.graphs.identification import nodes_on_paths
from pgcpe.models.elimination import sum_out, tables_upstream
from pgcpe.models.network_tables import tables_of
from pgcpe.plays.actions import Action
from pgcpe.plays.encoding import as_frame
from pgcpe.plays.frames import labels_of

__all__ = [
    "bglm_observation_probabilities",
    "estimated_observation_probabilities",
    "observation_probabilities",
]

NULL = Action()


def bglm_observation_probabilities(bandit: CausalBandit, *, constant: str | None = None) -> pd.Series[float]:
    """Return q_a of every arm in a BGLM, Eq. (5): ``1 / (l^2 D^3)``, which depends on the graph alone; 1 for ``do()``.

    l is the size of N_{S,Y} and D the largest number of parents of a node among the ancestors of the reward, the
    constant included.

    Parameters
    ----------
    bandit
        The arms.
    constant
        As for `BGLM`.

    Raises
    ------
    ValueError
        If the graph has hidden common causes or a node more than two states.

    Examples
    --------
    >>> from pgmpy.base import DAG
    >>> from pgcpe import do
    >>> bandit = CausalBandit(DAG([("A", "B"), ("B", "Y")]), reward="Y", arms=[do(), do(A=1), do(B=1)])
    >>> bglm_observation_probabilities(bandit).round(4).tolist()
    [1.0, 0.0312, 0.125]
    """
    graph = modelled_graph(bandit.graph, bandit.states, bandit.reward, constant)
    most = max(graph.in_degree(v) + (constant is None) for v in graph if v != constant)
    q = np.ones(len(bandit.arms))
    for variables, arms in arms_by_set(bandit).items():
        if variables:
            ell = len(nodes_on_paths(graph, variables, bandit.reward) - {constant})
            q[arms] = 1.0 / (ell**2 * float(most) ** 3)
    return _over_arms(bandit, q)


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
    tables = tables_of(network)
    q = np.zeros(len(bandit.arms))
    hidden = None if progress is None else not progress
    for variables, arms in tqdm(arms_by_set(bandit).items(), "q_a", disable=hidden):
        sequence = bandit.sequence_of_set[variables]
        if sequence is not None:
            cells = [*variables, *(v for _, z in sequence for v in z)]
            joint = sum_out(tables_upstream(tables, cells), cells)
            rarest = joint.min(axis=tuple(range(len(variables), len(cells))))
            q[arms] = [rarest[tuple(tables[v].states.index(bandit.canonical[i][v]) for v in variables)] for i in arms]
    return _over_arms(bandit, q)


def estimated_observation_probabilities(bandit: CausalBandit, data: Any) -> pd.Series[float]:
    """Return the estimate of q_a of every arm from passive observations: the share of them in its rarest cell.

    1 for ``do()``, 0 for an arm without an admissible sequence or with a cell that was never seen. It errs downwards:
    the smallest of several shares is below the smallest probability on average.

    Parameters
    ----------
    bandit
        The arms.
    data
        A frame with one row a play, or what else `Policy.tell` takes; where its index names actions, the rows of
        ``do()``.

    Returns
    -------
    pandas.Series
        In [0, 1], indexed by the arms.

    Raises
    ------
    ValueError
        If there is no passive observation, or a row does not fit the bandit.

    Examples
    --------
    >>> from pgcpe import SimulatedEnvironment, do, interventions, load_network
    >>> network = load_network("cancer")
    >>> arms = interventions(network, reward="Dyspnoea", variables=["Smoker", "Cancer"])
    >>> bandit = CausalBandit(network, reward="Dyspnoea", arms=arms, reward_values={"True": 0, "False": 1})
    >>> data = SimulatedEnvironment(network, seed=0).sample(do(), 10_000).to_frame()
    >>> estimated_observation_probabilities(bandit, data).round(2).tolist()
    [1.0, 0.3, 0.7, 0.01, 0.99]
    """
    frame = as_frame(data)
    samples = bandit.encode(labels_of(frame) or NULL, frame)
    estimator = AdmissibleSequence(refresh=1).start(bandit).update(samples)
    if not any(not samples.actions[i] for i in set(samples.which.tolist())):
        raise ValueError("there is no passive observation to estimate from")
    q = np.where([not arm for arm in bandit.canonical], 1.0, estimator.observed_shares())
    return _over_arms(bandit, q)


def _over_arms(bandit: CausalBandit, q: NDArray[np.float64]) -> pd.Series[float]:
    return pd.Series(q, index=pd.Index(bandit.arms, dtype=object, tupleize_cols=False), name="q_a")
