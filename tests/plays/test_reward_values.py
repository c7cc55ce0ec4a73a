"""What the states of a reward are worth, and what the error says where that is not known."""

import ast
import re

import pytest
from pgmpy.base import DAG

from pgcpe import CausalBandit, do, load_network

CHAIN = DAG([("A", "B"), ("B", "Y"), ("Y", "W")])


def numbers_of(message):
    """The values that the example in an error gives, by state; None for those left open."""
    example = re.search(r"reward_values=\{(.*)\}", message)[1]
    pairs = [item.rsplit(": ", 1) for item in example.split(", ")]
    return {ast.literal_eval(state): None if value == "..." else float(value) for state, value in pairs}


@pytest.mark.parametrize(
    ("states", "more"),
    [
        (["True", "False"], "True"),
        ([True, False], True),
        (["yes", "no"], "yes"),
        (["TRUE", "FALSE"], "TRUE"),
        (["No", "Yes"], "Yes"),
        (["present", "absent"], "present"),
        (["high", "low"], "high"),
        (["success", "failure"], "success"),
        (["a", "b"], None),
        (["good", "fair", "poor"], None),
        (["False", "no"], None),
    ],
)
def test_the_example_of_reward_values_inverts_nothing_and_can_be_used(states, more):
    with pytest.raises(ValueError, match=r"say what they are worth, as in reward_values=") as raised:
        CausalBandit(CHAIN, reward="Y", arms=[do(A=1)], states={"Y": states})
    example = numbers_of(str(raised.value))
    assert list(example) == states
    if more is None:
        assert set(example.values()) == {None}  # which state is better is for the user to say
        assert "with a number in [0, 1] for each" in str(raised.value)
        example = {state: i / (len(states) - 1) for i, state in enumerate(states)}
    else:
        assert example == {state: float(state == more) for state in states}
    bandit = CausalBandit(CHAIN, reward="Y", arms=[do(A=1)], states={"Y": states}, reward_values=example)
    assert bandit.reward_array.tolist() == list(example.values())


@pytest.mark.parametrize(("name", "reward", "more"), [("cancer", "Cancer", "True"), ("asia", "dysp", "yes")])
def test_the_example_for_a_shipped_network(name, reward, more):
    with pytest.raises(ValueError, match="reward_values=") as raised:
        CausalBandit(load_network(name), reward=reward, arms=[do()])
    assert numbers_of(str(raised.value))[more] == 1
