import numpy as np
import pytest

from planner import PrivacyPolicy, solve
from planner.show.charts.levels import budget_figure, level_error_figure


@pytest.fixture(scope="module")
def table():
    return solve(PrivacyPolicy([1.0, 1.2, 4.0], [1, 5, 50], names=["rare", "odd", "common"]))


def test_errors_in_people_and_which_levels_are_saturated(table):
    figure = level_error_figure(table, 40_000)
    (bars,) = figure.data
    errors = table.standard_errors(40_000)
    assert bars.x == ("rare", "odd", "common")
    assert bars.y.tolist() == errors.tolist()
    assert bars.marker.pattern.shape == ("", "", "/")
    assert table.policy.epsilons[1] < table.saturation_epsilon < table.policy.epsilons[2]
    assert [float(text) for text in bars.text] == pytest.approx(errors.tolist(), rel=5e-3)
    assert figure.layout.yaxis.title.text == "standard error, people"
    assert figure.layout.yaxis.rangemode == "tozero"


def test_large_errors_are_shown_in_whole_people(table):
    (bars,) = level_error_figure(table, 10**8).data
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
    table = solve(PrivacyPolicy([1.0, 2.0], [3, 3], [[1.0, 1.2], [1.2, 2.0]]))
    assert table.saturation_epsilon is None
    assert not budget_figure(table).layout.shapes
    assert set(level_error_figure(table, 100).data[0].marker.pattern.shape) == {""}


def test_at_most_forty_levels_are_drawn():
    table = solve(PrivacyPolicy(np.linspace(1, 2, 60), [2] * 60))
    for figure in (budget_figure(table), level_error_figure(table, 100)):
        (bars,) = figure.data
        assert len(bars.x) == len(bars.y) == 40
