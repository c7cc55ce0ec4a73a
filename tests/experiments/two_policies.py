"""Two policies on a small question, for the tests of experiments."""

from functools import partial

from pgcpe import LUCB, SuccessiveRejects
from pgcpe.paper import parallel

POLICIES = {"LUCB": partial(LUCB, epsilon=0.1), "SR": SuccessiveRejects}


def instance(seed):
    question = parallel([0.5, 0.4], [0.4, 0.1], 0.2)
    return question.bandit, question.environment(seed)
