"""Actions are values; action sets are lists."""

import itertools
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


# ---------------------------------------------------------------------------------------------------------------- laws


def test_the_order_of_writing_is_forgotten():
    rng = np.random.default_rng(1)
    names = [f"X{i}" for i in range(6)]
    for _ in range(100):
        settings = {v: int(rng.integers(3)) for v in names[: int(rng.integers(1, 7))]}
        action = Action(settings)
        shuffled = Action({str(v): settings[str(v)] for v in rng.permutation(list(settings))})
        assert (shuffled, hash(shuffled), str(shuffled)) == (action, hash(action), str(action))
        assert list(shuffled) == sorted(settings)
        other = settings | {"X0": settings["X0"] + 1}
        assert Action(other) != action
        assert Action({v: s for v, s in settings.items() if v != "X0"}) != action
    assert do() == Action() == Action({})
    assert not do()


@pytest.mark.parametrize("action", AWKWARD, ids=str)
def test_copies_are_equal(action):
    for copy in (pickle.loads(pickle.dumps(action)), Action(action), do(action), Action(dict(action))):
        assert (copy, hash(copy)) == (action, hash(action))


def test_nothing_can_be_set_or_taken_away():
    action = do(X=1)
    with pytest.raises(TypeError):
        del action["X"]
    with pytest.raises(AttributeError):
        action.variables = ()
    with pytest.raises(KeyError):
        action["Q"]


def test_any_name_may_be_a_keyword():
    assert dict(do(settings=1, self=2, more=3)) == {"settings": 1, "self": 2, "more": 3}


def test_equal_numbers_are_equal_states():
    """As in Python: 1 == 1.0 == True, and neither is "1"."""
    assert do(X=1) == do(X=1.0) == do(X=True) == do(X=np.float64(1)) == do(X=np.bool_(True))
    assert len({do(X=1), do(X=1.0), do(X=np.int8(1))}) == 1
    assert Action.parse("do(X=1)") == Action.parse("do(X=1.0)") == Action.parse("do(X=+1e0)") == do(X=1)
    assert Action.parse('do(X="1")') == do(X="1")


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("do()", {}),
        ("do( )\n", {}),
        ("do(X=yes, Y=no)", {"X": "yes", "Y": "no"}),
        ("do(X=very low,Y=-1)", {"X": "very low", "Y": -1}),
        ("do(X=a=b)", {"X": "a=b"}),
        ("do(X==)", {"X": "="}),
        ('do("X=1"="a, b", Y=")")', {"X=1": "a, b", "Y": ")"}),
        ('do(X="\\u00e9\\n")', {"X": "é\n"}),
        ("do(X=.5, Y=2., Z=1e-3)", {"X": 0.5, "Y": 2.0, "Z": 0.001}),
        ("do(X=1_0, Y=0x1, Z=1e, W=--1)", {"X": "1_0", "Y": "0x1", "Z": "1e", "W": "--1"}),
        ("do(X=True, Y=None, Z=inf, W=nan)", {"X": "True", "Y": "None", "Z": "inf", "W": "nan"}),
        ("do(light-on=(1, 2)", None),
        ("Do(X=1)", None),
        ("do(X=1)do(Y=1)", {"X": "1)do(Y=1"}),
        ("do(X=1;Y=2)", {"X": "1;Y=2"}),
        ('do("X=1)', None),
        ('do(X="a"b)', None),
        ('do(X="\\q")', None),
        ("do(X 1)", None),
        ("do", None),
    ],
)
def test_what_a_text_says(text, settings):
    if settings is None:
        with pytest.raises(ValueError):  # noqa: PT011
            Action.parse(text)
    else:
        assert dict(Action.parse(text)) == settings


@pytest.mark.parametrize("text", ["do(X, Y=1)", "do(X=1, Y, Z=2)", "do(,X=1)", "do(X=1,,Y=2)"])
def test_an_unquoted_comma_is_no_part_of_a_variable(text):
    """``do(X, Y=1)`` is a slip, not an intervention on a variable called "X, Y"."""
    with pytest.raises(ValueError, match="must be written like"):
        Action.parse(text)


def test_numbers_and_their_names_stay_apart():
    for state in ["1", "-1", "+1", "1.", ".5", "1e5", "1E-5", "inf", "-inf", "nan", "٣", "1 ", "00"]:
        read = Action.parse(str(do(X=state)))["X"]
        assert (type(read), read) == (str, state)
    for state in [0, -7, 10**30, 0.1, -2.5e-300, 1e22, 5e-324, 1.7976931348623157e308]:
        read = Action.parse(str(do(X=state)))["X"]
        assert (type(read), read) == (type(state), state)


# ----------------------------------------------------------------------------------------------- interventions, counted

MIXED = dag([("A", "Y"), ("B", "Y"), ("C", "Y"), ("D", "Y")])
STATES = {"A": "xyz", "B": [0, 1], "C": ["lo", "mid", "hi", "top"], "D": [0, 1]}


@pytest.mark.parametrize("size", range(5))
def test_all_interventions_of_a_size(size):
    """Every choice of so many variables and of a state of each, once; in the order of nodes, then of states."""
    wanted = [
        do(dict(zip(chosen, codes, strict=True)))
        for chosen in itertools.combinations("ABCD", size)
        for codes in itertools.product(*(STATES[v] for v in chosen))
    ]
    found = interventions(MIXED, reward="Y", size=size, states=STATES, null=False)
    assert found == (wanted or [do()])
    assert len(set(found)) == len(found)
    upto = interventions(MIXED, reward="Y", max_size=size, states=STATES)
    assert [a for a in upto if len(a) == size] == found
    assert [len(a) for a in upto] == sorted(len(a) for a in upto)
    assert upto[0] == do()
    total = np.prod([1 + len(s) for s in STATES.values()])
    assert len(interventions(MIXED, reward="Y", max_size=4, states=STATES)) == total


def test_values_restrict_and_order_the_states():
    found = interventions(MIXED, reward="Y", states=STATES, values={"C": ["top", "lo", "top"], "A": ["y"]}, null=False)
    assert found == [do(A="y"), do(B=0), do(B=1), do(C="top"), do(C="lo"), do(D=0), do(D=1)]
    assert interventions(MIXED, reward="Y", variables=["D", "B"], values=["1"], null=False) == [do(B=1), do(D=1)]


def test_networks_give_their_own_states():
    network = load_network("cancer")
    assert do(Smoker="True") in interventions(network, reward="Cancer")
    assert interventions(network, reward="Cancer", variables="Smoker", values=[True], null=False) == [do(Smoker="True")]
    with pytest.raises(ValueError, match="Pollution has the states 'low', 'high', but got 'medium'"):
        interventions(network, reward="Cancer", values={"Pollution": ["medium"]})


def test_a_latent_variable_is_no_reward():
    graph = dag([("U", "X"), ("U", "Y"), ("X", "Y")], {"U"})
    with pytest.raises(ValueError, match="reward"):
        interventions(graph, reward="U")


def test_as_many_as_allowed_are_counted_not_tried():
    """Twenty binary variables have 2^20 = 1,048,576 full settings."""
    wide = dag([(f"X{i}", "Y") for i in range(20)])
    with pytest.raises(ValueError, match=r"there are over 1,000,000 such interventions"):
        interventions(wide, reward="Y", size=20)
    assert len(interventions(wide, reward="Y", size=20, values=[1], null=False)) == 1
    with pytest.raises(ValueError, match="size must be between 0 and 20"):
        interventions(wide, reward="Y", size=21)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"variables": 3}, TypeError, "variables must be a list of names, but got 3"),
        ({"variables": ["a"]}, ValueError, "but got a; did you mean 'A'"),
        ({"values": {"A": "10"}}, TypeError, "mapping of variable to such lists, but got '10'"),
        ({"values": 1}, TypeError, "mapping of variable to such lists, but got 1"),
        ({"values": {"C": [1]}}, ValueError, "values names C, which may not be set"),
        ({"reward": "y"}, ValueError, r"but got 'y'; did you mean 'Y'\?; there are A, B, Y"),
    ],
)
def test_mistakes_of_kind(options, error, message):
    with pytest.raises(error, match=message):
        interventions(CHAIN, **({"reward": "Y"} | options))


def test_the_way_out_of_too_many_interventions():
    """What the message says to restrict: variables, values or the size."""
    graph = DAG([(f"X{i:02}", "Y") for i in range(24)])
    with pytest.raises(ValueError, match="restrict variables, values or the size"):
        interventions(graph, reward="Y", max_size=12)
    assert (
        len(
            interventions(graph, reward="Y", max_size=12, variables=["X00", "X01"] + [f"X{i:02}" for i in range(2, 12)])
        )
        == 3**12
    )
    assert len(interventions(graph, reward="Y", max_size=2)) == 1 + 48 + 4 * 276
