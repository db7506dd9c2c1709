"""The published and derived figures of IDUE, to every digit given."""

from math import log

import numpy as np
import pytest

from examples.reproduction.literal import solve_literal
from planner import PrivacyPolicy, baseline, solve

METHODS = ("auto", "reduced", "slsqp", "conic", "literal")
TABLE_2 = PrivacyPolicy([log(4), log(6)], [1, 4])
BY_BUDGET = {
    0.5: 1015.294,
    1.0: 239.723,
    1.5: 97.236,
    2.0: 48.490,
    2.5: 26.897,
    3.0: 15.934,
    3.5: 9.890,
    4.0: 6.369,
}
BOXED = {
    0.5: 1019.235,
    1.0: 243.146,
    1.5: 99.919,
    2.0: 50.357,
    2.5: 28.021,
    3.0: 16.490,
    3.5: 10.090,
    4.0: 6.401,
}


def solved(policy, method):
    return solve_literal(policy) if method == "literal" else solve(policy, method=method)


def browsing(budget):
    return PrivacyPolicy(np.multiply(budget, [1, 1.2, 2]), [5, 5, 90])


@pytest.mark.parametrize("method", METHODS)
def test_table_2(method):
    table = solved(TABLE_2, method)
    assert table.worst_case_mse == pytest.approx(8.567495463, abs=5e-10)
    np.testing.assert_allclose(table.a, [0.592049, 0.672999], rtol=0, atol=6e-7)
    np.testing.assert_allclose(table.b, [0.327001, 0.277563], rtol=0, atol=6e-7)
    assert table.certificate.relative_gap <= (1e-6 if method == "literal" else 1e-9)


def test_table_2_baselines():
    assert baseline(TABLE_2, "rappor").worst_case_mse == pytest.approx(10, abs=1e-9)
    assert baseline(TABLE_2, "oue").worst_case_mse == pytest.approx(5 * 16 / 9 + 1, abs=1e-9)


@pytest.mark.parametrize("model", ["rappor", "oue"])
def test_baselines_protect_every_pair_like_the_most_sensitive(model):
    plain = baseline(browsing(1.0), model)
    assert np.unique(plain.a).size == np.unique(plain.b).size == 1
    s, w = np.log(plain.a / plain.b), np.log((1 - plain.b) / (1 - plain.a))
    np.testing.assert_allclose(s + w, 1.0, rtol=1e-12)
    assert plain.certificate is None
    assert plain.max_violation == 0.0
    rarest = PrivacyPolicy([1, 2], [2, 2], [[np.inf, 0.5], [0.5, 3]])
    assert baseline(rarest, model).max_violation == 0.0


@pytest.mark.parametrize("method", METHODS)
def test_three_levels_at_one(method):
    table = solved(browsing(1.0), method)
    assert table.worst_case_mse == pytest.approx(239.72296, abs=5e-6)
    np.testing.assert_allclose(table.a, [0.408807, 0.525578, 0.599823], rtol=0, atol=6e-7)
    np.testing.assert_allclose(table.b, [0.273971, 0.288380, 0.270990], rtol=0, atol=6e-7)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("budget", "error"), BY_BUDGET.items())
def test_three_levels(method, budget, error):
    table = solved(browsing(budget), method)
    assert table.worst_case_mse == pytest.approx(error, abs=5.001e-4)
    assert table.max_violation == 0.0


@pytest.mark.parametrize(("budget", "error"), BOXED.items())
def test_the_papers_box(budget, error):
    table = solve_literal(browsing(budget), box=True)
    assert table.worst_case_mse == pytest.approx(error, abs=5.001e-4)
    assert table.a.min() >= 0.5 - 1e-15  # (a, b) pass through their log-odds
    assert table.b.max() <= 0.5 + 1e-15
    assert table.max_violation == 0.0
    cost = table.worst_case_mse / BY_BUDGET[budget] - 1
    assert 0.002 < cost < 0.045  # up to 4 %
    assert table.certificate.lower_bound <= solve(browsing(budget)).worst_case_mse
