"""The page of a study: complete, self-contained, and what users wrote is text in it."""

import math
import re
from html.parser import HTMLParser

import pytest
from study.questions import cancer, dosage, run

from pgcpe import LUCB, CausalBandit, PooledCCPE, Study, do
from pgcpe.cli.main import main
from pgcpe.plays.reward_scale import RewardScale
from pgcpe.study.report import _beside, report

EMPTY = {"meta", "path", "rect", "br"}


class Page(HTMLParser):
    """What a browser sees: tags with their attributes, and text; whether all that is opened is closed."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self._open = [], [], []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in EMPTY:
            self._open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open and self._open[-1] != "style":
            self.words.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.words))


@pytest.fixture
def study(tmp_path):
    policy, environment = cancer(epsilon=0.1)
    study = Study.create(tmp_path / "trial.pgcpe", policy, max_plays=10_000)
    run(study, environment, n=20, most=60)
    return study


def test_it_says_where_the_study_stands(study, tmp_path):
    play, other = study.ask(2, by="Ann")
    study.cancel(other.id, by="Bob")
    study.report(tmp_path / "page.html", needed=False)
    page, status = Page((tmp_path / "page.html").read_text(encoding="utf-8")), study.status()
    best = status.result.table.iloc[0]
    for said in (
        "trial.pgcpe",
        status.question,
        "Best so far",
        f"Expected reward {best.estimate:.3f}, between {best.lower:.3f} and {best.upper:.3f}",
        "It is not certified",
        f"Plays told {status.n_told:,}",
        "Asked for, not told yet 1",
        "Ends at the latest 10,000 plays",
        "Left out 1 cancelled, 0 withdrawn",
        "None: no plays contradict the graph",
        "Ann",
        "Bob",
    ):
        assert said in page.text, said
    for row in status.result.table.head(25).itertuples():
        assert f"{row.estimate:.3f} in [{row.lower:.3f}, {row.upper:.3f}]" in page.text
    assert play.id == study.pending[0].id  # a report changes nothing


def test_evidence_is_named_and_explained(study, tmp_path):
    page, table = Page(report(study.status())).text, study.status().result.table
    rows = table.dropna(subset=["nats"])
    assert len(rows)
    for row in rows.head(24).itertuples():
        assert f"evidence {row.nats:.1f} of {row.asked:.1f} asked" in page
    assert not re.search(r"nats: \d|asked: \d", page)
    assert "in nats: the logarithm of odds, of which 3 are about 20 to 1. As much as is asked rules it out." in page
    none = Study.create(tmp_path / "lucb.pgcpe", LUCB(dosage().bandit))
    assert "nats" not in Page(report(none.status())).text


def test_a_bound_has_the_decimals_of_the_reward():
    row = {"action": do(), "ruled out by": "bounds", "nats": math.inf, "bound": 16386.3774}
    assert _beside(row, RewardScale(0, 60_000)) == "ruled out by: bounds; bound: 16386"
    assert _beside(row | {"nats": 12.34, "bound": math.nan}, RewardScale()) == "ruled out by: bounds; evidence 12.3"


def test_it_needs_nothing_else(study):
    """No script, no style sheet, font, image or link, and nothing that a browser would fetch."""
    text = report(study.status())
    page = Page(text)
    kinds = {tag for tag, _ in page.tags}
    assert not kinds & {"script", "link", "img", "iframe", "object", "a", "form", "base"}
    names = {name for _, attributes in page.tags for name in attributes}
    assert not {name for name in names if name.startswith("on") or name in ("src", "href", "xlink:href", "srcset")}
    assert "url(" not in text.replace("url(#", "")
    assert "@import" not in text
    assert re.findall(r"https?://[^\"' <]+", text) == ["http://www.w3.org/2000/svg"]  # a name, not an address


def test_what_users_wrote_is_text(tmp_path):
    evil = '<script>alert("1")</script><img src=x onerror=alert(2)>&'
    study = Study.create(tmp_path / "a<b>&.pgcpe", dosage())
    for play in study.ask(4, by=evil):
        study.tell(play.id, {"cured": "no"}, by=evil)
    study.withdraw(1, "outcome disputed", by=evil, note=evil)
    text = report(study.status())
    page = Page(text)
    assert not {"script", "img"} & {tag for tag, _ in page.tags}
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert evil in "".join(page.words)
    assert "a<b>&.pgcpe" in "".join(page.words)
    assert "some were withdrawn: see the notes" in page.text
    assert "Withdrawn, outcome disputed: 1" in page.text
    assert study.status().people["last"].iloc[0][:4] in page.text
    assert " UTC" in page.text.split("Who did what")[1]


def test_names_of_the_question_are_text(tmp_path):
    from pgmpy.base import DAG

    graph = DAG([("<i>dose", "cured&"), ("<i>dose", '"z"'), ('"z"', "cured&")])
    states = {"<i>dose": ["<low>", "high"]}
    bandit = CausalBandit(
        graph, reward="cured&", arms=[do({"<i>dose": "<low>"}), do({"<i>dose": "high"})], states=states
    )
    study = Study.create(tmp_path / "odd.pgcpe", PooledCCPE(bandit))
    page = Page(report(study.status()))
    assert "i" not in {tag for tag, _ in page.tags}
    assert "<i>dose = " in page.text
    assert "E[cured& | do(<i>dose)]" in page.text


def test_a_certificate_and_what_it_rests_on(tmp_path):
    policy, environment = cancer(epsilon=0.2)
    study = Study.create(tmp_path / "trial.pgcpe", policy)
    run(study, environment)
    status = study.status()
    assert status.certificate == "asymptotic"
    page = Page(report(status))
    assert "Answer" in page.text
    assert "It is within 0.2 of the best with probability at least 0.95. Holds in the limit of many plays" in page.text
    for said in status.assumptions:
        assert said in page.text
    assert "Plays still needed, if the truth is like the estimate none" in page.text
    line = status.result.table["lower"].iloc[0] + 0.2
    beyond = int((status.result.table["upper"].iloc[1:] > line).sum())
    assert page.text.count(" plays, ruled out") + page.text.count("1 play, ruled out") == beyond
    assert " open" not in page.text.split("The interventions, best first")[1].split("The graph, with")[0]


def test_plays_and_costs_to_come(study):
    status = study.status(needed=True)
    page = Page(report(status))
    needed = status.needed
    assert f"about {needed.plays:,.0f} ({needed.low:,.0f} to {needed.high:,.0f} in eight of ten)" in page.text
    assert f"Cost to come about {needed.cost:,g}" in page.text


def test_conflicts_are_named(tmp_path):
    """Who recovers depends on severity, which the graph of the study does not know."""
    from pgmpy.base import DAG

    bandit = CausalBandit(DAG([("drug", "recovered")]), reward="recovered", arms=[do(drug=0), do(drug=1)])
    study = Study.create(tmp_path / "wrong.pgcpe", PooledCCPE(bandit, epsilon=0.05))
    seen = [{"drug": k % 2, "recovered": k % 2} for k in range(400)]
    study.import_log(seen, do())
    with pytest.warns(UserWarning, match="the graph is in doubt"):
        study.import_log([{"drug": 1, "recovered": 0}] * 60, do(drug=1))
    status = study.status()
    assert status.result.conflicts == (do(drug=1),)
    page = Page(report(status))
    assert "The plays contradict the graph at drug = 1" in page.text
    assert "Claims that need the graph are withdrawn" in page.text


def test_what_refuted_the_graph_is_named_and_survives_a_reopening(tmp_path):
    """By the graph age matters through the drug alone; of the second log it does not."""
    from pgmpy.base import DAG

    graph = DAG([("age", "drug"), ("drug", "recovered")])
    bandit = CausalBandit(graph, reward="recovered", arms=[do(drug=0), do(drug=1)])
    path = tmp_path / "tested.pgcpe"
    study = Study.create(path, PooledCCPE(bandit, check_graph=True, epsilon=0.05))
    study.import_log([{"age": k // 2 % 2, "drug": k % 2, "recovered": k % 2} for k in range(400)], do())
    assert study.status().certificate == "exact"
    rows = [{"age": k % 2, "drug": k // 2 % 2, "recovered": k % 2} for k in range(400)]
    with pytest.warns(UserWarning, match="the graph is refuted"):
        study.import_log(rows, do())
    said = study.status().result.refutation
    assert said.startswith("recovered is independent of age given drug")
    status = Study.open(path).status()
    assert status.certificate is None
    assert status.result.refutation == said
    assert "The plays refute the graph: recovered is independent of age" in Page(report(status)).text


def test_before_the_first_play_with_infinite_intervals(tmp_path):
    policy = dosage()
    study = Study.create(tmp_path / "new.pgcpe", LUCB(policy.bandit, radius="paper"))
    text = report(study.status())
    assert "inf" not in re.sub(r"[a-z]*inf[a-z]+", "", text)
    assert "nan" not in text
    assert Page(text).text.count("0.500 in [0.000, 1.000]") == 4


def test_in_jupyter_it_is_the_same(study):
    shown = study._repr_html_()
    assert shown in report(study.status())
    assert shown.startswith('<div class="pgcpe">')


def test_the_command_writes_it(study, tmp_path, capsys):
    path, page = str(tmp_path / "trial.pgcpe"), tmp_path / "page.html"
    assert main(["study", "report", path, str(page), "--quick"]) == 0
    assert capsys.readouterr().out == f"Written to {page}.\n"
    assert page.read_text(encoding="utf-8") == report(study.status())
    assert main(["study", "report", path, str(tmp_path / "nowhere" / "page.html")]) == 2
    assert "PAGE must name a file in a folder that exists" in capsys.readouterr().err
