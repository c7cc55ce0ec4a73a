"""What all drawings share. matplotlib is imported only when something is drawn."""

from __future__ import annotations

from typing import Any

__all__ = ["BEST", "OTHER", "escaped", "key", "pyplot"]

BEST, OTHER = "#a8430a", "#74a7d3"
"""The colours of what is recommended and of all else: in grey a dark one and a light one."""


def pyplot() -> Any:
    """Return ``matplotlib.pyplot``.

    Raises
    ------
    ImportError
        If matplotlib is not installed (``pip install pgcpe[plot]``).
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'pgcpe[plot]'") from error
    return plt


def escaped(text: str) -> str:
    """Return a text in which matplotlib sees no formula."""
    return text.replace("$", r"\$")


def key(ax: Any, figure: Any = None) -> None:
    """Say what is what: below a figure that holds nothing else, else where there is room on the axes."""
    if figure is None:
        ax.legend(fontsize="small")
    else:
        figure.legend(loc="outside lower left", fontsize="small", frameon=False)
