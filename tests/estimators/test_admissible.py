"""Estimates along admissible sequences against direct computations on the same rows."""

import math

import numpy as np
import pandas as pd
import pytest
from estimators.visits import SEVERITY, VISITS, draws
from pgmpy.base import DAG

from pgcpe import (
    AdmissibleSequence,
    CausalBandit,
    SimulatedEnvironment,
    do,
    expected_reward,
    load_network,
)
from pgcpe.confidence.paper_radii import paper_observational_radius
from pgcpe.confidence.tree_region import likelihood_ratio_interval


def formula(frame: pd.DataFrame, drug1: str, drug2: str) -> float:
    """Eq. (4) for do(drug1, drug2) with Z_1 = severity1, Z_2 = severity2, on frequencies, by pandas."""
    total = 0.0
    for z1 in SEVERITY:
        first = frame[(frame.severity1 == z1) & (frame.drug1 == drug1)]
        for z2 in SEVERITY:
            cell = first[(first.severity2 == z2) & (first.drug2 == drug2)]
            total += (frame.severity1 == z1).mean() * (first.severity2 == z2).mean() * (cell.recovered == "yes").mean()
    return total


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
    assert intervals.lower[i] == pytest.approx(formula(frame, "new", "standard") - half, abs=1e-9)
    assert intervals.upper[i] == pytest.approx(formula(frame, "new", "standard") + half, abs=1e-9)


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


def test_arms_without_a_sequence_are_not_served(visits):
    estimator = AdmissibleSequence().start(visits).update(draws(visits, 2_000))
    intervals = estimator.intervals(0.05)
    for i, sequence in enumerate(visits.sequences):
        assert estimator.served_[i] == (sequence is not None and len(visits.canonical[i]) > 0)
        if not estimator.served_[i]:
            assert (intervals.lower[i], intervals.upper[i]) == (0, 1)
        else:
            assert intervals.lower[i] > 0 or intervals.upper[i] < 1


def test_rewards_between_zero_and_one_count_in_full():
    states = {"Y": ["bad", "fair", "good"]}
    graph = DAG([("Z", "X"), ("Z", "Y"), ("X", "Y")])
    values = {"bad": 0, "fair": 0.5, "good": 1}
    bandit = CausalBandit(graph, reward="Y", arms=[do(X=0), do(X=1)], states=states, reward_values=values)
    rows = pd.DataFrame({"Z": [0, 0, 1, 1], "X": [1, 1, 1, 0], "Y": ["fair", "good", "fair", "bad"]})
    estimator = AdmissibleSequence("paper", alpha=1e-12).start(bandit).update(bandit.encode(do(), rows))
    assert estimator.intervals(0.1).midpoint[1] == pytest.approx(0.5 * 0.75 + 0.5 * 0.5)


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


@pytest.mark.slow
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


@pytest.mark.parametrize("seed", range(4))
def test_the_variance_of_a_contrast_is_that_of_the_formula(seed):
    """For one adjusting variable: sum_z p_z (d_z - d)^2 / n + sum_z p_z^2 (v_1z / n_1z + v_0z / n_0z), by pandas."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 3, 5_000)
    x = (rng.random(5_000) < np.array([0.2, 0.5, 0.7])[z]).astype(int)
    y = (rng.random(5_000) < np.array([0.2, 0.5, 0.9])[z] - 0.1 * x * (z == 1)).astype(int)
    frame, graph = pd.DataFrame({"Z": z, "X": x, "Y": y}), DAG([("Z", "X"), ("Z", "Y"), ("X", "Y")])
    fitted = AdmissibleSequence().fit(graph, frame, states={"Z": [0, 1, 2]})
    cells = frame.groupby(["X", "Z"]).Y.agg(["mean", "size"])
    p = frame.Z.value_counts(normalize=True).sort_index()
    apart = cells["mean"][1] - cells["mean"][0]
    value = float(p @ apart)
    noise = cells["mean"] * (1 - cells["mean"]) / cells["size"]
    variance = float(p @ (apart - value) ** 2 / 5_000 + p**2 @ (noise[1] + noise[0]))
    contrast = fitted.contrast(do(X=1), do(X=0), "Y")
    assert contrast.value == pytest.approx(value, abs=1e-12)
    assert math.sqrt(variance) <= contrast.se < 1.01 * math.sqrt(variance)  # small counts are made larger
    assert fitted.contrast(do(X=0), do(X=1), "Y") == pytest.approx((-contrast.value, contrast.se))
    alone = [fitted.expected_reward(do(X=k), "Y") for k in (0, 1)]
    assert contrast.value == pytest.approx(alone[1].value - alone[0].value, abs=1e-12)
    assert contrast.se < 0.95 * math.hypot(alone[0].se, alone[1].se)  # the strata are the same rows


def test_actions_of_equal_effect_do_not_differ():
    network = load_network("asia")
    data = SimulatedEnvironment(network, seed=0).sample(do(), 500).to_frame()
    fitted, values = AdmissibleSequence().fit(network, data), {"yes": 1, "no": 0}
    assert fitted.contrast(do(bronc="no", xray="yes"), do(bronc="no"), "dysp", values) == (0, 0)
    assert fitted.contrast(do(bronc="no"), do(bronc="no"), "dysp", values) == (0, 0)


def test_a_contrast_needs_both_formulas():
    fitted = AdmissibleSequence().fit(VISITS, SimulatedEnvironment(VISITS, seed=0).sample(do(), 50).to_frame())
    with pytest.raises(ValueError, match="Recording adherence would give one"):
        fitted.contrast(do(drug1="new"), do(severity2="mild"), "recovered", {"no": 0, "yes": 1})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("a", "b"),
    [
        (do(drug2="new"), do(drug2="standard")),
        (do(drug1="new", drug2="standard"), do(drug1="standard", drug2="new")),
        (do(drug1="new"), do()),
    ],
)
def test_contrasts_cover_as_often_as_they_say(a, b):
    """Of 400 intervals at 95 % within 380 +- 5 sqrt(400 .95 .05) = 22 cover but for a probability below 1e-5; as above
    the mean of the squared errors over se^2 is within 1 +- .354, and .02 for what small counts add."""
    values, ratio, covered = {"no": 0, "yes": 1}, [], 0
    truth = [expected_reward(VISITS, action, reward="recovered", reward_values=values) for action in (a, b)]
    for seed in range(400):
        data = SimulatedEnvironment(VISITS, seed=2_000 + seed).sample(do(), 2_000).to_frame()
        contrast = AdmissibleSequence().fit(VISITS, data).contrast(a, b, "recovered", values)
        low, high = contrast.confidence_interval()
        covered += low <= truth[0] - truth[1] <= high
        ratio.append(((contrast.value - truth[0] + truth[1]) / contrast.se) ** 2)
    assert abs(covered - 380) <= 22
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
