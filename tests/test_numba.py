"""The package is imported where nothing can be written but a temporary folder; a line says that loops are compiled."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers import ROOT

import pgcpe
from pgcpe._numba import CompilerLine, private_folder

IMPORTS = """
import numba
from pgcpe.confidence.pairwise import pairwise_glr

pairwise_glr([3, 4], [1, 2], 0)
print(numba.config.CACHE_DIR)
"""


def imported(package, temporary):
    """Import a copy of the package, in whose folders and in whose user's home no folder can be made."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "XDG", "PYTHON", "LOCALAPP"))
    }
    nowhere = os.devnull  # a folder in it cannot be made, not by root either
    environment |= {"HOME": f"{nowhere}/home", "XDG_CACHE_HOME": f"{nowhere}/cache", "TMPDIR": str(temporary)}
    environment |= {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-c", IMPORTS], env=environment, capture_output=True, text=True, cwd=package.parent
    )


@pytest.fixture
def sealed(tmp_path):
    package = tmp_path / "installed" / "pgcpe"
    shutil.copytree(Path(pgcpe.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in (package, *(path for path in package.rglob("*") if path.is_dir())):
        (folder / "__pycache__").touch()  # in place of the folder
    return package


@pytest.mark.skipif(sys.platform == "win32", reason="the folders of Windows are other ones")
def test_a_read_only_installation_without_a_home_is_imported(sealed, tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    first = imported(sealed, temporary)
    assert first.returncode == 0, first.stderr
    folder = Path(first.stdout.strip())
    assert folder.parent == temporary
    assert folder.stat().st_mode & 0o077 == 0
    kept = sorted(path.name for path in folder.rglob("*.nbi"))
    assert kept  # and is found again
    assert imported(sealed, temporary).stdout == first.stdout
    assert sorted(path.name for path in folder.rglob("*.nbi")) == kept


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="users have no number")
def test_a_folder_that_others_can_write_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    usual = Path(private_folder())
    assert (usual.parent, usual.stat().st_mode & 0o777) == (tmp_path, 0o700)
    assert private_folder() == str(usual)
    usual.chmod(0o777)
    assert Path(private_folder()) != usual
    usual.rmdir()
    (tmp_path / "theirs").mkdir(mode=0o700)
    usual.symlink_to(tmp_path / "theirs")
    assert Path(private_folder()) != usual


def test_where_something_can_be_written_numba_chooses():
    program = "import pgcpe.bandit, numba; print(repr(numba.config.CACHE_DIR))"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA")}
    environment["PYTHONPATH"] = str(ROOT)
    found = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "''"


def test_a_line_says_that_loops_are_compiled(monkeypatch, capsys):
    """Once, only for the package's own loops, and only where somebody reads along."""

    def started(module):
        def loop():
            """Stand for a loop."""

        loop.__module__ = module
        return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=loop)})

    line = CompilerLine()
    line.on_start(started("pgcpe.confidence.tree"))
    assert capsys.readouterr().err == ""  # no terminal
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    line.on_start(started("elsewhere.loops"))
    assert capsys.readouterr().err == ""
    for _ in range(2):
        line.on_start(started("pgcpe.confidence.tree"))
    assert capsys.readouterr().err.count("compiles its loops") == 1
