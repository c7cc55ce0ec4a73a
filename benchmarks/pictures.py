"""The pictures of the page of ideas, from small computations of the package itself.

    python benchmarks/pictures.py docs/figures

They read in grey: what is set is a box, what is adjusted for is hatched, what is hidden is dashed.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from pgcpe import SimulatedEnvironment, admissible_sequence, do, expected_reward, load_network
from pgcpe.confidence.sequences import kt_interval
from pgcpe.paper.instances import binary_network

DATA = Path(__file__).parent.parent / "data"

TRIAL = binary_network(
    {
        "severity": ([], lambda: 0.5),
        "drug": (["severity"], lambda severe: 0.9 if severe else 0.1),
        "recovered": (["severity", "drug"], lambda severe, drug: 0.9 - 0.7 * severe + 0.1 * drug),
    }
)
"""The drug helps, and is given to those who are worse off."""


def node(ax: Any, name: str, at: tuple[float, float], kind: str) -> Any:
    """Draw a variable, plain, set, adjusted or hidden, and return its box."""
    look = {
        "plain": {"facecolor": "white"},
        "set": {"facecolor": "#222222"},
        "adjusted": {"facecolor": "#cfe3f5", "hatch": "////"},
        "hidden": {"facecolor": "white", "linestyle": "--"},
    }[kind]
    corner = "square" if kind == "set" else "round,rounding_size=0.12"
    box = FancyBboxPatch(
        (at[0] - 0.42, at[1] - 0.13), 0.84, 0.26, f"{corner},pad=0.03", edgecolor="#333333", zorder=2, **look
    )
    ax.add_patch(box)
    background = {"facecolor": "#cfe3f5", "edgecolor": "none", "pad": 1} if kind == "adjusted" else None
    colour = "white" if kind == "set" else "black"
    ax.text(*at, name, ha="center", va="center", fontsize=9, color=colour, bbox=background, zorder=3)
    return box


def graph(
    ax: Any, places: dict[str, tuple[float, float]], edges: list[tuple[str, str]], kinds: dict[str, str], title: str
) -> None:
    """Draw a graph; the edges into what is set are cut."""
    boxes = {name: node(ax, name, at, kinds.get(name, "plain")) for name, at in places.items()}
    for cause, effect in edges:
        cut = kinds.get(effect) == "set"
        arrow = FancyArrowPatch(
            places[cause],
            places[effect],
            arrowstyle="-|>",
            mutation_scale=12,
            patchA=boxes[cause],
            patchB=boxes[effect],
            shrinkA=1,
            shrinkB=2,
            color="#bbbbbb" if cut else "#333333",
            linestyle=":" if cut else "-",
            connectionstyle="arc3,rad=0.08",
        )
        ax.add_patch(arrow)
        if cut:
            middle = np.add(places[cause], places[effect]) / 2
            ax.text(
                *middle, "cut", ha="center", va="center", fontsize=8, bbox={"facecolor": "white", "edgecolor": "none"}
            )
    x, y = zip(*places.values(), strict=True)
    ax.set(xlim=(min(x) - 0.6, max(x) + 0.6), ylim=(min(y) - 0.4, max(y) + 0.4), aspect="equal")
    ax.set_title(title, fontsize=10, loc="left")
    ax.axis("off")


def seeing_and_doing() -> Any:
    """Return the first picture: the graph as it is, the graph under do(drug=1), and the numbers of both."""
    figure, axes = plt.subplots(1, 3, figsize=(11, 3), layout="constrained", width_ratios=[1, 1, 0.9])
    places = {"severity": (1, 1.2), "drug": (0, 0), "recovered": (2, 0)}
    edges = list(TRIAL.edges)
    graph(axes[0], places, edges, {}, "seeing: who gets the drug depends on severity")
    graph(axes[1], places, edges, {"drug": "set"}, "doing: do(drug=1) cuts that")
    rows = SimulatedEnvironment(TRIAL, seed=0).sample(do(), 200_000).to_frame()
    seen = rows.groupby("drug")["recovered"].mean()
    done = [expected_reward(TRIAL, do(drug=k), reward="recovered") for k in (0, 1)]
    at = np.arange(2)
    for shift, values, hatch, label in (
        (-0.2, seen, "", "among those seen with it"),
        (0.2, done, "////", "if it is given"),
    ):
        bars = axes[2].bar(at + shift, values, 0.36, color="#cfe3f5", edgecolor="#333333", hatch=hatch, label=label)
        axes[2].bar_label(bars, fmt="%.2f", fontsize=9)
    axes[2].set_xticks(at, ["no drug", "drug"])
    axes[2].set_ylim(0, 1.15)
    axes[2].set_title("share that recovers", fontsize=10, loc="left")
    axes[2].legend(frameon=False, fontsize=8, loc="upper right")
    axes[2].spines[["top", "right"]].set_visible(False)
    return figure


def sequence() -> Any:
    """Return the second picture: two visits, and the admissible sequence for both drugs."""
    network = load_network(DATA / "two_visits.bif", latents=["frailty", "adherence"])
    steps = admissible_sequence(network, ["drug1", "drug2"], "recovered")
    adjusted = {v for _, z in steps or [] for v in z}
    kinds = {
        "drug1": "set",
        "drug2": "set",
        "frailty": "hidden",
        "adherence": "hidden",
        **dict.fromkeys(adjusted, "adjusted"),
    }
    places = {
        "frailty": (2.3, 1.5),
        "adherence": (4.4, 1.5),
        "severity1": (0, 0.5),
        "drug1": (1.2, -0.5),
        "severity2": (2.4, 0.5),
        "drug2": (3.8, -0.5),
        "recovered": (5, 0.5),
    }
    figure, ax = plt.subplots(figsize=(8.5, 3.6), layout="constrained")
    said = ", then ".join(f"{', '.join(sorted(z)) or 'nothing'} before {x}" for x, z in steps or [])
    graph(ax, places, list(network.edges), kinds, f"set: boxes; adjusted for: {said}; hidden: dashed")
    return figure


def intervals() -> Any:
    """Return the third picture: intervals of two arms over plays, plain and for all times, and where they part."""
    rng = np.random.default_rng(1)
    plays, means = np.arange(10, 3_001), (0.5, 0.6)
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.2), sharey=True, layout="constrained")
    counts = [np.cumsum(rng.random(plays[-1]) < mean)[plays - 1] for mean in means]
    for ax, title in zip(axes, ("plain 95 %: right at one moment", "for all times at once"), strict=True):
        for x, mean, hatch, colour in zip(counts, means, ("", "///"), ("#e8a15a", "#7fb0dc"), strict=True):
            share = x / plays
            if ax is axes[0]:
                half = 1.96 * np.sqrt(share * (1 - share) / plays)
                low, high = share - half, share + half
            else:
                found = kt_interval(plays, x, 0.05)
                low, high = found.lower, found.upper
            ax.fill_between(
                plays, low, high, alpha=0.6, hatch=hatch, facecolor=colour, edgecolor="#555555", linewidth=0.4
            )
            ax.axhline(mean, color="black", linewidth=1, linestyle=":")
        ax.set(xscale="log", xlabel="plays of each arm", ylim=(0.2, 0.95))
        ax.set_title(title, fontsize=10, loc="left")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("expected reward")
    return figure


PICTURES = {"seeing_and_doing": seeing_and_doing, "sequence": sequence, "intervals": intervals}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    for name, draw in PICTURES.items():
        draw().savefig(folder / f"{name}.png", dpi=110)
