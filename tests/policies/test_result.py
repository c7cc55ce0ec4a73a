"""What a result can be turned into."""

import datetime
import json

from helpers import dag
from sklearn.base import clone

from pgcpe import LUCB, AdmissibleSequence, CausalBandit, PooledCCPE, SimulatedEnvironment, do, load_network


def studied():
    network = load_network("cancer")
    arms = [do(Smoker=s, Pollution=p) for s in ("True", "False") for p in ("low", "high")]
    bandit = CausalBandit(network, reward="Dyspnoea", reward_values={"True": 0, "False": 1}, arms=arms)
    return PooledCCPE(bandit, epsilon=0.2).run(SimulatedEnvironment(network, seed=0), budget=200, progress=False)


def test_a_result_as_json_is_what_it_says():
    result = studied()
    told = json.loads(result.to_json())
    assert told == json.loads(json.dumps(result.to_dict()))
    assert do(told["recommendation"]) == result.recommendation
    assert (told["n_plays"], told["certificate"], told["stops"]) == (result.n_plays, result.certificate, result.stops)
    assert [do(arm["action"]) for arm in told["arms"]] == result.table["action"].tolist()
    for column in ("estimate", "lower", "upper", "n_plays"):
        assert [arm[column] for arm in told["arms"]] == result.table[column].tolist()
    assert "\n" in result.to_json(indent=2)


def test_states_that_json_does_not_know_are_written_as_text():
    days = [datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)]
    bandit = CausalBandit(dag([("X", "Y")]), reward="Y", arms=[do(X=day) for day in days], states={"X": days})
    told = json.loads(LUCB(bandit).tell(do(X=days[1]), {"Y": 1}).result().to_json())
    assert told["recommendation"] == {"X": "2026-01-02"}


def test_in_jupyter_it_is_a_table():
    html = studied()._repr_html_()
    assert html.count("<tr") == 5
    assert "do(Smoker=False, Pollution=low)" in html or "do(Pollution=low, Smoker=False)" in html


def test_what_people_keep_can_be_cloned():
    """Policies and estimators, by scikit-learn: the parameters and nothing that was learned."""
    estimator = AdmissibleSequence("paper", alpha=2.0)
    assert clone(estimator).get_params() == estimator.get_params()
    bandit = CausalBandit(dag([("X", "Y")]), reward="Y", arms=[do(X=0), do(X=1)])
    policy = PooledCCPE(bandit, epsilon=0.2, guarantee="direct").tell(do(X=1), {"X": 1, "Y": 1})
    fresh = clone(policy)
    assert (fresh.n_plays, policy.n_plays) == (0, 1)
    assert fresh.get_params()["guarantee"] == "direct"
