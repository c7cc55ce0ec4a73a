"""Experiments: policies on instances over many seeds, tidy rows out; and how long a study would take."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from tqdm.auto import tqdm

from pgcpe.bandit import CausalBandit
from pgcpe.environment import Environment, SimulatedEnvironment
from pgcpe.policies import CCPE, KLLUCB, LUCB, Policy, TopTwo

__all__ = ["STOPPING_POLICIES", "plan", "repeat", "summarise"]

MakePolicy = Callable[..., Policy]
MakeInstance = Callable[[int], tuple[CausalBandit, Environment]]

STOPPING_POLICIES: dict[str, MakePolicy] = {"CCPE": CCPE, "LUCB": LUCB, "KL-LUCB": KLLUCB, "top-two": TopTwo}
"""The policies that stop with a certificate, by the names of tables."""


def repeat(
    policies: Mapping[str, MakePolicy],
    instance: MakeInstance,
    *,
    seeds: Iterable[int],
    budgets: Sequence[int],
    n_jobs: int = 1,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Run every policy on the instance of every seed and return what it recommended after so many plays.

    All policies of a seed meet the same bandit and a copy of the same environment. A policy that stopped keeps its
    recommendation for the larger budgets.

    Parameters
    ----------
    policies
        Name to ``callable(bandit, rng)``, which makes a policy with ``seed=rng``, a `numpy.random.Generator` made from
        the seed. A callable of three arguments is given the budget as well and makes a new policy for each: those of a
        fixed budget.
    instance
        ``callable(seed)`` that returns a bandit and an environment. Where the environment has a method
        ``expected_rewards(bandit)``, as `SimulatedEnvironment` has, the rows say what the recommendation is worth.
    seeds
        The seeds, each an instance.
    budgets
        Numbers of plays.
    n_jobs
        How many seeds to run at once, by joblib: its context managers choose where.
    progress
        Whether to show a progress bar; None shows it only on a terminal or in a notebook.

    Returns
    -------
    pandas.DataFrame
        A row for each seed, policy and budget, in the order of the seeds: ``seed``, ``policy``, ``arms``, ``budget``,
        ``plays`` (at most the budget), ``cost``, ``stopped``, ``certificate`` ("" for none), ``recommendation``,
        ``regret`` (how far it is below the best) and ``correct`` (that it is not), both missing where the truth is not
        known, and ``conflicts``.

    Raises
    ------
    ValueError
        If there is no policy, seed or budget, or a budget is no positive integer.

    Examples
    --------
    >>> from pgcpe import LUCB, SuccessiveRejects
    >>> from pgcpe.paper import parallel
    >>> def instance(seed):
    ...     question = parallel([0.5, 0.5], [0.4, 0.1], 0.2)
    ...     return question.bandit, question.environment(seed)
    >>> rows = repeat(
    ...     {
    ...         "LUCB": lambda bandit, rng: LUCB(bandit, seed=rng),
    ...         "SR": lambda bandit, rng, budget: SuccessiveRejects(bandit, budget=budget, seed=rng),
    ...     },
    ...     instance,
    ...     seeds=range(3),
    ...     budgets=[50, 100],
    ... )
    >>> len(rows), sorted(set(rows["policy"]))
    (12, ['LUCB', 'SR'])
    """
    numbers, chosen = list(seeds), sorted({int(budget) for budget in budgets})
    if not policies or not numbers or not chosen or chosen[0] < 1:
        raise ValueError(
            f"there must be policies, seeds and positive budgets, but got {list(policies)}, {numbers[:3]} and {chosen}"
        )
    jobs = [delayed(_run_seed)(dict(policies), instance, seed, chosen) for seed in numbers]
    done = Parallel(n_jobs=n_jobs, return_as="generator")(jobs)
    hidden = None if progress is None else not progress
    rows = [row for some in tqdm(done, total=len(jobs), unit=" seeds", disable=hidden) for row in some]
    return pd.DataFrame(rows)


def _run_seed(
    policies: dict[str, MakePolicy], instance: MakeInstance, seed: int, budgets: list[int]
) -> list[dict[str, Any]]:
    bandit, environment = instance(seed)
    known = getattr(environment, "expected_rewards", None)
    truth = None if known is None else known(bandit)
    rows = []
    for name, make in policies.items():
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="the graph is in doubt")  # the rows count the conflicts
            for budget, policy in _played(make, bandit, environment, seed, budgets):
                row: dict[str, Any] = {
                    "seed": seed,
                    "policy": name,
                    "arms": len(bandit.arms),
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
            policy = make(bandit, _generator(seed, budget), budget)
            policy.run(copy.deepcopy(environment), progress=False)
            yield budget, policy
        return
    own = copy.deepcopy(environment)
    policy = make(bandit, _generator(seed, 0))
    for budget in budgets:
        policy.run(own, budget=budget - policy.n_plays, progress=False)
        yield budget, policy


def _generator(seed: int, budget: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(budget,)))


def takes_budget(make: MakePolicy) -> bool:
    """Return whether a maker of policies wants a budget: whether it has three positional arguments."""
    wanted = [
        p for p in inspect.signature(make).parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    return len(wanted) == 3


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `repeat` summed up, a row for each policy and budget.

    ``error`` is the share of wrong recommendations with a 95 % interval of Wilson (``error_low``, ``error_high``),
    ``stopped`` the share of runs that stopped, ``wrong`` the number of those with a wrong recommendation, and ``plays``
    the median number of plays with its quartiles.
    """
    from statsmodels.stats.proportion import proportion_confint  # its import takes a second

    grouped = rows.groupby(["policy", "budget"], sort=False)
    runs, wrong = grouped.size(), grouped["correct"].agg(lambda c: int((~c.astype(bool)).sum()))
    low, high = proportion_confint(wrong.to_numpy(), runs.to_numpy(), method="wilson")
    return pd.DataFrame(
        {
            "runs": runs,
            "error": wrong / runs,
            "error_low": low,
            "error_high": high,
            "stopped": grouped["stopped"].mean(),
            "wrong": rows[rows["stopped"] & ~rows["correct"].astype(bool)]
            .groupby(["policy", "budget"])
            .size()
            .reindex(runs.index, fill_value=0),
            "plays": grouped["plays"].median(),
            "plays_low": grouped["plays"].quantile(0.25),
            "plays_high": grouped["plays"].quantile(0.75),
        }
    ).reset_index()


def plan(
    bandit: CausalBandit,
    guess: Any,
    *,
    policies: Mapping[str, MakePolicy] | None = None,
    epsilon: float = 0.05,
    delta: float = 0.05,
    runs: int = 20,
    budget: int = 100_000,
    seed: int = 0,
    n_jobs: int = 1,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Return how many plays a study is likely to take, by simulating it on a guess of the network.

    As good as the guess: most of all its gaps between the best arms. Try a hopeful and a gloomy one.

    Parameters
    ----------
    bandit
        The question.
    guess
        A pgmpy network on the same variables.
    policies
        Name to ``callable(bandit, epsilon=, delta=, seed=)``, by default `STOPPING_POLICIES`.
    epsilon, delta
        As for `Policy`.
    runs
        The number of simulated studies of each policy.
    budget
        Studies are broken off after so many plays.
    seed
        The first of the seeds.
    n_jobs, progress
        As for `repeat`.

    Returns
    -------
    pandas.DataFrame
        A row for each policy, that of the fewest plays first: ``policy``, ``plays``, the median, ``plays_low`` and
        ``plays_high``, between which eight of ten studies end, ``cost``, the median, ``stopped``, the share that
        stopped within the budget, and ``wrong``, the share whose recommendation was worse than the best by more than
        epsilon.
        Studies that were broken off count as the budget.

    Examples
    --------
    >>> from pgcpe.paper import parallel
    >>> question = parallel([0.5, 0.5], [0.4, 0.1], 0.2)
    >>> table = plan(question.bandit, question.network, policies={"LUCB": LUCB}, epsilon=0.2, runs=10)
    >>> table[["policy", "stopped", "wrong"]]
      policy  stopped  wrong
    0   LUCB      1.0    0.0
    """

    def fixed(make: MakePolicy) -> MakePolicy:
        return lambda bandit, rng: make(bandit, epsilon=epsilon, delta=delta, seed=rng)

    makers = {name: fixed(make) for name, make in (policies or STOPPING_POLICIES).items()}
    rows = repeat(
        makers,
        lambda number: (bandit, SimulatedEnvironment(guess, seed=number)),
        seeds=range(seed, seed + runs),
        budgets=[budget],
        n_jobs=n_jobs,
        progress=progress,
    )
    rows["wrong"] = rows["regret"] > epsilon + 1e-9
    grouped = rows.groupby("policy", sort=False)
    table = pd.DataFrame(
        {
            "plays": grouped["plays"].median(),
            "plays_low": grouped["plays"].quantile(0.1),
            "plays_high": grouped["plays"].quantile(0.9),
            "cost": grouped["cost"].median(),
            "stopped": grouped["stopped"].mean(),
            "wrong": grouped["wrong"].mean(),
        }
    )
    return table.sort_values(["plays"], kind="stable").reset_index()
