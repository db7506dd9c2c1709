"""Everything that the README shows comes true; ``python -m tests.documents README.md`` mends it."""

from tests.documents import ROOT, play

README = ROOT / "README.md"


def test_readme_shows_commands():
    assert README.read_text().count("\n$ ldp-planner ") >= 2


def test_everything_in_the_readme_comes_true(tmp_path):
    assert play(README, tmp_path) == README.read_text()


def test_a_wrong_output_would_be_seen(tmp_path):
    text = README.read_text()
    page = tmp_path / "wrong.md"
    page.write_text(text.replace("verified", "certified", 1))
    assert play(page, tmp_path) != page.read_text()
