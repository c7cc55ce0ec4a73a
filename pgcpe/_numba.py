"""A folder for what numba compiles, where neither that of the package nor the user's cache can be written.

Without one, a function of ``njit(cache=True)`` cannot even be defined, and the package not be imported: in a container
of a read-only file system, say. So all modules take `njit` from here.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from numba import config, njit

__all__ = ["njit", "private_folder"]


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
