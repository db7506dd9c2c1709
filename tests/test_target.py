import pytest

from planner import InputError
from planner.target import Target


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"error": 0.1, "detect": 0.1}, "exactly one"),
        ({}, "exactly one"),
        ({"error": 0.0}, "above 0 and below 1"),
        ({"detect": 1.0}, "above 0 and below 1"),
        ({"error": float("nan")}, "above 0 and below 1"),
        ({"error": "0.1"}, "above 0 and below 1"),
    ],
)
def test_bad_targets_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        Target(**arguments)
