"""The committed study of five networks: shown as it is, within its bound, and the same when run again."""

from functools import partial

import pytest
from helpers import ROOT, benchmark
from scipy import stats

from pgcpe.experiments import repeat

networks = benchmark("networks")
ROWS = networks.frame.read(ROOT / "data" / "results" / "networks.csv.gz")


def test_the_table_shown_is_that_of_the_rows():
    assert networks.markdown(ROWS) in (ROOT / "docs" / "studies.md").read_text()
    assert set(ROWS["experiment"]) == set(networks.QUESTIONS)
    assert set(ROWS["epsilon"]) == set(networks.EPSILONS)


def test_no_policy_is_wrong_more_often_than_delta_allows():
    """More than the .999 quantile of binomial(n, delta) of n runs are wrong with probability below .001."""
    for line in networks.table(ROWS).itertuples():
        assert line.wrong <= stats.binom.ppf(0.999, line.runs, networks.DELTA), line


@pytest.mark.slow
@pytest.mark.parametrize("name", ["asia", "two visits (hidden)"])
def test_a_run_comes_again(name):
    epsilon, policy = 0.1, "asymptotic"
    make = {policy: networks.policies(name, epsilon)[policy]}
    again = repeat(
        make,
        partial(networks.instance, name, True),
        seeds=[0],
        budgets=[networks.BROKEN_OFF],
        experiment=name,
        progress=False,
    )
    kept = ROWS[(ROWS["experiment"] == name) & (ROWS["epsilon"] == epsilon) & (ROWS["policy"] == policy)]
    assert again["plays"].iloc[0] == kept.loc[kept["seed"] == 0, "plays"].iloc[0]
