"""The paper's figures: `FIGURES` has them by name; each runs its experiments, sums rows up and draws them."""

from pgcpe.paper.figures.base import Errors, Figure, Part, PlaysToStop
from pgcpe.paper.figures.settings import FIGURES

__all__ = ["FIGURES", "Errors", "Figure", "Part", "PlaysToStop"]
