"""What an estimate says of itself."""

import copy
import math
import pickle

import pytest
from scipy.stats import norm

from pgcpe import Contrast, Estimate


def test_the_interval_is_that_of_the_normal_distribution():
    low, high = Estimate(0.4, 0.05).confidence_interval(0.9)
    assert norm.cdf(high, 0.4, 0.05) - norm.cdf(low, 0.4, 0.05) == pytest.approx(0.9)
    assert low + high == pytest.approx(0.8)
    half = 1.959964 * 0.05
    assert Contrast(-0.1, 0.05).confidence_interval() == pytest.approx((-0.1 - half, -0.1 + half))


def test_an_interval_holds_nothing_that_cannot_be():
    assert Estimate(0.01, 0.1).confidence_interval()[0] == 0.0
    assert Estimate(0.99, 0.1).confidence_interval()[1] == 1.0
    assert Contrast(-0.95, 0.1).confidence_interval()[0] == -1.0
    assert Estimate(0.5, math.inf).confidence_interval() == (0.0, 1.0)
    assert Contrast(0.0, 0.0).confidence_interval() == (0.0, 0.0)


def test_values_in_a_unit_go_as_far_as_their_range():
    assert Estimate(2.0, 3.0, (0.0, 60.0)).confidence_interval() == pytest.approx((0.0, 2 + 3 * 1.959964))
    assert Contrast(-50.0, 30.0, (-60.0, 60.0)).confidence_interval()[0] == -60.0
    assert str(Estimate(20.0, 1.5, (0.0, 60.0))) == "20.0, 95 % confidence interval 17.1 to 22.9"


def test_printed_it_has_value_interval_and_level():
    assert str(Estimate(0.15123, 0.005)) == "0.1512, 95 % confidence interval 0.1414 to 0.1610"
    assert str(Contrast(-0.5, 0.11)) == "-0.50, 95 % confidence interval -0.72 to -0.28"
    assert str(Estimate(0.5, math.inf)) == (
        "0.5000, which the data do not determine, 95 % confidence interval 0.0000 to 1.0000"
    )
    assert Estimate(0.5, 0.1)._repr_markdown_() == "0.50, 95 % confidence interval 0.30 to 0.70"
    assert repr(Estimate(0.5, 0.1)) == "Estimate(value=0.5, se=0.1)"
    value, se = Estimate(0.5, 0.1)
    assert (value, se) == (0.5, 0.1)


@pytest.mark.parametrize("confidence_level", [0, 1, 95])
def test_levels_are_probabilities(confidence_level):
    with pytest.raises(ValueError, match="confidence_level must be between 0 and 1"):
        Estimate(0.5, 0.1).confidence_interval(confidence_level)


def test_a_copy_knows_its_ends():
    estimate = Estimate(20.0, 30.0, (0.0, 60.0))
    assert copy.deepcopy(estimate).confidence_interval() == (0.0, 60.0)
    assert pickle.loads(pickle.dumps(estimate)).ends == (0.0, 60.0)
    assert estimate == (20.0, 30.0)


@pytest.mark.parametrize("kind", [Estimate, Contrast])
def test_a_changed_one_knows_its_ends(kind):
    changed = kind(12.0, 3.0, (0.0, 60.0))._replace(se=40.0)
    assert (changed.value, changed.se, changed.ends) == (12.0, 40.0, (0.0, 60.0))
    assert changed.confidence_interval() == (0.0, 60.0)
