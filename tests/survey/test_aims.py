"""Surveys whose aims contradict themselves: weights, targets, designs, and what sets are like."""

import pytest

from planner import FileError, InputError, Level, Question, Survey
from planner.survey.file import survey_from_text
from tests.surveys import EXAMPLES

HOUSEHOLD = (EXAMPLES / "household.toml").read_text(encoding="utf-8")
BASKETS = (EXAMPLES / "baskets.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("weight = 0.05", "weight = -1", "weight"),
        ("weight = 0.05", "weight = nan", "weight"),
        ("weight = 0.05", "weight = 0", "weight of question 'page'"),
        ('design = "split"', 'design = "both"', "design"),
        ('design = "split"', 'objective = "max"', "objective"),
        ('design = "split"', 'objective = "minimax"', "targets of question 'page'"),
        ("error = 0.01", "error = 1.5", "a share from 1e-12 to below 1"),
        ("error = 0.01", "error = 0.01\ndetect = 0.1", "exactly one"),
        ("error = 0.01", 'error = 0.01\nlevel = "mild"', "one of severe, common"),
        ("error = 0.01", "error = 0.01\n[[question.target]]\nerror = 0.02", "contradict"),
        ("error = 0.01", "err = 0.01", "did you mean 'error'"),
        ("item_count = 5", "item_count = 5\nprior = 0.5", "prior"),
        ("upper = 200_000", "upper = 200_000\nsets = 3", "sets"),
    ],
)
def test_bad_surveys_are_refused(old, new, message):
    assert old in HOUSEHOLD
    with pytest.raises(FileError, match=message):
        survey_from_text(HOUSEHOLD.replace(old, new, 1))


def test_weights_that_are_all_zero_are_refused():
    level = (Level("x", 1.0, item_count=2),)
    questions = tuple(Question(n, level, weight=0.0) for n in "ab")
    with pytest.raises(InputError, match="weights"):
        Survey("s", 1, questions)


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ("sizes = [0.5, -0.5, 1]", "no negative mass"),
        ("sizes = [1]", "some set with items"),
        ("", "one of the two"),
        ('sizes = [0, 1]\npilot = "x"', "one of the two"),
        ('sizes = [0, 1]\npopularity = "even"', "popularity"),
    ],
)
def test_bad_sets_are_refused(sets, message):
    assert "padding_length = 10" in BASKETS
    with pytest.raises(FileError, match=message):
        survey_from_text(BASKETS.replace("padding_length = 10", f"[question.sets]\n{sets}"))
