"""Uniform sampling goes round."""

from policies.fixed_budget.four_arms import play, question

from pgcpe import UniformSampling, do


def test_uniform_sampling_goes_round():
    policy = UniformSampling(question(), budget=10, seed=3)
    performed = play(policy, [[0], [0, 1], [1], [0]])
    assert len(performed) == 10
    assert sorted(performed[:4]) == [0, 1, 2, 3]
    assert performed[4:8] == performed[:4]
    assert performed[8:] == performed[:2]
    assert policy.recommendation == do(X=2)
    assert policy.certificate is None
    assert policy.ask() == []
