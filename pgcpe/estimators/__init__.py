"""Estimators: an interval for every arm from what was told."""

from pgcpe.estimators.admissible import AdmissibleSequence
from pgcpe.estimators.base import Estimated, Estimator, IntervalEstimator, PairwiseEstimator
from pgcpe.estimators.bglm import BGLM
from pgcpe.estimators.empirical_means import DirectEstimator, EmpiricalMeans
from pgcpe.estimators.estimate import Contrast, Estimate
from pgcpe.estimators.pooled_trees import PooledTrees
from pgcpe.estimators.table_model import TableModel

__all__ = [
    "BGLM",
    "AdmissibleSequence",
    "Contrast",
    "DirectEstimator",
    "EmpiricalMeans",
    "Estimate",
    "Estimated",
    "Estimator",
    "IntervalEstimator",
    "PairwiseEstimator",
    "PooledTrees",
    "TableModel",
]
