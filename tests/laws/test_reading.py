"""Questions and answers that are none: refused by what is wrong with them, before any draw."""

import math

import pytest

from planner.errors import InputError, VerificationError
from planner.laws.answers import Item, ItemOrNone, Number
from planner.laws.item_sets import OneOfSet
from planner.laws.law import DEVICE, Law
from planner.laws.levels import Levels
from planner.laws.shape import octets
from planner.laws.source import choose, choose_all, words
from tests.laws.oracle import D
from tests.laws.questions import FORMS, PROOFS, QUESTIONS, replaced
from tests.refusals import refused


@pytest.mark.parametrize(
    ("name", "path", "value", "reason"), FORMS, ids=range(len(FORMS))
)
def test_wrong_forms(name, path, value, reason):
    with pytest.raises(InputError, match=reason):
        Law.read(replaced(QUESTIONS[name], path, value), DEVICE)


@pytest.mark.parametrize(
    ("name", "path", "value", "reason"), PROOFS, ids=range(len(PROOFS))
)
def test_what_has_no_proof(name, path, value, reason):
    with pytest.raises(VerificationError, match=f"Question {name!r}: .*{reason}"):
        Law.read(replaced(QUESTIONS[name], path, value), DEVICE)


def test_limits_may_be_reached_and_not_exceeded(monkeypatch):
    for name, limit, size in (
        ("design", "sides.MAX_TYPES", 4),
        ("design", "sides.MAX_GROUPS", 2),
        ("age", "rows.MAX_ROWS", 3),
        ("age", "rows.MAX_REPORTS", 4),
        ("order", "answers._MAX_ANSWERS", 5),
        ("whole sets", "overlap.MAX_WHOLE_SET", 2),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(f"planner.laws.{limit}", size)
            Law.read(QUESTIONS[name], DEVICE)
            patch.setattr(f"planner.laws.{limit}", size - 1)
            with refused(
                "order of question 'order'",
                "padding_length of question 'whole sets'",
                "rows of question 'age'",
                "types of question 'design'",
            ):
                Law.read(QUESTIONS[name], DEVICE)


# -- answers ---------------------------------------------------------------------------------------

NAMED = Levels(("s", "t"), (1.0, 2.0), (1, 2), (("x",), ("y", "z")))
NUMBERED = Levels(("s",), (1.0,), (3,), ((),))
AGE = Number(Levels(("all",), (1.0,), (4,), ((),)), 0.0, 120.0, yes_no=False, points=3)


@pytest.mark.parametrize(
    ("asked", "answer", "code"),
    [
        (Item(NAMED), "z", 2),
        (Item(NUMBERED), 2, 2),
        (OneOfSet(NAMED, 2), ["z", "x"], (0, 2)),
        (OneOfSet(NUMBERED, 2), {1}, (1,)),
        (OneOfSet(NAMED, 2), (), ()),
        (AGE, 17, 17.0),
        (AGE, 120.0, 120.0),
        (AGE, None, None),
        (AGE, math.nan, None),
    ],
)
def test_answers(asked, answer, code):
    assert asked.code(answer) == code


def test_nobody_has_no_value_where_everybody_has_one():
    assert (
        Item.read({"rule": "min", "levels": QUESTIONS["idue"]["levels"][:1]}).code(
            "HIV"
        )
        == 0
    )
    for everyone in (False, True):
        asked = ItemOrNone.read(QUESTIONS["sampled"] | {"everyone_has_value": everyone})
        assert (None in asked.examples()) is not everyone
        assert asked.code("w") == 3
    with refused("answer"):
        asked.code(None)


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (Item(NAMED), "w"),
        (Item(NAMED), 1),
        (Item(NAMED), None),
        (Item(NUMBERED), 3),
        (Item(NUMBERED), True),
        (Item(NUMBERED), 1.0),
        (Item(NUMBERED), -1),
        (OneOfSet(NAMED, 2), "x"),
        (OneOfSet(NAMED, 2), ["x", "x"]),
        (OneOfSet(NAMED, 2), ["w"]),
        (OneOfSet(NAMED, 2), None),
        (AGE, 121),
        (AGE, True),
        (AGE, "17"),
        (AGE, math.inf),
        (AGE, -1e-9),
        (Number(AGE.levels, 0.0, 1.0, yes_no=True, points=2), 0.5),
    ],
)
def test_no_answers_are_refused_by_their_type_alone(asked, answer):
    with refused("answer") as caught:
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
    assert [choose(playing(word, 1), 3) for word in (last - 1, last, D - 1)] == [
        2,
        1,
        1,
    ]
    assert choose(playing(D - 1), 2**32) == D - 1
    assert choose_all(playing(last, 5, 7, 2), [3, 4]) == [
        2,
        3,
    ]  # the rejected word is drawn again
    assert choose_all(playing(), []) == []
    assert OneOfSet(NAMED, 1).own((2,), playing(5)) == (2,)  # no choice of a lone dummy
    assert [OneOfSet(NAMED, 2).own((), playing(0, k)) for k in (0, 1)] == [(3,), (4,)]
    assert NAMED.item_names() == ["x", "y", "z"]
    assert NUMBERED.item_names() == ["s 1", "s 2", "s 3"]
    assert [octets(bits) for bits in (1, 64, 65)] == [8, 8, 16]
    for wrong in (b"", bytes(3), bytes(5), "1234", None):
        with refused("The source of entropy failed", kind=VerificationError):
            words(lambda _count, wrong=wrong: wrong, 1)
