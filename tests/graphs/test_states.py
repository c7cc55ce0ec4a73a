"""Which state a value means: the one it is, the one of its name, the only one of its worth, or an error."""

import numpy as np
import pandas as pd
import pytest
from pgmpy.base import DAG

from pgcpe import CausalBandit, do
from pgcpe.graphs.states import did_you_mean, find_state, shown
from pgcpe.graphs.structure import states_of

INTERVALS = tuple(pd.cut([1.0, 40.0], [0, 30, 60]))


@pytest.mark.parametrize(
    ("states", "value", "found"),
    [
        (("1", "01"), "01", "01"),
        (("1", "01"), "1", "1"),
        (("01", "1"), 1, "1"),
        (("00060", "00065"), 65, "00065"),
        (("00060", "00065"), "65", "00065"),
        (("1e3", "1000"), "1e3", "1e3"),
        (("1e3", "1000"), 1000, "1000"),
        (("1e3", "5"), 1000.0, "1e3"),
        (("0", "1"), 1.0, "1"),
        (("0.10", "0.2"), 0.1, "0.10"),
        ((0, 1), "1", 1),
        ((0, 1), "01", 1),
        ((0.5, 1.5), "0.50", 0.5),
        (("0", "1"), True, "1"),
        (("0", "1"), np.bool_(False), "0"),
        ((0, 1), True, 1),
        (("FALSE", "TRUE"), True, "TRUE"),
        (("false", "true"), False, "false"),
        (("False", "True", "TRUE"), True, "True"),
        ((False, True), "TRUE", True),
        ((False, True), 1, True),
        ((False, True), "0", False),
        ((0, 1), "TRUE", 1),
        (("None", "NA"), "NA", "NA"),
        (("None", "nan"), None, "None"),
        (("None", "nan"), float("nan"), "nan"),
        (("inf", "0"), float("inf"), "inf"),
        (("", " "), "", ""),
        (("a", '"a"'), '"a"', '"a"'),
        (("a", "b"), '"a"', "a"),
        (("1", "01"), '"01"', "01"),
        (INTERVALS, INTERVALS[1], INTERVALS[1]),
        (INTERVALS, "(30, 60]", INTERVALS[1]),
        (((0, 1), (1, 0)), "(1, 0)", (1, 0)),
        (((0, 1), (1, 0)), (1, 0), (1, 0)),
        (("9007199254740993", "9007199254740992"), 9007199254740993, "9007199254740993"),
        ((np.int64(3), np.int64(4)), 4, 4),
        (("yes", "no"), np.str_("no"), "no"),
    ],
)
def test_what_is_meant(states, value, found):
    assert states[find_state(states, value, "X")] == found


@pytest.mark.parametrize(
    ("states", "value", "message"),
    [
        (("1.0", "01"), 1, "X has the states '1.0', '01', which 1 may both mean: write the state"),
        (("01", "001", "1.0"), "1", "which '1' may all mean"),
        (("True", "TRUE"), "true", "which 'true' may both mean"),
        (("yes", "no"), "Yes", "X has the states 'yes', 'no', but got 'Yes'; did you mean 'yes'"),
        (("yes", "no"), True, "but got True"),
        (("True", "False"), 1, "but got 1"),
        (("True", "False"), "1", "but got '1'"),
        (("0", "1"), float("nan"), "but got nan"),
        (("0", "1"), 0.5, "but got 0.5"),
        (("a", "b"), '"c"', "but got '\"c\"'"),
        (("a", "b"), '"', "but got '\"'"),
        ((1, 2), '"1"', "but got"),
        (("low", "medium", "high"), "hihg", "did you mean 'high'"),
    ],
)
def test_what_is_refused(states, value, message):
    with pytest.raises(ValueError, match=message):
        find_state(states, value, "X")


def test_a_number_that_was_text_is_not_found_by_how_it_prints():
    """A column 1, 01, 01 that was read as numbers is 1, 1, 1: what was written is lost."""
    for read in (1, 1.0):
        with pytest.raises(ValueError, match="may both mean"):
            find_state(("1", "01"), read, "X", by_name=False)
    assert find_state(("0", "01"), 1, "X", by_name=False) == 1


@pytest.mark.slow
def test_what_an_error_shows_is_cut():
    assert shown("a", 1, np.float64(2)) == "'a', 1, 2.0"
    for long in (["x" * 10**6], ["x"] * 10**6, [tuple(range(1000))], list(range(10**6))):
        assert len(shown(*long)) < 130
    assert shown(*range(1000)).endswith("and 971 more")
    with pytest.raises(ValueError, match="but got") as raised:
        find_state([f"state {i}" for i in range(10_000)], "y" * 10**6, "X")
    assert len(str(raised.value)) < 350
    assert did_you_mean("y" * 10**6, ["yes"]) == ""


@pytest.mark.parametrize(
    ("states", "error", "message"),
    [
        ({"X": [1, "1"]}, ValueError, "states of different names, but got .1, '1'."),
        ({"X": ["a", None]}, ValueError, "a missing value is no state.*as in 'none'"),
        ({"X": ["a", float("nan")]}, ValueError, "a missing value is no state"),
        ({"X": 2}, TypeError, "the states of X must be a list, such as"),
        (["a", "b"], TypeError, "states must map variables to their states, as in"),
        ({"x": [0, 1]}, ValueError, "did you mean 'X'"),
    ],
)
def test_states_that_cannot_be_told_from_others(states, error, message):
    with pytest.raises(error, match=message):
        states_of(DAG([("X", "Y")]), states)


def test_the_ways_out_of_states():
    """Those that the messages above name."""
    graph = DAG([("X", "Y")])
    assert states_of(graph, {"X": ["a", "none"]})["X"] == ("a", "none")
    assert states_of(graph, {"X": ["low", "high"]})["X"] == ("low", "high")
    assert states_of(graph, {"X": [1, "one"]})["X"] == (1, "one")
    arms = [do(X="1.0"), do(X="01")]  # the state as it is named
    assert CausalBandit(graph, reward="Y", arms=arms, states={"X": ["1.0", "01"]}).arms == tuple(arms)
