"""What DoWhy's ``falsify_graph`` says of the graphs without hidden variables of `graph_check.py`, on the same logs.

    python -m venv dowhy && dowhy/bin/pip install dowhy==0.14 pgmpy==1.1.2 -e .
    dowhy/bin/python benchmarks/graph_dowhy.py --rows data/results/graph_dowhy.csv
    python benchmarks/graph_dowhy.py --redraw data/results/graph_dowhy.csv --markdown

DoWhy is no dependency of the package and needs an environment of its own. 500 and 2,000 passive plays, the first graphs
of each kind, a chi-square test for discrete variables in place of its kernel test: the one of `check_graph`
(`pgcpe.confidence.independence.chi_square_p_value`). It counts the local Markov conditions that the plays violate, for
the graph and for as many with its nodes permuted; a graph is *falsified* if it does no better than a share of more than
.05 of these, and *falsifiable* if no more than .05 of these make the same independences. It needs all variables
observed, so that graphs with a declared hidden cause are left out.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import frame
import networkx as nx
import numpy as np
import pandas as pd
from graph_check import logs_of, posed
from joblib import Parallel, delayed
from numpy.typing import NDArray

from pgcpe.confidence.independence import chi_square_p_value

KINDS, PLAYS = ("missing", "reversed", "right", "superfluous"), (500, 2000)
SEEDS = 140
"""Of the networks of each kind, as many as `graph_check.py` has logs of."""

LOGS = Path(__file__).parents[1] / "data" / "results" / "graph_check.csv.gz"


def codes_of(columns: NDArray[Any]) -> NDArray[np.intp]:
    """Return a number for each row of one or more columns: rows are equal iff their numbers are."""
    rows = np.asarray(columns).reshape(len(columns), -1)
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel()


def discrete_test(x: NDArray[Any], y: NDArray[Any], z: NDArray[Any] | None = None) -> float:
    """Return the chi-square p-value of x and y being independent given z, a test as DoWhy takes it."""
    groups, states = codes_of(y), codes_of(x)
    cells = np.zeros(len(x), dtype=np.intp) if z is None else codes_of(z)
    counts = np.zeros((cells.max() + 1, groups.max() + 1, states.max() + 1))
    np.add.at(counts, (cells, groups, states), 1.0)
    return chi_square_p_value(counts)


def run(kind: str, seed: int) -> list[dict[str, Any]]:
    """Return a row for each number of plays; none if the graph has a hidden variable."""
    from dowhy.gcm.falsify import falsify_graph

    network, graph, _, bandit = posed(kind, seed)
    if graph.latents:
        return []
    log = logs_of(network, bandit, seed)["passive"]
    rows = []
    for n in PLAYS:
        data = log.rows(slice(n)).to_frame().reset_index(drop=True)[list(graph.nodes)]
        np.random.seed(seed)  # noqa: NPY002  DoWhy draws permutations from the global generator
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = falsify_graph(
                nx.DiGraph(graph.edges) if graph.edges else nx.DiGraph(graph),
                data,
                independence_test=discrete_test,
                conditional_independence_test=discrete_test,
                show_progress_bar=False,
                n_jobs=1,
            )
        said = {"falsifiable": bool(found.falsifiable), "falsified": bool(found.falsified)}
        rows.append({"kind": kind, "seed": seed, "plays": n, **said})
    return rows


def study(runs: int, jobs: int) -> pd.DataFrame:
    """Return the rows of the first graphs of each kind without hidden variables, at most so many."""
    rows = []
    for kind in KINDS:
        seeds = [seed for seed in range(SEEDS) if not posed(kind, seed)[1].latents][:runs]
        found = Parallel(n_jobs=jobs)(delayed(run)(kind, seed) for seed in seeds)
        rows += [row for some in found for row in some]
    return pd.DataFrame(rows)


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the shares of graphs that each test refutes, on the same logs."""
    logs = frame.read(LOGS)
    both = rows.merge(logs[logs["log"] == "passive"], on=["kind", "seed", "plays"])
    lines = []
    for (kind, plays), some in both.groupby(["kind", "plays"], sort=False):
        told = {"falsify_graph": some["falsified"], "of it falsifiable": some["falsifiable"]}
        told |= {"pgmpy, Bonferroni": some["pgmpy"] == "True", "chi-square, Bonferroni": some["chi_square"]}
        told["e-values"] = some["refuted"]
        shares = {name: f"{each.mean():.3f}" for name, each in told.items()}
        lines.append({"graphs": f"{kind} ({len(some)})", "plays": f"{plays:,}", **shares})
    return pd.DataFrame(lines)


def markdown(rows: pd.DataFrame) -> str:
    """Return the table of the documentation."""
    return frame.as_markdown(table(rows))


if __name__ == "__main__":
    frame.main(__doc__, study=study, table=table, markdown=markdown, runs=50)
