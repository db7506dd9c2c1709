"""The client's small reader of JSON Schema, against the whole one."""

import json

import jsonschema
import numpy as np
import pytest

from planner.deployment.client.document import file_form
from planner.errors import InputError
from planner.laws.law import DEVICE, question_form
from planner.laws.schema import (
    BUDGET,
    FLAG,
    PROBABILITY,
    TEXT,
    check,
    choice,
    either,
    list_of,
    record,
    whole,
)
from tests.deployment.examples import singles
from tests.deployment.mutations import mutated, paths_of
from tests.effort import tries

NULL = {"type": "null"}
LIST = list_of(either(BUDGET, NULL))
RECORD = record({"a": whole(1, 3), "b": list_of(TEXT, least=0)}, "Two keys.")


def passes(value, schema):
    try:
        check(value, schema)
    except InputError:
        return False
    return True


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        (TEXT, ["x", "é"], ["", 1, None, True, ["x"]]),
        (FLAG, [True, False], [0, 1, None, "true"]),
        (NULL, [None], [0, False, ""]),
        (BUDGET, [5e-324, 1, 50, 50.0], [0, -1, 50.1, True, "1", None]),
        (PROBABILITY, [1, 2**32 - 1], [0, 2**32, 1.5, True]),
        (choice("a", 1), ["a", 1], ["b", True, 2, "1", None]),
        (LIST, [[1], [None, 2]], [[], [0], [True], {"0": 1}, "ab", None]),
        (RECORD, [{"a": 1, "b": []}, {"b": ["x"], "a": 3}], [
            {}, {"a": 1}, {"a": 1, "b": [], "c": 0}, {"a": 4, "b": []}, {"a": 1, "b": [""]}, [],
        ]),
        ({"type": "string", "pattern": "^[0-9]{2}$"}, ["12"], [ "123", "12\n", "\uff11\uff12", 12]),
        ({"type": "number", "minimum": 0}, [0, 1e300], [-1e-300, "0"]),
    ],
)  # fmt: skip
def test_values_of_a_shape(schema, good, bad):
    library = jsonschema.Draft202012Validator(schema)
    for value in good:
        check(value, schema)
        assert library.is_valid(value)
    for value in bad:
        assert not passes(value, schema), value
        if value != "12\n":  # to the library's Python a line may end before its newline
            assert not library.is_valid(value), value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": 0, "b": []}, "a of question 'q' is 0 but must be a whole number from 1 to 3"),
        ({"a": 1}, "b of question 'q' is missing but must be given"),
        (
            {"a": 1, "b": ["x", ""]},
            r"b\[1\] of question 'q' is empty but must be text that is not em",
        ),
        ({"a": 1, "b": [], "c": 1}, "key of question 'q' is 'c' but must be one of a, b"),
        ([], "question 'q' is empty but must be a JSON object"),
    ],
)
def test_the_first_wrong_place_is_named(value, message):
    with pytest.raises(InputError, match=message):
        check(value, RECORD, where=" of question 'q'")


def test_alternatives_are_named_together():
    with pytest.raises(InputError, match="a number above 0 and at most 50 or null"):
        check([0], list_of(either(BUDGET, NULL)))
    with pytest.raises(InputError, match=r"a\.b of the|a\.b is 3"):
        check({"a": {"b": 3}}, record({"a": record({"b": TEXT})}))
    with pytest.raises(InputError, match="key of a is 'c'"):
        check({"a": {"b": "", "c": 3}}, record({"a": record({"b": {"type": "string"}})}))


def test_an_empty_record_of_anything_takes_more_keys():
    check({"a": 1, "more": 2}, record({"a": whole(1, 1)}) | {"additionalProperties": True})


def test_mutated_documents_get_the_librarys_verdict(document):
    """By the form of the file; no hash is looked at here."""
    rng, form = np.random.default_rng(2), file_form()
    library = jsonschema.Draft202012Validator(form)
    goods, verdicts = singles(document), []
    for good in goods:
        text = json.dumps(good)
        places = [path for path in paths_of(good) if path]
        for _ in range(tries(240, 1200) // len(goods)):
            one = mutated(text, places, rng)
            verdicts.append(passes(one, form))
            # 1.0 is a whole number to the library, and read as 1 before our check.
            assert verdicts[-1] == library.is_valid(one) or "1.0" in json.dumps(one)
    assert 0.2 < np.mean(verdicts) < 0.8


def test_every_law_has_a_form_with_its_description():
    for asked, shape in DEVICE.pairs():
        form = question_form(asked, shape)
        assert form["properties"]["law"] == {"enum": [shape.name]}
        assert form["description"]
