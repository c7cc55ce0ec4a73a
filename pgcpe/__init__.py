"""Find the best intervention on a known causal graph in as few experiments as possible, with a guarantee."""

from pgcpe.bandit import CausalBandit
from pgcpe.confidence.intervals import Intervals
from pgcpe.environment.exact import expected_reward, expected_rewards
from pgcpe.environment.protocol import Environment
from pgcpe.environment.simulator import SimulatedEnvironment
from pgcpe.estimators import BGLM, AdmissibleSequence, EmpiricalMeans, Estimate, Estimator, PooledTrees, TableModel
from pgcpe.experiments import plan, repeat
from pgcpe.graphs.explanation import explain
from pgcpe.graphs.identification import admissible_sequence, is_admissible_sequence
from pgcpe.graphs.load import load_network, shipped_networks
from pgcpe.plays.actions import Action, do, equal_effect, interventions
from pgcpe.plays.samples import Samples
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
