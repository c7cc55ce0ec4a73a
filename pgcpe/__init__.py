"""Find the best intervention on a known causal graph in as few experiments as possible, with a guarantee."""

from pgcpe.actions import Action, do, interventions
from pgcpe.bandit import CausalBandit
from pgcpe.confidence import Intervals
from pgcpe.environment import Environment, SimulatedEnvironment, expected_reward, expected_rewards
from pgcpe.estimators import BGLM, AdmissibleSequence, EmpiricalMeans, Estimate, Estimator, PooledTrees, TableModel
from pgcpe.experiments import plan, repeat
from pgcpe.explanation import explain
from pgcpe.identification import admissible_sequence, equal_effect, is_admissible_sequence
from pgcpe.networks import load_network, shipped_networks
from pgcpe.policies import (
    CCPE,
    KLLUCB,
    LUCB,
    CausalSuccessiveRejects,
    LilUCB,
    ParallelBandit,
    Policy,
    PooledCCPE,
    PropagatingInference,
    Result,
    SequentialHalving,
    SuccessiveRejects,
    TopTwo,
    TwoPhase,
    UniformSampling,
)
from pgcpe.samples import Samples

__all__ = [
    "BGLM",
    "CCPE",
    "KLLUCB",
    "LUCB",
    "Action",
    "AdmissibleSequence",
    "CausalBandit",
    "CausalSuccessiveRejects",
    "EmpiricalMeans",
    "Environment",
    "Estimate",
    "Estimator",
    "Intervals",
    "LilUCB",
    "ParallelBandit",
    "Policy",
    "PooledCCPE",
    "PooledTrees",
    "PropagatingInference",
    "Result",
    "Samples",
    "SequentialHalving",
    "SimulatedEnvironment",
    "SuccessiveRejects",
    "TableModel",
    "TopTwo",
    "TwoPhase",
    "UniformSampling",
    "admissible_sequence",
    "do",
    "equal_effect",
    "expected_reward",
    "expected_rewards",
    "explain",
    "interventions",
    "is_admissible_sequence",
    "load_network",
    "plan",
    "repeat",
    "shipped_networks",
]

__version__ = "0.1.0"
