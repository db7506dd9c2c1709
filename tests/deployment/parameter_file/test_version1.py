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

    current = json.loads(small_parameters.model_dump_json())
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
    assert (found.planner_version, found.created) == (None, None)
    assert found.questions == small_parameters.questions
    assert found.hash != small_parameters.hash


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("version", 3, "version: 3 is not known"),
        ("version", 1.0, "version: 1.0 is not known"),
        ("version", True, "version: True is not known"),
        ("version", "1", "version: '1' is not known"),
        ("format", "x", "is not a parameter file"),
        ("users", 1e5, "users: Input should be a valid integer"),
        ("users", 0, "users: Input should be greater than or equal to 1"),
        ("survey", "", "survey: String should have at least 1 character"),
        ("survey", 5, "survey: Input should be a valid string"),
        ("questions", [], "questions: List should have at least 1 item"),
        ("extra", 1, "extra: Extra inputs are not permitted"),
    ],
)
def test_strict_at_the_top(key, value, message, old, tmp_path):
    _refused({**old, key: value}, message, tmp_path)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("kind", "numeric", "questions.0.kind"),
        ("mechanism", "grr", "questions.0.mechanism"),
        ("model", "opt3", "questions.0.model"),
        ("rule", "max", "questions.0.rule"),
        ("rule", [[1.0]], "a 2 x 2 matrix"),
        ("rule", [[1.0, 2.0], [1.5, 1.0]], "a symmetric matrix"),
        ("rule", [[1.0, None], [None, None]], "finite for at least one pair of each level"),
        ("rule", [[1.0, -1.0], [-1.0, 1.0]], "questions.0.rule"),
        ("denominator", 65536, "questions.0.denominator: Input should be 4294967296"),
        ("denominator", 4294967296.0, "denominator: Input should be a whole number"),
        ("levels", [], "questions.0.levels"),
        ("name", "age", "the file: a question name appears twice"),
        ("extra", 1, "questions.0.extra"),
    ],
)
def test_strict_in_a_question(key, value, message, old, tmp_path):
    old["questions"][0][key] = value
    _refused(old, message, tmp_path)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("a", 2.0**31, "levels.0.a: Input should be a valid integer"),
        ("a", "5", "levels.0.a: Input should be a valid integer"),
        ("a", True, "levels.0.a: Input should be a valid integer"),
        ("a", DENOMINATOR, "levels.0.a: Input should be less than"),
        ("a", 7, "below a = 7"),
        ("b", 0, "levels.0.b: Input should be greater than 0"),
        ("epsilon", 0, "levels.0.epsilon: Input should be greater than 0"),
        ("epsilon", 51, "levels.0.epsilon: Input should be less than or equal to 50"),
        ("epsilon", "ln 4", "levels.0.epsilon: Input should be a valid number"),
        ("item_count", 2, "a list of item_count = 2"),
        ("items", ["x", 3], "levels.0.items.1"),
        ("name", "common", "distinct level names"),
        ("nickname", "x", "levels.0.nickname: Extra inputs"),
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
        _refused(old, reason.get(key, f"{key}: Field required"), tmp_path)
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
