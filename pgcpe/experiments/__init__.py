"""Experiments: policies on instances over many seeds, what their rows say, and how long a study would take."""

from pgcpe.experiments.planning import STOPPING_POLICIES, plan, plan_measurements
from pgcpe.experiments.rows import read_rows
from pgcpe.experiments.running import repeat
from pgcpe.experiments.summary import ALPHAS, grid_search, summarise

__all__ = [
    "ALPHAS",
    "STOPPING_POLICIES",
    "grid_search",
    "plan",
    "plan_measurements",
    "read_rows",
    "repeat",
    "summarise",
]
