"""Options checked in one place."""

import numpy as np
import pandas as pd
import pytest

from pgcpe import _checks


@pytest.mark.parametrize("value", ["c", 1, None, pd.NA, np.array(["a"]), ["a"], pd.Series(["a"])])
def test_one_of_a_few_words(value):
    _checks.one_of("mode", "a", ("a", "b"))
    _checks.one_of("mode", None, ("a", None))
    with pytest.raises(ValueError, match="mode must be one of 'a', 'b', but got"):
        _checks.one_of("mode", value, ("a", "b"))


def test_whole_numbers():
    assert _checks.whole_number("n", np.int32(3), 1) == 3
    for value in (2.0, "2", True, None, np.array([2])):
        with pytest.raises(TypeError, match="n must be an integer of at least 1, but got"):
            _checks.whole_number("n", value, 1)
    for value, limit in ((0, "least 1"), (10**30, "most 1,000,000,000")):
        with pytest.raises(ValueError, match=f"n must be an integer of at {limit}, but got {value}"):
            _checks.whole_number("n", value, 1)


def test_flags_and_seeds():
    assert _checks.flag("keep", np.True_) is True
    for value in ("no", 1, None):
        with pytest.raises(TypeError, match="keep must be True or False, but got"):
            _checks.flag("keep", value)
    assert _checks.generator(3).random() == np.random.default_rng(3).random()
    for value in (-1, 2.5, "x", True):
        with pytest.raises((TypeError, ValueError), match="seed must be an integer of at least 0, but got"):
            _checks.generator(value)
