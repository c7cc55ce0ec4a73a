"""The public names are all there, and none costs anything before it is used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import pgcpe

HEAVY = {"pgmpy", "sklearn", "numba", "pandas", "matplotlib", "numpy", "scipy", "networkx", "torch", "statsmodels"}


def test_the_lists_of_names_agree():
    """The table, ``__all__`` and the imports that type checkers see are the same names from the same modules."""
    tree = ast.parse(Path(pgcpe.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name: node.module for node in block.body for alias in node.names}
    assert seen == {name: f"pgcpe.{module}" for name, module in pgcpe._MODULE_OF.items()}
    assert set(pgcpe.__all__) == set(seen)
    assert len(pgcpe.__all__) == len(seen)


@pytest.mark.parametrize("name", pgcpe.__all__)
def test_every_name_is_what_its_module_defines(name):
    value = getattr(pgcpe, name)
    module = sys.modules[f"pgcpe.{pgcpe._MODULE_OF[name]}"]
    assert value is getattr(module, name)
    assert name in dir(pgcpe)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="module 'pgcpe' has no attribute 'LUBC'"):
        pgcpe.LUBC  # noqa: B018
    with pytest.raises(ImportError, match="LUBC"):
        from pgcpe import LUBC  # noqa: F401


def modules_after(code):
    """The top-level names of the modules that a fresh interpreter has loaded after some code."""
    program = f"{code}\nimport sys; print(' '.join(sorted({{m.split('.')[0] for m in sys.modules}})), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_importing_the_package_loads_no_library():
    assert not modules_after("import pgcpe; dir(pgcpe); pgcpe.__version__") & HEAVY


def test_star_import():
    assert {"pandas", "numba"} <= modules_after("from pgcpe import *; CausalBandit, do, PooledCCPE, load_network")


def test_misspelt_names_are_errors_to_type_checkers():
    """A module-level ``__getattr__`` makes mypy take any name: it may be defined only where mypy does not look."""
    tree = ast.parse(Path(pgcpe.__file__).read_text())
    hidden = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "not TYPE_CHECKING"]
    assert [f.name for node in hidden for f in node.body if isinstance(f, ast.FunctionDef)] == ["__getattr__"]
    assert "__getattr__" not in [f.name for f in tree.body if isinstance(f, ast.FunctionDef)]
