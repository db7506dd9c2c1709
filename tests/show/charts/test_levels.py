import pytest

from planner import Level, PrivacyPolicy, Question, Survey, plan_survey, solve
from planner.show.charts.levels import budget_figure, level_error_figure


def planned(levels, users, rule="min"):
    made = tuple(Level(name, epsilon, item_count=n) for name, epsilon, n in levels)
    question = Question("q", made, rule, mechanism="opt0")
    return plan_survey(Survey("s", users, (question,))).questions[0]


LEVELS = (("rare", 1.0, 1), ("odd", 1.2, 5), ("common", 4.0, 50))


@pytest.fixture(scope="module")
def table():
    return solve(PrivacyPolicy([1.0, 1.2, 4.0], [1, 5, 50], names=["rare", "odd", "common"]))


def test_errors_in_people_and_which_levels_are_saturated(table):
    figure = level_error_figure(planned(LEVELS, 40_000).levels)
    (bars,) = figure.data
    errors = table.standard_errors(40_000)
    assert bars.x == ("rare", "odd", "common")
    assert bars.y.tolist() == pytest.approx(errors.tolist())
    assert bars.marker.pattern.shape == ("", "", "/")
    assert table.policy.epsilons[1] < table.saturation_epsilon < table.policy.epsilons[2]
    assert [float(text) for text in bars.text] == pytest.approx(errors.tolist(), rel=5e-3)
    assert figure.layout.yaxis.title.text == "standard error, people"
    assert figure.layout.yaxis.rangemode == "tozero"


def test_large_errors_are_shown_in_whole_people(table):
    (bars,) = level_error_figure(planned(LEVELS, 10**8).levels).data
    assert bars.text[0] == f"{table.standard_errors(10**8)[0]:,.0f}"
    assert "," in bars.text[0]


def test_budgets_and_the_saturation_point(table):
    figure = budget_figure(table)
    (bars,) = figure.data
    assert bars.y.tolist() == [1.0, 1.2, 4.0]
    (line,) = figure.layout.shapes
    assert line.y0 == line.y1 == table.saturation_epsilon
    (note,) = figure.layout.annotations
    assert note.text == f"saturation at {table.saturation_epsilon:.3f}"
    assert figure.layout.yaxis.title.text == "epsilon (less private upwards)"
    assert figure.layout.yaxis.range[0] == 0
    assert figure.layout.yaxis.range[1] > 4.0


def test_a_rule_without_saturation_marks_none():
    plan = planned((("a", 1.0, 3), ("b", 2.0, 3)), 100, ((1.0, 1.2), (1.2, 2.0)))
    table = plan.table
    assert table.saturation_epsilon is None
    assert not budget_figure(table).layout.shapes
    assert set(level_error_figure(plan.levels).data[0].marker.pattern.shape) == {""}


def test_at_most_forty_levels_are_drawn():
    plan = planned([(f"l{k}", 1 + k / 60, 2) for k in range(60)], 100)
    for figure in (budget_figure(plan.table), level_error_figure(plan.levels)):
        (bars,) = figure.data
        assert len(bars.x) == len(bars.y) == 40
