from planner.show.charts.simulation import simulation_figure
from planner.trial.simulate import Simulated


def test_measured_beside_predicted_the_best_on_top():
    results = [Simulated("opt0", 20.0, 0.5, 20.2), Simulated("grr", 30.0, None, 29.8)]
    bars, diamonds = simulation_figure(results).data
    assert list(bars.y) == list(diamonds.y) == ["GRR, smallest budget", "IDUE opt0"]  # last on top
    assert list(bars.x) == [30.0, 20.0]
    assert list(diamonds.x) == [29.8, 20.2]
    assert list(bars.error_x.array) == [0.0, 0.5]  # one run has none
    title = simulation_figure(results, "in its unit").layout.xaxis.title.text
    assert title == "total error, in its unit (shorter is better)"
