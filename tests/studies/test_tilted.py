"""The evidence against the truth: the committed rows hold, and one is drawn anew."""

import numpy as np
import pandas as pd
import pytest
from helpers import ROOT, benchmark
from scipy import stats

from pgcpe import do, expected_rewards
from pgcpe.estimators.tilted_pairs import TiltedPairs
from pgcpe.plays.samples import SamplesBuffer

tilted, frame = benchmark("tilted"), benchmark("frame")
ROWS = frame.read(ROOT / "data" / "results" / "tilted.csv")


def test_the_evidence_against_the_truth_is_hardly_ever_large():
    """If it is with probability at most a, more than the .9999 quantile of binomial(runs, a) runs of each model see it
    with probability below 1e-4."""
    sizes = {**dict.fromkeys(tilted.models(), 100), **dict.fromkeys(tilted.PAIRS, 50)}
    assert ROWS.groupby("model").size().to_dict() == sizes
    for _, mine in ROWS.groupby("model"):
        for level in tilted.LEVELS:
            assert (mine["largest"] >= -np.log(level)).sum() <= stats.binom.ppf(0.9999, len(mine), level)
    # and bets do win there: it is no process that stays at 1
    assert (ROWS["largest"] > 0.5).mean() > 0.1
    assert tilted.markdown(ROWS) in (ROOT / "benchmarks" / "README.md").read_text()


def test_a_row_is_drawn_anew():
    first = ROWS[ROWS["model"] == "three ties"].iloc[0]
    assert tilted.largest("three ties", int(first["seed"])) == pytest.approx(first["largest"], abs=1e-6)


def test_a_row_of_a_pair_is_drawn_anew():
    first = ROWS[ROWS["model"] == "hidden cause, tree and mean"].iloc[1]
    again = tilted.largest_of_pair("hidden cause, tree and mean", int(first["seed"]))
    assert again == pytest.approx(first["largest"], abs=1e-6)


def test_true_factors_are_those_of_the_arms():
    """The difference of the pair at its true factors is that of the true expected rewards."""
    network, bandit = tilted.hidden()
    truth = expected_rewards(network, bandit, progress=False)
    pairs = TiltedPairs(bandit, SamplesBuffer(bandit.coding), 0.0)
    for leader in tilted.PAIRS.values():
        first, best = bandit.action(leader), bandit.action(do(X=1))
        bets = pairs.of(bandit.index(first), bandit.index(best))
        entries = tilted.true_factors(network, bandit, bets)
        assert bets.difference(entries) == pytest.approx(truth[first] - truth[best], abs=1e-9)


def test_the_table_counts_runs():
    rows = pd.DataFrame({"model": "a", "seed": range(4), "largest": [0.0, 1.3, 2.5, 3.1]})
    assert tilted.table(rows)[["at 0.05", "at 0.1", "at 0.3"]].to_numpy().tolist() == [[0.25, 0.5, 0.75]]
