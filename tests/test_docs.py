"""What the documentation shows comes true; ``python -m tests.documents PAGE.md`` mends outputs."""

import ast
import json
import re
from functools import cache

import pytest
import typer

from planner.cli.commands import app
from tests import notebooks
from tests.documents import FENCE, ROOT, play
from tests.imports import MODULES, tree_of

DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = [
    "README.md",
    *sorted(page.relative_to(ROOT).as_posix() for page in DOCS.rglob("*.md")),
]


@pytest.mark.usefixtures("counting_here")
@pytest.mark.parametrize("name", PAGES)
def test_everything_on_the_page_comes_true(name, tmp_path):
    """Real draws: an honest audit is accused once in a million times.

    Of estimates nothing is said that fails more often than seven standard deviations (3e-12).
    """
    text = (ROOT / name).read_text()
    assert play(ROOT / name, tmp_path) == text


def test_a_wrong_output_would_be_seen(tmp_path):
    text = README.read_text()
    page = tmp_path / "wrong.md"
    assert text.count("\n$ ldp-planner ") >= 2
    page.write_text(text.replace("verified", "certified", 1))
    assert play(page, tmp_path) != page.read_text()


def test_a_wrong_example_would_be_seen(tmp_path):
    page = tmp_path / "wrong.md"
    page.write_text("```python\n>>> 1 + 1\n3\n\n```\n")
    with pytest.raises(AssertionError, match="Expected"):
        play(page, tmp_path)


def test_every_file_that_is_named_is_there():
    text = "".join((ROOT / name).read_text() for name in PAGES)
    for path in re.findall(r"`((?:[a-z_]+/)+[\w.]+\.(?:py|mjs|toml))`", text):
        assert any((folder / path).exists() for folder in (ROOT, ROOT / "planner")), (
            path
        )


# A command of ours in a line, up to a pipe or the command of somebody else.
COMMAND = re.compile(r"ldp-planner ([a-z][a-z-]*)((?: (?!-- )[^\s|`]+)*)")
CODE = re.compile(r"`([^`\n]*--[^`\n]*)`")
OPTION = re.compile(r"(?<!\S)--[a-z][a-z-]*")
OF_THE_CLIENT = {"--lines", "--questions"}  # node.mjs takes these


@cache
def options_of_commands():
    """The options of each command, by its name."""
    options = {}
    for name, command in typer.main.get_command(app).commands.items():
        words = [word for parameter in command.params for word in parameter.opts]
        options[name] = {*words, "--help"}
    return options


def wrong_options(page):
    """Commands and options on a page that there are not, whether or not they are run."""
    options = options_of_commands()
    wrong = []
    for name, words in COMMAND.findall(page):
        if name not in options:
            wrong.append((name, ""))
        for option in OPTION.findall(words):
            if option not in options.get(name, ()):
                wrong.append((name, option))
    options_there = set().union(OF_THE_CLIENT, *options.values())
    for code in CODE.findall(page):
        wrong += [
            (code, option)
            for option in OPTION.findall(code)
            if option not in options_there
        ]
    return wrong


@pytest.mark.parametrize("name", PAGES)
def test_every_option_that_is_named_is_there(name):
    text = (ROOT / name).read_text()
    assert wrong_options(text) == []


def test_an_option_that_is_not_there_would_be_seen():
    page = "ldp-planner plan s.toml --outs p.json | ldp-planner verify p.json --json\n"
    assert wrong_options(page) == [("plan", "--outs")]
    assert wrong_options("`--cover 0.9`") == [("--cover 0.9", "--cover")]
    assert wrong_options("ldp-planner plans s.toml") == [("plans", "")]


def missing_lines(page):
    """Lines that a page's changes would find in a file, and that are not there.

    A change is a block of ``diff`` whose title is the file: what it leaves or takes away.
    """
    missing = []
    for block in FENCE.finditer(page):
        if block["kind"] != "diff":
            continue
        text = (ROOT / block["title"]).read_text(encoding="utf-8")
        for line in block["body"].splitlines():
            if line[0] != "+" and f"\n{line[1:]}\n" not in text:
                missing.append(line)
    return missing


def test_a_change_that_is_shown_fits_the_code_of_today():
    page = (DOCS / "first-change.md").read_text()
    assert page.count("```diff title=") == 4
    assert missing_lines(page) == []
    assert missing_lines(page.replace("nein non", "nine non")) != []


def test_examples_of_the_package_stand_under_their_heading():
    """Elsewhere the site reads them as text, and a list that they print as a link."""
    for path in MODULES.values():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                said = ast.get_docstring(node) or ""
                assert ">>>" not in said or "Examples\n--------\n" in said, (path, node)


# A row of the table of promises, and the tests that it names, in its last column.
PROMISE = re.compile(
    r"^\| (?!Promise|---)(?P<promise>[^|]+) \| (?P<tests>`tests/[^|]+) \|$", re.M
)


def test_every_promise_is_held_by_tests_that_exist():
    page = (DOCS / "threat-model.md").read_text()
    _, _, table = page.partition("## What is promised, and the test that holds it\n")
    table, _, _ = table.partition("\n## ")
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    promises = {}
    for row in PROMISE.finditer(table):
        promises[row["promise"]] = re.findall(r"`([^`]+)`", row["tests"])
    assert (
        len(promises) == len(rows) - 2
    )  # no row but the heading and its rule is of another form
    for name in (name for names in promises.values() for name in names):
        path = ROOT / name
        if path.is_dir():
            files = path.glob("*.py")
        else:
            files = [path]
        assert any(
            re.search(r"^    def test_|^def test_", file.read_text(), re.M)
            for file in files
        ), name


def seen(notebook):
    """What its cells show, in words and in numbers of three digits; what was drawn differs."""
    outputs = [
        output for cell in notebook["cells"] for output in cell.get("outputs", ())
    ]
    shown = [
        part for output in outputs for part in (output.get("data") or output).values()
    ]
    text = "".join(line for part in shown if isinstance(part, list) for line in part)
    text = re.sub(r"(?s:<svg.*?</svg>)|estimated .*", "", text)
    return re.sub(r"\d[\d,]*\.\d+(e-\d+)?|\de-\d+", lambda one: _rounded(one[0]), text)


def _rounded(number):
    value = float(number.replace(",", ""))
    if value > 1e-6:
        return f"{value:.3g}"
    return "0"


def test_the_notebook_shows_what_it_showed(tmp_path):
    path = DOCS / "tutorial.ipynb"
    text = path.read_text("utf-8")
    notebook = json.loads(text)
    again = notebooks.run(notebook, tmp_path)
    assert seen(again) == seen(notebook)
    text = path.read_text("utf-8")
    assert notebooks.text_of(notebook) == text
    assert "No report changes the odds" in seen(notebook)
    assert not re.search(
        r"https?://(?!www\.w3)|/(tmp|home|root|work)/", path.read_text("utf-8")
    )
