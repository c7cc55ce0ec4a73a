"""Random questions and a parallel graph in numbers, for the tests of complexity."""

import numpy as np


def random_question(rng):
    k = int(rng.integers(2, 25))
    q = rng.choice([0.0, 1.0, *rng.random(6) ** 2], k)
    return np.append(q, 1.0), rng.choice([*rng.random(8), 0.5], k + 1), float(rng.choice([0.0, 0.1, 0.4]))


WEIGHTS = np.array([0.25, 0.12, 0.1, 0.08, 0.05, 0.02])


def parallel(q):
    """q_a and expected rewards of do(X_i = x), i = 1..6, x = 0, 1, on a parallel graph with a linear reward."""
    values = np.repeat(np.array(q, dtype=float)[None], 12, axis=0)
    chances = []
    for arm in range(12):
        i, x = divmod(arm, 2)
        values[arm, i] = x
        chances.append(q[i] if x else 1 - q[i])
    return np.array(chances), 0.2 + values @ WEIGHTS
