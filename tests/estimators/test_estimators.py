"""Estimators against direct computations on the same rows."""

import math

import numpy as np
import pandas as pd
import pytest
from pgmpy.base import DAG
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from pgcpe import (
    AdmissibleSequence,
    CausalBandit,
    EmpiricalMeans,
    SimulatedEnvironment,
    do,
    expected_reward,
    interventions,
    load_network,
)
from pgcpe.confidence.paper_radii import paper_direct_radius, paper_observational_radius
from pgcpe.confidence.sequences import kt_interval
from pgcpe.confidence.tree_region import likelihood_ratio_interval

VISITS = load_network("data/two_visits.bif", latents=["frailty", "adherence"])
SEVERITY = ("mild", "moderate", "severe")


@pytest.fixture(scope="module")
def visits():
    arms = interventions(VISITS, reward="recovered", max_size=2)
    return CausalBandit(VISITS, reward="recovered", arms=arms, reward_values={"no": 0, "yes": 1})


def draws(bandit, n, seed=0, action=None):
    samples = SimulatedEnvironment(VISITS, seed=seed).sample(action or do(), n)
    return bandit.encode(action or do(), samples)


def formula(frame: pd.DataFrame, drug1: str, drug2: str) -> float:
    """Eq. (4) for do(drug1, drug2) with Z_1 = severity1, Z_2 = severity2, on frequencies, by pandas."""
    total = 0.0
    for z1 in SEVERITY:
        first = frame[(frame.severity1 == z1) & (frame.drug1 == drug1)]
        for z2 in SEVERITY:
            cell = first[(first.severity2 == z2) & (first.drug2 == drug2)]
            total += (frame.severity1 == z1).mean() * (first.severity2 == z2).mean() * (cell.recovered == "yes").mean()
    return total


def test_direct_means_count_equal_actions_and_no_others(visits):
    estimator = EmpiricalMeans().start(visits)
    arm = do(drug1="new", drug2="new")
    told = draws(visits, 100, action=arm)
    estimator.update(told).update(draws(visits, 50))
    i = visits.index(visits.action(arm))
    assert estimator.plays_[i] == 100
    assert estimator.plays_[visits.index(do())] == 50
    assert estimator.plays_.sum() == 150
    assert estimator.rewards_[i] == (told.to_frame().recovered == "yes").sum()


def test_direct_intervals_are_those_of_confidence(visits):
    n_arms = len(visits.arms)
    for radius in ("kt", "paper"):
        estimator = EmpiricalMeans(radius).start(visits)
        for seed in range(3):  # only arms with new plays are worked out again
            estimator.update(draws(visits, 7, seed=seed, action=do(drug1="new"))).intervals(0.02 / n_arms)
        intervals = estimator.update(draws(visits, 40)).intervals(0.02 / n_arms)
        n, x = estimator.plays_, estimator.rewards_
        if radius == "kt":
            expected = kt_interval(n, x, 0.02 / n_arms)
            assert np.allclose(intervals.lower, expected.lower, atol=1e-12)
            assert np.allclose(intervals.upper, expected.upper, atol=1e-12)
        else:
            half = paper_direct_radius(n, n_arms, 0.02)
            mean = np.divide(x, n, out=np.full(n_arms, 0.5), where=n > 0)
            assert np.allclose(intervals.lower, np.clip(mean - half, 0, 1))
            assert np.allclose(intervals.upper, np.clip(mean + half, 0, 1))


def test_plug_in_of_two_steps_is_the_formula(visits):
    told = draws(visits, 20_000)
    frame = told.to_frame()
    estimator = AdmissibleSequence("paper", alpha=1e-9).start(visits).update(told)  # no radius to speak of
    middle = estimator.intervals(0.05).midpoint
    for a in ("standard", "new"):
        for b in ("standard", "new"):
            i = visits.index(do(drug1=a, drug2=b))
            assert visits.sequences[i] == [("drug1", frozenset({"severity1"})), ("drug2", frozenset({"severity2"}))]
            assert middle[i] == pytest.approx(formula(frame, a, b), abs=1e-7)


def test_paper_interval_has_the_papers_radius(visits):
    told = draws(visits, 5_000)
    frame = told.to_frame()
    i = visits.index(do(drug1="new", drug2="standard"))
    kept = frame[(frame.drug1 == "new") & (frame.drug2 == "standard")]
    cells = kept.groupby(["severity1", "severity2"]).size()
    assert len(cells) == 9
    half = paper_observational_radius(5_000, cells.min(), 2, 2, 9, len(visits.arms), 0.05, alpha=0.3)
    intervals = AdmissibleSequence("paper", alpha=0.3).start(visits).update(told).intervals(0.05 / len(visits.arms))
    assert intervals.lower[i] == pytest.approx(max(formula(frame, "new", "standard") - half, 0), abs=1e-9)
    assert intervals.upper[i] == pytest.approx(min(formula(frame, "new", "standard") + half, 1), abs=1e-9)


def test_exact_interval_is_that_of_the_tree(visits):
    told = draws(visits, 400)
    frame = told.to_frame()
    estimator = AdmissibleSequence(refresh=1).start(visits).update(told)
    intervals = estimator.intervals(0.05 / estimator.n_events_)
    i = visits.index(do(drug1="new", drug2="standard"))
    first = frame[frame.drug1 == "new"]
    last = first[first.drug2 == "standard"]
    root = [[(frame.severity1 == z).sum() for z in SEVERITY]]
    second = [[((first.severity1 == z1) & (first.severity2 == z2)).sum() for z2 in SEVERITY] for z1 in SEVERITY]
    leaves = [last[(last.severity1 == z1) & (last.severity2 == z2)] for z1 in SEVERITY for z2 in SEVERITY]
    lower, upper = likelihood_ratio_interval(
        [root, second],
        [len(leaf) for leaf in leaves],
        [(leaf.recovered == "yes").sum() for leaf in leaves],
        0.05 / estimator.served_.sum(),
    )
    assert (intervals.lower[i], intervals.upper[i]) == pytest.approx((lower, upper), abs=1e-5)
    # both are outside of the exact interval by less: see test_trees.py


def test_arms_without_a_sequence_are_not_served(visits):
    estimator = AdmissibleSequence().start(visits).update(draws(visits, 2_000))
    intervals = estimator.intervals(0.05)
    for i, sequence in enumerate(visits.sequences):
        assert estimator.served_[i] == (sequence is not None and len(visits.canonical[i]) > 0)
        if not estimator.served_[i]:
            assert (intervals.lower[i], intervals.upper[i]) == (0, 1)
        else:
            assert intervals.lower[i] > 0 or intervals.upper[i] < 1


@pytest.mark.parametrize("radius", ["lr", "paper"])
@pytest.mark.parametrize("refresh", [None, 1, 50])
def test_intervals_depend_on_the_rows_alone(visits, radius, refresh):
    told = draws(visits, 1_234)
    whole = AdmissibleSequence(radius, refresh=refresh).start(visits).update(told).intervals(0.05)
    parts = AdmissibleSequence(radius, refresh=refresh).start(visits)
    for start in (*range(0, 300, 3), *range(300, 1_234, 101)):
        parts.update(told.rows(slice(start, start + (3 if start < 300 else 101))))
    assert np.array_equal(parts.intervals(0.05).lower, whole.lower)
    assert np.array_equal(parts.intervals(0.05).upper, whole.upper)


def test_refresh_by_default_lags_by_at_most_a_hundredth(visits):
    estimator = AdmissibleSequence().start(visits)
    told = draws(visits, 1)
    for n in range(1, 3_000):
        estimator.update(told)
        assert n - estimator._counted <= (0 if n <= 100 else 0.01 * n)


def test_a_log_is_the_sum_of_its_rows(visits):
    """A million rows go through the same loop as one."""
    told = draws(visits, 1_000_000)
    estimator = AdmissibleSequence(refresh=1).start(visits).update(told)
    forest, counts = estimator._forest, estimator._counts
    frame = told.to_frame()
    for i, action in enumerate(visits.canonical):
        agree = np.all([np.ones(len(frame)), *(frame[v] == state for v, state in action.items())], axis=0)
        leaves = slice(forest.leaf_start[i], forest.leaf_start[i + 1])
        if leaves.start == leaves.stop:  # no sequence
            assert visits.sequences[i] is None
            continue
        assert counts.into[forest.node_start[i]] == 1_000_000
        assert counts.n[leaves].sum() == agree.sum()
        assert counts.x[leaves].sum() == (frame.recovered[agree] == "yes").sum()


def test_rewards_between_zero_and_one_count_in_full():
    states = {"Y": ["bad", "fair", "good"]}
    graph = DAG([("Z", "X"), ("Z", "Y"), ("X", "Y")])
    values = {"bad": 0, "fair": 0.5, "good": 1}
    bandit = CausalBandit(graph, reward="Y", arms=[do(X=0), do(X=1)], states=states, reward_values=values)
    rows = pd.DataFrame({"Z": [0, 0, 1, 1], "X": [1, 1, 1, 0], "Y": ["fair", "good", "fair", "bad"]})
    estimator = AdmissibleSequence("paper", alpha=1e-12).start(bandit).update(bandit.encode(do(), rows))
    assert estimator.intervals(0.1).midpoint[1] == pytest.approx(0.5 * 0.75 + 0.5 * 0.5)


# --------------------------------------------------------------------------------------------------------- stand-alone


def test_one_estimate_is_within_its_standard_errors():
    data = SimulatedEnvironment(VISITS, seed=4).sample(do(), 50_000).to_frame()
    fitted = AdmissibleSequence().fit(VISITS, data)
    values = {"no": 0, "yes": 1}
    for action in (do(drug1="new"), do(drug1="new", drug2="standard"), do(drug2="new"), do()):
        estimate = fitted.expected_reward(action, "recovered", values)
        truth = expected_reward(VISITS, action, reward="recovered", reward_values=values)
        # 5 standard errors: a fixed seed fails with probability below 1e-6 if value and se are right
        assert abs(estimate.value - truth) < 5 * estimate.se
        assert estimate.se < 0.02


def test_standard_error_is_that_of_repetitions():
    """The mean squared error of 400 estimates over their squared se is chi-square with 400 degrees of freedom over 400:
    within 1 +- 5 sqrt(2/400) = 1 +- .354 but for a probability below 1e-5; 2 % more is allowed for the smoothing."""
    action, values = do(drug2="new"), {"no": 0, "yes": 1}
    truth = expected_reward(VISITS, action, reward="recovered", reward_values=values)
    ratio = []
    for seed in range(400):
        data = SimulatedEnvironment(VISITS, seed=1_000 + seed).sample(do(), 2_000).to_frame()
        estimate = AdmissibleSequence().fit(VISITS, data).expected_reward(action, "recovered", values)
        ratio.append(((estimate.value - truth) / estimate.se) ** 2)
    assert abs(np.mean(ratio) - 1) < 0.354 + 0.02


def test_partial_fit_adds_and_other_actions_are_left_out():
    data = SimulatedEnvironment(VISITS, seed=4).sample(do(), 300).to_frame()
    whole = AdmissibleSequence().fit(VISITS, data)
    actions = [do() if i % 3 else do(drug1="new") for i in range(300)]
    plain = data.reset_index(drop=True)
    parts = AdmissibleSequence().fit(VISITS, plain[:100], actions[:100]).partial_fit(plain[100:], actions[100:])
    with pytest.raises(ValueError, match=r"row 0 is labelled do.., which contradicts the action given"):
        AdmissibleSequence().fit(VISITS, data, actions)
    values = {"no": 0, "yes": 1}
    rows = data[[not a for a in actions]]
    expected = AdmissibleSequence().fit(VISITS, rows).expected_reward(do(drug1="new"), "recovered", values)
    assert parts.expected_reward(do(drug1="new"), "recovered", values) == expected
    assert whole.expected_reward(do(drug1="new"), "recovered", values) != expected


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


def test_rows_labelled_with_their_action_are_told_apart_and_kept():
    environment = SimulatedEnvironment(VISITS, seed=4)
    data = environment.perform([do(), do(drug1="new")] * 200).to_frame()
    values = {"no": 0, "yes": 1}
    fitted = AdmissibleSequence().fit(VISITS, data)
    expected = AdmissibleSequence().fit(VISITS, data[data.index == "do()"].reset_index(drop=True))
    first = fitted.expected_reward(do(drug2="new"), "recovered", values)
    assert first == expected.expected_reward(do(drug2="new"), "recovered", values)
    data["recovered"] = "no"  # the estimator has its own copy
    assert fitted.expected_reward(do(drug2="new"), "recovered", values) == first
