"""How long a study would take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import pandas as pd

from pgcpe._checks import whole_number
from pgcpe.bandit import CausalBandit
from pgcpe.environment.reward_noise import RewardNoise
from pgcpe.environment.simulator import SimulatedEnvironment
from pgcpe.experiments.running import MakePolicy, in_listed_arms, repeat
from pgcpe.policies import CCPE, KLLUCB, LUCB, Policy, PooledCCPE, TopTwo

__all__ = ["STOPPING_POLICIES", "plan", "plan_measurements"]

STOPPING_POLICIES: dict[str, MakePolicy] = {
    "PooledCCPE": PooledCCPE,
    "CCPE": CCPE,
    "LUCB": LUCB,
    "KL-LUCB": KLLUCB,
    "top-two": TopTwo,
}
"""The policies that stop with an exact certificate, by the names of tables."""


def plan(
    bandit: CausalBandit,
    guess: Any,
    *,
    policies: Mapping[str, MakePolicy] | None = None,
    epsilon: float | None = None,
    delta: float = 0.05,
    runs: int = 20,
    budget: int = 100_000,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: bool | None = None,
    recording: Iterable[str] | None = None,
    reward_noise: RewardNoise | None = None,
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
    recording
        The variables that are recorded, besides the reward and what is set; the others are taken for hidden. By default
        all observed ones.
    reward_noise
        How a reward that is measured varies around what the states of the guess are worth; by default it does not, and
        the states are named by numbers.

    Returns
    -------
    pandas.DataFrame
        A row for each policy, that of the fewest plays first: ``policy``, ``plays``, the median, ``plays_low`` and
        ``plays_high``, between which eight of ten studies end, ``cost``, the median, ``stopped``, the share that
        stopped within the budget, and ``wrong``, the share whose recommendation was worse than the best of all listed
        arms by more than epsilon.
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
    if recording is not None:
        bandit = bandit.leaving_out(
            merely_recorded(bandit, bandit.observed).difference(bandit.recording(recording).required)
        )
    runs, seed = whole_number("runs", runs, 1), whole_number("seed", seed, 0, 2**62)
    simulator = SimulatedEnvironment(guess, seed=None, reward_noise=reward_noise)
    epsilon = bandit.reward_scale.tolerance if epsilon is None else epsilon
    simulator.expected_rewards(in_listed_arms(bandit))  # once, for all seeds and workers
    rows = repeat(
        {name: partial(make, epsilon=epsilon, delta=delta) for name, make in (policies or STOPPING_POLICIES).items()},
        lambda number: (bandit, simulator.reseeded(number)),
        seeds=range(seed, seed + runs),
        budgets=[budget],
        n_jobs=n_jobs,
        progress=progress,
    )
    rows["wrong"] = rows["regret"] > epsilon + 1e-9 * bandit.reward_scale.width
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


def merely_recorded(bandit: CausalBandit, variables: Iterable[str]) -> set[str]:
    """Return those of some variables that are recorded and never set, without the reward."""
    return set(variables) - {bandit.reward, *bandit.settable}


def plan_measurements(
    bandit: CausalBandit,
    guess: Any,
    *,
    policy: Callable[..., Policy] = PooledCCPE,
    runs: int = 20,
    seed: int = 0,
    **options: Any,
) -> pd.DataFrame:
    """Return what leaving out a variable is likely to cost in plays: each may cost money to record.

    Parameters
    ----------
    bandit, guess
        As for `plan`.
    policy
        ``callable(bandit, epsilon=, delta=, seed=)``. What it records and never sets may be left out.
    runs, seed, options
        As for `plan`: ``epsilon``, ``delta``, ``budget``, ``n_jobs``, ``progress``, ``reward_noise``.

    Returns
    -------
    pandas.DataFrame
        One row for what is left out: nothing, each variable, and all of them where there are several; the columns of
        `plan`, ``left_out`` and ``recorded``, in words, and ``ratio``, the plays over those where nothing is left out.
        Plays are NaN where no policy can do without: an arm that may not be played is not identified then.

    Examples
    --------
    >>> from pgcpe import CausalBandit, do, load_network
    >>> network = load_network("cancer")
    >>> arms = [do(Smoker="True"), do(Smoker="False")]
    >>> bandit = CausalBandit(network, reward="Cancer", arms=arms, reward_values={"True": 0, "False": 1})
    >>> table = plan_measurements(bandit, network, epsilon=0.1, runs=2, n_jobs=1)
    >>> table[["left_out", "recorded"]]
        left_out           recorded
    0    nothing  Pollution, Smoker
    1  Pollution             Smoker
    """
    made = policy(bandit, **{name: options[name] for name in ("epsilon", "delta") if name in options}, seed=0)
    needed = [v for v in made.bandit.required if v in merely_recorded(bandit, bandit.observed)]
    left_out: list[tuple[str, list[str]]] = [("nothing", []), *((v, [v]) for v in needed)]
    if len(needed) > 1:
        left_out.append(("all of these", needed))
    lines = []
    for name, left in left_out:
        question = bandit.leaving_out(left) if left else bandit
        try:
            recorded = ", ".join(policy(question, seed=0).bandit.required) or "nothing"
        except ValueError:
            lines.append(pd.DataFrame({"left_out": [name]}))
            continue
        found = plan(question, guess, policies={"policy": policy}, runs=runs, seed=seed, **options)
        lines.append(found.drop(columns="policy").assign(left_out=name, recorded=recorded))
    table = pd.concat(lines, ignore_index=True)
    table["ratio"] = table["plays"] / table["plays"].iloc[0]
    first = ["left_out", "recorded", "plays", "ratio"]
    return table[[*first, *(c for c in table.columns if c not in first)]]
