"""Causal Successive Rejects: a run by hand, its phases, its estimates."""

import math

import numpy as np
import pytest
from pgmpy.base import DAG

from pgcpe import CausalBandit, CausalSuccessiveRejects, SimulatedEnvironment, do
from pgcpe.complexity.hardness import log_bar
from pgcpe.paper import parallel
from pgcpe.policies.fixed_budget.causal_successive_rejects import causal_rejection_plays

GRAPH = DAG([("X1", "Y"), ("X2", "Y")])
NULL = do()


def question(**options):
    arms = [do(X1=1), do(X2=0), do(X2=1)]
    return CausalBandit(GRAPH, **({"reward": "Y", "arms": arms} | options))


def test_phases_sum_to_at_most_half_of_the_budget():
    """And to T/2 - N but for the rounding up, as the formula says."""
    for n in (2, 3, 10, 57, 85):
        for budget in range(2, 2_000, 37):
            plays = causal_rejection_plays(n, budget)
            if budget / 2 <= n:
                assert plays == []
                continue
            assert len(plays) == n - 1
            assert budget / 2 - n - 1e-6 <= sum(plays) <= budget / 2


def test_a_run_by_hand():
    """T = 30, N = 3: 15 observations, then (15 - 3) / (4/3) = 9 in units: n_k = 3, 4.5, so 9 and 3 interventions.

    Of the observations 9 have X1=1, 12 X2=0 and 3 X2=1. Phase 1 levels 9, 12 and 3: six plays go to do(X2=1), then
    one each to it and do(X1=1) up to 9 in all. The rest is by the estimates."""
    assert log_bar(3) == pytest.approx(4 / 3)
    assert causal_rejection_plays(3, 30) == [9, 3]
    policy = CausalSuccessiveRejects(question(), budget=30, seed=0)
    assert policy.ask() == [NULL] * 15
    rows = [{"X1": int(i < 9), "X2": int(i % 5 == 0), "Y": int(i % 3 == 0)} for i in range(15)]
    policy.tell(NULL, rows)
    seen = [sum(r["X1"] for r in rows), sum(1 - r["X2"] for r in rows), sum(r["X2"] for r in rows)]
    assert seen == [9, 12, 3]
    asked = policy.ask()
    assert asked[:6] == [do(X2=1)] * 6
    assert sorted(map(str, asked[6:8])) == ["do(X1=1)", "do(X2=1)"]
    assert len(asked) == 9
    plays = [asked.count(a) for a in policy.bandit.arms]
    assert plays in ([1, 0, 8], [2, 0, 7])  # the ninth play goes to either at 10
    policy.tell(asked, [{"X1": 1, "X2": a.get("X2", 0), "Y": int("X1" in a)} for a in asked])
    # the means: do(X1=1) mostly observed, 3 of 9; do(X2=0) observed, 4 of 12; do(X2=1) played more than seen: 0
    assert policy.state.estimates == pytest.approx([3 / 9, sum(r["Y"] for r in rows if not r["X2"]) / 12, 0])
    second = policy.ask()
    assert len(second) == 3
    assert do(X2=1) not in second  # rejected
    assert second.count(do(X1=1)) >= 2  # 9 + 1 or 2 against 12
    policy.tell(second, [{"X1": 1, "X2": a.get("X2", 0), "Y": 1} for a in second])
    assert policy.stopped
    assert policy.n_plays == 27 <= 30
    assert policy.certificate is None
    assert policy.recommendation in (do(X1=1), do(X2=0))


def test_a_budget_too_small_for_phases_observes():
    policy = CausalSuccessiveRejects(question(), budget=6)
    assert policy.ask() == [NULL] * 6
    assert policy.state.estimates.tolist() == [0, 0, 0]  # nothing is known
    policy.tell(NULL, [{"X1": 1, "X2": 0, "Y": 1}] * 3 + [{"X1": 0, "X2": 1, "Y": 0}] * 3)
    assert policy.stopped
    assert policy.recommendation in (do(X1=1), do(X2=0))


@pytest.mark.parametrize("merge", ["larger", "counts", "variance"])
def test_how_two_estimates_make_one(merge):
    policy = CausalSuccessiveRejects(question(), budget=1_000, merge=merge)
    policy.tell(NULL, [{"X1": 1, "X2": 0, "Y": y} for y in (1, 1, 1, 0)])
    policy.tell(do(X1=1), [{"X1": 1, "X2": 1, "Y": y} for y in (0, 0)])
    own, observed = 1 / 6, 3.5 / 5  # smoothed by half a count for each value of the reward
    w_own, w_observed = 2 / (0.5 / 3 * 2.5 / 3), 4 / (observed * (1 - observed))
    expected = {
        "larger": 0.75,
        "counts": (0 * 2 + 0.75 * 4) / 6,
        "variance": (w_own * own + w_observed * observed) / (w_own + w_observed),
    }[merge]
    assert policy.state.estimates[0] == pytest.approx(expected)


def test_it_does_better_than_guessing_with_little():
    """On an easy parallel graph with 60 plays: the best of 13 arms in at least half of 30 runs, a guess has 1/13."""
    instance = parallel([0.5] * 6, [0.6, 0.1, 0.05, 0.05, 0.0, 0.0], 0.2)
    right = 0
    for seed in range(30):
        policy = CausalSuccessiveRejects(instance.bandit, budget=60, seed=seed)
        policy.run(SimulatedEnvironment(instance.network, seed=seed), progress=False)
        assert policy.n_plays <= 60
        right += policy.recommendation == do(X1=1)
    assert right >= 15


def test_errors():
    with pytest.raises(ValueError, match="merge must be one of 'larger', 'counts', 'variance', but got 'best'"):
        CausalSuccessiveRejects(question(), budget=10, merge="best")
    with pytest.raises(ValueError, match="budget must be at least 1 plays for 3 arms"):
        CausalSuccessiveRejects(question(), budget=0)
    with pytest.raises(ValueError, match="observes first, but playable lacks do"):
        CausalSuccessiveRejects(question(playable=[do(X1=1), do(X2=0), do(X2=1)]), budget=10)
    assert math.isfinite(np.sum(CausalSuccessiveRejects(question(), budget=10).state.estimates))
