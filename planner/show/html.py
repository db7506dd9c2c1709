"""Blocks as one self-contained page: no scripts, nothing from other hosts, charts as drawings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from importlib import resources
from itertools import repeat
from math import ceil, floor, isfinite, log10
from sys import float_info
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from planner.planning.beliefs import belief_between_two
from planner.policy.budget_text import rounded_up
from planner.show.blocks import (
    Block,
    Column,
    Facts,
    Figure,
    Heading,
    Sentence,
    Table,
    percent_up,
    said,
)
from planner.show.figures import Chart, Line, figure_of, question_figure
from planner.show.plan import costs, plan_blocks
from planner.show.promises import outsider_blocks, promises, promises_of

if TYPE_CHECKING:
    from planner.frames import WithDataFrame
    from planner.planning.plan import SurveyPlan
    from planner.planning.question import QuestionPlan

Place = Callable[[Any], float]
"""Where a value or a name stands in a drawing."""
_MOST_PAGE_ROWS = 40
_HELD_LIKELY = 0.1  # what somebody believes before a report
# readable on a telephone
_WIDTH = 560
_LEFT = 78
_RIGHT = 548
_PLOT = 280
_SVG_SIZES = 20
_MOST_AXIS_NAMES = 8
_MOST_LETTERS = 24
_DASHES = {"dash": "6 4", "dot": "2 3", "dashdot": "6 3 2 3", "longdash": "10 4"}
_PAGE_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
"""
_FOOT = "</body>\n</html>\n"
_PREDICTED = (
    "Errors are predictions for the least favourable answers unless said otherwise. The budgets "
    "say what a single report reveals at most; they do not cover what people tell elsewhere."
)


def report_html(plan: SurveyPlan) -> str:
    """A planned survey as a page: what everybody needs first, then the details.

    Everything that comes from the survey file is escaped.

    Examples
    --------
    >>> from planner import Level, Categorical, Survey, plan_survey
    >>> question = Categorical("a <b>", (Level("low", 1.0, item_count=3),))
    >>> page = report_html(plan_survey(Survey("s", 1000, (question,))))
    >>> "a &lt;b&gt;" in page, "a <b>" in page, len(page) < 100_000
    (True, False, True)
    """
    blocks = [*plan_blocks(plan), Heading("What outsiders learn", "details")]
    blocks += [*outsider_blocks(plan.outsiders()), Sentence(_PREDICTED)]
    return page_of(f"{plan.survey.name}: privacy plan", blocks)


def handout_html(plan: SurveyPlan) -> str:
    """One page for an ethics board: what people are told, what is promised, and what is not.

    It has blanks for what a plan does not know.
    """
    most = plan.most_leaked
    belief = belief_between_two(most, _HELD_LIKELY)
    sentences = [
        "Before your answer leaves your device, it is changed at random. We receive the changed "
        "answer and nothing else; your true answer is never sent or stored by us.",
        "From many changed answers we compute how many people gave each answer, about right, but "
        "nobody can be sure of yours.",
    ]
    if most:
        sentences.append(
            f"Somebody who holds one of two answers of yours to be {100 * _HELD_LIKELY:g} % "
            "likely may, after seeing your changed answer, hold it to be at most "
            f"{percent_up(belief)} likely."
        )
    never = [
        "Secrecy of results: what is found about many people may be believed of each of them.",
        "Anonymity: whoever collects may know who took part.",
        "Anything for a group: reports of people with the same answer add up.",
        f"More than one collection: budgets of the same people add up; this one spends epsilon "
        f"{rounded_up(plan.most_spent, 4)} of a person at most.",
        "Protection from the device itself, or from what people tell elsewhere.",
    ]
    open_ones = (
        "Who collects, and whom people can ask: ________",
        "Who agreed to the budgets, and when: ________",
        "How long changed answers are kept: ________",
    )
    names = ", ".join(question.name for question in plan.questions)
    blocks: list[Block] = [
        Heading(f"{plan.survey.name}: for the ethics board", level=1),
        Sentence(f"{plan.survey.users:,} people are asked about: {names}."),
    ]
    for title, lines in (
        ("What people are told", sentences),
        ("What is promised", promises(plan)),
        ("How exact the results will be", costs(plan)),
        ("What is not promised", never),
        ("To be filled in", open_ones),
    ):
        blocks += [Heading(title, level=3), *said(lines, "item")]
    return page_of(f"{plan.survey.name}: handout", blocks)


def page_of(title: str, blocks: Iterable[Block], drawing: str = "") -> str:
    """A page of blocks, details included, whose text is escaped; and a drawing, which is not."""
    body = drawing + "\n".join(map(_html, blocks))
    style = (resources.files("planner.show") / "page.css").read_text("utf-8")
    return f"{_PAGE_HEAD.format(title=escape(title), style=style)}{body}\n{_FOOT}"


def picture_html(shown: WithDataFrame) -> str:
    """What a notebook shows below a table: a plan's promises, and the picture of what has one.

    Examples
    --------
    >>> from planner import plan_survey
    >>> page = picture_html(plan_survey("examples/clinic.toml"))
    >>> "No report changes the odds" in page, page.count("<svg")
    (True, 1)
    """
    plans = {"QuestionPlan": [shown], "SurveyPlan": getattr(shown, "questions", ())}
    parts = [
        "".join(f"<p>{escape(text)}</p>" for text in promises_of(question))
        + svg_of(
            question_figure(question),
            f"The error of each mechanism for {question.name}",
        )
        for question in cast(
            "Iterable[QuestionPlan]", plans.get(type(shown).__name__, ())
        )
    ]
    if not parts and (drawn := figure_of(shown)) is not None:
        parts = [svg_of(drawn, shown.summary)]
    return "\n".join(parts)


def _html(block: Block) -> str:
    match block:
        case Heading(text, _, level):
            return f"<h{level}>{escape(text)}</h{level}>"
        case Sentence(text, _, "item"):
            return f"<ul><li>{escape(text)}</li></ul>"
        case Sentence(text, _, tone):
            return f'<p class="{tone}">{escape(text)}</p>'
        case Facts(facts):
            every = (
                f"<div><dt>{escape(fact.name)}</dt><dd>{escape(fact.value)}</dd>"
                f"<dt>{escape(', '.join(filter(None, (fact.meaning, fact.why))))}</dt></div>"
                for fact in facts
            )
            return f"<dl>{''.join(every)}</dl>"
        case Table(title, columns, _, accent):
            unshown = len(columns[0].cells) - _MOST_PAGE_ROWS
            left = f"<p>... and {unshown:,} more.</p>" if unshown > 0 else ""
            return (
                table_html(columns, accent, f"<caption>{escape(title)}</caption>\n")
                + left
            )
        case Figure(title, draw, alt):
            return f"<h3>{escape(title)}</h3>\n<figure>{svg_of(draw(), alt)}</figure>"


def table_html(columns: Sequence[Column], accent: int | None, caption: str = "") -> str:
    """The first rows of a table, with bars from zero behind some; a row may stand out."""
    heads = ""
    bodies = []
    for body in columns:
        kind = "text" if body.text else "bar number" if body.lengths else "number"
        heads += f'<th class="{kind}">{escape(body.heading)}</th>'
        full = max(*body.lengths, float_info.min) if len(body.lengths) > 1 else 1.0
        shares = [100 * max(0.0, length) / full for length in body.lengths]
        sizes = [f' style="--bar:{share:.1f}"' for share in shares]
        cells = zip(body.cells[:_MOST_PAGE_ROWS], sizes or repeat(""), strict=False)
        bodies.append(
            [f'<td class="{kind}"{size}>{escape(cell)}</td>' for cell, size in cells]
        )
    mark = ' class="accent"'
    rows = [
        f"<tr{mark if row == accent else ''}>{''.join(cells)}</tr>"
        for row, cells in enumerate(zip(*bodies, strict=True))
    ]
    inside = "\n".join([f"<tr>{heads}</tr>", *rows])
    # In a narrow window the keys of who has no mouse move it.
    return f'<div class="numbers" tabindex="0"><table>{caption}{inside}</table></div>'


def svg_of(drawn: Chart, alt: str) -> str:
    """The drawing of a chart: its legend above, lines, points and bands below."""
    top = _SVG_SIZES * (len(drawn.lines) + 2)
    named = [x for line in drawn.lines for x in line.x]
    limits = [limit for line in drawn.lines for limit in line.limits or ()]
    numbers = [
        y
        for values in (*(line.values for line in drawn.lines), *limits)
        for y in values
    ]
    axes = [
        (named, "x" in drawn.log, drawn.across),
        (numbers, "y" in drawn.log, drawn.titles[1]),
    ]
    left = _LEFT
    bottom = top + _PLOT
    if drawn.turned:
        axes.reverse()
        left = 16 + 8 * min(max(map(len, named)), _MOST_LETTERS)
        bottom = top + 24 * max(len(set(named)), 2)
    (across, log_across, below), (along, log_along, above) = axes
    right, places = _axis(across, left, _RIGHT, log=log_across)
    ends = (top, bottom) if drawn.turned else (bottom, top)
    up, heights = _axis(along, *ends, log=log_along)
    heights = list(dict.fromkeys(named)) if drawn.turned else heights

    def at(x: Any, y: Any) -> tuple[float, float]:
        return (right(y), up(x)) if drawn.turned else (right(x), up(y))

    def said(value: Any, *, percent: bool) -> str:
        if isinstance(value, str):
            return (
                value
                if len(value) <= _MOST_LETTERS
                else f"{value[: _MOST_LETTERS - 1]}\u2026"
            )
        return f"{100 * value:.3g} %" if percent else f"{value:,.4g}"

    shares = drawn.percent and drawn.turned
    parts = [_text(right(x), bottom + 18, said(x, percent=shares)) for x in places]
    for y in heights:
        label = said(y, percent=drawn.percent and not drawn.turned)
        parts.append(_text(left - 8, up(y) + 4, label, "end"))
        parts.append(_path([(left, up(y)), (_RIGHT, up(y))], "#9995", 1))
    for i, line in enumerate(drawn.lines):
        level = 12 + _SVG_SIZES * i
        parts.append(_path([(4, level), (28, level)], line.colour, 3, line.dash))
        parts.append(_text(36, level + 4, line.name, "start"))
        parts += _drawn(line, at)
    parts.append(_text((left + _RIGHT) / 2, bottom + 42, below))
    parts.append(_text(4, top - 10, above, "start"))
    size = (
        f'viewBox="0 0 {_WIDTH} {bottom + 50}" width="{_WIDTH}" height="{bottom + 50}"'
    )
    title = f"<title>{escape(alt)}</title>"
    opening = f'<svg {size} role="img" font-size="14" fill="currentColor">'
    return "\n".join([f"{opening}{title}", *parts, "</svg>"])


def _drawn(
    line: Line, scaled: Callable[[Any, Any], tuple[float, float]]
) -> Iterable[str]:
    def points(values: Sequence[float]) -> list[tuple[float, float]]:
        return [
            scaled(x, y) for x, y in zip(line.x, values, strict=True) if isfinite(y)
        ]

    if line.limits is not None and line.dash:
        lower, upper = map(points, line.limits)
        around = _places(lower + upper[::-1])
        yield f'<polygon points="{around}" fill="{line.colour}" opacity=".2"/>'
    elif line.limits is not None:  # an end that is open is not drawn
        ends = (
            np.where(np.isfinite(limit), limit, line.values) for limit in line.limits
        )
        bars = zip(*map(points, ends), strict=True)
        yield from (_path(list(bar), line.colour, 3) for bar in bars)
    dots = points(line.values)
    if line.dash:
        yield _path(dots, line.colour, 2, line.dash)
    if (line.marked or not line.dash) and not line.bare:
        dot = '<circle cx="{:.1f}" cy="{:.1f}" r="4" fill="{}"/>'
        yield from (dot.format(*dot_place, line.colour) for dot_place in dots)


def _axis(
    values: Sequence[Any], start: float, end: float, *, log: bool
) -> tuple[Place, Sequence[str | float]]:
    """Where a value is on the page, and which values are written there."""
    names = list(dict.fromkeys(value for value in values if isinstance(value, str)))
    if names:
        step = (end - start) / len(names)
        places = {name: start + step * (k + 0.5) for k, name in enumerate(names)}
        return places.__getitem__, names[:: ceil(len(names) / _MOST_AXIS_NAMES)]
    scaled: Place = log10 if log else float
    finite = [scaled(value) for value in values if isfinite(value)] or [0.0, 1.0]
    pad = 0.04 * (max(finite) - min(finite)) or 0.5
    low = min(finite) - pad
    high = max(finite) + pad

    def place(value: float) -> float:
        return start + (end - start) * (scaled(value) - low) / (high - low)

    if log:
        steps = (1, 2, 5) if high - low < 3 else (1,)
        every = np.outer(10.0 ** np.arange(floor(low), ceil(high)), steps).ravel()
        return place, [value for value in every.tolist() if low <= log10(value) <= high]
    rough = (high - low) / 5
    power = 10.0 ** floor(log10(rough))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= rough)
    return place, [step * k for k in range(ceil(low / step), floor(high / step) + 1)]


def _places(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _path(
    points: list[tuple[float, float]], colour: str, width: int, dash: str = ""
) -> str:
    dashes = f' stroke-dasharray="{_DASHES[dash]}"' if dash in _DASHES else ""
    style = f'stroke="{colour}" stroke-width="{width}"{dashes} fill="none"'
    return f'<polyline points="{_places(points)}" {style}/>'


def _text(x: float, y: float, said: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(said)}</text>'
