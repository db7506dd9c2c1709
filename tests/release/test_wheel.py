"""The wheel works outside the checkout: import, command, types, app.

The wheel is installed alone into an environment of its own; the libraries that it declares are
borrowed from the environment of the tests, which that environment sees as a plain folder of
modules (so the checkout, known to it by an editable install, stays out of sight).
"""

import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.browser.running import running_app
from tests.imports import imports_of

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def _run(*words, **settings):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(  # noqa: S603 - our own commands
        [str(word) for word in words],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
        **settings,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    _run(*build, "--wheel-dir", folder, ROOT, cwd=folder)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel):
    """The ``bin`` folder of an environment with the wheel."""
    home = wheel.parent / "environment"
    venv.create(home, with_pip=False)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)}))
    install = [sys.executable, "-m", "pip", "--python", home / "bin" / "python", "install"]
    _run(*install, "--quiet", "--no-deps", "--no-index", wheel, cwd=home)
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home / "bin"


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    tracked = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "planner").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in names if ".dist-info/" not in name} == tracked
    assert "planner/py.typed" in names


def test_import(installed, tmp_path):
    code = "import planner; print(planner.__file__); print(planner.solve.__module__)"
    file, module = _run(installed / "python", "-c", code, cwd=tmp_path).split()
    assert Path(file).is_relative_to(installed.parent)
    assert module == "planner.solvers.solving"


def test_command(installed, tmp_path):
    survey = ROOT / "examples" / "health.toml"
    command = installed / "ldp-planner"
    told = _run(command, "plan", survey, "--out", "p.json", cwd=tmp_path)
    assert "Parameters written to p.json and verified." in told
    told = _run(command, "verify", "p.json", cwd=tmp_path)
    assert "Every pair keeps its promised budget" in told


def test_types_are_shipped(installed, tmp_path):
    script = tmp_path / "uses.py"
    script.write_text("import planner\nreveal_type(planner.solve)\n")
    words = [sys.executable, "-m", "mypy", "--python-executable", installed / "python"]
    told = _run(*words, "--follow-imports", "silent", script, cwd=tmp_path)
    assert "planner.policy.policy.PrivacyPolicy" in told
    assert told.count("-> planner.solvers.answers.UnaryTable") == 1


def test_app(installed, tmp_path):
    command = (str(installed / "ldp-planner"), "app", "--no-browser", "--port")
    with running_app(tmp_path / "log", command, tmp_path) as address:
        assert address.startswith("http://127.0.0.1:")  # and it answered


def test_every_library_that_is_used_is_declared():
    """A library that is only there because another one needs it may go with any release."""
    extras = PROJECT["optional-dependencies"]
    requirements = (
        *PROJECT["dependencies"],
        *(one for name in ("cluster", "excel", "report") for one in extras[name]),
    )
    declared = {"pydantic-core"}  # a part of pydantic; dask[distributed]>=2025.1 names two
    for one in requirements:
        declared.update(re.findall(r"[a-z][a-z0-9-]*", re.split(r"[<>=]", one.lower())[0]))
    homes = packages_distributions()
    for path in [*(ROOT / "planner").rglob("*.py"), ROOT / "app.py"]:
        for name in {name.partition(".")[0] for name in imports_of(path)}:
            if name != "planner" and name not in sys.stdlib_module_names:
                sold_as = {home.lower().replace("_", "-") for home in homes.get(name, ())}
                assert sold_as & declared, f"{path} imports {name}: add it to pyproject.toml"
