"""The client's small reader of JSON Schema, against the whole one."""

import json

import jsonschema
import numpy as np
import pytest

from planner.deployment.client.document import file_form
from planner.errors import InputError
from planner.laws.schema import (
    BUDGET,
    FLAG,
    PROBABILITY,
    TEXT,
    check,
    choice,
    either,
    list_of,
    passes,
    record,
    whole,
)
from tests.deployment.examples import singles
from tests.deployment.mutations import mutated, paths_of
from tests.surveys import tries


def test_values_of_a_shape():
    null = {"type": "null"}
    two = record({"a": whole(1, 3), "b": list_of(TEXT, least=0)}, "Two keys.")
    for schema, good, bad in (
        (TEXT, ["x", "é"], ["", 1, None, True, ["x"]]),
        (FLAG, [True, False], [0, 1, None, "true"]),
        (null, [None], [0, False, ""]),
        (BUDGET, [5e-324, 1, 50, 50.0], [0, -1, 50.1, True, "1", None]),
        (PROBABILITY, [1, 2**32 - 1], [0, 2**32, 1.5, True]),
        (choice("a", 1), ["a", 1], ["b", True, 2, "1", None]),
        (
            list_of(either(BUDGET, null)),
            [[1], [None, 2]],
            [[], [0], [True], {"0": 1}, "ab", None],
        ),
        (
            two,
            [{"a": 1, "b": []}, {"b": ["x"], "a": 3}],
            [
                {},
                {"a": 1},
                {"a": 1, "b": [], "c": 0},
                {"a": 4, "b": []},
                {"a": 0, "b": []},
                {"a": 1, "b": [""]},
                [],
            ],
        ),
        (
            {"type": "string", "pattern": "^[0-9]{2}$"},
            ["12"],
            ["123", "12\n", "\uff11\uff12", 12],
        ),
        ({"type": "number", "minimum": 0}, [0, 1e300], [-1e-300, "0"]),
    ):
        library = jsonschema.Draft202012Validator(schema)
        for value in good:
            check(value, schema)
            assert library.is_valid(value)
        for value in bad:
            assert not passes(value, schema), value
            if (
                value != "12\n"
            ):  # to the library's Python a line may end before its newline
                assert not library.is_valid(value), value
    assert two["description"] == "Two keys."
    assert "description" not in record({})


def test_refusals_say_where():
    form = record({"a": list_of(record({"b": FLAG}), 0), "e": FLAG})
    for value, argument, allowed in (
        (None, "the document", "a JSON object"),
        (None, "of q", "a JSON object"),
        ({"e": True}, "a of q", "given"),
        ({"a": []}, "e", "given"),
        ({"e": True, "a": [{"b": 1}]}, "a[0].b of q", "true or false"),
        ({"e": True, "a": [{"b": True, "c": 2}]}, "key of a[0] of q", "one of b"),
        ({"e": True, "a": [], "d": 0}, "key of the document", "one of a, e"),
        ({"e": True, "a": [], "d": 0}, "key of q", "one of a, e"),
    ):
        with pytest.raises(InputError) as refused:
            check(value, form, "", " of q" if argument.endswith("of q") else "")
        assert refused.value.argument == argument
        assert refused.value.allowed == allowed


def test_mutated_documents_get_the_librarys_verdict(document):
    """By the form of the file; no hash is looked at here."""
    rng = np.random.default_rng(2)
    form = file_form()
    library = jsonschema.Draft202012Validator(form)
    goods = singles(document)
    verdicts = []
    for good in goods:
        text = json.dumps(good)
        places = [path for path in paths_of(good) if path]
        for _ in range(tries(240, 1200) // len(goods)):
            damaged = mutated(text, places, rng)
            verdicts.append(passes(damaged, form))
            # 1.0 is a whole number to the library, and read as 1 before our check.
            assert verdicts[-1] == library.is_valid(damaged) or "1.0" in json.dumps(
                damaged
            )
    assert 0.2 < np.mean(verdicts) < 0.8
