"""Policies: estimator, sampling rule and stopping rule, composed."""

from pgcpe.policies.base import Policy
from pgcpe.policies.ccpe import CCPE
from pgcpe.policies.lucb import KLLUCB, LUCB, LilUCB
from pgcpe.policies.result import Result
from pgcpe.policies.successive_rejects import SequentialHalving, SuccessiveRejects, UniformSampling

__all__ = [
    "CCPE",
    "KLLUCB",
    "LUCB",
    "LilUCB",
    "Policy",
    "Result",
    "SequentialHalving",
    "SuccessiveRejects",
    "UniformSampling",
]
