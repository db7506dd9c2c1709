from itertools import pairwise, product
from math import exp

import numpy as np
import pytest

from planner.errors import InputError
from planner.mechanisms.sampling_privacy import SamplingPrivacy
from planner.planning.sampled_views import (
    difference_delta,
    exchange_delta,
    smallest_epsilon,
    totals_delta_bound,
    totals_delta_exact,
)
from tests.planning.sampling.exact_laws import EPSILONS, binomial, hockey_stick, totals


@pytest.mark.parametrize("others", [0, 1, 5, 40, 200])
@pytest.mark.parametrize("sampling", [0.05, 0.45, 0.9])
def test_difference_against_fractions(others, sampling):
    p, q = binomial(others, sampling), binomial(others + 1, sampling)
    for epsilon in EPSILONS:
        truth = hockey_stick(p, q, epsilon)
        found = difference_delta(others, sampling, epsilon)
        assert truth <= found <= truth * (1 + 1e-9)


@pytest.mark.parametrize(("epsilon", "window"), [(0.0005, 30_000), (0.001, 30_000)])
def test_difference_of_ten_million_against_scipy(epsilon, window):
    from scipy.stats import binom

    k, s = 10**7, 0.45
    x = np.arange(int(k * s) - window, int(k * s) + window)
    p, q = binom.pmf(x, k, s), binom.pmf(x, k + 1, s)
    found = difference_delta(k, s, epsilon)
    assert found == pytest.approx(np.maximum(q - exp(epsilon) * p, 0).sum(), rel=1e-5)
    assert np.maximum(p - exp(epsilon) * q, 0).sum() <= found


def test_difference_is_stable_far_in_the_tail():
    deltas = [difference_delta(10**7, 0.45, e) for e in np.linspace(0, 0.01, 50)]
    assert all(0 < later < former for former, later in pairwise(deltas))
    assert deltas[-1] < 1e-200


@pytest.mark.parametrize("others", [0, 3, 30])
def test_more_people_never_hurt(others):
    for epsilon in EPSILONS:
        assert difference_delta(others + 1, 0.4, epsilon) <= difference_delta(others, 0.4, epsilon)
        more = exchange_delta(others + 1, 4, 0.4, epsilon)
        assert more <= exchange_delta(others, 4, 0.4, epsilon) * (1 + 1e-9)
        args = 0.3, 0.4, epsilon
        few = totals_delta_exact(others, 7, *args) * (1 + 1e-9)
        assert totals_delta_exact(others + 1, 7, *args) <= few
        assert totals_delta_exact(others, 8, *args) <= few


@pytest.mark.parametrize(("leaving", "joining"), [(0, 0), (0, 9), (9, 0), (7, 12), (30, 25)])
def test_exchange_against_fractions(leaving, joining):
    sampling = 0.375
    laws = [binomial(size, sampling) for size in (leaving, leaving + 1, joining, joining + 1)]
    p = {(x, y): a * b for (x, a), (y, b) in product(laws[1].items(), laws[2].items())}
    q = {(x, y): a * b for (x, a), (y, b) in product(laws[0].items(), laws[3].items())}
    for epsilon in EPSILONS:
        truth = hockey_stick(p, q, epsilon)
        assert truth <= exchange_delta(leaving, joining, sampling, epsilon) <= truth + 1e-9


def test_with_a_value_for_everyone_round_one_adds_nothing():
    """Exact law of all totals against the exact law of the differences."""
    mechanism = SamplingPrivacy(0.25, 0.25, [0.125, 0.375], everyone_has_value=True)
    p, q = totals(mechanism, [1, 1, 2, 2, 1]), totals(mechanism, [1, 1, 2, 2, 2])
    for epsilon in EPSILONS:
        truth = hockey_stick(p, q, epsilon)
        assert truth <= exchange_delta(2, 2, 0.25, epsilon) <= truth + 1e-9


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: difference_delta(-1, 0.5, 1), "others"),
        (lambda: difference_delta(10**7 + 1, 0.5, 1), "others"),
        (lambda: difference_delta(1.5, 0.5, 1), "others"),
        (lambda: difference_delta(5, 0, 1), "sampling"),
        (lambda: difference_delta(5, float("nan"), 1), "sampling"),
        (lambda: exchange_delta(5, 5, 0.5, -1), "epsilon"),
        (lambda: exchange_delta(5, 5, 0.5, float("nan")), "epsilon"),
        (lambda: totals_delta_bound(5, 5, 0.5, 0.5, 1), "zero"),
        (lambda: totals_delta_exact(5, 5, -0.1, 0.5, 1), "zero"),
        (lambda: smallest_epsilon(lambda _: 0.0, 0), "delta"),
        (lambda: smallest_epsilon(lambda _: 0.0, 1), "delta"),
    ],
)
def test_bad_arguments_of_the_curves(call, match):
    with pytest.raises(InputError, match=match):
        call()
