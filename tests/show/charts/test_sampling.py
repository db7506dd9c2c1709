import numpy as np

from planner.planning.sampled import SamplingQuestion, error_grid
from planner.show.charts.sampling import budget_error_figure, delta_figure, population_figure


def test_errors_against_a_common_budget():
    grid = error_grid(SamplingQuestion([1.0, 2.0], [300, 50], 10_000), [0.5, 1.0, 2.0])
    figure = budget_error_figure(grid, ["often", "rarely"])
    assert [line.name for line in figure.data] == ["often", "rarely"]
    for line, errors in zip(figure.data, grid.errors.T, strict=True):
        assert line.x.tolist() == [0.5, 1.0, 2.0]
        assert line.y.tolist() == errors.tolist()
    assert len({(line.line.color, line.line.dash) for line in figure.data}) == 2
    assert figure.layout.xaxis.title.text == "epsilon of all answers (more private to the left)"
    assert figure.layout.yaxis.title.text == "error at 95 %, people"


def test_only_as_many_values_as_there_are_colours():
    grid = error_grid(SamplingQuestion([2.0] * 9, [300] * 9, 10_000), [1.0, 2.0])
    assert len(budget_error_figure(grid, [f"value {i}" for i in range(9)]).data) == 6


def test_errors_against_the_population():
    people, ours, coins = np.array([100.0, 1e4]), np.array([13.0, 13.0]), np.array([9.0, 90.0])
    figure = population_figure(people, ours, coins)
    drawn = {line.name: line.y.tolist() for line in figure.data}
    assert drawn == {
        "Sampling Privacy": [13.0, 13.0],
        "randomised response with two coins": [9.0, 90.0],
    }
    assert figure.layout.xaxis.title.text == "people asked"
    assert figure.layout.xaxis.type == "log"


def test_deltas_leave_out_zeros_as_the_axis_is_logarithmic():
    epsilons = np.array([0.5, 1.0])
    figure = delta_figure(epsilons, np.array([1e-3, 0.0]), np.array([2e-3, 1e-9]))
    alone, totals = figure.data
    assert (alone.name, totals.name) == (
        "estimates alone released",
        "totals of both rounds released",
    )
    assert alone.y[0] == 1e-3
    assert np.isnan(alone.y[1])
    assert totals.y.tolist() == [2e-3, 1e-9]
    assert figure.layout.yaxis.title.text == "delta (more private downwards)"
