"""The bracket of a sum's positive part holds the exact value, and nothing one percent off."""

from fractions import Fraction
from itertools import product
from math import comb, factorial, inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.outsiders.positive_part import Bracket, log_positive_part, positive_part


def exact(masses, values, draws):
    """By listing how often each value is drawn."""
    chances, values = [*masses, 1 - sum(masses)], [*values, 0.0]
    total = 0.0
    for counts in product(range(draws + 1), repeat=len(masses)):
        if sum(counts) > draws:
            continue
        times = [*counts, draws - sum(counts)]
        ways = factorial(draws)
        for count in times:
            ways //= factorial(count)
        chance = ways * np.prod(np.power(chances, times))
        total += chance * max(0.0, float(np.dot(times, values)))
    return total


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.floats(0.01, 1), min_size=2, max_size=3),
    st.lists(st.integers(-50, 50), min_size=3, max_size=3),
    st.floats(0.05, 1),
    st.integers(1, 12),
)
def test_the_bracket_holds_the_exact_value(masses, values, share, draws):
    masses = np.array(masses) / sum(masses) * share * (1 - 1e-12)
    values = np.array(values[: masses.size]) / 10.0
    bracket = positive_part(masses, values, draws)
    true = exact(masses, values, draws)
    assert bracket.lower * (1 - 1e-12) <= true <= bracket.upper * (1 + 1e-12)
    assert bracket.width <= 0.01 or bracket.upper < 1e-300
    if true > 1e-200:
        assert not bracket.lower <= true * 1.01 <= bracket.upper


@pytest.mark.parametrize("draws", [10, 1000, 10**5, 10**7])
def test_symmetric_coins(draws):
    """``E[S+]`` of a symmetric walk of an even number of steps is ``n/2 C(n, n/2) / 2^n``."""
    bracket = positive_part(np.array([0.5, 0.5]), np.array([1.0, -1.0]), draws)
    ratios = np.arange(1, draws // 2 + 1)
    true = draws / 2 * np.exp(np.sum(np.log1p(-1 / (2 * ratios))))
    assert bracket.lower <= true <= bracket.upper
    assert bracket.width < 0.005


def test_far_tails_keep_their_digits():
    """A binomial's tail of 1e-80, where convolution by Fourier would give noise."""
    n, p, away = 3000, 0.1, 600
    values = np.array([1 - away / n, -away / n])
    bracket = positive_part(np.array([p, 1 - p]), values, n)
    ways = range(away + 1, 900)
    true = float(sum(Fraction(comb(n, k) * 9 ** (n - k) * (k - away), 10**n) for k in ways))
    assert true < 1e-50
    assert bracket.lower <= true * (1 + 1e-9)
    assert true * (1 - 1e-9) <= bracket.upper
    assert bracket.width < 0.01


def test_rare_large_draws_alone():
    """Where two of them at once hardly happen the sum is that of single draws."""
    bracket = positive_part(np.array([1e-12, 0.5]), np.array([1e6, -1e-9]), 1000)
    assert bracket.lower <= 1e-3 * (1 - 1e-15) <= bracket.upper * (1 + 1e-9)
    assert bracket.width < 0.01


def test_nothing_above_zero():
    values = np.array([-1.0, 0.0])
    assert positive_part(np.array([0.5, 0.5]), values, 7) == Bracket(0.0, 0.0)
    assert log_positive_part(np.array([0.5, 0.5]), values, 7) == -inf
    assert Bracket(0.0, 1.0).width == inf
    assert Bracket(0.0, 0.0).width == 0


@pytest.mark.parametrize("draws", [5, 100, 1000])
def test_the_approximation_is_near(draws):
    masses, values = np.array([0.3, 0.4]), np.array([1.0, -1.5])
    true = np.log(positive_part(masses, values, draws).upper)
    assert abs(log_positive_part(masses, values, draws) - true) < 0.2
