"""Drawings of tables and graphs. matplotlib is imported only when something is drawn."""

from pgcpe.plotting.curves import plot_curves
from pgcpe.plotting.diagram import Diagram, draw_graph
from pgcpe.plotting.graphs import plot_doubts, plot_graph
from pgcpe.plotting.intervals import plot_intervals
from pgcpe.plotting.plays import plot_evidence, plot_over_plays, plot_plays

__all__ = [
    "Diagram",
    "draw_graph",
    "plot_curves",
    "plot_doubts",
    "plot_evidence",
    "plot_graph",
    "plot_intervals",
    "plot_over_plays",
    "plot_plays",
]
