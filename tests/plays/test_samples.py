"""Samples go to frames and back; what cannot be coded is refused with its row."""

import numpy as np
import pandas as pd
import pytest

from pgcpe import Action, Samples, do
from pgcpe.plays.encoding import as_frame
from pgcpe.plays.samples import Coding, ForcedCodes, SamplesBuffer

STATES = {"A": ("no", "yes"), "B": (0, 1, 2), "Y": ("0", "1")}


def random_samples(n: int, seed: int = 0) -> Samples:
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, len(s), n) for s in STATES.values()], axis=1).astype(np.int32)
    actions = (do(), do(A="yes"), do(A="no", B=2))
    coding, which = Coding(tuple(STATES), tuple(STATES.values())), rng.integers(0, 3, n)
    return Samples(coding, codes, actions, which, codes[:, -1].astype(float))


def actions_of(samples: Samples) -> list[Action]:
    return [samples.actions[i] for i in samples.which]


def test_round_trip_through_a_frame():
    samples = random_samples(50)
    back = Samples.from_frame(samples.to_frame(), STATES)
    assert np.array_equal(back.codes, samples.codes)
    assert actions_of(back) == actions_of(samples)


def test_what_is_displayed_is_short():
    samples = random_samples(50)
    assert repr(samples) == "Samples(50 plays of 3 actions, 3 variables)"
    html = samples._repr_html_()
    assert html.startswith("<p>Samples(50 plays of 3 actions, 3 variables)</p>")
    assert html.count("<tr") < 25
    assert repr(samples.rows(slice(1))) == "Samples(1 play of 3 actions, 3 variables)"


def test_round_trip_through_a_csv_file(tmp_path):
    samples = random_samples(20)
    samples.to_frame().to_csv(tmp_path / "rows.csv")
    back = Samples.from_frame(pd.read_csv(tmp_path / "rows.csv", index_col="action"), STATES)
    assert np.array_equal(back.codes, samples.codes)
    assert actions_of(back) == actions_of(samples)


def test_frame_has_the_states_and_a_fitting_dtype():
    frame = random_samples(30).to_frame()
    assert set(frame["A"]) <= {"no", "yes"}
    assert frame["B"].dtype.kind == "i"
    assert frame.index.name == "action"


def test_other_columns_are_left_out_and_order_does_not_matter():
    frame = random_samples(10).to_frame()
    shuffled = frame.assign(extra=1.5)[["Y", "extra", "B", "A"]]
    assert np.array_equal(Samples.from_frame(shuffled, STATES).codes, Samples.from_frame(frame, STATES).codes)


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("A", ["no", "maybe"], r"row 1 .*A has the states 'no', 'yes', but got 'maybe'"),
        ("A", ["no", None], r"row 1 .*no value for A"),
        ("B", [float("nan"), 1], r"row 0 .*no value for B"),
        ("B", [0, 3], r"row 1 .*B has the states 0, 1, 2, but got 3"),
        ("Y", [0.5, 1], r"row 0 .*Y has the states '0', '1', but got 0.5"),
        ("A", [["no"], "yes"], "column A must hold states"),
    ],
)
def test_bad_values_are_named(column, values, message):
    frame = pd.DataFrame({"A": ["no", "yes"], "B": [0, 1], "Y": [0, 1]}).astype(object)
    frame[column] = pd.Series(values, dtype=object)
    with pytest.raises(ValueError, match=message):
        Samples.from_frame(frame, STATES, do())


def test_missing_and_repeated_columns_and_actions():
    frame = pd.DataFrame({"A": ["no"], "B": [0], "Y": [1]})
    with pytest.raises(ValueError, match=r"lack \['B'\]"):
        Samples.from_frame(frame.drop(columns="B"), STATES, do())
    with pytest.raises(ValueError, match=r"\['A'\] come twice"):
        Samples.from_frame(pd.concat([frame, frame[["A"]]], axis=1), STATES, do())
    with pytest.raises(ValueError, match="give the actions"):
        Samples.from_frame(frame, STATES)
    with pytest.raises(ValueError, match="2 actions for 1 plays"):
        Samples.from_frame(frame, STATES, [do(), do()])


def test_values_by_name():
    frame = pd.DataFrame({"A": ["yes"], "B": [2.0], "Y": [True]})
    assert Samples.from_frame(frame.assign(Y=[1]), STATES, do()).codes.tolist() == [[1, 2, 1]]
    boolean = Samples.from_frame(pd.DataFrame({"F": [True, False]}), {"F": ("false", "true")}, do())
    assert boolean.codes.ravel().tolist() == [1, 0]


def test_buffer_keeps_everything_in_order():
    whole = random_samples(1000)
    buffer = SamplesBuffer(whole.coding)
    for start, end in [(0, 1), (1, 3), (3, 3), (3, 200), (200, 1000)]:
        buffer.append(whole.rows(slice(start, end)))
    assert np.array_equal(buffer.samples().codes, whole.codes)
    assert np.array_equal(buffer.samples().rewards, whole.rewards)
    assert actions_of(buffer.samples()) == actions_of(whole)
    assert buffer.plays_by_action() == {a: actions_of(whole).count(a) for a in buffer.samples().actions}


def test_samples_without_rewards_say_so():
    samples = Samples.from_frame(random_samples(3).to_frame(), STATES)
    assert samples.rewards is None
    assert samples.rows(slice(2)).rewards is None
    with pytest.raises(ValueError, match="must have rewards"):
        SamplesBuffer(samples.coding).append(samples)


def test_rows_keep_their_rewards():
    samples = random_samples(20)
    assert np.array_equal(samples.rows(slice(5, 9)).known_rewards, samples.codes[5:9, -1])


def test_forced_codes_grow_and_stay():
    forced = ForcedCodes(list(STATES), list(STATES.values()))
    actions = [do(), *(do(A=a, B=b) for a in ("no", "yes") for b in (0, 1, 2)), *(do(B=b) for b in (0, 1, 2))]
    actions += [do(A=a, Y=y) for a in ("no", "yes") for y in (0, 1)] + [do(A=a) for a in ("no", "yes")] + [do(Y=1)]
    rows = forced.rows(actions)
    assert rows.tolist() == forced.rows(actions).tolist() == list(range(len(actions)))
    assert forced.table[rows[0]].tolist() == [-1, -1, -1]
    assert forced.table[rows[6]].tolist() == [1, 2, -1]


@pytest.mark.parametrize("samples", [3, "rows.csv", [1, 2], None])
def test_what_is_no_table_is_refused(samples):
    with pytest.raises(TypeError, match="samples must be"):
        as_frame(samples)
