"""Actions are values; action sets are lists."""

import pickle

import numpy as np
import pytest
from helpers import dag
from pgmpy.base import DAG

from pgcpe import Action, do, interventions, load_network

CHAIN = DAG([("A", "B"), ("B", "Y")])

AWKWARD = [
    do(),
    do(X=1),
    do(X="1"),
    do(X=0.5),
    do(X=-3),
    do(X="1e5"),
    do(X=""),
    do(X=" blank "),
    do(X="a, b"),
    do(X='say "no"'),
    do(X="<=3"),
    do(X="a=b"),
    do(X="pH(7)"),
    do(X="do(X=1)"),
    do(X="back\\slash"),
    do(X="line\nbreak"),
    do(X="Größe"),
    do({"a b": "c", "V=w": "z", "V,w": 1, "(": ")"}),
]


def test_equal_however_written():
    assert do(B=0, A=1) == Action({"A": 1, "B": 0}) == do({"B": 0}, A=1)
    assert hash(do(B=0, A=1)) == hash(do(A=1, B=0))
    assert len({do(A=1, B=0), do(B=0, A=1), do(A=1)}) == 2
    assert do(X=1) != do(X="1")
    assert do(X=1) != {"X": 1}


def test_a_frozen_mapping():
    action = do(B=0, A=1)
    assert dict(action) == {"A": 1, "B": 0}
    assert action.variables == ("A", "B")
    assert (len(action), list(action), action["B"], "A" in action) == (2, ["A", "B"], 0, True)
    with pytest.raises(TypeError):
        action["A"] = 0
    source = {"A": 1}
    kept = Action(source)
    source["A"] = 0
    assert kept == do(A=1)
    assert pickle.loads(pickle.dumps(action)) == action


def test_numpy_scalars_become_plain():
    action = do(A=np.int64(1), B=np.str_("x"))
    assert type(action["A"]) is int
    assert action == do(A=1, B="x")


@pytest.mark.parametrize("action", AWKWARD, ids=str)
def test_text_is_read_back(action):
    assert Action.parse(str(action)) == action
    assert repr(action) == str(action)


def test_random_text_is_read_back():
    rng = np.random.default_rng(0)
    letters = [*'ab1.,="()\\ \t-+eE', "ß", "\n", "'"]
    for _ in range(3_000):
        names = {"".join(rng.choice(letters, rng.integers(1, 5))) for _ in range(rng.integers(0, 4))}
        action = Action({v: "".join(rng.choice(letters, rng.integers(0, 6))) for v in names})
        assert Action.parse(str(action)) == action, repr(str(action))
    for number in [
        *rng.integers(-(10**12), 10**12, 50).tolist(),
        *(rng.normal(size=50) * 10.0 ** rng.integers(-9, 20, 50)),
    ]:
        action = do(X=number)
        assert Action.parse(str(action)) == action


def test_notation():
    assert str(do(X2="yes", X1=1)) == "do(X1=1, X2=yes)"
    assert Action.parse(" do( X1 = 1 ,X2=yes ) ") == do(X1=1, X2="yes")
    assert str(do(X="1")) == 'do(X="1")'


@pytest.mark.parametrize(
    "text", ["", "X=1", "do(X)", "do(X=1", "do(X=1,)", "do(=1)", "do(X=1, X=2)", 'do(X="1)', "do(,)"]
)
def test_what_is_no_action(text):
    with pytest.raises(ValueError, match=r"must be written like|sets X twice"):
        Action.parse(text)


def test_errors_of_actions():
    with pytest.raises(ValueError, match="set once"):
        do({"X": 1}, X=0)
    with pytest.raises(TypeError, match="unhashable"):
        do(X=[1])
    for name in (1, "", None):
        with pytest.raises(TypeError, match="named by a string"):
            do({name: 1})


# --------------------------------------------------------------------------------------------------- interventions


def test_order_and_null():
    assert interventions(CHAIN, reward="Y") == [do(), do(A=0), do(A=1), do(B=0), do(B=1)]
    assert interventions(CHAIN, reward="Y", null=False)[0] == do(A=0)
    pairs = interventions(CHAIN, reward="Y", size=2, null=False)
    assert pairs == [do(A=0, B=0), do(A=0, B=1), do(A=1, B=0), do(A=1, B=1)]
    assert interventions(CHAIN, reward="Y", max_size=2) == [*interventions(CHAIN, reward="Y"), *pairs]
    assert interventions(CHAIN, reward="Y", size=0) == [do()]


def test_counts_with_any_cardinality():
    network = load_network("survey")
    cards = [len(network.states[v]) for v in network.nodes if v != "T"]
    single = sum(cards)
    double = sum(a * b for i, a in enumerate(cards) for b in cards[i + 1 :])
    assert len(interventions(network, reward="T", max_size=2)) == 1 + single + double
    assert len(interventions(network, reward="T", size=2, null=False)) == double


def test_restrictions():
    assert interventions(CHAIN, reward="Y", values=[1], null=False) == [do(A=1), do(B=1)]
    assert interventions(CHAIN, reward="Y", values={"A": [1]}, null=False) == [do(A=1), do(B=0), do(B=1)]
    assert interventions(CHAIN, reward="Y", variables=["B"], null=False) == [do(B=0), do(B=1)]
    states = {"A": ["lo", "hi"]}
    assert interventions(CHAIN, reward="Y", variables="A", states=states, null=False) == [do(A="lo"), do(A="hi")]
    asia = load_network("asia", latents=["smoke"])
    assert all("smoke" not in action for action in interventions(asia, reward="dysp"))
    binary = interventions(CHAIN, reward="Y", variables=["A"], states={"A": ["0", "1"]}, values=[1], null=False)
    assert binary == [do(A="1")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reward": "Q"}, "reward must be a variable"),
        ({"variables": ["Q"]}, "but got Q"),
        ({"variables": ["Y"]}, "other than the reward"),
        ({"variables": ["U"]}, "observed variables"),
        ({"size": 1, "max_size": 2}, "give size or max_size"),
        ({"size": 3}, "size must be between 0 and 2"),
        ({"max_size": -1}, "size must be between 0 and 2"),
        ({"values": [2]}, "A has the states 0, 1, but got 2"),
        ({"values": {"Y": [1]}}, "values names Y"),
        ({"states": {"Q": [0, 1]}}, "states must name variables"),
    ],
)
def test_errors_of_interventions(options, message):
    graph = dag([*CHAIN.edges, ("U", "A"), ("U", "Y")], {"U"})
    with pytest.raises(ValueError, match=message):
        interventions(graph, **({"reward": "Y"} | options))


def test_too_many_are_refused_before_they_are_made():
    wide = dag([(f"X{i}", "Y") for i in range(60)])
    with pytest.raises(ValueError, match="such interventions: restrict"):
        interventions(wide, reward="Y", max_size=10)
    with pytest.raises(TypeError, match="list of states"):
        interventions(CHAIN, reward="Y", values="yes")
