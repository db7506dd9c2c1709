"""What charts draw is what was planned, in an app's figure and in a page's drawing."""

import numpy as np
import pytest

from planner import PrivacyPolicy, chart, solve
from planner.errors import InputError
from planner.estimates.channel import OrderedEstimates
from planner.planning.mean import AnswerRateModel, plan_answer_rate
from planner.planning.sets import plan_padding
from planner.planning.what_if import frontier
from planner.show.figures import (
    error_figure,
    frontier_figure,
    one_survey_figure,
    ordered_figure,
    plotly_of,
)
from planner.show.html import svg_of
from planner.survey.preferences import NormalPreferences
from planner.survey.sets import AssumedSets
from planner.trial.simulate import OneSurvey

ORDERED = OrderedEstimates(
    ("<b>low", "some", "much", "most"), [0.30, 0.52, 0.49], np.diag([0.01, 0.02, 0.03]) ** 2, 1000
)


def columns(figure):
    return {trace.name: np.array(trace.y) for trace in figure.data}


def test_curves_have_the_errors_of_the_plan():
    curve = frontier(PrivacyPolicy(np.linspace(1, 2, 10), [3] * 10), 10_000, [0.5, 1.0, 2.0])
    drawn = columns(chart(curve))
    assert drawn["all items"].tolist() == curve.total_error.tolist()
    assert len(drawn) == 1 + 8 + 1
    plan = plan_padding(solve(PrivacyPolicy([2.0], [9])), 10_000, AssumedSets([0, 5, 3, 1]))
    total, bias, noise, best = columns(chart(plan)).values()
    assert total == pytest.approx(np.sqrt(10_000 * plan.mse))  # people
    assert noise == pytest.approx(np.sqrt(10_000 * plan.variance))
    assert np.isnan(bias[-1])  # nothing is cut, which a log axis cannot show
    assert best.tolist() == [np.nanmin([bias, noise]), total.max()]
    rates = plan_answer_rate(AnswerRateModel(NormalPreferences(5, 1.5), 100_000, mean=0.5), 2.0)
    here, flat, missing, *_ = error_figure(rates).lines
    best = rates.best
    assert (here.x[0], flat.x) == (2.0, [best.flat_lower, best.flat_upper])
    total, noise = rates.parts(None)
    assert total.tolist() == rates.curve.mean_rmse.tolist()
    assert (noise < total).all()
    small = rates.curve.mean_rmse < 30 * rates.best.rmse
    assert missing.values[small].tolist() == rates.curve.mean_rmse[small].tolist()
    with pytest.raises(InputError, match="plan is 'int' but must be a plan that has a chart"):
        chart(7)


def test_the_band_holds_the_shares_and_the_median_has_its_answers():
    drawn = plotly_of(ordered_figure(ORDERED, [0.25, 0.5, 0.75, 1.0]))
    lower, upper, shares, median, true = drawn.data
    assert [list(one.y) for one in (lower, upper)] == [list(one) for one in ORDERED.band]
    assert list(shares.y) == pytest.approx(ORDERED.consistent)
    assert list(median.x) == ["some", "much", "most"]  # up to much it may be 0.42
    assert (list(true.y), true.mode) == ([0.25, 0.5, 0.75, 1.0], "markers")
    assert shares.x[0] == "&lt;b>low"


def test_points_reach_from_the_smallest_to_the_largest():
    ends = np.array([[1.0, 2.0], [0.5, 2.5], [0.0, 2.0], [2.0, 3.0]])
    drawn = one_survey_figure(OneSurvey(("a", "b"), *ends))
    assert svg_of(drawn, "").count("<circle") == 4
    estimated, true = plotly_of(drawn).data
    assert (list(estimated.y), list(true.x)) == (["a", "b"], [1.0, 2.0])
    assert list(estimated.error_x.array) == [1.5, 0.5]
    assert list(estimated.error_x.arrayminus) == [0.5, 0.5]


def test_drawings_show_the_points_where_they_are():
    drawing = svg_of(ordered_figure(ORDERED), "what is <seen>")
    assert "<title>what is &lt;seen&gt;</title>" in drawing
    *_, shares = (part for part in drawing.split("<polyline")[1:] if 'stroke="#0072B2"' in part)
    heights = np.array([float(point.split(",")[1]) for point in shares.split('"')[1].split()])
    slope, _ = line = np.polyfit(ORDERED.consistent, heights, 1)  # down the page by the share
    assert slope < -100
    assert heights == pytest.approx(np.polyval(line, ORDERED.consistent), abs=0.1)
    curve = frontier(PrivacyPolicy([1.0, 2.0], [1, 4]), 10_000, [0.5, 1.0, 2.0])
    drawing = svg_of(frontier_figure(curve), "")
    assert drawing.count('stroke-width="2"') == 4
    assert ">0.5</text>" in drawing
