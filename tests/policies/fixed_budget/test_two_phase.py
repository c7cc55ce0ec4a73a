"""The two-phase rule by hand: observe, then play what observation cannot tell."""

import pytest
from helpers import dag

from pgcpe import CausalBandit, ParallelBandit, TwoPhase, do, interventions

PARALLEL = dag([("X1", "Y"), ("X2", "Y"), ("X3", "Y")])


CONFOUNDED = dag([("X", "M"), ("M", "Y"), ("U", "X"), ("U", "Y"), ("W", "Y")], {"U"})


def question(graph, size=1):
    return CausalBandit(graph, reward="Y", arms=interventions(graph, reward="Y", size=size))


def test_the_two_phase_rule_plays_what_has_no_sequence():
    policy = TwoPhase(question(CONFOUNDED), budget=21, seed=0)
    assert policy.ask() == [do()] * 11
    rows = [{"X": i % 2, "M": i % 2, "W": int(i < 6), "Y": int(i < 6)} for i in range(11)]
    policy.tell(do(), rows)
    hard = set(policy.ask())
    assert {do(X=0), do(X=1)} <= hard  # no admissible sequence
    assert do(W=1) not in hard
    assert len(policy.ask()) == 10
    estimates = dict(zip(policy.bandit.arms, policy.state.estimates, strict=True))
    assert estimates[do(W=1)] == 1
    assert estimates[do(X=0)] == 0  # not played yet


def test_errors():
    chain = dag([("X1", "X2"), ("X2", "Y")])
    with pytest.raises(ValueError, match="needs a parallel graph"):
        ParallelBandit(question(chain), budget=10)
    with pytest.raises(ValueError, match="needs a parallel graph"):
        ParallelBandit(question(dag([("X1", "Y"), ("U", "Y")], {"U"})), budget=10)
    with pytest.raises(ValueError, match=r"for arms that set one variable, but got do\(X1=0, X2=0\)"):
        TwoPhase(question(PARALLEL, size=2), budget=10)
    with pytest.raises(ValueError, match="arms that set one variable"):
        ParallelBandit(question(PARALLEL, size=2), budget=10)
    bandit = CausalBandit(PARALLEL, reward="Y", arms=[do(X1=0), do(X1=1)], playable=[do(X1=0), do(X1=1)])
    for policy in (TwoPhase, ParallelBandit):
        with pytest.raises(ValueError, match="observes first"):
            policy(bandit, budget=10)
        with pytest.raises(TypeError, match="budget must be an integer"):
            policy(question(PARALLEL), budget=1.5)
