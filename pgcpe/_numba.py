"""A folder for what numba compiles, where neither that of the package nor the user's cache can be written; and a line
that says so where people would wait for the compiler.

Without one, a function of ``njit(cache=True)`` cannot even be defined, and the package not be imported: in a container
of a read-only file system, say. So all modules take `njit` from here.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from numba import config, njit
from numba.core import event

__all__ = ["CompilerLine", "njit", "private_folder"]


class CompilerLine(event.Listener):  # type: ignore[misc]  # numba is not typed
    """Says once that loops of the package are compiled, on a terminal or in a notebook."""

    said = False

    def on_start(self, event: event.Event) -> None:
        """Say so when the first of them is."""
        ours = event.data["dispatcher"].py_func.__module__.startswith("pgcpe.")
        if ours and not self.said and (sys.stderr.isatty() or "ipykernel" in sys.modules):
            self.said = True
            print("pgcpe compiles its loops, once for each installation: this takes a few seconds", file=sys.stderr)

    def on_end(self, event: event.Event) -> None:
        """Say nothing."""


event.register("numba:compile", CompilerLine())


def private_folder() -> str:
    """Return a folder among the temporary ones that this user alone can write, the same one each time if possible."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"pgcpe-numba-{user}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if folder.is_symlink() or found.st_uid != user or found.st_mode & 0o022:  # compiled code is run: trust no other's
        return tempfile.mkdtemp(prefix="pgcpe-numba-")
    return str(folder)


def _any() -> None:
    """Stand for all functions that are compiled."""


try:
    njit(cache=True)(_any)
except RuntimeError:  # numba found no folder that it can write
    config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"] = private_folder()  # the environment: for workers
