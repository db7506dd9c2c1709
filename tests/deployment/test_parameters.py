import json
import math

import jsonschema
import pytest

from planner import FileError, InputError, Level, Question, Survey, VerificationError
from planner.deployment.exact import DENOMINATOR
from planner.deployment.parameters import (
    MAX_FILE_BYTES,
    Parameters,
    json_schema,
    parameters_from_plan,
    read_parameters,
    write_parameters,
)
from planner.planning.frequency import QuestionPlan, plan_survey
from planner.solvers import baseline

INF = math.inf
SURVEY = Survey(
    "health",
    100_000,
    (
        Question(
            "diagnosis",
            (Level("severe", math.log(4), ("HIV",)), Level("common", math.log(6), (), 4)),
        ),
        Question("age", (Level("young", 1.0, (), 3), Level("old", 2.0, (), 7)), "avg"),
        Question(
            "visits",
            (Level("x", 1.0, (), 3), Level("y", 1.0, (), 2)),
            ((1.0, 0.5), (0.5, INF)),
        ),
    ),
)


@pytest.fixture(scope="module")
def plan():
    return plan_survey(SURVEY)


@pytest.fixture(scope="module")
def parameters(plan):
    return parameters_from_plan(plan)


@pytest.fixture
def document(parameters):
    return json.loads(parameters.model_dump_json())


def _refused(document, match, tmp_path):
    path = tmp_path / "params.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    with pytest.raises(FileError, match=match) as caught:
        read_parameters(path)
    assert str(path) in str(caught.value)


def test_round_trip(parameters, tmp_path):
    path = tmp_path / "params.json"
    write_parameters(path, parameters)
    again = read_parameters(path)
    assert again == parameters
    again.verify()


def test_the_document_is_the_agreed_one(document):
    assert list(document) == ["format", "version", "survey", "users", "questions"]
    assert (document["format"], document["version"]) == ("ldp-planner-parameters", 1)
    question = document["questions"][0]
    assert list(question) == [
        "name",
        "kind",
        "mechanism",
        "model",
        "rule",
        "denominator",
        "levels",
        "predicted",
    ]
    assert question["denominator"] == 4294967296
    assert question["mechanism"] == "idue"
    level = question["levels"][0]
    assert list(level) == ["name", "epsilon", "item_count", "items", "a", "b"]
    assert type(level["a"]) is type(level["b"]) is int
    assert list(question["predicted"]) == ["worst_case_mse", "lower_bound", "relative_gap"]
    assert document["questions"][2]["rule"] == [[1.0, 0.5], [0.5, None]]


def test_predictions_are_those_of_the_integers(parameters):
    question = parameters.questions[0]
    noise, signal = [], []
    for level in question.levels:
        a, b = level.a / DENOMINATOR, level.b / DENOMINATOR
        noise.append(level.item_count * b * (1 - b) / (a - b) ** 2)
        signal.append((1 - a - b) / (a - b))
    error = sum(noise) + max(signal)
    predicted = question.predicted
    assert predicted.worst_case_mse == pytest.approx(error, rel=1e-12)
    assert predicted.worst_case_mse == pytest.approx(8.567495463, rel=1e-8)
    assert predicted.lower_bound <= predicted.worst_case_mse
    gap = predicted.worst_case_mse / predicted.lower_bound - 1
    assert predicted.relative_gap == pytest.approx(gap, abs=1e-15)


def test_the_schema_is_valid_and_accepts_the_file(document):
    schema = json.loads(json_schema())
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)
    check = jsonschema.Draft202012Validator(schema)
    assert list(check.iter_errors(document)) == []
    for key, wrong in (("version", 2), ("users", 0), ("questions", []), ("format", "other")):
        assert list(check.iter_errors({**document, key: wrong}))
    assert list(check.iter_errors({**document, "more": 1}))
    document["questions"][0]["levels"][0]["a"] = DENOMINATOR
    assert list(check.iter_errors(document))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("version", 2, "version: Input should be 1"),
        ("version", 1.0, "version: Input should be a whole number"),
        ("version", True, "version: Input should be a whole number"),
        ("version", "1", "version: Input should be a whole number"),
        ("format", "x", "format: Input should be 'ldp-planner-parameters'"),
        ("users", 1e5, "users: Input should be a valid integer"),
        ("users", 0, "users: Input should be greater than or equal to 1"),
        ("survey", "", "survey: String should have at least 1 character"),
        ("survey", 5, "survey: Input should be a valid string"),
        ("questions", [], "questions: List should have at least 1 item"),
        ("extra", 1, "extra: Extra inputs are not permitted"),
    ],
)
def test_strict_at_the_top(key, value, message, document, tmp_path):
    _refused({**document, key: value}, message, tmp_path)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("kind", "numeric", "questions.0.kind"),
        ("mechanism", "grr", "questions.0.mechanism"),
        ("model", "opt3", "questions.0.model"),
        ("rule", "max", "questions.0.rule"),
        ("rule", [[1.0]], "questions.0: the rule must be a 2 x 2 matrix"),
        ("rule", [[1.0, 2.0], [1.5, 1.0]], "the rule must be a symmetric matrix"),
        ("rule", [[1.0, None], [None, None]], "protects level 'common' against nothing"),
        ("rule", [[1.0, -1.0], [-1.0, 1.0]], "questions.0.rule"),
        ("denominator", 65536, "questions.0.denominator: Input should be 4294967296"),
        ("denominator", 4294967296.0, "denominator: Input should be a whole number"),
        ("levels", [], "questions.0.levels"),
        ("name", "age", "the file: a question name appears twice"),
        ("extra", 1, "questions.0.extra"),
    ],
)
def test_strict_in_a_question(key, value, message, document, tmp_path):
    document["questions"][0][key] = value
    _refused(document, message, tmp_path)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("a", 2.0**31, "levels.0.a: Input should be a valid integer"),
        ("a", "5", "levels.0.a: Input should be a valid integer"),
        ("a", True, "levels.0.a: Input should be a valid integer"),
        ("a", DENOMINATOR, "levels.0.a: Input should be less than"),
        ("a", 7, r"levels.0: b = \d+ must be below a = 7"),
        ("b", 0, "levels.0.b: Input should be greater than 0"),
        ("epsilon", 0, "levels.0.epsilon: Input should be greater than 0"),
        ("epsilon", 51, "levels.0.epsilon: Input should be less than or equal to 50"),
        ("epsilon", "ln 4", "levels.0.epsilon: Input should be a valid number"),
        ("item_count", 2, "item_count is 2 but 1 are listed"),
        ("items", ["x", 3], "levels.0.items.1"),
        ("name", "common", "a level name appears twice"),
        ("nickname", "x", "levels.0.nickname: Extra inputs"),
    ],
)
def test_strict_in_a_level(key, value, message, document, tmp_path):
    document["questions"][0]["levels"][0][key] = value
    _refused(document, message, tmp_path)


@pytest.mark.parametrize(
    "place", [[], ["questions", 0], ["questions", 0, "levels", 1], ["questions", 0, "predicted"]]
)
def test_every_key_is_needed(place, document, tmp_path):
    table = document
    for step in place:
        table = table[step]
    for key in list(table):
        kept = table.pop(key)
        _refused(document, f"{key}: Field required", tmp_path)
        table[key] = kept


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file: Invalid JSON"),
        ("{", "the file: Invalid JSON"),
        ("[]", "the file: "),
        ("\x00", "the file: Invalid JSON"),
    ],
)
def test_no_json(text, message, tmp_path):
    _refused(text, message, tmp_path)


def test_a_key_may_not_appear_twice(document, tmp_path):
    text = json.dumps(document).replace('"survey":', '"survey": "other", "survey":')
    _refused(text, "the key 'survey' appears twice", tmp_path)
    nan = json.dumps(document).replace(json.dumps(math.log(4)), "NaN")
    _refused(nan, "levels.0.epsilon", tmp_path)


def test_unreadable_files(tmp_path):
    with pytest.raises(FileError, match="cannot be read: No such file"):
        read_parameters(tmp_path / "none.json")
    with pytest.raises(FileError, match="cannot be read: Is a directory"):
        read_parameters(tmp_path)
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    with pytest.raises(FileError, match="is larger than 64 MiB"):
        read_parameters(large)


@pytest.mark.parametrize(("question", "first"), [(0, "severe"), (1, "young"), (2, "x")])
@pytest.mark.parametrize(("key", "change"), [("a", 10_000), ("b", -10_000)])
def test_a_tampered_integer_fails_naming_the_levels(
    question, first, key, change, document, tmp_path
):
    document["questions"][question]["levels"][0][key] += change
    path = tmp_path / "params.json"
    path.write_text(json.dumps(document))
    tampered = read_parameters(path)
    name = document["questions"][question]["name"]
    with pytest.raises(VerificationError, match=f"Question '{name}': levels .*'{first}'.* realise"):
        tampered.verify()
    target = tmp_path / "copy.json"
    with pytest.raises(VerificationError):
        write_parameters(target, tampered)
    assert not target.exists()


def test_lowering_a_budget_in_the_file_fails_too(document):
    document["questions"][0]["levels"][0]["epsilon"] -= 1e-6
    with pytest.raises(VerificationError, match="levels 'severe' and 'common'"):
        Parameters.model_validate_json(json.dumps(document)).verify()


def test_baselines_are_not_exported(plan):
    first = plan.questions[0]
    table = baseline(first.table.policy, "oue")
    odd = type(plan)(plan.survey, (QuestionPlan(first.question, table, {}, ()),))
    with pytest.raises(InputError, match="model is 'oue' but must be one with a certificate"):
        parameters_from_plan(odd)


def test_budgets_too_small_for_the_grid():
    levels = (Level("tiny", 1e-9, (), 2), Level("other", 1.0, (), 2))
    tiny = Survey("s", 10, (Question("q", levels),))
    with pytest.raises(InputError, match="large enough for probabilities that differ"):
        parameters_from_plan(plan_survey(tiny))
