"""Columns become codes and codes columns; rows have actions, told or named by the index."""

import numpy as np
import pandas as pd
import pytest

from pgcpe import do
from pgcpe.plays.actions import with_states
from pgcpe.plays.frames import History, columns_of, distinct_actions, encode_column, labels_of, rows_told

STATES = {"X": ("None", "1", "01"), "Y": (0, 1)}


def read(action):
    return with_states(action, STATES)


def test_codes_go_to_columns_and_back():
    codes = np.array([[0, 1], [2, -1], [1, 0], [-1, 0]], dtype=np.int32)
    frame = columns_of(codes, STATES, pd.RangeIndex(4))
    assert isinstance(frame, History)
    assert frame.isna().sum().to_dict() == {"X": 1, "Y": 1}
    for j, (variable, states) in enumerate(STATES.items()):
        assert encode_column(frame[variable], states, variable).tolist() == codes[:, j].tolist()


@pytest.mark.parametrize("dtype", [object, "category", "string"])
def test_columns_of_any_dtype_are_found(dtype):
    column = pd.Series(["01", None, "None", "01"], dtype=dtype)
    assert encode_column(column, STATES["X"], "X").tolist() == [2, -1, 0, 2]


@pytest.mark.parametrize("dtype", ["int64", "Int64", "float32", "uint8"])
def test_columns_of_numbers_are_found(dtype):
    assert encode_column(pd.Series([1, 0, 1], dtype=dtype), ("0", "1"), "Y").tolist() == [1, 0, 1]


def test_rows_are_told_or_labelled():
    frame = pd.DataFrame({"Y": [0, 1]}, index=pd.Index(["do(X=01)", do()], name="action"))
    assert labels_of(frame) == ["do(X=01)", do()]
    for told in (None, ["do(X=01)", "do()"], [do(X="01"), do()]):
        actions, which = rows_told(told, frame, read)
        assert [actions[i] for i in which] == [do(X="01"), do()]
    with pytest.raises(ValueError, match=r"row 1 is labelled do.., which contradicts the action given"):
        rows_told(do(X="01"), frame, read)
    assert labels_of(frame.reset_index(drop=True)) is None
    assert rows_told("do(X=1)", frame.reset_index(drop=True), read)[0] == (do(X="1"),)
    with pytest.raises(ValueError, match="give the actions of the plays"):
        rows_told(None, frame.reset_index(drop=True), read)


def test_distinct_actions():
    actions = [do(A=1), do(), do(A=1)]
    distinct, which = distinct_actions(actions)
    assert distinct == (do(A=1), do())
    assert which.tolist() == [0, 1, 0]
