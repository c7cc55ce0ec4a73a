"""A module imports only from rooms above it; the package keeps its hands off the global generator and off asserts."""

import ast
from pathlib import Path

import pytest

import pgcpe

ROOMS = [
    "_numba",
    "graphs.states",
    "_checks",
    "graphs.structure",
    "graphs.tables",
    "graphs.bif",
    "graphs.formats",
    "graphs.shipped",
    "graphs.load",
    "graphs.bitsets",
    "graphs.identification",
    "graphs.answers",
    "graphs.explanation",
    "graphs.adjustment",
    "graphs",
    "confidence.intervals",
    "confidence.paper_radii",
    "confidence.sequences",
    "confidence.pairwise",
    "confidence.independence",
    "confidence.tree",
    "confidence.tree_region",
    "confidence.tilted",
    "confidence",
    "models.search",
    "models.links",
    "models.glm",
    "models.contraction",
    "models.sigma",
    "models.derivatives",
    "models.second_order",
    "models.arms_in_pairs",
    "models.simplices",
    "models.tilted_search",
    "models.tilted_equations",
    "models.network_tables",
    "models.elimination",
    "models",
    "plotting.axes",
    "plotting.intervals",
    "plotting.graphs",
    "plotting.curves",
    "plotting.plays",
    "plotting.diagram",
    "plotting",
    "plays.actions",
    "plays.frames",
    "plays.reward_scale",
    "plays.samples",
    "plays.encoding",
    "plays.history",
    "plays.reward_values",
    "plays",
    "bandit",
    "environment.protocol",
    "environment.reward_noise",
    "environment.exact",
    "environment.simulator",
    "environment",
    "estimators.estimate",
    "estimators.claims",
    "estimators.base",
    "estimators.schedule",
    "estimators.empirical_means",
    "estimators.forest",
    "estimators.forest_values",
    "estimators.tree_bounds",
    "estimators.admissible",
    "estimators.node_equations",
    "estimators.binary_model",
    "estimators.bglm",
    "estimators.shrinkage",
    "estimators.plain_tables",
    "estimators.table_model",
    "estimators.tilted_bets",
    "estimators.tilted_tables",
    "estimators.tilted_pairs",
    "estimators.pooled_bglm",
    "estimators.tilted_equations",
    "estimators.pooled_trees",
    "estimators.graph_statements",
    "estimators.graph_test",
    "estimators.graph_changes",
    "estimators.graph_check",
    "estimators",
    "complexity.hardness",
    "complexity.observation",
    "complexity.bounds",
    "complexity.characteristic",
    "complexity",
    "policies.error_budget",
    "policies.rules.state",
    "policies.rules.base",
    "policies.rules.plan",
    "policies.rules.recommendation",
    "policies.rules.phases",
    "policies.rules.sampling",
    "policies.rules.direct_evidence",
    "policies.rules.leader_bounds",
    "policies.rules.stopping",
    "policies.rules.most_played",
    "policies.rules.asymptotic",
    "policies.rules.tilted",
    "policies.rules.monitored",
    "policies.rules.variance_reduction",
    "policies.rules",
    "policies.dependence",
    "policies.graph_watch",
    "policies.result",
    "policies.knowledge",
    "policies.certificates",
    "policies.report",
    "policies.loop",
    "policies.base",
    "policies.lucb",
    "policies.fixed_budget.uniform",
    "policies.fixed_budget.successive_rejects",
    "policies.fixed_budget.sequential_halving",
    "policies.ccpe",
    "policies.fixed_budget.causal_successive_rejects",
    "policies.fixed_budget.two_phase",
    "policies.fixed_budget.parallel_bandit",
    "policies.fixed_budget.propagating_inference",
    "policies.fixed_budget",
    "policies.pooled_ccpe",
    "policies.tracing",
    "policies",
    "experiments.rows",
    "experiments.running",
    "experiments.planning",
    "experiments.summary",
    "experiments",
    "paper.instances",
    "paper.experiments",
    "paper.families",
    "paper.figures.base",
    "paper.figures.settings",
    "paper.figures",
    "paper",
    "study.journal",
    "study.question",
    "study.ledger",
    "study.deadline",
    "study.rows",
    "study.imports",
    "study.replay",
    "study.status",
    "study.needed",
    "study.report",
    "study.known",
    "study.study",
    "study",
    "cli.choices",
    "cli.arguments",
    "cli.question",
    "cli.run",
    "cli.plan",
    "cli.arms",
    "cli.check",
    "cli.identify",
    "cli.figure",
    "cli.study",
    "cli.main",
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


@pytest.mark.parametrize("path", [f for f in FILES if room(f) != "_numba"], ids=room)
def test_what_is_compiled_has_a_folder(path):
    """numba's own decorator refuses to cache where its folders cannot be written."""
    tree = ast.parse(path.read_text())
    assert not any(isinstance(n, ast.ImportFrom) and (n.module or "").split(".")[0] == "numba" for n in ast.walk(tree))
