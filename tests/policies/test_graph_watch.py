"""The graph tested while a policy uses it: what happens once it is refuted, and members of merged classes."""

import warnings

import pytest
from helpers import dag
from sklearn.base import clone

from pgcpe import CausalBandit, Policy, PooledCCPE, SimulatedEnvironment, do, interventions
from pgcpe.paper.instances import binary_network
from pgcpe.policies.graph_watch import GraphWatch, MemberCheck

TRUTH = binary_network(
    {
        "A": ([], lambda: 0.5),
        "B": (["A"], lambda a: 0.7 if a else 0.3),
        "Y": (["A", "B"], lambda a, b: 0.2 + 0.4 * a + 0.2 * b),
    }
)
WRONG = dag([("A", "B"), ("B", "Y")])
ARMS = interventions(WRONG, reward="Y", max_size=2)


def asked(graph, **options):
    return CausalBandit(graph, reward="Y", arms=ARMS, **options)


def run(graph, seed=0, budget=4000, bandit=None, **options):
    policy = PooledCCPE(bandit or asked(graph), check_graph=True, epsilon=0.1, seed=seed, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = policy.run(SimulatedEnvironment(TRUTH, seed=seed), budget=budget, progress=False)
    return policy, result, [str(w.message) for w in caught]


def test_a_refuted_graph_is_given_up_and_direct_plays_decide():
    """The graph merges do(B=1) with do(A=1, B=1) and do(A=0, B=1), of means .6, .8 and .4."""
    policy, result, said = run(WRONG)
    assert len(said) == 1
    assert said[0].startswith("the graph is refuted: ")
    assert "from now on plays of the arms themselves decide" in said[0]
    assert result.refutation in said[0]
    assert "The graph is refuted" in result.summary
    assert result.certificate == "direct"
    assert result.assumptions == ()
    assert result.recommendation == do(A=1, B=1)
    assert len(policy.bandit.arms) == len(ARMS)
    assert policy.error_budget.shares["graph test"] == 0.1
    played = result.plays_by_action
    assert min(played[do(A=1, B=1)], played[do(A=0, B=1)]) > 0


def test_a_right_graph_stands_with_a_superfluous_edge_too():
    for truth in (TRUTH, binary_network(SAME)):  # in the second A has no effect on Y but through B
        policy = PooledCCPE(asked(TRUTH), check_graph=True, epsilon=0.1)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = policy.run(SimulatedEnvironment(truth, seed=0), progress=False)
        assert result.refutation == ""
        assert result.certificate == "exact"


def test_nothing_depends_on_how_plays_are_told():
    told = SimulatedEnvironment(TRUTH, seed=3).perform([do(), do(A=1, B=1), do(B=1), do(A=0, B=1)] * 150)
    found = []
    for size in (1, 7, 600):
        policy = PooledCCPE(asked(WRONG), check_graph=True, epsilon=0.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for start in range(0, 600, size):
                policy.tell(told.rows(slice(start, start + size)))
        found.append((policy.refutation, policy.recommendation, policy.ask(), policy.certified_at))
    assert found[0] == found[1]
    assert found[0][:2] == found[2][:2]
    assert found[0][0] != ""


def test_no_certificate_at_zero_plays_rests_on_merging():
    """All arms are merged into one: without the check that is certified before the first play."""
    graph = dag([("A", "B")], nodes=["A", "B", "Y"])
    arms = [do(A=0), do(A=1), do(B=0), do(B=1)]
    bandit = CausalBandit(graph, reward="Y", arms=arms)
    assert PooledCCPE(bandit).stopped
    assert PooledCCPE(bandit).n_plays == 0
    policy = PooledCCPE(bandit, check_graph=True, check_members=5)
    assert not policy.stopped
    assert policy.ask() == arms
    while not policy.stopped:
        asked_for = policy.ask()
        policy.tell(asked_for, [{"Y": 0}] * len(asked_for))
    assert policy.n_plays == 20
    assert policy.certificate == "exact"
    off = PooledCCPE(bandit, check_graph=True, check_members=0)
    assert off.stopped
    assert any("merged and never played: do(A=0), do(A=1), do(B=0) and 1 more" in said for said in off.assumptions)


def test_a_member_that_looks_better_is_played_again():
    graph = dag([("A", "B")], nodes=["A", "B", "Y"])
    bandit = CausalBandit(graph, reward="Y", arms=[do(A=0), do(A=1)])
    policy = PooledCCPE(bandit, check_graph=True, check_members=10)
    policy.tell([do(A=0)] * 10 + [do(A=1)] * 10, [{"Y": i % 2} for i in range(10)] + [{"Y": i < 7} for i in range(10)])
    assert not policy.stopped  # .5 against .7
    assert policy.ask() == [do(A=0), do(A=1)]
    policy.tell([do(A=0)] * 8, [{"Y": 1}] * 8)
    policy.tell([do(A=1)] * 2, [{"Y": 0}] * 2)
    policy.cancel()
    assert policy.stopped


def test_members_far_below_need_no_more_plays():
    """Of a member that never succeeds, where the leader does three times of four, two plays do in place of twenty.

    The evidence that n plays without a success are not better than 150 of 200 by .1 is the least over m of
    200 kl(.75, m) - n log(1 - m - .1): 1.9 for one play, 3.8 for two, of 3 asked. A member as good as the leader has
    n kl(.75, .85) = .03 n at most.
    """
    bandit = CausalBandit(WRONG, reward="Y", arms=[do(A=0, B=1), do(A=1, B=1), do(A=0, B=0), do(A=1, B=0)])
    policy = PooledCCPE(bandit, check_graph=True, epsilon=0.1)
    for action in (do(A=0, B=1), do(A=0, B=0)):
        policy.tell([action] * 200, [{"Y": int(action["B"] and i % 4 > 0), **action} for i in range(200)])
    assert policy.cancel().ask() == [do(A=1, B=1), do(A=1, B=0)]
    plays = dict.fromkeys(policy.ask(), 0)
    while not policy.stopped:
        for action in policy.ask():
            plays[action] += 1
            policy.tell(action, {"Y": int(action["B"] and plays[action] % 4 > 0), **action})
    assert plays == {do(A=1, B=1): 20, do(A=1, B=0): 2}


def test_a_rule_that_looks_seldom_waits_for_members_once():
    """The asymptotic rule looks at 100, 140, ... plays: what it has claimed there stands while members are played."""
    plain, checked = (
        PooledCCPE(asked(WRONG), guarantee="asymptotic", check_graph=True, check_members=m, epsilon=0.3)
        for m in (0, 20)
    )
    network = binary_network({**SAME, "Y": (["B"], lambda b: 0.2 + 0.6 * b)})
    for policy in (plain, checked):
        policy.run(SimulatedEnvironment(network, seed=0), budget=4000, progress=False)
        assert policy.certificate == "asymptotic"
    members = [a for some in checked.bandit.merged.values() if len(some) > 1 for a in some]
    assert checked.n_plays <= plain.n_plays + 20 * len(members)


def test_a_certificate_that_waited_hangs_on_what_its_stop_hung_on():
    """The rule stops at 100 plays, and looks again at 140: members played in between change no word of it."""
    network = binary_network({**SAME, "Y": (["B"], lambda b: 0.2 + 0.6 * b)})
    found = []
    for least in (0, 8):
        policy = PooledCCPE(asked(WRONG), guarantee="asymptotic", check_graph=True, check_members=least, epsilon=0.3)
        policy.run(SimulatedEnvironment(network, seed=4), budget=139, progress=False)
        assert policy.certificate == "asymptotic"
        found.append((policy.n_plays, policy.assumptions))
    (at, assumed), (later, kept) = found
    assert at == 100 < later
    assert any(said.endswith("without it 6 arms are unresolved") for said in assumed)
    assert kept == assumed


def test_members_are_played_in_turn_and_kept_apart():
    bandit = asked(WRONG)
    policy = PooledCCPE(bandit, check_graph=True, check_members=0, epsilon=0.0)
    environment = SimulatedEnvironment(binary_network(SAME), seed=0)
    policy.run(environment, budget=400, progress=False)
    for arm, members in bandit.merged.items():
        plays = [policy.plays_by_action.get(a, 0) for a in members]
        assert max(plays) - min(plays) <= 2, arm
    only = CausalBandit(WRONG, reward="Y", arms=ARMS, playable=[do(), do(B=1), do(B=0)])
    policy = PooledCCPE(only, check_graph=True, epsilon=0.0)
    policy.run(environment, budget=200, progress=False)
    assert set(policy.plays_by_action) <= {do(), do(B=1), do(B=0)}


SAME = {
    "A": ([], lambda: 0.5),
    "B": (["A"], lambda a: 0.7 if a else 0.3),
    "Y": (["B"], lambda b: 0.4 + 0.1 * b),
}


def test_without_plays_of_every_arm_a_refuted_graph_leaves_no_certificate():
    bandit = CausalBandit(WRONG, reward="Y", arms=ARMS, playable=[do(), do(A=0), do(A=1), do(B=1)])
    _, result, said = run(WRONG, bandit=bandit, budget=1500)
    assert "there is no certificate without it" in said[0]
    assert result.certificate is None
    assert result.refutation


def test_a_certificate_by_the_graph_is_withdrawn():
    bandit = asked(WRONG)
    policy = PooledCCPE(bandit, check_graph=True, check_members=0, epsilon=0.45)
    environment = SimulatedEnvironment(TRUTH, seed=1)
    policy.run(environment, progress=False)
    assert policy.certificate == "exact"
    with pytest.warns(UserWarning, match="the graph is refuted"):
        policy.tell(do(), environment.sample(do(), 3000).to_frame())
    assert policy.certificate != "exact"


def test_parameters_and_copies():
    policy, _, _ = run(WRONG, budget=600)
    assert policy.refutation
    again = clone(policy)
    assert again.get_params()["check_graph"] is True
    assert again.bandit.merges_arms  # the question as it was asked
    copied = policy.__copy__()
    copied.tell(do(A=1, B=1), SimulatedEnvironment(TRUTH, seed=9).sample(do(A=1, B=1), 50).to_frame())
    assert copied.n_plays == policy.n_plays + 50
    with pytest.raises(ValueError, match="rests on no graph"):
        PooledCCPE(asked(WRONG, merge_equal=False), guarantee="direct", check_graph=True)
    with pytest.raises(ValueError, match="check_members"):
        PooledCCPE(asked(WRONG), check_graph=True, check_members=-1)


def test_shares_of_delta():
    for guarantee in ("exact", "asymptotic"):
        plain = PooledCCPE(asked(WRONG), guarantee=guarantee).error_budget.shares
        checked = PooledCCPE(asked(WRONG), guarantee=guarantee, check_graph=True).error_budget.shares
        assert sum(checked.values()) == pytest.approx(1.0)
        assert {event: pytest.approx(0.9 * share) for event, share in plain.items()} == {
            event: share for event, share in checked.items() if event != "graph test"
        }


def test_parts_of_a_policy_of_ones_own():
    assert issubclass(PooledCCPE, Policy)
    check = MemberCheck(asked(WRONG), 0)
    watch = GraphWatch(0.01)
    policy = PooledCCPE(asked(WRONG))
    watch.start(policy.bandit)
    assert check.lacking(policy.state, 0) == []
    assert not watch.look(policy._knowledge.told)
    assert watch.refutation is None
