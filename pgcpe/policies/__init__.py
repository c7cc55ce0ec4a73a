"""Policies: estimator, sampling rule and stopping rule, composed."""

from pgcpe.policies.base import Policy
from pgcpe.policies.causal_rejects import CausalSuccessiveRejects
from pgcpe.policies.ccpe import CCPE
from pgcpe.policies.lucb import KLLUCB, LUCB, LilUCB
from pgcpe.policies.pooled import PooledCCPE
from pgcpe.policies.propagating_inference import PropagatingInference
from pgcpe.policies.result import Result
from pgcpe.policies.successive_rejects import SequentialHalving, SuccessiveRejects, UniformSampling
from pgcpe.policies.top_two import TopTwo
from pgcpe.policies.two_phase import ParallelBandit, TwoPhase

__all__ = [
    "CCPE",
    "KLLUCB",
    "LUCB",
    "CausalSuccessiveRejects",
    "LilUCB",
    "ParallelBandit",
    "Policy",
    "PooledCCPE",
    "PropagatingInference",
    "Result",
    "SequentialHalving",
    "SuccessiveRejects",
    "TopTwo",
    "TwoPhase",
    "UniformSampling",
]
