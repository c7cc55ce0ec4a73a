"""What is told becomes codes: what is implied, kept, dropped, warned of and refused."""

import copy
import warnings

import numpy as np
import pandas as pd
import pytest
from helpers import dag

from pgcpe import (
    BGLM,
    CCPE,
    KLLUCB,
    LUCB,
    AdmissibleSequence,
    CausalBandit,
    Encoder,
    PooledCCPE,
    SequentialHalving,
    SuccessiveRejects,
    TopTwo,
    UniformSampling,
    do,
)

CONFOUNDED = dag([("C", "X"), ("C", "Y"), ("X", "Y")])


def question(**options):
    return CausalBandit(CONFOUNDED, **({"reward": "Y", "arms": [do(X=0), do(X=1)]} | options))


def rows(n=6):
    return pd.DataFrame({"C": [0, 1] * (n // 2), "X": [0, 1, 1] * (n // 3), "Y": [1] * n})


@pytest.mark.parametrize(
    "make",
    [
        LUCB,
        KLLUCB,
        TopTwo,
        lambda bandit: LUCB(bandit, radius="lucb1"),
        lambda bandit: SuccessiveRejects(bandit, budget=20),
        lambda bandit: SequentialHalving(bandit, budget=20),
        lambda bandit: UniformSampling(bandit, budget=20),
    ],
)
def test_action_and_outcome_are_enough_where_direct_plays_decide(make):
    policy = make(question())
    assert policy.bandit.required == ()
    for row in ({"Y": 1}, {"C": 0, "Y": 1}, {"C": 1, "X": 1, "Y": 0}, {"C": None, "Y": 0}):
        policy.tell(do(X=1), row)
    assert policy.plays_by_action == {do(X=1): 4}
    assert policy.history[["X", "Y"]].values.tolist() == [[1, 1], [1, 1], [1, 0], [1, 0]]
    assert policy.history.C.isna().tolist() == [True, False, False, True]  # kept where it was told
    before = policy.n_plays
    for row, message in (({"C": 7, "Y": 1}, "C has the states"), ({"X": 0, "Y": 1}, "contradicts"), ({"C": 1}, "lack")):
        with pytest.raises(ValueError, match=message):
            policy.tell(do(X=1), row)
    assert policy.n_plays == before


def test_what_an_action_sets_need_not_be_told():
    told = CCPE(question()).tell([do(X=1), do(X=0)], [{"C": 0, "Y": 1}, {"C": 1, "Y": 0}]).history
    assert told.X.tolist() == [1, 0]
    frame = pd.DataFrame({"C": [0, 1], "X": [np.nan, 0], "Y": [1, 1]})
    assert CCPE(question()).tell([do(X=1), do()], frame).history.X.tolist() == [1, 0]
    with pytest.raises(ValueError, match=r"lack \['X'\]"):
        CCPE(question()).tell([do(X=1), do()], [{"C": 0, "Y": 1}, {"C": 1, "Y": 0}])
    assert CCPE(question()).tell(do(C=0, X=1), {"Y": 1}).n_plays == 1


def test_a_policy_records_what_its_estimators_need():
    bandit = question(arms=[do(X=0), do(X=1), do()])
    assert CCPE(bandit).bandit.required == ("C", "X")
    assert PooledCCPE(LUCB(bandit).bandit).bandit.required == ("C", "X")  # whatever it recorded before
    assert LUCB(PooledCCPE(bandit).bandit).bandit.required == ()
    assert CCPE(LUCB(bandit).bandit).bandit.coding.variables == ("C", "X", "Y")


# ------------------------------------------------------------------------------------------------------ missing values


def test_rows_that_lack_a_value_are_dropped_and_counted():
    frame = rows().astype(object)
    frame.loc[1, "C"], frame.loc[2, ["C", "X"]] = None, np.nan
    policy = CCPE(question())
    with pytest.raises(ValueError, match=r"row 1 .label 1. has no value for C; .* leaves such rows"):
        policy.tell(do(), frame)
    assert policy.dropped_ == {}
    assert policy.tell(do(), frame, missing="drop") is policy
    assert (policy.n_plays, policy.dropped_) == (4, {"C": 2, "X": 1})
    assert CCPE(question()).tell(do(), frame.dropna(subset=["C"])).n_plays == 4  # the other way out
    whole = CCPE(question()).tell(do(), rows().drop([1, 2]))
    assert policy.history.equals(whole.history)
    assert np.array_equal(policy.intervals.lower, whole.intervals.lower)
    policy.tell(do(X=1), {"C": None, "Y": 1}, missing="drop")
    assert (policy.n_plays, policy.dropped_) == (4, {"C": 3, "X": 1})


@pytest.mark.parametrize("missing", ["raise", "drop"])
def test_rows_without_the_reward_are_never_dropped(missing):
    policy = CCPE(question())
    for frame in (rows().assign(Y=[1, None, 1, 1, 1, 1]), rows().assign(Y=np.nan, C=np.nan)):
        with pytest.raises(ValueError, match=r"has no value for Y$"):
            policy.tell(do(), frame, missing=missing)
    assert (policy.n_plays, policy.dropped_) == (0, {})


def test_nothing_is_dropped_where_anything_is_wrong():
    policy = CCPE(question())
    frame = rows().astype(object)
    frame.loc[0, "C"], frame.loc[4, "X"] = None, 7
    with pytest.raises(ValueError, match=r"row 4 .*but got 7"):
        policy.tell(do(), frame, missing="drop")
    frame.loc[4, "X"] = 0
    with pytest.raises(
        ValueError, match="row 4 has X=0, which contradicts its action"
    ):  # its place before any was dropped
        policy.tell([do()] * 4 + [do(X=1)] * 2, frame, missing="drop")
    with pytest.raises(ValueError, match=r"lack \['C'\]"):
        policy.tell(do(), frame[["X", "Y"]], missing="drop")
    with pytest.raises(ValueError, match="missing must be one of 'raise', 'drop', but got 'skip'"):
        policy.tell(do(), frame, missing="skip")
    assert (policy.n_plays, policy.dropped_) == (0, {})


def test_a_state_that_pandas_reads_as_missing_is_said_so():
    bandit = question(states={"C": ["None", "some"]})
    with pytest.raises(ValueError, match=r"pandas reads its state 'None' as a missing value, read_history"):
        CCPE(bandit).tell(do(), rows().assign(C=[np.nan] * 6))


# ------------------------------------------------------------------------------------------------ numbers, truth values


@pytest.mark.parametrize("states", [(0, 1), ("0", "1"), ("FALSE", "TRUE"), ("False", "True"), (False, True)])
@pytest.mark.parametrize("dtype", [bool, "boolean", object, str])
def test_columns_of_truth_values_are_found_alike(states, dtype):
    bandit = question(states={"C": states, "X": states}, arms=[do(X=states[0]), do(X=states[1])])
    frame = pd.DataFrame({"C": [True, False], "X": [False, False], "Y": [True, False]})
    told = CCPE(bandit).tell(do(), frame.astype(dtype)).history
    assert told.C.tolist() == [states[1], states[0]]
    assert told.X.tolist() == [states[0]] * 2


def test_columns_of_numbers_do_not_decide_between_codes():
    bandit = question(states={"C": ["1", "01"]})
    for column in ([1, 1, 1], [1.0, 1.0, 1.0]):
        with pytest.raises(ValueError, match=r"row 0 .*C has the states '1', '01', which 1(.0)? may both mean"):
            CCPE(bandit).tell(do(), pd.DataFrame({"C": column, "X": 0, "Y": 1}))
    told = CCPE(bandit).tell(do(), pd.DataFrame({"C": ["1", "01", "01"], "X": 0, "Y": 1}))
    assert told.history.C.tolist() == ["1", "01", "01"]
    assert bandit.action("do(C=01)") == do(C="01")
    assert CCPE(bandit).tell("do(C=01)", {"X": 0, "Y": 1}).plays_by_action == {do(C="01"): 1}


def test_a_continuous_column_is_refused_and_the_way_out_works():
    frame = rows(60).assign(C=np.linspace(0, 9, 60))
    with pytest.raises(ValueError, match=r"cut into states first, as by pandas.cut\(frame\['C'\], 3"):
        CCPE(question()).tell(do(), frame)
    frame["C"] = pd.cut(frame["C"], 3)
    bandit = question(states={"C": list(frame["C"].cat.categories)})
    assert CCPE(bandit).tell(do(), frame).n_plays == 60


# ------------------------------------------------------------------------------------------------------ selected logs

COLLIDER = dag([("X", "Y"), ("X", "S"), ("Y", "S"), ("S", "D"), ("A", "X"), ("X", "M"), ("R", "Y")])


@pytest.mark.parametrize(
    ("column", "warned"),
    [("S", True), ("D", True), ("A", False), ("M", False), ("R", False)],
    ids=["collider", "below it", "a cause", "an effect of X alone", "a rare cause"],
)
def test_a_log_of_selected_rows_is_warned_of(column, warned):
    """Given X only S and D tell of the reward among the effects; a cause may be rare."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({v: rng.integers(0, 2, 200) for v in COLLIDER}).assign(**{column: 1})
    graph = COLLIDER
    bandit = CausalBandit(graph, reward="Y", arms=[do(X=0), do(X=1)])
    for learn in (
        lambda some: CCPE(bandit).tell(do(), some),
        lambda some: AdmissibleSequence().fit(graph, some).expected_reward(do(X=1), "Y"),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            learn(frame)
            learn(frame.iloc[:30])  # by chance
            learn(frame.assign(**{column: rng.integers(0, 2, 200)}))
        said = [str(w.message) for w in caught if "passive plays" in str(w.message)]
        assert len(said) == warned
        assert all(text.startswith(f"{column} is 1 in all 200 passive plays") for text in said)


def test_what_was_selected_matters_to_a_model_of_all_nodes_too():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({v: rng.integers(0, 2, 200) for v in "XY"}).assign(S=1)
    graph = dag([("X", "Y"), ("X", "S"), ("Y", "S")])
    bandit = CausalBandit(graph, reward="Y", arms=[do(X=0), do(X=1)])
    with pytest.warns(UserWarning, match="S is 1 in all 200 passive plays"):
        CCPE(bandit, estimator=BGLM()).tell(do(), frame)
    CCPE(bandit).tell(do(S=1), frame)  # set, not selected
    LUCB(bandit).tell(do(), frame)  # of no arm


# ------------------------------------------------------------------------------------------------------ forms, mistakes


def test_nothing_told_is_nothing_learned():
    policy = CCPE(question())
    for told in (([], []), ([], pd.DataFrame()), (do(), []), ([], rows().iloc[:0])):
        assert policy.tell(*told).n_plays == 0


@pytest.mark.parametrize(
    ("told", "error", "message"),
    [
        ((3, {"C": 0, "X": 0, "Y": 1}), TypeError, r"an action must be written do\(X=1\) or do\({'X': 1}\), but got 3"),
        (({"X": 1}, {"C": 0, "X": 0, "Y": 1}), TypeError, "must be written do.X=1. or .*, but got .'X': 1."),
        ((None, {"C": 0, "X": 0, "Y": 1}), ValueError, r"give the actions of the plays, such as do\(\)"),
        ((do(X=1),), TypeError, "samples must be .*but got Action"),
        (([do(X=1)],), TypeError, "samples must be .*but got list"),
        ((do(X=1), do(X=1)), TypeError, "samples must be .*but got Action"),
        ((b"do()", {"Y": 1}), TypeError, "must be written"),
        ((do(), "C,X,Y"), TypeError, "samples must be .*but got str"),
        ((do(Z=1), {"C": 0, "X": 0, "Y": 1}), ValueError, "sets Z, which is no variable"),
        (("do(XX=1)", {"C": 0, "X": 0, "Y": 1}), ValueError, "sets XX, .*did you mean 'X'"),
        ((do(), {"C": [0], "X": [0], "Y": [[1]]}), ValueError, "column Y must hold states"),
        ((do(X="y" * 10**6), {"C": 0, "X": 0, "Y": 1}), ValueError, r"but got 'y+\.\.\.$"),
    ],
)
def test_mistakes_are_named_in_few_words(told, error, message):
    policy = CCPE(question())
    with pytest.raises(error, match=message) as raised:
        policy.tell(*told)
    assert len(str(raised.value)) < 400
    assert policy.n_plays == 0


def test_an_encoder_is_for_a_bandit():
    with pytest.raises(TypeError, match=r"must be a CausalBandit, but got LUCB; that of a policy is policy.bandit"):
        Encoder(LUCB(question()))
    policy = CCPE(question())
    encoder = Encoder(policy.bandit)
    assert encoder.encode(do(), rows()).rewards.tolist() == [1.0] * 6
    assert encoder.forced_codes([do(), do(X=1)]).tolist() == [[-1, -1, -1], [-1, 1, -1]]


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy])
def test_a_copy_goes_its_own_way(twin):
    policy = CCPE(question()).tell(do(), rows())
    other = twin(policy)
    other.tell(do(X=1), {"C": 0, "Y": 1}).tell(do(), {"C": None, "X": 0, "Y": 1}, missing="drop")
    assert (policy.n_plays, other.n_plays) == (6, 7)
    assert (policy.dropped_, other.dropped_) == ({}, {"C": 1})
    assert len(policy.history) == 6
    assert policy.plays_by_action == {do(): 6}
    assert policy.ask() == CCPE(question()).tell(do(), rows()).ask()


def test_estimators_alone_take_the_same_forms():
    frame = rows(12)
    for estimator in (AdmissibleSequence(), BGLM()):
        right = estimator.fit(CONFOUNDED, frame.assign(Y=[0, 1] * 6)).expected_reward(do(X=1), "Y")
        text = frame.assign(Y=[0, 1] * 6).astype(str)
        assert estimator.fit(CONFOUNDED, text).expected_reward(do(X="1"), "Y") == right
        assert estimator.fit(CONFOUNDED, text, "do()").expected_reward("do(X=1)", "Y") == right
        with pytest.raises(TypeError, match="must be written"):
            estimator.fit(CONFOUNDED, frame, 3)
        with pytest.raises(ValueError, match="X has the states 0, 1, but got 2"):
            estimator.fit(CONFOUNDED, frame, do(X=2))


def test_columns_of_several_levels_and_their_way_out():
    """What a pivot leaves: refused, and read once the error's advice is followed."""
    frame = rows(6)
    pivoted = frame.set_axis(pd.MultiIndex.from_product([frame.columns, ["value"]]), axis=1)
    with pytest.raises(ValueError, match="columns must be named by variables, but have 2 levels of names") as raised:
        CCPE(question()).tell(do(), pivoted)
    exec(str(raised.value).split(": ", 1)[1].removesuffix(" keeps the first"), {"frame": pivoted})
    assert CCPE(question()).tell(do(), pivoted).n_plays == 6
