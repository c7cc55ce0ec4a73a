"""What is told becomes codes, checked: actions, frames, dicts and samples, for whoever needs certain variables."""

from __future__ import annotations

import functools
import operator
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Protocol

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pgcpe._checks import one_of
from pgcpe._numba import njit
from pgcpe.graphs.bitsets import bit_graph
from pgcpe.graphs.states import did_you_mean, find_state, is_several, shown
from pgcpe.graphs.structure import States
from pgcpe.plays.actions import Action
from pgcpe.plays.frames import MISSING, Rows, encode_column, row_named, rows_told, told_actions
from pgcpe.plays.reward_scale import measured_shares
from pgcpe.plays.samples import Codes, Coding, ForcedCodes, Samples

__all__ = ["Encoder", "Question", "as_frame", "check_question"]

FEWEST_SELECTED = 50
"""In a log of fewer plays a variable may well have but one value by chance."""


class Question(Protocol):
    """What an encoder is for: a `CausalBandit`, or what stands for it where there is none."""

    @property
    def graph(self) -> nx.DiGraph:
        """The structure."""

    @property
    def states(self) -> States:
        """The states of every variable."""

    @property
    def coding(self) -> Coding:
        """The variables wanted, the reward last if there is one; beside them a reward that is measured."""

    @property
    def required(self) -> Collection[str]:
        """Which of them must be told, besides the reward; others are kept where they are."""

    @property
    def reward_array(self) -> NDArray[np.float64] | None:
        """The share of its range that each state of the reward is worth; None if there is no reward."""

    @property
    def factors(self) -> Collection[tuple[str, frozenset[str]]]:
        """The variables whose distribution given others is to be learned from passive plays."""

    def action(self, action: Action | str) -> Action:
        """Return an action with the states of the graph, or raise."""


class Encoder:
    """Turns what is told into `Samples` with the coding of a question, or raises: the one place where that is done.

    Parameters
    ----------
    question
        A `CausalBandit`.

    Attributes
    ----------
    dropped
        How many plays were dropped by ``missing="drop"``, by the variable that was missing.
    """

    def __init__(self, question: Question) -> None:
        check_question(question)
        self._question, self._coding = question, question.coding
        self._forced = ForcedCodes(self._coding.variables, self._coding.states)
        self._cards = np.array([len(states) for states in self._coding.states], dtype=np.int32)
        self._reward = None if question.reward_array is None else self._coding.columns[-1]
        self._needed = {*question.required, *(() if self._reward is None else (self._reward,))}
        self._optional = np.array([v not in self._needed for v in self._coding.variables], dtype=np.bool_)
        self._seen: tuple[Coding, NDArray[np.intp], list[tuple[int, NDArray[np.int32]]]] | None = None
        self.dropped: Counter[str] = Counter()

    def forced_codes(self, actions: Iterable[Action]) -> Codes:
        """Return the codes that actions force on the variables of the coding, -1 where they leave them free."""
        rows = self._forced.rows(actions)  # may lay out a larger table
        return self._forced.table[rows]

    def encode(self, actions: Any, samples: Any = None, *, missing: str = "raise") -> Samples:
        """Return what was told as samples with the coding of the question.

        Parameters
        ----------
        actions
            The action of all plays, or one for each; text is parsed. None where the samples name their own.
        samples
            `Samples`, a DataFrame, a dict {variable: state} or a list of such dicts, with the variables wanted; others
            are left out, and what an action sets need not be told. Samples that name their own actions may come alone,
            in the place of the actions.
        missing
            ``"raise"``, or ``"drop"``: plays that lack a value other than the reward are left out and counted.

        Raises
        ------
        ValueError
            If a column or a value is missing, a value is no state or contradicts its action, an action is not one on
            observed variables, or the numbers of actions and plays differ. The row is named.
        TypeError
            If `samples` or an action is of another type.

        Warns
        -----
        UserWarning
            When a log of passive plays has but one value of a variable in all rows that, selected on, would bias what
            is learned from them.
        """
        one_of("missing", missing, ("raise", "drop"))
        if samples is None:
            actions, samples = None, actions
        measured = self._coding.measured
        if isinstance(samples, Samples):
            distinct, which = self._own_actions(actions, samples)
            codes = self._columns(samples)
            rewards = None if measured is None else samples.measured(measured)
            self._check(codes, distinct, which, range(len(codes)))
        else:
            frame = as_frame(samples)
            distinct, which = rows_told(actions, frame, self._question.action)
            codes = self._codes(frame, distinct, which)
            rewards = None if measured is None else measured_shares(frame[measured.variable], measured)
            complete = np.flatnonzero(((codes >= 0) | self._optional).all(axis=1))
            lacking = Counter() if len(complete) == len(codes) else self._lacking(codes, frame, missing)
            codes, which = codes[complete], which[complete]
            rewards = None if rewards is None else rewards[complete]
            self._check(codes, distinct, which, complete)
            self._warn_if_selected(frame.iloc[complete], np.array([not a for a in distinct], dtype=np.bool_)[which])
            self.dropped += lacking
        if rewards is None and self._question.reward_array is not None:
            rewards = self._question.reward_array[codes[:, -1]]
        return Samples(self._coding, codes, distinct, which, rewards)

    # ------------------------------------------------------------------------------------------------------- frames

    def _codes(self, frame: pd.DataFrame, distinct: tuple[Action, ...], which: NDArray[np.intp]) -> Codes:
        """Return the codes of a frame's rows, what their actions set included; -1 where a value is missing."""
        variables, states = self._coding.variables, self._question.states
        if frame.columns.nlevels > 1:
            raise ValueError(
                f"columns must be named by variables, but have {frame.columns.nlevels} levels of names: "
                "frame.columns = frame.columns.get_level_values(0) keeps the first"
            )
        if not frame.columns.is_unique:
            twice = sorted({str(c) for c in frame.columns[frame.columns.duplicated()]})
            raise ValueError(f"the samples must have distinct columns, but [{shown(*twice)}] come twice")
        codes = self.forced_codes(distinct)[which]  # what an action sets need not be told
        absent = [v for j, v in enumerate(variables) if v not in frame.columns and (codes[:, j] < 0).any()]
        if self._coding.measured is not None and self._reward not in frame.columns:
            absent.append(self._coding.measured.variable)
        self._check_columns([v for v in absent if v in self._needed], frame.columns)
        for j, variable in enumerate(variables):
            if variable in frame.columns:
                told = self._told(frame[variable], j)
                codes[:, j] = np.where(told >= 0, told, codes[:, j])
        for variable in sorted(set().union(*distinct).difference(variables).intersection(frame.columns)):
            told = encode_column(frame[variable], states[variable], variable)
            forced = np.array(
                [find_state(states[variable], a[variable], variable) if variable in a else -1 for a in distinct]
            )
            if (wrong := (told >= 0) & (forced[which] >= 0) & (told != forced[which])).any():
                row = int(np.argmax(wrong))
                raise self._contradiction(row, variable, told[row], distinct[which[row]])
        return codes

    def _told(self, column: pd.Series[Any], j: int) -> NDArray[np.int32]:
        """Return the codes of a column, or raise; the message says how a measured reward is asked for."""
        variable = self._coding.variables[j]
        try:
            return encode_column(column, self._coding.states[j], variable)
        except ValueError as error:
            if variable == self._reward and pd.api.types.is_float_dtype(column):
                way = "a reward that is measured needs CausalBandit(..., reward_range=(low, high))"
                raise ValueError(f"{error}; {way}") from None
            raise

    def _lacking(self, codes: Codes, frame: pd.DataFrame, missing: str) -> Counter[str]:
        """Return how many rows lack each variable, or raise where they may not."""
        lacking: Counter[str] = Counter()
        for j in range(-1, codes.shape[1] - 1):  # the last, the reward, first: for it there is no way out
            variable, absent = self._coding.variables[j], codes[:, j] < 0
            if absent.any() and variable in self._needed:
                if missing == "raise" or variable == self._reward:
                    raise ValueError(self._missing(int(np.argmax(absent)), variable, frame, variable == self._reward))
                lacking[variable] = int(absent.sum())
        return lacking

    def _missing(self, row: int, variable: str, frame: pd.DataFrame, needed: bool) -> str:
        """Return what is said of a value that is missing, and of the way out."""
        said = f"{row_named(row, frame.index)} has no value for {variable}"
        if empty := [s for s in self._question.states[variable] if s in MISSING]:
            return (
                f"{said}; pandas reads its state {empty[0]!r} as a missing value, read_history(path, bandit) does not"
            )
        way_out = f"; frame.dropna(subset=[{variable!r}]), or missing='drop', leaves such rows out"
        return said if needed else said + way_out

    def _warn_if_selected(self, frame: pd.DataFrame, passive: NDArray[np.bool_]) -> None:
        """Warn where all passive rows of a log agree on an effect that depends on what is to be learned from them."""
        if np.count_nonzero(passive) < FEWEST_SELECTED:
            return
        graph, known = bit_graph(self._question.graph), self._needed
        factors = [(graph.bit[v], graph.bits(given)) for v, given in self._question.factors if known >= {v, *given}]
        below = graph.descendants(functools.reduce(operator.or_, (v for v, _ in factors), 0))
        for variable, bit in graph.bit.items():
            if variable not in frame.columns or variable in known:
                continue
            if graph.parents_of(bit).bit_count() < 2 and not bit & below:
                continue  # of a rare cause a log may well show one value
            values = frame.loc[passive, variable]
            if values.isna().any() or (values != values.iloc[0]).any():
                continue
            if not all(graph.separates(given, v, bit) for v, given in factors):
                warnings.warn(
                    f"{variable} is {shown(values.iloc[0], show=str)} in all {len(values)} passive plays: rows that an "
                    "effect chose show other distributions than the graph says; tell all plays, or leave these out",
                    stacklevel=4,
                )

    # ------------------------------------------------------------------------------------------------------ samples

    def _own_actions(self, actions: Any, samples: Samples) -> Rows:
        """Return the actions of samples that carry their own; those given must be the same."""
        action, named = self._question.action, samples.which.tolist()
        if len(named) != len(samples.codes) or (named and not 0 <= min(named) <= max(named) < len(samples.actions)):
            raise ValueError(f"samples must name one of their {len(samples.actions)} actions for each play")
        own = tuple([action(a) for a in samples.actions])
        if actions is None or (isinstance(actions, list) and actions == [own[i] for i in named]):
            return own, samples.which
        told = told_actions(actions)
        if isinstance(told, (Action, str)):
            same = all(own[i] == action(told) for i in set(named))
        else:
            same = len(told) == len(named) and all(
                given is own[i] or action(given) == own[i] for given, i in zip(told, named, strict=True)
            )
        if not same:
            raise ValueError(f"the actions told must be those of the {len(samples)} samples, but differ from them")
        return own, samples.which

    def _columns(self, samples: Samples) -> Codes:
        """Return the codes of the variables wanted; how they lie in the samples is worked out once for each coding."""
        if self._seen is None or self._seen[0] is not samples.coding:
            wanted, position = self._coding.variables, {v: j for j, v in enumerate(samples.coding.variables)}
            absent = [v for v in wanted if v not in position and v in self._needed]
            if self._coding.measured is not None and self._reward not in samples.coding.columns:
                absent.append(self._coding.measured.variable)
            self._check_columns(absent, position)
            columns = np.array([position.get(v, -1) for v in wanted], dtype=np.intp)
            recode = [
                (j, np.array([find_state(states, s, v) for s in samples.coding.states[columns[j]]], dtype=np.int32))
                for j, (v, states) in enumerate(zip(wanted, self._coding.states, strict=True))
                if columns[j] >= 0 and samples.coding.states[columns[j]] != states
            ]
            recode += [(int(j), np.empty(0, dtype=np.int32)) for j in np.flatnonzero(columns < 0)]
            self._seen = (samples.coding, columns, recode)
        _, columns, recode = self._seen
        if samples.codes.dtype != np.int32:
            raise TypeError(f"samples must have int32 codes, but have {samples.codes.dtype}")
        codes = samples.codes.take(columns, axis=1)
        for j, table in recode:
            known = (codes[:, j] >= 0) & (codes[:, j] < len(table))
            codes[~known, j] = -1  # refused by `_check` where it is needed
            codes[known, j] = table[codes[known, j]]
        return codes

    # ------------------------------------------------------------------------------------------------------- checks

    def _check_columns(self, lacking: list[str], told: Iterable[Any]) -> None:
        if lacking:
            needed = [v for v in self._coding.columns if v in self._needed]
            raise ValueError(
                f"the samples must have the columns [{shown(*needed)}], but lack [{shown(*lacking)}]"
                f"{did_you_mean(lacking[0], set(told).difference(needed))}"
            )

    def _check(
        self, codes: Codes, distinct: tuple[Action, ...], which: NDArray[np.intp], row_of: NDArray[np.intp] | range
    ) -> None:
        """Raise where a code is none or contradicts the action of its play."""
        rows = self._forced.rows(distinct)
        if (wrong := _first_contradiction(codes, self._cards, self._optional, self._forced.table, rows, which)) >= 0:
            row, column = divmod(wrong, codes.shape[1])
            if not 0 <= codes[row, column] < self._cards[column]:
                raise ValueError(
                    f"row {row_of[row]} has the code {codes[row, column]} for {self._coding.variables[column]}"
                )
            variable = self._coding.variables[column]
            raise self._contradiction(row_of[row], variable, codes[row, column], distinct[which[row]])

    def _contradiction(self, row: int, variable: str, code: int, action: Action) -> ValueError:
        value = shown(self._question.states[variable][code], show=str)
        return ValueError(f"row {row} has {variable}={value}, which contradicts its action {shown(action, show=str)}")


def check_question(bandit: Any) -> None:
    """Raise unless it can say what its actions are, as a `CausalBandit` does."""
    if not callable(getattr(bandit, "action", None)):
        raise TypeError(
            f"bandit must be a CausalBandit, but got {type(bandit).__name__}; that of a policy is policy.bandit"
        )


def as_frame(samples: Any) -> pd.DataFrame:
    """Return what was told as a frame: a frame, one dict for a single play, a list of dicts, or a dict of columns.

    Raises
    ------
    TypeError
        If it is none of these.
    """
    if isinstance(samples, pd.DataFrame):
        return samples
    if isinstance(samples, Samples):
        return samples.to_frame()
    if isinstance(samples, Mapping) and not isinstance(samples, Action):
        values = list(samples.values())  # a tuple among other values is a state
        columns = any(isinstance(v, (list, np.ndarray, pd.Series)) for v in values)
        columns = columns or (len(values) > 0 and all(isinstance(v, tuple) for v in values))
        return pd.DataFrame(dict(samples)) if columns else pd.DataFrame([dict(samples)], dtype=object)
    if is_several(samples) and not isinstance(samples, Action):
        plays = list(samples)
        if all(isinstance(play, Mapping) and not isinstance(play, Action) for play in plays):
            return pd.DataFrame([dict(play) for play in plays], dtype=object)
    raise TypeError(
        "samples must be Samples, a DataFrame, a dict {variable: state} or a list of such dicts, "
        f"but got {type(samples).__name__}"
    )


@njit(cache=True)
def _first_contradiction(codes, cards, optional, forced, action, which):  # type: ignore[no-untyped-def]
    """Return the flat position of the first code that is none or not what the action of its row forces, or -1.

    The code -1, of what is missing, is one where the column is optional.
    """
    rows, columns = codes.shape
    for i in range(rows):
        for j in range(columns):
            f = forced[action[which[i]], j]
            missing = optional[j] and codes[i, j] == -1
            if not missing and ((f >= 0 and codes[i, j] != f) or not 0 <= codes[i, j] < cards[j]):
                return i * columns + j
    return -1
