"""What all estimators have in common: the habits of scikit-learn, errors, no interval before data."""

import math

import pandas as pd
import pytest
from estimators.visits import VISITS
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from pgcpe import (
    AdmissibleSequence,
    EmpiricalMeans,
    SimulatedEnvironment,
    do,
)


def test_habits_of_scikit_learn():
    for estimator in (AdmissibleSequence("paper", alpha=0.3, refresh=50), EmpiricalMeans("paper", alpha=0.4)):
        assert clone(estimator).get_params() == estimator.get_params()
        assert all(not name.endswith("_") for name in vars(estimator))
    assert AdmissibleSequence().certificate == EmpiricalMeans().certificate == "exact"
    assert AdmissibleSequence("paper").certificate == EmpiricalMeans("paper").certificate == "heuristic"


def test_errors(visits):
    with pytest.raises(ValueError, match="radius must be 'lr' or 'paper', but got 'kt'"):
        AdmissibleSequence("kt").start(visits)
    with pytest.raises(ValueError, match="radius must be 'kt', 'paper', 'kl', 'lucb1' or 'lil'"):
        EmpiricalMeans("lr").start(visits)
    with pytest.raises(ValueError, match="alpha belongs to the other radii"):
        EmpiricalMeans(alpha=2.0).start(visits)
    with pytest.raises(ValueError, match="alpha must be a positive number"):
        AdmissibleSequence("paper", alpha=-1).start(visits)
    with pytest.raises(ValueError, match="refresh must be an integer of at least 1"):
        AdmissibleSequence(refresh=0).start(visits)
    with pytest.raises(NotFittedError, match="fit a graph"):
        AdmissibleSequence().expected_reward(do(), "Y")
    with pytest.raises(NotFittedError, match="fit a graph first"):
        AdmissibleSequence().partial_fit(pd.DataFrame())
    data = SimulatedEnvironment(VISITS, seed=4).sample(do(), 30).to_frame()
    fitted = AdmissibleSequence().fit(VISITS, data)
    with pytest.raises(ValueError, match="severity1 <- frailty -> recovered stays open"):
        fitted.expected_reward(do(severity1="mild"), "recovered", {"no": 0, "yes": 1})
    with pytest.raises(ValueError, match=r"lack \['severity1'\]"):
        AdmissibleSequence().fit(VISITS, data.drop(columns="severity1")).expected_reward(
            do(drug1="new"), "recovered", {"no": 0, "yes": 1}
        )
    with pytest.raises(ValueError, match="one action for each play"):
        fitted.partial_fit(data, [do()])
    with pytest.raises(TypeError, match="an action must be written"):
        fitted.partial_fit(data, [7] * len(data))
    with pytest.raises(ValueError, match="no passive observation"):
        AdmissibleSequence().fit(VISITS, data.reset_index(drop=True), do(drug1="new")).expected_reward(
            do(), "recovered", {"no": 0, "yes": 1}
        )
    for estimator in (AdmissibleSequence(), EmpiricalMeans()):
        with pytest.raises(NotFittedError, match="before start"):
            estimator.intervals(0.05)


def test_no_interval_before_data(visits):
    for estimator in (AdmissibleSequence(), AdmissibleSequence("paper"), EmpiricalMeans(), EmpiricalMeans("paper")):
        intervals = estimator.start(visits).intervals(0.05)
        assert intervals.lower.max() == 0
        assert intervals.upper.min() == 1
        assert not any(map(math.isnan, intervals.midpoint))
