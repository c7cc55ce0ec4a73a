"""Which estimates of large tables recommend the best arm: plain rows, and rows shrunk towards models of all of them.

    python benchmarks/shrinkage.py --runs 500 --rows data/results/shrinkage.csv.gz

A fifth of the plays are ``do()``, the others the arms in turn, in random order. All estimates see the same plays, and
differ in the tables of three parents or more alone: *plain* rows (c + 1/2) / (n + m/2); an additive model of all rows,
*charged* two nats for each degree of freedom it used; the additive model, the one of pairs of parents, and both, scored
by leaving plays out (the last are the package's). Experiments 1 to 3, and two hundred random networks
(`random_networks.py`) with such a table and nothing hidden. A run is wrong where the arm recommended is not the best.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pandas as pd
import stops
from frame import as_markdown, main
from joblib import Parallel, delayed
from numpy.typing import NDArray
from wrong_answers import posed

from pgcpe import CausalBandit, SimulatedEnvironment, do
from pgcpe.estimators.shrinkage import FEWEST_PARENTS, LEAST, RIDGE, STRENGTHS, Interactions, drawn_shares
from pgcpe.estimators.table_model import TableModel
from pgcpe.models.contraction import Contraction

PLAYS, OBSERVED, NETWORKS = (50, 100, 200, 500), 5, 200
RANDOM = "random networks"
CHARGE = 2.0

Floats = NDArray[np.float64]
Shares = Callable[[Floats, tuple[int, ...]], Floats]


def plain(counts: Floats, cards: tuple[int, ...]) -> Floats:
    """Return the rows, each by its own plays."""
    return (counts + 0.5) / (counts + 0.5).sum(axis=1, keepdims=True)


def charged(counts: Floats, cards: tuple[int, ...]) -> Floats:
    """Return the rows shrunk towards an additive model that is charged for what it used of the plays that score it."""
    models = Interactions.of(cards)
    design, (rows, states) = models.design[:, : models.widths[0]], counts.shape
    n = counts.sum(axis=1, keepdims=True)
    seen = (design * n).T @ design
    penalised = seen + np.diag([0.5 * states, *[RIDGE] * (design.shape[1] - 1)])
    toward = design.T @ counts
    toward[0] += 0.5
    model = np.maximum(design @ np.linalg.solve(penalised, toward), LEAST)
    model /= model.sum(axis=1, keepdims=True)
    priors = [strength * model for strength in STRENGTHS] + [np.full((rows, states), 0.5)]
    fits = []
    for prior in priors:
        with np.errstate(divide="ignore", invalid="ignore"):
            others = np.log((counts - 1.0 + prior) / (n - 1.0 + prior.sum(axis=1, keepdims=True)))
        fits.append(float(np.where(counts > 0, counts * others, 0.0).sum()))
    spent = CHARGE * (states - 1) * np.trace(np.linalg.solve(penalised, seen))
    fit = np.array(fits) - [*[spent] * len(STRENGTHS), 0.0]
    weights = np.exp(fit - fit.max())
    estimates = [(counts + prior) / (n + prior.sum(axis=1, keepdims=True)) for prior in priors]
    return np.asarray(np.tensordot(weights / weights.sum(), np.array(estimates), axes=1))


def left_out(first: int, last: int) -> Shares:
    """Return how rows are shrunk towards some of the package's models."""

    def shares(counts: Floats, cards: tuple[int, ...]) -> Floats:
        models = Interactions.of(cards)
        return drawn_shares(counts, models._replace(widths=models.widths[first:last]))

    return shares


ESTIMATES: dict[str, Shares] = {
    "plain": plain,
    "additive, charged": charged,
    "additive": left_out(0, 1),
    "pairs": left_out(1, 2),
    "additive and pairs": left_out(0, 2),
}


def large(model: TableModel) -> list[int]:
    """Return the nodes whose tables are shrunk."""
    return [i for i, parents in enumerate(model.parents_) if len(parents) >= FEWEST_PARENTS]


def random_questions() -> Iterator[int]:
    """Return the seeds of random networks with such a table and nothing hidden."""
    seed = -1
    while True:
        seed += 1
        try:
            model = TableModel().start(random_question(seed)[0])
        except ValueError:  # something is hidden
            continue
        if large(model):
            yield seed


@cache
def first_networks() -> tuple[int, ...]:
    """Return the seeds of the two hundred."""
    seeds = random_questions()
    return tuple(next(seeds) for _ in range(NETWORKS))


def random_question(seed: int) -> tuple[CausalBandit, SimulatedEnvironment]:
    """Return the question of `wrong_answers.py` of that seed, and its environment."""
    network, bandit = posed(RANDOM, seed)
    return bandit, SimulatedEnvironment(network, seed=np.random.SeedSequence([17, seed]))


def run(name: str, seed: int) -> list[dict[str, object]]:
    """Return a row for each estimate and number of plays."""
    bandit, environment = random_question(seed) if name == RANDOM else stops.instance(name, seed)
    model = TableModel().start(bandit)
    truth = environment.expected_rewards(bandit).to_numpy()
    contract = Contraction(model.parents_, model.cards_, model.forced_, len(model.nodes_) - 1)
    turns = np.random.default_rng(np.random.SeedSequence([16, seed])).permutation(len(bandit.arms))
    arms = itertools.cycle(bandit.arms[i] for i in turns)
    actions = [do() if i % OBSERVED == 0 else next(arms) for i in range(max(PLAYS))]
    samples, rows, told = bandit.encode(actions, environment.perform(actions)), [], 0
    for plays in PLAYS:
        model.update(samples.rows(slice(told, plays)))
        told = plays
        for estimate, shares in ESTIMATES.items():
            tables = model.tables()
            for i in large(model):
                counts = model.counts_[i]
                found = shares(counts.reshape(-1, counts.shape[-1]), counts.shape[:-1])
                tables[i] = found.reshape(counts.shape)
            tables[len(model.nodes_) - 1] = tables[len(model.nodes_) - 1] @ bandit.reward_array
            regret = float(truth.max() - truth[np.asarray(contract(tables)).round(12).argmax()])
            row = {"experiment": name, "seed": seed, "estimate": estimate, "plays": plays}
            rows.append({**row, "regret": round(regret, 6)})
    return rows


def study(runs: int, jobs: int) -> pd.DataFrame:
    """Return the rows of all questions."""
    work = [(name, seed) for name in stops.QUESTIONS for seed in range(runs)]
    work += [(RANDOM, seed) for seed in first_networks()]
    return pd.DataFrame([row for rows in Parallel(jobs)(delayed(run)(*one) for one in work) for row in rows])


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a line for each question and estimate: shares of wrong recommendations by the number of plays."""
    wrong = rows.assign(wrong=rows["regret"] > 1e-9)
    shares = wrong.pivot_table("wrong", ["experiment", "estimate"], "plays", sort=False)
    runs = rows.groupby("experiment")["seed"].nunique()
    return shares.reset_index().assign(runs=lambda lines: lines["experiment"].map(runs))


def markdown(rows: pd.DataFrame) -> str:
    """Return the table of the README."""
    lines = table(rows)
    plays = [column for column in lines.columns if isinstance(column, int)]
    shown = {f"{n} plays": [f"{share:.3f}".removeprefix("0") for share in lines[n]] for n in plays}
    return as_markdown(lines.assign(**shown)[["experiment", "runs", "estimate", *shown]])


if __name__ == "__main__":
    main(__doc__, study=study, table=table, markdown=markdown, runs=500)
