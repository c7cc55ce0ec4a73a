"""Fixed-budget baselines against runs by hand and against their definitions."""

import numpy as np
import pytest
from pgmpy.base import DAG

from pgcpe import CausalBandit, SequentialHalving, SuccessiveRejects, UniformSampling, do
from pgcpe.complexity.hardness import log_bar
from pgcpe.policies.fixed_budget.successive_rejects import rejection_counts

GRAPH = DAG([("X", "Y")])
ARMS = [do(X=x) for x in range(4)]


def question(n=4):
    return CausalBandit(GRAPH, reward="Y", arms=ARMS[:n], states={"X": list(range(n))})


def play(policy, reward_of, n=None):
    """Perform what is asked, one by one; the k-th play of an arm gives the k-th entry of its rewards, over and over."""
    performed, count = [], dict.fromkeys(ARMS, 0)
    while not policy.stopped and (n is None or len(performed) < n):
        action = policy.ask()[0]
        rewards = reward_of[action["X"]]
        policy.tell(action, {"X": action["X"], "Y": rewards[count[action] % len(rewards)]})
        count[action] += 1
        performed.append(action["X"])
    return performed


def test_uniform_sampling_goes_round():
    policy = UniformSampling(question(), budget=10, seed=3)
    performed = play(policy, [[0], [0, 1], [1], [0]])
    assert len(performed) == 10
    assert sorted(performed[:4]) == [0, 1, 2, 3]
    assert performed[4:8] == performed[:4]
    assert performed[8:] == performed[:2]
    assert policy.recommendation == do(X=2)
    assert policy.certificate is None
    assert policy.ask() == []


def test_the_first_twenty_plays_of_successive_rejects_by_hand():
    """K = 4, T = 24: logbar = 19/12, so n = ceil(20 * 12/19 / (4, 3, 2)) = 4, 5, 7. Plays: 16, then 3, then 2 * 2."""
    assert log_bar(4) == pytest.approx(19 / 12)
    assert rejection_counts(4, 20) == [4, 5, 7]
    policy = SuccessiveRejects(question(), budget=24, seed=1)
    order = np.argsort(policy.state.rank).tolist()
    # arm 0 always fails and goes first, arm 3 succeeds once in five and goes second, arms 1 and 2 stay
    performed = play(policy, [[0], [1, 1, 1, 0], [1], [0, 0, 1, 0, 0]])
    assert performed[:16] == order * 4
    assert performed[16:19] == [x for x in order if x != 0]
    assert performed[19:] == [x for x in order if x in (1, 2)] * 2
    assert len(performed) == 23 <= 24
    assert policy.recommendation == do(X=2)


def test_sequential_halving_by_hand():
    """K = 4, T = 24, two rounds of 12: three plays each, then six each for the better two."""
    policy = SequentialHalving(question(), budget=24, seed=2)
    order = np.argsort(policy.state.rank).tolist()
    performed = play(policy, [[0], [1, 0, 1], [1], [0, 0, 1]])
    assert performed[:12] == order * 3
    assert performed[12:] == [x for x in order if x in (1, 2)] * 6
    assert policy.recommendation == do(X=2)


def test_sequential_halving_with_and_without_the_plays_of_earlier_rounds():
    """Arm 0 has 3 of 3, then 2 of 6; arm 1 has 1 of 3, then 3 of 6: 5 of 9 against 4 of 9, or 2 of 6 against 3 of 6."""
    rewards = [[1, 1, 1, 1, 1, 0, 0, 0, 0], [1, 0, 0, 1, 1, 1, 0, 0, 0], [0], [0]]
    for keep, best in ((False, 1), (True, 0)):
        policy = SequentialHalving(question(), budget=24, keep=keep)
        assert len(play(policy, rewards)) == 24
        assert policy.recommendation == do(X=best)


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
    with pytest.raises(TypeError, match="budget must be an integer, but got True"):
        UniformSampling(question(), budget=True)
