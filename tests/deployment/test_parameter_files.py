"""Parameter files: every mechanism there and back, old versions, the schema, strict reading."""

import copy
import json
import math
from fractions import Fraction

import jsonschema
import numpy as np
import pytest

from planner import Level, Question, Survey, solve
from planner.deployment import Client
from planner.deployment.building import parameters_from_mechanisms
from planner.deployment.laws.bounds import exp_lower_bound
from planner.deployment.laws.pairs import MAX_LISTED_LEVELS, demanded_budget
from planner.deployment.laws.reading import ACKNOWLEDGEMENTS
from planner.deployment.parameters import (
    json_schema,
    parse_parameters,
    read_parameters,
    write_parameters,
)
from planner.errors import FileError, InputError, PlannerError, VerificationError
from planner.mechanisms.bisample import BiSampleMD
from planner.mechanisms.direct import GeneralizedRandomizedResponse
from planner.mechanisms.padding import PaddedUnaryMechanism
from planner.mechanisms.unary import UnaryMechanism
from planner.numeric_domain import NumericDomain
from planner.planning.sampling import plan as sampling_plan
from tests.deployment.conftest import FILES, LEVELS, every_mechanism, sealed

GRID = 2**32


def test_every_mechanism_there_and_back(parameters, parameter_file):
    assert read_parameters(parameter_file) == parameters
    found = {question.mechanism for question in parameters.questions}
    assert len(found) == 7
    assert parameters.question("idue").pairs[0].realised > 0


@pytest.mark.parametrize("version", [1, 2])
def test_files_of_every_version_stay_readable(version):
    path = FILES / f"version{version}.json"
    parameters = read_parameters(path)
    client = Client(path)
    assert client.questions == tuple(question.name for question in parameters.questions)
    assert client.parameter_hash == parameters.hash


def test_schema_describes_the_files(document):
    schema = json.loads(json_schema())
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(document)
    validator.validate(json.loads((FILES / "version2.json").read_text()))
    for change in ({"version": 3}, {"extra": 1}, {"questions": []}, {"users": 0}):
        assert not validator.is_valid(document | change)


def test_realised_budgets_are_upper_bounds_and_kept(parameters):
    for question in parameters.questions:
        for pair in question.pairs:
            assert pair.demanded is None or pair.realised <= pair.demanded
        # Nor are they idle: the tightest pair comes close to its budget.
        gaps = [pair.demanded - pair.realised for pair in question.pairs if pair.demanded]
        assert min(gaps) < 0.65, question.name


def test_pair_budgets_of_unary_tables_against_fractions(parameters):
    question = parameters.question("avg")
    for pair in question.pairs:
        i, j = question.levels[pair.first], question.levels[pair.second]
        ratios = [Fraction(x.a * (GRID - y.b), x.b * (GRID - y.a)) for x, y in ((i, j), (j, i))]
        exact = max(map(float, ratios))
        assert 0 <= pair.realised - math.log(exact) < 1e-14
        assert max(ratios) <= exp_lower_bound(pair.realised)  # really an upper bound


@pytest.mark.parametrize("rule", ["min", "avg", "matrix"])
def test_many_levels_list_each_levels_tightest_pair(rule, rng):
    size = MAX_LISTED_LEVELS + 3
    epsilons = rng.uniform(0.5, 3, size)
    matrix = np.minimum(epsilons[:, None], epsilons)
    levels = tuple(Level(f"l{i}", float(e), item_count=2) for i, e in enumerate(epsilons))
    chosen = tuple(map(tuple, matrix.tolist())) if rule == "matrix" else rule
    survey = Survey("many", 10, (Question("q", levels, chosen),))
    smallest = float(epsilons.min())
    mechanism = UnaryMechanism.rappor(smallest, 2 * size)
    question = parameters_from_mechanisms(survey, {"q": mechanism}).questions[0]
    assert len(question.pairs) <= 2 * size
    realised = question.pairs[0].realised
    room = {}
    for pair in question.pairs:
        for i in (pair.first, pair.second):
            room[i] = min(room.get(i, math.inf), pair.demanded - pair.realised)
    for i in range(size):
        demanded = [demanded_budget(epsilons.tolist(), chosen, i, j) for j in range(size)]
        assert room[i] == pytest.approx(min(demanded) - realised, abs=1e-9)


def test_large_tables_are_fast_enough_to_check(rng):
    size = 3000
    levels = tuple(
        Level(f"l{i}", float(e), item_count=3) for i, e in enumerate(rng.uniform(0.5, 3, size))
    )
    survey = Survey("large", 10, (Question("q", levels),))
    table = solve(survey.questions[0].policy)
    parameters = parameters_from_mechanisms(survey, {"q": table})
    assert len(parameters.questions[0].pairs) <= 2 * size


# -- building ---------------------------------------------------------------


def test_the_two_homes_of_the_acknowledgement_agree():
    assert ACKNOWLEDGEMENTS == sampling_plan.ACKNOWLEDGEMENTS


def test_sampling_privacy_without_acknowledgement_is_not_written():
    survey, mechanisms = every_mechanism()
    plan = mechanisms["sampled"]
    mechanisms["sampled"] = sampling_plan.SamplingPlan(plan.design, "round-two")
    with pytest.raises(InputError, match="acknowledged"):
        parameters_from_mechanisms(survey, mechanisms)


@pytest.mark.parametrize(
    ("mechanism", "error", "reason"),
    [
        (GeneralizedRandomizedResponse(1.01, 5), VerificationError, "realises"),
        (GeneralizedRandomizedResponse(1.0, 6), InputError, "items"),
        (UnaryMechanism.oue(1.01, 5), VerificationError, "break the policy"),
        (BiSampleMD(1.0, NumericDomain(0, 1)), InputError, "domain"),
        ("idue", InputError, "can be deployed"),
    ],
)
def test_a_mechanism_that_does_not_fit_its_question(mechanism, error, reason):
    survey = Survey("s", 10, (Question("q", LEVELS),))
    with pytest.raises(error, match=reason):
        parameters_from_mechanisms(survey, {"q": mechanism})


def test_item_sets_need_the_rule_min():
    question = Question("q", LEVELS, "avg")
    padded = PaddedUnaryMechanism(UnaryMechanism(solve(question.policy)), 2)
    with pytest.raises(InputError, match="min"):
        parameters_from_mechanisms(Survey("s", 10, (question,)), {"q": padded})


def test_mechanisms_must_be_one_for_each_question():
    survey, mechanisms = every_mechanism()
    del mechanisms["grr"]
    with pytest.raises(InputError, match="mechanisms"):
        parameters_from_mechanisms(survey, mechanisms)


def test_writing_refuses_another_hash(parameters, tmp_path):
    altered = parameters.model_copy(update={"users": 7})
    with pytest.raises(InputError, match="hash"):
        write_parameters(tmp_path / "x.json", altered)
    assert not list(tmp_path.iterdir())


# -- reading is strict ---------------------------------------------------------


def changed(document, path, value):
    """A sealed copy with one value replaced (or, with ..., removed)."""
    copied = copy.deepcopy(document)
    place = copied
    for key in path[:-1]:
        place = place[key]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return sealed(copied)


def index(document, name):
    return [question["name"] for question in document["questions"]].index(name)


CASES = [
    ("idue", ("levels", 0, "a"), 2**32, "less than"),
    ("idue", ("levels", 0, "a"), 1.0, "valid integer"),
    ("idue", ("levels", 0, "b"), GRID - 1, "below a"),
    ("idue", ("levels", 0, "item_count"), 2, "item_count"),
    ("idue", ("levels", 0, "items"), ["flu"], "distinct item names"),
    ("idue", ("levels", 0, "name"), "common", "distinct level names"),
    ("idue", ("levels", 0, "epsilon"), 51.0, "less than or equal to 50"),
    ("idue", ("mechanism",), "other", "expected tags"),
    ("idue", ("rule",), "max", "rule"),
    ("idue", ("denominator",), 2**31, "4294967296"),
    ("idue", ("extra",), 1, "Extra inputs"),
    ("idue", ("pairs",), ..., "required"),
    ("matrix", ("rule", 0, 1), 2.0, "symmetric"),
    ("sets", ("rule",), "avg", "'min'"),
    ("sets", ("padding_length",), 0, "greater than or equal to 1"),
    ("grr", ("name",), "idue", "appears twice"),
    ("olh", ("hash_function",), "md5", "xxh32"),
    ("subset", ("size",), 5, "size"),
    ("age", ("lower",), 90.0, "above lower"),
    ("sampled", ("guarantee", "acknowledged"), "yes", "acknowledged"),
    ("sampled", ("guarantee", "linkable_epsilon"), 1.0, "infinite"),
]


@pytest.mark.parametrize(("name", "path", "value", "reason"), CASES, ids=str)
def test_wrong_form_is_refused_with_the_reason(document, name, path, value, reason):
    altered = changed(document, ("questions", index(document, name), *path), value)
    with pytest.raises(FileError, match=reason):
        parse_parameters(json.dumps(altered))


NOT_PRIVATE = [
    ("idue", ("levels", 1, "a"), 3 * 10**9, "Levels 'severe' and 'common' realise"),
    ("avg", ("levels", 0, "epsilon"), 0.5, "realise"),
    ("grr", ("truth",), 3 * 10**9, "realises"),
    ("olh", ("values",), 30, "realises"),
    ("subset", ("held",), GRID - 1, "realises"),
    ("subset", ("held",), 1, "more often"),
    ("age", ("low",), 100, "realises"),
    ("sampled", ("decoys", 0), 1, "parts in total"),
    ("sampled", ("none_epsilon",), 0.5, "none of the values"),
    ("idue", ("estimator", "offsets", 0), 0.5, "estimator"),
    ("idue", ("pairs", 0, "realised"), 0.5, "pairs"),
]


@pytest.mark.parametrize(("name", "path", "value", "reason"), NOT_PRIVATE, ids=str)
def test_what_does_not_verify_is_refused(document, name, path, value, reason):
    altered = changed(document, ("questions", index(document, name), *path), value)
    with pytest.raises(VerificationError, match=reason):
        parse_parameters(json.dumps(altered))
    if path[0] not in ("estimator", "pairs"):  # a client reads neither
        with pytest.raises(VerificationError, match=reason):
            Client(altered)


def test_unknown_version_and_keys_at_the_top(document):
    for change in ({"version": 3}, {"extra": 1}, {"users": True}, {"created": "today"}):
        with pytest.raises(FileError):
            parse_parameters(json.dumps(sealed(document | change)))


# -- fifty thousand mutated files --------------------------------------------------

ODD = [0, 1, -1, 2**31, GRID - 1, GRID, 2**64, 0.5, 1.0, -0.0, 1e300, 49.9, 50, 51, True, False]
ODD += [None, "", "min", "avg", "idue", "grr", [], {}, [[1.0]], "é", "x" * 300]


def paths_of(value, prefix=()):
    """Every place in a document."""
    yield prefix
    children = value.items() if isinstance(value, dict) else enumerate(value)
    for key, child in children:
        if isinstance(child, dict | list):
            yield from paths_of(child, (*prefix, key))
        else:
            yield (*prefix, key)


def mutated(document, places, rng):
    """One change at a random place: another value, a nudge, a copy from elsewhere, or a loss."""
    copied = json.loads(document)
    *way, key = places[rng.integers(len(places))]
    place = copied
    for step in way:
        place = place[step]
    kind = rng.integers(5)
    if kind == 0:
        place[key] = ODD[rng.integers(len(ODD))]
    elif kind == 1:
        if isinstance(place, list):
            place.append(copy.deepcopy(place[key]))
        else:
            place["extra"] = place.pop(key)
    elif kind == 2:
        del place[key]
    elif type(place[key]) is int:
        place[key] += int(rng.choice([-(10**6), -1, 1, 10**6]))
    elif type(place[key]) is float:
        place[key] *= float(rng.choice([0.5, 1 - 1e-9, 1 + 1e-9, 2]))
    else:
        place[key] = ODD[rng.integers(len(ODD))]
    return sealed(copied)


def garbled(text, rng):
    """Bytes flipped, cut out, doubled or cut off; the hash is left as it was."""
    data = bytearray(text)
    start, end = sorted(rng.integers(len(data), size=2))
    kind = rng.integers(4)
    if kind == 0:
        data[start] = rng.integers(256)
    elif kind == 1:
        del data[start : start + 1 + end % 7]
    elif kind == 2:
        data[start:start] = data[start : start + 1 + end % 7]
    else:
        del data[start:]
    return bytes(data)


def breach(question):
    """By how much a question's worst pair exceeds its budget, by plain floating point."""
    mechanism = question["mechanism"]
    if mechanism == "bisample-md":
        return math.log((GRID - question["low"]) / question["low"]) - question["epsilon"]
    levels = question["levels"]
    epsilons = [level["epsilon"] for level in levels]
    if mechanism == "sampling-privacy":
        spread = [
            e for level, e in zip(levels, epsilons, strict=True) for _ in range(level["item_count"])
        ]
        losses = [math.log1p(question["sampling"] / decoy) for decoy in question["decoys"]]
        worst = max(loss - e for loss, e in zip(losses, spread, strict=True))
        if question["everyone_has_value"]:
            return worst
        zero = math.log1p(question["sampling"] / question["zero"])
        return max(worst, zero - question["none_epsilon"])
    size, items = len(levels), sum(level["item_count"] for level in levels)
    rule = question["rule"]
    if isinstance(rule, list):
        rule = [[math.inf if entry is None else entry for entry in row] for row in rule]
    budgets = [[demanded_budget(epsilons, rule, i, j) for j in range(size)] for i in range(size)]
    if mechanism in ("idue", "idue-ps"):
        ones = [math.log(level["a"] / level["b"]) for level in levels]
        zeros = [math.log((GRID - level["b"]) / (GRID - level["a"])) for level in levels]
        pairs = [(i, j) for i in range(size) for j in range(size)]
        return max(ones[i] + zeros[j] - budgets[i][j] for i, j in pairs)
    if mechanism == "subset-selection":
        held, d = question["held"] / GRID, question["size"]
        loss = math.log(held / (1 - held) * (items - d) / d)
    else:
        truth, values = question["truth"] / GRID, question.get("values", items)
        loss = math.log(truth * values / (1 - truth) + 1)
    return loss - min(map(min, budgets))


def read_anyhow(data):
    """Parameters, or None if they are refused by a named error."""
    try:
        return parse_parameters(data)
    except PlannerError:
        return None


def singles(document):
    """The document's questions, one file for each."""
    return [
        sealed(document | {"questions": [question]}) for question in document["questions"]
    ]  # fmt: skip


@pytest.mark.parametrize("which", range(12))
def test_mutated_files_are_refused_or_private(document, which):
    """12 x 2,200 documents changed and sealed again: no crash, nothing that is not private."""
    rng = np.random.default_rng(1000 + which)
    text = json.dumps(singles(document)[which])
    places = [path for path in paths_of(json.loads(text)) if path and path[0] != "hash"]
    accepted = 0
    for i in range(2200):
        altered = mutated(text, places, rng)
        parameters = read_anyhow(json.dumps(altered))
        if parameters is not None:
            accepted += 1
            parameters.verify()
            assert all(breach(question) <= 1e-12 for question in altered["questions"])
        if i % 10 == 0:  # the client's own reader is no more gullible where it looks
            try:
                Client(altered)
            except PlannerError:
                assert parameters is None
            else:
                assert all(breach(question) <= 1e-12 for question in altered["questions"])
    assert 0 < accepted < 2200  # names and predictions may change, little else


@pytest.mark.parametrize("version", [1, 2])
def test_garbled_files_are_refused_or_private(document, version):
    """2 x 11,800 files with damaged bytes; version 1 has no hash to betray the damage."""
    rng = np.random.default_rng(version)
    text = json.dumps(singles(document)[0], separators=(",", ":")).encode()
    if version == 1:
        text = (FILES / "version1.json").read_bytes()
    accepted = 0
    for _ in range(11_800):
        data = garbled(text, rng)
        parameters = read_anyhow(data)
        if parameters is not None:
            accepted += data != text
            assert all(breach(question) <= 1e-12 for question in json.loads(data)["questions"])
    assert accepted > 0 if version == 1 else accepted < 100  # a 17th digit may change nothing


def test_the_oracle_sees_a_breach(document):
    """The independent check above rejects what is wrong by a millionth."""
    for single in singles(document):
        question = copy.deepcopy(single["questions"][0])
        assert breach(question) <= 0
        key = "epsilon"
        for level in question.get("levels", [question]):
            level[key] *= 0.5
        if isinstance(question.get("rule"), list):
            question["rule"] = [[entry / 2 for entry in row] for row in question["rule"]]
        assert breach(question) > 1e-6
