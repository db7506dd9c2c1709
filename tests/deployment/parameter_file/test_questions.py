"""The questions of a file, strictly: the form of each, and the budgets that it promises."""

import json
import math
from fractions import Fraction

import jsonschema
import pytest

from planner.deployment import Client
from planner.deployment.client.laws.bounds import exp_lower_bound
from planner.deployment.parameter_file.parameters import json_schema, parse_parameters
from planner.errors import FileError, VerificationError
from tests.deployment.bad_files import changed
from tests.deployment.examples import FILES, sealed

GRID = 2**32


def test_schema_describes_the_files(document):
    schema = json.loads(json_schema())
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(document)
    validator.validate(json.loads((FILES / "version2.json").read_text()))
    for change in ({"version": 4}, {"extra": 1}, {"questions": []}, {"users": 0}):
        assert not validator.is_valid(document | change)


def test_realised_budgets_are_upper_bounds_and_kept(parameters):
    for question in parameters.questions:
        for pair in question.pairs:
            assert pair.realised <= pair.demanded
        # Nor are they idle: the tightest pair comes close to its budget.
        gaps = [pair.demanded - pair.realised for pair in question.pairs]
        assert min(gaps) < 0.65, question.name


def test_pair_budgets_of_unary_tables_against_fractions(parameters):
    question = parameters.question("avg")
    for pair in question.pairs:
        levels = question.document["levels"]
        i, j = levels[pair.first], levels[pair.second]
        ratios = [
            Fraction(x["a"] * (GRID - y["b"]), x["b"] * (GRID - y["a"]))
            for x, y in ((i, j), (j, i))
        ]
        exact = max(map(float, ratios))
        assert 0 <= pair.realised - math.log(exact) < 1e-14
        assert max(ratios) <= exp_lower_bound(pair.realised)  # really an upper bound


# -- reading is strict ---------------------------------------------------------


CASES = [
    ("idue", ("levels", 0, "a"), 2**32, "from 1 to 4294967295"),
    ("idue", ("levels", 0, "a"), 1.5, "a whole number"),
    ("idue", ("levels", 0, "b"), GRID - 1, "below a"),
    ("idue", ("levels", 0, "item_count"), 2, "item_count"),
    ("idue", ("levels", 0, "items"), ["flu"], "two items have the same name"),
    ("idue", ("levels", 0, "name"), "common", "two levels have the same name"),
    ("idue", ("levels", 0, "epsilon"), 51.0, "above 0 and at most 50"),
    ("idue", ("mechanism",), "other", "one of 'idue', "),
    ("idue", ("rule",), "max", "rule"),
    ("idue", ("denominator",), 2**31, "4294967296"),
    ("idue", ("extra",), 1, "key of question 'idue' is 'extra'"),
    ("idue", ("pairs",), ..., "pairs .* is missing"),
    ("matrix", ("rule", 0, 1), 2.0, "symmetric"),
    ("sets", ("rule",), "avg", "'min'"),
    ("sets", ("padding_length",), 0, "from 1 to 1048576"),
    ("grr", ("name",), "idue", "appears twice"),
    ("olh", ("hash_function",), "md5", "xxh32"),
    ("subset", ("size",), 5, "size"),
    ("age", ("lower",), 90.0, "above lower"),
    ("sampled", ("guarantee", "acknowledged"), "yes", "acknowledged"),
    ("sampled", ("guarantee", "linkable_epsilon"), 1.0, "infinite"),
]


@pytest.mark.parametrize(("name", "path", "value", "reason"), CASES, ids=str)
def test_wrong_form_is_refused_with_the_reason(document, name, path, value, reason):
    altered = changed(document, name, path, value)
    with pytest.raises(FileError, match=reason):
        parse_parameters(json.dumps(altered))


NOT_PRIVATE = [
    ("idue", ("levels", 1, "a"), 3 * 10**9, "Levels 'severe' and 'common' realise"),
    ("avg", ("levels", 1, "a"), 4 * 10**9, "realise"),
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
    altered = changed(document, name, path, value)
    with pytest.raises(VerificationError, match=reason):
        parse_parameters(json.dumps(altered))
    with pytest.raises(VerificationError, match=reason):
        Client(altered)


def test_unknown_version_and_keys_at_the_top(document):
    for change in ({"version": 4}, {"extra": 1}, {"users": True}, {"created": "today"}):
        with pytest.raises(FileError):
            parse_parameters(json.dumps(sealed(document | change)))
