"""Levels as a question states them: items numbered through, nothing taken that is not right."""

import math

import pytest

from planner.deployment.client.laws.levels import LEVEL, RULE, Levels
from planner.deployment.client.schema import check, list_of, record
from planner.errors import InputError

SHAPE = record({"levels": list_of(LEVEL), "rule": RULE})


def level(name="a", epsilon=1.0, item_count=2, items=()):
    return {"name": name, "epsilon": epsilon, "item_count": item_count, "items": list(items)}


def read(*rows, rule="min", least=1):
    question = {"levels": list(rows), "rule": rule}
    check(question, SHAPE, where=" of question 'q'")
    return Levels.read(question, least)


def test_items_are_numbered_through_the_levels():
    found = read(level("a", 1, 2), level("b", 50, 3, "xyz"), level("c", 2.5, 1, ["w"]))
    assert (found.names, found.epsilons) == (("a", "b", "c"), (1.0, 50.0, 2.5))
    assert (found.item_counts, found.total) == ((2, 3, 1), 6)
    assert found.level_of() == [0, 0, 1, 1, 1, 2]
    assert found.numbers() == {"x": 2, "y": 3, "z": 4, "w": 5}
    assert found.item_names() == ["0", "1", "x", "y", "z", "w"]
    assert not found.named
    assert read(level(items="xy"), level("b", items="zw")).named


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (level(name=""), "levels.0..name of .* is empty but must be text that is not empty"),
        (
            level(epsilon=0),
            "epsilon of .* is 0 but must be a number above 0 and at most 50",
        ),
        (level(epsilon=50.5), "epsilon of question 'q' is 50.5"),
        (level(epsilon=True), "epsilon of question 'q' is True"),
        (level(item_count=0), "item_count of question 'q' is 0 .* from 1 to 1000000000000"),
        (level(item_count=10**12 + 1), "item_count of question 'q' is 1000000000001"),
        (level(items=["x"]), "levels.0. lists 1 items, and its item_count is 2"),
        (
            level(items=["x", ""]),
            "levels.0..items.1. .* is empty but must be text that is not empty",
        ),
        (level(items=["x", 1]), "levels.0..items.1. of question 'q' is 1 but must be text"),
        (level(items=["x", "x"]), "two items have the same name"),
        (level(name="z", items="uv"), "two levels have the same name"),
        ([], "levels.0. of question 'q' is .* a JSON object"),
    ],
    ids=str,
)
def test_a_level_that_is_not_right(row, reason):
    with pytest.raises(InputError, match=reason):
        read(row, level("z", items=["other", "items"]))


def test_the_outermost_levels_are_right():
    found = read(level(epsilon=5e-324, item_count=10**12), level("b", epsilon=50, item_count=1))
    assert found.epsilons == (math.ulp(0), 50.0)
    assert found.total == 10**12 + 1


def test_a_mechanism_may_need_more_items():
    read(level(item_count=2), least=2)
    with pytest.raises(InputError, match=r"the levels have 1 item together, at least 2 are needed"):
        read(level(item_count=1), least=2)


def test_rules():
    rows = level("a"), level("b")
    assert read(*rows, rule="avg").rule == "avg"
    matrix = read(*rows, rule=[[50, 1.5], [1.5, None]]).rule
    assert matrix == [[50.0, 1.5], [1.5, math.inf]]
    assert {type(entry) for row in matrix for entry in row} == {float}


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("max", "one of 'min', 'avg' or a list"),
        ([], "with at least 1 entries"),
        ([[1.0, 1.0]], "a 2 x 2 matrix"),
        ([[1.0, 1.0], [1.0]], "a 2 x 2 matrix"),
        ([[1.0, 1.0], "ab"], "rule of question 'q' is .* or a list"),
        ([[1.0, 1.0], [1.0, 0]], "rule of question 'q'"),
        ([[1.0, 1.0], [1.0, 50.5]], "rule of question 'q'"),
        ([[1.0, 1.0], [1.0, True]], "rule of question 'q'"),
        ([[1.0, 2.0], [1.0, 1.0]], "a symmetric matrix"),
        ([[1.0, None], [1.0, 1.0]], "a symmetric matrix"),
        ([[1.0, None], [None, None]], "finite for at least one pair .* needs no randomisation"),
    ],
    ids=str,
)
def test_a_rule_that_is_not_right(rule, reason):
    with pytest.raises(InputError, match=reason):
        read(level("a"), level("b"), rule=rule)
