"""What the documentation shows comes true; ``python -m tests.documents PAGE.md`` mends outputs."""

import ast
import json
import re

import pytest

from tests import notebooks
from tests.documents import FENCE, ROOT, play

DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = [
    "README.md",
    *sorted(page.relative_to(ROOT).as_posix() for page in DOCS.rglob("*.md")),
]


@pytest.mark.parametrize("name", PAGES)
def test_everything_on_the_page_comes_true(name, tmp_path):
    """Real draws: an honest audit is accused once in a million times.

    Of estimates nothing is said that fails more often than seven standard deviations (3e-12).
    """
    assert play(ROOT / name, tmp_path) == (ROOT / name).read_text()


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
        assert any((place / path).exists() for place in (ROOT, ROOT / "planner")), path


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
    assert missing_lines(page.replace('-    *("nein"', '-    *("nine"')) != []


def test_examples_of_the_package_stand_under_their_heading():
    """Elsewhere the site reads them as text, and a list that they print as a link."""
    for path in (ROOT / "planner").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
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
    found = {
        one["promise"]: re.findall(r"`([^`]+)`", one["tests"])
        for one in PROMISE.finditer(table)
    }
    assert (
        len(found) == len(rows) - 2
    )  # no row but the heading and its rule is of another form
    for name in (name for names in found.values() for name in names):
        path = ROOT / name
        files = path.glob("*.py") if path.is_dir() else [path]
        assert any(
            re.search(r"^    def test_|^def test_", file.read_text(), re.M)
            for file in files
        ), name


def seen(notebook):
    """What its cells show, in words and in numbers of three digits; what was drawn differs."""
    outputs = [one for cell in notebook["cells"] for one in cell.get("outputs", ())]
    shown = [part for one in outputs for part in (one.get("data") or one).values()]
    text = "".join(line for part in shown if isinstance(part, list) for line in part)
    text = re.sub(r"(?s:<svg.*?</svg>)|estimated .*", "", text)
    return re.sub(r"\d[\d,]*\.\d+(e-\d+)?|\de-\d+", lambda one: _rounded(one[0]), text)


def _rounded(number):
    value = float(number.replace(",", ""))
    return f"{value:.3g}" if value > 1e-6 else "0"


def test_the_notebook_shows_what_it_showed(tmp_path):
    path = DOCS / "tutorial.ipynb"
    told = json.loads(path.read_text("utf-8"))
    again = notebooks.run(told, tmp_path)
    assert seen(again) == seen(told)
    assert notebooks.text_of(told) == path.read_text("utf-8")
    assert "No report changes the odds" in seen(told)
    assert not re.search(
        r"https?://(?!www\.w3)|/(tmp|home|root|work)/", path.read_text("utf-8")
    )
