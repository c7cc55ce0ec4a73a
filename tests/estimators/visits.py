"""Two visits of a patient, with hidden frailty and adherence: for the tests of estimators."""

from pgcpe import (
    SimulatedEnvironment,
    do,
    load_network,
)

VISITS = load_network("data/two_visits.bif", latents=["frailty", "adherence"])


SEVERITY = ("mild", "moderate", "severe")


def draws(bandit, n, seed=0, action=None):
    samples = SimulatedEnvironment(VISITS, seed=seed).sample(action or do(), n)
    return bandit.encode(action or do(), samples)
