"""The table of all speed figures: what it collects, and where it writes."""

import importlib
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


def test_rivals_of_one_sided_budgets_are_as_published(monkeypatch):
    """Private to the last digit, unbiased; a formula agrees with its law; no error below ours."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    rivals = importlib.import_module("one_sided")
    e, s, n = 1.5, 3, 4
    law, estimator = rivals.high_low_law(e, s, n)
    assert law.sum(axis=1) == pytest.approx(np.ones(s + n))
    assert law @ estimator.T == pytest.approx(np.eye(s + n), abs=1e-12)
    sent = law[:, law[:s].max(axis=0) > 0]  # what sensitive answers send, everybody does
    assert (sent[:s].max(axis=0) / sent.min(axis=0)).max() == pytest.approx(np.exp(e))
    kept = np.vstack([np.eye(s) * np.expm1(e) + 1, np.ones((n, s))]) / (s + np.expm1(e))
    law = np.hstack([kept, np.vstack([np.zeros((s, n)), np.eye(n)]) * (1 - kept[-1].sum())])
    squares = np.square(np.linalg.inv(law)).sum(axis=1)
    assert rivals.urr(e, s) == pytest.approx((law @ squares).max() - 1)
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
        Figure("fast | one", "1 ms", "2 ms", True, "peer 5 ms: 5x", "limit 0.1 ms: 10%"),
        *rows(lambda: Figure("slow one", "3 ms", "2 ms", False), broken),
        *rows(broken, ours=False),
    ]
    text = bench.markdown({"speed": figures}, "a machine", 5e9, 3.2)
    assert "| **speed** fast / one | 1 ms; 2 ms: met | peer 5 ms: 5x; limit 0.1 ms: 10% |" in text
    assert "| slow one | 3 ms; 2 ms: **missed** |  |" in text
    assert "| broken | failed; runs: **missed** | RuntimeError: no peer |" in text
    assert "| broken | failed | RuntimeError: no peer |" in text
    assert "One run of 3 minutes on: a machine; one core reads 5.0 GB/s" in text
    assert "**Cut: not measured in it: app, app_in_browser" in text
    whole = bench.markdown(dict.fromkeys(bench.modules(), figures), "a machine", 5e9, 3.2)
    assert "Cut" not in whole
