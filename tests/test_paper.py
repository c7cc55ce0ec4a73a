"""The paper's instances, against what its text and independent computation say of them."""

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pgcpe import do, expected_rewards
from pgcpe.complexity import bglm_observation_probabilities
from pgcpe.identification import nodes_on_paths
from pgcpe.paper import experiment_1


def test_experiment_1():
    seen = set()
    for seed in range(12):
        network, bandit = experiment_1(seed)
        assert set(network.nodes) == {*(f"X{i}" for i in range(1, 9)), "Y"}
        degrees = [network.in_degree(f"X{i}") for i in range(1, 9)]
        assert degrees == [0, 1, 2, 2, 2, 2, 2, 2]
        parents = list(network.get_cpds("Y").variables[1:])
        assert len(parents) == network.in_degree("Y") == 4
        for i in range(1, 9):
            values = network.get_cpds(f"X{i}").values[1]
            ones = np.indices(values.shape).sum(axis=0)
            assert values == pytest.approx(0.4 + 0.1 * ones)
        rewards = expected_rewards(network, bandit, progress=False).sort_values(ascending=False)
        assert rewards.index[0] in bandit.arms
        assert 0.9199 < rewards.iloc[0] < 0.9301  # .9 + .05 P(X^(4)=1), which is .4-.6
        # the second best replaces one of the three, which were worth .3 and are 1 with probability .4-.6 else, and may
        # gain the .05 of the fourth: the gap lies between .3 * .4 - .05 * .6 and .3 * .6
        assert 0.09 < rewards.iloc[0] - rewards.iloc[1] < 0.18
        best = do(dict.fromkeys(parents[:3], 1))
        assert bandit.index(best) == bandit.arms.index(rewards.index[0])
        assert sum(map(len, bandit.merged.values())) == 56
        assert 15 <= len(bandit.arms) <= 56
        sizes = {len(nodes_on_paths(network, arm, "Y")) for arm in bandit.arms}
        assert sizes <= set(range(2, 7))
        q = bglm_observation_probabilities(bandit)
        assert q[rewards.index[0]] == pytest.approx(1 / (len(nodes_on_paths(network, best, "Y")) ** 2 * 5**3))
        seen.add(tuple(sorted(network.edges)))
    assert len(seen) == 12
    assert tuple(sorted(experiment_1(3).network.edges)) in seen
    assert len(experiment_1(1, merge_equal=False).bandit.arms) == 56
    assert experiment_1(0).environment(0).perform([do(X1=1)]).to_frame()["X1"].tolist() == [1]


# ------------------------------------------------------------------------------------------------------ the rows kept

ROOT = Path(__file__).parent.parent


def benchmark(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_readme_shows_the_rows_of_experiment_1():
    rows = pd.read_csv(ROOT / "data" / "results" / "experiment_1.csv")
    module = benchmark("experiment_1")
    assert module.markdown(rows) in (ROOT / "README.md").read_text()
    assert rows.groupby("policy").size().tolist() == [1000] * len(module.POLICIES)
    assert module.table(rows).filter(like="+-").max().max() <= 0.032
    error = rows.groupby("policy")[["wrong_100", "wrong_200", "wrong_400"]].mean()
    # what is said of them: `ell` far ahead of direct plays, the theorem's readings not
    assert (error.loc["CCPE-BGLM ell"] < 0.6 * error.loc["LUCB1"]).all()
    assert (error.loc["CCPE-BGLM proved"] >= error.loc["LUCB1"]).all()


@pytest.mark.filterwarnings("ignore:the graph is in doubt")
def test_the_rows_of_experiment_1_come_again():
    rows = pd.read_csv(ROOT / "data" / "results" / "experiment_1.csv")
    module = benchmark("experiment_1")
    for name in ("CCPE-BGLM ell", "LUCB1"):
        again = pd.DataFrame(module.run(name, [0, 1]))
        kept = rows[(rows.policy == name) & (rows.seed < 2)]
        assert again.to_dict("records") == kept.to_dict("records")
