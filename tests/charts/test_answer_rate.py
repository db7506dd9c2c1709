import numpy as np
import pytest

from planner.charts.answer_rate import answer_rate_figure, error_figure
from planner.planning.answer_rate.plan import plan_answer_rates
from planner.survey.file import load_survey
from tests.surveys import EXAMPLES


def test_charts_show_the_plan():
    plan = plan_answer_rates(load_survey(EXAMPLES / "answer-rate.toml"))["bill"]
    rates, errors = answer_rate_figure(plan), error_figure(plan)
    np.testing.assert_array_equal(rates.data[0].y, plan.curve.answer_rate)
    assert len(errors.data) == 3
    assert np.nanmin(errors.data[0].y) == pytest.approx(plan.best.rmse, rel=1e-3)
    for figure in (rates, errors):
        lines = {shape.x0 for shape in figure.layout.shapes if shape.type == "line"}
        assert lines == {plan.best.epsilon, plan.offered.epsilon[0]}
        band = next(shape for shape in figure.layout.shapes if shape.type == "rect")
        assert (band.x0, band.x1) == (plan.best.flat_lower, plan.best.flat_upper)
