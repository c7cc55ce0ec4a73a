"""CausalBandit: checked once, equal arms merged, distributions dropped."""

import ast
import re

import numpy as np
import pytest
from pgmpy.base import DAG

from pgcpe import CausalBandit, do, expected_rewards, interventions, load_network

CHAIN = DAG([("A", "B"), ("B", "Y"), ("Y", "W")])


@pytest.mark.parametrize(
    ("name", "reward", "listed", "merged"),
    [("asia", "dysp", 99, 57), ("cancer", "Dyspnoea", 33, 11), ("child", "Sick", 1640, 9), ("alarm", "BP", 5151, 1331)],
)
def test_numbers_of_merged_arms(name, reward, listed, merged):
    network = load_network(name)
    arms = interventions(network, reward=reward, max_size=2)
    values = dict.fromkeys(network.states[reward], 0.0)
    bandit = CausalBandit(network, reward=reward, arms=arms, reward_values=values)
    assert (len(arms), len(bandit.arms)) == (listed, merged)
    assert sum(map(len, bandit.merged.values())) == listed


def test_merged_arms_have_the_same_exact_reward():
    network = load_network("cancer")
    arms = interventions(network, reward="Dyspnoea", max_size=2)
    options = {"reward": "Dyspnoea", "arms": arms, "reward_values": {"True": 0, "False": 1}}
    bandit = CausalBandit(network, **options)
    apart = expected_rewards(network, CausalBandit(network, **options, merge_equal=False))
    assert len(apart) == len(arms)
    for members in bandit.merged.values():
        assert np.ptp([apart[arm] for arm in members]) < 1e-12


def test_a_class_stands_under_its_first_listed_arm():
    bandit = CausalBandit(CHAIN, reward="Y", arms=[do(A=0, B=1), do(B=1), do(W=1), do()])
    assert bandit.arms == (do(A=0, B=1), do(W=1))
    assert bandit.merged[do(A=0, B=1)] == (do(A=0, B=1), do(B=1))
    assert bandit.canonical == (do(B=1), do())
    assert bandit.index(do(A=1, B=1)) == 0  # never listed, provably the same
    assert bandit.index(do(B=0)) == -1
    assert bandit.index(do(A=0, W=0)) == -1


def test_no_merging_if_asked():
    bandit = CausalBandit(CHAIN, reward="Y", arms=[do(A=0, B=1), do(B=1)], merge_equal=False)
    assert len(bandit.arms) == 2
    assert bandit.index(do(A=1, B=1)) == -1


def test_states_are_the_networks():
    network = load_network("asia")
    bandit = CausalBandit(network, reward="dysp", arms=[do(smoke="no")], reward_values={"yes": 0, "no": 1})
    assert bandit.reward_array.tolist() == [0, 1]
    binary = CausalBandit(CHAIN, reward="Y", arms=[do(A="1")], states={"A": ["0", "1"]})
    assert binary.action(do(A=1)) == do(A="1")
    assert binary.arms == (do(A="1"),)


def test_reward_values_of_many_states():
    states = {"Y": ["low", "mid", "high"]}
    values = {"low": 0, "mid": 0.5, "high": 1}
    bandit = CausalBandit(CHAIN, reward="Y", arms=[do(A=1)], states=states, reward_values=values)
    assert bandit.reward_array.tolist() == [0, 0.5, 1]


def test_the_tables_are_never_read():
    class Secret:
        """Raises whenever anything is asked of it."""

        def __getattr__(self, name):
            raise AssertionError(f"a distribution was read: {name}")

        def __array__(self, *args, **kwargs):
            raise AssertionError("a distribution was read")

    network = load_network("cancer")
    for table in network.cpds:
        table.values = Secret()
    arms = interventions(network, reward="Dyspnoea", max_size=2)
    bandit = CausalBandit(network, reward="Dyspnoea", arms=arms, reward_values={"True": 0, "False": 1})
    assert bandit.required == ("Pollution", "Smoker", "Cancer")
    assert not hasattr(bandit.graph, "cpds")


def test_latents_survive_and_the_users_graph_is_left_alone():
    graph = DAG([("U", "X"), ("U", "Y"), ("X", "Y")], latents={"U"})
    bandit = CausalBandit(graph, reward="Y", arms=[do(X=0), do(X=1), do()])
    assert graph.latents == bandit.graph.latents == {"U"}
    assert bandit.observed == ("X", "Y")
    assert bandit.sequences == (None, None, [])
    assert bandit.required == ()


def test_costs_and_playable():
    bandit = CausalBandit(CHAIN, reward="Y", arms=[do(A=1), do(A=0)], costs={do(): 0.1})
    assert bandit.playable == (do(), do(A=1), do(A=0))
    assert bandit.costs == {do(): 0.1, do(A=1): 1.0, do(A=0): 1.0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reward": "Q"}, "reward must be an observed variable"),
        ({"reward": "U", "arms": [do(A=1)]}, "reward must be an observed variable"),
        ({"arms": []}, "at least one action"),
        ({"arms": [do(Q=1)]}, "no variable of the graph"),
        ({"arms": [do(U=1)]}, "latent and cannot be set"),
        ({"arms": [do(Y=1)]}, "the reward and cannot be set"),
        ({"arms": [do(A=2)]}, "A has the states 0, 1, but got 2"),
        ({"states": {"Y": ["bad", "good"]}}, r"reward_values=\{'bad': 0, 'good': 1\}"),
        ({"reward_values": {0: 0}}, r"lacks \[1\]"),
        ({"reward_values": {0: 0, 1: 2}}, r"must lie in \[0, 1\]"),
        ({"reward_values": {0: 0, 7: 1}}, "Y has the states 0, 1, but got 7"),
        ({"states": {"Q": [0, 1]}}, "states must name variables"),
        ({"states": {"A": [0, 0]}}, "distinct states"),
        ({"costs": {do(B=0): 1}}, "costs must be those of playable actions"),
        ({"costs": {do(A=1): -1}}, "costs must be positive"),
        ({"playable": [do(Q=0)]}, "no variable of the graph"),
    ],
)
def test_errors(options, message):
    graph = DAG([*CHAIN.edges, ("U", "A"), ("U", "Y")], latents={"U"})
    with pytest.raises(ValueError, match=message):
        CausalBandit(graph, **({"reward": "Y", "arms": [do(A=1), do(A=0)]} | options))


def test_errors_of_type_and_cycles():
    with pytest.raises(TypeError, match="graph must be"):
        CausalBandit([("A", "Y")], reward="Y", arms=[do()])
    with pytest.raises(TypeError, match="an action must be written"):
        CausalBandit(CHAIN, reward="Y", arms=[{"A": 1}])
    cyclic = DAG([("A", "Y")])
    cyclic.add_edge("Y", "A")
    with pytest.raises(ValueError, match="acyclic"):
        CausalBandit(cyclic, reward="Y", arms=[do()])


# ------------------------------------------------------------------------------------------- mistakes and the ways out


def numbers_of(message):
    """The values that the example in an error gives, by state; None for those left open."""
    example = re.search(r"reward_values=\{(.*)\}", message)[1]
    pairs = [item.rsplit(": ", 1) for item in example.split(", ")]
    return {ast.literal_eval(state): None if value == "..." else float(value) for state, value in pairs}


@pytest.mark.parametrize(
    ("states", "more"),
    [
        (["True", "False"], "True"),
        ([True, False], True),
        (["yes", "no"], "yes"),
        (["TRUE", "FALSE"], "TRUE"),
        (["No", "Yes"], "Yes"),
        (["present", "absent"], "present"),
        (["high", "low"], "high"),
        (["success", "failure"], "success"),
        (["a", "b"], None),
        (["good", "fair", "poor"], None),
        (["False", "no"], None),
    ],
)
def test_the_example_of_reward_values_inverts_nothing_and_can_be_used(states, more):
    with pytest.raises(ValueError, match=r"say what they are worth, as in reward_values=") as raised:
        CausalBandit(CHAIN, reward="Y", arms=[do(A=1)], states={"Y": states})
    example = numbers_of(str(raised.value))
    assert list(example) == states
    if more is None:
        assert set(example.values()) == {None}  # which state is better is for the user to say
        assert "with a number in [0, 1] for each" in str(raised.value)
        example = {state: i / (len(states) - 1) for i, state in enumerate(states)}
    else:
        assert example == {state: float(state == more) for state in states}
    bandit = CausalBandit(CHAIN, reward="Y", arms=[do(A=1)], states={"Y": states}, reward_values=example)
    assert bandit.reward_array.tolist() == list(example.values())


@pytest.mark.parametrize(("name", "reward", "more"), [("cancer", "Cancer", "True"), ("asia", "dysp", "yes")])
def test_the_example_for_a_shipped_network(name, reward, more):
    with pytest.raises(ValueError, match="reward_values=") as raised:
        CausalBandit(load_network(name), reward=reward, arms=[do()])
    assert numbers_of(str(raised.value))[more] == 1


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"arms": do(A=1)}, TypeError, r"arms must be a list of actions, but got one: write \[do\(A=1\)\]"),
        ({"arms": "do(A=1)"}, TypeError, r"arms must be a list of actions, but got one: write \[do\(A=1\)\]"),
        ({"arms": 3}, TypeError, "arms must be a list of actions, but got 3"),
        ({"arms": [3]}, TypeError, r"an action must be written do\(X=1\), but got 3"),
        ({"playable": do()}, TypeError, r"playable must be a list of actions, but got one: write \[do\(\)\]"),
        ({"costs": [1, 1]}, TypeError, r"costs must map actions to costs, as in \{do\(\): 0.1\}, but got \[1, 1\]"),
        ({"costs": {do(): "1"}}, TypeError, "costs must be numbers, but got do.*: '1'"),
        (
            {"reward_values": [0, 1]},
            TypeError,
            r"must map .*reward_values=\{0: 0, 1: 1\}, but got \[0, 1\]",
        ),
        ({"reward_values": {0: 0, 1: "1"}}, TypeError, "reward_values must be numbers in .*but 1 has '1'"),
        ({"reward_values": {0: 0, 1: float("nan")}}, ValueError, r"must lie in \[0, 1\], but 1 has nan"),
        ({"reward_values": {0: 0, 1: 1, "1": 1}}, ValueError, "every state of Y one value, but '1' has two"),
        ({"reward": ["Y"]}, ValueError, r"reward must be an observed variable of the graph, but got \['Y'\]"),
        ({"reward": "y"}, ValueError, "but got 'y'; did you mean 'Y'"),
        ({"arms": [do(a=1)]}, ValueError, "sets a, which is no variable of the graph; did you mean 'A'"),
        ({"arms": [do(A="x" * 10**6)]}, ValueError, r"but got 'x+\.\.\."),
    ],
)
def test_mistakes_of_kind_are_named_with_the_way_out(options, error, message):
    with pytest.raises(error, match=message) as raised:
        CausalBandit(CHAIN, **({"reward": "Y", "arms": [do(A=1), do(A=0)]} | options))
    assert len(str(raised.value)) < 400


def test_the_ways_out_of_a_bandit():
    """Those that the messages name."""
    assert CausalBandit(CHAIN, reward="Y", arms=[do(A=1)]).arms == (do(A=1),)
    assert CausalBandit(CHAIN, reward="Y", arms=["do(A=1)"]).arms == (do(A=1),)
    assert CausalBandit(CHAIN, reward="Y", arms=[do(A=1)], playable=[do()]).may_observe
    assert CausalBandit(CHAIN, reward="Y", arms=[do(A=1)], costs={do(): 0.1}).costs[do()] == 0.1
    assert CausalBandit(CHAIN, reward="Y", arms=[do()], reward_values={0: 0, 1: 1}).reward_array.tolist() == [0, 1]


def test_may_observe():
    assert CausalBandit(CHAIN, reward="Y", arms=[do(A=1)]).may_observe
    assert not CausalBandit(CHAIN, reward="Y", arms=[do(A=1)], playable=[do(A=1)]).may_observe
    assert CausalBandit(CHAIN, reward="Y", arms=[do(), do(A=1)], playable=[do()]).may_observe


def test_what_is_recorded():
    graph = DAG([("C", "X"), ("C", "Y"), ("X", "Y"), ("Y", "W")])
    bandit = CausalBandit(graph, reward="Y", arms=[do(X=0), do(X=1)])
    assert bandit.required == bandit.formula_variables == ("C", "X")
    assert bandit.factors == {("C", frozenset()), ("Y", frozenset({"C", "X"}))}
    other = bandit.recording(["W", "Y"])
    assert (other.required, bandit.required, other.formula_variables) == (("W",), ("C", "X"), ("C", "X"))
    assert other.coding.variables == ("C", "X", "W", "Y")  # what a formula needs is kept where it is told
    assert other.recording(bandit.required).required == ("C", "X")
    assert bandit.recording(["C", "X"]) is bandit
    with pytest.raises(ValueError, match="only observed variables can be recorded, but got x; did you mean 'X'"):
        bandit.recording(["x"])
