"""How a study went: what is drawn is what the tables say."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from pgcpe import do
from pgcpe.plotting import plot_evidence, plot_over_plays, plot_plays

mpl.use("agg")

BEST, SECOND, THIRD = do(X=1), do(X=0), do()


def traced(nats=(1.0, 4.0, 6.0)):
    """Return three looks at three arms; the second is the last to be ruled out, by five nats, and led at first."""
    rows = []
    for k, plays in enumerate((10, 100, 1_000)):
        for arm, estimate in ((BEST, 0.8), (SECOND, 0.6), (THIRD, 0.3)):
            rows.append(
                {
                    "plays": plays,
                    "action": arm,
                    "leader": arm == (SECOND if k == 0 else BEST),
                    "estimate": estimate,
                    "lower": estimate - 0.2 / (k + 1),
                    "upper": estimate + 0.2 / (k + 1),
                    "n_plays": plays // 3,
                    "ruled out": (arm == SECOND and k == 2) or (arm == THIRD and k > 0),
                    "nats": np.nan if arm == BEST else nats[k],
                    "asked": 5.0,
                }
            )
    return pd.DataFrame(rows)


@pytest.fixture(autouse=True)
def closed():
    yield
    mpl.pyplot.close("all")


def test_intervals_over_plays_are_those_of_the_best_and_of_the_one_ruled_out_last():
    axes = plot_over_plays(traced(), title="costs $5")
    assert [line.get_label() for line in axes.lines] == [str(BEST), str(SECOND)]
    assert axes.lines[1].get_xdata().tolist() == [10, 100, 1_000]
    assert axes.lines[1].get_ydata().tolist() == [0.6] * 3
    assert {text.get_text() for text in axes.texts} == {"0.800 [0.733, 0.867]", "0.600 [0.533, 0.667]"}
    assert axes.get_title(loc="left") == r"costs \$5"
    assert axes.get_ylabel() == "expected reward"
    other = plot_over_plays(traced(), action=THIRD)
    assert [line.get_label() for line in other.lines] == [str(BEST), str(THIRD)]


def test_evidence_is_drawn_while_the_arm_is_compared_with_the_one_recommended_last():
    axes = plot_evidence(traced())
    evidence, asked = axes.lines
    assert evidence.get_xdata().tolist() == [100, 1_000]  # before, the other one led
    assert evidence.get_ydata().tolist() == [4.0, 6.0]
    assert asked.get_ydata().tolist() == [5.0, 5.0]
    assert "6.0 of 5.0" in {text.get_text() for text in axes.texts}
    by_bounds = plot_evidence(traced(nats=(0.0, 1.0, 2.0))).lines[2]
    assert by_bounds.get_xdata()[0] == 1_000
    assert by_bounds.get_label() == "below the other by its bounds"


def test_evidence_that_ends_before_the_plays_says_when():
    axes = plot_evidence(traced(nats=(1.0, 4.0, np.nan)), action=SECOND)
    assert "4.0 of 5.0 after 100 plays" in {text.get_text() for text in axes.texts}


def test_a_measured_reward_is_drawn_in_its_unit_and_direction():
    table = traced(nats=(0.0, 1.0, 2.0))
    ends = {"estimate": table["estimate"], "lower": table["upper"], "upper": table["lower"]}
    table = table.assign(**{c: 20_000 * (1 - share) for c, share in ends.items()})
    table.attrs = {"minimise": True, "decimals": 0}
    axes = plot_over_plays(table)
    assert {text.get_text() for text in axes.texts} == {"4000 [2667, 5333]", "8000 [6667, 9333]"}
    assert axes.get_ylabel() == "expected reward (less is better)"
    assert plot_evidence(table).lines[2].get_label() == "above the other by its bounds"


def test_what_cannot_be_drawn_is_said():
    with pytest.raises(ValueError, match="the rule counts none"):
        plot_evidence(traced(nats=(np.nan,) * 3))
    with pytest.raises(ValueError, match="must be one of the arms"):
        plot_over_plays(traced(), action=BEST)
    with pytest.raises(ValueError, match="two arms"):
        plot_over_plays(traced()[lambda table: table["action"] == BEST])
    with pytest.raises(ValueError, match="at least one play"):
        plot_plays({})


def test_plays_are_bars_with_their_numbers_and_the_rest_is_one_bar():
    axes = plot_plays({do(): 30, BEST: 50, SECOND: 15, do(Z=1): 5}, best=BEST, rows=2)
    assert [bar.get_width() for bar in axes.patches] == [50, 30, 20]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["do(X=1)", "do()", "2 other actions"]
    assert [text.get_text() for text in axes.texts] == ["50 (50%)", "30 (30%)", "20 (20%)"]
    assert [bool(bar.get_hatch()) for bar in axes.patches] == [False, True, False]
    _, given = mpl.pyplot.subplots()
    assert plot_plays({do(): 1}, ax=given) is given
