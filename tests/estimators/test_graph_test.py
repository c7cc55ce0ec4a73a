"""The test while plays come in: E-values of whole statements under adaptive play, cells of their own, weights."""

import itertools
import math

import numpy as np
import pytest
from helpers import dag, joint

from pgcpe import do
from pgcpe.estimators.graph_statements import Statement, statements_of
from pgcpe.estimators.graph_test import GraphTest, StatementCounts
from pgcpe.plays.samples import Coding, Samples

GRAPH = dag([("Z", "X"), ("Z", "Y"), ("X", "W")], nodes=["Z", "X", "Y", "W"])
TABLES = {
    "Z": ([], np.array([0.7, 0.3])),
    "X": (["Z"], np.array([[0.9, 0.1], [0.4, 0.6]])),
    "Y": (["Z"], np.array([[0.2, 0.8], [0.95, 0.05]])),
}
STATES = dict.fromkeys(GRAPH, (0, 1))
ACTIONS = [do(), do(X=1), do(Z=0), do(X=0, Z=1)]


def counts_of(statements, variables=("Z", "X", "Y"), actions=ACTIONS):
    coding = Coding(tuple(variables), ((0, 1),) * len(variables))
    return coding, StatementCounts(GRAPH, statements, STATES, coding, actions)


@pytest.mark.parametrize(
    "statement",
    [
        Statement("separation", "Y", "X", ("Z",)),
        Statement("invariance", "Y", "X", ()),
        Statement("invariance", "Y", "Z", ("Z",)),
        Statement("merging", "Y", None, members=(do(), do(X=1))),
    ],
    ids=str,
)
def test_expected_e_values_under_adaptive_play(statement):
    """All outcomes of three plays: the action is the one of the greatest e-value so far, stopped once it exceeds 1.05.

    With the chance of each outcome under the action in the network itself, the expectation at that time is at most 1.
    """
    law = {a: joint(TABLES, dict(a)) for a in ACTIONS}

    def evidence(played):
        coding, counts = counts_of([statement])
        if played:
            codes = np.array([c for _, c in played], np.int32)
            actions = tuple(a for a, _ in played)
            counts.add(Samples(coding, codes, actions, np.arange(len(played))))
        return math.exp(counts.log_evidence()[0])

    def expected(played):
        now = evidence(played)
        if len(played) == 3 or now > 1.05:
            return now
        # adaptive: after ones of Y the next action, else the one before
        action = ACTIONS[(len(played) + sum(c[2] for _, c in played)) % len(ACTIONS)]
        return sum(
            law[action][codes] * expected([*played, (action, codes)])
            for codes in itertools.product((0, 1), repeat=3)
            if law[action][codes] > 0
        )

    assert evidence([]) == pytest.approx(1.0)
    assert expected([]) <= 1.0 + 1e-12


def test_where_an_action_changes_the_distribution_its_cells_are_its_own():
    statement = Statement("separation", "Y", "X", ())  # of another graph: here Z disturbs Y, and X does not
    coding, counts = counts_of([statement])
    codes = np.array([[0, 0, 1], [0, 1, 1], [0, 0, 0], [1, 0, 1]], np.int32)
    counts.add(Samples(coding, codes, (do(), do(X=1), do(Z=0), do(X=0, Z=1)), np.arange(4)))
    table = counts.table(0)
    assert table.shape == (3, 2, 2)  # observed and X set; Z = 0; Z = 1
    assert table[0].tolist() == [[0, 1], [0, 1]]
    assert table[1].tolist() == [[1, 0], [0, 0]]
    assert table[2].tolist() == [[0, 1], [0, 0]]
    counts.add(Samples(coding, codes[:2], (do(Y=1), do(W=0)), np.arange(2)))  # Y is set; W may, it was not listed
    assert counts.table(0)[0].tolist() == [[0, 1], [0, 2]]


def test_groups_of_an_invariance():
    given_itself, marginal = Statement("invariance", "Y", "Z", ("Z",)), Statement("invariance", "Y", "X", ())
    coding, counts = counts_of([given_itself, marginal])
    codes = np.array([[0, 0, 1], [0, 1, 1], [0, 1, 0]], np.int32)
    counts.add(Samples(coding, codes, (do(), do(X=1), do(Z=0)), np.arange(3)))
    assert counts.table(0)[0].tolist() == [[0, 2], [1, 0]]  # Z = 0: not set, set
    assert counts.table(1)[0].tolist() == [[0, 1], [0, 0], [0, 1]]  # X not set, 0, 1
    assert counts.table(1)[1].tolist() == [[1, 0], [0, 0], [0, 0]]  # Z = 0 by intervention


def test_missing_values_count_for_no_statement_that_needs_them():
    statements = [Statement("separation", "Y", "X", ("Z",)), Statement("invariance", "Y", "X", ())]
    coding, counts = counts_of(statements)
    counts.add(Samples(coding, np.array([[-1, 0, 1], [0, -1, 1]], np.int32), (do(),), np.zeros(2, np.intp)))
    assert [counts.table(i).sum() for i in range(2)] == [0, 2]


def test_weights_are_equal_by_kind_and_evidence_does_not_fall_back():
    statements = statements_of(GRAPH, STATES, ACTIONS, variables=["Z", "X", "Y"])
    coding, counts = counts_of(statements)
    test = GraphTest(counts)
    kinds = [s.kind for s in statements]
    assert set(kinds) == {"separation", "invariance"}
    for kind in set(kinds):
        assert sum(test.weights[[k == kind for k in kinds]]) == pytest.approx(0.5)
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, 300)
    wrong = np.stack([rng.integers(0, 2, 300), x, x], axis=1).astype(np.int32)
    test.look(Samples(coding, wrong[:200], (do(),), np.zeros(200, np.intp)))
    before = test.combined
    assert test.is_refuted(1e-6)
    assert statements[test.named(1e-6)[0]].pair == {"X", "Y"}
    independent = rng.integers(0, 2, (3000, 3)).astype(np.int32)
    test.look(Samples(coding, independent, (do(),), np.zeros(3000, np.intp)))
    assert test.combined >= before
    assert (test.highest >= test.now).all()
    assert test.n_plays == 3200


def test_counts_are_those_of_a_plain_loop():
    """Plays of all actions, some unlisted, with missing values: the tables are those of one play at a time."""
    statements = statements_of(GRAPH, STATES, ACTIONS, variables=["Z", "X", "Y"])
    statements.append(Statement("merging", "Y", None, members=(do(), do(X=1))))
    coding, counts = counts_of(statements)
    rng = np.random.default_rng(1)
    actions = (*ACTIONS, do(W=1), do(X=1, W=0))
    which = rng.integers(0, len(actions), 400)
    codes = rng.integers(-1, 2, (400, 3)).astype(np.int32)
    for k, action in enumerate(actions):
        for variable, state in action.items():
            if variable in coding.variables:
                codes[which == k, coding.variables.index(variable)] = state
    counts.add(Samples(coding, codes[:150], actions, which[:150]))
    counts.add(Samples(coding, codes[150:], actions, which[150:]))
    for i, statement in enumerate(statements):
        expected = np.zeros_like(counts.table(i))
        for row, action in zip(codes, (actions[k] for k in which), strict=True):
            play = dict(zip(coding.variables, row.tolist(), strict=True))
            alone, single = counts_of([statement])
            single.add(Samples(alone, np.array([row], np.int32), (action,), np.zeros(1, np.intp)))
            expected += single.table(0)
            if -1 in (play[statement.variable], *(play[v] for v in statement.given)):
                assert single.table(0).sum() == 0
        np.testing.assert_array_equal(counts.table(i), expected)


def test_no_statement_is_no_evidence():
    coding, counts = counts_of([])
    test = GraphTest(counts)
    test.look(Samples(coding, np.zeros((5, 3), np.int32), (do(),), np.zeros(5, np.intp)))
    assert not test.is_refuted(0.5)
    assert len(test.named(0.5)) == 0
