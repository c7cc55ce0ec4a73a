"""CausalBandit: checked once, equal arms merged, distributions dropped."""

import io
import pickle
import time
import tracemalloc

import numpy as np
import pytest
from pgmpy.base import DAG

from pgcpe import CausalBandit, do, expected_rewards, interventions, load_network
from pgcpe.graphs.identification import SequenceSearch

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


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"arms": do(A=1)}, TypeError, r"arms must be a list of actions, but got one: write \[do\(A=1\)\]"),
        ({"arms": "do(A=1)"}, TypeError, r"arms must be a list of actions, but got one: write \[do\(A=1\)\]"),
        ({"arms": 3}, TypeError, "arms must be a list of actions, but got 3"),
        ({"arms": [3]}, TypeError, r"an action must be written do\(X=1\) or do\({'X': 1}\), but got 3"),
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


# ------------------------------------------------------------------------------------------------- many arms


def question_of(n, merge):
    """Sets of up to three of n binary variables, of which those that are even cause the next and the reward."""
    names = [f"V{i:02}" for i in range(n)]
    graph = DAG([*((a, "Y") for a in names[::2]), *zip(names[::2], names[1::2], strict=True)])
    arms = interventions(graph, reward="Y", max_size=3)
    return CausalBandit(graph, reward="Y", arms=arms, merge_equal=merge)


@pytest.mark.parametrize("merge", [True, False])
def test_each_set_is_identified_once(merge, monkeypatch):
    asked = []
    run = SequenceSearch.run
    monkeypatch.setattr(SequenceSearch, "run", lambda search: (asked.append(search.treatments), run(search))[1])
    bandit = question_of(6, merge)
    assert len(bandit.arms) == (27 if merge else len(bandit.listed))  # three states, one of them "not set", cubed
    assert len(bandit.sequences) == len(bandit.arms)
    assert sorted(asked) == sorted(set(asked))
    assert len(asked) == len({action.variables for action in bandit.canonical}) == 8


@pytest.mark.parametrize("merge", [True, False])
def test_memory_is_linear_in_the_arms(merge):
    """At most as many bytes an arm as `CausalBandit` says; of a table of arms by arms each row has 3,305 entries."""
    question_of(4, merge)
    for n in (10, 14):
        tracemalloc.start()
        bandit = question_of(n, merge)
        assert len(bandit.sequences) == len(bandit.arms)
        used = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert used < 350 * len(bandit.listed)
    assert len(bandit.listed) == 3305


def test_actions_of_a_set_share_its_variables():
    bandit = question_of(4, True)
    pairs = [arm for arm in bandit.listed if set(arm) == {"V00", "V01"}]
    assert len(pairs) == 4
    assert len({id(arm.variables) for arm in pairs}) == 1
    again = pickle.loads(pickle.dumps(pairs))
    assert again == pairs
    assert len({id(arm.variables) for arm in again}) == 1


def test_states_are_found_once_for_a_variable():
    bandit = CausalBandit(CHAIN, reward="Y", arms=["do(A=1)"], states={"A": ["0", "1"], "B": ["0", "1"]})
    assert bandit.action(do(A=1)) == bandit.arms[0] == do(A="1")
    for _ in range(2):
        assert bandit.action(do(A=1, B=True)) == do(A="1", B="1")
        with pytest.raises(ValueError, match="but got 2"):
            bandit.action(do(A=1, B=2))
        with pytest.raises(ValueError, match="the reward and cannot be set"):
            bandit.action(do(A=1, Y=0))


def test_building_can_be_interrupted():
    def arms():
        yield do(A=1)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        CausalBandit(CHAIN, reward="Y", arms=arms())


class Terminal(io.StringIO):
    """A file that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("seconds", "stderr"), [(0.0, Terminal()), (1.2, Terminal()), (1.2, io.StringIO())])
def test_building_shows_how_far_it_is_on_a_terminal_after_a_second(seconds, stderr, monkeypatch):
    def arms():
        yield do(A=0)
        time.sleep(seconds)
        yield from [do(A=1), do(B=0), do(B=1)]

    monkeypatch.setattr("sys.stderr", stderr)
    CausalBandit(CHAIN, reward="Y", arms=arms())
    assert ("arms" in stderr.getvalue()) == (seconds > 1 and stderr.isatty())


def test_what_is_no_action_is_refused_where_arms_are_looked_up():
    bandit = CausalBandit(DAG([("X", "Y")]), reward="Y", arms=[do(X=0), do(X=1)])
    assert bandit.arm_index(do(X=1)) == 1
    assert bandit.arm_index(do()) == -1
    for look_up in (bandit.arm_index, bandit.listed_index):
        with pytest.raises(TypeError, match=r"an action must be written do\(X=1\) or do\({'X': 1}\), but got \[\]"):
            look_up([])


def test_which_merged_arms_may_be_played():
    """Every listed arm may be, unless it was said which."""
    arms = [do(A=0, B=1), do(B=1), do(A=1)]
    free = CausalBandit(CHAIN, reward="Y", arms=arms)
    said = CausalBandit(CHAIN, reward="Y", arms=arms, playable=[do(), do(A=0, B=1)])
    assert [free.may_play(a) for a in (*arms, do(), do(A=0))] == [True, True, True, True, False]
    assert [said.may_play(a) for a in (*arms, do())] == [True, False, False, True]


def test_the_same_question_without_merging():
    arms = [do(A=0, B=1), do(B=1), do(A=1)]
    bandit = CausalBandit(CHAIN, reward="Y", arms=arms, costs={do(A=1): 3.0}, reward_values={0: 0.25, 1: 0.5})
    apart = bandit.unmerged()
    assert apart.arms == bandit.listed
    assert not apart.merges_arms
    assert apart.costs[do(A=1)] == 3.0
    assert apart.reward_array.tolist() == [0.25, 0.5]
    assert apart.coding.variables == bandit.coding.variables
    limited = CausalBandit(CHAIN, reward="Y", arms=arms, playable=[do(), do(A=1)]).unmerged()
    assert limited.playable == (do(), do(A=1))
