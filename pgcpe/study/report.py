"""A study as one page of HTML: nothing is fetched, nothing runs, and colour carries no meaning."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape
from string import Template
from typing import Any

import pandas as pd

from pgcpe.graphs.explanation import explain
from pgcpe.plays.actions import Action
from pgcpe.plays.reward_scale import RewardScale
from pgcpe.plotting.diagram import drawn_part, graph_as_svg
from pgcpe.study.status import Status

__all__ = ["display", "report"]

MOST_ARMS = 25
"""How many arms are shown, the best first."""

STYLE = """
.pgcpe{font:16px/1.5 system-ui,sans-serif;color:#111;background:#fff;max-width:1080px;margin:0 auto;padding:16px}
.pgcpe h1{font-size:1.5em;margin:.2em 0}.pgcpe h2{font-size:1.15em;margin:1.6em 0 .4em;border-bottom:1px solid #999}
.pgcpe p{margin:.5em 0}.pgcpe .small{font-size:.86em;color:#444}
.pgcpe .answer{border:2px solid #111;border-left-width:10px;padding:.6em 1em;margin:1em 0}
.pgcpe .answer strong{font-size:1.3em;overflow-wrap:anywhere}
.pgcpe dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(200px,1fr));gap:.6em;margin:.6em 0}
.pgcpe dl>div{border:1px solid #bbb;padding:.4em .7em}.pgcpe dt{font-size:.86em;color:#444}
.pgcpe dd{margin:0;font-weight:600}
.pgcpe .wide{overflow-x:auto}.pgcpe table{border-collapse:collapse;width:100%}
.pgcpe th,.pgcpe td{white-space:nowrap;text-align:left;
padding:.25em .6em;border-bottom:1px solid #ddd;vertical-align:top}
.pgcpe td.number,.pgcpe th.number{text-align:right;font-variant-numeric:tabular-nums}
.pgcpe .arm{display:grid;grid-template-columns:minmax(150px,4fr) 7fr minmax(240px,5fr);gap:.1em .8em;
align-items:center;padding:.2em 0;border-bottom:1px solid #eee}
.pgcpe .arm span{overflow-wrap:anywhere}.pgcpe .arm .numbers{font-variant-numeric:tabular-nums;font-size:.86em}
.pgcpe .first{font-weight:700}.pgcpe .bar{width:100%;height:18px;display:block}
.pgcpe .graph{display:block;max-width:none}
@media(max-width:640px){.pgcpe{padding:10px}.pgcpe .arm{grid-template-columns:1fr}}
@media print{.pgcpe{max-width:none}}
"""

PAGE = Template("""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>$title</title></head><body style="margin:0">$body</body></html>
""")

WORTH = {
    "direct": "Proved from plays of the interventions themselves, whatever the graph.",
    "exact": "Proved for any number of plays, if the graph is right.",
    "numerical": "Proved if the graph and the model are right, up to a numerical search.",
    "asymptotic": "Holds in the limit of many plays, if the graph is right.",
    "heuristic": "By a rule whose constants are not proved.",
}


def report(status: Status) -> str:
    """Return a page of its own, in HTML, that says where a study stands.

    All text of the user's, such as names and notes, is escaped.
    """
    return PAGE.substitute(title=escape(status.name), body=display(status))


def display(status: Status) -> str:
    """Return what the page shows, as a part of another: the display in Jupyter."""
    parts = [
        f"<h1>{escape(status.name)}</h1>",
        *(f"<p>{escape(line)}</p>" for line in status.question.splitlines() if line),
        _answer(status),
        _progress(status),
        _rests_on(status),
        _arms(status),
        _graph(status),
        _conflicts(status),
        _people(status),
        _notes(status),
        _words(status),
    ]
    return f'<div class="pgcpe"><style>{STYLE}</style>{"".join(parts)}</div>'


def _answer(status: Status) -> str:
    result, scale = status.result, status.result.reward_scale
    best, text = _within(result.table.head(1), scale).iloc[0], scale.text
    if status.certificate is None:
        head = "Best so far" if not status.stopped else "Best when it ended"
        sure = "It is not certified: it may be wrong. " + ("" if status.stopped else "The study goes on.")
    else:
        head = "Answer"
        near = f"within {result.epsilon:g} of the best" if result.epsilon > 0 else "the best"
        sure = (
            f"It is {near} with probability at least {1 - result.delta:g}. {WORTH[status.certificate]} "
            f"Earned after {status.certified_at or 0:,} plays."
        )
    ended = f"<p>Ended: {escape(status.reached)}.</p>" if status.reached else ""
    return (
        f'<div class="answer"><p>{head}</p><p><strong>{escape(_spoken(status.recommendation))}</strong></p>'
        f"<p>Expected reward {text(best.estimate)}, between {text(best.lower)} and {text(best.upper)}.</p><p>{sure}</p>"
        f'<p class="small">{escape(result.stop_reason)}</p>{ended}</div>'
    )


def _progress(status: Status) -> str:
    needed = status.needed
    if status.stopped:
        to_come = "none"
    elif needed is None:
        to_come = "not worked out"
    else:
        to_come = f"about {needed.plays:,.0f} ({needed.low:,.0f} to {needed.high:,.0f} in eight of ten)"
        if needed.plays >= needed.budget:
            to_come = f"more than {needed.budget:,}"
    facts = [
        ("Plays told", f"{status.n_told:,}" + (f", {status.n_imported:,} from logs" if status.n_imported else "")),
        ("Asked for, not told yet", f"{status.n_pending:,}"),
        ("Plays still needed, if the truth is like the estimate", to_come),
        ("Cost so far", f"{status.cost:,g}"),
        ("Cost to come", _cost_to_come(status)),
        ("Ends at the latest", _deadline(status)),
        ("Left out", f"{status.n_cancelled:,} cancelled, {status.n_withdrawn:,} withdrawn"),
    ]
    cells = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts)
    return f"<h2>Where it stands</h2><dl>{cells}</dl>"


def _cost_to_come(status: Status) -> str:
    pending = f"{status.cost_pending:,g} asked for" if status.cost_pending else ""
    needed = f"about {status.needed.cost:,g}" if status.needed is not None and not status.stopped else ""
    return ", of that ".join(part for part in (needed, pending) if part) or (
        "0" if status.stopped else "not worked out"
    )


def _deadline(status: Status) -> str:
    limits = status.deadline
    said = [
        f"{limits.max_plays:,} plays" if limits.max_plays is not None else "",
        f"a cost of {limits.max_cost:,g}" if limits.max_cost is not None else "",
        limits.until.strftime("%d %B %Y %H:%M %Z").strip() if limits.until is not None else "",
    ]
    return ", ".join(part for part in said if part) or "no limit"


def _rests_on(status: Status) -> str:
    if status.certificate is None:
        said = ["nothing is claimed yet: the intervals below hold jointly if the graph is right"]
    else:
        said = list(status.assumptions) or ["plays of the interventions themselves alone, whatever the graph"]
    see = " (some were withdrawn: see the notes)" if status.n_withdrawn else ""
    said.append(f"that plays were performed as asked and reported honestly, none kept back because of its outcome{see}")
    return f"<h2>What it rests on</h2>{_listed(said)}"


def _arms(status: Status) -> str:
    table, scale = status.result.table, status.result.reward_scale
    shown = _within(table.head(MOST_ARMS), scale)
    low, high = float(shown["lower"].min()), float(shown["upper"].max())
    low, high = low - 0.02 * (high - low), high + 0.02 * (high - low) + 1e-9
    first, epsilon = shown.iloc[0], status.result.epsilon
    line = float(first["upper"] - epsilon if scale.minimise else first["lower"] + epsilon)
    is_apart = shown["lower"] >= line if scale.minimise else shown["upper"] <= line
    other = "open" if status.certificate is None else "ruled out"
    rows = [
        _arm(row, "recommended" if k == 0 else "apart" if apart else other, (low, high, line), scale)
        for k, (row, apart) in enumerate(zip(shown.to_dict("records"), is_apart, strict=True))
    ]
    more = f"<p>And {len(table) - len(shown):,} more.</p>" if len(table) > len(shown) else ""
    where = "ends left of the dotted line, at its lower end"
    if scale.minimise:
        where = "begins right of the dotted line, at its upper end"
    plus = f" {'less' if scale.minimise else 'plus'} {epsilon:g}" if epsilon else ""
    said = (
        "A line is the interval that holds at all times, for all jointly; its mark is the estimate, a diamond for "
        f"the one recommended. What {where}{plus}, is apart from it. What "
        "reaches beyond can be ruled out all the same: by bounds that hold for it alone, or in direct comparison."
        f"{' Less is better.' if scale.minimise else ''}"
    )
    return f'<h2>The interventions, best first</h2><p class="small">{said}</p>{"".join(rows)}{more}'


def _arm(row: dict[Any, Any], standing: str, axis: tuple[float, float, float], scale: RewardScale) -> str:
    (low, high, line), first = axis, standing == "recommended"
    at = {c: 1000 * (row[c] - low) / (high - low) for c in ("lower", "estimate", "upper")}
    edge = 1000 * (line - low) / (high - low)
    x = at["estimate"]
    mark = f'<path d="M{x - 12:.0f} 9 L{x:.0f} 1 L{x + 12:.0f} 9 L{x:.0f} 17 z" fill="#111"/>'
    if not first:
        mark = f'<rect x="{x - 4:.0f}" y="4" width="8" height="10" fill="#fff" stroke="#111" stroke-width="2"/>'
    beside = _beside(row, scale)
    estimate, lower, upper = (scale.text(row[c]) for c in ("estimate", "lower", "upper"))
    numbers = f"{estimate} in [{lower}, {upper}]"
    note = f'<br><span class="small">{escape(beside)}</span>' if beside else ""
    bar = (
        f'<path d="M{edge:.0f} 0 V18" stroke="#111" stroke-width="3" stroke-dasharray="2 3"/>'
        f'<path d="M{at["lower"]:.0f} 9 H{at["upper"]:.0f}" stroke="#111" stroke-width="{4 if first else 2}"/>{mark}'
    )
    return (
        f'<div class="arm{" first" if first else ""}"><span>{escape(_spoken(row["action"]))}{note}</span>'
        f'<svg class="bar" viewBox="0 0 1000 18" preserveAspectRatio="none" aria-hidden="true">{bar}</svg>'
        f'<span class="numbers">{numbers}, '
        f"{_plays(int(row['n_plays']))}, {standing}</span></div>"
    )


def _beside(row: dict[Any, Any], scale: RewardScale) -> str:
    """Return what a row of `Result.table` says of an arm beyond its interval."""
    nats, asked, bound = (row.get(c, math.nan) for c in ("nats", "asked", "bound"))
    known = ("action", "estimate", "lower", "upper", "n_plays", "nats", "asked", "bound")
    said = [f"{c}: {_value(row[c])}" for c in row if c not in known and _value(row[c])]
    if math.isfinite(nats):
        said.append(f"evidence {nats:.1f}" + (f" of {asked:.1f} asked" if math.isfinite(asked) else ""))
    if math.isfinite(bound):
        said.append(f"bound: {scale.text(bound)}")
    return "; ".join(said)


def _graph(status: Status) -> str:
    bandit = status.policy.bandit
    action = status.recommendation
    why = explain(bandit.graph, bandit.canonical_of(action), bandit.reward, states=bandit.states)
    adjusted = {v for _, z in why.sequence or [] for v in z}
    shown = drawn_part(bandit.graph, bandit.reward, list(action), adjusted)
    values = {v: str(state) for v, state in action.items()}
    svg = graph_as_svg(bandit.graph, reward=bandit.reward, values=values, adjusted=adjusted, shown=shown)
    part = f" {len(shown)} of {len(bandit.graph)} variables." if len(shown) < len(bandit.graph) else ""
    formula = f"<p><code>{escape(why.formula)}</code></p>" if adjusted else ""
    return (
        f'<h2>The graph, with what the recommended intervention sets</h2><div class="wide">{svg}</div>'
        '<p class="small">Black: set, the dotted arrows are cut. Hatched: adjusted for where observation is used. '
        f"Dashed: hidden. Double border: the reward.{part}</p><p>{escape(why.words)}</p>{formula}"
    )


def _conflicts(status: Status) -> str:
    conflicts, refutation = status.result.conflicts, status.result.refutation
    if refutation:
        said = f"The plays refute the graph: {refutation}. Claims that need the graph are withdrawn."
    elif conflicts:
        names = ", ".join(_spoken(action) for action in conflicts)
        said = (
            f"The plays contradict the graph at {names}: what these show themselves, and what the graph infers from "
            "all others, have nothing in common. Claims that need the graph are withdrawn."
        )
    else:
        said = "None: no plays contradict the graph. That does not prove it right."
    return f"<h2>Conflicts with the graph</h2><p>{escape(said)}</p>"


def _people(status: Status) -> str:
    people = status.people
    if people.empty:
        return ""
    last = pd.to_datetime(people["last"], utc=True, format="ISO8601")
    shown = people.assign(person=people["person"].replace("", "(no name)"), last=last)
    return f"<h2>Who did what</h2>{_table(shown)}"


def _notes(status: Status) -> str:
    return f"<h2>Notes</h2>{_listed(status.notes)}" if status.notes else ""


def _words(status: Status) -> str:
    created = status.created.strftime("%d %B %Y %H:%M %Z").strip()
    scale, evidence = status.result.reward_scale, ""
    if "nats" in status.result.table:
        evidence = (
            "Evidence is counted against an intervention, as compared with the recommended one, in nats: the logarithm "
            "of odds, of which 3 are about 20 to 1. As much as is asked rules it out. "
        )
    return (
        '<p class="small">A play is one intervention performed once. An interval holds the expected reward, which is '
        f"between {scale.low:g} and {scale.high:g}. {evidence}"
        f"Study created {escape(created)} with pgcpe {escape(status.version)}.</p>"
    )


def _within(table: pd.DataFrame, scale: RewardScale) -> pd.DataFrame:
    """Return a table of arms with ends in the range: those of the paper's radii may be beyond, even infinite."""
    lower, upper = (table[end].clip(scale.low, scale.high) for end in ("lower", "upper"))
    known = table["estimate"].abs() < math.inf
    estimate = table["estimate"].where(known, (lower + upper) / 2).clip(scale.low, scale.high)
    return table.assign(lower=lower, upper=upper, estimate=estimate)


def _spoken(action: Action) -> str:
    """Return an action as a reader says it."""
    return ", ".join(f"{v} = {state}" for v, state in action.items()) or "set nothing, only observe"


def _plays(n: int) -> str:
    return f"{n:,} {'play' if n == 1 else 'plays'}"


def _value(value: Any) -> str:
    if isinstance(value, pd.Timestamp):
        return value.strftime("%d %b %Y %H:%M %Z").strip()
    if value is None or value is False or value is pd.NaT or (isinstance(value, float) and value != value):
        return ""
    return "yes" if value is True else f"{value:,g}" if isinstance(value, float) else str(value)


def _listed(items: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(item)}</li>' for item in items)}</ul>"


def _table(frame: pd.DataFrame) -> str:
    numeric = {c for c in frame.columns if pd.api.types.is_numeric_dtype(frame[c])}
    kind = {c: ' class="number"' if c in numeric else "" for c in frame.columns}
    head = "".join(f"<th{kind[c]}>{escape(str(c))}</th>" for c in frame.columns)
    rows = "".join(
        f"<tr>{''.join(f'<td{kind[c]}>{escape(_value(row[c]))}</td>' for c in frame.columns)}</tr>"
        for row in frame.to_dict("records")
    )
    return f'<div class="wide"><table><tr>{head}</tr>{rows}</table></div>'
