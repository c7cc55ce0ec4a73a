"""The names that arguments may take, as plain data: parsing loads no library. Tests hold them to what they name."""

from __future__ import annotations

__all__ = ["COMMANDS", "FIGURES", "PLANNED", "POLICIES", "REASONS", "STEPS"]

COMMANDS = ("run", "plan", "arms", "identify", "check", "figure", "study")
"""Each is carried out by ``carry_out`` of the module of its name."""

POLICIES = ("ccpe", "ccpe-paper", "lucb", "lucb-paper", "pooled", "pooled-asymptotic", "pooled-numerical")
"""The policies of ``pgcpe run``: the keys of `pgcpe.cli.run.POLICIES`."""

PLANNED = ("PooledCCPE", "CCPE", "LUCB", "KL-LUCB", "top-two")
"""The policies of ``pgcpe plan``: the keys of `pgcpe.experiments.STOPPING_POLICIES`."""

REASONS = ("lost", "invalid", "disputed")
"""Why a play is withdrawn, or cancelled once it was performed: the keys of `pgcpe.cli.study.REASONS`."""

STEPS = ("new", "ask", "tell", "cancel", "withdraw", "amend", "status", "report", "export", "import", "backup")
"""What ``pgcpe study`` does: the keys of `pgcpe.cli.study.STEPS`."""

FIGURES = ("1", "2", "3a", "3b", "budget", "pooled")
"""The figures of ``pgcpe figure``: the keys of `pgcpe.paper.figures.FIGURES`."""
