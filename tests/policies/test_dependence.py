"""What a certificate hangs on: statements left out by hand, and what is then no longer ruled out."""

import math

import numpy as np
import pytest
from helpers import dag

from pgcpe import CausalBandit, PooledCCPE, SimulatedEnvironment, do, interventions
from pgcpe.confidence.pairwise import pairwise_glr
from pgcpe.estimators.table_model import TableModel
from pgcpe.paper.instances import binary_network
from pgcpe.policies.dependence import screenings, statements_needed
from pgcpe.policies.rules.stopping import PairwiseGLR

CHAIN = dag([("A", "B"), ("B", "Y")])
PAIRS = [do(B=0), do(B=1), do(A=0, B=0), do(A=0, B=1), do(A=1, B=0), do(A=1, B=1)]


def told(bandit, plays, **options):
    """Return a policy that was told so many plays, and successes among them, of some actions."""
    policy = PooledCCPE(bandit, **options)
    for action, (n, successes) in plays.items():
        rows = [{"A": 0, "B": 0, **action, "Y": int(i * successes // n < (i + 1) * successes // n)} for i in range(n)]
        policy.tell(action, rows)
    return policy


def test_a_merging_left_out_by_hand():
    """Each member of both classes by its own plays: three of the five others are not ruled out by them at .01.

    The leader do(B=1) has 36 of 40. Against 4 of 40 that is 35 nats, against three failures 3.2 of the 4.6 that are
    asked; do(A=0, B=1) is as good as the leader, and do(A=1, B=1) has no play.
    """
    bandit = CausalBandit(CHAIN, reward="Y", arms=PAIRS)
    assert [len(some) for some in bandit.merged.values()] == [3, 3]
    plays = {do(B=1): (40, 36), do(A=0, B=1): (40, 36), do(B=0): (40, 4), do(A=1, B=0): (40, 4), do(A=0, B=0): (3, 0)}
    policy = told(bandit, plays, epsilon=0.0)
    rule = PairwiseGLR(0.01)
    assert policy.state.leader == 1
    assert rule.check(policy.state).stop
    evidence = pairwise_glr([40, 40, 3], [36, 4, 0], leader=0)[1:]
    assert evidence[1] < math.log(100) < evidence[0]
    said = statements_needed(policy.state, rule)
    assert said == ("B screens A from Y (4 merged arms); without it 3 arms are unresolved",)


def test_nothing_is_named_that_is_not_needed():
    """All three members of the class below are ruled out by their own plays: the certificate hangs on no statement."""
    arms = [do(B=0), do(B=1), do(A=0, B=0), do(A=1, B=0)]
    bandit = CausalBandit(CHAIN, reward="Y", arms=arms)
    plays = dict.fromkeys(arms, (200, 20)) | {do(B=1): (200, 180)}
    state = told(bandit, plays, epsilon=0.0).state
    assert statements_needed(state, PairwiseGLR(1e-6)) == ()


def test_an_adjustment_left_out_by_hand():
    """Without the trees nothing rules out the other drug; where both were played nothing hangs on them."""
    network = binary_network(
        {
            "severity": ([], lambda: 0.5),
            "drug": (["severity"], lambda severe: 0.8 if severe else 0.2),
            "recovered": (["severity", "drug"], lambda severe, drug: 0.5 - 0.3 * severe + 0.4 * drug),
        }
    )
    arms = interventions(network, reward="recovered", variables=["drug"], size=1, null=False)
    policy = PooledCCPE(CausalBandit(network, reward="recovered", arms=arms))
    environment = SimulatedEnvironment(network, seed=0)
    policy.tell(do(), environment.sample(do(), 3000))
    assert policy.certificate == "exact"
    statement = "nothing but severity confounds drug and recovered (2 arms estimated by it)"
    assert policy.assumptions[-1] == f"{statement}; without it 1 arm is unresolved"
    direct = PooledCCPE(CausalBandit(network, reward="recovered", arms=arms))
    for arm in arms:
        direct.tell(arm, environment.sample(arm, 400))
    assert direct.certificate is not None
    assert not any("without it" in said for said in direct.assumptions)


def test_all_merged_into_one_hangs_on_all_that_merged():
    """Of four listed arms do(A=0) stands for all; without either statement those it parts are left without a play."""
    graph = dag([("A", "B")], nodes=["A", "B", "Y"])
    bandit = CausalBandit(graph, reward="Y", arms=[do(A=0), do(A=1), do(B=0), do(B=1)])
    assert PooledCCPE(bandit).assumptions[1:] == (
        "A has no effect on Y (2 merged arms); without it 3 arms are unresolved",
        "B has no effect on Y (2 merged arms); without it 2 arms are unresolved",
    )


@pytest.mark.parametrize(("n", "said"), [(100, "97 more statements"), (101, "at least 97 more statements")])
def test_where_not_all_statements_are_left_out_in_turn_that_is_said(n, said):
    """Each of n variables has no effect: without that, one arm is left without a play. A hundred are tried."""
    causes = [f"Z{i}" for i in range(n)]
    states = {v: [0, 1] for v in [*causes, "Y"]}
    bandit = CausalBandit(dag([], nodes=[*causes, "Y"]), reward="Y", arms=[do({v: 0}) for v in causes], states=states)
    assert PooledCCPE(bandit).assumptions[-1] == f"{said} of the graph"


def test_screens_are_the_first_that_are_met():
    graph = dag([("A", "B"), ("A", "C"), ("B", "D"), ("C", "Y"), ("D", "Y"), ("E", "C")])
    arms = [do(A=0, B=0, C=0, D=0), do(A=1, B=0, C=0, D=0), do(B=1, C=0, D=0), do(A=0, D=1, C=1), do(C=1, D=1)]
    bandit = CausalBandit(graph, reward="Y", arms=[*arms, do(C=0, E=1)])
    found = {s.words: (s.listed.tolist(), s.parts.tolist()) for s in screenings(bandit)}
    assert found == {
        "C and D screen A from Y": ([0, 1, 3], [0, 1, 2]),
        "D screens B from Y": ([0, 1, 2], [0, 0, 1]),
        "C screens E from Y": ([5], [0]),
    }


def test_which_arms_a_table_counts_for():
    arms = interventions(CHAIN, reward="Y", max_size=1)
    bandit = CausalBandit(CHAIN, reward="Y", arms=arms)
    model = TableModel()
    claims = model.start(bandit.recording(model.required(bandit))).claims()
    assert {claim.words: [str(arms[i]) for i in np.flatnonzero(claim.arms)] for claim in claims} == {
        "nothing else tells of A": ["do()"],
        "nothing but A tells of B": ["do()", "do(A=0)", "do(A=1)"],
        "nothing but B tells of Y": [str(arm) for arm in arms],
    }


@pytest.mark.parametrize("guarantee", ["exact", "asymptotic", "numerical"])
def test_every_guarantee_says_what_it_hangs_on(guarantee):
    network = binary_network(
        {
            "A": ([], lambda: 0.5),
            "B": (["A"], lambda a: 0.7 if a else 0.3),
            "Y": (["B"], lambda b: 0.2 + 0.6 * b),
        }
    )
    bandit = CausalBandit(network, reward="Y", arms=interventions(network, reward="Y", max_size=2))
    policy = PooledCCPE(bandit, guarantee=guarantee, epsilon=0.2)
    result = policy.run(SimulatedEnvironment(network, seed=0), budget=2000, progress=False)
    assert result.certificate == guarantee
    screened = [said for said in result.assumptions if said.startswith("B screens A from Y (4 merged arms)")]
    assert screened == ["B screens A from Y (4 merged arms); without it 4 arms are unresolved"]
    assert any("arms estimated by it" in said for said in result.assumptions)
    later = policy.tell(do(), SimulatedEnvironment(network, seed=1).sample(do(), 50)).result()
    assert later.assumptions == result.assumptions
