"""What performs actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from pgcpe.plays.actions import Action

__all__ = ["Environment"]


class Environment(Protocol):
    """What performs actions: a simulator, a laboratory, a person with a form to fill in."""

    def perform(self, actions: Sequence[Action]) -> Any:
        """Perform the actions, each once, and return their samples in order, as `Policy.tell` takes them."""
