"""`PooledCCPE`: its guarantees, its budget and what it does where its model is refuted."""

import math
import re

import numpy as np
import pytest
from helpers import dag
from policies.confounded import ARMS, environment, network, question

from pgcpe import BGLM, CausalBandit, PooledCCPE, SimulatedEnvironment, do, expected_rewards
from pgcpe.confidence.pairwise import pairwise_glr
from pgcpe.paper.instances import binary_network
from pgcpe.policies.rules.asymptotic import PairwiseAsymptotic
from pgcpe.policies.rules.stopping import PairwiseGLR, SeparatedOrRuledOut


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
    policy, world, first = PooledCCPE(question(), epsilon=0.02, delta=0.1), environment(5), None
    asymptotic = PairwiseAsymptotic(0.09, 5, PairwiseGLR(0.01 / 4), shown_level=0.02)
    while not policy.stopped:
        action = policy.ask()[0]  # one by one, so that every look is seen
        policy.tell(action, world.perform([action]))
        if first is None and asymptotic.check(policy.state).stop:
            first = policy.n_plays
        assert policy.stops["asymptotic"] == first
        assert (policy.stops["exact"] is None) == (not policy.stopped)
    stops = policy.result().stops
    assert set(stops) == {"direct", "exact", "asymptotic"}
    assert (stops["exact"], stops["asymptotic"]) == (policy.n_plays, first)
    assert 0 < first < policy.n_plays
    assert policy.certificate == "exact"


@pytest.mark.parametrize("guarantee", ["exact", "asymptotic"])
def test_a_run_ended_by_its_budget_says_which_arms_are_open_and_what_a_small_gap_takes(guarantee):
    policy = PooledCCPE(question(), guarantee=guarantee, epsilon=0, delta=0.01)
    result = policy.run(environment(5), budget=60, progress=False)
    assert not policy.stopped
    assert result.certificate is None
    pattern = (
        r"the budget of 60 plays is spent: (do\(.*?\)) is not resolved from (.*); "
        r"to resolve a gap of 0\.01 takes about ([\d,]+) plays"
    )
    leader, named, plays = re.fullmatch(pattern, result.stop_reason).groups()
    assert leader == str(result.recommendation)
    rule = SeparatedOrRuledOut(PairwiseGLR(0.4 * 0.01 / 4))
    if guarantee == "asymptotic":
        rule = PairwiseAsymptotic(0.9 * 0.01, 5, PairwiseGLR(0.1 * 0.01 / 4), shown_level=0.002)
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


def test_the_direct_guarantee_holds_whatever_the_graph():
    """The graph lacks Z -> Y and is wrong; plays of the arms themselves decide, in pairs, at all of delta."""
    graph = dag([("Z", "A"), ("A", "Y"), ("B", "Y")])
    bandit = CausalBandit(graph, reward="Y", arms=ARMS, merge_equal=False)
    policy = PooledCCPE(bandit, guarantee="direct", epsilon=0.1, delta=0.1)
    result = policy.run(environment(6), budget=5_000, progress=False)
    assert (result.certificate, result.certified, result.assumptions) == ("direct", True, ())
    assert "whatever the graph" in result.summary
    rewards = expected_rewards(network(), question(), progress=False)
    assert rewards[result.recommendation] >= rewards.max() - 0.1
    assert policy.stops["direct"] == result.certified_at == policy.n_plays
    evidence = pairwise_glr(policy.state.plays, policy.state.rewards, policy.state.leader, 0.1)
    assert (evidence >= math.log(4 / 0.1)).all()
    merged = CausalBandit(dag([("W", "X"), ("X", "Y")]), reward="Y", arms=[do(X=0), do(X=1), do(W=1, X=1)])
    with pytest.raises(ValueError, match="make the bandit with merge_equal=False"):
        PooledCCPE(merged, guarantee="direct")
    PooledCCPE(CausalBandit(merged.graph, reward="Y", arms=merged.listed, merge_equal=False), guarantee="direct")


def test_a_certificate_stands_whatever_comes_after_it():
    """Results always come in after the stop: they change the estimates, not what was earned."""
    policy, world = PooledCCPE(question(), guarantee="asymptotic", epsilon=0.05, delta=0.1), environment(8)
    policy.run(world, budget=5_000, progress=False)
    earned = policy.recommendation, policy.certificate, policy.certified_at, policy.stop_reason, policy.assumptions
    assert earned[1] == "asymptotic"
    for _ in range(30):
        policy.tell(do(), world.sample(do(), 2))
    assert earned == (
        policy.recommendation, policy.certificate, policy.certified_at, policy.stop_reason, policy.assumptions
    )  # fmt: skip
    assert policy.n_plays == policy.certified_at + 60
    assert policy.result().table.action[0] == policy.recommendation


def test_a_refuted_assumption_withdraws_the_certificate():
    """Observation says that A does nothing and certifies a tie; direct plays then contradict the graph."""
    graph = dag([("A", "Y")])
    bandit = CausalBandit(graph, reward="Y", arms=[do(A=0), do(A=1)])
    policy = PooledCCPE(bandit, epsilon=0.1, delta=0.1)
    policy.tell(do(), {"A": [0, 1] * 2400, "Y": [0, 0, 1, 1] * 1200})
    assert policy.certificate == "exact"
    assert "separations" in policy.assumptions[0]
    with pytest.warns(UserWarning, match="the graph is in doubt"):
        policy.tell(do(A=1), {"A": [1] * 60, "Y": [1] * 60})
    assert (policy.stopped, policy.certificate, policy.certified_at) == (False, None, None)
    with pytest.warns(UserWarning, match="no estimate uses it any more"):
        policy.tell(do(A=0), {"A": [0] * 60, "Y": [0] * 60})
    assert (policy.recommendation, policy.certificate, policy.assumptions) == (do(A=1), "direct", ())


def test_a_bglm_stops_numerically_and_reports_all_three():
    policy = PooledCCPE(question(), model=BGLM("identity"), guarantee="numerical", epsilon=0.1, delta=0.1)
    result = policy.run(environment(7), budget=3_000, progress=False)
    assert result.certificate == "numerical"
    assert not result.certified
    assert result.recommendation == ARMS[0]
    assert set(result.stops) == {"direct", "exact", "asymptotic", "numerical"}
    assert result.stops["numerical"] == result.n_plays
    assert "for any probabilities that the plays allow: bets on them rule out" in result.stop_reason
    assert "bets on the equations" in set(result.table["ruled out by"])


def test_a_link_that_is_refuted_is_given_up_for_tables():
    """The reward is 1 nearly always where A and B differ."""
    xor = {"A": ([], lambda: 0.5), "B": ([], lambda: 0.5), "Y": (["A", "B"], lambda a, b: 0.9 if a != b else 0.1)}
    made = binary_network(xor)
    bandit = CausalBandit(made, reward="Y", arms=[do(A=0, B=1), do(A=1, B=1), do(A=0)])
    policy = PooledCCPE(bandit, model=BGLM(), guarantee="numerical", epsilon=0.1)
    samples = SimulatedEnvironment(made, seed=0).sample(do(), 300)
    with pytest.warns(UserWarning, match="contradict the logit link: the model is given up for TableModel"):
        policy.tell(do(), samples)
    assert policy.state.estimates == pytest.approx([0.9, 0.1, 0.5], abs=0.14)  # 75 plays a row: 4 * .035
    assert policy.certificate is None  # direct plays decide, and there are none
    plays = [arm for arm in bandit.arms for _ in range(150)]
    policy.tell(plays, SimulatedEnvironment(made, seed=1).perform(plays))
    assert (policy.recommendation, policy.certificate) == (do(A=0, B=1), "direct")
