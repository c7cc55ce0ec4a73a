"""Estimators: an interval for every arm from what was told."""

from pgcpe.estimators.admissible import AdmissibleSequence
from pgcpe.estimators.base import EmpiricalMeans, Estimate, Estimator

__all__ = ["AdmissibleSequence", "EmpiricalMeans", "Estimate", "Estimator"]
