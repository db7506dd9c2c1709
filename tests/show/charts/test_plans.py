from dataclasses import replace

import numpy as np
import pytest

from planner import PrivacyPolicy, solve
from planner.planning.candidates import Candidate, MechanismChoice
from planner.planning.explain import PRIORS, explain
from planner.planning.frontier import frontier
from planner.planning.padding import plan_padding
from planner.planning.whole_survey.plan import plan_survey
from planner.show.charts.plans import (
    allocation_figure,
    belief_figure,
    frontier_figure,
    mechanism_figure,
    padding_figure,
)
from planner.survey.file import load_survey
from planner.survey.set_model import AssumedSets
from tests.surveys import EXAMPLES

RANKED = (Candidate("grr", 20.0, -1 / 3), Candidate("opt0", 30.0, 0.0))
CHOICE = MechanismChoice(RANKED, "opt0", "people", "Total error", "")


def coloured(bars, name):
    return bars.marker.color[list(bars.y).index(name)]


def test_mechanisms_in_their_unit_best_on_top_the_plans_marked():
    figure = mechanism_figure(CHOICE)
    (bars,) = figure.data
    assert bars.y == ("IDUE opt0", "GRR, smallest budget")  # the last is on top
    assert list(bars.x) == [30.0, 20.0]
    assert bars.text == ("30", "20")
    other = mechanism_figure(replace(CHOICE, planned="grr")).data[0]
    assert coloured(bars, "IDUE opt0") == coloured(other, "GRR, smallest budget")
    assert coloured(bars, "IDUE opt0") != coloured(bars, "GRR, smallest budget")
    assert figure.layout.xaxis.title.text == "error, people (shorter is better)"


@pytest.mark.parametrize("levels", [2, 10])
def test_the_frontier_in_total_and_by_level(levels):
    policy = PrivacyPolicy(np.linspace(1, 2, levels), [3] * levels)
    curve = frontier(policy, 10_000, [0.5, 1.0, 2.0])
    figure = frontier_figure(curve)
    total, *each, now = figure.data
    assert total.name == "all items"
    assert total.y.tolist() == curve.total_error.tolist()
    assert len(each) == min(levels, 8)
    for i, line in enumerate(each):
        assert line.name == f"a rare item of {policy.names[i]!r}"
        assert line.y.tolist() == curve.level_errors[:, i].tolist()
    assert len({(line.line.color, line.line.dash) for line in each}) == len(each)
    assert (now.x[0], now.y[0]) == (1.0, pytest.approx(curve.total_error[1]))
    assert figure.layout.xaxis.title.text == "all budgets times this (more private to the left)"
    assert figure.layout.yaxis.title.text == "error, share of the people"
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"


def test_beliefs_reach_from_the_smallest_to_the_largest():
    policy = PrivacyPolicy([1.0, 2.0], [1, 4], names=["severe", "common"])
    explanations = explain(solve(policy), "diagnosis")
    figure = belief_figure(explanations)
    for k, points in enumerate(figure.data):
        assert points.x.tolist() == [PRIORS[k]] * 2
        for i, level in enumerate(explanations):
            low, high = level.bounds[k]
            assert points.x[i] - points.error_x.arrayminus[i] == pytest.approx(low)
            assert points.x[i] + points.error_x.array[i] == pytest.approx(high)
    assert [points.name for points in figure.data] == ["prior 1 %", "prior 10 %", "prior 50 %"]
    assert figure.layout.yaxis.ticktext == ("severe", "common")
    assert figure.layout.xaxis.title.text == "belief in an answer of this level after any report"


def test_the_padding_length_and_what_its_error_is_made_of():
    plan = plan_padding(solve(PrivacyPolicy([2.0], [9])), 10_000, AssumedSets([0, 5, 3, 1]))
    figure = padding_figure(plan)
    total, bias, noise = figure.data
    assert total.x.tolist() == plan.lengths.tolist()
    assert total.y == pytest.approx(np.sqrt(10_000 * plan.mse))  # people
    assert noise.y == pytest.approx(np.sqrt(10_000 * plan.variance))
    assert np.isnan(bias.y[-1])  # nothing is cut: no bias, which a log axis cannot show
    assert plan.bias2[-1] == 0
    assert bias.y[0] == pytest.approx(np.sqrt(10_000 * plan.bias2[0]))
    assert figure.layout.shapes[0].x0 == plan.length
    assert figure.layout.xaxis.title.text == "padding length"
    assert figure.layout.yaxis.title.text == "error, people"


def test_both_designs_of_a_survey():
    plan = plan_survey(load_survey(EXAMPLES / "household.toml"))
    figure = allocation_figure(plan)
    split, one_each = figure.data
    found = plan.allocation
    assert split.x == one_each.x == ("diagnosis", "page", "income")
    assert np.square(split.y) * 200_000 == pytest.approx(found.errors)
    assert np.square(one_each.y) * 200_000 == pytest.approx(found.some_each.errors)
    assert split.text[0] == f"share {found.shares[0]:.0%}"
    assert one_each.text[0] == f"{found.some_each.fractions[0]:.0%} asked"
    assert figure.layout.yaxis.title.text == "error, share of the people"
