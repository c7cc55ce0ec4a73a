"""Rows summed up: error probabilities, plays to stop, the best of a grid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.model_selection import ParameterGrid

from pgcpe.experiments.running import MakeInstance, MakePolicy, repeat

__all__ = ["ALPHAS", "grid_search", "summarise"]

ALPHAS = tuple(round(0.05 * i, 2) for i in range(1, 21))
"""The factors of the radii among which the paper searched: .05, .1, ..., 1."""


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `repeat` summed up, a row for each experiment, policy and budget.

    ``error`` is the share of wrong recommendations with a 95 % interval of Wilson (``error_low``, ``error_high``),
    ``stopped`` the share of runs that stopped, ``wrong`` the number of those with a wrong recommendation, and ``plays``
    the median number of plays, budgets spent included, with a 95 % interval from order statistics, which is binomial
    (``plays_low``, ``plays_high``; missing where there are fewer than six runs).

    Raises
    ------
    ValueError
        If a column is missing, or a row does not say whether it is correct.
    """
    from statsmodels.stats.proportion import proportion_confint  # its import takes a second

    if missing := [name for name in ("policy", "budget", "plays", "stopped", "correct") if name not in rows]:
        raise ValueError(f"rows must be those of `repeat` where the truth is known, but lack {', '.join(missing)}")
    if rows["correct"].isna().any() or not pd.api.types.is_bool_dtype(rows["correct"]):
        raise ValueError("rows must say which recommendations are correct, but some do not")
    keys = [key for key in ("experiment", "policy", "budget") if key in rows]
    wrong = ~rows["correct"].astype(bool)
    grouped = rows.assign(wrong=wrong, badly=wrong & rows["stopped"].astype(bool)).groupby(keys, sort=False)
    runs, errors = grouped.size(), grouped["wrong"].sum()
    low, high = proportion_confint(errors.to_numpy(), runs.to_numpy(), method="wilson")
    between = [_median_interval(plays.to_numpy()) for _, plays in grouped["plays"]]
    return pd.DataFrame(
        {
            "runs": runs,
            "error": errors / runs,
            "error_low": low,
            "error_high": high,
            "stopped": grouped["stopped"].mean(),
            "wrong": grouped["badly"].sum(),
            "plays": grouped["plays"].median(),
            "plays_low": [interval[0] for interval in between],
            "plays_high": [interval[1] for interval in between],
        }
    ).reset_index()


def _median_interval(values: Any) -> tuple[float, float]:
    """Return a 95 % interval of the median of a distribution, from a sample."""
    interval: Any = stats.quantile_test(values, q=float(np.median(values)), p=0.5).confidence_interval(0.95)
    return float(interval.low), float(interval.high)


def grid_search(
    make: MakePolicy,
    instance: MakeInstance,
    grid: Mapping[str, Sequence[Any]],
    *,
    seeds: Iterable[int],
    budgets: Sequence[int],
    cuts: Sequence[int] = (),
    experiment: str = "",
    file: str | Path | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Return the error of a policy for every combination of its parameters, the best first.

    The paper tuned its factors so, over `ALPHAS`, on the instances that it then reports: what is found is the best that
    the policy can do there, not what a study may expect.

    Parameters
    ----------
    make
        ``callable(bandit, seed=, **parameters)``, such as a policy's class.
    instance, seeds, budgets, cuts, experiment, file, n_jobs, progress
        As for `repeat`.
    grid
        Parameter to the values to try; they must differ in text.

    Returns
    -------
    pandas.DataFrame
        A row for each combination: a column for each parameter, ``error at T`` for each budget, ``error``, their mean,
        by which the rows are sorted, and ``runs``.

    Examples
    --------
    >>> from functools import partial
    >>> from pgcpe import LUCB
    >>> from pgcpe.paper import parallel
    >>> question = parallel([0.5, 0.5], [0.4, 0.1], 0.2)
    >>> table = grid_search(
    ...     partial(LUCB, radius="lucb1"),
    ...     lambda seed: (question.bandit, question.environment(seed)),
    ...     {"alpha": [0.2, 1.0]},
    ...     seeds=range(20),
    ...     budgets=[50],
    ... )
    >>> list(table.columns), len(table)
    (['alpha', 'error at 50', 'error', 'runs'], 2)
    """
    combinations = list(ParameterGrid(dict(grid)))
    settings = {", ".join(f"{k}={v!r}" for k, v in setting.items()): setting for setting in combinations}
    if len(settings) < len(combinations) or not grid or {"seed", "error", "runs"} & set(grid):
        raise ValueError(f"grid must have parameters, no seed, and values that differ in text, but got {dict(grid)}")
    rows = repeat(
        {name: partial(make, **setting) for name, setting in settings.items()},
        instance,
        seeds=seeds,
        budgets=budgets,
        cuts=cuts,
        experiment=experiment,
        file=file,
        n_jobs=n_jobs,
        progress=progress,
    )
    if rows["correct"].isna().any():
        raise ValueError("the truth must be known to search by the error, but the environment has no expected_rewards")
    errors = 1.0 - rows.pivot_table(index="policy", columns="budget", values="correct", sort=False).astype(float)
    table = pd.DataFrame([settings[str(name)] for name in errors.index])[list(grid)]
    for budget in errors:
        table[f"error at {budget}"] = errors[budget].to_numpy()
    table["error"], table["runs"] = errors.mean(axis=1).to_numpy(), rows["seed"].nunique()
    return table.sort_values("error", kind="stable", ignore_index=True)
