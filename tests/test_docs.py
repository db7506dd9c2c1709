"""What the documentation shows comes true; ``python -m tests.documents PAGE.md`` mends outputs."""

import pytest

from tests.documents import ROOT, play

DOCS = ROOT / "docs"
PAGES = sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))


@pytest.mark.parametrize("name", PAGES)
def test_everything_on_the_page_comes_true(name, tmp_path):
    assert play(DOCS / name, tmp_path) == (DOCS / name).read_text()


def test_a_wrong_example_would_be_seen(tmp_path):
    page = tmp_path / "wrong.md"
    page.write_text("```python\n>>> 1 + 1\n3\n\n```\n")
    with pytest.raises(AssertionError, match="Expected"):
        play(page, tmp_path)
