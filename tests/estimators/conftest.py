"""What the tests of estimators share."""

import pytest
from estimators.visits import VISITS

from pgcpe import CausalBandit, interventions


@pytest.fixture(scope="module")
def visits():
    arms = interventions(VISITS, reward="recovered", max_size=2)
    return CausalBandit(VISITS, reward="recovered", arms=arms, reward_values={"no": 0, "yes": 1})
