"""A planned survey as one self-contained HTML page: no outside hosts, plotly.js inlined."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from planner.planning.outsiders import NOTHING_TO_SAY, OutsiderView
from planner.planning.whole_survey import sentences
from planner.planning.whole_survey.budget_curve import budget_curve
from planner.planning.whole_survey.plan import SurveyPlan
from planner.planning.whole_survey.promises import promises_of
from planner.planning.whole_survey.question_plan import QuestionPlan
from planner.planning.whole_survey.said import said_of
from planner.show.charts.levels import design_figure
from planner.show.charts.ordered import ordered_figure
from planner.show.charts.plans import (
    allocation_figure,
    belief_figure,
    frontier_figure,
    mechanism_figure,
    padding_figure,
)

_TEMPLATES = Path(__file__).parent / "templates"
_MOST_LEVELS = 40
_CHART = {"displayModeBar": False, "responsive": True}


def report_html(plan: SurveyPlan) -> str:
    """The report as text; about 5 MB, nearly all of it the chart library.

    Everything that comes from the survey file is escaped.

    Examples
    --------
    >>> from planner.planning.whole_survey.plan import plan_survey
    >>> from planner.survey import Level, Question, Survey
    >>> question = Question("a <b>", (Level("low", 1.0, item_count=3),))
    >>> page = report_html(plan_survey(Survey("s", 1000, (question,))))
    >>> "a &lt;b&gt;" in page, "a <b>" in page.split("</script>")[-1]
    (True, False)
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from plotly.offline import get_plotlyjs

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    view = plan.outsiders()
    seen = {} if view is None else {one.question: one for one in view.questions}
    environment.filters["percent"] = sentences.percent
    environment.filters["people"] = sentences.people
    return environment.get_template("report.html").render(
        plan=plan,
        said=sentences,
        allocation_chart=_chart(allocation_figure(plan)) if plan.several else "",
        questions=[_question(one, seen.get(one.name)) for one in plan.questions],
        together=() if view is None else view.sentences,
        promises=promises_of,
        most_levels=_MOST_LEVELS,
        plotly_js=get_plotlyjs(),
    )


def _question(question: QuestionPlan, outsiders: OutsiderView | None) -> dict[str, Any]:
    seen = (NOTHING_TO_SAY,) if outsiders is None else outsiders.sentences
    said = said_of(question)
    return {"plan": question, "said": said, "charts": _charts(question), "outsiders": seen}


def _charts(question: QuestionPlan) -> list[tuple[str, str]]:
    charts = []
    if question.choice is not None:
        charts.append(("All mechanisms at these budgets", mechanism_figure(question.choice)))
    if question.design is not None:
        charts.append(("The types of reports", design_figure(question.design)))
    if question.padding is not None:
        charts.append(("The padding length", padding_figure(question.padding)))
    if question.expected is not None:
        title = "What the result would look like if all answers were alike"
        charts.append((title, ordered_figure(question.expected)))
    curve = budget_curve(question)
    if curve is not None:
        charts.append(("Error against budget", frontier_figure(curve)))
    if question.explanations:
        beliefs = belief_figure(question.explanations)
        charts.append(("What an observer can come to believe", beliefs))
    return [(title, _chart(figure)) for title, figure in charts]


def _chart(figure: Any) -> str:
    """The chart without the library, which the page has once."""
    figure.update_layout(
        template="plotly_white", font={"family": "system-ui, sans-serif", "size": 13}
    )
    return figure.to_html(full_html=False, include_plotlyjs=False, config=_CHART)
