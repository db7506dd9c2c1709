"""Questions and answers that are none: refused by what is wrong with them, before any draw."""

import copy
import math

import pytest

from planner.errors import InputError, VerificationError
from planner.laws.answers import Item, ItemOrNone, Number, OneOfSet
from planner.laws.die import ACKNOWLEDGEMENTS
from planner.laws.law import DEVICE, Law
from planner.laws.levels import Levels
from planner.laws.shape import octets
from planner.laws.source import choose, choose_all, words
from tests.laws.oracle import D
from tests.laws.test_laws import QUESTIONS

FORMS = [
    ("idue", ("a", 0), D, r"a\[0\] of question 'idue' is 4294967296 but must be .* to 4294967295"),
    ("idue", ("a", 0), 1.5, "a whole number"),
    ("idue", ("a",), [1], "a is 1 but must be 2 integers, one a level"),
    ("idue", ("b", 0), D - 1, "b of level 'severe' is 4294967295 but must be below a = "),
    ("idue", ("levels", 0, "item_count"), 2, "lists 1 items, and its item_count is 2"),
    ("idue", ("levels", 0, "items"), ["flu"], "two items have the same name"),
    ("idue", ("levels", 0, "name"), "common", "two levels have the same name"),
    ("idue", ("levels", 0, "epsilon"), 51.0, "above 0 and at most 50"),
    ("idue", ("law",), "other", "one of 'bits', 'sides', "),
    ("idue", ("asked",), "number", "asked of question 'idue' is 'number' but must be 'item' or "),
    ("idue", ("rule",), "max", "rule"),
    ("idue", ("denominator",), 2**31, "4294967296"),
    ("idue", ("extra",), 1, "key of question 'idue' is 'extra'"),
    ("idue", ("b",), ..., "b of question 'idue' is missing"),
    ("avg", ("levels", 1, "against"), 1.0, "left out under this rule"),
    ("one-sided", ("levels", 1, "against"), 0.0, "above 0 and at most 50"),
    ("one-sided", ("rule",), "min", "left out under this rule"),
    ("matrix", ("rule", 0, 1), None, "null in both directions, or in neither"),
    ("matrix", ("rule",), [[1.0]], "a 2 x 2 matrix"),
    ("matrix", ("rule",), [[1.0, None], [None, None]], "finite for at least one pair of each"),
    ("sets", ("rule",), "avg", "'min'"),
    ("sets", ("padding_length",), 0, "from 1 to 1048576"),
    ("sets", ("longer_sets", 0, "size"), 3, "of sizes that rise from above 3"),
    ("sets", ("longer_sets",), [{"size": 4, "share": 0.1}, {"size": 5, "share": 0.2}], "not rise"),
    ("olh", ("hash_function",), "md5", "xxh32"),
    ("olh", ("values",), 2**31, "from 2 to 536870912"),
    ("subset", ("types", 0, 0), 6, r"types\[0\]\[0\] is 6 but must be at most the 5 elements"),
    ("subset", ("values",), [[[0.0, 1.0]]], "values is not of the shape 0"),
    ("design", ("values",), [], "values is not of the shape 4 x 2 x 2"),
    ("design", ("types", 0), [1], "types is not of the shape 4 x 2"),
    ("design", ("groups",), [0, 2], r"groups is .* one of 2 for each of 2 levels, from 0"),
    ("design", ("groups",), [0], r"groups is .* one of 2 for each of 2 levels, from 0"),
    ("age", ("lower",), 90.0, "above lower, which is 90.0, by a finite amount"),
    ("yes", ("points",), 3, "2: no and yes"),
    ("age", ("points",), 3, "rows is 3 but must be one for each of 4 answers"),
    ("age", ("blocks",), [2, 1], "blocks is .* 4 together"),
    ("order", ("rows", 0), [1, 2], "rows is not of the shape 5 x 2"),
    ("order", ("values", 0), [1.0], "values is not of the shape"),
    ("order", ("order",), [0, 1, 2, 3, 3], "the numbers of all items once, at most 32"),
    ("order", ("scores",), [1.0], "5 numbers, or none"),
    ("sampled", ("guarantee", "acknowledged"), "yes", "acknowledged"),
    ("sampled", ("guarantee", "linkable_epsilon"), 1.0, "infinite"),
    ("whole sets", ("ratios",), [D], "number of ratios is 1 but must be 2"),
    ("whole sets", ("ratios",), [D, D, 1], "number of ratios is 3 but must be 2"),
    ("whole sets", ("held",), 7, "from 1 to 6"),
]  # fmt: skip
UNRELEASED = QUESTIONS["sampled"]["guarantee"] | {
    "relies_on": "aggregates-only",
    "acknowledged": ACKNOWLEDGEMENTS["aggregates-only"],
}
PROOFS = [
    ("idue", ("a", 1), 3 * 10**9, "Levels 'severe' and 'common' realise"),
    ("avg", ("a", 1), 4 * 10**9, "realise"),
    ("one-sided", ("levels", 1, "against"), 1.29, "'common' and 'common' realise 1.[23]"),
    ("grr", ("weights", 0, 0), [D // 4, 3 * D // 4], "Levels 'severe', 'common' and .* realises"),
    ("subset", ("weights", 0, 0), [D - 1, 1], "realises"),
    ("subset", ("weights", 0, 0), [4 * D // 5 + 1, D - 4 * D // 5 - 1], "the true item more often"),
    ("subset", ("weights", 0, 0), [1, 1], "integers of group 0 do not sum to 2.32"),
    ("olh", ("values",), 30, "realises"),
    ("olh", ("truth",), 3 * 10**9, "realises"),
    ("age", ("epsilon",), 1.99, "'any answer or none': a report realises"),
    ("age", ("rows", 0, 0), 2, "integers of row 0 do not sum"),
    ("age", ("blocks",), [1, 3], "The blocks of row 1 are not those of the first one"),
    ("order", ("values", 0, 0), 9.0, "biased for the answers of row 0"),
    ("order", ("wanted",), "mean of scores", "4 rows of values for 1 wanted numbers"),
    ("design", ("values", 0, 0), [2.5, 2.5], "estimator of levels 'severe' is biased"),
    ("design", ("types", 3), [0, 4], "no element of group 1 on a side with a probability"),
    ("sampled", ("decoys", 0), 1, "parts in total"),
    ("sampled", ("decoys",), [1], "1 decoys for 3 values"),
    ("sampled", ("none_epsilon",), 0.5, "none of the values realises"),
    ("sampled", ("guarantee", "round_two_epsilon"), 0.001, "Round two realises"),
    ("sampled", ("guarantee", "aggregates", "others_with_each_value"), [9], "1 numbers of others"),
    ("sampled", ("guarantee",), UNRELEASED, "no finite epsilon"),
    ("whole sets", ("ratios",), [D, D], "the true item more often"),
    ("whole sets", ("cap",), 0.5, "below the smallest budget"),
    ("whole sets", ("cap",), 1.99, "Two sets: a report realises"),
    ("whole sets", ("levels", 0, "epsilon"), 0.999, "differ in one item: a report realises"),
]  # fmt: skip


def replaced(table, path, value):
    """A copy of nested tables with the value at this path replaced (or, with ..., removed)."""
    copied = place = copy.deepcopy(table)
    for key in path[:-1]:
        place = place[key]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return copied


@pytest.mark.parametrize(("name", "path", "value", "reason"), FORMS, ids=range(len(FORMS)))
def test_wrong_forms(name, path, value, reason):
    with pytest.raises(InputError, match=reason):
        Law.read(replaced(QUESTIONS[name], path, value), DEVICE)


@pytest.mark.parametrize(("name", "path", "value", "reason"), PROOFS, ids=range(len(PROOFS)))
def test_what_has_no_proof(name, path, value, reason):
    with pytest.raises(VerificationError, match=f"Question {name!r}: .*{reason}"):
        Law.read(replaced(QUESTIONS[name], path, value), DEVICE)


def test_limits_may_be_reached_and_not_exceeded(monkeypatch):
    for name, limit, size in (
        ("design", "sides.MAX_TYPES", 4), ("design", "sides.MAX_GROUPS", 2),
        ("age", "rows.MAX_ROWS", 3), ("age", "rows.MAX_REPORTS", 4),
        ("order", "answers._MAX_ANSWERS", 5), ("whole sets", "staircase.MAX_WHOLE_SET", 2),
    ):  # fmt: skip
        with monkeypatch.context() as patch:
            patch.setattr(f"planner.laws.{limit}", size)
            Law.read(QUESTIONS[name], DEVICE)
            patch.setattr(f"planner.laws.{limit}", size - 1)
            with pytest.raises(InputError, match="at most"):
                Law.read(QUESTIONS[name], DEVICE)


# -- answers ---------------------------------------------------------------------------------------

NAMED = Levels(("s", "t"), (1.0, 2.0), (1, 2), (("x",), ("y", "z")))
NUMBERED = Levels(("s",), (1.0,), (3,), ((),))
AGE = Number(Levels(("all",), (1.0,), (4,), ((),)), 0.0, 120.0, yes_no=False, points=3)


@pytest.mark.parametrize(
    ("asked", "answer", "code"),
    [
        (Item(NAMED), "z", 2), (Item(NUMBERED), 2, 2),
        (OneOfSet(NAMED, 2), ["z", "x"], (0, 2)), (OneOfSet(NUMBERED, 2), {1}, (1,)),
        (OneOfSet(NAMED, 2), (), ()),
        (AGE, 17, 17.0), (AGE, 120.0, 120.0), (AGE, None, None), (AGE, math.nan, None),
    ],
)  # fmt: skip
def test_answers(asked, answer, code):
    assert asked.code(answer) == code


def test_nobody_has_no_value_where_everybody_has_one():
    assert Item.read({"rule": "min", "levels": QUESTIONS["idue"]["levels"][:1]}).code("HIV") == 0
    for everyone in (False, True):
        asked = ItemOrNone.read(QUESTIONS["sampled"] | {"everyone_has_value": everyone})
        assert (None in asked.examples()) is not everyone
        assert asked.code("w") == 3
    with pytest.raises(InputError, match="missing"):
        asked.code(None)


@pytest.mark.parametrize(
    ("asked", "answer", "reason"),
    [
        (Item(NAMED), "w", "'of type str' but must be the name of an item of this question. Give"),
        (Item(NAMED), 1, "of type int"), (Item(NAMED), None, "missing"),
        (Item(NUMBERED), 3, "or its number from 0 to 2"), (Item(NUMBERED), True, "of type bool"),
        (Item(NUMBERED), 1.0, "of type float"), (Item(NUMBERED), -1, "of type int"),
        (OneOfSet(NAMED, 2), "x", "a list of items"), (OneOfSet(NAMED, 2), ["x", "x"], "twice"),
        (OneOfSet(NAMED, 2), ["w"], "of type str"), (OneOfSet(NAMED, 2), None, "a list of items"),
        (AGE, 121, "a number from 0 to 120, or none"), (AGE, True, "of type bool"),
        (AGE, "17", "of type str"), (AGE, math.inf, "of type float"), (AGE, -1e-9, "of type float"),
        (Number(AGE.levels, 0.0, 1.0, yes_no=True, points=2), 0.5, "0, 1 or none"),
    ],
)  # fmt: skip
def test_no_answers_are_refused_by_their_type_alone(asked, answer, reason):
    with pytest.raises(InputError, match=reason) as caught:
        asked.code(answer)
    assert "17" not in str(caught.value)


# -- words -----------------------------------------------------------------------------------------


def playing(*numbers):
    """A source of these words, one by one."""
    data = iter(b"".join(number.to_bytes(4, "little") for number in numbers))
    return lambda count: bytes(next(data) for _ in range(count))


def test_words_and_choices_at_their_edges():
    assert words(playing(1, D - 1), 2) == (1, D - 1)
    last = D - D % 3  # the first word that is rejected
    assert [choose(playing(word, 1), 3) for word in (last - 1, last, D - 1)] == [2, 1, 1]
    assert choose(playing(D - 1), 2**32) == D - 1
    assert choose_all(playing(last, 5, 7, 2), [3, 4]) == [2, 3]  # the rejected word is drawn again
    assert choose_all(playing(), []) == []
    assert OneOfSet(NAMED, 1).own((2,), playing(5)) == (2,)  # no choice of a lone dummy
    assert [OneOfSet(NAMED, 2).own((), playing(0, k)) for k in (0, 1)] == [(3,), (4,)]
    assert (NAMED.item_names(), NUMBERED.item_names()) == (["x", "y", "z"], ["s 1", "s 2", "s 3"])
    assert [octets(bits) for bits in (1, 64, 65)] == [8, 8, 16]
    for wrong in (b"", bytes(3), bytes(5), "1234", None):
        with pytest.raises(VerificationError, match="source of entropy failed"):
            words(lambda _count, wrong=wrong: wrong, 1)
