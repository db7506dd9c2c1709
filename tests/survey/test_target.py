import pytest

from planner.errors import InputError
from planner.survey.target import Target, check_targets


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, r"target \(error, detect\) is \(None, None\) .* Give the largest error, or"),
        ({"error": 0.1, "detect": 0.1}, "exactly one of the two"),
        ({"error": 0}, "target error is 0 but must be a share from 1e-12 to below 1"),
        ({"error": 1e-300}, "target error is 1e-300 but must be a share from 1e-12 to below 1"),
        ({"error": 1.0}, "target error is 1.0 but must be a share"),
        ({"detect": float("nan")}, "target detect is nan"),
        ({"detect": "5 %"}, "target detect is '5 %'"),
    ],
    ids=str,
)
def test_bad_targets(arguments, message):
    with pytest.raises(InputError, match=message):
        Target(**arguments)


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (Target(error=0.01), "total error at most 1 % of the users"),
        (Target(error=0.0125, level="a"), "standard error of a rare item of 'a' at most 1.25 %"),
        (Target(detect=0.05), "every item detectable from 5 % of the users"),
        (Target(detect=0.05, level="a"), "every item of 'a' detectable from 5 % of the users"),
    ],
)
def test_targets_in_words(target, text):
    assert target.text == text


def test_targets_fit_the_question_and_each_other():
    fine = [Target(error=0.1), Target(error=0.2, level="a"), Target(detect=0.1), Target(error=0.1)]
    check_targets(fine, ["a", "b"])
    with pytest.raises(InputError, match=r"target level is 'c' but must be one of a, b"):
        check_targets([Target(error=0.1, level="c")], ["a", "b"])
    with pytest.raises(InputError, match=r"target detect is 0.3 .* contradict each other"):
        check_targets([Target(detect=0.1, level="a"), Target(detect=0.3, level="a")], ["a"])
