"""Cost of one sample in microseconds: `SimulatedEnvironment` beside a bare numba sampler and pgmpy's ``simulate``.

python benchmarks/samples.py --rows 100000 --repeats 5
"""

from __future__ import annotations

import argparse
import logging
import time
import warnings
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from numba import njit
from tqdm.auto import tqdm

from pgcpe import SimulatedEnvironment, do, load_network


@njit
def bare(parents: Any, strides: Any, start: Any, cumulative: Any, uniform: Any, out: Any) -> None:
    """Ancestral sampling and nothing else: no interventions, no latents."""
    for row in range(len(out)):
        for i in range(out.shape[1]):
            at = start[i]
            for k in range(parents.shape[1]):
                if parents[i, k] >= 0:
                    at += out[row, parents[i, k]] * strides[i, k]
            state = 0
            while uniform[row, i] >= cumulative[at + state]:
                state += 1
            out[row, i] = state


def compile_bare(network: Any) -> tuple[Any, ...]:
    order = list(nx.topological_sort(network))
    width = max(1, max(d for _, d in network.in_degree()))
    parents = np.full((len(order), width), -1)
    strides = np.zeros((len(order), width), dtype=np.int64)
    start, flat = [0], []
    for i, variable in enumerate(order):
        table = network.get_cpds(variable)
        values = table.values
        stride = values.shape[0]
        for k in range(values.ndim - 1, 0, -1):
            parents[i, k - 1], strides[i, k - 1] = order.index(table.variables[k]), stride
            stride *= values.shape[k]
        cumulative = np.cumsum(np.moveaxis(values, 0, -1).reshape(-1, values.shape[0]), axis=1)
        cumulative[:, -1] = 1
        flat.append(cumulative.ravel())
        start.append(start[-1] + cumulative.size)
    return parents, strides, np.array(start), np.concatenate(flat)


def microseconds(work: Callable[[], Any], rows: int) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) / rows * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    table = []
    for name in ("asia", "alarm", "andes"):
        network = load_network(name)
        environment, arrays, rng = (
            SimulatedEnvironment(network, seed=0),
            compile_bare(network),
            np.random.default_rng(0),
        )
        nodes = len(network)
        variable = next(iter(network.nodes))
        action = do({variable: environment.states[variable][0]})

        def ours(environment: Any = environment) -> None:
            environment.sample(do(), arguments.rows)

        def numba(arrays: Any = arrays, rng: Any = rng, nodes: int = nodes) -> None:
            out = np.empty((arguments.rows, nodes), dtype=np.int32)
            bare(*arrays, rng.random((arguments.rows, nodes)), out)

        def one_by_one(environment: Any = environment, action: Any = action) -> None:
            for _ in range(2_000):
                environment.perform([action])

        def pgmpy(network: Any = network) -> None:
            network.simulate(n_samples=arguments.rows, show_progress=False)

        for compiled in (ours, numba, one_by_one):
            compiled()
        times = []
        for _ in tqdm(range(arguments.repeats), name, leave=False):
            times.append(
                [
                    microseconds(ours, arguments.rows),
                    microseconds(numba, arguments.rows),
                    microseconds(one_by_one, 2_000),
                    microseconds(pgmpy, arguments.rows),
                ]
            )
        batch, plain, single, peer = np.array(times).T
        table.append(
            {
                "network": name,
                "nodes": nodes,
                "ours, us a sample": np.median(batch),
                "bare numba": np.median(plain),
                "ours / bare": np.median(batch / plain),
                "pgmpy simulate": np.median(peer),
                "pgmpy / ours": np.median(peer / batch),
                "ours, one play a call": np.median(single),
            }
        )
    print(pd.DataFrame(table).to_string(index=False, float_format="{:.3f}".format))


if __name__ == "__main__":
    main()
