"""The wheel, the speed figures, the container and the site.

The wheel works outside the checkout: import, command, types, app. It is installed alone into an
environment of its own; the libraries that it declares are borrowed from the environment of the
tests, which that environment sees as a plain folder of modules (so the checkout, known to it by an
editable install, stays out of sight).
"""

import importlib
import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from html.parser import HTMLParser
from importlib.metadata import packages_distributions
from pathlib import Path

import numpy as np
import pytest
import typer

from planner.cli.commands import app
from planner.errors import InputError
from tests.browser.running import running_app
from tests.cli.running import invoke
from tests.documents import ROOT
from tests.imports import imports_of

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def _run(*words, **settings):
    environment = {}
    for k, v in os.environ.items():
        if not k.startswith("PYTHON"):
            environment[k] = v
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
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
    ]
    _run(*build, "--wheel-dir", folder, ROOT, cwd=folder)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel):
    """The ``bin`` folder of an environment with the wheel."""
    home = wheel.parent / "environment"
    venv.create(home, with_pip=False)
    site = Path(
        sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)})
    )
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        home / "bin" / "python",
        "install",
    ]
    _run(*install, "--quiet", "--no-deps", "--no-index", wheel, cwd=home)
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home / "bin"


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    files = [path for path in (ROOT / "planner").rglob("*") if path.is_file()]
    tracked = {
        str(path.relative_to(ROOT)) for path in files if "__pycache__" not in path.parts
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
    done = _run(command, "plan", survey, "--out", "p.json", cwd=tmp_path)
    assert "Parameters written to p.json and verified." in done
    done = _run(command, "verify", "p.json", cwd=tmp_path)
    assert "Every pair keeps its promised budget" in done


def test_types_are_shipped(installed, tmp_path):
    script = tmp_path / "uses.py"
    script.write_text("import planner\nreveal_type(planner.solve)\n")
    words = [sys.executable, "-m", "mypy", "--python-executable", installed / "python"]
    done = _run(*words, "--follow-imports", "silent", script, cwd=tmp_path)
    assert "planner.policy.policy.PrivacyPolicy" in done
    assert done.count("-> planner.solvers.answers.UnaryTable") == 1


def test_app(installed, tmp_path):
    command = (str(installed / "ldp-planner"), "app", "--no-browser", "--port")
    with running_app(tmp_path / "log", command, tmp_path) as address:
        assert address.startswith("http://127.0.0.1:")  # and it answered


def test_every_library_that_is_used_is_declared():
    """A library that is only there because another one needs it may go with any release."""
    extras = PROJECT["optional-dependencies"]
    requirements = (
        *PROJECT["dependencies"],
        *(extra for name in ("cluster", "excel", "report") for extra in extras[name]),
    )
    declared = {
        "pydantic-core"
    }  # a part of pydantic; dask[distributed]>=2025.1 names two
    for requirement in requirements:
        declared.update(
            re.findall(r"[a-z][a-z0-9-]*", re.split(r"[<>=]", requirement.lower())[0])
        )
    homes = packages_distributions()
    for path in [*(ROOT / "planner").rglob("*.py"), ROOT / "app.py"]:
        for name in {name.partition(".")[0] for name in imports_of(path)}:
            if name != "planner" and name not in sys.stdlib_module_names:
                sold_as = {
                    home.lower().replace("_", "-") for home in homes.get(name, ())
                }
                assert sold_as & declared, (
                    f"{path} imports {name}: add it to pyproject.toml"
                )


# -- the table of all speed figures: what it collects, and where it writes ---------------


ROOT = Path(__file__).parents[2]


def test_rivals_of_one_sided_budgets_are_as_published(monkeypatch):
    """Private to the last digit, unbiased; a formula agrees with its law; no error below ours."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    rivals = importlib.import_module("one_sided")
    e = 1.5
    s = 3
    n = 4
    law, estimator = rivals.high_low_law(e, s, n)
    expected = np.ones(s + n)
    assert law.sum(axis=1) == pytest.approx(expected)
    expected = np.eye(s + n)
    assert law @ estimator.T == pytest.approx(expected, abs=1e-12)
    sent = law[
        :, law[:s].max(axis=0) > 0
    ]  # what sensitive answers send, everybody does
    expected = np.exp(e)
    assert (sent[:s].max(axis=0) / sent.min(axis=0)).max() == pytest.approx(expected)
    kept = np.vstack([np.eye(s) * np.expm1(e) + 1, np.ones((n, s))]) / (s + np.expm1(e))
    law = np.hstack(
        [kept, np.vstack([np.zeros((s, n)), np.eye(n)]) * (1 - kept[-1].sum())]
    )
    squares = np.square(np.linalg.inv(law)).sum(axis=1)
    expected = (law @ squares).max() - 1
    assert rivals.urr(e, s) == pytest.approx(expected)
    assert rivals.two_levels().met


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("all")


def test_every_module_offers_figures(bench):
    names = bench.modules()
    assert {"frequency", "numeric", "sampling", "solvers"} <= set(names)
    for name in names:
        assert callable(importlib.import_module(name).figures), name


def test_the_table_says_what_failed_and_what_was_cut(bench):
    from measure import Figure, rows

    def broken():
        raise RuntimeError("no peer")

    figures = [
        Figure(
            "fast | one", "1 ms", "2 ms", True, "peer 5 ms: 5x", "limit 0.1 ms: 10%"
        ),
        *rows(lambda: Figure("slow one", "3 ms", "2 ms", False), broken),
        *rows(broken, ours=False),
    ]
    text = bench.markdown({"speed": figures}, "a machine", 5e9, 3.2)
    assert (
        "| **speed** fast / one | 1 ms; 2 ms: met | peer 5 ms: 5x; limit 0.1 ms: 10% |"
        in text
    )
    assert "| slow one | 3 ms; 2 ms: **missed** |  |" in text
    assert "| broken | failed; runs: **missed** | RuntimeError: no peer |" in text
    assert "| broken | failed | RuntimeError: no peer |" in text
    assert "One run of 3 minutes on: a machine; one core reads 5.0 GB/s" in text
    assert "**Cut: not measured in it: app, app_in_browser" in text
    whole = bench.markdown(
        dict.fromkeys(bench.modules(), figures), "a machine", 5e9, 3.2
    )
    assert "Cut" not in whole


# -- what can be said of the container unbuilt: who runs it, what goes in, what it calls --


ROOT = Path(__file__).parents[2]
LINES = [
    line
    for line in (ROOT / "Dockerfile").read_text().splitlines()
    if line and not line.startswith("#")
]


def said(word):
    return [
        line.removeprefix(f"{word} ") for line in LINES if line.startswith(f"{word} ")
    ]


def test_it_is_run_by_a_user_without_rights_who_was_made_before():
    (user,) = said("USER")
    index = next(
        k for k, line in enumerate(LINES) if "useradd" in line and line.endswith(user)
    )
    used = LINES.index(f"USER {user}")
    assert index < used < LINES.index(f"ENTRYPOINT {said('ENTRYPOINT')[0]}")
    assert user not in ("root", "0")
    assert not any(line.startswith("RUN") for line in LINES[used:])


def test_what_is_copied_exists_and_nothing_else_can_be():
    copied = [word for line in said("COPY") for word in line.split()[:-1]]
    assert all((ROOT / name).exists() for name in copied)
    text = (ROOT / ".dockerignore").read_text()
    ignored = text.split()
    assert ignored[0] == "*"
    assert {word.removeprefix("!") for word in ignored if word.startswith("!")} == set(
        copied
    )


def test_it_holds_no_secret():
    text = "\n".join(LINES).lower()
    assert not re.search(
        r"\b(arg|env|add)\b|password|token|secret|https?://(?!127\.0\.0\.1)", text
    )


def test_what_it_calls_exists():
    document = json.loads(said("ENTRYPOINT")[0])
    assert document == ["ldp-planner"]
    assert 'ldp-planner = "planner.cli:main"' in (ROOT / "pyproject.toml").read_text()
    name, *options = json.loads(said("CMD")[0])
    commands = typer.main.get_command(app).commands
    assert {"aggregate", name} <= set(commands)
    documented = {
        text
        for param in commands[name].params
        for text in (*param.opts, *param.secondary_opts)
    }
    assert {word for word in options if word.startswith("--")} <= documented
    assert int(said("EXPOSE")[0]) == next(
        param.default for param in commands[name].params if param.name == "port"
    )


def test_the_app_listens_on_this_machine_unless_told(monkeypatch):
    called = []
    monkeypatch.setattr("os.execv", lambda _, words: called.append(words))
    invoke("app", "--no-browser")
    invoke("app", "--no-browser", "--address", "0.0.0.0")  # noqa: S104 - in a container
    assert [words[-1] for words in called] == ["127.0.0.1", "0.0.0.0"]  # noqa: S104
    result = invoke("app", "--address", "example")
    assert isinstance(result.exception, InputError)
    assert "address is 'example' but must be an IP address" in str(result.exception)
    assert len(called) == 2


# -- the documentation builds without a warning, and its pages need no other host to be read --


# Where a browser fetches from by itself; a link that a reader clicks is not among them.
MKDOCS = [
    sys.executable,
    "-m",
    "mkdocs",
    "build",
    "--strict",
    "--config-file",
    ".ci/mkdocs.yml",
]
FETCHES = {
    "link": ("href",),
    "object": ("data",),
    "use": ("href",),
}
OTHERS = ("src", "srcset")
OUTSIDE = re.compile(r"^\s*(?:[a-z]+:)?//", re.IGNORECASE)
IN_STYLE = re.compile(
    r"(?:url\(\s*[\"']?|@import\s+[\"'])\s*((?:[a-z]+:)?//[^\"')\s]+)", re.IGNORECASE
)


class Fetches(HTMLParser):
    """Collects every address outside that a page makes the browser fetch."""

    def __init__(self, text):
        super().__init__()
        self.outside = IN_STYLE.findall(text)
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        fetched = [
            value or "" for name, value in attrs if name in FETCHES.get(tag, OTHERS)
        ]
        self.outside += [value for value in fetched if OUTSIDE.match(value)]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(  # noqa: S603
        [*MKDOCS, "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_built_and_formulas_are_mathml(site):
    for source in (ROOT / "docs").rglob("*.md"):
        text = (
            site / source.relative_to(ROOT / "docs").with_suffix(".html")
        ).read_text()
        assert "arithmatex" not in text, f"{source.name}: a formula was not converted"
    convexity = (site / "theory" / "convexity.html").read_text()
    assert convexity.count("<math ") > 50


def test_no_page_fetches_from_another_host(site):
    pages = [*site.rglob("*.html"), *site.rglob("*.css")]
    assert len(pages) > 20
    for page in pages:
        text = page.read_text()
        assert Fetches(text).outside == [], page.name


def test_an_outside_fetch_would_be_seen():
    for text in (
        '<script src="https://cdn.example/x.js"></script>',
        '<link rel="stylesheet" href="//fonts.example/css">',
        "<style>@import 'https://x.example/a.css';</style>",
        '<p style="background: url(http://x.example/a.png)">',
    ):
        assert Fetches(text).outside, text
