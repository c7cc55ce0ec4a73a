"""Delta is split in one place: every policy and guarantee adds up, and every share is spent by someone."""

from functools import partial

import numpy as np
import pytest
from pgmpy.base import DAG
from policies.confounded import ARMS, environment, question
from sklearn.base import clone

from pgcpe import (
    BGLM,
    CCPE,
    KLLUCB,
    LUCB,
    AdmissibleSequence,
    CausalBandit,
    EmpiricalMeans,
    ErrorBudget,
    LilUCB,
    Policy,
    PooledCCPE,
    StoppingRule,
    TopTwo,
    Verdict,
    do,
)
from pgcpe.policies.report import MISSING
from pgcpe.policies.rules import PairwiseGLR, SeparatedIntervals, TwoCandidates

DELTA = 0.08

ENDS = {"direct upper end": 1, "direct lower ends": 5}
PAIRS = {"pairs since naming": 1, "pairwise GLR": 4}

POLICIES = {
    "CCPE": CCPE,
    "CCPE paper": lambda b, **o: CCPE(b, estimator=AdmissibleSequence("paper"), direct=EmpiricalMeans("paper"), **o),
    "CCPE BGLM": lambda b, **o: CCPE(b, estimator=BGLM(), **o),
    "LUCB": LUCB,
    "LUCB1": lambda b, **o: LUCB(b, radius="lucb1", **o),
    "KL-LUCB": KLLUCB,
    "lil'UCB": LilUCB,
    "TopTwo": TopTwo,
    "composed": lambda b, **o: Policy(b, sampling=TwoCandidates(), stopping=SeparatedIntervals(), **o),
    **{
        f"PooledCCPE {guarantee}": partial(PooledCCPE, guarantee=guarantee)
        for guarantee in ("exact", "direct", "asymptotic")
    },
    "PooledCCPE numerical": partial(PooledCCPE, guarantee="numerical"),
    "PooledCCPE numerical, no tables": partial(PooledCCPE, guarantee="numerical", model="trees"),
    **{
        f"PooledCCPE {guarantee} BGLM": partial(PooledCCPE, guarantee=guarantee, model=BGLM())
        for guarantee in ("exact", "direct", "asymptotic", "numerical")
    },
}


@pytest.mark.parametrize("name", POLICIES)
def test_what_is_spent_adds_up_to_delta(name):
    """The sum over the rows of (what each event may cost) x (how many there are) is delta, and each has a spender."""
    policy = POLICIES[name](question(), delta=DELTA)
    budget, rows = policy.error_budget, policy.error_budget.to_frame()
    assert budget.delta == policy.delta == DELTA
    assert (rows["over"] >= 1).all()
    assert (rows["spent by"] != "").all()
    level = rows["delta"] / rows["over"]
    assert (level * rows["over"]).sum() == pytest.approx(DELTA)  # nothing is given away, nothing spent twice
    assert rows["share"].sum() <= 1 + 1e-9
    assert policy.result().error_budget is budget


@pytest.mark.parametrize(
    ("name", "spent"),
    [
        ("CCPE", {"direct intervals": 5, "observational intervals": 5}),
        ("LUCB", {"direct intervals": 5}),
        ("lil'UCB", {"direct intervals": 1}),  # its delta is that of no union
        ("TopTwo", {"pairwise GLR": 4}),
        ("PooledCCPE exact", {**ENDS, **PAIRS, "tree upper end": 1, "tree lower ends": 5}),
        ("PooledCCPE direct", {**ENDS, **PAIRS}),
        ("PooledCCPE asymptotic", {"asymptotic looks": 1, **PAIRS}),
        ("PooledCCPE asymptotic BGLM", {"asymptotic looks": 1, "link test": 1, **PAIRS}),
    ],
)
def test_over_how_many_events(name, spent):
    rows = POLICIES[name](question(), delta=DELTA).error_budget.to_frame()
    assert dict(zip(rows["event"], rows["over"], strict=True)) == spent


def test_the_parts_use_what_the_table_says():
    """Direct intervals at level delta / K: those of the estimator itself at that level."""
    policy, rows = LUCB(question(), delta=DELTA), [{"A": 1, "Y": y} for y in (0, 1, 1, 1)]
    bandit = policy.tell(do(A=1), rows).bandit
    alone = EmpiricalMeans().start(bandit).update(bandit.encode(do(A=1), rows))
    expected = alone.intervals(DELTA / len(bandit.arms))
    assert np.array_equal(policy.intervals.lower, expected.lower)
    assert np.array_equal(policy.intervals.upper, expected.upper)


@pytest.mark.parametrize(
    ("shares", "delta", "message"),
    [
        ({"a": 0.6, "b": 0.5}, 0.05, r"shares must sum to at most 1, but sum to 1\.1"),
        ({"a": 0.6, "b": 0.0}, 0.05, r"shares must be above 0, but got b: 0\.0"),
        ({"a": -0.5}, 0.05, r"shares must be above 0, but got a: -0\.5"),
        ({"a": float("nan")}, 0.05, "shares must be above 0, but got a: nan"),
        ({"a": 1.0}, 0.0, "delta must be"),
        ({"a": 1.0}, 1.5, "delta must be"),
    ],
)
def test_shares_that_do_not_add_up(shares, delta, message):
    with pytest.raises(ValueError, match=message):
        ErrorBudget(shares, delta)


def test_a_share_is_spent_once():
    budget = ErrorBudget({"pairs": 0.5, "intervals": 0.25}, 0.04)
    assert budget.spend("pairs", over=10, by="Mine") == pytest.approx(0.002)
    with pytest.raises(RuntimeError, match="'pairs' was spent by Mine already"):
        budget.spend("pairs", over=10, by="Yours")
    with pytest.raises(ValueError, match="no share for 'odd'; there are 'pairs', 'intervals'"):
        budget.spend("odd")
    with pytest.raises(ValueError, match="over must be an integer of at least 1, but got 0"):
        budget.spend("intervals", over=0)
    assert budget.to_frame()["spent by"].tolist() == ["Mine", ""]
    assert "Mine" in repr(budget)
    assert "<table" in budget._repr_html_()


def test_a_policy_takes_only_a_budget_of_its_delta():
    parts = {"sampling": TwoCandidates(), "stopping": SeparatedIntervals()}
    with pytest.raises(ValueError, match=r"error_budget must split the delta of the policy, 0\.1, but splits 0\.05"):
        Policy(question(), **parts, delta=0.1, error_budget=ErrorBudget({"direct intervals": 1.0}, 0.05))
    with pytest.raises(TypeError, match="shown must be an ErrorBudget"):
        Policy(question(), **parts, shown={"direct intervals": 1.0})
    with pytest.raises(ValueError, match="no error budget has a share for 'direct intervals'"):
        Policy(question(), **parts, error_budget=ErrorBudget({"pairwise GLR": 1.0}, 0.05))


def test_one_budget_serves_one_policy():
    budget = ErrorBudget({"direct intervals": 1.0}, 0.05)
    parts = {"sampling": TwoCandidates(), "stopping": SeparatedIntervals(), "error_budget": budget}
    Policy(question(), **parts)
    with pytest.raises(RuntimeError, match="spent by EmpiricalMeans already"):
        Policy(question(), **parts)


def test_a_composed_policy_is_cloned_with_a_budget_of_its_own():
    budget = ErrorBudget({"pairwise GLR": 0.5, "direct intervals": 0.5}, 0.05)
    stopping = PairwiseGLR(budget.spend("pairwise GLR", over=len(ARMS) - 1, by="PairwiseGLR"))
    policy = Policy(question(), sampling=TwoCandidates(), stopping=stopping, error_budget=budget, epsilon=0.1)
    policy.tell(do(A=1), [{"A": 1, "Y": 1}] * 50)
    again = clone(clone(policy))
    assert (again.n_plays, again.epsilon, type(again)) == (0, 0.1, Policy)
    assert again.error_budget.to_frame().equals(policy.error_budget.to_frame())
    again.tell(do(A=1), [{"A": 1, "Y": 1}] * 50)
    assert again.ask() == policy.ask()
    assert np.array_equal(again.intervals.lower, policy.intervals.lower)


class Naive(StoppingRule):
    """Asked of one arm it would divide by the number of the others."""

    def check(self, state):
        return Verdict(True, "", "direct", int(state.plays.sum() // (len(state.plays) - 1)))

    def unresolved(self, state):
        return state.plays / (len(state.plays) - 1) > 0


def test_one_arm_needs_no_rule():
    """There is nothing to err in: it is certified before the first play, and no rule is asked."""
    policy = Policy(question([do(A=1)]), sampling=TwoCandidates(), stopping=Naive())
    assert (policy.stopped, policy.certificate, policy.certified_at, policy.n_plays) == (True, "direct", 0, 0)
    assert policy.recommendation == do(A=1)
    assert policy.run(environment(), progress=False).certified
    policy.tell(do(A=1), [{"A": 1, "Y": 0}] * 3)
    assert (policy.certified_at, policy.n_plays, policy.assumptions) == (0, 3, ())


def test_arms_that_the_graph_says_are_one_rest_on_it():
    bandit = CausalBandit(DAG([("A", "B"), ("B", "Y")]), reward="Y", arms=[do(B=1), do(A=0, B=1)])
    policy = Policy(bandit, sampling=TwoCandidates(), stopping=Naive())
    assert (policy.certificate, policy.certified_at) == ("exact", 0)
    assert policy.assumptions == ("the graph: 1 listed arm has the same effect as another",)


# ------------------------------------------------------------------------------------------------- what was left out


def test_what_was_left_out_is_assumed_to_be_so_by_chance():
    """Rows that lack a value the graph needs; a certificate earned before does not rest on them."""
    rows = [{"A": 1, "B": 1, "Y": 1, "Z": z} for z in (0, None, 1, None)]
    policy = CCPE(question()).tell(do(A=1, B=1), rows, missing="drop")
    result = policy.result()
    assert result.dropped == {"Z": 2}
    assert result.assumptions == (MISSING,)
    assert "Plays left out: 2 lack Z." in result.summary
    early = CCPE(question([do(A=1)]))
    assert early.certificate == "direct"
    early.tell(do(A=1), [row | {"B": 1} for row in rows], missing="drop")
    assert early.result().dropped == {"Z": 2}
    assert early.assumptions == ()


def test_a_graph_in_doubt_refutes_no_direct_certificate_that_left_rows_out():
    """Passive plays say do(A=1) is bad, its own that it is good: the graph is refuted, direct plays are not."""
    policy = PooledCCPE(question([do(A=1), do(A=0)]), guarantee="direct", epsilon=0.1)
    own = [{"A": a, "Z": i % 2, "B": i % 3 % 2, "Y": a} for a in (0, 1) for i in range(200)]
    policy.tell(do(A=0), [{**own[0], "Z": None}, *own[:200]], missing="drop").tell(do(A=1), own[200:])
    earned = policy.certified_at
    assert (policy.certificate, policy.assumptions, policy.conflicts) == ("direct", (MISSING,), ())
    with pytest.warns(UserWarning, match="the graph is in doubt"):
        policy.tell(do(), [{**row, "Y": 0} for row in own])
    assert policy.conflicts
    assert (policy.certificate, policy.assumptions, policy.certified_at) == ("direct", (MISSING,), earned)
    assert policy.recommendation == do(A=1)
