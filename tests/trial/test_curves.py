"""Rivals for a number's distribution are as their papers have them, and stand in a comparison."""

import numpy as np
import pytest

from planner import Survey, plan_survey
from planner.survey.numeric import Numeric
from planner.trial.curves import (
    RIVALS,
    compared_curves,
    hierarchy_curve,
    hump,
    spikes,
    square_wave_curve,
    true_curve,
)

PEOPLE = 100_000


def distance(curve, draw, epsilon):
    """W1 on 0 to 1, the mean over three surveys."""
    rng = np.random.default_rng(17)
    distances = []
    for _ in range(3):
        numbers = draw(PEOPLE, rng)
        estimated = curve(numbers, epsilon, rng)
        assert (np.diff(estimated) >= -1e-12).all()
        assert estimated[-1] == pytest.approx(1)
        distances.append(np.abs(estimated - true_curve(numbers)).mean())
    return np.mean(distances)


@pytest.mark.parametrize(
    ("draw", "epsilon", "measured"),
    # By a program of its own: W1 of Square Wave with EMS, 100,000 people.
    [
        (hump, 1.0, 5.5e-3),
        (hump, 2.0, 2.25e-3),
        (spikes, 2.0, 8.1e-3),
    ],
)
def test_square_wave_is_as_far_from_the_truth_as_another_program_says(
    draw, epsilon, measured
):
    assert distance(square_wave_curve, draw, epsilon) == pytest.approx(
        measured, rel=0.4
    )


def test_a_hierarchy_comes_near_the_truth_as_budgets_grow():
    far = distance(hierarchy_curve, hump, 0.5)
    near = distance(hierarchy_curve, hump, 4.0)
    assert 5 * near < far
    assert near < 3e-3


def test_a_comparison_has_the_curves_of_numbers_beside_their_rivals():
    age = Numeric("age", 0, 80, epsilon=0.5, of="distribution", cells=8, refusals=0.0)
    other = Numeric("income", 0, 80, epsilon=1.0, mean=40, sd=8)
    survey = Survey("s", 5_000, (age,))
    first = plan_survey(survey)
    survey = Survey("s", 5_000, (age.replacing(epsilon=4.0),))
    second = plan_survey(survey)
    rows = compared_curves(first, second)
    assert {row.question for row in rows} == {"age"}
    expected = 2 * (2 + len(RIVALS))
    assert len(rows) == expected
    for row in rows:
        assert 0 < row.second < row.first < 30  # per cent of the range
    survey = Survey("s", 5_000, (other,))
    mean = plan_survey(survey)
    assert compared_curves(mean, mean) == ()
