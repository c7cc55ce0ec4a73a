"""What every policy does with its candidates: leader, challenger and ties."""

from pgmpy.base import DAG

from pgcpe import (
    LUCB,
    CausalBandit,
    do,
)

GRAPH = DAG([("Z", "X"), ("Z", "Y"), ("X", "Y")])


def question(**options):
    return CausalBandit(GRAPH, **({"reward": "Y", "arms": [do(X=0), do(X=1)]} | options))


def rows(n, **values):
    return [values] * n


def test_leader_and_challenger():
    policy = LUCB(question(arms=[do(X=0), do(X=1), do()]))
    policy.tell(do(X=1), rows(50, Z=0, X=1, Y=1))
    policy.tell(do(X=0), rows(50, Z=0, X=0, Y=1)).tell(do(X=0), rows(10, Z=0, X=0, Y=0))
    assert policy.recommendation == do(X=1)  # highest midpoint
    assert policy.ask() == [do(), do(X=1)]  # never played: highest upper end
    policy.tell(do(), rows(50, Z=0, X=0, Y=0))
    assert policy.ask() == [do(X=0), do(X=1)]


def test_ties_go_to_the_arm_with_fewest_plays():
    bandit = question(arms=[do(X=0), do(X=1), do(), do(Z=0), do(Z=1)])
    policy = LUCB(bandit, radius="paper")  # radii above 1: everything ties at [0, 1]
    for _ in range(4):
        asked = policy.ask()
        plays = dict(zip(bandit.arms, policy.state.plays, strict=True))
        assert sorted(plays[a] for a in asked) == sorted(plays.values())[:2]
        policy.tell(asked, [{"Z": a.get("Z", 0), "X": a.get("X", 0), "Y": 0} for a in asked])
