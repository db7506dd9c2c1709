import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_figures_run(monkeypatch, capsys):
    monkeypatch.syspath_prepend(ROOT / "examples")
    monkeypatch.setattr(sys, "argv", ["bisample_figures.py", "no such file"])
    figures = __import__("bisample_figures")
    try:
        monkeypatch.setattr(figures, "USERS", 5000)
        figures.main(repeats=2)
    finally:
        del sys.modules["bisample_figures"]
    printed = capsys.readouterr().out
    for title in ("EXP", "GAUSS", "UNIFORM", "Figure 5", "Figure 6"):
        assert title in printed
    assert printed.count("PrivKVM") == 5
    assert "ADULT" not in printed
