"""Every module has its tests where they are looked for."""

from pathlib import Path

import pytest

import pgcpe

TESTS = Path(__file__).parent
PACKAGE = Path(pgcpe.__file__).parent

TESTED_WITH = {
    "estimators/binary_model.py": "estimators/test_bglm.py",
    "estimators/forest_values.py": "estimators/test_pooled_trees.py",
    "estimators/node_equations.py": "estimators/test_bglm.py",
    "estimators/tilted_bets.py": "estimators/test_tilted_tables.py",
    "estimators/claims.py": "policies/test_dependence.py",
    "graphs/formats.py": "graphs/test_load.py",
    "graphs/tables.py": "graphs/test_load.py",
    "models/tilted_equations.py": "estimators/test_tilted_equations.py",
    "models/tilted_search.py": "estimators/test_tilted_tables.py",
    "plays/frames.py": "plays/test_history.py",
    "policies/certificates.py": "policies/test_graph_watch.py",
    "policies/error_budget.py": "policies/test_pooled_ccpe.py",
    "policies/knowledge.py": "test_contract.py",
    "policies/loop.py": "test_contract.py",
    "policies/report.py": "policies/test_base.py",
    "policies/rules/asymptotic.py": "policies/rules/test_stopping.py",
    "policies/rules/monitored.py": "policies/rules/test_stopping.py",
    "policies/rules/most_played.py": "policies/rules/test_stopping.py",
    "policies/rules/plan.py": "policies/rules/test_phases.py",
    "policies/rules/recommendation.py": "policies/test_base.py",
    "policies/rules/state.py": "policies/rules/test_stopping.py",
    "study/deadline.py": "study/test_study.py",
    "study/imports.py": "study/test_study.py",
    "study/known.py": "study/test_study.py",
    "study/ledger.py": "study/test_study.py",
    "study/needed.py": "study/test_study.py",
    "study/question.py": "study/test_study.py",
    "study/replay.py": "study/test_study.py",
    "study/rows.py": "study/test_study.py",
    "study/status.py": "study/test_study.py",
}
"""Modules that are parts of another, and the tests of that one. Better a file of their own than an entry here."""

MODULES = [
    path.relative_to(PACKAGE)
    for path in sorted(PACKAGE.rglob("*.py"))
    if "__all__" in path.read_text() and path.stem != "__init__"
]


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_it_has_a_file_of_tests(module):
    """``<room>/test_<module>.py``; of the rooms of commands and of figures one file for all: that of the room."""
    own = TESTS / module.with_name(f"test_{module.stem.removeprefix('_')}.py")
    of_room = {"cli": TESTS / "cli" / "test_main.py", "paper/figures": TESTS / "paper" / "test_figures.py"}
    places = [own, of_room.get(module.parent.as_posix()), TESTS / TESTED_WITH.get(module.as_posix(), "none")]
    assert any(place and place.exists() for place in places)


def test_every_entry_is_of_a_module():
    assert all((PACKAGE / module).exists() for module in TESTED_WITH)
