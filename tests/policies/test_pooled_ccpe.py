"""`PooledCCPE`: its guarantees, its budget and what it does where its model is refuted."""

import math
import re

import numpy as np
import pytest
from helpers import dag
from policies.confounded import ARMS, environment, network, question, told

from pgcpe import BGLM, CausalBandit, EmpiricalMeans, PooledCCPE, SimulatedEnvironment, do, expected_rewards
from pgcpe.confidence.pairwise import pairwise_glr
from pgcpe.paper.instances import binary_network
from pgcpe.policies.rules.stopping import (
    PairwiseAsymptotic,
    SeparatedOrRuledOut,
)


@pytest.mark.parametrize("sampling", ["cycle", "progress", "index"])
@pytest.mark.parametrize("guarantee", ["exact", "asymptotic"])
def test_an_arm_that_may_not_be_played_is_never_asked_for_but_may_win(sampling, guarantee):
    bandit = question(playable=[do(), *ARMS[1:]])
    policy = PooledCCPE(bandit, sampling=sampling, guarantee=guarantee, epsilon=0.1, delta=0.1)
    result = policy.run(environment(3), budget=6_000, progress=False)
    assert set(result.plays_by_action) <= set(bandit.playable)
    assert result.recommendation == ARMS[0]
    assert result.certificate == guarantee


def test_a_run_reports_when_each_guarantee_would_have_stopped():
    policy, world, first = PooledCCPE(question(), epsilon=0.02, delta=0.1), environment(4), None
    asymptotic = PairwiseAsymptotic(0.1)
    while not policy.stopped:
        actions = policy.ask()
        policy.tell(actions, world.perform(actions))
        if first is None and asymptotic.check(policy.state).stop:
            first = policy.n_plays
        assert policy.stops["asymptotic"] == first
        assert (policy.stops["exact"] is None) == (not policy.stopped)
    assert policy.result().stops == {"exact": policy.n_plays, "asymptotic": first}
    assert 0 < first < policy.n_plays
    assert policy.certificate == "exact"


@pytest.mark.parametrize("guarantee", ["exact", "asymptotic"])
def test_a_run_ended_by_its_budget_says_which_arms_are_open_and_what_a_small_gap_takes(guarantee):
    policy = PooledCCPE(question(), guarantee=guarantee, epsilon=0, delta=0.01)
    result = policy.run(environment(5), budget=60, progress=False)
    assert not policy.stopped
    assert result.certificate is None
    pattern = (
        r"the budget of 60 plays is spent: (do\(.*?\)) could not be told from (.*); "
        r"to tell a gap of 0\.01 takes about ([\d,]+) plays"
    )
    leader, named, plays = re.fullmatch(pattern, result.stop_reason).groups()
    assert leader == str(result.recommendation)
    rule = SeparatedOrRuledOut(0.4 * 0.01) if guarantee == "exact" else PairwiseAsymptotic(0.01)
    left = np.flatnonzero(rule.unresolved(policy.state))
    shown = named.split(" and ")[0]
    assert f" and {len(left) - 3} more" in named or len(left) <= 3
    arms = re.findall(r"do\(.*?\)", shown)
    assert len(arms) == min(len(left), 3)
    assert set(arms) <= {str(policy.bandit.arms[i]) for i in left}
    value = {str(policy.bandit.arms[i]): policy.state.estimates[i] for i in left}
    assert arms == sorted(value, key=value.get, reverse=True)[:3]  # those of the highest estimates
    # two digits are shown: at most 5 in 100 off
    assert int(plays.replace(",", "")) == pytest.approx(rule.plays_to_resolve(policy.state, 0.01), rel=0.05)


def test_without_trust_in_the_graph_direct_plays_alone_certify():
    """The graph lacks Z -> Y and is wrong; the intervals are those of direct plays at .15 delta, the pairs get .85."""
    graph = dag([("Z", "A"), ("A", "Y"), ("B", "Y")])
    bandit = CausalBandit(graph, reward="Y", arms=ARMS, merge_equal=False)
    policy = PooledCCPE(bandit, trust_graph=False, epsilon=0.1, delta=0.1)
    result = policy.run(environment(6), budget=5_000, progress=False)
    assert result.certificate == "exact"
    assert result.stop_reason.startswith("no arm is better")
    rewards = expected_rewards(network(), question(), progress=False)
    assert rewards[result.recommendation] >= rewards.max() - 0.1
    direct = EmpiricalMeans().start(policy.bandit).update(result.told).intervals(0.15 * 0.1)
    np.testing.assert_array_equal(policy.intervals.lower, direct.lower)
    np.testing.assert_array_equal(policy.intervals.upper, direct.upper)
    trusting = told(PooledCCPE(question()), [do()] * 400).intervals
    wary = told(PooledCCPE(question(merge_equal=False), trust_graph=False), [do()] * 400).intervals
    assert (trusting.upper - trusting.lower).max() < 1.0
    assert (wary.lower.max(), wary.upper.min()) == (0.0, 1.0)
    assert policy.stops == {"exact": policy.n_plays}
    evidence = pairwise_glr(policy.state.plays, policy.state.rewards, policy.state.leader, 0.1)
    apart = policy.intervals.upper <= policy.intervals.lower[policy.state.leader] + 0.1
    assert (apart | (evidence >= math.log(4 / (0.85 * 0.1)))).all()
    with pytest.raises(ValueError, match="trust_graph=False certifies from direct plays"):
        PooledCCPE(bandit, trust_graph=False, guarantee="asymptotic")


def test_a_bglm_stops_numerically_and_reports_all_three():
    policy = PooledCCPE(question(), model=BGLM("identity"), guarantee="numerical", epsilon=0.1, delta=0.1)
    result = policy.run(environment(7), budget=3_000, progress=False)
    assert result.certificate == "numerical"
    assert not result.certified
    assert result.recommendation == ARMS[0]
    assert set(result.stops) == {"exact", "asymptotic", "numerical"}
    assert result.stops["numerical"] == result.n_plays
    assert result.stop_reason.endswith("for any coefficients that the plays allow")


def test_a_link_that_is_refuted_is_given_up_for_tables():
    """The reward is 1 nearly always where A and B differ."""
    xor = {"A": ([], lambda: 0.5), "B": ([], lambda: 0.5), "Y": (["A", "B"], lambda a, b: 0.9 if a != b else 0.1)}
    made = binary_network(xor)
    bandit = CausalBandit(made, reward="Y", arms=[do(A=0, B=1), do(A=1, B=1), do(A=0)])
    policy = PooledCCPE(bandit, model=BGLM(), guarantee="numerical", epsilon=0.1)
    samples = SimulatedEnvironment(made, seed=0).sample(do(), 300)
    with pytest.warns(UserWarning, match="contradict the logit link: the BGLM is given up for tables"):
        policy.tell(do(), samples)
    assert policy.state.estimates == pytest.approx([0.9, 0.1, 0.5], abs=0.14)  # 75 plays a row: 4 * .035
    assert policy.certificate == "exact"  # what it stops by is the other rule
    assert policy.stop_reason.endswith("2 are below it by their intervals")
    with pytest.raises(ValueError, match="guarantee='numerical' is that of a BGLM"):
        PooledCCPE(bandit, guarantee="numerical")
