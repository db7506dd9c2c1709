import numpy as np
import pytest

from planner import InputError
from planner.arguments import positive_numbers, whole_number


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_whole_numbers_of_any_integer_type_are_taken(value):
    number = whole_number("users", value)
    assert (number, type(number)) == (3, int)


@pytest.mark.parametrize("value", [0, -1, 1.0, True, "3", None, np.nan, 10**12 + 1, [3]])
def test_anything_else_is_refused(value):
    with pytest.raises(InputError, match=r"users is .* a whole number from 1 to 1000000000000"):
        whole_number("users", value)


def test_one_number_is_a_list_of_one():
    assert positive_numbers("scales", 2, 3.0).tolist() == [2.0]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "one or more"),
        ([[1.0]], "one or more"),
        ("many", "a list of numbers"),
        ([1.0, 0.0], r"scales\[1\] is 0.0 .* above 0 and at most 3"),
        ([np.nan], r"scales\[0\] is nan"),
        ([3.1], r"scales\[0\] is 3.1"),
    ],
)
def test_other_lists_are_refused(values, message):
    with pytest.raises(InputError, match=message):
        positive_numbers("scales", values, 3.0)
