"""Measures of how hard a question is: q_a, thresholds, hardness, bounds, characteristic times."""

from pgcpe.complexity.bounds import bglm_plays, causal_rejects_error, general_plays, parallel_lower_bound
from pgcpe.complexity.characteristic import (
    characteristic_time,
    informed_characteristic_time,
    least_delta,
    least_plays,
    quadratic_characteristic_time,
)
from pgcpe.complexity.hardness import (
    fixed_budget_hardness,
    fixed_budget_weights,
    gap_dependent_threshold,
    gaps,
    hard_arms,
    hardness,
    observation_threshold,
)
from pgcpe.complexity.observation import (
    bglm_observation_probabilities,
    estimated_observation_probabilities,
    observation_probabilities,
)

__all__ = [
    "bglm_observation_probabilities",
    "bglm_plays",
    "causal_rejects_error",
    "characteristic_time",
    "estimated_observation_probabilities",
    "fixed_budget_hardness",
    "fixed_budget_weights",
    "gap_dependent_threshold",
    "gaps",
    "general_plays",
    "hard_arms",
    "hardness",
    "informed_characteristic_time",
    "least_delta",
    "least_plays",
    "observation_probabilities",
    "observation_threshold",
    "parallel_lower_bound",
    "quadratic_characteristic_time",
]
