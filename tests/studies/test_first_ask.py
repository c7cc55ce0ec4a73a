"""The question of a hundred thousand arms, and the script that times it."""

import json

import numpy as np
import pytest
from helpers import benchmark

from pgcpe import admissible_sequence, interventions, load_network
from pgcpe.graphs.structure import causal_order


def test_the_large_network_is_what_it_says():
    module = benchmark("large")
    network = module.large_network()
    assert len(set(network) - network.latents) == 50
    assert network.latents == {"U0", "U1", "U2", "U3"}
    assert causal_order(network)[-1] == module.REWARD
    assert all(network.in_degree(v) <= module.MOST_PARENTS + 4 for v in network)
    states = {v: len(network.get_cpds(v).state_names[v]) for v in network}
    assert set(states.values()) == {2, 3}
    arms = interventions(network, reward=module.REWARD, variables=module.SETTABLE, max_size=3)
    assert len(arms) == 100_419
    assert network.get_cpds("V20").values.sum(axis=0) == pytest.approx(1)
    again = module.large_network()
    assert sorted(again.edges) == sorted(network.edges)
    assert np.array_equal(again.get_cpds("V20").values, network.get_cpds("V20").values)
    assert set(module.large_network(1).edges) != set(network.edges)


def test_it_is_read_from_a_file_as_it_was_written(tmp_path):
    large, script = benchmark("large"), benchmark("first_ask")
    script.write_large(tmp_path / "large.bif")
    network, written = load_network(tmp_path / "large.bif", latents=large.LATENTS), large.large_network()
    assert sorted(network.edges) == sorted(written.edges)
    question = ["V20", "V30"]
    found = admissible_sequence(network, question, large.REWARD)
    assert found == admissible_sequence(written, question, large.REWARD)
    assert found is not None


@pytest.mark.slow
def test_a_small_question_is_timed_stage_by_stage():
    script = benchmark("first_ask")
    asia = script.Question("asia", "dysp", "no", {"max_size": 1})
    row = script.in_a_process(asia, "LUCB", 60.0)
    assert (row["listed"], row["arms"]) == ("15", "13")
    stages = ["import", "load", "interventions", "bandit", "identified", "construct", "ask"]
    assert float(row["total"]) == pytest.approx(sum(float(row[s]) for s in stages), abs=0.05)
    assert float(script.in_a_process(asia, "none", 60.0)["bytes an arm"]) > 100
    assert script.in_a_process(asia, "LUCB", 0.01) == {"total": "over 0.01 s"}
    assert script.Question(*json.loads(json.dumps(asia))) == asia._replace(latents=[])
