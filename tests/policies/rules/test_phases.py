"""Policies that go by phases: their budgets, and plays that were not asked for."""

import pytest
from policies.fixed_budget.four_arms import GRAPH, question

from pgcpe import CausalBandit, SequentialHalving, SuccessiveRejects, UniformSampling, do
from pgcpe.policies.fixed_budget.successive_rejects import rejection_counts


@pytest.mark.parametrize("k", [2, 3, 7, 57, 84])
def test_budgets_are_never_exceeded(k):
    for budget in (2 * k, 5 * k + 3, 1_000):
        counts = rejection_counts(k, budget - k)
        assert counts == sorted(counts)
        assert sum(counts) + counts[-1] <= budget
        states = list(range(k))
        bandit = CausalBandit(GRAPH, reward="Y", arms=[do(X=x) for x in states], states={"X": states})
        for cls in (UniformSampling, SuccessiveRejects):
            policy = cls(bandit, budget=budget)
            while not policy.stopped:
                asked = policy.ask()
                policy.tell(asked, [{"X": a["X"], "Y": a["X"] % 2} for a in asked])
            assert policy.n_plays <= budget
            assert policy.n_plays >= 0.5 * budget


def test_other_plays_inform_and_do_not_count():
    policy = SuccessiveRejects(question(), budget=24, seed=1)
    logged = policy.ask(1) * 50
    policy.tell(logged, [{"X": a["X"], "Y": 1} for a in logged])
    assert len(policy.ask()) == 16 - 4  # the plan had four plays of this arm; the rest is knowledge
    assert policy.n_plays == 50
    assert policy.recommendation == logged[0]


def test_errors():
    with pytest.raises(ValueError, match="budget must be at least 5 plays for 4 arms, but got 4"):
        SuccessiveRejects(question(), budget=4)
    with pytest.raises(ValueError, match="budget must be at least 1 plays for 4 arms, but got 0"):
        SequentialHalving(question(), budget=0)
    with pytest.raises(TypeError, match="budget must be an integer of at least 0, but got True"):
        UniformSampling(question(), budget=True)
