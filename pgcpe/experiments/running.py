"""Policies on instances over many seeds, tidy rows out; a run that was cut goes on where it stopped."""

from __future__ import annotations

import copy
import inspect
import math
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from tqdm.auto import tqdm

from pgcpe._checks import flag, whole_number
from pgcpe.bandit import CausalBandit
from pgcpe.environment.protocol import Environment
from pgcpe.experiments.rows import append_rows, checked_file, frame_of, kept_rows, mend
from pgcpe.graphs.states import is_several, shown
from pgcpe.plays.actions import Action
from pgcpe.policies.loop import AskTell

__all__ = ["MakeInstance", "MakePolicy", "repeat"]

MakePolicy = Callable[..., AskTell]
MakeInstance = Callable[[int], tuple[CausalBandit, Environment]]


def repeat(
    policies: Mapping[str, MakePolicy],
    instance: MakeInstance,
    *,
    seeds: Iterable[int],
    budgets: Sequence[int] | Mapping[str, Sequence[int]],
    cuts: Sequence[int] | Mapping[str, Sequence[int]] = (),
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
        its parameters, which the rows then show. Any object with ``ask()``, ``tell(actions, samples)``, ``stopped``
        and ``recommendation`` is a policy here (see `AskTell`). The seed is a `numpy.random.Generator` made from
        that of the run. A callable that has a parameter ``budget`` still open is given the budget as well, and makes a
        new policy for each: those of a fixed budget.
    instance
        ``callable(seed)`` that returns a bandit and an environment. Where the environment has a method
        ``expected_rewards(bandit)``, as `SimulatedEnvironment` has, the rows say what the recommendation is worth.
    seeds
        The seeds, each an instance.
    budgets
        Numbers of plays, the same for all policies or for each by its name. What is recommended at a budget does not
        depend on the others: it is that of a run with this budget alone.
    cuts
        Numbers of plays at which every run breaks off an iteration, gives up what is left of it (`Policy.cancel`) and
        asks anew, for all policies or each by its name; by default none.
    experiment
        What the rows are to call this experiment.
    file
        A CSV file. The rows of each seed are appended to it as they come; the seeds and policies that are in it
        already, under the same name of the experiment, are not run again. Several processes may write to one file:
        they take turns by a lock on ``<file>.lock``.
    n_jobs
        How many seeds to run at once, by joblib. None: one, or what a context of joblib says: inside
        ``joblib.parallel_config("dask")`` the seeds run on the workers of a Dask cluster, inside that of Ray on its.
    progress
        Whether to show a progress bar; None shows it only on a terminal or in a notebook.

    Returns
    -------
    pandas.DataFrame
        A row for each seed, policy and budget, in the order of the seeds, the same however they were run:
        ``experiment``, ``policy``, ``parameters`` (what made it), ``radius`` (of each estimator that has one),
        ``epsilon``, ``delta``, ``arms``, ``seed``, ``budget``, ``plays`` (at most the budget), ``cost``,
        ``certificate`` ("" for none), ``recommendation``, ``regret`` (how far it is below the best of all listed arms),
        ``correct`` (that it is not), NaN and missing where the truth is not known, ``conflicts`` and ``stopped``.
        A policy that asks for nothing before it stops ends with fewer plays than the budget.

    Raises
    ------
    ValueError, TypeError
        If there is no policy, seed or budget, a budget is no positive integer, a seed comes twice or is bound in a
        maker. If the file is no place for rows, or has rows of a policy of the same name with other parameters: it is
        not touched then.

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
    (12, ['LUCB', 'SR'], ['LUCB(epsilon=0.1)', 'SuccessiveRejects()'])
    """
    if not callable(instance):
        raise TypeError(f"instance must be callable(seed) that makes bandit and environment, but got {shown(instance)}")
    hidden = None if progress is None else not flag("progress", progress)
    workers = n_jobs if n_jobs is None else whole_number("n_jobs", n_jobs, -(10**4), 10**4)
    makers, numbers = _checked_policies(policies, experiment), _checked_seeds(seeds)
    wanted = {name: _checked_budgets(budgets, name) for name in makers}
    broken = {name: [] if _is_empty(cuts) else _checked_budgets(cuts, name, "cuts") for name in makers}
    path = None if file is None else checked_file(file)
    described = {name: _described(make) for name, make in makers.items()}
    kept = frame_of([]) if path is None else kept_rows(path, experiment, described, wanted, numbers)
    if path is not None:
        mend(path)
    done = set(zip(kept["seed"], kept["policy"], strict=True))
    jobs = []
    for seed in numbers:
        if missing := {name: make for name, make in makers.items() if (seed, name) not in done}:
            jobs.append(delayed(_run_seed)(missing, instance, seed, wanted, broken, experiment))
    found: list[Any] = kept.to_dict("records")
    with tqdm(total=len(numbers), initial=len(numbers) - len(jobs), unit=" seeds", disable=hidden) as bar:
        for some in Parallel(n_jobs=workers, return_as="generator")(jobs):
            if path is not None:
                append_rows(path, some)
            found += some
            bar.update()
    rows = frame_of(found)
    seed_at, policy_at = {seed: i for i, seed in enumerate(numbers)}, {name: i for i, name in enumerate(makers)}
    order = np.lexsort((rows["budget"], rows["policy"].map(policy_at), rows["seed"].map(seed_at)))
    return rows.iloc[order].reset_index(drop=True)


def _checked_policies(policies: Mapping[str, MakePolicy], experiment: str) -> dict[str, MakePolicy]:
    """Return the makers once they and all names make sense."""
    if not isinstance(policies, Mapping):
        raise TypeError(
            f"policies must map names to callable(bandit, seed=) that makes one each, but got {shown(policies)}"
        )
    if not policies:
        raise ValueError("there must be at least one policy, but got none")
    for name in (experiment, *policies):
        if not isinstance(name, str) or not name.isprintable():
            raise ValueError(f"an experiment and a policy must be named by a line of text, but got {shown(name)}")
    for name, make in policies.items():
        if not callable(make):
            raise TypeError(f"{name} must be callable(bandit, seed=) that makes a policy, but got {shown(make)}")
        if isinstance(make, partial) and "seed" in make.keywords:
            raise ValueError(f"{name} must not fix its seed, for that of each run is given to it")
    return dict(policies)


def _checked_seeds(seeds: Iterable[int]) -> list[int]:
    if not is_several(seeds):
        raise TypeError(f"seeds must be a sequence of integers, as in range(100), but got {shown(seeds)}")
    numbers = list(seeds)
    if odd := [seed for seed in numbers if not isinstance(seed, Integral) or not 0 <= int(seed) < 2**63]:
        raise ValueError(f"seeds must be integers from 0 to 2^63 - 1, but got {shown(odd[0])}")
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"seeds must be distinct and at least one, but got {shown(*numbers)}")
    return [int(seed) for seed in numbers]


def _is_empty(cuts: Any) -> bool:
    return cuts is None or (isinstance(cuts, (Sequence, Mapping)) and len(cuts) == 0)


def _checked_budgets(
    budgets: Sequence[int] | Mapping[str, Sequence[int]], policy: str, what: str = "budgets"
) -> list[int]:
    """Return the budgets of a policy, the smallest first."""
    if isinstance(budgets, Mapping) and policy not in budgets:
        raise ValueError(f"{what} must name every policy, but lack {policy}")
    chosen = budgets[policy] if isinstance(budgets, Mapping) else budgets
    if not is_several(chosen):
        raise TypeError(f"{what} must be a sequence of integers, but got {shown(chosen)}")
    numbers = list(chosen)
    if not numbers or not all(isinstance(b, Integral) and not isinstance(b, bool) and int(b) >= 1 for b in numbers):
        raise ValueError(f"{what} must be positive integers, at least one, but got {shown(*numbers)}")
    return sorted({int(b) for b in numbers})


def _run_seed(
    policies: dict[str, MakePolicy],
    instance: MakeInstance,
    seed: int,
    budgets: dict[str, list[int]],
    cuts: dict[str, list[int]],
    experiment: str,
) -> list[dict[str, Any]]:
    bandit, environment = instance(seed)
    known = getattr(environment, "expected_rewards", None)
    truth = None if known is None else known(in_listed_arms(bandit))
    rows = []
    for name, make in policies.items():
        fixed = {"experiment": experiment, "policy": name, "parameters": _described(make)}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="the graph is (in doubt|refuted)")  # rows count conflicts
            for budget, policy, plays in _played(make, (bandit, environment), seed, budgets[name], cuts[name]):
                rows.append({**fixed, "seed": seed, "budget": budget, **_row(policy, plays, bandit, truth)})
    return rows


def in_listed_arms(bandit: CausalBandit) -> CausalBandit:
    """Return the question about all listed arms: if its graph is wrong the best may be merged with others."""
    return bandit.unmerged() if bandit.merges_arms else bandit


def _row(policy: Any, plays: int, bandit: CausalBandit, truth: pd.Series[float] | None) -> dict[str, Any]:
    """Return what a row says of a policy after so many plays; a policy need not say all of it."""
    recommended = bandit.action(policy.recommendation)
    i = bandit.listed_index(recommended)
    if i < 0 and bandit.index(recommended) >= 0:
        i = bandit.listed_index(bandit.arms[bandit.index(recommended)])
    if i < 0:
        raise ValueError(f"a policy must recommend one of the arms, but {type(policy).__name__} did {recommended}")
    regret = math.nan
    if truth is not None:
        of_arm, best = float(truth.iloc[i]), float(truth.min() if bandit.reward_scale.minimise else truth.max())
        regret = round(abs(best - of_arm), 9)
    return {
        "radius": _line(getattr(policy, "radii", "")),
        "epsilon": float(getattr(policy, "epsilon", math.nan)),
        "delta": float(getattr(policy, "delta", math.nan)),
        "arms": len(bandit.arms),
        "plays": plays,
        "cost": float(getattr(policy, "cost", plays)),
        "certificate": _line(getattr(policy, "certificate", None) or ""),
        "recommendation": str(recommended),
        "regret": regret,
        "correct": None if truth is None else regret < 1e-9,
        "conflicts": len(getattr(policy, "conflicts", ())),
        "stopped": bool(policy.stopped),
    }


def _played(
    make: MakePolicy,
    question: tuple[CausalBandit, Environment],
    seed: int,
    budgets: list[int],
    cuts: list[int],
) -> Iterator[tuple[int, AskTell, int]]:
    """Yield each budget with a policy that has spent it, or stopped before, and the plays it was told."""
    bandit, environment = question
    if takes_budget(make):
        for budget in budgets:
            policy = _made(make, bandit, seed=_generator(seed, budget), budget=budget)
            logged = int(getattr(policy, "n_plays", 0))  # they do not count against a fixed budget
            for _, spent, plays in _spent(policy, copy.deepcopy(environment), [logged + budget], cuts):
                yield budget, spent, plays
    else:
        policy = _made(make, bandit, seed=_generator(seed, 0))
        yield from _spent(policy, copy.deepcopy(environment), budgets, cuts)


def _spent(
    policy: AskTell, environment: Environment, budgets: Sequence[int], cuts: Sequence[int]
) -> Iterator[tuple[int, AskTell, int]]:
    """Yield each budget with the policy as it is when it has spent it, stopped, or asks for nothing.

    A budget within an iteration cuts it for a copy, which is yielded; the policy itself is told the whole iteration, so
    that what is said at a budget does not depend on the others. What was told is counted here, whatever a policy says.
    """
    plays, asked = int(getattr(policy, "n_plays", 0)), list[Action]()
    for budget in budgets:
        while plays < budget and not policy.stopped:
            asked = asked or list(policy.ask())[: min((cut - plays for cut in cuts if cut > plays), default=None)]
            if not asked or plays + len(asked) > budget:
                break
            policy.tell(asked, environment.perform(asked))
            plays, asked = plays + len(asked), []
            if plays in cuts and hasattr(policy, "cancel"):
                policy.cancel()
        if plays >= budget or policy.stopped or not asked:
            yield budget, policy, plays
        else:
            twin, world = copy.deepcopy((policy, environment))
            first = asked[: budget - plays]
            twin.tell(first, world.perform(first))
            yield budget, twin, budget


def _generator(seed: int, budget: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(budget,)))


def takes_budget(make: MakePolicy) -> bool:
    """Return whether a maker of policies has a parameter ``budget`` that is still open."""
    bound = make.keywords if isinstance(make, partial) else {}
    return "budget" in inspect.signature(make).parameters and "budget" not in bound


def _made(make: MakePolicy, bandit: CausalBandit, **given: Any) -> AskTell:
    policy = make(bandit, **given)
    if missing := [name for name in ("ask", "tell", "stopped", "recommendation") if not hasattr(policy, name)]:
        raise TypeError(f"{_described(make)} must make a policy, but made {policy!r}, which lacks {', '.join(missing)}")
    return policy


def _described(make: MakePolicy) -> str:
    """Return a maker and the parameters bound in it as text, ``LUCB(alpha=0.3, radius='lucb1')``."""
    bound = make.keywords if isinstance(make, partial) else {}
    arguments = ", ".join(f"{name}={_text(value)}" for name, value in sorted(bound.items()))
    return f"{_text(make.func if isinstance(make, partial) else make)}({arguments})"


def _text(value: Any) -> str:
    """Return a value as text that is the same in another process, on one line and whole."""
    if isinstance(value, np.generic):
        value = value.item()
    if hasattr(value, "__qualname__"):
        return str(value.__qualname__)
    with np.printoptions(threshold=sys.maxsize, precision=17):
        return re.sub(r" at 0x[0-9a-f]+", "", _line(repr(value)))


def _line(text: Any) -> str:
    """Return a text on one line, so that a row is one line of a file."""
    return " ".join(str(text).split())
