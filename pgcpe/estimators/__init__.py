"""Estimators: an interval for every arm from what was told."""

from pgcpe.estimators.admissible import AdmissibleSequence
from pgcpe.estimators.base import EmpiricalMeans, Estimate, Estimator
from pgcpe.estimators.bglm import BGLM
from pgcpe.estimators.pooled import PooledTrees
from pgcpe.estimators.tables import TableModel

__all__ = ["BGLM", "AdmissibleSequence", "EmpiricalMeans", "Estimate", "Estimator", "PooledTrees", "TableModel"]
