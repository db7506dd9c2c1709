import numpy as np
import pytest

from planner.show.charts.simulation import simulation_figure
from planner.trial.simulate import Simulated


def simulated(name, mse, mse_error, predicted):
    return Simulated(name, mse, mse_error, predicted, 0.1, 0.1, 1.0)


def test_measured_beside_predicted_the_best_on_top():
    results = [simulated("good", 4.0, 0.2, 4.1), simulated("bad", 9.0, 0.3, 8.9)]
    figure = simulation_figure(results, 100, {"good": "The good one"})
    bars, diamonds = figure.data
    assert list(bars.y) == list(diamonds.y) == ["bad", "The good one"]  # the last is on top
    assert bars.x.tolist() == pytest.approx([30.0, 20.0])  # root of 100 x 9, 100 x 4
    assert diamonds.x.tolist() == pytest.approx(np.sqrt([890, 410]))
    assert figure.layout.xaxis.title.text == "total error, people (shorter is better)"


def test_whiskers_are_the_standard_error_of_the_root():
    """Its square has the standard error 100 x 0.2; a root moves by half of that over itself."""
    bars, _ = simulation_figure([simulated("good", 4.0, 0.2, 4.1)], 100).data
    assert bars.error_x.array.tolist() == pytest.approx([20 / (2 * 20)])
    bars, _ = simulation_figure([simulated("once", 4.0, float("nan"), 4.1)], 100).data
    assert bars.error_x.array.tolist() == [0.0]  # one run has none
