"""Bad input is refused with the argument, the value and the allowed range, and writes nothing."""

import math

import numpy as np
import pytest
from typer.testing import CliRunner

from planner import (
    FileError,
    InputError,
    PlannerError,
    PrivacyPolicy,
    SolverError,
    baseline,
    best_design,
    solve,
)
from planner.cli.commands import app
from tests.surveys import GOOD

INF, NAN = math.inf, math.nan


@pytest.mark.parametrize("epsilon", [0, 0.0, -0.0, -1, NAN, INF, -INF, 50.0001, 51])
def test_budgets(epsilon):
    with pytest.raises(InputError) as caught:
        PrivacyPolicy([1.0, epsilon], [1, 1])
    message = str(caught.value)
    refusal = f"epsilons[1] is {float(epsilon)!r} but must be a budget above 0 and at most 50. "
    why = "A budget above 50 allows odds of more than 10^21 to 1, which protects nobody, "
    assert message.startswith(refusal + why if epsilon > 50 else refusal + "Even the strictest")
    assert caught.value.argument == "epsilons[1]"
    assert caught.value.value is not None
    assert caught.value.remedy


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


@pytest.mark.parametrize("count", [0, -1, 1.5, NAN, INF, 10**12 + 1])
def test_counts(count):
    with pytest.raises(
        InputError, match=r"item_counts\[0\] is .* a whole number from 1 to 1000000000000"
    ):
        PrivacyPolicy([1.0], [count])


@pytest.mark.parametrize(
    ("epsilons", "counts", "message"),
    [
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
        ([[1.0], [1.0, 2.0]], [1], "epsilons is .* a list of numbers"),
    ],
)
def test_shapes_and_types(epsilons, counts, message):
    with pytest.raises(InputError, match=message):
        PrivacyPolicy(epsilons, counts)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("max", 'rule is \'max\' but must be "min", "avg" or a matrix of pair budgets'),
        ("", "rule is empty but"),
        (None, "rule is missing but must be a rectangular list of numbers"),
        ([[1.0]], r"rule is \(1, 1\) but must be a 2 x 2 matrix, one row per level"),
        ([1.0, 2.0], "a 2 x 2 matrix"),
        (
            [[1, 2], [2.5, 1]],
            r"rule\[0\]\[1\] is 2.0 but must be equal to rule\[1\]\[0\], which is 2.5",
        ),
        (
            [[1, -2], [-2, 1]],
            r"rule\[0\]\[1\] is -2.0 but must be a budget above 0 and at most 50, or inf",
        ),
        ([[0, 2], [2, 1]], r"rule\[0\]\[0\] is 0.0"),
        ([[1, NAN], [NAN, 1]], r"rule\[0\]\[1\] is nan"),
        ([[1, -INF], [-INF, 1]], r"rule\[0\]\[1\] is -inf"),
        ([[1, 51], [51, 1]], r"rule\[0\]\[1\] is 51.0 .* protects nobody"),
        (
            [[1, INF], [INF, INF]],
            r"rule\[1\] is 'inf everywhere' but must be finite for at least one",
        ),
        ([[INF, INF], [INF, INF]], r"rule\[0\] is 'inf everywhere'"),
    ],
)
def test_rules(rule, message):
    with pytest.raises(InputError, match=message):
        PrivacyPolicy([1.0, 2.0], [1, 1], rule)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a"], r"names is \['a'\] but must be a list of 2 names"),
        ("ab", "names is 'ab' but must be a list of 2 names"),
        (["a", "a"], "names is 'a' but must be different from every other level's name"),
        (["a", ""], "names is empty but must be text that is not blank"),
        (["a", "\t"], "text that is not blank"),
        (["a", 3], "names is 3 but must be text"),
    ],
)
def test_names(names, message):
    with pytest.raises(InputError, match=message):
        PrivacyPolicy([1.0, 2.0], [1, 1], names=names)


def test_messages_stay_short():
    with pytest.raises(InputError) as caught:
        PrivacyPolicy(["x"] * 1000, [1])
    assert len(str(caught.value)) < 150
    with pytest.raises(InputError) as caught:
        PrivacyPolicy(np.full(10**5, -1.0), np.ones(10**5))
    assert "epsilons[0]" in str(caught.value)


def test_the_tree_of_errors():
    assert issubclass(InputError, PlannerError)
    assert issubclass(InputError, ValueError)
    assert issubclass(FileError, InputError)
    assert issubclass(SolverError, PlannerError)
    assert not issubclass(SolverError, ValueError)


BAD_FILES = {
    "toml": "[survey",
    "key": GOOD.replace("epsilon", "epsilom"),
    "epsilon": GOOD.replace('"ln 4"', "0"),
    "count": GOOD.replace("item_count = 4", "item_count = 0"),
    "level": GOOD.replace('"common"', '"severe"'),
    "item": GOOD.replace("item_count = 4", 'items = ["HIV"]'),
    "rule": GOOD.replace('"min"', '"max"'),
    "grid": GOOD.replace('"ln 4"', "1e-9"),
}


@pytest.mark.parametrize("name", BAD_FILES)
@pytest.mark.parametrize("before", [None, "the old file"])
def test_nothing_is_written(name, before, tmp_path):
    survey, out = tmp_path / "survey.toml", tmp_path / "params.json"
    survey.write_text(BAD_FILES[name])
    if before is not None:
        out.write_text(before)
    result = CliRunner().invoke(app, ["plan", str(survey), "--out", str(out)])
    assert result.exit_code != 0
    assert isinstance(result.exception, PlannerError)
    assert result.stdout == ""
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


@pytest.mark.parametrize("model", ["opt3", "RAPPOR"])
def test_an_unknown_model_writes_nothing(model, tmp_path):
    survey, out = tmp_path / "survey.toml", tmp_path / "params.json"
    survey.write_text(GOOD)
    call = ["plan", str(survey), "--model", model, "--out", str(out)]
    result = CliRunner().invoke(app, call)
    assert result.exit_code != 0
    assert str(result.exception).startswith(
        f"mechanism of question 'diagnosis' is {model!r} but must be one of best, subset-design, "
        "opt0, opt1, opt2"
    )
    assert not out.exists()
