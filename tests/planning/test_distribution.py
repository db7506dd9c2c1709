"""The distribution of a number: cells, curves, limits."""

import numpy as np
import pytest

from planner.planning.distribution import plan_distribution
from planner.planning.mean import expected_curve
from planner.planning.plan import plan_survey
from planner.show.figures import seen_figure
from planner.survey.numeric import Numeric
from planner.survey.survey import Survey
from tests.refusals import refused

PEOPLE = 20_000


@pytest.fixture(scope="module")
def plan():
    return plan_distribution(0, 80, epsilon=2.0, people=PEOPLE, cells=16)


@pytest.fixture(scope="module")
def answers():
    return 80 * np.random.default_rng(5).beta(5, 2, PEOPLE)


def test_more_people_and_more_budget_have_more_cells():
    few = plan_distribution(0, 1, epsilon=1.0, people=1_000)
    many = plan_distribution(0, 1, epsilon=2.0, people=8_000)
    assert few.cells == 8
    assert many.cells == 16
    assert few.standard_error * 4 > 1 / 16  # else it would have 16
    assert many.standard_error * 4 <= 1 / 16


def test_limits_hold_all_shares_and_quantiles_in_nearly_all_surveys(plan, answers):
    """Together at 95 %: of 40 surveys fewer than 33 hold with chance 1e-3; near misses do not."""
    rng = np.random.default_rng(11)
    values = np.linspace(3, 77, 23)
    true = np.array([(answers <= value).mean() for value in values])
    held = missed = 0
    for _ in range(40):
        estimates = plan.estimate(plan.drawn_counts(answers, rng))
        found = [estimates.share_up_to(value) for value in values.tolist()]
        lower = np.array([one.lower for one in found])
        upper = np.array([one.upper for one in found])
        held += bool(((lower <= true) & (true <= upper)).all())
        missed += bool(((lower <= true + 0.12) & (true + 0.12 <= upper)).all())
        middle = estimates.quantile(0.5)
        assert middle.lower <= middle.value <= middle.upper
    assert held >= 33
    assert missed == 0


def test_curves_rise_from_nothing_to_all_and_are_near_the_truth(plan, answers):
    estimates = plan.estimate(plan.drawn_counts(answers, np.random.default_rng(3)))
    values = np.linspace(0, 80, 161)
    true = np.array([(answers <= value).mean() for value in values])
    smoothed = estimates.smoothed_share_up_to(values)
    consistent = np.interp(values, estimates.edges, estimates.consistent)
    for curve in (smoothed, consistent):
        assert curve[0] == 0
        assert curve[-1] == pytest.approx(1)
        assert (np.diff(curve) >= 0).all()
        assert np.abs(curve - true).max() < 0.06
    shares, lower, upper = estimates.histogram()
    assert shares.sum() == pytest.approx(1)
    assert (lower <= upper).all()


def test_people_without_an_answer_are_left_out_of_the_shape(answers):
    plan = plan_distribution(0, 80, epsilon=2.0, people=PEOPLE, refusals=True, cells=12)
    some = answers.copy()
    some[::4] = np.nan
    estimates = plan.estimate(plan.drawn_counts(some, np.random.default_rng(4)))
    true = np.nanquantile(some, 0.5)
    middle = estimates.quantile(0.5)
    assert middle.lower <= true <= middle.upper
    assert abs(float(estimates.smoothed_share_up_to(true)) - 0.5) < 0.08


def test_the_cells_are_a_question_that_can_be_deployed(plan):
    question = plan.question("income")
    (planned,) = plan_survey(Survey("s", PEOPLE, (question,))).questions
    assert len(planned.law.shape.rows) == 16
    assert question.ordered[0] == "0 to 5"


def test_the_curve_that_would_be_seen_tightens_with_the_budget():
    wide = part_of_number(0.5)
    tight = part_of_number(3.0)
    widths = []
    for part in (wide, tight):
        edges, expected = expected_curve(part)
        lower, upper = expected.band
        assert edges[[0, -1]].tolist() == [10.0, 30.0]
        middle = np.interp(20.0, edges, np.append(0.0, expected.consistent))
        assert middle == pytest.approx(0.5, abs=0.01)
        widths.append(float((upper - lower)[:-1].mean()))
    assert widths[1] < 0.4 * widths[0]
    chart = seen_figure(tight)
    assert chart.titles == ("answer", "people up to the answer")


def part_of_number(epsilon):
    question = Numeric(
        "q", 10, 30, epsilon=epsilon, mean=20, sd=4, mechanism="bisample-md"
    )
    (planned,) = plan_survey(Survey("s", 5_000, (question,))).questions
    return planned.part


def test_refusals(plan):
    with refused("cells"):
        plan_distribution(0, 1, epsilon=1.0, people=100, cells=257)
    with refused("answers"):
        plan.cell_of([np.nan])
    estimates = plan.estimate(plan.drawn_counts([1.0] * 50, np.random.default_rng(1)))
    with refused("value"):
        estimates.share_up_to(81.0)
    with refused("share"):
        estimates.quantile(1.0)
