import pytest

from planner import InputError, Level, Question, Survey

LEVELS = (Level("severe", 1.0, ("HIV",)), Level("common", 2.0, item_count=3))


def test_items_are_counted_and_kept_as_a_tuple():
    level = Level("x", 1.0, ["a", "b"])
    assert level.items == ("a", "b")
    assert level.item_count == 2
    assert hash(level) == hash(Level("x", 1.0, ("a", "b")))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x", 1.0), "items of level 'x' is .* not empty. List the level's items"),
        (("x", 1.0, "HIV"), "items of level 'x' is 'HIV' but must be a list of texts"),
        (("x", 1.0, ("a",), 2), "item_count of level 'x' is 2 but must be the number"),
    ],
)
def test_bad_levels(arguments, message):
    with pytest.raises(InputError, match=message):
        Level(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((" ", LEVELS), "question name is ' '"),
        (("q", ()), r"epsilons is \[\] but must be a list of one or more budgets. Add a level"),
        (("q", LEVELS, "sum"), "rule is 'sum'"),
        (("q", LEVELS, "min", "open"), "kind is 'open' but must be one of categorical"),
        (("q", (Level("x", 1.0, ("a", "a")),)), "item of level 'x' is 'a'"),
        (("q", (Level("x", 60.0, ("a",)),)), r"epsilons\[0\] is 60.0"),
        (("q", (Level("x", 1.0, (5,)),)), "item of level 'x' is 5 but must be text"),
        (("q", (Level("x", 1.0, item_count=1.5),)), r"item_counts\[0\] is 1.5"),
    ],
)
def test_bad_questions(arguments, message):
    with pytest.raises(InputError, match=message):
        Question(*arguments)


@pytest.mark.parametrize("users", [0, -1, 1.5, True, "10", 10**12 + 1, None, float("nan")])
def test_bad_numbers_of_users(users):
    with pytest.raises(InputError, match=r"users is .* but must be a whole number from 1 to"):
        Survey("s", users, (Question("q", LEVELS),))


def test_bad_surveys():
    question = Question("q", LEVELS)
    with pytest.raises(InputError, match=r"questions is .* but must be one or more questions"):
        Survey("s", 1, ())
    with pytest.raises(InputError, match="question name is 'q' but must be different"):
        Survey("s", 1, (question, question))
    with pytest.raises(InputError, match="survey name is '' but must be text"):
        Survey("", 1, (question,))
