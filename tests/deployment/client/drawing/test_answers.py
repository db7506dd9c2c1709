"""Answers are checked before anything is drawn, and never repeated in an error."""

import math

import numpy as np
import pytest

from planner.deployment.client.drawing.answers import item_number, item_set, number
from planner.deployment.client.laws.levels import Levels
from planner.errors import InputError

NAMED = Levels(("s",), (1.0,), (3,), (("x", "y", "7"),), "min")
MIXED = Levels(("s", "t"), (1.0, 2.0), (2, 2), (("x", "y"), ()), "min")


def numbered(levels, answer):
    return item_number(levels, levels.numbers(), answer)


def test_items_by_name_and_where_some_have_none_by_number():
    assert [numbered(NAMED, name) for name in ("x", "y", "7")] == [0, 1, 2]
    assert [numbered(MIXED, answer) for answer in ("x", "y", 0, 1, 2, 3)] == [0, 1, 0, 1, 2, 3]


@pytest.mark.parametrize("answer", ["z", "", 0, 1, None, True, 1.0, b"x", ["x"], np.str_("x")])
def test_what_is_no_named_item(answer):
    with pytest.raises(InputError, match=r"name of an item of this question\.") as found:
        numbered(NAMED, answer)
    kind = None if answer is None else f"of type {type(answer).__name__}"
    assert found.value.value == kind


@pytest.mark.parametrize("answer", [4, -1, True, 1.0, "0", None, np.int64(1)])
def test_what_is_no_numbered_item(answer):
    with pytest.raises(InputError, match="or its number from 0 to 3"):
        numbered(MIXED, answer)


@pytest.mark.parametrize("kind", [list, tuple, set, frozenset])
def test_sets_are_sorted(kind):
    assert item_set(NAMED, NAMED.numbers(), kind(["7", "x"])) == (0, 2)
    assert item_set(NAMED, NAMED.numbers(), kind([])) == ()
    with pytest.raises(InputError, match="name of an item"):
        item_set(NAMED, NAMED.numbers(), kind(["x", "z"]))


def test_what_is_no_set():
    for answer in ("xy", None, {"x": 1}, np.array(["x"]), iter("x")):
        with pytest.raises(InputError, match="a list of items, empty for none"):
            item_set(NAMED, NAMED.numbers(), answer)
    for answer in (["x", "x"], ("y", "x", "y")):
        with pytest.raises(InputError, match="a list that has an item twice"):
            item_set(NAMED, NAMED.numbers(), answer)
    with pytest.raises(InputError, match="an item twice"):
        item_set(MIXED, MIXED.numbers(), ["x", 0])  # the same item twice


def test_numbers_in_the_range_both_ends_included():
    for answer in (-1, 2.5, 0, np.float64(0.5)):
        found = number(answer, -1.0, 2.5)
        assert type(found) is float
        assert found == answer
    assert number(None, -1.0, 2.5) is number(math.nan, -1.0, 2.5) is None
    assert number(np.float64("nan"), -1.0, 2.5) is None
    assert [number(answer, 0.0, 1.0, yes_no=True) for answer in (0, 1, None)] == [0.0, 1.0, None]


@pytest.mark.parametrize(
    "answer", [2.6, -1.1, math.inf, -math.inf, True, False, "1", b"1", 1j, [1], np.int64(1)]
)
def test_what_is_no_number_of_the_range(answer):
    with pytest.raises(InputError, match=r"a number from -1 to 2.5, or none") as found:
        number(answer, -1.0, 2.5)
    kind = None if answer is None else f"of type {type(answer).__name__}"
    assert found.value.value == kind


def test_yes_or_no_and_nothing_between():
    with pytest.raises(InputError, match="must be 0, 1 or none"):
        number(0.5, 0.0, 1.0, yes_no=True)
    with pytest.raises(InputError, match="a number from 0 to 1, or none"):
        number(2, 0.0, 1.0, yes_no=True)
