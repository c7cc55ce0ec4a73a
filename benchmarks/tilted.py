"""How often the bets of the best arm are ever large at the true tables: the event of a wrong numerical stop.

    python benchmarks/tilted.py --rows data/results/tilted.csv

The evidence of one arm, the best, against the true tables, at all looks of an adaptive run of 500 plays that does not
stop. At most a share a of the runs may ever see 1 / a. Three small models: rewards and variables of three states; rows
that are rarely met, or sure; three arms exactly as good as one another, the best. And two processes of a pair, a leader
that is not the best against the best arm, where the reward has a hidden cause in common with another variable: on the
chain of both formulas, and on the tree of the one beside direct plays of the other.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import frame
import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray

from pgcpe import (
    Action,
    CausalBandit,
    PooledCCPE,
    PooledTrees,
    SimulatedEnvironment,
    TableModel,
    do,
    expected_rewards,
    interventions,
    load_network,
)
from pgcpe.estimators.tilted_pairs import PairBets, TiltedPairs
from pgcpe.estimators.tilted_tables import TiltedTables
from pgcpe.models.network_tables import tables_of

Floats = NDArray[np.float64]
PLAYS, LEVELS = 500, (0.05, 0.1, 0.3)
NEVER = 1e-12
"""An error probability at which nothing stops."""

THREE_STATES = """network three_states { }
variable Z { type discrete [ 3 ] { a, b, c }; }
variable X { type discrete [ 3 ] { a, b, c }; }
variable Y { type discrete [ 3 ] { bad, fair, good }; }
probability ( Z ) { table 0.5, 0.4, 0.1; }
probability ( X | Z ) { (a) 0.7, 0.2, 0.1; (b) 0.3, 0.5, 0.2; (c) 0.1, 0.3, 0.6; }
probability ( Y | X, Z ) {
  (a, a) 0.6, 0.3, 0.1; (a, b) 0.3, 0.4, 0.3; (a, c) 0.1, 0.1, 0.8;
  (b, a) 0.3, 0.6, 0.1; (b, b) 0.2, 0.2, 0.6; (b, c) 0.2, 0.5, 0.3;
  (c, a) 0.5, 0.3, 0.2; (c, b) 0.4, 0.1, 0.5; (c, c) 0.1, 0.5, 0.4;
}
"""

RARE = """network rare { }
variable A { type discrete [ 2 ] { 0, 1 }; }
variable B { type discrete [ 2 ] { 0, 1 }; }
variable C { type discrete [ 2 ] { 0, 1 }; }
variable Y { type discrete [ 2 ] { 0, 1 }; }
probability ( A ) { table 0.97, 0.03; }
probability ( B | A ) { (0) 0.9, 0.1; (1) 0.0, 1.0; }
probability ( C | A ) { (0) 0.5, 0.5; (1) 0.5, 0.5; }
probability ( Y | B, C ) { (0, 0) 1.0, 0.0; (0, 1) 0.95, 0.05; (1, 0) 0.9, 0.1; (1, 1) 0.0, 1.0; }
"""

TIES = """network ties { }
variable A { type discrete [ 2 ] { 0, 1 }; }
variable B { type discrete [ 2 ] { 0, 1 }; }
variable Y { type discrete [ 2 ] { 0, 1 }; }
probability ( A ) { table 0.6, 0.4; }
probability ( B | A ) { (0) 0.8, 0.2; (1) 0.3, 0.7; }
probability ( Y | A, B ) { (0, 0) 0.7, 0.3; (1, 0) 0.7, 0.3; (0, 1) 0.4, 0.6; (1, 1) 0.4, 0.6; }
"""


HIDDEN = """network hidden { }
variable U { type discrete [ 2 ] { 0, 1 }; }
variable Z { type discrete [ 2 ] { 0, 1 }; }
variable X { type discrete [ 2 ] { 0, 1 }; }
variable A { type discrete [ 2 ] { 0, 1 }; }
variable Y { type discrete [ 2 ] { 0, 1 }; }
probability ( U ) { table 0.5, 0.5; }
probability ( Z ) { table 0.6, 0.4; }
probability ( X | Z ) { (0) 0.8, 0.2; (1) 0.2, 0.8; }
probability ( A | U ) { (0) 0.8, 0.2; (1) 0.2, 0.8; }
probability ( Y | X, A, Z, U ) {
  (0, 0, 0, 0) 0.9, 0.1; (0, 0, 0, 1) 0.7, 0.3; (0, 0, 1, 0) 0.8, 0.2; (0, 0, 1, 1) 0.6, 0.4;
  (0, 1, 0, 0) 0.75, 0.25; (0, 1, 0, 1) 0.55, 0.45; (0, 1, 1, 0) 0.65, 0.35; (0, 1, 1, 1) 0.45, 0.55;
  (1, 0, 0, 0) 0.6, 0.4; (1, 0, 0, 1) 0.4, 0.6; (1, 0, 1, 0) 0.5, 0.5; (1, 0, 1, 1) 0.3, 0.7;
  (1, 1, 0, 0) 0.45, 0.55; (1, 1, 0, 1) 0.25, 0.75; (1, 1, 1, 0) 0.35, 0.65; (1, 1, 1, 1) 0.15, 0.85;
}
"""
"""The effect of X is that given Z; A and Y have the hidden cause U in common, which leaves no formula for A."""

PAIRS = {"hidden cause, chain": do(), "hidden cause, tree and mean": do(A=1)}
"""The leader of each pair; the best arm is do(X=1). They have half of the runs."""


def models() -> dict[str, tuple[Any, CausalBandit]]:
    """Return the networks and questions, by name."""
    made = {}
    for name, source, values, size in [
        ("three states", THREE_STATES, {"bad": 0, "fair": 0.5, "good": 1}, 1),
        ("rare and sure rows", RARE, None, 1),
        ("three ties", TIES, None, 2),
    ]:
        network = load_network(source)
        arms = interventions(network, reward="Y", max_size=size)
        made[name] = network, CausalBandit(network, reward="Y", arms=arms, reward_values=values, merge_equal=False)
    return made


def true_tables(network: Any, bandit: CausalBandit, model: TableModel) -> Floats:
    """Return the true probabilities of all entries, those of the reward's rows of 0 and of 1."""
    known, entries = tables_of(network), []
    for node, parents in zip(model.nodes_, model.parents_, strict=True):
        table = known[node]
        order = [table.parents.index(model.nodes_[p]) for p in parents]
        values = table.values.transpose(*order, len(parents))
        if node == bandit.reward:
            mean = values @ bandit.reward_array
            values = np.stack([1.0 - mean, mean], axis=-1)
        entries.append(values.ravel())
    return np.concatenate(entries)


def hidden() -> tuple[Any, CausalBandit]:
    """Return the network with a hidden cause and the question."""
    network = load_network(HIDDEN, latents=["U"])
    arms = interventions(network, reward="Y", variables=["X", "A"], max_size=1)
    return network, CausalBandit(network, reward="Y", arms=arms)


def joint(network: Any, names: tuple[str, ...], action: Action) -> Floats:
    """Return the joint distribution of binary variables under an action, an axis for each of them."""
    known = tables_of(network)
    order, out = list(known), np.zeros((2,) * len(names))
    for states in itertools.product((0, 1), repeat=len(order)):
        code, p = dict(zip(order, states, strict=True)), 1.0
        for v in order:
            if v in action.variables:
                p *= float(str(action[v]) == str(code[v]))
            else:
                p *= known[v].values[tuple(code[u] for u in (*known[v].parents, v))]
        out[tuple(code[v] for v in names)] += p
    return out


def true_factors(network: Any, bandit: CausalBandit, bets: PairBets) -> Floats:
    """Return the true probabilities of all rows that a pair bets on."""
    names, entries = bandit.coding.variables, []
    for factor in bets.factors:
        if factor.condition is None:
            entries.append(joint(network, names, bandit.arms[factor.arm]).reshape(-1, 2).sum(axis=0))
            continue
        at = joint(network, names, do())
        for column, code in zip(factor.fixed, factor.codes, strict=True):
            at = np.take(at, [code], axis=column)
        kept = [*factor.given, factor.variable % len(names)]
        rest = tuple(j for j in range(len(names)) if j not in kept)
        found = at.sum(axis=rest)  # the axes that are left are in the order of the names, and so are `kept`
        entries.append((found / found.sum(axis=-1, keepdims=True)).ravel())
    return np.concatenate(entries)


def largest_of_pair(name: str, seed: int, plays: int = PLAYS) -> float:
    """Return the same of a pair: the largest logarithm of the evidence of a leader against the truth in one run."""
    network, bandit = hidden()
    policy = PooledCCPE(bandit, guarantee="asymptotic", epsilon=0.0, delta=NEVER, refresh=10**9, seed=seed)
    world = SimulatedEnvironment(network, seed=np.random.SeedSequence([18, seed]))
    pairs = TiltedPairs(policy.bandit, policy.state.estimator(PooledTrees).rounds, 0.0)
    bets = pairs.of(bandit.index(bandit.action(PAIRS[name])), bandit.index(bandit.action(do(X=1))))
    assert bets is not None
    truth, found = true_factors(network, policy.bandit, bets), -math.inf
    while policy.n_plays < plays:
        action = policy.ask()[0]
        policy.tell(action, world.perform([action]))
        bets.follow(pairs.rounds)
        if bets.epochs:
            found = max(found, bets.of(1).log_evidence(truth)[0])
    return found


def largest(name: str, seed: int, plays: int = PLAYS) -> float:
    """Return the largest logarithm of the evidence of the best arm against the truth in one run."""
    network, bandit = models()[name]
    truth = expected_rewards(network, bandit, progress=False).to_numpy()
    policy = PooledCCPE(bandit, guarantee="asymptotic", epsilon=0.0, delta=NEVER, refresh=10**9, seed=seed)
    world = SimulatedEnvironment(network, seed=np.random.SeedSequence([18, seed]))
    model = policy.state.estimator(TableModel)
    bets = TiltedTables(model.table_counts, bandit.reward_array, len(bandit.arms), 0.0)
    best, tables, found = int(truth.argmax()), true_tables(network, bandit, model), -math.inf
    while policy.n_plays < plays:
        action = policy.ask()[0]  # one by one, so that every play is seen
        policy.tell(action, world.perform([action]))
        if policy.n_plays == bets.due:
            bets.begin(policy.state.leader, policy.n_plays)
        if bets.epochs:
            found = max(found, bets.of(best).log_evidence(tables)[0])
    return found


def study(runs: int, jobs: int) -> pd.DataFrame:
    """Return a row for every model and run."""
    asked = [(name, seed) for name in models() for seed in range(runs)]
    asked += [(name, seed) for name in PAIRS for seed in range(runs // 2)]
    found = Parallel(n_jobs=jobs)(delayed(largest_of_pair if one[0] in PAIRS else largest)(*one) for one in asked)
    return pd.DataFrame(
        {"model": name, "seed": seed, "largest": value} for (name, seed), value in zip(asked, found, strict=True)
    )


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return for each model the share of runs in which 1 / level was ever reached."""
    lines = []
    for name, mine in rows.groupby("model", sort=False):
        reached = {f"at {level:g}": (mine["largest"] >= -math.log(level)).mean() for level in LEVELS}
        lines.append({"model": name, "runs": len(mine), **reached})
    return pd.DataFrame(lines)


def markdown(rows: pd.DataFrame) -> str:
    """Return the table of the README."""
    summed = table(rows)
    return frame.as_markdown(summed.map(lambda x: f"{x:.3f}" if isinstance(x, float) else str(x)))


if __name__ == "__main__":
    frame.main(__doc__, study=study, table=table, markdown=markdown, runs=100)
