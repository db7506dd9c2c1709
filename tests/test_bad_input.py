"""Bad input is refused with the argument, the value and the allowed range, and writes nothing."""

import numpy as np
import pytest
from typer.testing import CliRunner

from planner import (
    InputError,
    PlannerError,
    PrivacyPolicy,
    baseline,
    best_design,
    solve,
)
from planner.arguments import whole_number
from planner.cli.commands import app
from tests.refusals import refused
from tests.surveys import GOOD

INF = float("inf")
NAN = float("nan")


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_whole_numbers_of_any_integer_type_are_taken(value):
    number = whole_number("users", value)
    assert number == 3
    assert type(number) is int


@pytest.mark.parametrize("value", [0, -1, 1.0, True, "3", None, NAN, 10**12 + 1, [3]])
def test_anything_else_is_refused(value):
    with refused("users"):
        whole_number("users", value)


@pytest.mark.parametrize("epsilon", [0, -0.0, -1, NAN, INF, -INF, 50.0001])
def test_budgets(epsilon):
    with pytest.raises(InputError) as caught:
        PrivacyPolicy([1.0, epsilon], [1, 1])
    refusal = f"epsilons[1] is {float(epsilon)!r} but must be a budget above 0 and at most 50. "
    why = (
        "A budget above 50 allows odds of more than 10^21 to 1, which protects nobody, "
    )
    assert str(caught.value).startswith(
        refusal + (why if epsilon > 50 else "Even the strictest")
    )


@pytest.mark.parametrize(
    "function", [solve, best_design, lambda policy: baseline(policy, "oue")]
)
def test_budgets_alone_are_no_policy(function):
    with refused("policy"):
        function([1, 2])


def test_a_policy_and_what_is_solved_are_shown_in_a_line():
    policy = PrivacyPolicy([1.0, 2.5], [3, 4], names=["a", "b"])
    assert repr(policy) == "PrivacyPolicy([1, 2.5], [3, 4], names=['a', 'b'])"
    many = repr(PrivacyPolicy(np.linspace(1, 2, 30), [1] * 30, "avg"))
    assert many.count("... 22 more") == 2
    assert many.endswith("rule='avg')")
    assert repr(solve(policy)).startswith(
        "<UnaryTable: opt0 (reduced): worst-case error 26.49"
    )


TWO = ([1.0, 2.0], [1, 1])
RULES = [
    "max",
    "",
    None,
    [[1.0]],
    [1.0, 2.0],
    [[1, 2], [INF, 1]],
    [[1, -2], [-2, 1]],
    [[0, 2], [2, 1]],
    [[1, NAN], [NAN, 1]],
    [[1, -INF], [-INF, 1]],
    [[1, 51], [51, 1]],
    [[1, INF], [INF, INF]],
]
NAMES = [["a"], "ab", ["a", "a"], ["a", ""], ["a", "\t"], ["a", 3]]
AGAINST = [
    ("one-sided", [1.0]),
    ("one-sided", [1.0, 0.0]),
    ("one-sided", [-1.0, 1.0]),
    ("one-sided", [NAN, 1.0]),
    ("one-sided", ["much", 1.0]),
    ("avg", [1.0, 1.0]),
    ([[1, 2], [2, 1]], [1.0, 1.0]),
]
POLICIES = [
    ([], []),
    ([[1.0]], [1]),
    (1.0, [1]),
    (["much"], [1]),
    ([True], [1]),
    ([None], [1]),
    ([1j], [1]),
    ([1.0, 2.0], [1]),
    ([1.0], [[1]]),
    ([1.0], ["1"]),
    ([1.0], [True]),
    ([1.0, 2.0], [2, True]),
    ([[1.0], [1.0, 2.0]], [1]),
    *[([1.0], [count]) for count in (0, -1, 1.5, NAN, INF, 10**12 + 1)],
]


@pytest.mark.parametrize(
    "arguments",
    [
        *POLICIES,
        *[(*TWO, rule) for rule in RULES],
        *[(*TWO, "min", names) for names in NAMES],
        *[(*TWO, rule, None, against) for rule, against in AGAINST],
    ],
)
def test_policies(arguments):
    with refused("against", "epsilons", "item_counts", "names", "rule"):
        keys = dict(zip(("names", "against"), arguments[3:], strict=False))
        PrivacyPolicy(*arguments[:3], **keys)


def test_messages_stay_short():
    with pytest.raises(InputError) as caught:
        PrivacyPolicy(["x"] * 1000, [1])
    assert len(str(caught.value)) < 150
    with refused("epsilons"):
        PrivacyPolicy(np.full(10**5, -1.0), np.ones(10**5))


BAD_FILES = {
    "is not valid TOML": "[survey",
    "large enough": GOOD.replace('"ln 4"', "1e-9"),
    "'RAPPOR' but must be one of best, sub": GOOD.replace(
        'rule = "min"', 'mechanism = "RAPPOR"'
    ),
}


@pytest.mark.parametrize("message", BAD_FILES)
@pytest.mark.parametrize("before", [None, "the old file"])
def test_nothing_is_written(message, before, tmp_path):
    survey = tmp_path / "survey.toml"
    out = tmp_path / "params.json"
    survey.write_text(BAD_FILES[message])
    if before is not None:
        out.write_text(before)
    words = ["plan", str(survey), "--out", str(out), "--force"]
    result = CliRunner().invoke(app, words)
    assert isinstance(result.exception, PlannerError)
    assert message in str(result.exception)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert (out.read_text() if out.exists() else None) == before
    assert {path.name for path in tmp_path.iterdir()} <= {"survey.toml", "params.json"}


def test_the_largest_budgets_are_planned_and_proven(tmp_path):
    # The proven least error is 0 in floating point here: it proves nothing, and says nothing.
    survey = tmp_path / "survey.toml"
    out = tmp_path / "params.json"
    largest = (
        GOOD.replace('"ln 4"', "50")
        .replace("1.2 * ln 6", "50")
        .replace("= 4\n", "= 1\n")
    )
    survey.write_text(largest)
    planned = CliRunner().invoke(
        app, ["plan", str(survey), "--details", "--out", str(out)]
    )
    assert planned.exit_code == 0
    assert "Proven" not in planned.stdout
    result = CliRunner().invoke(app, ["verify", str(out)])
    assert result.exit_code == 0
