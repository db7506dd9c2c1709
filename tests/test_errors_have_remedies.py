"""Each error that is raised on purpose says what to do about it, at the place that raises it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PLANNER = Path(__file__).parents[1] / "planner"

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

# Files that still raise errors without a remedy, and how many. The list only ever gets shorter.
WITHOUT: dict[str, int] = {}


def _empty(remedy: ast.expr | None) -> bool:
    if isinstance(remedy, ast.IfExp):
        return _empty(remedy.body) or _empty(remedy.orelse)
    return remedy is None or (isinstance(remedy, ast.Constant) and not remedy.value)


def _without(source: str) -> Iterator[int]:
    """Lines that make an error without a remedy, or that let a caller leave it out."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            called = node.func
            name = getattr(called, "id", getattr(called, "attr", ""))
            if name in PLACES:
                named = [key.value for key in node.keywords if key.arg == "remedy"]
                if _empty(next(iter([*node.args[PLACES[name] :], *named]), None)):
                    yield node.lineno
        elif isinstance(node, ast.FunctionDef):
            arguments = [*node.args.posonlyargs, *node.args.args][::-1]
            defaults = [
                *zip(arguments, node.args.defaults[::-1], strict=False),
                *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True),
            ]
            for argument, default in defaults:
                if argument.arg == "remedy" and default is not None and _empty(default):
                    yield node.lineno


def test_every_error_has_a_remedy() -> None:
    lines = {
        str(path.relative_to(PLANNER)): list(_without(path.read_text(encoding="utf-8")))
        for path in sorted(PLANNER.rglob("*.py"))
        if path != PLANNER / "errors.py"
    }
    assert len(lines) > 100, "the walk missed the package"
    wrong = {name: seen for name, seen in lines.items() if len(seen) != WITHOUT.get(name, 0)}
    assert not wrong, "lines without a remedy, other than the list says"
    assert set(WITHOUT) <= set(lines), "the list names files that are gone"


@pytest.mark.parametrize(
    ("source", "missing"),
    [
        ("InputError('users', 0, 'above 0')", 1),
        ("InputError('users', 0, 'above 0', '')", 1),
        ("InputError('users', 0, 'above 0', 'Count them.')", 0),
        ("InputError('users', 0, 'above 0', remedy='Count them.')", 0),
        ("errors.InputError('users', 0, 'above 0', 'Count them.' if known else '')", 1),
        ("InputError.because('users', 'nobody is asked', '')", 1),
        ("FileError(path, 'it is empty')", 1),
        ("FileError(path, 'it is empty', hint)", 0),
        ("InfeasibleError('none fits')", 1),
        ("def check(value, remedy=''): pass", 1),
        ("def check(value, *, remedy=''): pass", 1),
        ("def check(value, remedy): pass", 0),
    ],
)
def test_a_missing_remedy_is_seen(source: str, missing: int) -> None:
    assert len(list(_without(source))) == missing
