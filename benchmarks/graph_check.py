"""What plays refute of wrong graphs, and of right ones: `check_graph` on logs, and the test inside `PooledCCPE`.

    python benchmarks/graph_check.py --study logs --file data/results/graph_check.csv.gz
    python benchmarks/graph_check.py --study policy --file data/results/graph_policy.csv.gz

Random networks of 5 to 8 variables with up to two hidden causes (`random_networks.py`). *missing*: the graph lacks an
edge or a hidden cause, those of `wrong_answers.py`. *reversed*: an edge between two observed variables points the other
way, where that makes no cycle. *right*: the graph itself. *superfluous*: with one edge more than the truth.

logs: passive plays alone, or a third ``do()`` and the listed arms in turn, 8 at most; refuted at level .05 after the
first 200, 500, 1,000, 2,000 and 5,000 plays. *named*: the strongest statement is about the two variables that the graph
is wrong about; *explained*: the first explanation is a change between them. Beside it, for passive logs, chi-square on
the same statements with Bonferroni, and the implied independences of pgmpy with Bonferroni where nothing is hidden.

policy: delta = .1, epsilon = .05, up to 3,000 plays, with and without the test, the check of members at 20 plays; when
the graph was refuted, by which kind of statement, and whether that is about the pair that the graph is wrong about.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import frame
import networkx as nx
import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from pgmpy.base import DAG
from pgmpy.models import DiscreteBayesianNetwork
from random_networks import question, random_network, spoiled, values_of
from tqdm.auto import tqdm
from wrong_answers import DELTA, EPSILON, NEVER

from pgcpe import CausalBandit, PooledCCPE, SimulatedEnvironment, check_graph, do
from pgcpe.plays.samples import Samples

NETWORKS = {"missing": 200, "reversed": 200, "right": 400, "superfluous": 100}
"""How many networks of each kind."""

STREAM = {"missing": 2, "reversed": 11, "right": 0, "superfluous": 12}
"""The first part of the seeds: missing and right are those of `wrong_answers.py`."""

PLAYS, LEVEL = (200, 500, 1000, 2000, 5000), 0.05
BUDGET = 3000


def posed(kind: str, seed: int) -> tuple[DiscreteBayesianNetwork, DAG, frozenset[str], CausalBandit]:
    """Return a network, the graph that is assumed of it, what it is wrong about, and a question by that graph."""
    rng = np.random.default_rng(np.random.SeedSequence([STREAM[kind], seed]))
    network = random_network(rng)
    if kind == "missing":
        graph = spoiled(network, rng)
        if gone := set(network.nodes) - set(graph.nodes):
            about = frozenset(network.successors(*gone))
        else:
            about = frozenset(*(set(network.edges) - set(graph.edges)))
    else:
        graph, about = altered(network, kind, rng)
    return network, graph, about, question(network, rng, None if kind == "right" else graph)


def altered(network: DiscreteBayesianNetwork, kind: str, rng: np.random.Generator) -> tuple[DAG, frozenset[str]]:
    """Return a graph with an edge of the network's turned round, with one more, or as it is; and which edge."""
    edges, observed = list(network.edges), [v for v in network.nodes if v not in network.latents]
    changes: list[tuple[list[Any], tuple[str, str]]] = []
    if kind == "reversed":
        seen = [(a, b) for a, b in edges if a in observed]
        changes = [([*(e for e in edges if e != (a, b)), (b, a)], (a, b)) for a, b in seen]
    elif kind == "superfluous":
        apart = [(a, b) for i, b in enumerate(observed) for a in observed[:i] if (a, b) not in edges]
        changes = [([*edges, pair], pair) for pair in apart]
    changes = [(some, pair) for some, pair in changes if nx.is_directed_acyclic_graph(nx.DiGraph(some))]
    some, pair = changes[int(rng.integers(len(changes)))] if changes else (edges, ())
    graph = DAG()
    graph.add_nodes_from(network.nodes)
    graph.add_edges_from(some)
    graph.latents = set(network.latents)
    return graph, frozenset(pair)


def logs_of(network: DiscreteBayesianNetwork, bandit: CausalBandit, seed: int) -> dict[str, Samples]:
    """Return a passive log and one with interventions, each of the most plays."""
    environment, n = SimulatedEnvironment(network, seed=seed), PLAYS[-1]
    arms = [arm for arm in bandit.listed if arm] or [do()]
    actions = [do() if i % 3 == 0 else arms[(i - i // 3 - 1) % len(arms)] for i in range(n)]
    return {"passive": environment.sample(do(), n), "interventions": environment.perform(actions)}


def run_logs(kind: str, seed: int) -> list[dict[str, Any]]:
    """Return a row for each log and number of plays."""
    network, graph, about, bandit = posed(kind, seed)
    states = {v: network.get_cpds(v).state_names[v] for v in graph.nodes}
    rows = []
    for log, samples in logs_of(network, bandit, seed).items():
        for n in PLAYS:
            playable = None if log == "passive" else bandit.listed
            check = check_graph(graph, samples.rows(slice(n)), level=LEVEL, states=states, playable=playable)
            strongest = check.doubtful[0] if check.refuted else None
            best = check.explanations[0].change if check.explanations else None
            passive = log == "passive" and n in (500, 2000)
            rows.append(
                {
                    "kind": kind,
                    "seed": seed,
                    "log": log,
                    "plays": n,
                    "hidden": len(graph.latents),
                    "cause": "hidden cause" if set(network.nodes) - set(graph.nodes) else "edge",
                    "statements": len(check.statements),
                    "refuted": check.refuted,
                    "by": "" if strongest is None else strongest.kind,
                    "named": strongest is not None and about <= strongest.pair,
                    "explained": best is not None and about == {best.first, best.second},
                    "chi_square": check.p_value < LEVEL,
                    "pgmpy": implied(graph, samples.rows(slice(n))) if passive else "",
                }
            )
    return rows


def implied(graph: DAG, samples: Samples) -> str:
    """Return whether pgmpy's implied independences are refuted, Bonferroni; empty where it cannot say."""
    if graph.latents:
        return ""
    from pgmpy.metrics import ImpliedCIs

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        test = ImpliedCIs(ci_test="chi_square", show_progress=False)
        found = test.evaluate(X=samples.to_frame().reset_index(drop=True), causal_graph=DAG(list(graph.edges)))
    if not len(found):
        return "False"
    return str(bool(found["p-value"].min() * len(found) < LEVEL))


def run_policy(kind: str, seed: int) -> list[dict[str, Any]]:
    """Return a row without and with the test."""
    warnings.filterwarnings("ignore", message="the graph is")
    rows = []
    for name, options in OPTIONS.items():
        network, _, about, bandit = posed(kind, seed)
        truth = values_of(network, bandit)
        policy = PooledCCPE(bandit, epsilon=EPSILON, delta=DELTA, seed=seed, **options)
        result = policy.run(SimulatedEnvironment(network, seed=seed), budget=BUDGET, progress=False)
        regret = float(truth.max() - truth[result.recommendation])
        found = policy._watch.refutation if policy._watch is not None else None
        rows.append(
            {
                "kind": kind,
                "seed": seed,
                "policy": name,
                "listed": len(bandit.listed),
                "arms": len(bandit.arms),
                "plays": result.n_plays,
                "certificate": result.certificate or "",
                "regret": round(regret, 6),
                "wrong": result.certificate is not None and regret > EPSILON + 1e-9,
                "refuted": found is not None,
                "refuted_at": "" if found is None else found.n_plays,
                "by": "" if found is None else found.statement.kind,
                "named": found is not None and len(about) > 0 and about <= found.statement.pair,
            }
        )
    return rows


OPTIONS: dict[str, dict[str, Any]] = {
    "exact": {"refresh": NEVER},
    "exact, graph tested, members 0": {"refresh": NEVER, "check_graph": True, "check_members": 0},
    "exact, graph tested, members 20": {"refresh": NEVER, "check_graph": True},
    "asymptotic": {"guarantee": "asymptotic", "refresh": NEVER},
    "asymptotic, graph tested, members 20": {"guarantee": "asymptotic", "refresh": NEVER, "check_graph": True},
}

RUNS = {"logs": run_logs, "policy": run_policy}


def study(name: str, jobs: int, file: Path, most: int) -> pd.DataFrame:
    """Add to a file what it has not yet, a hundred networks at a time, and return its rows."""
    kept = frame.read(file).to_dict("records") if file.exists() else []
    done = {(row["kind"], row["seed"]) for row in kept}
    work = [
        (kind, seed) for seed in range(most) for kind, n in NETWORKS.items() if seed < n and (kind, seed) not in done
    ]
    for i in tqdm(range(0, len(work), 40), unit=" hundreds"):
        found = Parallel(n_jobs=jobs)(delayed(RUNS[name])(*one) for one in work[i : i + 40])
        kept += [row for rows in found for row in rows]
        frame.write(pd.DataFrame(kept), file)
    return frame.read(file)


def table_of_logs(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the shares refuted by kind of graph and log, one column for each number of plays."""
    lines = []
    for (kind, log), some in rows.groupby(["kind", "log"], sort=False):
        by = some.groupby("plays")
        lines.append({"graphs": f"{kind} ({some['seed'].nunique()})", "log": log, "test": "e-values"})
        lines[-1] |= {f"{n:,}": f"{share:.3f}" for n, share in by["refuted"].mean().items()}
        if log == "passive":
            lines.append({"graphs": "", "log": "", "test": "chi-square, Bonferroni"})
            lines[-1] |= {f"{n:,}": f"{share:.3f}" for n, share in by["chi_square"].mean().items()}
            known = some[some["pgmpy"] != ""]
            if len(known):
                lines.append({"graphs": "", "log": "", "test": f"pgmpy, nothing hidden ({known['seed'].nunique()})"})
                shares = (known["pgmpy"] == "True").groupby(known["plays"]).mean()
                lines[-1] |= {f"{n:,}": f"{share:.3f}" for n, share in shares.items()}
    return pd.DataFrame(lines).fillna("")


def table_of_names(rows: pd.DataFrame) -> pd.DataFrame:
    """Return for the refuted wrong graphs at the most plays what refuted them, and whether it is what is wrong."""
    some = rows[rows["refuted"] & rows["kind"].isin(["missing", "reversed"]) & (rows["plays"] == rows["plays"].max())]
    by = some.groupby(["kind", "cause", "log"], sort=False)
    counts = {kind: by["by"].agg(lambda said, kind=kind: int((said == kind).sum())) for kind in KINDS}
    return pd.DataFrame(
        {"refuted": by.size(), **counts, "pair named": by["named"].sum(), "explained": by["explained"].sum()}
    ).reset_index()


KINDS = ("separation", "invariance", "merging")


GUARANTEES = ("exact", "asymptotic", "direct")


def table_of_policies(rows: pd.DataFrame) -> pd.DataFrame:
    """Return for each kind of graph and policy the certificates by guarantee, how many are wrong, and the plays."""
    lines = []
    for (kind, policy), some in rows.groupby(["kind", "policy"], sort=False):
        plain = rows[(rows["kind"] == kind) & (rows["policy"] == policy.split(",")[0])]
        by = some.groupby("certificate")["wrong"].agg(["size", "sum"]).reindex(GUARANTEES, fill_value=0)
        found = {f"{name} (wrong)": f"{n} ({wrong})" for name, (n, wrong) in by.iterrows()}
        lines.append({"graphs": f"{kind} ({len(some)})", "policy": policy, **found})
        lines[-1] |= {
            "median plays": f"{some['plays'].median():,.0f}",
            "plays in all": f"{some['plays'].sum() / plain['plays'].sum():.3f}",
        }
    return pd.DataFrame(lines)


def table_of_refutations(rows: pd.DataFrame) -> pd.DataFrame:
    """Return for each kind of graph and policy with the test how many graphs were refuted, when, and by what."""
    lines = []
    for (kind, policy), some in rows[rows["policy"].str.contains("tested")].groupby(["kind", "policy"], sort=False):
        found = some[some["refuted"]]
        counts = {name: f"{int((found['by'] == name).sum())}" for name in KINDS}
        when = f"{pd.to_numeric(found['refuted_at']).median():,.0f}" if len(found) else ""
        named = f"{int(found['named'].sum())}" if kind in ("missing", "reversed") else ""
        lines.append({"graphs": kind, "policy": policy, "refuted": f"{len(found)}", **counts})
        lines[-1] |= {"pair named": named, "median plays by then": when}
    return pd.DataFrame(lines)


def markdown(name: str, rows: pd.DataFrame) -> str:
    """Return the tables of the README."""
    made = {"logs": (table_of_logs, table_of_names), "policy": (table_of_policies, table_of_refutations)}
    tables = [table(rows) for table in made[name]]
    return "\n\n".join(frame.as_markdown(table.astype(str)) for table in tables)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--study", choices=tuple(RUNS), required=True)
    parser.add_argument("--jobs", type=int, default=2, help="default %(default)s")
    parser.add_argument("--most", type=int, default=10**6, help="networks of each kind at most")
    parser.add_argument("--file", type=Path, required=True, help="CSV file that the rows are kept in")
    parser.add_argument("--redraw", action="store_true", help="print the tables of the file alone")
    arguments = parser.parse_args()
    if not arguments.redraw:
        study(arguments.study, arguments.jobs, arguments.file, arguments.most)
    print(markdown(arguments.study, frame.read(arguments.file)))
