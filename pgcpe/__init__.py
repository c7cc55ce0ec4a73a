"""Find the best intervention on a known causal graph in as few experiments as possible, with a guarantee.

A name is imported when it is first used (PEP 562): ``import pgcpe`` and ``pgcpe --help`` load none of the libraries.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers and editors see; a test holds it to the table below
    from pgcpe.bandit import CausalBandit
    from pgcpe.confidence.intervals import Intervals
    from pgcpe.environment.exact import expected_reward, expected_rewards
    from pgcpe.environment.protocol import Environment
    from pgcpe.environment.reward_noise import RewardNoise
    from pgcpe.environment.simulator import SimulatedEnvironment
    from pgcpe.estimators import (
        BGLM,
        AdmissibleSequence,
        Contrast,
        DirectEstimator,
        EmpiricalMeans,
        Estimate,
        Estimated,
        Estimator,
        IntervalEstimator,
        PairwiseEstimator,
        PooledTrees,
        TableModel,
    )
    from pgcpe.estimators.graph_check import GraphCheck, check_graph
    from pgcpe.experiments import plan, plan_measurements, repeat
    from pgcpe.graphs.explanation import explain
    from pgcpe.graphs.identification import admissible_sequence, is_admissible_sequence
    from pgcpe.graphs.load import load_network
    from pgcpe.graphs.shipped import shipped_networks
    from pgcpe.plays.actions import Action, do, equal_effect, interventions
    from pgcpe.plays.encoding import Encoder
    from pgcpe.plays.history import read_history
    from pgcpe.plays.samples import Samples
    from pgcpe.policies import (
        CCPE,
        KLLUCB,
        LUCB,
        CausalSuccessiveRejects,
        ErrorBudget,
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
        trace,
    )
    from pgcpe.policies.rules import PolicyState, RecommendationRule, SamplingRule, StoppingRule, Verdict
    from pgcpe.study import Study

__all__ = [
    "BGLM",
    "CCPE",
    "KLLUCB",
    "LUCB",
    "Action",
    "AdmissibleSequence",
    "CausalBandit",
    "CausalSuccessiveRejects",
    "Contrast",
    "DirectEstimator",
    "EmpiricalMeans",
    "Encoder",
    "Environment",
    "ErrorBudget",
    "Estimate",
    "Estimated",
    "Estimator",
    "GraphCheck",
    "IntervalEstimator",
    "Intervals",
    "LilUCB",
    "PairwiseEstimator",
    "ParallelBandit",
    "Policy",
    "PolicyState",
    "PooledCCPE",
    "PooledTrees",
    "PropagatingInference",
    "RecommendationRule",
    "Result",
    "RewardNoise",
    "Samples",
    "SamplingRule",
    "SequentialHalving",
    "SimulatedEnvironment",
    "StoppingRule",
    "Study",
    "SuccessiveRejects",
    "TableModel",
    "TopTwo",
    "TwoPhase",
    "UniformSampling",
    "Verdict",
    "admissible_sequence",
    "check_graph",
    "do",
    "equal_effect",
    "expected_reward",
    "expected_rewards",
    "explain",
    "interventions",
    "is_admissible_sequence",
    "load_network",
    "plan",
    "plan_measurements",
    "read_history",
    "repeat",
    "shipped_networks",
    "trace",
]

__version__ = "0.2.0"

_MODULE_OF = {
    "Action": "plays.actions",
    "AdmissibleSequence": "estimators",
    "BGLM": "estimators",
    "CCPE": "policies",
    "CausalBandit": "bandit",
    "CausalSuccessiveRejects": "policies",
    "Contrast": "estimators",
    "DirectEstimator": "estimators",
    "EmpiricalMeans": "estimators",
    "Encoder": "plays.encoding",
    "Environment": "environment.protocol",
    "ErrorBudget": "policies",
    "Estimate": "estimators",
    "Estimated": "estimators",
    "Estimator": "estimators",
    "GraphCheck": "estimators.graph_check",
    "IntervalEstimator": "estimators",
    "Intervals": "confidence.intervals",
    "KLLUCB": "policies",
    "LUCB": "policies",
    "LilUCB": "policies",
    "PairwiseEstimator": "estimators",
    "ParallelBandit": "policies",
    "Policy": "policies",
    "PolicyState": "policies.rules",
    "PooledCCPE": "policies",
    "PooledTrees": "estimators",
    "PropagatingInference": "policies",
    "RecommendationRule": "policies.rules",
    "Result": "policies",
    "RewardNoise": "environment.reward_noise",
    "Samples": "plays.samples",
    "SamplingRule": "policies.rules",
    "SequentialHalving": "policies",
    "SimulatedEnvironment": "environment.simulator",
    "StoppingRule": "policies.rules",
    "Study": "study",
    "SuccessiveRejects": "policies",
    "TableModel": "estimators",
    "TopTwo": "policies",
    "TwoPhase": "policies",
    "UniformSampling": "policies",
    "Verdict": "policies.rules",
    "admissible_sequence": "graphs.identification",
    "check_graph": "estimators.graph_check",
    "do": "plays.actions",
    "equal_effect": "plays.actions",
    "expected_reward": "environment.exact",
    "expected_rewards": "environment.exact",
    "explain": "graphs.explanation",
    "interventions": "plays.actions",
    "is_admissible_sequence": "graphs.identification",
    "load_network": "graphs.load",
    "plan": "experiments",
    "plan_measurements": "experiments",
    "read_history": "plays.history",
    "repeat": "experiments",
    "shipped_networks": "graphs.shipped",
    "trace": "policies",
}
"""Where each public name is defined, below ``pgcpe``."""


if not TYPE_CHECKING:  # to which a name that is not above is an error

    def __getattr__(name: str) -> Any:
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"pgcpe.{_MODULE_OF[name]}"), name)
        globals()[name] = value  # found at once from now on
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
