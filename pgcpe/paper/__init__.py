"""The paper's instances as data: its experiments and the graph families of its Appendix A, made anew from a seed."""

from pgcpe.paper.experiments import experiment_1, experiment_2, experiment_3
from pgcpe.paper.families import causal_tree, collaborative, parallel, two_layer
from pgcpe.paper.instances import Instance

__all__ = [
    "Instance",
    "causal_tree",
    "collaborative",
    "experiment_1",
    "experiment_2",
    "experiment_3",
    "parallel",
    "two_layer",
]
