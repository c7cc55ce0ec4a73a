"""Policies: estimators, sampling rule, recommendation rule and stopping rule, composed."""

from pgcpe.policies.base import Policy
from pgcpe.policies.ccpe import CCPE
from pgcpe.policies.error_budget import ErrorBudget
from pgcpe.policies.fixed_budget.causal_successive_rejects import CausalSuccessiveRejects
from pgcpe.policies.fixed_budget.parallel_bandit import ParallelBandit
from pgcpe.policies.fixed_budget.propagating_inference import PropagatingInference
from pgcpe.policies.fixed_budget.sequential_halving import SequentialHalving
from pgcpe.policies.fixed_budget.successive_rejects import SuccessiveRejects
from pgcpe.policies.fixed_budget.two_phase import TwoPhase
from pgcpe.policies.fixed_budget.uniform import UniformSampling
from pgcpe.policies.lucb import KLLUCB, LUCB, LilUCB, TopTwo
from pgcpe.policies.pooled_ccpe import PooledCCPE
from pgcpe.policies.result import Result
from pgcpe.policies.tracing import trace

__all__ = [
    "CCPE",
    "KLLUCB",
    "LUCB",
    "CausalSuccessiveRejects",
    "ErrorBudget",
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
    "trace",
]
