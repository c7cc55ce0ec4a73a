"""What other packages do, by their own code: the evidence of docs/beside.md.

    python3 -m venv .venv-beside
    .venv-beside/bin/pip install ax-platform==1.3.1 optuna==5.0.0 baybe==0.15.0 dowhy==0.14 y0==0.2.11 causalrl==3.0.0
    .venv-beside/bin/python benchmarks/beside.py

It imports nothing of pgcpe. pgmpy is on the page for people who know it, where the tests execute its examples. What is
"not found" is looked for in all source files of a package; that a word is absent is no proof, and is said as it is.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import logging
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

GRAPH = "a causal graph", r"causal graph|causal diagram|d-separat"
STOP = "a stop at a fixed confidence", r"best[- ]arm identification|fixed[- ]confidence|probably approximately correct"
"""What was not found, and the words that were looked for."""


def mentions(package: str, pattern: str) -> str:
    """Return in how many source files of an installed package a pattern occurs, and the first of them."""
    folder = Path(str(importlib.util.find_spec(package).origin)).parent  # type: ignore[union-attr]
    sources = [path for path in sorted(folder.rglob("*.py")) if "test" not in path.name]
    texts = {path.relative_to(folder).as_posix(): path.read_text(errors="ignore") for path in sources}
    found = [name for name, text in texts.items() if re.search(pattern, text, re.IGNORECASE)]
    return f"in {len(found)} of {len(sources)} source files{': ' + ', '.join(found[:3]) if found else ''}"


def ax() -> None:
    """A float under a constraint and a choice, two objectives, a constraint on an outcome, three trials at once."""
    from ax.api.client import Client
    from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig

    client = Client()
    client.configure_experiment(
        parameters=[
            RangeParameterConfig(name="dose", parameter_type="float", bounds=(0.0, 1.0)),
            RangeParameterConfig(name="hours", parameter_type="float", bounds=(0.0, 1.0)),
            ChoiceParameterConfig(name="drug", parameter_type="str", values=["a", "b", "c"], is_ordered=False),
        ],
        parameter_constraints=["dose + hours <= 1.5"],
    )
    client.configure_optimization(objective="cured, -cost", outcome_constraints=["side_effects <= 0.2"])
    trials = client.get_next_trials(max_trials=3)
    print(f"  {len(trials)} trials at once of a mixed space, first {sorted(trials[0])}")


def optuna() -> None:
    """Ask and tell with two objectives; what there is to sample, to prune and to stop by."""
    import optuna as package
    from optuna import pruners, samplers, terminator

    package.logging.disable_default_handler()
    study = package.create_study(directions=["maximize", "minimize"])
    trial = study.ask()
    study.tell(trial, [trial.suggest_float("dose", 0.0, 1.0), len(trial.suggest_categorical("drug", ["a", "bb"]))])
    kinds = (samplers, "Sampler"), (pruners, "Pruner")
    counts = [sum(name.endswith(end) and "Base" not in name for name in dir(room)) for room, end in kinds]
    ends = [name for name in dir(terminator) if name.endswith("Evaluator") and "Base" not in name]
    rules = f"{len(ends)} rules, {terminator.RegretBoundEvaluator.__name__} among them"
    print(f"  {len(study.trials)} trial told, {counts[0]} samplers, {counts[1]} pruners; stops by {rules}")


def baybe() -> None:
    """A hybrid space, two targets, and experiments that are pending."""
    from baybe import Campaign
    from baybe.objectives import ParetoObjective
    from baybe.parameters import CategoricalParameter, NumericalContinuousParameter, SubstanceParameter, TaskParameter
    from baybe.searchspace import SearchSpace
    from baybe.surrogates import BetaBernoulliMultiArmedBanditSurrogate
    from baybe.targets import NumericalTarget

    drug = CategoricalParameter("drug", ["a", "b"])
    space = SearchSpace.from_product([NumericalContinuousParameter("dose", (0.0, 1.0)), drug])
    campaign = Campaign(space, ParetoObjective([NumericalTarget("cured"), NumericalTarget("cost", minimize=True)]))
    first = campaign.recommend(2)
    more = campaign.recommend(2, pending_experiments=first)
    kinds = BetaBernoulliMultiArmedBanditSurrogate.__name__, TaskParameter.__name__, SubstanceParameter.__name__
    print(f"  {space.type.name.lower()} space, {len(first)} + {len(more)} recommended, two targets; {', '.join(kinds)}")


def dowhy() -> None:
    """Three estimators of one effect, one refutation, and what its graphical models do."""
    import numpy as np
    import pandas as pd
    from dowhy import CausalModel, gcm
    from dowhy.gcm.falsify import falsify_graph

    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 2_000)
    x = (rng.random(2_000) < 0.2 + 0.6 * z).astype(int)
    y = (rng.random(2_000) < 0.2 + 0.3 * x + 0.3 * z).astype(int)
    model = CausalModel(pd.DataFrame({"Z": z, "X": x, "Y": y}), "X", "Y", graph="digraph{Z->X;Z->Y;X->Y;}")
    effect = model.identify_effect()
    ways = "linear_regression", "propensity_score_weighting", "propensity_score_stratification"
    methods = [f"backdoor.{way}" for way in ways]
    values = [float(model.estimate_effect(effect, method_name=method).value) for method in methods]
    estimate = model.estimate_effect(effect, method_name=methods[0])
    placebo = model.refute_estimate(effect, estimate, method_name="placebo_treatment_refuter", num_simulations=20)
    says = ", ".join(f"{value:.2f}" for value in values)
    more = ", ".join(f.__name__ for f in (gcm.counterfactual_samples, gcm.attribute_anomalies, falsify_graph))
    print(f"  an effect of .30 by three estimators: {says}; placebo {placebo.new_effect:.2f}; {more}")


def y0() -> None:
    """The effect of X on Y through M alone, where X and Y share a hidden cause: no set of variables adjusts for it."""
    from y0.algorithm.identify import identify_outcomes
    from y0.dsl import M, X, Y
    from y0.graph import NxMixedGraph

    front_door = NxMixedGraph.from_edges(directed=[(X, M), (M, Y)], undirected=[(X, Y)])
    print(f"  front door: P(Y | do(X)) = {identify_outcomes(front_door, treatments=X, outcomes=Y)}")


def causalrl() -> None:
    """Which interventions can be optimal at all; a confidence sequence of one mean."""
    from causalrl import CausalGraph, certify_policy, is_identifiable_effect, pomis
    from causalrl.ope.sequential_test import confidence_sequence

    graph = CausalGraph([("A", "B"), ("B", "Y")], [("B", "Y")])
    sets = sorted(sorted(some) for some in pomis(graph, "Y"))
    band = confidence_sequence([0.0, 1.0] * 50, value_range=(0.0, 1.0)).interval
    more = ", ".join(f.__name__ for f in (is_identifiable_effect, certify_policy))
    print(f"  of A -> B -> Y, B <-> Y only {sets} can be optimal")
    print(f"  a mean at all times in [{band.lower:.2f}, {band.upper:.2f}]; {more}")


CHECKS: dict[str, tuple[str, Callable[[], None], tuple[tuple[str, str], ...]]] = {
    "ax": ("ax-platform", ax, (GRAPH, STOP)),
    "optuna": ("optuna", optuna, (GRAPH, STOP)),
    "baybe": ("baybe", baybe, (GRAPH, STOP)),
    "dowhy": ("dowhy", dowhy, (STOP,)),
    "y0": ("y0", y0, (STOP,)),
    "causalrl": ("causalrl", causalrl, (STOP,)),
}

if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    for package in sys.argv[1:] or CHECKS:
        distribution, check, words = CHECKS[package]
        print(f"{distribution} {importlib.metadata.version(distribution)}")
        check()
        for what, pattern in words:
            print(f"  {what}: {mentions(package, pattern)}")
