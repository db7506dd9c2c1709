import numpy as np
import pytest

from planner.planning.answer_rates import AnswerRateModel, channel_sentence, plan_answer_rate
from planner.show.charts.answer_rate import answer_rate_figure, error_figure
from planner.survey.preferences import NormalPreferences

MODEL = AnswerRateModel(NormalPreferences(5, 1.5), 100_000, mean=0.5)


@pytest.fixture(scope="module")
def plan():
    return plan_answer_rate(MODEL, epsilon=2.0)


def marked(figure):
    """Budgets of the vertical lines, and the ends of the band."""
    lines = {shape.x0 for shape in figure.layout.shapes if shape.type == "line"}
    band = next(shape for shape in figure.layout.shapes if shape.type == "rect")
    return lines, (band.x0, band.x1)


def test_answer_rates(plan):
    figure = answer_rate_figure(plan)
    (line,) = figure.data
    assert line.x.tolist() == plan.curve.epsilon.tolist()
    assert line.y.tolist() == plan.curve.answer_rate.tolist()
    assert figure.layout.xaxis.title.text == "epsilon (more private to the left)"
    assert figure.layout.yaxis.title.text == "share of people who answer"


def test_errors_of_all_three_behaviours(plan):
    figure = error_figure(plan)
    errors = plan.curve.mean_rmse, plan.forced["top"].rmse, plan.forced["random"].rmse
    for line, error, name in zip(figure.data, errors, ("BiSample-MD", "TOP", "RND"), strict=True):
        assert name in line.name
        small = error < 30 * plan.best.rmse
        assert line.y[small].tolist() == error[small].tolist()
        assert np.isnan(line.y[~small]).all()  # they would flatten the rest
    assert np.isnan(figure.data[1].y).any()
    assert figure.layout.yaxis.title.text == "predicted RMSE of the mean"
    assert figure.layout.yaxis.type == "log"


def test_both_mark_the_best_budget_its_surroundings_and_the_offer(plan):
    for figure in (answer_rate_figure(plan), error_figure(plan)):
        assert marked(figure) == (
            {plan.best.epsilon, 2.0},
            (plan.best.flat_lower, plan.best.flat_upper),
        )
        notes = [note.text for note in figure.layout.annotations]
        assert notes == [f"best {plan.best.epsilon:.2f}", "offered 2.00"]


def test_the_best_channel_has_a_line_and_a_mark_of_its_own(plan):
    channels = plan.channels()
    assert channel_sentence(plan, channels).endswith("less, if the spread, which is left open, "
                                                     "is 0.3 of half the range.")  # fmt: skip
    figure = error_figure(plan, channels)
    line = figure.data[3]
    assert "best channel" in line.name
    known = np.isfinite(line.y)
    assert (line.y[known] <= plan.curve.mean_rmse[known] * 1.001).all()
    lines, _ = marked(figure)
    assert lines == {plan.best.epsilon, 2.0, channels.best().epsilon}


def test_without_an_offer_there_is_none_to_mark():
    plan = plan_answer_rate(MODEL)
    lines, _ = marked(answer_rate_figure(plan))
    assert lines == {plan.best.epsilon}
