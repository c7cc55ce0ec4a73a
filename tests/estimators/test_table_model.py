"""The table model: counts and means against what they are by definition."""

import numpy as np
import pytest
from helpers import dag, random_dag
from sklearn.exceptions import NotFittedError

from pgcpe import CausalBandit, SimulatedEnvironment, TableModel, do, expected_rewards, interventions, load_network

GRAPH = dag([("A", "B"), ("A", "Y"), ("B", "Y"), ("U", "B")], {"U"})


def question(**options):
    given = {"reward": "Y", "arms": interventions(GRAPH, reward="Y", max_size=2), "states": {"A": [0, 1, 2]}}
    return CausalBandit(GRAPH, **(given | options))


def learned(rows, actions, model=None, bandit=None):
    bandit = bandit or question()
    model = (model or TableModel()).start(bandit.recording(TableModel().required(bandit)))
    return model.update(model.bandit_.encode(actions, rows))


def test_a_play_counts_for_what_its_action_left_free():
    rows = [{"A": 2, "B": 1, "Y": 1}, {"A": 2, "B": 0, "Y": 0}, {"A": 0, "B": 1, "Y": 1}, {"A": 1, "B": 0, "Y": 1}]
    model = learned(rows, [do(), do(B=0), do(A=0), do(A=1, B=0)])
    assert model.nodes_ == ("A", "B", "Y")  # the hidden cause of B alone is its noise
    a, b, y = model.counts_
    assert a.tolist() == [0, 0, 2]
    assert b.tolist() == [[0, 1], [0, 0], [0, 1]]
    assert y.sum() == 4
    assert y[2, 1].tolist() == [0, 1]
    assert y[1, 0].tolist() == [0, 1]


def test_tables_are_smoothed_shares():
    rows, actions = [{"A": 2, "B": 1, "Y": 1}] * 3, do()
    assert learned(rows, actions).tables()[0] == pytest.approx([0.5 / 4.5, 0.5 / 4.5, 3.5 / 4.5])
    plain = learned(rows, actions, TableModel(pseudo_count=0)).tables()
    assert plain[0].tolist() == [0, 0, 1]
    assert plain[1][0].tolist() == [0.5, 0.5]  # never seen


def test_means_are_exact_for_the_tables():
    """By truncated factorisation, written out."""
    network = load_network("asia")
    bandit = CausalBandit(
        network,
        reward="dysp",
        reward_values={"yes": 0.25, "no": 1},
        arms=interventions(network, reward="dysp", max_size=2),
    )
    bandit = bandit.recording(TableModel().required(bandit))
    model = TableModel().start(bandit)
    model.update(bandit.encode(do(), SimulatedEnvironment(network, seed=0).sample(do(), 300)))
    tables, names = model.tables(), model.nodes_
    exact = []
    for arm in bandit.canonical:
        total = 0.0
        for values in np.ndindex(*model.cards_):
            p = 1.0
            for i, v in enumerate(names):
                if v in arm:
                    p *= bandit.states[v][values[i]] == arm[v]
                else:
                    p *= tables[i][tuple(values[j] for j in model.parents_[i])][values[i]]
            total += p * bandit.reward_array[values[-1]]
        exact.append(total)
    assert model.means() == pytest.approx(exact, abs=1e-12)
    shown = model.means()
    shown[:] = 7
    assert model.means() == pytest.approx(exact, abs=1e-12)


def test_many_plays_of_any_action_teach_all_arms():
    """do() is never played, nor are most arms. Every row of the tables is met by at least 2,000 plays, so that its
    standard error is at most .011 and .05 is more than four times it."""
    network = load_network("cancer")
    arms = interventions(network, reward="Dyspnoea", variables=["Pollution", "Smoker", "Cancer"], max_size=2)
    bandit = CausalBandit(network, reward="Dyspnoea", reward_values={"True": 0, "False": 1}, arms=arms)
    bandit = bandit.recording(TableModel().required(bandit))
    model = TableModel().start(bandit)
    environment = SimulatedEnvironment(network, seed=0)
    for action in (do(Pollution="high"), do(Pollution="low"), do(Smoker="False"), do(Cancer="True")):
        model.update(bandit.encode(action, environment.sample(action, 10_000)))
    assert np.abs(model.means() - expected_rewards(network, bandit, progress=False)).max() < 0.05


def test_hidden_causes_of_two_are_refused():
    confounded = dag([("X", "Y"), ("U", "X"), ("U", "Y")], {"U"})
    bandit = CausalBandit(confounded, reward="Y", arms=[do(X=0), do(X=1)])
    with pytest.raises(ValueError, match="U is hidden; AdmissibleSequence takes hidden variables"):
        TableModel().required(bandit)


def test_wide_tables_and_bad_options_are_refused():
    wide = dag([(f"V{i}", "Y") for i in range(20)])
    bandit = CausalBandit(wide, reward="Y", arms=[do(V0=0), do(V0=1)])
    with pytest.raises(ValueError, match="the table of Y would have 2,097,152 entries"):
        TableModel().required(bandit)
    with pytest.raises(ValueError, match="pseudo_count must be"):
        TableModel(pseudo_count=-1).start(question())
    with pytest.raises(NotFittedError, match="start"):
        TableModel().means()


def test_more_arms_than_fit_the_first_layout():
    rng = np.random.default_rng(0)
    graph = random_dag(rng, 8, 0, 0.4)
    bandit = CausalBandit(graph, reward="V7", arms=interventions(graph, reward="V7", max_size=2), merge_equal=False)
    bandit = bandit.recording(TableModel().required(bandit))
    assert len(bandit.arms) > 80
    assert TableModel().start(bandit).means() == pytest.approx(0.5)
