import sys
from math import log
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data" / "breast-cancer.csv"
needs_data = pytest.mark.skipif(not DATA.exists(), reason=f"{DATA.name} is not in ../shared/data")


@pytest.fixture
def figures(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "examples")
    yield __import__("sampling_privacy_figures")
    del sys.modules["sampling_privacy_figures"]


def test_figure_3(figures):
    assert figures.COINS.privacy_loss() == pytest.approx(log(21), rel=1e-12)
    assert figures.coin_losses([0.2]) == pytest.approx([log(21)], rel=1e-12)
    losses = figures.sampling_losses([0.1, 0.3, 0.5])
    assert losses == pytest.approx([log(5.5), log(2.5), log(1.9)], abs=1e-8)


@needs_data
@pytest.mark.parametrize(("column", "groups"), [("age", 6), ("tumour size", 11)])
def test_figures_4_to_7(figures, column, groups):
    counts = figures.group_counts(DATA, figures.COLUMNS[column])
    assert len(counts) == groups
    assert sum(counts.values()) == 286
    small, large = figures.errors(counts, 286), figures.errors(counts, 10_000)
    for a, b in zip(small, large, strict=True):
        assert (
            a.sampling
            == b.sampling
            == pytest.approx(1.96 * (a.patients * 0.55 / 0.45) ** 0.5, 1e-4)
        )
        # .84 of Yes and .04 of No say Yes: the error grows with the No people
        no_noise, yes_noise = 0.04 * 0.96 / 0.64, 0.84 * 0.16 / 0.64
        for row, n in ((a, 286), (b, 10_000)):
            variance = row.patients * yes_noise + (n - row.patients) * no_noise
            assert row.coins == pytest.approx(1.96 * variance**0.5, 1e-4)
        assert b.coins > 4 * a.coins
        assert b.coins > 2 * b.sampling


@needs_data
def test_the_script_runs_and_its_claims_hold(figures, capsys):
    figures.main(DATA)
    printed = capsys.readouterr().out
    assert printed.count("holds: the error of Sampling Privacy is constant.") == 2
    assert "INFINITE" in printed
