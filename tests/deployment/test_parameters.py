"""Parameters from a plan, and how strictly a file of version 1 is read."""

import json
import math

import pytest

from planner import FileError, InputError, Level, Question, Survey, VerificationError
from planner.deployment.building import parameters_from_plan
from planner.deployment.document.canonical import content_hash
from planner.deployment.laws.exact import DENOMINATOR
from planner.deployment.parameters import parse_parameters, read_parameters, write_parameters
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


VERSION_1 = ("name", "kind", "mechanism", "model", "rule", "denominator", "levels", "predicted")


@pytest.fixture
def document(parameters):
    """The parameters as version 1 of the file wrote them."""
    current = json.loads(parameters.model_dump_json())
    old = {key: current[key] for key in ("format", "version", "survey", "users")} | {"version": 1}
    questions = [{key: question[key] for key in VERSION_1} for question in current["questions"]]
    return old | {"questions": questions}


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


def _at(parameters, created):
    document = parameters.model_dump(mode="json") | {"created": created}
    return type(parameters).model_validate(document | {"hash": content_hash(document)})


def test_the_same_plan_exported_again_keeps_the_file_and_its_hash(plan, tmp_path):
    path, parameters = tmp_path / "params.json", parameters_from_plan(plan)
    write_parameters(path, _at(parameters, "2026-01-01T00:00:00Z"))
    before = path.read_bytes()
    write_parameters(path, _at(parameters, "2026-01-02T00:00:00Z"))
    assert path.read_bytes() == before
    longer = Survey("health", 200_000, SURVEY.questions)
    write_parameters(path, parameters_from_plan(plan_survey(longer)))
    assert path.read_bytes() != before


def test_version_1_holds_what_version_2_holds(document, parameters):
    old = parse_parameters(json.dumps(document))
    assert (old.planner_version, old.created) == (None, None)
    assert old.questions == parameters.questions
    assert old.hash != parameters.hash


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
def test_strict_at_the_top(key, value, message, document, tmp_path):
    _refused({**document, key: value}, message, tmp_path)


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
        reason = {"format": "not a parameter file", "version": "version: None is not known"}
        _refused(document, reason.get(key, f"{key}: Field required"), tmp_path)
        table[key] = kept


@pytest.mark.parametrize(("question", "first"), [(0, "severe"), (1, "young"), (2, "x")])
@pytest.mark.parametrize(("key", "change"), [("a", 10_000), ("b", -10_000)])
def test_a_tampered_integer_fails_naming_the_levels(
    question, first, key, change, document, tmp_path
):
    document["questions"][question]["levels"][0][key] += change
    path = tmp_path / "params.json"
    path.write_text(json.dumps(document))
    name = document["questions"][question]["name"]
    with pytest.raises(VerificationError, match=f"Question '{name}': Levels .*'{first}'.* realise"):
        read_parameters(path)


def test_lowering_a_budget_in_the_file_fails_too(document):
    document["questions"][0]["levels"][0]["epsilon"] -= 1e-6
    with pytest.raises(VerificationError, match="Levels 'severe' and 'common'"):
        parse_parameters(json.dumps(document))


def test_what_does_not_verify_is_not_written(parameters, tmp_path):
    question = parameters.questions[0]
    pair = question.pairs[0].model_copy(update={"realised": 0.1})
    altered = question.model_copy(update={"pairs": [pair, *question.pairs[1:]]})
    tampered = parameters.model_copy(update={"questions": [altered]})
    sealed = tampered.model_copy(update={"hash": content_hash(tampered.model_dump(mode="json"))})
    with pytest.raises(VerificationError, match="pairs"):
        write_parameters(tmp_path / "copy.json", sealed)
    assert not list(tmp_path.iterdir())


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
