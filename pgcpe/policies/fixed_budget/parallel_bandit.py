"""The parallel bandit algorithm, for graphs whose causes of the reward are independent."""

from __future__ import annotations

import networkx as nx

from pgcpe.bandit import CausalBandit
from pgcpe.policies.base import Policy
from pgcpe.policies.fixed_budget.two_phase import observe_then_play
from pgcpe.policies.rules.base import Seed

__all__ = ["ParallelBandit"]


class ParallelBandit(Policy):
    """The parallel bandit algorithm of Lattimore, Lattimore and Reid 2016 (Algorithm 1), on parallel graphs.

    T/2 plays of ``do()`` estimate q_a = P(X_i = x) and the mean of every ``do(X_i=x)``. The arms with q_a at most 1/m,
    m the observation threshold of the estimated q, share the other half of the budget; their means are those of their
    own plays, those of all others stay what was observed. Where no arm is so rare, observation goes on.

    Guarantee, fixed budget: a simple regret of order ``sqrt(m/T log(N T/m))``. Left out: their Algorithm 2 for general
    graphs, which has to know all distributions but that of the reward.

    Parameters
    ----------
    bandit
        The question: independent causes of the reward without hidden variables, each arm ``do()`` or one set cause.
    budget
        T, at least 1.
    seed
        As for `Policy`.

    Raises
    ------
    ValueError
        If the graph is not parallel, or an arm sets more than one variable.
    """

    def __init__(self, bandit: CausalBandit, *, budget: int, seed: Seed = 0) -> None:
        parts = observe_then_play(bandit, budget, type(self).__name__, at_threshold=True)
        causes = bandit.graph.subgraph(nx.ancestors(bandit.graph, bandit.reward))
        if causes.edges or bandit.graph.latents & set(causes):
            raise ValueError(
                "ParallelBandit needs a parallel graph, observed causes of the reward without edges among them; "
                "TwoPhase takes any graph"
            )
        self.budget = budget
        super().__init__(bandit, **parts, seed=seed)
