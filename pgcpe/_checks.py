"""Checks of options, each in one place: one of a few words, a whole number, a truth value, a seed."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np

from pgcpe.graphs.states import shown

__all__: list[str] = []


def one_of(name: str, value: Any, known: Iterable[str | None]) -> None:
    """Raise unless an option is one of a few words; an array or a table is equal to none of them."""
    words = tuple(known)
    if not (value is None or isinstance(value, str)) or value not in words:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, words))}, but got {shown(value)}")


def whole_number(name: str, value: Any, least: int, most: int = 10**9) -> int:
    """Return a number of plays, runs or the like as an int.

    Raises
    ------
    TypeError
        If it is no integer.
    ValueError
        If it is too small or too large.
    """
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer of at least {least}, but got {shown(value)}")
    if not least <= (number := int(value)) <= most:
        limit = f"least {least}" if number < least else f"most {most:,}"
        raise ValueError(f"{name} must be an integer of at {limit}, but got {shown(number)}")
    return number


def flag(name: str, value: Any) -> bool:
    """Return an option that is on or off; text such as ``"no"`` would be taken for on."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, but got {shown(value)}")
    return bool(value)


def generator(seed: int | np.random.SeedSequence | np.random.Generator | None) -> np.random.Generator:
    """Return the generator of a seed.

    Raises
    ------
    TypeError, ValueError
        If it is none that numpy takes.
    """
    if isinstance(seed, bool):
        raise TypeError(f"seed must be an integer of at least 0, but got {seed}")
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise type(error)(f"seed must be an integer of at least 0, but got {shown(seed)}") from None
