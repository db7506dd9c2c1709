"""Made-up answers have the shape that is named."""

import numpy as np
import pytest

from planner import Categorical, Level, Numeric, Ordinal
from planner.trial.made_up import made_up_answers, made_up_numbers, shapes_of

SCALE = Ordinal(
    "often",
    [Level("any", 1.0, ["always", "never", "unknown", "rarely"])],
    order=["never", "rarely", "always"],
    no_answer="unknown",
)
CHOICE = Categorical("colour", [Level("all", 1.0, ["red", "green", "blue"])])
USERS = 100_000


def shares(question, shape):
    rng = np.random.default_rng(1)
    answers = made_up_answers(question, USERS, shape, rng)
    return dict(zip(answers.labels, answers.counts / answers.counts.sum(), strict=True))


def test_answers_to_a_scale_lie_in_the_middle_of_its_order():
    made_up = shares(SCALE, shapes_of(SCALE)[0])
    assert made_up["rarely"] > 10 * made_up["never"]
    assert made_up["never"] == pytest.approx(made_up["always"], rel=0.2)
    assert made_up["unknown"] == pytest.approx(0.1, abs=0.01)


def test_answers_of_a_choice_are_few_and_frequent_or_even():
    frequent, even = (shares(CHOICE, shape) for shape in shapes_of(CHOICE))
    expected = sorted(np.array([6, 3, 2]) / 11)  # 1, 1/2, 1/3
    assert sorted(frequent.values()) == pytest.approx(expected, abs=0.01)
    assert list(even.values()) == pytest.approx([1 / 3] * 3, abs=0.01)


def test_numbers_lie_around_the_expected_mean_and_some_are_missing():
    question = Numeric("age", 0, 100, epsilon=1.0, mean=40, sd=10)
    rng = np.random.default_rng(1)
    numbers = made_up_numbers(question, USERS, 0.2, rng)
    assert np.isnan(numbers).mean() == pytest.approx(0.2, abs=0.01)
    assert np.nanmean(numbers) == pytest.approx(40, abs=0.3)
    assert np.nanmin(numbers) >= 0
