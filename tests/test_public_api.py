"""Names that scripts outside this repository rely on."""

import ast
import inspect
import pydoc
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import planner
import planner.deployment
from planner import Certificate, PrivacyPolicy, UnaryTable, baseline, solve

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (PrivacyPolicy, "epsilons item_counts rule='min' names=None against=None"),
        (solve, "policy model='opt0' method='auto' objective='worst-case'"),
    ],
)
def test_arguments_keep_their_names_order_and_defaults(function, given):
    parameters = inspect.signature(function).parameters.values()
    said = (
        p.name if p.default is p.empty else f"{p.name}={p.default!r}"
        for p in parameters
    )
    assert " ".join(said) == given


@pytest.mark.parametrize("method", ["auto", "reduced", "slsqp", "conic"])
def test_a_table_has_the_fixed_names(method):
    policy = PrivacyPolicy([1.0, 2.0], [1, 2])
    table = solve(policy, method=method)
    assert isinstance(table, UnaryTable)
    assert table.policy is policy
    for column in (table.a, table.b, table.shadow_prices):
        assert isinstance(column, np.ndarray)
        assert column.shape == (2,)
        assert column.dtype == np.float64
    assert type(table.worst_case_mse) is float
    assert type(table.saturation_epsilon) is float
    assert table.model == "opt0"
    assert table.method == ("reduced" if method == "auto" else method)
    assert isinstance(table.certificate, Certificate)
    assert table.certificate.over == "tables"
    for name in ("lower_bound", "relative_gap"):
        assert type(getattr(table.certificate, name)) is float


def test_baselines_are_tables_too():
    policy = PrivacyPolicy([1.0, 2.0], [1, 2])
    table = baseline(policy, "oue")
    assert isinstance(table, UnaryTable)
    assert table.model == "oue"
    assert table.certificate is None
    assert table.shadow_prices is None


@pytest.mark.parametrize("package", [planner, planner.deployment])
def test_all_names_of_the_stub_load(package):
    """The stub is the one table: every line of it names what its module has."""
    text = Path(package.__file__).with_suffix(".pyi").read_text()
    tree = ast.parse(text)
    seen = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("planner."):
            for alias in node.names:
                seen[alias.name] = node.module
    assert len(seen) > 5
    assert set(seen) <= set(dir(package))
    for name, module in seen.items():
        assert getattr(package, name) is getattr(import_module(module), name)
        assert getattr(package, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = package.nonsense


def test_help_fits_a_screen_and_begins_with_what_one_does_first():
    lines = pydoc.plain(pydoc.render_doc(planner)).splitlines()
    assert len(lines) <= 60
    assert any("plan_survey(" in line for line in lines[:14])


def test_a_survey_is_planned_from_its_file_and_nothing_else_by_mistake():
    path = ROOT / "examples" / "health.toml"
    plan = planner.plan_survey(path)
    assert plan.survey == planner.load_survey(path)
    plan = planner.plan_survey(str(path))
    assert plan.survey.name
    with pytest.raises(
        planner.InputError, match=r"survey is .int. but must be a Survey.*plan_surv"
    ):
        planner.plan_survey(3)


def test_budgets_are_written_as_in_files():
    policy = PrivacyPolicy(["ln 3", 1, "2 * ln 2"], [1, 2, 3])
    expected = [np.log(3), 1.0, 2 * np.log(2)]
    assert policy.epsilons.tolist() == expected


HEAVY = (
    "cvxpy",
    "streamlit",
    "scipy",
    "plotly",
    "pydantic",
    "typer",
    "rich",
    "pandas",
    "dask",
)


def _loaded_by(code):
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_importing_the_package_stays_light():
    assert not _loaded_by("import planner").intersection(HEAVY)


def test_a_reduced_plan_never_loads_the_modelling_language():
    code = "import planner; planner.solve(planner.PrivacyPolicy([1.0, 2.0], [1, 2]))"
    assert not _loaded_by(code).intersection(("cvxpy", "streamlit", "plotly"))


def test_the_command_line_starts_without_solvers():
    code = "import planner.cli.commands"
    assert not _loaded_by(code).intersection(("numpy", "scipy", "cvxpy", "streamlit"))
