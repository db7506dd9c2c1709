"""The table of all speed figures: what it collects, and where it writes."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("all")


def test_every_module_offers_figures(bench):
    names = bench.modules()
    assert {"frequency", "numeric", "sampling", "solvers"} <= set(names)
    for name in names:
        text = (ROOT / "benchmarks" / f"{name}.py").read_text()
        assert "\ndef figures() -> list[Figure]:" in text


def test_table_goes_between_the_marks_or_into_the_docs(bench, tmp_path):
    from measure import Figure

    figures = [
        Figure("fast | one", "1 ms", "2 ms", True, "peer 5 ms: 5x", "limit 0.1 ms: 10%"),
        Figure("slow one", "3 ms", "2 ms", False),
        Figure("another", "4 ms"),
    ]
    text = bench.markdown({"speed": figures}, "a machine", 5e9)
    assert "| speed | fast / one | 1 ms | 2 ms: met | peer 5 ms: 5x | limit 0.1 ms: 10% |" in text
    assert "|  | slow one | 3 ms | 2 ms: **missed** |  |  |" in text
    assert "a machine; one core reads 5.0 GB/s" in text

    assert bench.write(text, tmp_path) == tmp_path / "docs" / "benchmark.md"
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{bench.BEGIN}\nold\n{bench.END}\nafter\n")
    assert bench.write(text, tmp_path) == readme
    assert bench.write(text, tmp_path) == readme  # again: nothing piles up
    written = readme.read_text()
    assert written.startswith("before\n<!-- benchmark: begin -->\n| |")
    assert written.endswith(", solvers.\n<!-- benchmark: end -->\nafter\n")
    assert "`make bench`. Not measured in it: app, app_in_browser, audits" in written
    whole = bench.markdown(dict.fromkeys(bench.modules(), figures), "a machine", 5e9)
    assert whole.endswith("Written by `make bench`.")
    assert "old" not in written
    assert written.count("slow one") == 1
