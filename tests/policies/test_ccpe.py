"""What CCPE does, beyond the contract: candidates, merging, conflicts, stopping."""

import numpy as np
import pytest
from pgmpy.base import DAG

from pgcpe import (
    CCPE,
    LUCB,
    AdmissibleSequence,
    CausalBandit,
    EmpiricalMeans,
    SimulatedEnvironment,
    do,
    interventions,
    load_network,
)
from pgcpe.confidence.paper_radii import paper_direct_radius, paper_observational_radius

GRAPH = DAG([("Z", "X"), ("Z", "Y"), ("X", "Y")])


def question(**options):
    return CausalBandit(GRAPH, **({"reward": "Y", "arms": [do(X=0), do(X=1)]} | options))


def rows(n, **values):
    return [values] * n


def test_an_iteration_is_the_papers():
    """do(), the challenger, the leader: always three, in this order, duplicates kept."""
    policy = CCPE(question(arms=[do(), do(X=0), do(X=1)]))
    policy.tell(do(X=1), rows(30, Z=0, X=1, Y=0)).tell(do(X=0), rows(30, Z=0, X=0, Y=0))
    assert policy.recommendation == do()
    first, challenger, leader = policy.ask()
    assert (first, leader) == (do(), do())
    assert challenger in {do(X=0), do(X=1)}
    assert LUCB(question()).ask()[1] == LUCB(question()).recommendation


def test_without_do_among_the_playable_the_logs_still_count():
    bandit = question(playable=[do(X=0), do(X=1)])
    policy = CCPE(bandit)
    assert len(policy.ask()) == 2
    policy.tell(do(), [{"Z": i % 2, "X": i % 2, "Y": 1} for i in range(200)])
    assert policy.intervals.lower.max() > 0


def test_delta_is_split_in_halves_and_over_the_arms_served():
    bandit = question()
    policy = CCPE(bandit, estimator=AdmissibleSequence(refresh=90), delta=0.1)  # nothing of earlier looks is tighter
    data = [{"Z": i % 2, "X": (i // 2) % 2, "Y": (i // 3) % 2} for i in range(90)]
    plays = [{"Z": i % 2, "X": 1, "Y": (i // 2) % 2} for i in range(40)]
    policy.tell(do(), data).tell(do(X=1), plays)
    direct = EmpiricalMeans().start(bandit).update(bandit.encode(do(X=1), plays))
    observed = AdmissibleSequence().start(bandit).update(bandit.encode(do(), data))
    merged = direct.intervals(0.05 / 2).intersect(observed.intervals(0.05 / observed.n_events_))
    assert np.allclose(policy.intervals.lower, merged.lower)
    assert np.allclose(policy.intervals.upper, merged.upper)


def test_a_conflict_is_told_once_kept_and_never_certified():
    """Observation says Y = 1 whatever X; played, do(X=1) gives Y = 0: this graph cannot be right."""
    policy = CCPE(question(), epsilon=0.5)
    policy.tell(do(), [{"Z": 0, "X": i % 2, "Y": 1} for i in range(400)])
    policy.tell(do(X=0), rows(100, Z=0, X=0, Y=1))
    with pytest.warns(UserWarning, match=r"the graph is in doubt.*do\(X=1\)"):
        policy.tell(do(X=1), rows(100, Z=0, X=1, Y=0))
    assert policy.conflicts == (do(X=1),)
    i = policy.bandit.index(do(X=1))
    alone = EmpiricalMeans().start(policy.bandit)
    alone.update(policy.bandit.encode(do(X=1), rows(100, Z=0, X=1, Y=0)))
    assert policy.intervals.upper[i] == pytest.approx(alone.intervals(0.025 / 2).upper[i])
    policy.tell(do(X=1), rows(5, Z=0, X=1, Y=0))  # no second warning: pytest turns warnings into errors
    assert policy.stopped
    assert policy.certificate is None
    result = policy.result()
    assert not result.certified
    assert result.conflicts == (do(X=1),)
    assert result.table.conflict.sum() == 1
    assert "graph is in doubt" in repr(result)


def test_with_the_papers_radii_it_is_as_printed():
    """Algorithm 3, line 19: intervals are not cut off, their midpoint is that of crossed ends too and is no conflict,
    and an arm without data comes last. Observed, X = 1 is followed by Y = 0 alone, and played by Y = 1 alone."""
    radii = {"estimator": AdmissibleSequence("paper", 0.05), "direct": EmpiricalMeans("paper", 0.05)}
    policy = CCPE(question(arms=[do(X=0), do(X=1), do(Z=1)]), **radii)
    assert np.isneginf(policy.state.intervals.midpoint).all()
    observed = [{"Z": i % 2, "X": 1, "Y": 0} for i in range(200)]
    policy.tell(do(), observed).tell(do(X=1), rows(200, Z=0, X=1, Y=1))
    told = policy.state.intervals
    own, other = paper_direct_radius(200, 3, 0.025, 0.05), paper_observational_radius(200, 100, 1, 1, 2, 3, 0.025, 0.05)
    assert told.lower[1] == pytest.approx(1 - own)
    assert told.upper[1] == pytest.approx(0 + other)
    assert told.lower[1] > told.upper[1]
    assert told.midpoint[1] == pytest.approx((1 - own + other) / 2)
    assert policy.conflicts == ()
    assert np.isneginf(told.midpoint[0])  # X = 0 was never seen
    assert policy.recommendation != do(X=0)
    assert policy.intervals.lower.min() >= 0  # what people are shown is cut off
    assert policy.intervals.upper.max() <= 1


def test_stop_means_separated():
    policy = LUCB(question(), epsilon=0.0)
    policy.tell(do(X=1), rows(200, Z=0, X=1, Y=1))
    assert not policy.stopped
    policy.tell(do(X=0), rows(200, Z=0, X=0, Y=0))
    assert policy.stopped
    assert policy.intervals.lower[1] > policy.intervals.upper[0]
    assert policy.stop_reason.startswith("do(X=1) is at least")


def test_observation_alone_can_certify():
    """With every cell seen, passive rows certify without one intervention."""
    policy = CCPE(question(), epsilon=0.2)
    rng = np.random.default_rng(0)
    z, x = rng.integers(0, 2, 3_000), rng.integers(0, 2, 3_000)
    y = rng.random(3_000) < 0.2 + 0.6 * x
    policy.tell(do(), {"Z": z, "X": x, "Y": y.astype(int)})
    assert policy.stopped
    assert policy.certificate == "exact"
    assert policy.recommendation == do(X=1)


def test_paper_mode_on_asia_takes_the_paper_constants_seriously():
    """alpha_I = 2: two arms cannot separate by .05 before 2 * 2 sqrt(L/n) <= .05 + gap, thousands of plays an arm."""
    network = load_network("asia")
    arms = interventions(network, reward="dysp", max_size=1)
    bandit = CausalBandit(network, reward="dysp", arms=arms, reward_values={"yes": 0, "no": 1})
    policy = CCPE(
        bandit, estimator=AdmissibleSequence("paper"), direct=EmpiricalMeans("paper"), epsilon=0.05, delta=0.05
    )
    result = policy.run(SimulatedEnvironment(network, seed=0), budget=3_000, progress=False)
    assert result.certificate is None
