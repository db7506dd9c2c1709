"""The documentation builds without a warning, and its pages need no other host to be read."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from tests.documents import ROOT

# Where a browser fetches from by itself; a link that a reader clicks is not among them.
MKDOCS = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", ".ci/mkdocs.yml"]
FETCHES = {"link": ("href",), "object": ("data",), "use": ("href",)}
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
        wanted = [value or "" for name, value in attrs if name in FETCHES.get(tag, OTHERS)]
        self.outside += [value for value in wanted if OUTSIDE.match(value)]


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
        text = (site / source.relative_to(ROOT / "docs").with_suffix(".html")).read_text()
        assert "arithmatex" not in text, f"{source.name}: a formula was not converted"
    convexity = (site / "theory" / "convexity.html").read_text()
    assert convexity.count("<math ") > 50


def test_no_page_fetches_from_another_host(site):
    pages = [*site.rglob("*.html"), *site.rglob("*.css")]
    assert len(pages) > 20
    for page in pages:
        assert Fetches(page.read_text()).outside == [], page.name


def test_an_outside_fetch_would_be_seen():
    for text in (
        '<script src="https://cdn.example/x.js"></script>',
        '<link rel="stylesheet" href="//fonts.example/css">',
        "<style>@import 'https://x.example/a.css';</style>",
        '<p style="background: url(http://x.example/a.png)">',
    ):
        assert Fetches(text).outside, text
