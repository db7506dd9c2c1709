"""What charts draw is what was planned."""

import numpy as np
import pytest

from planner import PrivacyPolicy, chart, load_survey, plan_survey, solve
from planner.errors import InputError
from planner.estimates.channel import OrderedEstimates
from planner.planning.mean import AnswerRateModel, plan_answer_rate
from planner.planning.sets import plan_padding
from planner.planning.what_if import frontier
from planner.show.figures import error_figure, one_survey_figure, ordered_figure
from planner.show.svg import svg_of
from planner.survey.preferences import NormalPreferences
from planner.survey.sets import AssumedSets
from planner.trial.simulate import OneSurvey
from tests.surveys import EXAMPLES

POLICY = PrivacyPolicy([1.0, 2.0], [1, 4], names=["severe", "common"])
ORDERED = OrderedEstimates(
    ("<b>low", "some", "much", "most"), [0.30, 0.52, 0.49], np.diag([0.01, 0.02, 0.03]) ** 2, 1000
)


def columns(figure):
    return {trace.name: np.array(trace.y) for trace in figure.data}


def test_plans_are_drawn_by_one_call():
    whole = plan_survey(load_survey(EXAMPLES / "household.toml"))
    split, some = chart(whole).data
    assert list(split.x) == [row.error for row in whole.sharing]
    assert list(some.x) == [row.error_of_some for row in whole.sharing]
    question = whole.questions[0]
    (errors,) = chart(question).data
    assert list(errors.x) == [one.error for one in question.options]
    (sampled,) = plan_survey(load_survey(EXAMPLES / "sampled-ages.toml")).questions
    assert len(chart(sampled).data[0].x) == 4
    with pytest.raises(InputError, match="plan is 'int' but must be a plan that has a chart"):
        chart(7)


def test_curves_have_the_errors_of_the_plan():
    policy = PrivacyPolicy(np.linspace(1, 2, 10), [3] * 10)
    curve = frontier(policy, 10_000, [0.5, 1.0, 2.0])
    drawn = columns(chart(curve))
    assert drawn["all items"].tolist() == curve.total_error.tolist()
    assert len(drawn) == 1 + 8
    plan = plan_padding(solve(PrivacyPolicy([2.0], [9])), 10_000, AssumedSets([0, 5, 3, 1]))
    total, bias, noise = columns(chart(plan)).values()
    assert total == pytest.approx(np.sqrt(10_000 * plan.mse))  # people
    assert noise == pytest.approx(np.sqrt(10_000 * plan.variance))
    assert np.isnan(bias[-1])  # nothing is cut, which a log axis cannot show
    rates = plan_answer_rate(AnswerRateModel(NormalPreferences(5, 1.5), 100_000, mean=0.5), 2.0)
    figure = error_figure(rates)
    assert {shape.x0 for shape in figure.layout.shapes} == {rates.best.epsilon, 2.0}
    small = rates.curve.mean_rmse < 30 * rates.best.rmse
    assert figure.data[0].y[small].tolist() == rates.curve.mean_rmse[small].tolist()


def test_the_band_holds_the_shares_and_the_median_has_its_answers():
    lower, upper, shares, median, true = ordered_figure(ORDERED, [0.25, 0.5, 0.75, 1.0]).data
    assert [list(one.y) for one in (lower, upper)] == [list(one) for one in ORDERED.band]
    assert list(shares.y) == pytest.approx(ORDERED.consistent)
    assert list(median.x) == ["some", "much", "most"]  # up to much it may be 0.42
    assert list(true.y) == [0.25, 0.5, 0.75, 1.0]
    assert shares.x[0] == "&lt;b>low"


def test_points_reach_from_the_smallest_to_the_largest():
    ends = [np.array(values) for values in ([1.0, 2.0], [0.5, 2.5], [0.0, 2.0], [2.0, 3.0])]
    estimated, true = one_survey_figure(OneSurvey(("a", "b"), *ends)).data
    assert len(estimated.x) == len(true.x) == 2


def test_drawings_show_the_points_where_they_are():
    drawing = svg_of(ordered_figure(ORDERED), "what is <seen>")
    assert "<title>what is &lt;seen&gt;</title>" in drawing
    shares = next(part for part in drawing.split("<polyline")[1:] if 'stroke="#0072B2"' in part)
    places = [point.split(",") for point in shares.split('"')[1].split()]
    heights = np.array([float(v) for _, v in places])
    # Down the page by the share: the axis is linear from 0 to 1.03.
    slope, _ = line = np.polyfit(ORDERED.consistent, heights, 1)
    assert slope < -100
    assert heights == pytest.approx(np.polyval(line, ORDERED.consistent), abs=0.1)
    curve = frontier(POLICY, 10_000, [0.5, 1.0, 2.0])
    assert svg_of(chart(curve), "").count("<polyline") == 3
