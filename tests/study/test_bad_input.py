"""What a study refuses, what it says, and that it is afterwards as it was before."""

import re

import numpy as np
import pandas as pd
import pytest
from pgmpy.base import DAG
from study.questions import dosage

from pgcpe import LUCB, CausalBandit, Policy, Study, do
from pgcpe.policies.rules import SeparatedIntervals, TwoCandidates

CURED, NOT = {"cured": "yes"}, {"cured": "no"}


def frame(**columns):
    return pd.DataFrame(columns)


BAD = {
    "an unknown play": (lambda s: s.tell(9, CURED), "there is no play 9: the last one is 6"),
    "play zero": (lambda s: s.tell(0, CURED), "there is no play 0"),
    "an id that is none": (lambda s: s.tell("third", CURED), "an id must be the number that ask gave the play"),
    "an id that is half": (lambda s: s.tell(2.5, CURED), "an id must be the number"),
    "an id that is missing": (lambda s: s.tell(frame(id=[3, None], cured=["yes", "no"])), "an id must be the number"),
    "no id": (lambda s: s.tell(frame(ID=[3], cured=["yes"])), "must have a column id, .* did you mean 'ID'"),
    "an id twice": (lambda s: s.tell(frame(id=[3, 3], cured=["yes", "no"])), r"in one row, but \[3\] come twice"),
    "a column twice": (
        lambda s: s.tell(pd.DataFrame([[3, "yes", "no"]], columns=["id", "cured", "cured"])),
        r"distinct columns, but \['cured'\] come twice",
    ),
    "columns of numbers": (lambda s: s.tell(pd.DataFrame([[3, 1]], columns=["id", 0])), "must be named by text"),
    "no reward": (lambda s: s.tell(3, {"dose": "low"}), r"must have the columns \['cured'\]|has no value for cured"),
    "a missing reward": (lambda s: s.tell(3, {"cured": None}), "has no value for cured"),
    "an empty reward": (
        lambda s: s.tell(frame(id=[3, 4], cured=["", "no"])),
        "play 3 has no value for cured: record it",
    ),
    "NaN": (lambda s: s.tell(3, {"cured": np.nan}), "has no value for cured"),
    "an unknown state": (lambda s: s.tell(3, {"cured": "perhaps"}), "the states 'no', 'yes', but got 'perhaps'"),
    "an infinite reward": (lambda s: s.tell(3, {"cured": np.inf}), "the states 'no', 'yes', but got inf"),
    "a list for a state": (lambda s: s.tell(3, {"cured": ["yes"]}), "must hold states, one value each"),
    "a state that contradicts the action": (
        lambda s: s.tell(3, {**CURED, "dose": "high" if s.pending[0].action["dose"] == "low" else "low"}),
        "contradicts its action",
    ),
    "another action": (
        lambda s: s.tell(
            frame(id=[3], action=["do(dose=high, diet=none)"], cured=["yes"]).assign(action=str(s.pending[1].action))
        ),
        "are rows mixed up",
    ),
    "an action that is none": (lambda s: s.tell(frame(id=[3], action=["dose up"], cured=["yes"])), "an action must be"),
    "a column of the study": (lambda s: s.tell(frame(id=[3], cured=["yes"], until=["May"])), "rename them"),
    "fewer rows than ids": (lambda s: s.tell([3, 4], [CURED]), "got 2 ids and 1 rows"),
    "ids twice over": (lambda s: s.tell([3], frame(id=[3], cured=["yes"])), "the rows name ids of their own"),
    "no values": (lambda s: s.tell(3), r"study\.tell\(id, \{variable: state\}\)"),
    "values that are none": (lambda s: s.tell(3, "yes"), "must be"),
    "one good row and one bad": (lambda s: s.tell([3, 4], [CURED, {"cured": "?"}]), "but got '?'"),
    "told otherwise": (lambda s: s.tell(1, NOT), "told before with other values"),
    "told otherwise beside a new one": (lambda s: s.tell([3, 1], [CURED, NOT]), "told before with other values"),
    "withdrawn and told again": (lambda s: s.tell(2, CURED), "told before with other values .* it was withdrawn"),
    "a person that is a number": (lambda s: s.tell(3, CURED, by=7), "by must be a name, but got 7"),
    "no plays": (lambda s: s.ask(0), "n must be an integer of at least 1"),
    "half a play": (lambda s: s.ask(1.5), "n must be an integer of at least 1"),
    "a lease in words": (lambda s: s.ask(1, lease="soon"), "lease must be a length of time"),
    "a lease that is over": (lambda s: s.ask(1, lease="-1 day"), "lease must be longer than nothing"),
    "a lease without a unit": (lambda s: s.ask(1, lease=3), "lease must be a timedelta or a text"),
    "cancelled though told": (lambda s: s.cancel(1), r"play 1 is told: study\.withdraw\(1, reason\)"),
    "cancelled with one told": (lambda s: s.cancel([3, 1]), "play 1 is told"),
    "cancelled twice": (lambda s: s.cancel(5), "play 5 is cancelled"),
    "cancelled for no reason": (lambda s: s.cancel(3, "tired"), "reason must be one of 'not performed', 'lost'"),
    "withdrawn though pending": (lambda s: s.withdraw(3, "lost"), r"play 3 is pending: study\.cancel\(3\)"),
    "withdrawn twice": (lambda s: s.withdraw(2, "lost"), "play 2 is withdrawn"),
    "withdrawn for no reason": (lambda s: s.withdraw(1, "too low"), "reason must be one of 'lost', 'invalid before"),
    "amended though pending": (lambda s: s.amend(3, CURED, "typo"), "play 3 is pending"),
    "amended though withdrawn": (lambda s: s.amend(2, CURED, "typo"), "play 2 is withdrawn"),
    "amended without a reason": (lambda s: s.amend(1, NOT, " "), "reason must say why"),
    "amended to what it is": (lambda s: s.amend(1, CURED, "typo"), "has these values already"),
    "amended what it set": (
        lambda s: s.amend(1, {"dose": "low" if "high" in s.to_frame()["action"][0] else "high"}, "typo"),
        "contradicts its action",
    ),
    "amended another column": (lambda s: s.amend(1, {"cureed": "no"}, "typo"), "did you mean 'cured'"),
    "amended to no state": (lambda s: s.amend(1, {"cured": "half"}, "typo"), "but got 'half'"),
    "a log without actions": (lambda s: s.import_log(frame(cured=["yes"])), "give the actions of the plays"),
    "a log without the reward": (lambda s: s.import_log(frame(dose=["low"]), do()), r"lack \['cured'\]"),
    "a log of another reward": (lambda s: s.import_log(frame(cured=["?"]), do()), "but got '?'"),
    "a log that is no file": (lambda s: s.import_log("nothing.csv"), "No such file"),
    "a log of too many actions": (lambda s: s.import_log(frame(cured=["yes"]), [do(), do()]), "got 2 actions for 1"),
}


@pytest.fixture
def study(tmp_path):
    """Play 1 is told, 2 withdrawn, 3, 4 and 6 are pending, 5 is cancelled."""
    study = Study.create(tmp_path / "trial.pgcpe", dosage())
    study.ask(6)
    study.tell([1, 2], [CURED, NOT])
    study.withdraw(2, "lost")
    study.cancel(5)
    return study


def known(study):
    return study.to_frame().to_csv(), study.policy.ask(), study.policy.history.to_csv(), study.policy.recommendation


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_and_changes_nothing(study, name):
    attempt, said = BAD[name]
    path = study._replay.journal.path
    before, content = known(study), path.read_bytes()
    with pytest.raises((ValueError, TypeError, OSError)) as refused:
        attempt(study)
    assert re.search(said, str(refused.value)), str(refused.value)
    assert path.read_bytes() == content
    assert known(study) == before
    assert known(Study.open(path)) == before


def bandit(**options):
    graph = DAG([("dose", "cured")])
    given = {"reward": "cured", "arms": [do(dose=0), do(dose=1)], **options}
    return CausalBandit(graph, **given)


def odd_states():
    states = {"dose": [("a", 1), ("b", 2)]}
    return bandit(states=states, arms=[do({"dose": ("a", 1)}), do({"dose": ("b", 2)})])


def reserved():
    graph = DAG([("state", "Y")])
    return CausalBandit(graph, reward="Y", arms=[do(state=0), do(state=1)])


class Mine(LUCB):
    """A policy of one's own."""


CREATED = {
    "no policy": (lambda p: Study.create(p, bandit()), "policy must be a policy"),
    "one of one's own": (lambda p: Study.create(p, Mine(bandit())), "must be one of PooledCCPE, CCPE"),
    "one composed of parts": (
        lambda p: Study.create(p, Policy(bandit(), sampling=TwoCandidates(), stopping=SeparatedIntervals())),
        "must be one of PooledCCPE, CCPE",
    ),
    "one that was told something": (
        lambda p: Study.create(p, LUCB(bandit()).tell(do(dose=0), {"cured": 1})),
        r"told 1 plays: study\.import_log",
    ),
    "no seed": (lambda p: Study.create(p, LUCB(bandit(), seed=None)), "a seed that can be written down"),
    "a generator for a seed": (
        lambda p: Study.create(p, LUCB(bandit(), seed=np.random.default_rng(0))),
        "but seed is Generator",
    ),
    "states that are no text": (lambda p: Study.create(p, LUCB(odd_states())), "states that are text, numbers or true"),
    "a variable named as a column": (lambda p: Study.create(p, LUCB(reserved())), "named state: rename"),
    "no plays at all": (lambda p: Study.create(p, LUCB(bandit()), max_plays=0), "max_plays must be an integer of at"),
    "a cost below 0": (lambda p: Study.create(p, LUCB(bandit()), max_cost=-1), "max_cost must be positive"),
    "a cost in words": (lambda p: Study.create(p, LUCB(bandit()), max_cost="much"), "max_cost must be a number"),
    "a time in words": (lambda p: Study.create(p, LUCB(bandit()), until="soon"), "until must be a time"),
    "a year for a time": (lambda p: Study.create(p, LUCB(bandit()), until=2026), "until must be a time"),
}


@pytest.mark.parametrize("name", CREATED)
def test_what_cannot_be_written_down_makes_no_file(tmp_path, name):
    attempt, said = CREATED[name]
    with pytest.raises((ValueError, TypeError), match=said):
        attempt(tmp_path / "trial.pgcpe")
    assert list(tmp_path.iterdir()) == []
