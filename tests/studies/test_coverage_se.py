"""Coverage of value -+ 1.96 se: the committed rows hold, and one is drawn anew."""

import pandas as pd
import pytest
from helpers import ROOT, benchmark

coverage_se = benchmark("coverage_se")
ROWS = pd.read_csv(ROOT / "data" / "results" / "coverage_se.csv")


def test_the_committed_rows():
    assert set(zip(ROWS["instance"], ROWS["observations"], strict=True)) == {
        (name, n) for name in coverage_se.INSTANCES for n in coverage_se.SIZES
    }
    assert ROWS["runs"].min() == 200
    assert (ROWS["covered"] / ROWS["runs"]).between(0.92, 1.0).all()
    seen = ROWS[ROWS["complete"] == ROWS["runs"]]  # every cell has a play in every data set
    assert len(seen) >= 14
    for row in seen.itertuples():
        one, n = coverage_se.INSTANCES[row.instance], row.observations
        q = one.y[:, 1]
        # by the delta method, with 1.2 for leaves whose plays are few: the mean of 200 unbiased values is within 4 of
        # its standard errors
        variance = (one.z * q * (1 - q) / one.x).sum() / n + (one.z * (q - one.truth) ** 2).sum() / n
        assert abs(row.mean - row.truth) <= 4 * (1.2 * variance / 200) ** 0.5


@pytest.mark.parametrize(("name", "n"), [("reward .01", 1_000), ("32 strata, reward .05", 200)])
def test_rows_drawn_anew(name, n):
    row = ROWS[(ROWS["instance"] == name) & (ROWS["observations"] == n)].iloc[0]
    made = coverage_se.cell(name, n, 200, 1)
    assert made["mean"] == pytest.approx(row["mean"], rel=1e-9)
    assert (made["covered"], made["complete"]) == (row["covered"], row["complete"])
