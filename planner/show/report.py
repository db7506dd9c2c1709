"""A planned survey as one self-contained HTML page: no outside hosts, plotly.js inlined."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from planner.planning.frontier import frontier
from planner.planning.whole_survey.plan import WholePlan
from planner.planning.whole_survey.planned_question import PlannedQuestion
from planner.planning.whole_survey.sentences import (
    design_sentence,
    misplaced_sentence,
    spending_sentence,
)
from planner.show.charts.plans import (
    allocation_figure,
    belief_figure,
    frontier_figure,
    mechanism_figure,
    padding_figure,
)

__all__ = ["report_html"]

_TEMPLATES = Path(__file__).parent / "templates"
_MOST_LEVELS = 40
_CHART = {"displayModeBar": False, "responsive": True}


def report_html(plan: WholePlan) -> str:
    """The report as text; about 5 MB, nearly all of it the chart library.

    Everything that comes from the survey file is escaped.

    Examples
    --------
    >>> from planner.planning.whole_survey.plan import plan_whole_survey
    >>> from planner.survey import Level, Question, Survey
    >>> question = Question("a <b>", (Level("low", 1.0, item_count=3),))
    >>> page = report_html(plan_whole_survey(Survey("s", 1000, (question,))))
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
    environment.filters["percent"] = lambda share: f"{100 * share:.3g} %"
    return environment.get_template("report.html").render(
        plan=plan,
        survey=plan.survey,
        found=plan.allocation,
        design=design_sentence(plan),
        spending=spending_sentence(plan),
        allocation_chart=_chart(allocation_figure(plan)) if plan.several else "",
        questions=[_question(question) for question in plan.questions],
        plotly_js=get_plotlyjs(),
    )


def _question(question: PlannedQuestion) -> dict[str, Any]:
    planned = None if question.plan is None else question.plan.table.model
    mechanisms = mechanism_figure(question.choice, question.users, planned)
    charts = [("All mechanisms at these budgets", _chart(mechanisms))]
    if question.padding is not None:
        charts.append(("The padding length", _chart(padding_figure(question.padding))))
    if question.plan is not None:
        table, policy = question.plan.table, question.plan.table.policy
        if question.padding_length is None:
            curve = frontier(policy, question.users, model=table.model)
            charts.append(("Error against budget", _chart(frontier_figure(curve))))
        charts.append(
            ("What an observer can come to believe", _chart(belief_figure(question.explanations)))
        )
    return {
        "planned": question,
        "table": None if question.plan is None else question.plan.table,
        "levels": _levels(question),
        "charts": charts,
        "relaxations": () if question.plan is None else question.plan.relaxations,
        "misplaced": misplaced_sentence(question),
    }


def _levels(question: PlannedQuestion) -> list[dict[str, Any]]:
    if question.plan is None:
        return []
    table = question.plan.table
    policy, prices = table.policy, table.shadow_prices
    length = question.padding_length or 1  # every estimate is multiplied by it
    errors = table.standard_errors(question.users) * length
    return [
        {
            "name": policy.names[i],
            "items": int(policy.item_counts[i]),
            "epsilon": float(policy.epsilons[i]),
            "a": float(table.a[i]),
            "b": float(table.b[i]),
            "error": float(errors[i]),
            "price": None if prices is None else float(prices[i]) * length**2,
        }
        for i in range(min(policy.size, _MOST_LEVELS))
    ]


def _chart(figure: Any) -> str:
    """The chart without the library, which the page has once."""
    figure.update_layout(
        template="plotly_white", font={"family": "system-ui, sans-serif", "size": 13}
    )
    return figure.to_html(full_html=False, include_plotlyjs=False, config=_CHART)
