"""A history goes to CSV and comes back as it was, whatever its states are called."""

import io
import pickle

import numpy as np
import pandas as pd
import pytest
from pgmpy.base import DAG

from pgcpe import (
    LUCB,
    CausalBandit,
    PooledCCPE,
    SimulatedEnvironment,
    do,
    load_network,
    read_history,
    shipped_networks,
)
from pgcpe.plays.frames import History

AWKWARD = [
    "1", "01", "1.0", "1e3", "1000", "00060", "+1", " 1", "TRUE", "True", "true", "False", "None", "NA", "nan", "NULL",
    "", " ", "inf", "-inf", "0x10", "1_000", "yes", "a, b", 'say "no"', '"1"', "'1'", "line\nbreak", "back\\slash", "é",
    "do()", "=1", "#", "1,000", "2020-01-01", "(0, 30]", "9007199254740993", "9007199254740992", "-0", "0", "1E3", "t",
]  # fmt: skip


def question(states, reward_states=(0, 1)):
    values = {s: i / (len(reward_states) - 1) for i, s in enumerate(reward_states)}
    return CausalBandit(
        DAG([("X", "Y")]),
        reward="Y",
        arms=[do(X=s) for s in states],
        states={"X": states, "Y": reward_states},
        reward_values=values,
    )


def text_of(frame):
    return io.StringIO(frame.to_csv())


def same_plays(policy):
    """The policies told a policy's history: as it is, as `read_history` and as pandas read it from CSV."""
    bandit, history = policy.bandit, policy.history
    yield PooledCCPE(bandit).tell(history)
    yield PooledCCPE(bandit).tell(list(history.index), history)
    yield PooledCCPE(bandit).tell(read_history(text_of(history), bandit))
    kept = pd.read_csv(text_of(history), index_col="action")
    yield PooledCCPE(bandit).tell(list(kept.index), kept)


@pytest.mark.parametrize("name", shipped_networks())
def test_a_history_of_every_network_comes_back(name):
    network = load_network(name)
    states = {v: network.get_cpds(v).state_names[v] for v in network}
    reward, rng = list(network)[-1], np.random.default_rng(0)
    others = [v for v in network if v != reward]
    worth = {s: i / max(len(states[reward]) - 1, 1) for i, s in enumerate(states[reward])}
    bandit = CausalBandit(network, reward=reward, arms=[do()], reward_values=worth).recording(others)
    actions = [do({v: states[v][rng.integers(len(states[v]))]}) for v in rng.choice(others, min(20, len(others)))]
    samples = bandit.encode([do(), *actions], SimulatedEnvironment(network, seed=0).perform([do(), *actions]))
    history = samples.to_frame()
    pd.testing.assert_frame_equal(read_history(text_of(history), bandit), history)
    pd.testing.assert_frame_equal(read_history(text_of(pd.DataFrame(history)), bandit), history)
    by_pandas = bandit.encode(None, pd.read_csv(text_of(history), index_col="action"))
    assert np.array_equal(by_pandas.codes, samples.codes)


def test_states_that_look_like_something_else_come_back():
    """Any sets of two to five awkward names, and histories in which some of them never occur."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        states = tuple(dict.fromkeys(rng.choice(AWKWARD, rng.integers(2, 6)).tolist()))
        if len(states) < 2:
            continue
        bandit = question(states)
        seen = [states[i] for i in rng.integers(0, rng.integers(1, len(states) + 1), 6)]
        frame = pd.DataFrame({"X": seen, "Y": rng.integers(0, 2, 6)})
        policy = PooledCCPE(bandit).tell([do(X=s) if i % 2 else do() for i, s in enumerate(seen)], frame)
        assert policy.history.X.tolist() == seen
        for again in same_plays(policy):
            assert again.history.X.tolist() == seen, states
            assert again.plays_by_action == policy.plays_by_action


@pytest.mark.parametrize(
    "states",
    [
        tuple(pd.cut([1.0, 40.0, 80.0], [0, 30, 60, 90])),
        tuple(pd.cut(np.linspace(0.1234567, 9.87654321, 30), 3).categories),
        ((0, 1), (1, 0), (1, 1)),
        ((0, 1), "(0, 1]"),
        (True, False),
        (0.1, 0.2),
        (np.int64(3), np.int64(5)),
        (pd.Timestamp("2020-01-01"), pd.Timestamp("2020-02-01")),
        (-1, "low"),
    ],
    ids=str,
)
def test_states_that_are_no_text_come_back(states):
    bandit = question(states, (True, False))
    for arm in bandit.arms:
        assert bandit.action(str(arm)) == arm
    rows = [{"X": state, "Y": i % 2 == 0} for i, state in enumerate(states)]
    policy = PooledCCPE(bandit).tell(bandit.arms, rows)
    for again in same_plays(policy):
        assert again.plays_by_action == policy.plays_by_action
        assert again.history.X.tolist() == list(states)
        assert again.history.Y.tolist() == [row["Y"] for row in rows]


def test_a_plain_file_is_read():
    bandit = question(("None", "01", "1"))
    text = "note,action,Y,X\nfirst,do(X=01),1,01\n,do(),TRUE,None\nlast,do(X=1),0.0,1\n"
    history = read_history(io.StringIO(text), bandit)
    assert list(history.columns) == ["Y", "X"]
    assert history.X.tolist() == ["01", "None", "1"]
    assert history.Y.tolist() == [1, 1, 0]
    assert history.index.tolist() == ['do(X="01")', "do()", 'do(X="1")']


def test_a_log_without_actions_and_with_missing_values(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("X,Y\nlow,1\n,0\nNA,1\nhigh,\n", encoding="utf-8-sig")
    history = read_history(path, question(("low", "high")))
    assert history.index.name is None
    assert history.isna().sum().to_dict() == {"X": 2, "Y": 1}
    policy = PooledCCPE(question(("low", "high"))).tell(do(), history[history.Y.notna()], missing="drop")
    assert (policy.n_plays, policy.dropped_) == (1, {"X": 2})
    with pytest.raises(ValueError, match="has no value for Y"):
        PooledCCPE(question(("low", "high"))).tell(do(), history, missing="drop")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("action,X,Y\ndo(),2,1\n", "row 0 .*X has the states '0', '1', but got '2'"),
        ("action,X,Y\ndo(),0,1\ndo(Q=1),0,1\n", "row 1: do.Q=1. sets Q, which is no variable"),
        ("action,X,Y\nnothing,0,1\n", "row 0: an action must be written"),
        ("action,X,Y,X\ndo(),0,1,1\n", r"distinct columns, but \['X'\] come twice"),
        ("", "No columns to parse"),
        ("action,X,Y\ndo(),0,1,7,8\n", "Expected 3 fields in line 2, saw 5"),
    ],
)
def test_files_that_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        read_history(io.StringIO(text), question(("0", "1")))


def test_a_variable_called_action():
    bandit = CausalBandit(DAG([("action", "Y")]), reward="Y", arms=[do(action=0), do(action=1)])
    policy = PooledCCPE(bandit).tell(do(action=1), [{"action": 1, "Y": 1}])
    assert "action" in policy.history.columns
    policy.tell(do(), [{"action": a, "Y": 0} for a in (0, 1, 1)])  # of which the column is all that is known
    again = read_history(text_of(policy.history), bandit)
    assert again.columns.tolist() == policy.history.columns.tolist()
    assert again["action"].tolist() == [1, 0, 1, 1]
    assert LUCB(bandit).tell(again).plays_by_action == {do(action=1): 1, do(): 3}
    log = read_history(io.StringIO("action,Y\n0,1\n1,0\n"), bandit)  # passive plays, without labels
    assert (log["action"].tolist(), log.index.tolist()) == ([0, 1], [0, 1])


def test_a_state_with_a_return_comes_back():
    """Python's csv quotes an end of the line, but pandas does not where it is a return alone."""
    bandit = question(("a\r", "a"))
    policy = LUCB(bandit).tell([do(X="a\r"), do(X="a")], [{"X": "a\r", "Y": 0}, {"X": "a", "Y": 1}])
    assert read_history(text_of(policy.history), bandit)["X"].tolist() == ["a\r", "a"]


def test_a_history_stays_one():
    history = PooledCCPE(question(("None", "1"))).tell(do(), [{"X": "None", "Y": 0}, {"X": "1", "Y": 1}]).history
    for frame in (history[["X"]], history.iloc[:1], history.copy(), pickle.loads(pickle.dumps(history))):
        assert isinstance(frame, History)
        assert frame.to_csv().splitlines()[1].split(",")[1] == '"""None"""'
    assert pd.DataFrame(history).equals(history)
