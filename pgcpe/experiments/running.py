"""Policies on instances over many seeds, tidy rows out; a run that was cut goes on where it stopped."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from tqdm.auto import tqdm

from pgcpe.bandit import CausalBandit
from pgcpe.environment import Environment
from pgcpe.experiments.rows import append_rows, kept_rows
from pgcpe.policies import Policy

__all__ = ["MakeInstance", "MakePolicy", "repeat"]

MakePolicy = Callable[..., Policy]
MakeInstance = Callable[[int], tuple[CausalBandit, Environment]]


def repeat(
    policies: Mapping[str, MakePolicy],
    instance: MakeInstance,
    *,
    seeds: Iterable[int],
    budgets: Sequence[int] | Mapping[str, Sequence[int]],
    experiment: str = "",
    file: str | Path | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Run every policy on the instance of every seed and return what it recommended after so many plays.

    All policies of a seed meet the same bandit and a copy of the same environment. A policy that stopped keeps its
    recommendation for the larger budgets.

    Parameters
    ----------
    policies
        Name to ``callable(bandit, seed=)``, which makes a policy: a policy's class, or `functools.partial` of it with
        its parameters, which the rows then show. The seed is a `numpy.random.Generator` made from that of the run. A
        callable that has a parameter ``budget`` still open is given the budget as well, and makes a new policy for
        each: those of a fixed budget.
    instance
        ``callable(seed)`` that returns a bandit and an environment. Where the environment has a method
        ``expected_rewards(bandit)``, as `SimulatedEnvironment` has, the rows say what the recommendation is worth.
    seeds
        The seeds, each an instance.
    budgets
        Numbers of plays, the same for all policies or for each by its name.
    experiment
        What the rows are to call this experiment.
    file
        A CSV file. The rows of each seed are appended to it as they come; the seeds and policies that are in it
        already, under the same name of the experiment, are not run again.
    n_jobs
        How many seeds to run at once, by joblib. None: one, or what a context of joblib says: inside
        ``joblib.parallel_config("dask")`` the seeds run on the workers of a Dask cluster, inside that of Ray on its.
    progress
        Whether to show a progress bar; None shows it only on a terminal or in a notebook.

    Returns
    -------
    pandas.DataFrame
        A row for each seed, policy and budget, in the order of the seeds, the same however they were run:
        ``experiment``, ``policy``, ``parameters``, ``radius`` (of each estimator that has one), ``epsilon``, ``delta``,
        ``arms``, ``seed``, ``budget``, ``plays`` (at most the budget), ``cost``, ``stopped``, ``certificate`` ("" for
        none), ``recommendation``, ``regret`` (how far it is below the best) and ``correct`` (that it is not), both
        missing where the truth is not known, and ``conflicts``.

    Raises
    ------
    ValueError
        If there is no policy, seed or budget, or a budget is no positive integer; or if the file has rows of a policy
        of the same name with other parameters.

    Examples
    --------
    >>> from functools import partial
    >>> from pgcpe import LUCB, SuccessiveRejects
    >>> from pgcpe.paper import parallel
    >>> def instance(seed):
    ...     question = parallel([0.5, 0.5], [0.4, 0.1], 0.2)
    ...     return question.bandit, question.environment(seed)
    >>> policies = {"LUCB": partial(LUCB, epsilon=0.1), "SR": SuccessiveRejects}
    >>> rows = repeat(policies, instance, seeds=range(3), budgets=[50, 100])
    >>> len(rows), sorted(set(rows["policy"])), sorted(set(rows["parameters"]))
    (12, ['LUCB', 'SR'], ['', 'epsilon=0.1'])
    """
    numbers, wanted = list(seeds), _budgets(budgets, policies)
    if not policies or not numbers or not all(chosen and chosen[0] >= 1 for chosen in wanted.values()):
        raise ValueError(
            f"there must be policies, seeds and positive budgets, but got {list(policies)}, {numbers[:3]} and {budgets}"
        )
    makers = dict(policies)
    kept = kept_rows(file, experiment, {name: _parameters(make) for name, make in makers.items()}, wanted, numbers)
    done = set(zip(kept["seed"], kept["policy"], strict=True))
    jobs = []
    for seed in numbers:
        if missing := {name: make for name, make in makers.items() if (seed, name) not in done}:
            jobs.append(delayed(_run_seed)(missing, instance, seed, wanted, experiment))
    hidden = None if progress is None else not progress
    fresh = []
    with tqdm(total=len(numbers), initial=len(numbers) - len(jobs), unit=" seeds", disable=hidden) as bar:
        for some in Parallel(n_jobs=n_jobs, return_as="generator")(jobs):
            if file is not None:
                append_rows(file, some)
            fresh += some
            bar.update()
    rows = pd.concat([kept, pd.DataFrame(fresh)], ignore_index=True) if len(kept) else pd.DataFrame(fresh)
    places = {seed: i for i, seed in enumerate(numbers)}, {name: i for i, name in enumerate(makers)}
    order = np.lexsort((rows["budget"], rows["policy"].map(places[1]), rows["seed"].map(places[0])))
    return rows.iloc[order].reset_index(drop=True)


def _budgets(
    budgets: Sequence[int] | Mapping[str, Sequence[int]], policies: Mapping[str, MakePolicy]
) -> dict[str, list[int]]:
    """Return the budgets of each policy, the smallest first."""
    if isinstance(budgets, Mapping) and (missing := [name for name in policies if name not in budgets]):
        raise ValueError(f"budgets must name every policy, but lack {', '.join(missing)}")
    return {
        name: sorted({int(b) for b in (budgets[name] if isinstance(budgets, Mapping) else budgets)})
        for name in policies
    }


def _run_seed(
    policies: dict[str, MakePolicy],
    instance: MakeInstance,
    seed: int,
    budgets: dict[str, list[int]],
    experiment: str,
) -> list[dict[str, Any]]:
    bandit, environment = instance(seed)
    known = getattr(environment, "expected_rewards", None)
    truth = None if known is None else known(bandit)
    rows = []
    for name, make in policies.items():
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="the graph is in doubt")  # the rows count the conflicts
            for budget, policy in _played(make, bandit, environment, seed, budgets[name]):
                row: dict[str, Any] = {
                    "experiment": experiment,
                    "policy": name,
                    "parameters": _parameters(make),
                    "radius": policy.radius,
                    "epsilon": policy.epsilon,
                    "delta": policy.delta,
                    "arms": len(bandit.arms),
                    "seed": seed,
                    "budget": budget,
                    "plays": policy.n_plays,
                    "cost": policy.cost,
                    "stopped": policy.stopped,
                    "certificate": policy.certificate or "",
                    "recommendation": str(policy.recommendation),
                }
                if truth is not None:
                    regret = float(truth.max() - truth[policy.recommendation])
                    row |= {"regret": round(regret, 9), "correct": regret < 1e-9}
                rows.append({**row, "conflicts": len(policy.conflicts)})
    return rows


def _played(
    make: MakePolicy, bandit: CausalBandit, environment: Environment, seed: int, budgets: list[int]
) -> Iterable[tuple[int, Policy]]:
    """Yield each budget with a policy that has spent it, or stopped before."""
    if takes_budget(make):
        for budget in budgets:
            policy = make(bandit, seed=_generator(seed, budget), budget=budget)
            policy.run(copy.deepcopy(environment), progress=False)
            yield budget, policy
        return
    own = copy.deepcopy(environment)
    policy = make(bandit, seed=_generator(seed, 0))
    for budget in budgets:
        policy.run(own, budget=budget - policy.n_plays, progress=False)
        yield budget, policy


def _generator(seed: int, budget: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(budget,)))


def takes_budget(make: MakePolicy) -> bool:
    """Return whether a maker of policies has a parameter ``budget`` that is still open."""
    bound = make.keywords if isinstance(make, partial) else {}
    return "budget" in inspect.signature(make).parameters and "budget" not in bound


def _parameters(make: MakePolicy) -> str:
    """Return the parameters bound in a maker as text, ``alpha=0.3, radius='lucb1'``."""
    bound = make.keywords if isinstance(make, partial) else {}
    return ", ".join(f"{name}={_text(value)}" for name, value in sorted(bound.items()))


def _text(value: Any) -> str:
    return " ".join(repr(value).split())  # scikit-learn breaks long lines
