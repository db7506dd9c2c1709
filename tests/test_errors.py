"""Errors arrive whole: from other processes, and for values that are missing or empty."""

import copy
import inspect
import pickle
from importlib import import_module
from pathlib import Path

import pytest

from planner.errors import FileError, InputError, PlannerError

PACKAGE = Path(__file__).parents[1] / "planner"


def all_errors():
    """Every class of error in the package, wherever it is defined."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if "Error)" in path.read_text() and "ui" not in path.parts:
            import_module(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts))
    found, waiting = [], [PlannerError]
    while waiting:
        kind = waiting.pop()
        found.append(kind)
        waiting += kind.__subclasses__()
    return sorted(set(found), key=lambda kind: kind.__qualname__)


def sample(kind):
    """An error of this class, with a value of its own for everything it needs."""
    if kind is PlannerError:
        return kind("a sentence")
    needed = [
        p for p in inspect.signature(kind).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD
    ]
    return kind(
        *[
            number if "int" in str(p.annotation) else f"text {number}"
            for number, p in enumerate(needed)
        ]
    )


@pytest.mark.parametrize("kind", all_errors(), ids=lambda kind: kind.__qualname__)
def test_errors_survive_pickling(kind):
    error = sample(kind)
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301 - our own
        assert type(again) is kind
        assert str(again) == str(error) != ""
        assert again.__dict__ == error.__dict__
        assert again.args == error.args


def test_there_are_errors_to_test():
    names = {kind.__name__ for kind in all_errors()}
    assert {"InputError", "FileError", "ConvergenceError", "PairViolation"} <= names


@pytest.mark.parametrize("value", ["", (), [], {}, b"", set()])
def test_what_is_empty_is_called_empty(value):
    message = str(InputError("questions", value, "one or more questions", "Add one."))
    assert message == "questions is empty but must be one or more questions. Add one."


def test_what_is_missing_is_called_missing():
    message = str(InputError("ledger", None, "given", "Name a file."))
    assert message == "ledger is missing but must be given. Name a file."
    assert str(InputError("users", 0, "at least 1")) == "users is 0 but must be at least 1."


def test_a_reason_is_said_as_it_is():
    error = InputError.because("checksum", "the file is not what was sealed", "Get it again.")
    assert str(error) == "the file is not what was sealed. Get it again."
    assert (error.argument, error.remedy) == ("checksum", "Get it again.")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301 - our own
    assert isinstance(FileError("a.json", "is damaged"), InputError)
