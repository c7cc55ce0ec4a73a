"""The networks that need no file: those of this package, and those of the installed pgmpy. Loads no library."""

from __future__ import annotations

from importlib import resources
from importlib.util import find_spec
from pathlib import Path

__all__ = ["shipped_file", "shipped_networks"]

SUFFIX = ".bif.gz"


def shipped_networks() -> list[str]:
    """Return the names that `load_network` knows without a file, sorted.

    The small classical ones are in the package; the installed pgmpy may add larger ones.
    """
    return sorted({file.name.removesuffix(SUFFIX) for folder in _folders() for file in folder.glob(f"*{SUFFIX}")})


def shipped_file(name: str) -> Path | None:
    """Return the file of a network of this package, else of pgmpy, else None."""
    files = [folder / f"{name}{SUFFIX}" for folder in _folders()] if name in shipped_networks() else []
    return next((file for file in files if file.is_file()), None)


def _folders() -> list[Path]:
    """Return the folders with networks, our own first. pgmpy is looked for, not imported: that takes seconds."""
    with resources.as_file(resources.files("pgcpe")) as package:
        folders = [package / "data" / "networks"]
    pgmpy = find_spec("pgmpy")
    folders += [
        Path(place) / "utils" / "example_models" for place in (pgmpy and pgmpy.submodule_search_locations) or ()
    ]
    return [folder for folder in folders if folder.is_dir()]
