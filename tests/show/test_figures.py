"""What charts draw is what was planned, in an app's figure and in a page's drawing."""

import re

import numpy as np
import pytest

from planner import (
    AssumedSets,
    OrderedEstimates,
    chart,
    frontier,
    plan_padding,
    plan_survey,
    solve,
)
from planner.planning.answer_rates import AnswerRateModel
from planner.planning.mean import plan_answer_rate
from planner.planning.question import budget_curve
from planner.planning.sampled import SamplingPlan
from planner.policy.policy import PrivacyPolicy
from planner.show.figures import (
    beliefs_figure,
    decoys_figure,
    error_figure,
    error_units,
    explored_figure,
    frontier_figure,
    one_survey_figure,
    ordered_figure,
    plotly_of,
    rounds_figure,
)
from planner.show.svg import svg_of
from planner.survey.assumed import NormalPreferences
from planner.survey.choices import Categorical
from planner.survey.levels import Level, Target
from planner.survey.survey import Survey, load_survey
from planner.trial.simulate import OneSurvey
from tests.documents import ROOT
from tests.refusals import refused

ORDERED = OrderedEstimates(
    ("<b>low", "some", "much", "most"),
    [0.30, 0.52, 0.49],
    np.diag([0.01, 0.02, 0.03]) ** 2,
    1000,
)


def columns(figure):
    return {trace.name: np.array(trace.y) for trace in figure.data}


def test_curves_have_the_errors_of_the_plan():
    curve = frontier(
        PrivacyPolicy(np.linspace(1, 2, 10), [3] * 10), 10_000, [0.5, 1.0, 2.0]
    )
    drawn = columns(chart(curve))
    assert drawn["all answers"].tolist() == curve.total_error.tolist()
    assert len(drawn) == 1 + 8 + 1
    plan = plan_padding(
        solve(PrivacyPolicy([2.0], [9])), 10_000, AssumedSets([0, 5, 3, 1])
    )
    total, bias, noise, best = columns(chart(plan)).values()
    assert total == pytest.approx(np.sqrt(10_000 * plan.mse))  # people
    assert noise == pytest.approx(np.sqrt(10_000 * plan.variance))
    assert np.isnan(bias[-1])  # nothing is cut, which a log axis cannot show
    expected = [np.nanmin([bias, noise]), total.max()]
    assert best.tolist() == expected
    rates = plan_answer_rate(
        AnswerRateModel(NormalPreferences(5, 1.5), 100_000, mean=0.5), 2.0
    )
    here, flat, missing, *_ = error_figure(rates).lines
    best = rates.best
    assert here.x[0] == 2.0
    expected = [best.flat_lower, best.flat_upper]
    assert flat.x == expected
    total = rates.rmse(rates.curve.epsilon, noise=False)
    noise = rates.rmse(rates.curve.epsilon, noise=True)
    expected = rates.curve.mean_rmse.tolist()
    assert total.tolist() == expected
    assert (noise < total).all()
    small = rates.curve.mean_rmse < 30 * rates.best.rmse
    expected = rates.curve.mean_rmse[small].tolist()
    assert missing.values[small].tolist() == expected
    with refused("plan"):
        chart(7)


def test_the_band_holds_the_shares_and_the_median_has_its_answers():
    drawn = plotly_of(ordered_figure(ORDERED, [0.25, 0.5, 0.75, 1.0]))
    lower, upper, shares, median, true = drawn.data
    assert [list(line.y) for line in (lower, upper)] == [
        list(limits) for limits in ORDERED.band
    ]
    assert list(shares.y) == pytest.approx(ORDERED.consistent)
    assert list(median.x) == ["some", "much", "most"]  # up to much it may be 0.42
    assert list(true.y) == [0.25, 0.5, 0.75, 1.0]
    assert true.mode == "markers"
    assert shares.x[0] == "&lt;b>low"


def test_points_reach_from_the_smallest_to_the_largest():
    ends = np.array([[1.0, 2.0], [0.5, 2.5], [0.0, 2.0], [2.0, 3.0]])
    drawn = one_survey_figure(OneSurvey(("a", "b"), *ends))
    assert svg_of(drawn, "").count("<circle") == 4
    estimated, true = plotly_of(drawn).data
    assert list(estimated.y) == ["a", "b"]
    assert list(true.x) == [1.0, 2.0]
    assert list(estimated.error_x.array) == [1.5, 0.5]
    assert list(estimated.error_x.arrayminus) == [0.5, 0.5]


def test_an_estimate_below_nothing_stands_beside_its_bar():
    ends = np.array([[1.0, 2.0], [-0.5, 2.5], [0.0, 2.0], [0.25, 3.0]])
    drawn = one_survey_figure(OneSurvey(("a", "b"), *ends))
    bars = plotly_of(drawn).data[0]
    assert list(bars.x - bars.error_x.arrayminus) == [0.0, 2.0]
    assert list(bars.x + bars.error_x.array) == [0.25, 3.0]


def test_a_bar_with_an_open_end_reaches_from_the_value():
    """Upper limits of sets that are cut are not known: no page of such a result could be made."""
    ends = np.array([[1.0, 2.0], [0.5, 2.5], [0.0, 2.0], [2.0, np.nan]])
    drawn = one_survey_figure(OneSurvey(("a", "b"), *ends))
    drawing = svg_of(drawn, "")
    *_, (left, right) = re.findall(
        r'([0-9.]+),\S+ ([0-9.]+),\S+" stroke="#0072B2"', drawing
    )
    assert float(left) < float(right)
    assert f'cx="{right}"' in drawing
    assert list(plotly_of(drawn).data[0].error_x.array) == [1.5, 0.0]


def test_drawings_show_the_points_where_they_are():
    drawing = svg_of(ordered_figure(ORDERED), "what is <seen>")
    assert "<title>what is &lt;seen&gt;</title>" in drawing
    *_, shares = (
        part for part in drawing.split("<polyline")[1:] if 'stroke="#0072B2"' in part
    )
    heights = np.array(
        [float(point.split(",")[1]) for point in shares.split('"')[1].split()]
    )
    slope, _ = line = np.polyfit(
        ORDERED.consistent, heights, 1
    )  # down the page by the share
    assert slope < -100
    assert heights == pytest.approx(np.polyval(line, ORDERED.consistent), abs=0.1)
    policy = PrivacyPolicy([1.0, 2.0], [1, 4])
    curve = frontier(policy, 10_000, [0.5, 1.0, 2.0])
    drawing = svg_of(frontier_figure(curve), "")
    assert drawing.count('stroke-width="2"') == 4
    assert ">0.5</text>" in drawing


def test_turned_drawings_have_names_down_the_page_and_say_what_is_left_out():
    names = [f"answer {k}" for k in range(12)]
    held = beliefs_figure(names, 0.1, np.full(12, 0.05), np.full(12, 0.4), every=40)
    drawing = svg_of(held, "")
    places = re.findall(r'y="([0-9.]+)" text-anchor="end">answer', drawing)
    assert np.all(np.diff(np.array(places, dtype=float)) > 0)
    assert "12 of 40 levels" in drawing
    (left, right) = re.findall(
        r'<polyline points="([0-9.]+),[0-9.]+ ([0-9.]+),', drawing
    )[-1]
    assert float(left) < float(right)
    assert plotly_of(held).layout.yaxis.title.text == "12 of 40 levels"


def test_what_is_explored_stands_at_its_own_budgets():
    level = Level("severe", 1.0, ("HIV",)), Level("common", 3.0, item_count=15)
    target = Target(error=0.03)
    asked = Categorical("q", level, targets=(target,), mechanism="opt0")
    survey = Survey("s", 50_000, (asked,))
    plan = plan_survey(survey).questions[0]
    curve = budget_curve(plan, np.array([0.4, 1.0, 2.0]), "common")
    *_, saturates, reached, here = explored_figure(plan, curve, "common").lines
    assert here.x == pytest.approx([3.0, 3.0])
    assert saturates.x[0] == plan.saturation_epsilon
    assert reached.values == [1500.0, 1500.0]
    total = explored_figure(plan, curve, "common").lines[0]
    assert total.values[1] == pytest.approx(plan.total_error)
    units = error_units(plan)
    assert units["MSE a person"](total.values)[1] == pytest.approx(plan.error)
    assert units["MSE in all"](total.values)[1] == pytest.approx(plan.total_error**2)


def test_more_decoys_say_less():
    sampling = plan_survey(
        load_survey(ROOT / "examples" / "sampled-ages.toml")
    ).questions[0]
    curve, rare, common = decoys_figure(sampling.fact(SamplingPlan)).lines
    assert np.all(np.diff(curve.values) < 0)
    losses = sampling.fact(SamplingPlan).mechanism.output_losses
    expected = [losses[1], losses[2]]
    assert [line.values[0] for line in (rare, common)] == expected


def test_rounds_are_drawn_at_the_plans_own():
    survey = load_survey(ROOT / "examples" / "waves.toml")
    plan = plan_survey(survey)
    waves = plan.questions[0]
    rounds, average, _, here = rounds_figure(waves.part, waves.planned).lines
    assert here.x[0] == 4
    assert rounds.x[2] == 4
    assert rounds.values[2] == pytest.approx(waves.total_error)
    expected = average.values[-1]
    assert average.values[0] == pytest.approx(expected)
