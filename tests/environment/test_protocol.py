"""Whatever performs actions is an environment, in each form in which samples may come."""

import pytest
from pgmpy.base import DAG

from pgcpe import LUCB, CausalBandit, Environment, do


def bandit():
    return CausalBandit(DAG([("X", "Y")]), reward="Y", arms=[do(X=0), do(X=1)])


class Form:
    """A person with a form to fill in: Y = X."""

    def __init__(self, as_told):
        self.as_told, self.performed = as_told, []

    def perform(self, actions):
        self.performed += actions
        return self.as_told([{"X": action["X"], "Y": action["X"]} for action in actions])


@pytest.mark.parametrize(
    "as_told",
    [
        list,
        lambda rows: {name: [row[name] for row in rows] for name in ("X", "Y")},
        lambda rows: pytest.importorskip("pandas").DataFrame(rows),
    ],
    ids=["dicts", "columns", "frame"],
)
def test_a_laboratory_answers_in_any_form(as_told):
    environment: Environment = Form(as_told)
    result = LUCB(bandit(), epsilon=0.1).run(environment, progress=False)
    assert (result.recommendation, result.certificate) == (do(X=1), "direct")
    assert result.n_plays == len(environment.performed)
