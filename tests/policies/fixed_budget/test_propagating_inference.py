"""Propagating inference: its cells and shares by hand, and the shares it optimises."""

import numpy as np
import pytest
from helpers import dag
from scipy.optimize import minimize

from pgcpe import CausalBandit, PropagatingInference, TableModel, do, interventions
from pgcpe.policies.fixed_budget.propagating_inference import cell_probabilities, minimax_shares

CHAIN = dag([("A", "B"), ("B", "Y")])


def question(**options):
    given = {"reward": "Y", "arms": [do(A=0), do(A=1), do(B=0), do(B=1)]}
    return CausalBandit(CHAIN, **(given | options))


def test_phase_one_goes_through_the_cells_in_causal_order():
    """C = 1 + 2 + 2 = 5 cells, T = 45: three plays a cell in phase 1, six in phase 2."""
    policy = PropagatingInference(question(), budget=45, seed=0)
    asked = []
    while len(asked) < 5:
        actions = policy.ask()
        assert len(set(actions)) == 1
        assert len(actions) == 3
        asked.append(actions[0])
        policy.tell(actions, [{"A": a.get("A", 1), "B": a.get("B", 1), "Y": 1} for a in actions])
    root, *rest = asked
    assert root in (do(B=0), do(B=1))  # leaves A free
    assert rest[:2] == [do(A=0), do(A=1)]  # under which A is 0, and 1, for sure
    assert rest[2] == do(B=0)
    assert rest[3] == do(B=1)  # do(A=.) was seen to give B=1 too, but it has more plays
    second = policy.ask()
    assert len(second) == 30
    assert all(second.count(a) == 6 * asked.count(a) for a in set(asked))
    policy.tell(second, [{"A": a.get("A", 1), "B": a.get("B", 1), "Y": a.get("B", 1)} for a in second])
    assert policy.stopped
    assert policy.n_plays == 45
    assert policy.recommendation != do(B=0)


def test_shares_below_one_play_are_rounded_cumulatively():
    for budget in (1, 2, 7, 10, 31, 100):
        for eta in ("cells", "optimised"):
            policy = PropagatingInference(question(), budget=budget, eta=eta, seed=1)
            while not policy.stopped:
                a = policy.ask()[0]
                policy.tell(a, {"A": a.get("A", 0), "B": a.get("B", 1), "Y": 0})
            assert policy.n_plays == budget


def test_cell_probabilities_leave_out_what_is_set():
    bandit = question().recording(["A", "B"])
    model = TableModel(0).start(bandit)
    model.update(bandit.encode(do(), [{"A": int(i < 3), "B": int(i < 3), "Y": 1} for i in range(4)]))
    assert cell_probabilities(model, 0).tolist() == [[0], [0], [1], [1]]
    assert cell_probabilities(model, 1) == pytest.approx(np.array([[1, 0], [0, 1], [0, 0], [0, 0]]))
    assert cell_probabilities(model, 2) == pytest.approx(np.array([[1, 0], [0, 1], [1, 0], [0, 1]]))


def test_the_optimised_shares_are_nearly_optimal():
    rng = np.random.default_rng(0)
    for _ in range(5):
        likely = rng.dirichlet(np.ones(5), size=6) * (rng.random((6, 1)) > 0.1)

        def value(eta, likely=likely):
            return (likely**2 @ (1 / (eta @ likely))).max()

        found = minimax_shares(likely)
        assert found.min() >= 0
        assert found.sum() == pytest.approx(1)
        best = min(
            minimize(
                lambda z: z[-1],
                np.append(start, 10.0),
                constraints=[
                    {"type": "eq", "fun": lambda z: z[:-1].sum() - 1},
                    {"type": "ineq", "fun": lambda z, p=likely: z[-1] - p**2 @ (1 / (z[:-1] @ p))},
                ],
                bounds=[(1e-6, 1)] * 6 + [(0, None)],
                method="SLSQP",
            ).fun
            for start in rng.dirichlet(np.ones(6), size=4)
        )
        assert value(found) <= 1.02 * best


def test_errors():
    with pytest.raises(ValueError, match="eta must be one of 'cells', 'optimised', but got 'best'"):
        PropagatingInference(question(), budget=10, eta="best")
    hidden = dag([("X", "Y"), ("U", "X"), ("U", "Y")], {"U"})
    bandit = CausalBandit(hidden, reward="Y", arms=interventions(hidden, reward="Y", size=1))
    with pytest.raises(ValueError, match="U is hidden"):
        PropagatingInference(bandit, budget=10)


def test_a_treatment_without_effect_still_sets_its_node():
    """do(A=0, B=b) is worth do(B=b), and yet shows nothing of A: such an arm is no choice for the row of A."""
    arms = [do(A=0, B=0), do(A=0, B=1), do(A=1)]
    bandit = question(arms=arms).recording(["A", "B"])
    model = TableModel(0).start(bandit)
    assert cell_probabilities(model, 0).tolist() == [[0], [0], [0]]
    policy = PropagatingInference(question(arms=[*arms, do(B=0)], merge_equal=False), budget=30, seed=0)
    assert set(policy.ask()) == {do(B=0)}
