"""What is asked once for a set of variables is what the functions say of it."""

import numpy as np
from helpers import dag, random_questions

from pgcpe import admissible_sequence
from pgcpe.graphs.answers import GraphAnswers, factors_of
from pgcpe.graphs.identification import is_invariant_under, relevant_treatments
from pgcpe.graphs.structure import states_of


def test_the_answers_are_those_of_the_functions():
    rng = np.random.default_rng(0)
    for graph, treatments, outcome in random_questions(1, 100):
        states, played = states_of(graph), tuple(sorted(treatments))
        answers = GraphAnswers(graph, outcome, states)
        assert answers.relevant(played) == tuple(sorted(relevant_treatments(graph, treatments, outcome)))
        assert answers.sequence(played) == admissible_sequence(graph, treatments, outcome, states=states)
        seen = sorted(set(graph) - graph.latents)
        for variable in seen * 2:  # asked again, the answer is the same
            given = frozenset(v for v in seen if v != variable and rng.random() < 0.3)
            expected = is_invariant_under(graph, treatments, variable, given)
            assert answers.is_invariant_under(frozenset(treatments), variable, given) == expected


def test_sets_of_the_same_relevant_treatments_share_them():
    graph = dag([("A", "B"), ("C", "B"), ("B", "Y")])
    answers = GraphAnswers(graph, "Y", states_of(graph))
    assert answers.relevant(("A", "B")) is answers.relevant(("B", "C")) is answers.relevant(("B",))
    assert answers.relevant(("A", "B")) == ("B",)


def test_factors():
    """Eq. (4): P(A) P(B | A) E[Y | X, W, A, B] for Z_1 = {A}, Z_2 = {B}."""
    sequence = [("X", frozenset({"A"})), ("W", frozenset({"B"}))]
    assert factors_of(sequence, "Y") == [
        ("A", frozenset()),
        ("B", frozenset({"A", "X"})),
        ("Y", frozenset({"A", "B", "X", "W"})),
    ]
    assert factors_of([], "Y") == [("Y", frozenset())]
