"""Ordered answers and means tried on known answers: measured beside predicted.

False alarms: what is measured is a mean of 600 runs or more, held against 5 of its standard
errors, less than once in a million.
"""

from dataclasses import replace
from math import isnan

import numpy as np
import pytest

from planner.errors import InputError
from planner.mechanisms.itemsets import ItemSets
from planner.planning.datasets import Answers
from planner.survey import Level, Numeric, Question
from planner.survey.numeric_domain import NumericDomain
from planner.trial.measured import (
    answers_in_question,
    mean_mechanisms,
    measure_mean,
    measure_ordered,
    one_ordered_survey,
    ordered_channels,
)

ORDERED = Question(
    "hours",
    (Level("ends", 1.0, ("0", "5+")), Level("middle", 2.0, ("1-4",))),
    kind="ordinal",
    order=("0", "1-4", "5+"),
)
NUMBER = Question("age", (), kind="numeric", numeric=Numeric(NumericDomain(0, 90), epsilon=2.0))
MOST = 5.0


def check(found):
    """As predicted, and not 1.6 times that."""
    assert abs(found.mse - found.predicted_mse) < MOST * found.mse_error
    assert abs(found.mse - 1.6 * found.predicted_mse) > MOST * found.mse_error


@pytest.fixture(scope="module")
def channels():
    return ordered_channels(ORDERED)


def test_ordered_answers_err_as_predicted_and_their_bands_hold(channels):
    rng = np.random.default_rng(5)
    steps = []
    results = measure_ordered(channels, [5000, 3000, 2000], 1500, rng, lambda: steps.append(1))
    assert [one.name for one in results] == ["channel", "subset-design", "grr"]
    assert len(steps) == 4500
    for found in results:
        check(found)
        # Both shares at once by Bonferroni: at least 95 %, at most what one share alone would.
        assert 0.95 - MOST * np.sqrt(0.95 * 0.05 / 1500) < found.covered < 0.995
    worst = [channels[one.name].worst_error for one in results]
    assert all(one.predicted_mse <= most for one, most in zip(results, worst, strict=True))


def test_one_survey_is_near_the_truth(channels):
    found = one_ordered_survey(channels["channel"], [5000, 3000, 2000], np.random.default_rng(1))
    errors = np.sqrt(np.diag(found.covariance))
    assert np.all(np.abs(found.values - [0.5, 0.8]) < MOST * errors)
    assert found.answers == ORDERED.order


def test_means_err_as_predicted_and_their_intervals_hold():
    rng = np.random.default_rng(7)
    values = np.where(rng.random(20_000) < 0.3, np.nan, rng.choice([10.0, 20.0, 45.0], 20_000))
    mechanisms = mean_mechanisms(NUMBER, values.size)
    results = measure_mean(mechanisms, values, 600, rng)
    for found in results:
        check(found)
        assert abs(found.covered - 0.95) < MOST * np.sqrt(0.95 * 0.05 / 600)
    channel, bisample = results
    assert channel.mse < 0.8 * bisample.mse


def test_a_single_run_has_no_standard_error(channels):
    (once,) = measure_ordered({"grr": channels["grr"]}, [5, 3, 2], 1, np.random.default_rng(1))
    assert isnan(once.mse_error)


def test_answers_are_put_in_order():
    answers = Answers(("5+", "0"), np.array([3, 4]))
    assert answers_in_question(ORDERED, answers).tolist() == [4, 0, 3]
    with pytest.raises(InputError, match="answer of the data is '5'"):
        answers_in_question(ORDERED, replace(answers, labels=("5", "0")))
    sets = ItemSets(2, np.array([0, 1]), np.array([0, 2]))
    with pytest.raises(InputError, match="first item of each set"):
        answers_in_question(ORDERED, replace(answers, sets=sets))


def test_what_does_not_fit_is_refused(channels):
    rng = np.random.default_rng(1)
    for counts in ([1, 2], [1, 2, -3], [1.5, 2, 3]):
        with pytest.raises(InputError, match="counts"):
            measure_ordered(channels, counts, 1, rng)
    with pytest.raises(InputError, match="repeats"):
        measure_ordered(channels, [1, 2, 3], 0, rng)
    open_ended = replace(NUMBER, numeric=Numeric(NumericDomain(0, 90)))
    with pytest.raises(InputError, match="epsilon of question 'age'"):
        mean_mechanisms(open_ended, 100)
    with pytest.raises(InputError, match="numeric"):
        mean_mechanisms(ORDERED, 100)
