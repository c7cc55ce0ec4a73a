"""Checking a causal graph against plays: which of its statements they refute, and what would explain that."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from pgcpe.confidence.independence import chi_square_p_value
from pgcpe.confidence.intervals import probability
from pgcpe.estimators.graph_changes import Change, Explanation, explanations_of, unnoticed
from pgcpe.estimators.graph_statements import Statement, statements_of
from pgcpe.estimators.graph_test import GraphTest, StatementCounts
from pgcpe.graphs.bitsets import bit_graph
from pgcpe.graphs.states import shown
from pgcpe.graphs.structure import State, States, checked_graph, latents_of, states_of
from pgcpe.plays.actions import Action, with_states
from pgcpe.plays.encoding import Encoder, as_frame
from pgcpe.plays.frames import labels_of
from pgcpe.plays.samples import Coding
from pgcpe.plotting import plot_doubts

__all__ = ["GraphCheck", "GraphQuestion", "check_graph", "looks"]

FIRST_LOOK, GROWTH = 20, 1.02
"""The e-values of a log are looked at after so many plays, and whenever these have grown by the factor."""

LARGEST = 700.0
"""Of an e-value no larger log is shown."""

SHOWN = 5


@dataclass(frozen=True)
class GraphQuestion:
    """What an encoder needs to know of a graph when all its recorded variables are wanted and there is no reward."""

    graph: nx.DiGraph
    states: States
    coding: Coding
    reward_array: None = None
    factors: tuple[()] = ()

    @property
    def required(self) -> tuple[str, ...]:
        """All variables of the coding."""
        return self.coding.variables

    def action(self, action: Action | str) -> Action:
        """Return an action on observed variables, with the states of the graph."""
        found = with_states(action, self.states)
        if hidden := sorted(latents_of(self.graph).intersection(found)):
            raise ValueError(f"{found} sets {', '.join(hidden)}, which is latent and cannot be set")
        return found

    @classmethod
    def of(cls, graph: nx.DiGraph, states: Mapping[str, Sequence[State]] | None, columns: Iterable[Any]) -> Any:
        """Return the question for the observed variables among some columns."""
        known, checked = states_of(graph, states), checked_graph(graph)
        named = {str(column) for column in columns}
        recorded = tuple(v for v in checked if v in named and v not in latents_of(checked))
        if len(recorded) < 2:
            raise ValueError(
                "the data must have columns for two or more observed variables of the graph, "
                f"{shown(*(v for v in checked if v not in latents_of(checked)), show=str)}, "
                f"but have [{shown(*sorted(named))}]"
            )
        return cls(checked, known, Coding(recorded, tuple(tuple(known[v]) for v in recorded)))


@dataclass(frozen=True, repr=False, eq=False)
class GraphCheck:
    """What plays say of a graph.

    Attributes
    ----------
    graph
        The graph.
    level
        A right graph is refuted with probability at most this.
    n_plays
        The number of plays.
    refuted
        Whether the graph is refuted: the combined e-value has reached 1/level.
    combined
        The highest value of the weighted sum of all e-values; under a right graph it ever exceeds c with probability at
        most 1/c.
    statements
        One row a statement, the strongest evidence first: statement, kind, variable, other, given, plays (those that
        count for it), e_value, highest (its running maximum), p_value (chi-square, times the number of statements
        tested), verdict: ``"refuted"`` by itself, ``"most doubtful"`` where the graph is refuted and no statement by
        itself, ``"consistent"``, or ``"not tested"`` where no plays could tell.
    explanations
        The changes of the graph that would explain what was refuted, those that explain most first.
    dropped
        How many plays were left out for a missing value, by variable.
    """

    graph: nx.DiGraph
    level: float
    n_plays: int
    refuted: bool
    combined: float
    statements: pd.DataFrame
    explanations: tuple[Explanation, ...]
    dropped: dict[str, int] = field(default_factory=dict)
    recorded: tuple[str, ...] = ()
    made: tuple[Statement, ...] = ()

    @property
    def p_value(self) -> float:
        """The least p-value of the table: for a log of a length fixed beforehand, of plays that were."""
        return float(self.statements["p_value"].min()) if len(self.statements) else 1.0

    @property
    def doubtful(self) -> list[Statement]:
        """The statements refuted, or the most doubtful one of a refuted graph, the strongest first."""
        return [self.made[i] for i in self.statements.index[self.statements["verdict"].isin(DOUBTED)]]

    @cached_property
    def untestable(self) -> tuple[Change, ...]:
        """The edges and hidden causes that may be missing without making any statement false that was tested.

        Effects that an edge of the graph does not have are no errors: a graph with a superfluous edge is right.
        """
        tested = [self.made[i] for i in self.statements.index[self.statements["verdict"] != "not tested"]]
        return unnoticed(bit_graph(self.graph), tested, self.recorded)

    @property
    def summary(self) -> str:
        """Whether the graph is refuted, by which statement, what would explain it, and what was not tested."""
        n = len(self.statements)
        tested = int((self.statements["verdict"] != "not tested").sum())
        said = f"{self.n_plays:,} plays, {tested} of {n} statements of the graph tested"
        if not tested:
            return f"Nothing is tested: {said}."
        value = f"combined e-value {_number(self.combined)}, {1 / self.level:g} would refute it"
        if not self.refuted:
            text = f"Not refuted at level {self.level:g}: {said}; {value}."
        else:
            first = self.statements.iloc[0]
            text = (
                f"Refuted at level {self.level:g}: {said}; combined e-value {_number(self.combined)}.\n"
                f"{'Most doubtful' if first.verdict == DOUBTED[1] else 'Refuted'}: {first.statement} "
                f"(e-value {_number(first.highest)}, {first.plays:,} plays)"
            )
            if more := len(self.doubtful) - 1:
                text += f", and {more} more"
            text += "."
            if self.explanations:
                text += f"\nIt would be explained by {'; or '.join(map(str, self._best()))}."
        return f"{text}\nChi-square, Bonferroni: p = {self.p_value:.3g}, for a log whose length and plays were fixed."

    def _best(self) -> list[Explanation]:
        return [e for e in self.explanations if e.rank[:3] == self.explanations[0].rank[:3]][:SHOWN]

    def to_string(self, rows: int = 10) -> str:
        """Return the summary and the first rows of the table."""
        return f"{self.summary}\n\n{self._table(rows).to_string(index=False)}{self._more(rows)}"

    def __repr__(self) -> str:
        return self.to_string()

    def _repr_html_(self) -> str:
        table = self._table(20).to_html(index=False, border=0)
        return f"<p>{escape(self.summary).replace(chr(10), '<br>')}</p>{table}<p>{self._more(20).strip()}</p>"

    def _table(self, rows: int) -> pd.DataFrame:
        some = self.statements.head(max(rows, 1))
        return pd.DataFrame(
            {
                "statement": some["statement"],
                "plays": some["plays"],
                "e-value": some["e_value"].map(_number),
                "highest": some["highest"].map(_number),
                "p (Bonferroni)": some["p_value"].map("{:.3g}".format),
                "verdict": some["verdict"],
            }
        )

    def _more(self, rows: int) -> str:
        left = len(self.statements) - max(rows, 1)
        return f"\n... and {left} more {'statement' if left == 1 else 'statements'}" if left > 0 else ""

    def plot(self, ax: Any = None) -> Any:
        """Draw the graph, with a dashed line between the variables of every doubtful statement; return the axes."""
        doubts: dict[tuple[str, str], str] = {}
        for statement in self.doubtful:
            if statement.other is not None:
                first, second = sorted((statement.variable, statement.other))
                doubts.setdefault((first, second), f"{statement.kind}")
        title = self.summary.split("\n")[0]
        return plot_doubts(list(self.graph.edges), latents_of(self.graph), doubts, title=title, ax=ax)


DOUBTED = ("refuted", "most doubtful")


def check_graph(
    graph: nx.DiGraph,
    data: Any,
    actions: Action | str | Sequence[Action | str] | None = None,
    *,
    level: float = 0.05,
    states: Mapping[str, Sequence[State]] | None = None,
    playable: Iterable[Action | str] | None = None,
    missing: str = "raise",
) -> GraphCheck:
    """Return what plays say of a graph: which of its statements they refute.

    A graph without an edge between two variables says that some others separate them; one without an edge or a hidden
    cause says that setting one leaves the other, given some, as it is; and it may say that two actions have the same
    effect. Every such statement has an e-value (`pgcpe.confidence.independence.log_evidence`), and their weighted sum
    refutes the graph at 1/level: on a right graph with probability at most `level`, whenever one looks and whatever
    chose the actions.

    Parameters
    ----------
    graph
        A pgmpy ``DAG`` or network with its latents, or an ``ADMG``.
    data
        `Samples`, a frame, or dicts, with one row a play, in the order of the plays. Observed variables without a
        column are left out of all statements.
    actions
        The action of all rows or one for each; by default those that the index names, as `Samples.to_frame` writes it,
        else all rows are passive observations.
    level
        The probability of refuting a right graph, in (0, 1).
    states
        The states of the variables of a bare graph, 0 and 1 for those not named.
    playable
        The actions that might have been played; by default those that were. The weights of the statements rest on
        them: where results decided which actions were played at all, name all that were possible.
    missing
        ``"raise"``, or ``"drop"``: rows that lack the value of a recorded variable are left out.

    Raises
    ------
    ValueError
        If the data do not fit the graph, or have columns for fewer than two of its observed variables.

    Examples
    --------
    >>> from pgcpe import SimulatedEnvironment, check_graph, do, load_network
    >>> network = load_network("asia")
    >>> log = SimulatedEnvironment(network, seed=0).sample(do(), 2000).to_frame()
    >>> check_graph(network, log).refuted
    False
    >>> from pgmpy.base import DAG
    >>> graph = DAG([edge for edge in network.edges if edge != ("smoke", "bronc")])
    >>> check = check_graph(graph, log, states=network.states)
    >>> check.refuted, str(check.explanations[0].change)
    (True, 'an edge bronc -> smoke')
    """
    probability("level", level)
    frame = as_frame(data)
    if actions is None and labels_of(frame) is None:
        actions = Action()
    question = GraphQuestion.of(graph, states, frame.columns)
    encoder = Encoder(question)
    samples = encoder.encode(actions, frame, missing=missing)
    possible = samples.actions if playable is None else [question.action(a) for a in playable]
    possible = list(dict.fromkeys(possible))
    variables = question.coding.variables
    statements = statements_of(question.graph, question.states, possible, variables=variables)
    counts = StatementCounts(question.graph, statements, question.states, question.coding, possible)
    test = GraphTest(counts)
    for start, end in looks(len(samples)):
        test.look(samples.rows(slice(start, end)))
    return _checked(question, test, level, dict(encoder.dropped))


def looks(n: int, first: int = FIRST_LOOK, growth: float = GROWTH) -> list[tuple[int, int]]:
    """Return the first play and the one after the last of every look at a log of n plays."""
    ends, at = [], 0
    while at < n:
        at = min(n, max(first, math.ceil(at * growth), at + 1))
        ends.append(at)
    return list(zip([0, *ends], ends, strict=False))


def _checked(question: GraphQuestion, test: GraphTest, level: float, dropped: dict[str, int]) -> GraphCheck:
    """Return what a test has found."""
    table = statement_table(test, level)
    order = table.index
    made = test.counts.statements
    doubted = [made[i] for i in order[table["verdict"].isin(DOUBTED)]]
    others = [made[i] for i in order[table["verdict"] == "consistent"]]
    recorded = question.coding.variables
    explained = explanations_of(bit_graph(question.graph), doubted, others, recorded) if doubted else []
    return GraphCheck(
        graph=question.graph,
        level=level,
        n_plays=test.n_plays,
        refuted=test.is_refuted(level),
        combined=math.exp(min(test.combined, LARGEST)),
        statements=table,
        explanations=tuple(explained),
        dropped=dropped,
        recorded=recorded,
        made=made,
    )


def statement_table(test: GraphTest, level: float) -> pd.DataFrame:
    """Return the table of `GraphCheck`."""
    counts, made = test.counts, test.counts.statements
    tables = [counts.table(i) for i in range(len(made))]
    tells = np.array([bool((np.count_nonzero(t.sum(axis=2), axis=1) > 1).any()) for t in tables], dtype=np.bool_)
    p_values = np.array([chi_square_p_value(t) for t in tables])
    named = set(test.named(level).tolist())
    weighed = np.log(test.weights) + test.highest if len(made) else test.highest
    verdict = np.where(tells, "consistent", "not tested").astype(object)
    verdict[sorted(named)] = DOUBTED[0]
    if test.is_refuted(level) and not named:
        verdict[int(weighed.argmax())] = DOUBTED[1]
    table = pd.DataFrame(
        {
            "statement": [str(s) for s in made],
            "kind": [s.kind for s in made],
            "variable": [s.variable for s in made],
            "other": [s.other or "" for s in made],
            "given": [", ".join(s.given) for s in made],
            "plays": np.array([t.sum() for t in tables], dtype=int),
            "e_value": np.exp(np.minimum(test.now, LARGEST)),
            "highest": np.exp(np.minimum(test.highest, LARGEST)),
            "p_value": np.minimum(p_values * max(int(tells.sum()), 1), 1.0),
            "verdict": verdict,
        }
    )
    return table.iloc[np.lexsort((-weighed, ~tells))]


def _number(value: float) -> str:
    """Return an e-value as it is shown."""
    return f"{value:.3g}" if value < 1e4 else f"1e{math.floor(math.log10(value))}"
