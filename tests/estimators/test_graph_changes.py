"""Changes of a graph: made as they say, and those that explain what was refuted."""

from helpers import dag

from pgcpe import do
from pgcpe.estimators.graph_changes import Change, changes_of, explanations_of, unnoticed
from pgcpe.estimators.graph_statements import statements_of
from pgcpe.graphs.bitsets import bit_graph

CHAIN = dag([("A", "B"), ("B", "Y")], nodes=["A", "B", "Y", "C"])
STATES = dict.fromkeys(CHAIN, (0, 1))


def test_changes_are_made_on_a_copy():
    bits = bit_graph(CHAIN)
    edge = Change("edge", "A", "Y").made_in(bits)
    assert bits.names(edge.parents_of(bits.bit["Y"])) == {"A", "B"}
    assert bits.names(edge.descendants(bits.bit["A"])) == {"A", "B", "Y"}
    hidden = Change("hidden cause", "A", "Y").made_in(bits)
    assert not hidden.separates(bits.bit["B"], bits.bit["A"], bits.bit["Y"])
    turned = Change("reversal", "A", "B").made_in(bits)
    assert bits.names(turned.parents_of(bits.bit["A"])) == {"B"}
    assert bits.names(bits.parents_of(bits.bit["A"])) == set()
    assert Change("edge", "Y", "A").made_in(bits) is None  # a cycle


def test_changes_of_every_pair():
    found = {str(change) for change, _ in changes_of(bit_graph(CHAIN), ["A", "B", "Y"])}
    assert found == {
        "a hidden cause of A and B",
        "B -> A in place of A -> B",
        "a hidden cause of B and Y",
        "Y -> B in place of B -> Y",
        "an edge A -> Y",
        "a hidden cause of A and Y",
    }


def test_the_smallest_change_that_explains_most_comes_first():
    said = statements_of(CHAIN, STATES, [do(), do(A=1), do(C=1)])
    refuted = [s for s in said if s.pair == {"A", "Y"}]
    assert [s.kind for s in refuted] == ["separation", "invariance"]  # given B
    others = [s for s in said if s not in refuted]
    found = explanations_of(bit_graph(CHAIN), refuted, others, CHAIN.nodes)
    assert str(found[0].change) == "an edge A -> Y"
    assert found[0].explains == tuple(refuted)
    assert str(found[0]) == "an edge A -> Y (explains 2 of 2 refuted)"
    hidden = next(e for e in found if str(e.change) == "a hidden cause of A and Y")
    assert [s.kind for s in hidden.explains] == ["separation", "invariance"]
    assert found[0].also_denies <= hidden.also_denies


def test_what_no_statement_notices():
    passive = statements_of(CHAIN, STATES)
    assert Change("hidden cause", "A", "B") in unnoticed(bit_graph(CHAIN), passive, CHAIN.nodes)
    active = statements_of(CHAIN, STATES, [do(), do(A=1), do(B=1)])
    assert unnoticed(bit_graph(CHAIN), active, CHAIN.nodes) == ()
    confounded = dag([("A", "B"), ("U", "A"), ("U", "B")], ["U"])
    assert unnoticed(bit_graph(confounded), [], ["A", "B"]) == ()  # there is one already
