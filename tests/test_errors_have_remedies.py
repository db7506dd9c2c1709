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
WITHOUT: dict[str, int] = {
    "deployment/answer_file.py": 3,
    "deployment/bulk.py": 1,
    "deployment/client/canonical.py": 6,
    "deployment/client/client.py": 6,
    "deployment/client/drawing/answers.py": 5,
    "deployment/client/json_fields.py": 3,
    "deployment/client/laws/exact.py": 5,
    "deployment/client/laws/levels.py": 5,
    "deployment/client/mechanisms/design.py": 4,
    "deployment/client/mechanisms/item_sets.py": 1,
    "deployment/client/mechanisms/sampling.py": 1,
    "deployment/client/mechanisms/sign.py": 1,
    "deployment/client/mechanisms/subset.py": 1,
    "deployment/client/mechanisms/unary.py": 1,
    "deployment/client/schema.py": 3,
    "deployment/collecting/counting/collector.py": 1,
    "deployment/collecting/reports/lines.py": 8,
    "deployment/collecting/reports/parquet.py": 10,
    "deployment/collecting/reports/sealing.py": 2,
    "deployment/mechanisms/counting.py": 1,
    "deployment/mechanisms/design.py": 1,
    "deployment/mechanisms/item_sets.py": 1,
    "deployment/mechanisms/items.py": 1,
    "deployment/mechanisms/sign.py": 2,
    "deployment/mechanisms/subset.py": 1,
    "deployment/mechanisms/unary.py": 2,
    "deployment/parameter_file/building.py": 2,
    "deployment/parameter_file/parameters.py": 2,
    "deployment/parameter_file/vectors.py": 1,
    "planning/allocation/blocks.py": 2,
    "planning/allocation/goal.py": 3,
    "planning/allocation/plan.py": 1,
    "planning/answer_rate/best_budget.py": 2,
    "planning/answer_rate/model.py": 5,
    "planning/answer_rate/plan.py": 1,
    "planning/budgets.py": 1,
    "planning/channels/curve.py": 3,
    "planning/channels/means.py": 3,
    "planning/channels/ordered.py": 3,
    "planning/channels/populations.py": 3,
    "planning/datasets.py": 3,
    "planning/explain.py": 1,
    "planning/ledger.py": 1,
    "planning/misplacement.py": 2,
    "planning/padding.py": 1,
    "planning/pilot.py": 3,
    "planning/prediction.py": 5,
    "planning/relax.py": 1,
    "planning/sampling/curves.py": 3,
    "planning/sampling/design.py": 2,
    "planning/sampling/plan.py": 2,
    "planning/sampling/question.py": 5,
    "planning/sampling/totals.py": 1,
    "planning/sampling/views.py": 2,
    "planning/smallest_budgets.py": 3,
    "planning/targets.py": 1,
    "planning/whole_survey/question_blocks.py": 1,
    "solvers/certificate.py": 1,
    "solvers/channel/program.py": 3,
    "solvers/channel/solving.py": 1,
    "solvers/models.py": 1,
    "solvers/refine.py": 1,
    "solvers/slsqp_ab.py": 1,
    "solvers/solving.py": 3,
    "arguments.py": 6,
    "cli/deployment.py": 5,
    "cli/simulate.py": 1,
    "designs/channel.py": 6,
    "designs/table.py": 4,
    "estimates/channel.py": 3,
    "estimates/counts.py": 4,
    "estimates/means.py": 1,
    "estimates/ordered.py": 4,
    "files.py": 1,
    "mechanisms/aggregate.py": 4,
    "mechanisms/bernoulli.py": 2,
    "mechanisms/bisample.py": 2,
    "mechanisms/coins.py": 2,
    "mechanisms/forced_answer.py": 2,
    "mechanisms/frequency.py": 1,
    "mechanisms/hashing.py": 1,
    "mechanisms/inputs.py": 11,
    "mechanisms/itemsets.py": 3,
    "mechanisms/numeric.py": 3,
    "mechanisms/packed.py": 1,
    "mechanisms/padding.py": 1,
    "mechanisms/privkvm.py": 2,
    "mechanisms/sampled_attributes.py": 5,
    "mechanisms/sampling_privacy.py": 8,
    "mechanisms/subset.py": 2,
    "mechanisms/subset_design.py": 1,
    "mechanisms/typed_counts.py": 2,
    "mechanisms/unary.py": 2,
    "outsiders/auditing/audit.py": 4,
    "outsiders/auditing/boxes.py": 2,
    "outsiders/guessing/laws.py": 3,
    "outsiders/guessing/simulation.py": 1,
    "outsiders/poisoning.py": 2,
    "outsiders/shuffling/blanket.py": 7,
    "outsiders/shuffling/central.py": 3,
    "outsiders/shuffling/guarantee.py": 2,
    "outsiders/shuffling/mechanisms.py": 5,
    "policy/budget_text.py": 2,
    "policy/objective.py": 6,
    "policy/policy.py": 5,
    "survey/file.py": 3,
    "survey/kinds.py": 3,
    "survey/mistakes.py": 1,
    "survey/numeric_domain.py": 3,
    "survey/numeric_tables.py": 1,
    "survey/preferences/file.py": 2,
    "survey/preferences/observed.py": 3,
    "survey/questions.py": 17,
    "survey/set_model.py": 4,
    "survey/tables.py": 1,
    "survey/target.py": 2,
    "trial/audit/client.py": 4,
    "trial/audit/empirical.py": 3,
    "trial/audit/exact.py": 4,
    "trial/simulate.py": 4,
    "ui/draft/categorical.py": 1,
    "ui/draft/numeric.py": 1,
    "ui/draft/parts.py": 1,
    "ui/draft/sampled.py": 3,
    "ui/parts/cells.py": 2,
    "ui/parts/uploads.py": 1,
}


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
