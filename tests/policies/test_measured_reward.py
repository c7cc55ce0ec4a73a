"""A reward that is a number: the same statistics as of one with states, in the user's unit and direction."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import gammaln

from pgcpe import (
    BGLM,
    CCPE,
    KLLUCB,
    LUCB,
    AdmissibleSequence,
    CausalBandit,
    LilUCB,
    PooledCCPE,
    PropagatingInference,
    RewardNoise,
    SequentialHalving,
    SimulatedEnvironment,
    SuccessiveRejects,
    TopTwo,
    TwoPhase,
    UniformSampling,
    do,
    read_history,
)
from pgcpe.paper import experiment_3, parallel

LOW, HIGH = -20.0, 130.0
MAKERS = {
    "exact": lambda b, e: PooledCCPE(b, epsilon=e),
    "trees": lambda b, e: PooledCCPE(b, epsilon=e, model="trees"),
    "asymptotic": lambda b, e: PooledCCPE(b, guarantee="asymptotic", epsilon=e),
    "direct": lambda b, e: PooledCCPE(b, guarantee="direct", epsilon=e),
    "watched": lambda b, e: PooledCCPE(b, epsilon=e, check_graph=True),
    "ccpe": lambda b, e: CCPE(b, epsilon=e),
    "lucb": lambda b, e: LUCB(b, epsilon=e),
    "kl-lucb": lambda b, e: KLLUCB(b, epsilon=e),
    "top-two": lambda b, e: TopTwo(b, epsilon=e),
    "lil": lambda b, e: LilUCB(b),
    "halving": lambda b, e: SequentialHalving(b, budget=400),
    "rejects": lambda b, e: SuccessiveRejects(b, budget=400),
    "two-phase": lambda b, e: TwoPhase(b, budget=400),
    "propagating": lambda b, e: PropagatingInference(b, budget=400),
    "uniform": lambda b, e: UniformSampling(b, budget=400),
}
QUESTION = parallel([0.5, 0.3], [0.5, 0.2], 0.2)


def measured(**options):
    bandit = QUESTION.bandit
    return CausalBandit(QUESTION.network, reward="Y", arms=bandit.listed, **{"reward_range": (LOW, HIGH), **options})


@pytest.mark.parametrize("name", MAKERS)
def test_of_the_two_ends_of_the_range_it_is_the_reward_with_two_states(name):
    """The same plays told as states 0 and 1, and as the ends in the user's unit: the same asks, verdicts and table."""
    plain = MAKERS[name](QUESTION.bandit, 0.2)
    own = MAKERS[name](measured(), 0.2 * (HIGH - LOW))
    environment = QUESTION.environment(0)
    for _ in range(60):
        if plain.stopped or not (actions := plain.ask()):
            break
        assert own.ask() == actions
        frame = environment.perform(actions).to_frame()
        plain.tell(frame)
        own.tell(frame.assign(Y=np.where(frame["Y"].astype(int) == 1, HIGH, LOW)))
    assert (own.stopped, own.certificate, own.recommendation) == (
        plain.stopped,
        plain.certificate,
        plain.recommendation,
    )
    one, other = plain.result().table, own.result().table
    for column in ("estimate", "lower", "upper"):
        expected = LOW + (HIGH - LOW) * one[column]
        np.testing.assert_allclose(other[column], expected, rtol=0, atol=1e-9 * (HIGH - LOW))
    assert one["n_plays"].tolist() == other["n_plays"].tolist()


@pytest.mark.parametrize("name", ["exact", "asymptotic", "kl-lucb"])
def test_the_less_the_better_is_the_mirror_of_the_more_the_better(name):
    noise = RewardNoise("Y", (LOW, HIGH), "beta", values={0: 10.0, 1: 90.0})
    environment = SimulatedEnvironment(QUESTION.network, seed=1, reward_noise=noise)
    more, less = MAKERS[name](measured(), 20), MAKERS[name](measured(minimise=True), 20)
    for _ in range(40):
        if more.stopped:
            break
        actions = more.ask()
        assert less.ask() == actions
        frame = environment.perform(actions).to_frame()
        more.tell(frame)
        less.tell(frame.assign(Y=LOW + HIGH - frame["Y"]))
    one, other = more.result(), less.result()
    np.testing.assert_allclose(LOW + HIGH - one.table["upper"], other.table["lower"], atol=1e-9)
    np.testing.assert_allclose(LOW + HIGH - one.table["estimate"], other.table["estimate"], atol=1e-9)
    assert one.table["action"].tolist() == other.table["action"].tolist()
    assert "(less is better)" in other.summary
    assert "(less is better)" not in one.summary
    assert (more.intervals.lower <= more.intervals.upper).all()
    np.testing.assert_allclose(LOW + HIGH - more.intervals.upper, less.intervals.lower, atol=1e-9)


def test_of_three_causes_it_is_estimated_by_the_tables_too():
    """Rows of large tables are shrunk: a play counts in parts for both ends of the range, which leave one out."""
    made = parallel([0.5, 0.5, 0.5], [0.4, 0.2, 0.1], 0.2)
    bandit = CausalBandit(made.network, reward="Y", arms=made.bandit.listed, reward_range=(LOW, HIGH))
    policy, rng = PooledCCPE(bandit, epsilon=5), np.random.default_rng(0)
    rows = pd.DataFrame(rng.integers(0, 2, (4_000, 3)), columns=["X1", "X2", "X3"])
    share = 0.2 + rows @ [0.4, 0.2, 0.1]
    rows["Y"] = LOW + (HIGH - LOW) * rng.beta(2 * share, 2 * (1 - share))
    policy.tell(do(), rows[:12])
    assert np.isfinite(policy.state.pairwise[-1].estimates()).all()
    policy.tell(do(), rows[12:])
    found = policy.state.pairwise[-1].estimates()
    # Beta(2 s, 2 (1 - s)) has the variance s (1 - s) / 3, on average at most .2 / 3 where an arm has a variance of
    # (.4^2 + .2^2) / 4 / 4,000 from the shares of the other causes: a standard error of sqrt(.2 / 6,000 + 1.25e-5) =
    # .0068 at most, 3.8 of which are the tolerance of .0258
    truth = [0.2 + sum(w * arm.get(v, 0.5) for v, w in (("X1", 0.4), ("X2", 0.2), ("X3", 0.1))) for arm in bandit.arms]
    assert found == pytest.approx(truth, abs=4 * 0.5 / math.sqrt(6_000))


def test_what_was_told_comes_back_from_history_and_from_csv(tmp_path):
    noise = RewardNoise("Y", (LOW, HIGH), "censored", values={0: 10.0, 1: 90.0})
    environment = SimulatedEnvironment(QUESTION.network, seed=1, reward_noise=noise)
    policy = KLLUCB(measured(), epsilon=20)
    policy.run(environment, budget=60, progress=False)
    policy.history.to_csv(tmp_path / "plays.csv")
    told = read_history(tmp_path / "plays.csv", policy.bandit)
    np.testing.assert_array_equal(told["Y"], policy.history["Y"])
    twin = KLLUCB(measured(), epsilon=20).tell(told)
    np.testing.assert_array_equal(twin.intervals.lower, policy.intervals.lower)
    np.testing.assert_array_equal(twin.history["Y"], policy.history["Y"])


def regret(counts):
    """What a Dirichlet(1/2, ...) mixture loses to the largest likelihood, by its normalising constants."""
    counts = np.asarray(counts, dtype=float)
    n, half = counts.sum(), np.full(len(counts), 0.5)
    best = sum(c * math.log(c / n) for c in counts if c > 0)
    mixed = gammaln(counts + half).sum() - gammaln(n + half.sum()) - gammaln(half).sum() + gammaln(half.sum())
    return best - mixed


def test_a_trees_interval_beside_a_general_optimiser():
    """Z -> X -> Y <- Z: the extremes of sum_z p_z q_z over n kl(p) + sum_z n_z kl(q_z) <= log(1/level) + regrets."""
    from pgmpy.base import DAG

    graph = DAG([("Z", "X"), ("Z", "Y"), ("X", "Y")])
    bandit = CausalBandit(graph, reward="Y", arms=[do(X=0), do(X=1)], reward_range=(0, 60))
    rng = np.random.default_rng(7)
    z, x = rng.integers(0, 2, 300), rng.integers(0, 2, 300)
    y = np.round(60 * rng.beta(2 + 3 * z, 3 - x, 300), 3)
    frame = pd.DataFrame({"Z": z, "X": x, "Y": y})
    level = 0.01
    found = AdmissibleSequence(refresh=1).start(bandit).update(bandit.encode(do(), frame)).intervals(level)
    ends = bandit.reward_scale.ends(found.lower, found.upper)
    for arm in (0, 1):
        into = np.array([np.sum(z == k) for k in (0, 1)], float)
        n = np.array([np.sum((z == k) & (x == arm)) for k in (0, 1)], float)
        s = np.array([y[(z == k) & (x == arm)].sum() / 60 for k in (0, 1)])
        nats = -math.log(level) + regret(into) + sum(regret([b, a - b]) for a, b in zip(n, s, strict=True))

        def loss(at, into=into, n=n, s=s):
            p, q0, q1 = at
            own = into @ np.log(into / into.sum()) - into @ np.log([1 - p, p])
            for a, b, q in zip(n, s, (q0, q1), strict=True):
                m = b / a
                own += a * (m * math.log(m / q) + (1 - m) * math.log((1 - m) / (1 - q)))
            return own

        for sign, end in ((1, ends[0][arm]), (-1, ends[1][arm])):
            best = minimize(
                lambda at, sign=sign: sign * ((1 - at[0]) * at[1] + at[0] * at[2]),
                [into[1] / into.sum(), *(s / n)],
                bounds=[(1e-6, 1 - 1e-6)] * 3,
                constraints={"type": "ineq", "fun": lambda at, loss=loss, nats=nats: nats - loss(at)},
                method="SLSQP",
                options={"ftol": 1e-13, "maxiter": 500},
            )
            assert best.success
            assert end == pytest.approx(60 * sign * best.fun, abs=60 * 1e-4)
            assert sign * (60 * sign * best.fun - end) >= -60 * 2e-6  # never inside the region's extreme


def test_an_estimate_and_a_contrast_are_in_the_users_unit():
    noise = RewardNoise("Y", (0, 50), "beta", values={0: 10.0, 1: 40.0})
    network = QUESTION.network
    frame = SimulatedEnvironment(network, seed=2, reward_noise=noise).sample(do(), 4000).to_frame()
    fitted = AdmissibleSequence().fit(network, frame)
    states = list(network.states["X1"])
    a, b = (do(X1=s) for s in states)
    estimate = fitted.expected_reward(a, "Y", outcome_range=(0, 50))
    own = frame.loc[frame["X1"] == states[0], "Y"]
    assert estimate.value == pytest.approx(own.mean(), abs=1e-9)  # a parallel graph: conditioning is enough
    p = own.mean() / 50  # not above the error of the two ends, by which it is bounded
    assert own.std() / math.sqrt(len(own)) < estimate.se < 1.05 * 50 * math.sqrt(p * (1 - p) / len(own))
    contrast = fitted.contrast(b, a, "Y", outcome_range=(0, 50))
    other = frame.loc[frame["X1"] == states[1], "Y"]
    assert contrast.value == pytest.approx(other.mean() - own.mean(), abs=1e-9)


def test_states_may_be_worth_values_in_a_unit():
    """With values and a range the reward keeps its states; what is shown is in the unit."""
    euros = CausalBandit(
        QUESTION.network,
        reward="Y",
        arms=QUESTION.bandit.listed,
        reward_values={0: 100, 1: 900},
        reward_range=(0, 1000),
    )
    share = CausalBandit(QUESTION.network, reward="Y", arms=QUESTION.bandit.listed, reward_values={0: 0.1, 1: 0.9})
    one, other = KLLUCB(euros, epsilon=200), KLLUCB(share, epsilon=0.2)
    environment = QUESTION.environment(3)
    for _ in range(10):
        actions = one.ask()
        told = environment.perform(actions)
        one.tell(actions, told)
        other.tell(actions, told)
    np.testing.assert_allclose(one.intervals.upper, 1000 * other.intervals.upper, rtol=1e-12)
    assert set(one.history["Y"]) <= {0, 1}
    costs = CausalBandit(QUESTION.network, reward="Y", arms=[do(X1=0), do(X1=1)], minimise=True)
    assert costs.reward_array.tolist() == [1.0, 0.0]


def test_epsilon_is_in_the_users_unit_and_a_twentieth_of_the_range_by_default():
    assert KLLUCB(measured()).epsilon == pytest.approx(7.5)
    assert KLLUCB(QUESTION.bandit).epsilon == 0.05
    with pytest.raises(ValueError, match=r"below 150, the width of the reward's range -20 to 130, but got 150"):
        KLLUCB(measured(), epsilon=150)


def test_a_twin_by_its_parameters_and_the_unmerged_question_keep_range_and_direction():
    from sklearn.base import clone

    policy = KLLUCB(measured(minimise=True))
    assert clone(policy).bandit.reward_scale == policy.bandit.reward_scale
    assert measured(minimise=True).unmerged().worth.options == measured(minimise=True).worth.options


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: CausalBandit(QUESTION.network, reward="Y", arms=[do()], reward_range=(1, 0)), "the lower one first"),
        (lambda: measured(states={"Y": [0, 1]}), "is measured and has no states: leave it out of states"),
        (lambda: measured(reward_values={0: 0, 1: 131}), r"reward_values must lie in \[-20, 130\], but 1 has 131"),
        (lambda: measured().action("do(Y=3)"), "sets Y, which is the reward and cannot be set"),
        (
            lambda: PooledCCPE(measured(), guarantee="numerical"),
            "searches tables of states, but the reward Y is measured",
        ),
        (lambda: CCPE(measured(), estimator=BGLM()), "but the reward Y is measured"),
        (lambda: PooledCCPE(measured(), model=BGLM("logit")), "but the reward Y is measured"),
        (lambda: told(140.0), r"row 0 \(label .*\): Y must lie in its range, -20 to 130, but got 140"),
        (lambda: told(math.nan), "has no value for Y"),
        (lambda: told("many"), "Y must be a number from -20 to 130, but got 'many'"),
        (lambda: measured().encode(do(), {"X1": 0, "X2": 0}), r"but lack \['Y'\]"),
        (
            lambda: QUESTION.bandit.encode(do(), pd.DataFrame({"X1": [0], "X2": [0], "Y": [0.37]})),
            r"a reward that is measured needs CausalBandit\(..., reward_range=\(low, high\)\)",
        ),
    ],
)
def test_what_is_refused(make, said):
    with pytest.raises((ValueError, TypeError), match=said):
        make()


def told(value):
    policy = PooledCCPE(measured(), epsilon=10)
    try:
        policy.tell(do(), {"X1": 0, "X2": 0, "Y": value})
    finally:
        assert policy.n_plays == 0


def test_the_picture_speaks_the_users_direction():
    import matplotlib

    matplotlib.use("Agg")
    noise = RewardNoise("Y", (LOW, HIGH), "beta", values={0: 10.0, 1: 90.0})
    policy = KLLUCB(measured(minimise=True), epsilon=20)
    result = policy.run(SimulatedEnvironment(QUESTION.network, seed=1, reward_noise=noise), budget=100, progress=False)
    ax = result.plot()
    assert ax.get_xlabel() == "expected reward (less is better)"
    decided = result.table.get("bound", result.table["upper"]).iloc[0]
    assert ax.lines[0].get_xdata()[0] == pytest.approx(decided - 20)
    assert result.to_dict()["reward_range"] == [LOW, HIGH]
    assert result.to_dict()["minimise"] is True


def test_merged_arms_and_a_watched_graph_in_the_users_unit():
    """Blocks of merged members are of shares, what they say is in the unit; nothing is refuted of a right graph."""
    question = experiment_3(5)
    bandit = CausalBandit(question.network, reward="Y", arms=question.bandit.listed, reward_range=(0, 100))
    states = question.network.states["Y"]
    noise = RewardNoise("Y", (0, 100), "beta", values=dict(zip(states, (30.0, 70.0), strict=True)))
    policy = PooledCCPE(bandit, epsilon=20, check_graph=True)
    result = policy.run(SimulatedEnvironment(question.network, seed=0, reward_noise=noise), budget=300, progress=False)
    assert not result.refutation
    assert result.table["upper"].max() <= 100
