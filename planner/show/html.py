"""Blocks as one self-contained page: no scripts, nothing from other hosts, charts as drawings."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

from planner.show.blocks import Block, Column, Facts, Figure, Heading, Sentence, Table, chosen
from planner.show.guarantees import handout_blocks, outsider_blocks
from planner.show.plan import error_sentence, plan_blocks
from planner.show.svg import svg_of

if TYPE_CHECKING:
    from planner.planning.plan import SurveyPlan

_MOST_ROWS = 40
_OWN = ' class="own"'
_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
  :root {{ color-scheme: light; }}
  body {{ font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff;
    max-width: 52rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }}
  h2 {{ margin-top: 2.5rem; padding-top: .75rem; border-top: 2px solid #0072B2; }}
  h3 {{ margin: 1.5rem 0 .5rem; font-size: 1.05rem; }}
  .note, .proof, .met, .missed {{ border-left: 4px solid #0072B2; padding: .4rem .8rem;
    background: #eef5fa; }}
  .missed {{ border-color: #D55E00; background: #fdf1ea; }}
  .note {{ border-color: #E69F00; background: #fff8e8; }}
  dl {{ display: flex; flex-wrap: wrap; gap: .5rem 2rem; }}
  dt {{ font-size: .85rem; color: #555; }}
  dd {{ margin: 0; font-size: 1.3rem; font-weight: 600; }}
  .table {{ overflow-x: auto; }}
  table {{ border-collapse: collapse; margin: .75rem 0; font-variant-numeric: tabular-nums; }}
  caption {{ text-align: left; color: #555; }}
  th, td {{ padding: .2rem .9rem .2rem 0; text-align: right; border-bottom: 1px solid #ddd; }}
  .text {{ text-align: left; }}
  .own {{ font-weight: 600; }}
  .bar {{ height: .35rem; background: #56B4E9; }}
  svg {{ max-width: 100%; height: auto; }}
  details {{ margin-top: 1.5rem; }}
  @media print {{ h2 {{ break-before: page; }} figure, table {{ break-inside: avoid; }} }}
</style>
</head>
<body>
"""
_FOOT = """<footer><p>Errors are predictions for the least favourable answers unless said otherwise.
The budgets say what a single report reveals at most; they do not cover what people tell
elsewhere.</p></footer>
</body>
</html>
"""


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
    return page_of(f"{plan.survey.name}: privacy plan", blocks + outsider_blocks(plan.outsiders()))


def handout_html(plan: SurveyPlan) -> str:
    """One page for an ethics board, with blanks for what a plan does not know."""
    costs = [f"{one.name}: {error_sentence(one)}" for one in plan.questions]
    return page_of(f"{plan.survey.name}: handout", handout_blocks(plan, costs))


def page_of(title: str, blocks: Iterable[Block]) -> str:
    """A page of blocks, details included; the text is escaped."""
    body = "\n".join(_html(block) for block in chosen(blocks, details=True))
    return f"{_HEAD.format(title=escape(title))}{body}\n{_FOOT}"


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
                f"<dt>{escape(fact.why)}</dt></div>"
                for fact in facts
            )
            return f"<dl>{''.join(every)}</dl>"
        case Table():
            return _table(block)
        case Figure(title, draw, alt):
            return f"<h3>{escape(title)}</h3>\n<figure>{svg_of(draw(), alt)}</figure>"


def _table(table: Table) -> str:
    heads = "".join(f"<th{_class(one)}>{escape(one.heading)}</th>" for one in table.columns)
    columns = [_cells(one) for one in table.columns]
    rows = [
        f"<tr{_OWN if place == table.accent else ''}>{''.join(cells)}</tr>"
        for place, cells in enumerate(zip(*columns, strict=True))
    ]
    size = len(table.columns[0].cells)
    left = f"<p>... and {size - _MOST_ROWS:,} more.</p>" if size > _MOST_ROWS else ""
    caption = f"<caption>{escape(table.title)}</caption>"
    inside = "\n".join([f"<tr>{heads}</tr>", *rows])
    return f'<div class="table"><table>{caption}\n{inside}\n</table></div>{left}'


def _cells(column: Column) -> list[str]:
    cells = [f"{escape(cell)}" for cell in column.cells[:_MOST_ROWS]]
    if column.lengths:
        most = max(1e-300, *column.lengths)
        cells = [
            f'{cell}<div class="bar" style="width:{max(0.0, 100 * length / most):.3g}%"></div>'
            for cell, length in zip(cells, column.lengths, strict=False)
        ]
    return [f"<td{_class(column)}>{cell}</td>" for cell in cells]


def _class(column: Column) -> str:
    return ' class="text"' if column.text else ""
