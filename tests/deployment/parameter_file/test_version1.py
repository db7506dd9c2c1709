"""How strictly a file of version 1 is read, and that it holds what version 2 holds."""

import json

import pytest

from planner import FileError, VerificationError
from planner.deployment.client.laws.exact import DENOMINATOR
from planner.deployment.parameter_file.parameters import parse_parameters, read_parameters

VERSION_1 = ("name", "kind", "mechanism", "model", "rule", "denominator", "levels", "predicted")


@pytest.fixture
def old(small_parameters):
    """The parameters as version 1 of the file wrote them."""

    current = json.loads(small_parameters.to_json())
    old = {key: current[key] for key in ("format", "version", "survey", "users")} | {"version": 1}
    questions = [{key: question[key] for key in VERSION_1} for question in current["questions"]]
    return old | {"questions": questions}


def _refused(old, match, tmp_path):
    path = tmp_path / "params.json"
    path.write_text(old if isinstance(old, str) else json.dumps(old))
    with pytest.raises(FileError, match=match) as caught:
        read_parameters(path)
    assert str(path) in str(caught.value)


def test_version_1_holds_what_version_2_holds(old, small_parameters):
    found = parse_parameters(json.dumps(old))
    assert found.created is None
    assert found.questions == small_parameters.questions
    assert found.hash != small_parameters.hash


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("version", 4, "version: 4 is not known"),
        ("version", True, "version: True is not known"),
        ("version", "1", "version: '1' is not known"),
        ("format", "x", "is not a parameter file"),
        ("users", 1.5, "users is 1.5 but must be a whole number"),
        ("users", 0, "users is 0 but must be a whole number from 1"),
        ("survey", "", "survey is empty but must be text that is not empty"),
        ("survey", 5, "survey is 5 but must be text"),
        ("questions", [], "questions is empty but must be a list with at least 1"),
        ("extra", 1, "key of the document is 'extra'"),
        ("hash", "0" * 64, "key of the document is 'hash'"),
    ],
)
def test_strict_at_the_top(key, value, message, old, tmp_path):
    _refused({**old, key: value}, message, tmp_path)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("kind", "numeric", "kind of question 'diagnosis' is 'numeric'"),
        ("mechanism", "grr", "mechanism of .* is 'grr' but must be 'idue'"),
        ("model", "opt3", "model of .* is 'opt3'"),
        ("rule", "max", "rule of .* is 'max'"),
        ("rule", [[1.0]], "a 2 x 2 matrix"),
        ("rule", [[1.0, 2.0], [1.5, 1.0]], "a symmetric matrix"),
        ("rule", [[1.0, None], [None, None]], "finite for at least one pair of each level"),
        ("rule", [[1.0, -1.0], [-1.0, 1.0]], "rule of .* is "),
        ("denominator", 65536, "denominator .* must be 4294967296"),
        ("denominator", 4294967296.5, "denominator .* must be 4294967296"),
        ("levels", [], "levels .* a list with at least 1"),
        ("name", "age", "a question name appears twice"),
        ("extra", 1, "key of question 'diagnosis' is 'extra'"),
    ],
)
def test_strict_in_a_question(key, value, message, old, tmp_path):
    old["questions"][0][key] = value
    _refused(old, message, tmp_path)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("a", 2.0**31 + 0.5, "levels.0..a .* must be a whole number from 1"),
        ("a", "5", "levels.0..a .* must be a whole number"),
        ("a", True, "levels.0..a .* must be a whole number"),
        ("a", DENOMINATOR, "levels.0..a .* from 1 to 4294967295"),
        ("a", 7, "below a = 7"),
        ("b", 0, "levels.0..b .* from 1 to 4294967295"),
        ("epsilon", 0, "levels.0..epsilon .* a number above 0 and at most 50"),
        ("epsilon", 51, "levels.0..epsilon .* a number above 0 and at most 50"),
        ("epsilon", "ln 4", "levels.0..epsilon .* a number above 0"),
        ("item_count", 2, "its item_count is 2"),
        ("items", ["x", 3], "levels.0..items.1."),
        ("name", "common", "two levels have the same name"),
        ("nickname", "x", "key of levels.0. .* is 'nickname'"),
    ],
)
def test_strict_in_a_level(key, value, message, old, tmp_path):
    old["questions"][0]["levels"][0][key] = value
    _refused(old, message, tmp_path)


@pytest.mark.parametrize(
    "place", [[], ["questions", 0], ["questions", 0, "levels", 1], ["questions", 0, "predicted"]]
)
def test_every_key_is_needed(place, old, tmp_path):
    table = old
    for step in place:
        table = table[step]
    for key in list(table):
        kept = table.pop(key)
        reason = {"format": "not a parameter file", "version": "version: None is not known"}
        _refused(old, reason.get(key, f"{key}.* is missing"), tmp_path)
        table[key] = kept


@pytest.mark.parametrize(("question", "first"), [(0, "severe"), (1, "young"), (2, "x")])
@pytest.mark.parametrize(("key", "change"), [("a", 10_000), ("b", -10_000)])
def test_a_tampered_integer_fails_naming_the_levels(question, first, key, change, old, tmp_path):
    old["questions"][question]["levels"][0][key] += change
    path = tmp_path / "params.json"
    path.write_text(json.dumps(old))
    name = old["questions"][question]["name"]
    with pytest.raises(VerificationError, match=f"Question '{name}': Levels .*'{first}'.* realise"):
        read_parameters(path)


def test_lowering_a_budget_in_the_file_fails_too(old):
    old["questions"][0]["levels"][0]["epsilon"] -= 1e-6
    with pytest.raises(VerificationError, match="Levels 'severe' and 'common'"):
        parse_parameters(json.dumps(old))
