"""Bad input is refused with the argument, the value and the allowed range, and writes nothing."""

import numpy as np
import pytest
from typer.testing import CliRunner

from planner import InputError, PlannerError, PrivacyPolicy, baseline, best_design, solve
from planner.arguments import whole_number
from planner.cli.commands import app
from tests.surveys import GOOD

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_whole_numbers_of_any_integer_type_are_taken(value):
    number = whole_number("users", value)
    assert (number, type(number)) == (3, int)


@pytest.mark.parametrize("value", [0, -1, 1.0, True, "3", None, NAN, 10**12 + 1, [3]])
def test_anything_else_is_refused(value):
    with pytest.raises(InputError, match=r"users is .* a whole number from 1 to 1000000000000"):
        whole_number("users", value)


@pytest.mark.parametrize("epsilon", [0, -0.0, -1, NAN, INF, -INF, 50.0001])
def test_budgets(epsilon):
    with pytest.raises(InputError) as caught:
        PrivacyPolicy([1.0, epsilon], [1, 1])
    refusal = f"epsilons[1] is {float(epsilon)!r} but must be a budget above 0 and at most 50. "
    why = "A budget above 50 allows odds of more than 10^21 to 1, which protects nobody, "
    assert str(caught.value).startswith(refusal + (why if epsilon > 50 else "Even the strictest"))


@pytest.mark.parametrize("function", [solve, best_design, lambda policy: baseline(policy, "oue")])
def test_budgets_alone_are_no_policy(function):
    with pytest.raises(InputError, match=r"policy is \[1, 2\] .* Write PrivacyPolicy\("):
        function([1, 2])


def test_a_policy_and_what_is_solved_are_shown_in_a_line():
    policy = PrivacyPolicy([1.0, 2.5], [3, 4], names=["a", "b"])
    assert repr(policy) == "PrivacyPolicy([1, 2.5], [3, 4], names=['a', 'b'])"
    many = repr(PrivacyPolicy(np.linspace(1, 2, 30), [1] * 30, "avg"))
    assert many.count("... 22 more") == 2
    assert many.endswith("rule='avg')")
    assert repr(solve(policy)).startswith("<UnaryTable: opt0 (reduced): worst-case error 26.49")


TWO = ([1.0, 2.0], [1, 1])
RULES = [
    ("max", 'rule is \'max\' but must be "min", "avg", "one-sided" or a matrix of'),
    ("", "rule is empty but"),
    (None, "rule is missing but must be a rectangular list of numbers"),
    ([[1.0]], r"rule is \(1, 1\) but must be a 2 x 2 matrix, one row per level"),
    ([1.0, 2.0], "a 2 x 2 matrix"),
    (
        [[1, 2], [INF, 1]],
        r"rule\[0\]\[1\] is 2.0 but must be inf, as rule\[1\]\[0\] is",
    ),
    ([[1, -2], [-2, 1]], r"rule\[0\]\[1\] is -2.0 but .* or inf .* Give inf where a pair"),
    ([[0, 2], [2, 1]], r"rule\[0\]\[0\] is 0.0"),
    ([[1, NAN], [NAN, 1]], r"rule\[0\]\[1\] is nan"),
    ([[1, -INF], [-INF, 1]], r"rule\[0\]\[1\] is -inf"),
    ([[1, 51], [51, 1]], r"rule\[0\]\[1\] is 51.0 .* protects nobody"),
    ([[1, INF], [INF, INF]], r"rule\[1\] is 'inf everywhere' but must be finite for at least one"),
]
NAMES = [
    (["a"], r"names is \['a'\] but must be a list of 2 names"),
    ("ab", "names is 'ab' but must be a list of 2 names"),
    (["a", "a"], "names is 'a' but must be different from every other level's name"),
    (["a", ""], "names is empty but must be text that is not blank"),
    (["a", "\t"], "text that is not blank"),
    (["a", 3], "names is 3 but must be text"),
]
AGAINST = [
    ("one-sided", [1.0], r"against is \[1.0\] but must be 2 budgets"),
    (
        "one-sided",
        [1.0, 0.0],
        r"against\[1\] is 0.0 but must be a budget above 0 .* needs a little",
    ),
    ("one-sided", [-1.0, 1.0], r"against\[0\] is -1.0"),
    ("one-sided", [NAN, 1.0], r"against\[0\] is nan"),
    ("one-sided", ["much", 1.0], r"against\[0\] is 'much' but must be a budget"),
    ("avg", [1.0, 1.0], 'against .* must be left out: only the rule "one-sided"'),
    ([[1, 2], [2, 1]], [1.0, 1.0], "against .* must be left out"),
]
COUNTS = r"item_counts\[0\] is .* a whole number from 1 to 1000000000000"
POLICIES = [
    ([], [], r"epsilons is empty but must be a list of one or more numbers. Add some."),
    ([[1.0]], [1], "epsilons is .* a list of one or more numbers"),
    (1.0, [1], "epsilons is 1.0 but must be a list"),
    (["much"], [1], r"epsilons\[0\] is 'much' but must be a budget .* such as 1.5, "),
    ([True], [1], r"epsilons is \[True\] but must be a list of numbers"),
    ([None], [1], "epsilons is .* a list of numbers"),
    ([1j], [1], "epsilons is .* a list of numbers"),
    ([1.0, 2.0], [1], r"item_counts is \[1\] but must be a list of 2 counts, one per level"),
    ([1.0], [[1]], "item_counts is .* a list of one or more numbers"),
    ([1.0], ["1"], "item_counts is .* a list of numbers"),
    ([1.0], [True], "item_counts is .* a list of numbers"),
    ([1.0, 2.0], [2, True], "item_counts is .* a list of numbers"),
    ([[1.0], [1.0, 2.0]], [1], "epsilons is .* a list of numbers"),
    *[([1.0], [count], COUNTS) for count in (0, -1, 1.5, NAN, INF, 10**12 + 1)],
]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *[((*row[:2],), row[2]) for row in POLICIES],
        *[((*TWO, rule), message) for rule, message in RULES],
        *[((*TWO, "min", names), message) for names, message in NAMES],
        *[((*TWO, rule, None, against), message) for rule, against, message in AGAINST],
    ],
)
def test_policies(arguments, message):
    with pytest.raises(InputError, match=message):
        PrivacyPolicy(
            *arguments[:3], **dict(zip(["names", "against"], arguments[3:], strict=False))
        )


def test_messages_stay_short():
    with pytest.raises(InputError) as caught:
        PrivacyPolicy(["x"] * 1000, [1])
    assert len(str(caught.value)) < 150
    with pytest.raises(InputError, match=r"^epsilons\[0\] is -1.0 .{,150}$"):
        PrivacyPolicy(np.full(10**5, -1.0), np.ones(10**5))


BAD_FILES = {
    "is not valid TOML": "[survey",
    "large enough": GOOD.replace('"ln 4"', "1e-9"),
    "'RAPPOR' but must be one of best, sub": GOOD.replace('rule = "min"', 'mechanism = "RAPPOR"'),
}


@pytest.mark.parametrize("message", BAD_FILES)
@pytest.mark.parametrize("before", [None, "the old file"])
def test_nothing_is_written(message, before, tmp_path):
    survey, out = tmp_path / "survey.toml", tmp_path / "params.json"
    survey.write_text(BAD_FILES[message])
    if before is not None:
        out.write_text(before)
    result = CliRunner().invoke(app, ["plan", str(survey), "--out", str(out)])
    assert isinstance(result.exception, PlannerError)
    assert message in str(result.exception)
    assert (result.exit_code, result.stdout) == (1, "")
    assert (out.read_text() if out.exists() else None) == before
    assert {path.name for path in tmp_path.iterdir()} <= {"survey.toml", "params.json"}


def test_the_largest_budgets_are_planned_and_proven(tmp_path):
    # The proven least error is 0 in floating point here: it proves nothing, and says nothing.
    survey, out = tmp_path / "survey.toml", tmp_path / "params.json"
    largest = GOOD.replace('"ln 4"', "50").replace("1.2 * ln 6", "50").replace("= 4\n", "= 1\n")
    survey.write_text(largest)
    planned = CliRunner().invoke(app, ["plan", str(survey), "--details", "--out", str(out)])
    assert planned.exit_code == 0
    assert "Proven" not in planned.stdout
    assert CliRunner().invoke(app, ["verify", str(out)]).exit_code == 0
