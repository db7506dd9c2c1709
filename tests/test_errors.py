"""Errors arrive whole, from other processes too, and each says what to do about it."""

from __future__ import annotations

import ast
import copy
import inspect
import pickle
from importlib import import_module
from pathlib import Path

import pytest

from planner.errors import FileError, InputError, PlannerError, SolverError

PACKAGE = Path(__file__).parents[1] / "planner"

# Where the remedy stands among the arguments. A VerificationError has one of its own, unless told.
PLACES = {
    "InputError": 3,
    "because": 2,
    "FileError": 2,
    "SolverError": 1,
    "InfeasibleError": 1,
    "UnboundedError": 1,
    "ConvergenceError": 1,
}


def all_errors():
    """Every class of error in the package, wherever it is defined."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if "Error)" in path.read_text() and "ui" not in path.parts:
            import_module(
                ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
            )
    errors = []
    waiting = [PlannerError]
    while waiting:
        errors.append(waiting.pop())
        waiting += errors[-1].__subclasses__()
    return sorted(set(errors), key=lambda kind: kind.__qualname__)


@pytest.mark.parametrize("kind", all_errors(), ids=lambda kind: kind.__qualname__)
def test_errors_survive_pickling(kind):
    if kind is not PlannerError:
        needed = inspect.signature(kind).parameters.values()
    else:
        needed = ()
    needed = [p for p in needed if p.kind is p.POSITIONAL_OR_KEYWORD]
    values = [
        k if "int" in str(p.annotation) else f"text {k}" for k, p in enumerate(needed)
    ]
    error = kind(*values or ["a sentence"])
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301 - our own
        assert type(again) is kind
        assert str(again) == str(error) != ""
        assert again.__dict__ == error.__dict__
        assert again.args == error.args


def test_the_tree_of_errors():
    names = {kind.__name__ for kind in all_errors()}
    assert {"InputError", "FileError", "ConvergenceError", "PairViolation"} <= names
    assert InputError.__bases__ == (PlannerError, ValueError)
    assert FileError.__bases__ == (InputError,)
    assert SolverError.__bases__ == (PlannerError,)


@pytest.mark.parametrize("value", [None, "", (), [], {}, b"", set()])
def test_what_is_missing_or_empty_is_called_so(value):
    message = str(InputError("questions", value, "one or more questions", "Add one."))
    if value is None:
        what = "missing"
    else:
        what = "empty"
    assert message == f"questions is {what} but must be one or more questions. Add one."


def missing_remedies(source: str) -> list[int]:
    """Lines that make an error without a remedy, or that let a caller leave it out."""

    def empty(remedy: ast.expr | None) -> bool:
        if isinstance(remedy, ast.IfExp):
            return empty(remedy.body) or empty(remedy.orelse)
        return remedy is None or (isinstance(remedy, ast.Constant) and not remedy.value)

    lines = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            named = [key.value for key in node.keywords if key.arg == "remedy"]
            if name in PLACES and empty(
                next(iter([*node.args[PLACES[name] :], *named]), None)
            ):
                lines.append(node.lineno)
        elif isinstance(node, ast.FunctionDef):
            arguments = node.args
            given = [*arguments.posonlyargs, *arguments.args][::-1]
            defaults = [*zip(given, arguments.defaults[::-1], strict=False)]
            defaults += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
            lines += [
                node.lineno for a, d in defaults if a.arg == "remedy" and d and empty(d)
            ]
    return lines


def test_every_error_has_a_remedy() -> None:
    paths = [path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "errors.py"]
    assert len(paths) > 100, "the walk missed the package"
    lines = {
        str(path): missing_remedies(path.read_text(encoding="utf-8")) for path in paths
    }
    assert {path: hits for path, hits in lines.items() if hits} == {}


@pytest.mark.parametrize(
    ("source", "missing"),
    [
        ("InputError('users', 0, 'above 0')", 1),
        ("InputError('users', 0, 'above 0', '')", 1),
        ("InputError('users', 0, 'above 0', remedy='Count them.')", 0),
        ("errors.InputError('users', 0, 'above 0', 'Count them.' if known else '')", 1),
        ("InputError.because('users', 'nobody is asked', '')", 1),
        ("FileError(path, 'it is empty', hint)", 0),
        ("InfeasibleError('none fits')", 1),
        ("def check(value, remedy=''): pass", 1),
        ("def check(value, *, remedy=''): pass", 1),
        ("def check(value, remedy): pass", 0),
    ],
)
def test_a_missing_remedy_is_seen(source: str, missing: int) -> None:
    assert len(missing_remedies(source)) == missing
