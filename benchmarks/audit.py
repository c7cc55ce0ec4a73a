"""How often a stop or a conflict is wrong on a right graph, where counts are rare or strata many.

    python benchmarks/audit.py --runs 300 --rows data/results/audit.csv

Each case is a question with the arms do(X=0) and do(X=1), told passive observations, with the asymptotic guarantee and
epsilon = 0, looked at whenever the plays have grown by a hundredth or, where there are many strata, once. A run is
`wrong` if it stopped for the other arm; of `conflicts` if direct plays were found to contradict the graph.

The last case is of the numerical guarantee: effects that are products, where there is evidence of a factor of two at
least against coefficients that make the other arm better; a run is `wrong` if another search finds coefficients with
less evidence, by more than the rule allows for.

Three cases are of certificates that trusted another part. *challenger, LUCB1*: three arms, of which observation knows
the worst one well and the best one hardly, CCPE with LUCB1's intervals, epsilon = .02; a rule that looks only at the
arm which these name as challenger stops too early. *without W -> Y*: the graph lacks that edge, and plays of
do(W=0, X=1), of equal effect by the graph, are told before; by PooledCCPE's exact guarantee and by LUCB, epsilon = .05.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
from frame import main
from joblib import Parallel, delayed
from numpy.typing import NDArray
from pgmpy.base import DAG
from scipy.optimize import minimize

from pgcpe import BGLM, CCPE, LUCB, Action, CausalBandit, EmpiricalMeans, PooledCCPE, PooledTrees, do
from pgcpe.estimators.pooled_bglm import PooledBGLM
from pgcpe.estimators.tilted_equations import TiltedEquations
from pgcpe.models.links import LINKS
from pgcpe.models.tilted_search import TiltedNull
from pgcpe.policies.rules.tilted import MARGIN

ARMS = [do(X=0), do(X=1)]
BROKEN_OFF, ONE_BY_ONE = 3_000, 600
"""A policy that plays is broken off, and asked for batches after that."""

CONFOUNDED = DAG([("Z", "X"), ("Z", "Y"), ("X", "Y")])


class Case(NamedTuple):
    """A question and what is told: `strata` equal values of Z (1: no Z), P(X = 1), E[Y | X], observations, delta.

    ``own`` plays of each arm are told beside them where conflicts are looked for; the search for worse cases draws
    strata, P(X = 1) and means anew in every run. Of the numerical guarantee all but delta is drawn.
    """

    strata: int
    x: float
    means: tuple[float, float]
    observations: int
    delta: float
    own: int = 0
    drawn: bool = False
    numerical: bool = False
    most_runs: int = 10**9
    by: str = ""


CASES = {
    "256 strata": Case(256, 0.1, (0.03, 0.02), 25_600, 0.05),
    "rare treatment": Case(1, 0.05, (0.1, 0.102), 4_000, 0.01),
    "128 strata, conflicts": Case(128, 0.1, (0.03, 0.02), 12_800, 0.05, own=2_000),
    "drawn strata": Case(0, 0.0, (0.0, 0.0), 0, 0.05, drawn=True),
    "numerical, products": Case(0, 0.0, (0.0, 0.0), 0, 0.05, numerical=True, most_runs=60),
    "challenger, LUCB1": Case(1, 0.02, (0.05, 0.6), 0, 0.1, by="CCPE"),
    "without W -> Y, PooledCCPE": Case(1, 0.5, (0.5, 0.73), 400, 0.05, by="PooledCCPE"),
    "without W -> Y, LUCB": Case(1, 0.5, (0.5, 0.73), 400, 0.05, by="LUCB"),
}


def _drawn(seed: int) -> Case:
    """Return a case of 8 to 256 strata, a rare treatment, rare outcomes and 20 to 200 observations a stratum."""
    rng = np.random.default_rng([seed, 1])
    strata = int(2 ** rng.uniform(3, 8))
    low = float(np.exp(rng.uniform(np.log(0.005), np.log(0.1))))
    means = (low, low * float(rng.uniform(1.05, 1.5)))
    x, each = float(rng.uniform(0.03, 0.3)), int(rng.uniform(20, 200))
    return Case(strata, x, means if rng.random() < 0.5 else means[::-1], strata * each, 0.05)


def _observations(case: Case, n: int, rng: np.random.Generator, x: int | None = None) -> pd.DataFrame:
    z = rng.integers(0, case.strata, n)
    treated = (rng.random(n) < case.x).astype(int) if x is None else np.full(n, x)
    y = (rng.random(n) < np.array(case.means)[treated]).astype(int)
    return pd.DataFrame({"Z": z, "X": treated, "Y": y})


NEVER_LESS = np.log(2.0)
"""No rule asks less evidence than that for an error probability of one half."""

PRODUCTS = (
    [("X", "M"), ("M", "Y")],
    [("X", "M"), ("M", "Y"), ("X", "Y")],
    [("X", "L"), ("L", "M"), ("M", "Y")],
    [("X", "L"), ("X", "M"), ("L", "Y"), ("M", "Y")],
)
"""Effects of X that are products of coefficients, or sums of products."""


def products(seed: int) -> tuple[int, TiltedNull]:
    """Return the better arm of a question with effects that are products, and what bets say of the other."""
    rng = np.random.default_rng([seed, 2])
    graph, link = DAG(PRODUCTS[seed % len(PRODUCTS)]), ("logit", "identity")[seed // len(PRODUCTS) % 2]
    bandit = CausalBandit(graph, reward="Y", arms=ARMS)
    model = PooledBGLM(BGLM(link))
    bandit = bandit.recording(model.required(bandit))
    model.start(bandit)
    bets, plays = TiltedEquations(model, 0.0), 0
    small = {v: rng.uniform(-0.2, 0.2, 3) if link == "identity" else rng.normal(0, 0.6, 3) for v in graph}
    for arm, n in ((None, rng.integers(50, 500)), (0, rng.integers(20, 200)), (1, rng.integers(20, 200))):
        drawn: dict[str, NDArray[np.int64]] = {}
        for v in nx.topological_sort(graph):
            parents = sorted(graph.predecessors(v))
            predictor = (0.5 if link == "identity" else 0.0) + sum(
                ((2 * drawn[u] - 1) * w for u, w in zip(parents, small[v][1:], strict=False)), np.full(n, small[v][0])
            )
            free = (rng.random(n) < LINKS[link].probability(predictor)).astype(int)
            drawn[v] = free if v != "X" or arm is None else np.full(n, arm)
        told = bandit.encode(do() if arm is None else ARMS[arm], pd.DataFrame(drawn))
        start, first = plays, plays
        while plays < start + n:
            plays = min(bets.due, start + n)
            model.update(told.rows(slice(first - start, plays - start)))
            bets.follow(int(np.argmax(model.estimates())), plays)
            first = plays
    leader = int(np.argmax(model.estimates()))
    null = bets.null(leader, 1 - leader)
    assert null is not None
    return leader, null


def _numerical(seed: int) -> dict[str, bool]:
    """Return whether a search for the least evidence ended well, and whether another one finds less."""
    _, null = products(seed)
    least, _ = null.least(NEVER_LESS)
    certified = least >= NEVER_LESS
    return {"stopped": certified, "wrong": certified and refuted(null, least - MARGIN, seed), "conflicts": False}


def _three_arms(action: Action, rng: np.random.Generator) -> dict[str, int]:
    """Return a play where X = 0, 1, 2 is worth .05, .5 and .6 and observed with probability .6, .38 and .02."""
    x = action["X"] if action else int(rng.choice(3, p=(0.6, 0.38, 0.02)))
    return {"X": x, "Y": int(rng.random() < (0.05, 0.5, 0.6)[x])}


def _edge_unknown(action: Action, rng: np.random.Generator) -> dict[str, int]:
    """Return a play where X = 0 is worth .5, and X = 1 is worth .8 if W = 1, as nine times in ten, else .1."""
    w = action["W"] if "W" in action else int(rng.random() < 0.9)
    x = action["X"] if "X" in action else int(rng.random() < 0.5)
    return {"W": w, "X": x, "Y": int(rng.random() < (0.5 if x == 0 else (0.1, 0.8)[w]))}


def _named(case: Case, seed: int) -> dict[str, bool]:
    """Return whether a policy that plays stopped with a certificate, whether for a worse arm, and saw a conflict."""
    rng = np.random.default_rng([seed, 7])
    options = {"delta": case.delta, "seed": seed}
    if case.by == "CCPE":
        arms = [do(X=x) for x in range(3)]
        bandit = CausalBandit(DAG([("X", "Y")]), reward="Y", arms=arms, states={"X": (0, 1, 2)})
        policy, play = CCPE(bandit, direct=EmpiricalMeans("lucb1"), epsilon=0.02, **options), _three_arms
    else:
        bandit = CausalBandit(DAG([("W", "X"), ("X", "Y")]), reward="Y", arms=ARMS)
        kind = PooledCCPE if case.by == "PooledCCPE" else LUCB
        policy, play = kind(bandit, epsilon=0.05, **options), _edge_unknown
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of conflicts
        for told in (do(W=0, X=1), do(X=0), do()) if case.observations else ():
            policy.tell(told, [play(told, rng) for _ in range(case.observations)])
        while not policy.stopped and policy.n_plays < BROKEN_OFF:
            actions = policy.ask() if policy.n_plays < ONE_BY_ONE else policy.ask(90)
            policy.tell(actions, [play(action, rng) for action in actions])
    certified = policy.certificate is not None
    wrong = certified and policy.recommendation != bandit.arms[-1]
    return {"stopped": certified, "wrong": wrong, "conflicts": bool(policy.conflicts)}


def refuted(null: TiltedNull, asked: float, seed: int, starts: int = 40) -> bool:
    """Return whether a search from many random points, unlike those of the package, finds less evidence than asked."""
    rng = np.random.default_rng([seed, 3])
    inside = {"type": "ineq", "fun": lambda u: null.room(u)[0]}  # gradients by differences, not those of the package
    for _ in range(starts):
        u = rng.standard_normal(null.n)
        u *= rng.uniform(0.3, 3.0) / np.linalg.norm(u)
        options = {"maxiter": 200, "ftol": 1e-8}
        end = minimize(lambda u: null.evidence(u)[0], u, method="SLSQP", constraints=[inside], options=options).x
        if null.contradicts(null.parameters(end), asked):
            return True
    return False


def run(name: str, seed: int) -> dict[str, bool]:
    """Return whether a run stopped, whether for the worse arm, and whether a conflict was found."""
    case = CASES[name]
    if case.numerical:
        return _numerical(seed)
    if case.by:
        return _named(case, seed)
    if case.drawn:
        case = _drawn(seed)
    rng = np.random.default_rng(seed)
    graph = CONFOUNDED if case.strata > 1 else DAG([("X", "Y")])
    states = {"Z": tuple(range(case.strata))} if case.strata > 1 else None
    bandit = CausalBandit(graph, reward="Y", arms=ARMS, states=states)
    told = _observations(case, case.observations, rng)
    if case.own:
        trees = PooledTrees().start(bandit).update(bandit.encode(do(), told))
        for x, arm in enumerate(ARMS):
            trees.update(bandit.encode(arm, _observations(case, case.own, rng, x)))
        return {"stopped": False, "wrong": False, "conflicts": bool(trees.contradictions(case.delta).any())}
    policy = PooledCCPE(bandit, guarantee="asymptotic", epsilon=0.0, delta=case.delta)
    looks = [case.observations] if case.strata > 1 else _looks(case.observations)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of conflicts
        for start, end in zip([0, *looks], looks, strict=False):
            policy.tell(do(), told.iloc[start:end][[*graph.nodes]])
            if policy.stopped:
                break
    wrong = policy.stopped and policy.recommendation != ARMS[int(np.argmax(case.means))]
    return {"stopped": policy.stopped, "wrong": wrong, "conflicts": False}


def _looks(n: int) -> list[int]:
    looks = [100]
    while looks[-1] < n:
        looks.append(min(max(looks[-1] + 1, int(looks[-1] * 1.01)), n))
    return looks


def study(runs: int, jobs: int) -> pd.DataFrame:
    """Return a row for each case."""
    rows = []
    for name, case in CASES.items():
        n = min(runs, case.most_runs)
        found = pd.DataFrame(Parallel(jobs)(delayed(run)(name, seed) for seed in range(n)))
        rows.append({"case": name, "delta": case.delta, "runs": n, **found.sum().astype(int).to_dict()})
    return pd.DataFrame(rows)


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows as they are."""
    return rows


def markdown(rows: pd.DataFrame) -> str:
    """Return the table of the README."""
    return str(rows.to_markdown(index=False))


if __name__ == "__main__":
    main(__doc__, study=study, table=table, markdown=markdown, runs=300)
