"""The user's unit and direction become shares of the range, and back."""

import math

import numpy as np
import pandas as pd
import pytest

from pgcpe.plays.reward_scale import Measured, RewardScale, measured_shares, measured_values, number_of

MINUTES = RewardScale(0, 60, minimise=True)
YIELD = Measured("yield", RewardScale(-20, 130))


@pytest.mark.parametrize("scale", [RewardScale(), RewardScale(minimise=True), RewardScale(-3, 8.5), MINUTES])
def test_shares_and_values_are_inverse(scale):
    share = np.linspace(0, 1, 101)
    np.testing.assert_allclose(scale.share(scale.value(share)), share, atol=1e-15)
    assert scale.value(1.0) == (scale.low if scale.minimise else scale.high)
    lower, upper = scale.ends(np.array([0.2]), np.array([0.7]))
    assert lower < upper
    assert set(scale.share([lower[0], upper[0]]).round(12)) == {0.2, 0.7}


def test_rewards_in_0_to_1_stay_the_numbers_they_are():
    shares = np.random.default_rng(0).random(1000)
    np.testing.assert_array_equal(RewardScale().share(shares), shares)
    np.testing.assert_array_equal(RewardScale().value(shares), shares)


@pytest.mark.parametrize("ends", [(0, 60), (-20, 130), (0, 1e-4), (0, 1e7), (5, 6)])
@pytest.mark.parametrize("minimise", [False, True])
def test_what_was_told_reads_as_it_was_told(ends, minimise):
    """Values of eight digits of the range come back to the last bit."""
    scale = RewardScale(*ends, minimise)
    digits = 8 - math.ceil(math.log10(scale.width))
    told = np.round(scale.low + scale.width * np.random.default_rng(1).random(1000), digits)
    np.testing.assert_array_equal(scale.told(scale.share(told)), told)


def test_values_are_shown_to_a_thousandth_of_the_range():
    assert RewardScale().text(0.12345) == "0.123"
    assert MINUTES.text(12.345) == "12.3"
    assert RewardScale(0, 1e6).text(123456.7) == "123457"
    assert RewardScale(0, 0.01).text(0.0012345) == "0.00123"


@pytest.mark.parametrize(
    ("ends", "error", "said"),
    [
        (5, TypeError, "the least and the largest reward"),
        ((1, 2, 3), TypeError, "the least and the largest reward"),
        (("0", "1"), TypeError, "the least and the largest reward"),
        ((False, True), TypeError, "the least and the largest reward"),
        ((3, 3), ValueError, "the lower one first, but got"),
        ((3, 2), ValueError, "the lower one first"),
        ((0, math.inf), ValueError, "two finite numbers"),
        ((0, math.nan), ValueError, "two finite numbers"),
        ((-1.7e308, 1.7e308), ValueError, "two finite numbers"),
    ],
)
def test_bad_ranges(ends, error, said):
    with pytest.raises(error, match=said):
        RewardScale.checked(ends, minimise=False)


def test_a_direction_is_true_or_false():
    with pytest.raises(TypeError, match="minimise must be True or False, but got 'yes'"):
        RewardScale.checked((0, 1), minimise="yes")


@pytest.mark.parametrize(
    ("value", "number"),
    [(3, 3.0), (np.float32(0.5), 0.5), (" 2e1 ", 20.0), ("-0.5", -0.5), (True, None), ("many", None), ("1_0", None)],
)
def test_what_is_a_number(value, number):
    assert number_of(value) == number


@pytest.mark.parametrize("value", [None, math.nan, pd.NA, pd.NaT, "", "NaN", "n/a"])
def test_what_is_missing(value):
    assert math.isnan(number_of(value))


def test_a_column_of_numbers_or_of_their_texts():
    assert measured_values(pd.Series(["12.5", 3, np.nan], dtype=object), YIELD).tolist()[:2] == [12.5, 3.0]
    assert measured_values(pd.Series([1, 2], dtype="Int64"), YIELD).tolist() == [1.0, 2.0]
    assert measured_shares(pd.Series([-20.0, 130.0]), YIELD).tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ([1.0, 131.0], r"row 1 \(label 1\): yield must lie in its range, -20 to 130, but got 131;"),
        ([1.0, math.inf], "yield must lie in its range, -20 to 130, but got inf"),
        (["a lot"], r"row 0 \(label 0\): yield must be a number from -20 to 130, but got 'a lot'"),
        (["12,5"], "but got '12,5'; with a decimal point it would be 12.5"),
        ([True], "yield must be a number from -20 to 130, but got True"),
        ([1.0, math.nan], r"row 1 \(label 1\) has no value for yield"),
    ],
)
def test_bad_columns(column, said):
    with pytest.raises(ValueError, match=said):
        measured_shares(pd.Series(column), YIELD)
