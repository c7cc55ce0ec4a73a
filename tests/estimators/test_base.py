"""What all estimators have in common: the habits of scikit-learn, errors, no interval before data."""

import math

import numpy as np
import pandas as pd
import pytest
from estimators.visits import VISITS
from helpers import dag
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from pgcpe import (
    BGLM,
    AdmissibleSequence,
    EmpiricalMeans,
    SimulatedEnvironment,
    do,
)

GRAPH = dag([("Z", "X"), ("Z", "Y"), ("X", "Y")])


def test_habits_of_scikit_learn():
    for estimator in (AdmissibleSequence("paper", alpha=0.3, refresh=50), EmpiricalMeans("paper", alpha=0.4)):
        assert clone(estimator).get_params() == estimator.get_params()
        assert all(not name.endswith("_") for name in vars(estimator))
    assert AdmissibleSequence().certificate == EmpiricalMeans().certificate == "exact"
    assert AdmissibleSequence("paper").certificate == EmpiricalMeans("paper").certificate == "heuristic"


def test_errors(visits):
    with pytest.raises(ValueError, match="radius must be one of 'lr', 'paper', but got 'kt'"):
        AdmissibleSequence("kt").start(visits)
    with pytest.raises(ValueError, match="radius must be one of 'kt', 'paper', 'kl', 'lucb1', 'lil'"):
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
        assert (intervals.clipped.lower.max(), intervals.clipped.upper.min()) == (0, 1)
        if estimator.radius == "paper":  # below every arm with data
            assert intervals.midpoint.max() == -math.inf
        assert not any(map(math.isnan, intervals.midpoint))


@pytest.mark.parametrize("estimator", [BGLM, AdmissibleSequence])
def test_rows_with_missing_values_are_refused_or_left_out_and_counted(estimator):
    """As `tell` does: the estimate is that of the complete rows."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (400, 3)), columns=["Z", "X", "Y"]).astype(object)
    holes = frame.copy()
    holes.loc[::4, "Z"], holes.loc[1::40, "X"] = None, np.nan
    with pytest.raises(ValueError, match=r"row 0 .* has no value for Z; .* or missing=.drop., leaves such rows"):
        estimator().fit(GRAPH, holes).expected_reward(do(X=1), "Y")
    fitted = estimator().fit(GRAPH, holes, missing="drop")
    assert fitted.expected_reward(do(X=1), "Y") == estimator().fit(GRAPH, holes.dropna()).expected_reward(do(X=1), "Y")
    assert fitted.dropped_ == {"Z": 100, "X": 10}
    fitted.partial_fit(holes).expected_reward(do(X=1), "Y")
    assert fitted.dropped_ == {"Z": 200, "X": 20}
    with pytest.raises(ValueError, match="missing must be one of 'raise', 'drop', but got 'skip'"):
        estimator().fit(GRAPH, holes, missing="skip")


def test_no_row_without_the_outcome_is_left_out():
    rows = [{"Z": 0, "X": 1, "Y": 1}, {"Z": 1, "X": 1, "Y": None}]
    with pytest.raises(ValueError, match=r"row 1 \(label 1\) has no value for Y$"):
        AdmissibleSequence().fit(GRAPH, rows, missing="drop").expected_reward(do(X=1), "Y")
    with pytest.raises(ValueError, match="every passive observation lacks a value"):
        AdmissibleSequence().fit(GRAPH, [{"Z": None, "X": 1, "Y": 1}], missing="drop").expected_reward(do(X=1), "Y")


def test_the_row_that_contradicts_the_constant_is_named_as_it_was_given():
    rows = [{"one": 1, "X": None, "Y": 0}, {"one": 0, "X": 1, "Y": 0}]
    graph = dag([("one", "X"), ("one", "Y"), ("X", "Y")])
    with pytest.raises(ValueError, match="row 1 has another one than 1"):
        BGLM(constant="one").fit(graph, rows, missing="drop")
