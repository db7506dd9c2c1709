"""Blocks as one self-contained page: no scripts, nothing from other hosts, charts as drawings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from sys import float_info
from typing import TYPE_CHECKING

from planner.planning.beliefs import belief_between_two
from planner.planning.plan import SurveyPlan
from planner.planning.question import QuestionPlan
from planner.policy.budget_text import rounded_up
from planner.show.blocks import (
    Block,
    Column,
    Fact,
    Facts,
    Figure,
    Heading,
    Sentence,
    Table,
    percent_up,
    said,
)
from planner.show.figures import figure_of, question_figure
from planner.show.plan import costs, plan_blocks
from planner.show.promises import outsider_blocks, promises, promises_of
from planner.show.svg import svg_of

if TYPE_CHECKING:
    from planner.frames import WithDataFrame


_MOST_PAGE_ROWS = 40  # of a table


_HELD_LIKELY = 0.1  # what somebody believes before a report


# The browser is told to load and to run nothing, should a text ever come through unescaped.
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
    if most:  # else reports say nothing, and nobody's belief changes
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
    # In the order in which a board asks; the blanks last, for whoever brings the page to it.
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
    questions: Iterable[QuestionPlan] = ()
    match shown:
        case QuestionPlan():
            questions = [shown]
        case SurveyPlan():
            questions = shown.questions
    parts = []
    for question in questions:
        part = ""
        for text in promises_of(question):
            part += f"<p>{escape(text)}</p>"
        alt = f"The error of each mechanism for {question.name}"
        parts.append(part + svg_of(question_figure(question), alt))
    if not parts:
        drawn = figure_of(shown)
        if drawn is not None:
            parts.append(svg_of(drawn, shown.summary))
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
            return f"<dl>{''.join(map(_fact_html, facts))}</dl>"
        case Table(title, columns, _, accent):
            unshown = len(columns[0].cells) - _MOST_PAGE_ROWS
            caption = f"<caption>{escape(title)}</caption>\n"
            page = table_html(columns, accent, caption)
            if unshown > 0:
                page += f"<p>... and {unshown:,} more.</p>"
            return page
        case Figure(title, draw, alt):
            return f"<h3>{escape(title)}</h3>\n<figure>{svg_of(draw(), alt)}</figure>"


def _fact_html(fact: Fact) -> str:
    notes = [note for note in (fact.meaning, fact.why) if note]
    return (
        f"<div><dt>{escape(fact.name)}</dt><dd>{escape(fact.value)}</dd>"
        f"<dt>{escape(', '.join(notes))}</dt></div>"
    )


def table_html(columns: Sequence[Column], accent: int | None, caption: str = "") -> str:
    """The first rows of a table, with bars from zero behind some; a row may stand out."""
    heads = []
    rows: list[list[str]] = []
    for _ in columns[0].cells[:_MOST_PAGE_ROWS]:
        rows.append([])
    for shown in columns:
        kind = "number"
        if shown.text:
            kind = "text"
        elif shown.lengths:
            kind = "bar number"
        heads.append(f'<th class="{kind}">{escape(shown.heading)}</th>')
        sizes = _bar_sizes(shown)
        cells = zip(rows, shown.cells, strict=False)
        for k, (row, cell) in enumerate(cells):
            size = ""
            if sizes:
                size = sizes[k]
            row.append(f'<td class="{kind}"{size}>{escape(cell)}</td>')
    lines = [f"<tr>{''.join(heads)}</tr>"]
    for k, row in enumerate(rows):
        opening = "<tr>"
        if k == accent:
            opening = '<tr class="accent">'
        lines.append(f"{opening}{''.join(row)}</tr>")
    inside = "\n".join(lines)
    # In a narrow window the keys of who has no mouse move it.
    return f'<div class="numbers" tabindex="0"><table>{caption}{inside}</table></div>'


def _bar_sizes(shown: Column) -> list[str]:
    """How wide the bar behind each number is, in per cent of the widest; of one number, of 1."""
    full = 1.0
    if len(shown.lengths) > 1:
        full = max(*shown.lengths, float_info.min)
    sizes = []
    for length in shown.lengths:
        share = 100 * max(0.0, length) / full  # what is below 0 has no bar
        sizes.append(f' style="--bar:{share:.1f}"')
    return sizes
