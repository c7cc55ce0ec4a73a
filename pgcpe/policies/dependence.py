"""What a certificate hangs on: which arms are no longer ruled out where a statement of the graph is left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgcpe.bandit import CausalBandit
from pgcpe.graphs.bitsets import BitGraph, bit_graph, members
from pgcpe.policies.rules.base import StoppingRule
from pgcpe.policies.rules.state import PolicyState

__all__ = ["Screening", "screenings", "statements_needed"]

Ints = NDArray[np.intp]

SHOWN = 3
"""So many statements are named, those first without which most arms are unresolved."""

MOST = 100
"""So many statements of a kind are left out in turn, those of most arms."""


class Screening(NamedTuple):
    """That setting a variable, beside others, changes nothing of the reward: why arms were merged.

    Attributes
    ----------
    words
        The statement.
    listed
        Indices of the listed arms that are merged with others by it.
    parts
        For each of these the number of its part: those of one arm and one state of the variable stay equal without it.
    """

    words: str
    listed: Ints
    parts: Ints


def screenings(bandit: CausalBandit) -> list[Screening]:
    """Return the statements by which a bandit has merged arms."""
    bits, reward = bit_graph(bandit.graph), bandit.reward
    found: dict[tuple[str, tuple[str, ...]], dict[int, tuple[int, object]]] = {}
    screens: dict[tuple[tuple[str, ...], tuple[str, ...]], list[tuple[str, tuple[str, ...]]]] = {}
    for i, action in enumerate(bandit.listed if bandit.merges_arms else ()):
        kept = bandit.canonical_of(action).variables
        if len(kept) == len(action):
            continue
        if (action.variables, kept) not in screens:
            idle = [v for v in action if v not in kept]
            screens[action.variables, kept] = [(v, _screens(bits, v, kept)) for v in idle]
        for variable, by in screens[action.variables, kept]:
            arm = int(bandit.arm_of_listed[i])
            found.setdefault((variable, by), {})[i] = arm, action[variable]
    made = []
    for (variable, by), where in found.items():
        numbers = {part: k for k, part in enumerate(dict.fromkeys(where.values()))}
        words = f"{' and '.join(by)} {'screens' if len(by) == 1 else 'screen'} {variable} from {reward}"
        parts = np.array([numbers[part] for part in where.values()], dtype=np.intp)
        made.append(
            Screening(
                words if by else f"{variable} has no effect on {reward}", np.array([*where], dtype=np.intp), parts
            )
        )
    return sorted(made, key=lambda screening: -len(screening.listed))


def _screens(bits: BitGraph, variable: str, kept: Sequence[str]) -> tuple[str, ...]:
    """Return which of the variables that are set beside it first meet all directed paths from a variable."""
    others = bits.bits(kept)
    found = fresh = bits.bit[variable]
    met = 0
    while fresh:
        children = 0
        for i in members(fresh):
            children |= bits.children[i]
        met |= children & others
        fresh = children & ~others & ~found
        found |= fresh
    return tuple(sorted(bits.names(met)))


def statements_needed(state: PolicyState, rule: StoppingRule) -> tuple[str, ...]:
    """Return in words the statements of the graph without which some arm would not be ruled out, and how many.

    What is left of the evidence is asked again with the claims of one statement left out: arms that it merged are arms
    of their own, with their own plays, and arms that are estimated by it have nothing but theirs. Bounds are those that
    were worked out for the stop. Listed arms are counted.

    Parameters
    ----------
    state
        That of the stop.
    rule
        The rule that stopped.
    """
    found, bandit = [], state.bandit
    if rule.unresolved_without(state, state, state.conflicts) is None:
        return ()
    sizes = np.bincount(bandit.arm_of_listed, minlength=len(bandit.arms))
    merging = screenings(bandit)
    for screening in merging[:MOST]:
        left = unresolved_without_merging(state, rule, screening)
        n = len(screening.listed)
        found.append((left, f"{screening.words} ({n} merged {'arm' if n == 1 else 'arms'})"))
    claims = rule.claims(state) if len(bandit.arms) > 1 else ()
    for claim in sorted(claims, key=lambda claim: -np.count_nonzero(claim.arms))[:MOST]:
        open_ = _unresolved(rule, state, state, claim.arms)
        n = int(np.count_nonzero(claim.arms))
        found.append((int(sizes[open_].sum()), f"{claim.words} ({n} {'arm' if n == 1 else 'arms'} estimated by it)"))
    needed = sorted((some for some in found if some[0] > 0), key=lambda some: -some[0])
    said = [f"{words}; without it {n} {'arm is' if n == 1 else 'arms are'} unresolved" for n, words in needed[:SHOWN]]
    if (more := len(needed) - SHOWN) > 0:
        least = "at least " if max(len(merging), len(claims)) > MOST else ""
        said.append(f"{least}{more} more {'statement' if more == 1 else 'statements'} of the graph")
    return tuple(said)


def unresolved_without_merging(state: PolicyState, rule: StoppingRule, screening: Screening) -> int:
    """Return how many listed arms are not ruled out if a statement that merged some is left out."""
    bandit, h = state.bandit, state.leader
    part_of = np.full(len(bandit.listed), -1)
    part_of[screening.listed] = screening.parts
    leading = bandit.listed_index(bandit.arms[h])
    owner = np.where(part_of < 0, bandit.arm_of_listed, -1)  # whose plays those of a listed arm are; -1: of none
    rivals = [np.flatnonzero(part_of == k) for k in range(int(screening.parts.max()) + 1)]
    alone = part_of[leading] >= 0
    if alone:  # the leader is such a part: the others of its class are a rival
        rivals = [part for part in rivals if leading not in part] + [np.flatnonzero(owner == h)]
        owner[owner == h] = -1
        owner[part_of == part_of[leading]] = h
    left_out = np.zeros(len(bandit.arms), dtype=np.bool_)
    left_out[h] = alone
    places = np.flatnonzero(np.arange(len(bandit.arms)) != h)
    if len(places) == 0:  # all arms were merged into one
        return sum(map(len, rivals))
    plain = _unresolved(rule, state, _owned(state, owner), left_out)
    n = int(np.count_nonzero(plain[owner[owner >= 0]]))
    for start in range(0, len(rivals), len(places)):
        n += _unresolved_rivals(state, rule, owner, left_out, list(zip(places, rivals[start:], strict=False)))
    return n


def _unresolved_rivals(
    state: PolicyState,
    rule: StoppingRule,
    owner: NDArray[np.int64],
    left_out: NDArray[np.bool_],
    rivals: Sequence[tuple[int, Ints]],
) -> int:
    """Return how many listed arms of some parts are not ruled out by their own plays, each in the place of an arm."""
    owner, left_out = owner.copy(), left_out.copy()
    for place, part in rivals:
        owner[owner == place] = -1
        owner[part] = place
        left_out[place] = True
    open_ = _unresolved(rule, state, _owned(state, owner), left_out)
    return sum(len(part) for place, part in rivals if open_[place])


def _unresolved(
    rule: StoppingRule, state: PolicyState, parted: PolicyState, left_out: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return what a rule says that can; all but the leader where it cannot."""
    open_ = rule.unresolved_without(state, parted, left_out)
    return np.arange(len(left_out)) != state.leader if open_ is None else open_


def _owned(state: PolicyState, owner: NDArray[np.int64]) -> PolicyState:
    """Return a state in which the plays of listed arms are those of their owners."""
    owned, n = owner >= 0, len(state.plays)

    def summed(values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return sums over what each arm owns."""
        return np.bincount(owner[owned], weights=values[owned], minlength=n).astype(np.float64)

    named = tuple(
        then._replace(plays=summed(then.listed_plays), rewards=summed(then.listed_rewards)) for then in state.named
    )
    return state.changed(plays=summed(state.listed_plays), rewards=summed(state.listed_rewards), named=named)
