"""A module imports only from rooms above it; the package keeps its hands off the global generator and off asserts."""

import ast
from pathlib import Path

import pytest

import pgcpe

ROOMS = [
    "bif",
    "networks",
    "network_tables",
    "actions",
    "confidence",
    "pairwise",
    "trees",
    "links",
    "glm",
    "contraction",
    "derivatives",
    "sigma",
    "plotting",
    "identification",
    "explanation",
    "special_cases",
    "samples",
    "bandit",
    "environment",
    "estimators.base",
    "estimators.contingency",
    "estimators.admissible",
    "estimators.equations",
    "estimators.bglm",
    "estimators.shrinkage",
    "estimators.tables",
    "estimators.pooled_bglm",
    "estimators.forest",
    "estimators.pooled",
    "estimators",
    "complexity.hardness",
    "complexity.observation",
    "complexity.bounds",
    "complexity.characteristic",
    "complexity",
    "policies.rules",
    "policies.result",
    "policies.phases",
    "policies.sampling",
    "policies.stopping",
    "policies.progress",
    "policies.base",
    "policies.lucb",
    "policies.successive_rejects",
    "policies.ccpe",
    "policies.top_two",
    "policies.causal_rejects",
    "policies.two_phase",
    "policies.propagating_inference",
    "policies.pooled",
    "policies",
    "paper.instance",
    "paper.studies",
    "paper.families",
    "paper",
    "experiments.rows",
    "experiments.running",
    "experiments.planning",
    "experiments.summary",
    "experiments",
    "figures.base",
    "figures.settings",
    "figures",
    "arguments",
    "cli",
    "__main__",
]
ROOT = Path(pgcpe.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))


def room(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imported(tree: ast.AST) -> set[str]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "pgcpe":
            names.add(node.module.removeprefix("pgcpe").removeprefix("."))
        elif isinstance(node, ast.Import):
            names |= {a.name.removeprefix("pgcpe.") for a in node.names if a.name.startswith("pgcpe.")}
    return names


def test_every_module_has_a_room():
    assert {room(f) for f in FILES} == {*ROOMS, "__init__"}


@pytest.mark.parametrize("path", [f for f in FILES if room(f) != "__init__"], ids=room)
def test_imports_go_up(path):
    here = ROOMS.index(room(path))
    for name in imported(ast.parse(path.read_text())):
        # a package's own __init__ gathers its modules; others import the package as a whole or one of its modules
        assert ROOMS.index(name) < here, f"{room(path)} imports {name}"


@pytest.mark.parametrize("path", FILES, ids=room)
def test_no_assert_and_no_global_generator(path):
    source = path.read_text()
    assert not any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(source)))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.value.attr == "random":
            assert node.attr in {"default_rng", "Generator", "SeedSequence"}, ast.unparse(node)
