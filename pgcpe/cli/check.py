"""``pgcpe check``: what logged plays refute of a graph."""

from __future__ import annotations

import argparse
import json
from typing import Any

import pandas as pd

from pgcpe.cli.question import check_picture, names
from pgcpe.estimators.graph_check import GraphCheck, GraphQuestion, check_graph
from pgcpe.graphs.load import load_network
from pgcpe.plays.history import read_history

__all__ = ["carry_out"]

NOT_REFUTED, REFUTED = 0, 3


def carry_out(arguments: argparse.Namespace) -> int:
    """Print which statements of a graph a log refutes, and what would explain that."""
    check_picture(arguments.plot)
    network = load_network(arguments.network, latents=names(arguments.latents))
    header = pd.read_csv(arguments.log, nrows=0, dtype=str, keep_default_na=False).columns
    log = read_history(arguments.log, GraphQuestion.of(network, None, header))
    check = check_graph(network, log, level=arguments.level, missing="drop" if arguments.drop_missing else "raise")
    print(json.dumps(_as_json(check), indent=2) if arguments.json else check.to_string(arguments.rows))
    if arguments.plot:
        check.plot().figure.savefig(arguments.plot, dpi=150)
    return REFUTED if check.refuted else NOT_REFUTED


def _as_json(check: GraphCheck) -> dict[str, Any]:
    return {
        "refuted": check.refuted,
        "level": check.level,
        "n_plays": check.n_plays,
        "dropped": check.dropped,
        "combined": check.combined,
        "p_value": check.p_value,
        "statements": json.loads(check.statements.to_json(orient="records")),
        "explanations": [
            {
                "kind": e.change.kind,
                "first": e.change.first,
                "second": e.change.second,
                "words": str(e.change),
                "explains": [str(s) for s in e.explains],
                "also_denies": e.also_denies,
            }
            for e in check.explanations
        ],
        "untestable": [str(change) for change in check.untestable],
    }
