"""The chart of a plan by one call, for notebooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.designs.subset_design import SubsetDesign
from planner.designs.table import UnaryTable
from planner.errors import InputError
from planner.estimates.ordered import OrderedEstimates
from planner.planning.answer_rates import AnswerRatePlan
from planner.planning.frontier import Frontier
from planner.planning.padding import PaddingPlan
from planner.planning.sampled import SamplingPlan, error_grid
from planner.planning.whole_survey.plan import SurveyPlan
from planner.planning.whole_survey.question_plan import QuestionPlan
from planner.show.charts.answer_rate import error_figure
from planner.show.charts.levels import budget_figure, design_figure
from planner.show.charts.ordered import ordered_figure
from planner.show.charts.plans import (
    allocation_figure,
    frontier_figure,
    mechanism_figure,
    padding_figure,
)
from planner.show.charts.sampling import budget_error_figure

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


_BUDGETS = np.linspace(0.1, 6, 60)  # nats, for the error of Sampling Privacy against a budget


def chart(plan: object) -> Figure:
    """The chart that says most about a plan, a table or ordered answers, as a plotly figure.

    - ``UnaryTable``: the budget of each level, and where more budget gains nothing
    - ``SubsetDesign``: its types of reports, and what each puts on the high side
    - ``Frontier``: error against a common scale of the budgets
    - ``PaddingPlan``: error against the padding length, and its parts
    - ``SurveyPlan``: errors of the questions in both designs; of one question, its mechanisms
    - ``QuestionPlan``: every mechanism's error at the budgets spent
    - ``AnswerRatePlan``: error of the mean against the budget
    - ``SamplingPlan``: error of each value's count against a common budget
    - ``OrderedEstimates``: shares up to each answer in their band, and where the median lies

    Raises
    ------
    InputError
        Something else; its ``to_frame()`` may help.

    Examples
    --------
    >>> from planner import PrivacyPolicy, frontier
    >>> figure = chart(frontier(PrivacyPolicy([1.0, 2.0], [1, 4]), users=1000))
    >>> [trace.name for trace in figure.data][0]
    'all items'
    """
    draw = _CHARTS.get(type(plan))
    if draw is None:
        remedy = "Call its to_frame() and draw that, or see planner.show.charts."
        raise InputError("plan", type(plan).__name__, "a table or a plan that has a chart", remedy)
    return draw(plan)


def _survey(plan: SurveyPlan) -> Figure:
    return allocation_figure(plan) if plan.several else _question(plan.questions[0])


def _question(planned: QuestionPlan) -> Figure:
    if planned.choice is None:
        return _sampling(planned.mechanism)
    return mechanism_figure(planned.choice)


def _sampling(plan: SamplingPlan) -> Figure:
    question = plan.design.question
    names = [f"value {k}" for k in range(1, len(question.yes_counts) + 1)]
    return budget_error_figure(error_grid(question, _BUDGETS), names)


_CHARTS: dict[type, Callable[[Any], Figure]] = {
    UnaryTable: budget_figure,
    SubsetDesign: design_figure,
    Frontier: frontier_figure,
    PaddingPlan: padding_figure,
    SurveyPlan: _survey,
    QuestionPlan: _question,
    AnswerRatePlan: error_figure,
    SamplingPlan: _sampling,
    OrderedEstimates: ordered_figure,
}
