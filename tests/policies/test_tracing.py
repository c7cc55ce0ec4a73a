"""A trace is what the policy knew, look by look."""

import warnings

import numpy as np
import pytest

from pgcpe import KLLUCB, LUCB, CausalBandit, PooledCCPE, SimulatedEnvironment, do, trace
from pgcpe.paper.instances import binary_network


@pytest.fixture(scope="module")
def network():
    return binary_network({"X": ([], lambda: 0.5), "Y": (["X"], lambda x: 0.3 + 0.4 * x)})


def told(network, policy, **options):
    bandit = CausalBandit(network, reward="Y", arms=[do(X=0), do(X=1)])
    made = policy(bandit, epsilon=0.1, **options)
    return made, made.run(SimulatedEnvironment(network, seed=0), budget=2_000, progress=False)


@pytest.mark.parametrize("guarantee", ["exact", "direct", "asymptotic"])
def test_the_last_look_is_what_the_policy_says_and_the_evidence_is_what_it_stopped_by(network, guarantee):
    policy, result = told(network, PooledCCPE, guarantee=guarantee)
    before = policy.n_plays
    traced = trace(policy, looks=12)
    assert policy.n_plays == before == traced["plays"].max()
    assert (traced.groupby("plays")["leader"].sum() == 1).all()
    last = traced[traced["plays"] == before]
    assert last["action"].tolist() == list(policy.bandit.arms)
    assert last["lower"].tolist() == policy.intervals.lower.tolist()
    assert last["upper"].tolist() == policy.intervals.upper.tolist()
    assert last.loc[last["leader"], "action"].tolist() == [result.recommendation]
    other = last[~last["leader"]].iloc[0]
    assert other["ruled out"]
    assert result.certificate is not None
    first = traced[(traced["plays"] == traced["plays"].min()) & ~traced["leader"]].iloc[0]
    assert not first["ruled out"]
    assert first["nats"] < first["asked"]
    if guarantee != "exact":  # which may rule it out by bounds
        assert other["nats"] >= other["asked"]


def test_what_is_counted_for_another_arm_than_the_recommended_one_is_not_shown(network):
    """The certificate stands for its arm, whatever is told later; the rule then compares with the one that leads."""
    policy, result = told(network, PooledCCPE, guarantee="direct")
    at, best = policy.n_plays, result.recommendation
    with pytest.warns(UserWarning, match="in doubt"):
        policy.tell(best, [{"X": best["X"], "Y": 0}] * 4 * at)
    assert policy.recommendation == best != policy.bandit.arms[policy.state.leader]
    assert not policy._stopping.unresolved(policy.state).any()  # there is something to be withheld
    traced = trace(policy, looks=40)
    last = traced[traced["plays"] == policy.n_plays]
    assert last.loc[last["leader"], "action"].tolist() == [best]
    assert not last["ruled out"].any()
    assert np.isnan(last[["nats", "asked"]]).all(axis=None)
    assert traced.loc[traced["plays"] <= at, "nats"].notna().any()


def test_the_unit_and_the_direction_of_the_reward_are_kept(network):
    bandit = CausalBandit(network, reward="Y", arms=[do(X=0), do(X=1)], reward_range=(0, 20_000), minimise=True)
    policy = KLLUCB(bandit, epsilon=2_000)
    policy.tell(do(X=0), [{"X": 0, "Y": 5_000.0}] * 20)
    assert trace(policy, looks=2).attrs == {"minimise": True, "decimals": 0}


def test_a_rule_that_counts_no_evidence_has_none(network):
    policy, _ = told(network, LUCB)
    traced = trace(policy, looks=3)
    assert np.isnan(traced[["nats", "asked"]]).all(axis=None)


def test_a_doubt_is_not_said_twice():
    """The believed graph lacks a hidden cause: the warning comes when the plays are told, not when they are traced."""
    truth = binary_network(
        {"U": ([], lambda: 0.5), "X": (["U"], lambda u: 0.1 + 0.8 * u), "Y": (["X", "U"], lambda x, u: 0.1 + 0.7 * u)}
    )
    question = CausalBandit(
        binary_network({"X": ([], lambda: 0.5), "Y": (["X"], lambda x: 0.5)}), reward="Y", arms=[do(X=0), do(X=1)]
    )
    policy = PooledCCPE(question)
    rows = SimulatedEnvironment(truth, seed=0)
    with pytest.warns(UserWarning, match="in doubt"):
        policy.tell(do(), rows.sample(do(), 2_000).to_frame()).tell(do(X=1), rows.sample(do(X=1), 2_000).to_frame())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(trace(policy, looks=4))


def test_there_is_something_to_trace(network):
    policy = PooledCCPE(CausalBandit(network, reward="Y", arms=[do(X=0), do(X=1)]))
    with pytest.raises(ValueError, match="must have been told plays"):
        trace(policy)
    with pytest.raises(ValueError, match="looks"):
        trace(policy, looks=0)
