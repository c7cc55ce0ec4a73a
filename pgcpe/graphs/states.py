"""Which state of a variable is meant by a value, and how values and names are shown in errors."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from numbers import Real
from typing import Any, TypeGuard

import numpy as np

__all__ = ["did_you_mean", "find_state", "is_hashable", "is_several", "plain", "shown", "state_name"]

LONGEST = 100
"""Of what a user gave an error shows so many characters."""

NUMERAL = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")


def find_state(states: Sequence[Any], value: Any, variable: str, *, by_name: bool = True) -> int:
    """Return the code of a value among the states of a variable.

    The state that is the value itself is taken, else the one of the same name (1 finds ``"1"``, ``"(0, 30]"`` finds the
    interval; a name may stand in JSON's quotes), else the only one of the same worth: as numbers ``"01"``, ``"1.0"``
    and 1 are the same; True finds ``"TRUE"``, 1 and ``"1"``.

    Parameters
    ----------
    states
        The states of the variable.
    value
        The value.
    variable
        Its name, for the error.
    by_name
        False for a number that was text once: that it prints like a state does not tell that it was written so.

    Raises
    ------
    ValueError
        If no state fits, or none by its name and several by their worth.

    Examples
    --------
    >>> find_state(("1", "01"), "01", "X"), find_state(("00060", "00065"), 65, "X"), find_state(("0", "1"), True, "X")
    (1, 1, 1)
    >>> find_state(("1.0", "01"), 1, "X")
    Traceback (most recent call last):
    ...
    ValueError: X has the states '1.0', '01', which 1 may both mean: write the state as it is named
    """
    value = plain(value)
    for code, state in enumerate(states):
        if _is(state, value):
            return code
    for meant in (_has_name, _has_worth) if by_name else (_has_worth,):
        found = [code for code, state in enumerate(states) if meant(plain(state), value)]
        if len(found) == 1:
            return found[0]
        if found:
            raise ValueError(
                f"{variable} has the states {shown(*(states[code] for code in found))}, which {shown(value)} may "
                f"{'both' if len(found) == 2 else 'all'} mean: write the state as it is named"
            )
    raise ValueError(
        f"{variable} has the states {shown(*states)}, but got {shown(value)}"
        f"{did_you_mean(state_name(value), map(state_name, states))}"
    )


def is_several(value: Any) -> TypeGuard[Iterable[Any]]:
    """Return whether a value holds others: text does not, nor an array without axes, which has the type of one."""
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes)) and getattr(value, "ndim", 1) != 0


def is_hashable(value: Any) -> bool:
    """Return whether a value can be a state: whether it is hashable all through."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def plain(value: Any) -> Any:
    """Return a value as Python's own where it is one of numpy's."""
    return value.item() if isinstance(value, np.generic) else value


def state_name(state: Any) -> str:
    """Return what a state is called in text."""
    return str(plain(state))


def shown(*values: Any, show: Callable[[Any], str] = repr, sep: str = ", ") -> str:
    """Return values as an error shows them, cut to about a hundred characters in all."""
    text, more = "", 0
    for i, value in enumerate(values):
        if len(text) > LONGEST:
            more = len(values) - i
            break
        value = plain(value)
        cut = value[: LONGEST + 1] if isinstance(value, (str, bytes)) else value
        text += (sep if i else "") + show(cut)
    if len(text) > LONGEST:
        text = text[:LONGEST] + "..."
    return f"{text} and {more} more" if more else text


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """Return ``"; did you mean 'smoke'?"`` for a name that is nearly a known one, else an empty string.

    Examples
    --------
    >>> did_you_mean("Smokes", ["asia", "smoke"]), did_you_mean("age", ["asia", "smoke"])
    ("; did you mean 'smoke'?", '')
    """
    alike = {str(other).casefold(): str(other) for other in known}
    near = difflib.get_close_matches(str(name)[:LONGEST].casefold(), alike, n=1)
    return f"; did you mean {shown(alike[near[0]])}?" if near else ""


def _is(state: Any, value: Any) -> bool:
    state = plain(state)
    return type(state) is type(value) and bool(state == value)


def _has_name(state: Any, value: Any) -> bool:
    if isinstance(value, str) and len(value) > 1 and value[0] == value[-1] == '"':
        return isinstance(state, str) and state == _unquoted(value)
    return str(state) == str(value)


def _unquoted(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _has_worth(state: Any, value: Any) -> bool:
    truth, number = _truth(value), _number(value)
    if truth is not None:
        return _truth(state) is truth or _number(state) == truth
    if number is None:
        return False
    return _number(state) == number or (isinstance(state, bool) and state == number)


def _truth(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(value.lower()) if isinstance(value, str) else None


def _number(value: Any) -> Real | None:
    """Return what a number or a numeral is worth, exactly; None for what is neither, and for what is not finite."""
    if isinstance(value, str) and NUMERAL.fullmatch(value):
        digits = value.strip().lstrip("+-")
        value = int(value) if digits.isdecimal() and len(digits) < 400 else float(value)
    number = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    return value if number else None
