"""The client's small reader of JSON Schema, against the whole one."""

import json

import jsonschema
import numpy as np
import pytest

from planner.deployment.client.schema import (
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
from planner.deployment.client.shape import file_shape, question_shape
from planner.errors import InputError
from tests.deployment.examples import FILES, singles
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


@pytest.mark.parametrize("version", [1, 2])
def test_mutated_documents_get_the_librarys_verdict(document, version):
    """By the schemas of versions 1 and 2; no hash is looked at here."""
    rng, shape = np.random.default_rng(version), file_shape(version)
    library = jsonschema.Draft202012Validator(shape)
    old = json.loads((FILES / "version1.json").read_text())
    goods = singles(document) if version == 2 else [old]
    verdicts = []
    for good in goods:
        text = json.dumps(good)
        places = [path for path in paths_of(good) if path]
        for _ in range(tries(240, 1200) // len(goods)):
            one = mutated(text, places, rng)
            if version == 1:  # which has none
                del one["hash"]
            verdicts.append(passes(one, shape))
            # 1.0 is a whole number to the library, and read as 1 before our check.
            assert verdicts[-1] == library.is_valid(one) or "1.0" in json.dumps(one)
    assert 0.2 < np.mean(verdicts) < 0.8


def test_a_mechanisms_shape_has_its_description():
    from planner.deployment.client.mechanisms.registry import LAWS

    for name, law in LAWS.items():
        shape = question_shape(law)
        assert shape["properties"]["mechanism"] == {"enum": [name]}
        assert shape["description"]
