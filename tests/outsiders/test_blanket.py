"""Blankets bound every data set's delta; the published reduction does not."""

from itertools import product
from math import e, exp

import numpy as np
import pytest

from planner.errors import InputError
from planner.outsiders import Blanket, central_delta, central_epsilon
from tests.outsiders.exhaustion import delta, random_law, worst_delta
from tests.refusals import refused


def numbers(law, i, j):
    """The pair's p, beta and q, from the law."""
    high = np.maximum(law[i], law[j])
    ratio = float(np.max(np.abs(np.log(law[i] / law[j]))))
    variation = float(np.maximum(law[i] - law[j], 0).sum())
    return exp(ratio), variation, float(np.max(high / law.min(axis=0)))


@pytest.mark.parametrize("seed", range(12))
def test_no_data_set_exceeds_the_bound(seed):
    rng = np.random.default_rng(seed)
    law = random_law(rng, answers=3, reports=int(rng.integers(2, 4)))
    sharp = Blanket.from_laws(law[0], law[1], law)
    by_numbers = Blanket.from_numbers(*numbers(law, 0, 1))
    for people, epsilon in product((1, 2, 3, 4), (0.0, 0.1, 0.5, 1.0)):
        worst = worst_delta(law, 0, 1, people, epsilon)
        upper = central_delta(sharp, epsilon, people).upper
        assert worst <= upper * (1 + 1e-12)
        assert upper <= central_delta(by_numbers, epsilon, people).upper * 1.003


@pytest.mark.parametrize("seed", range(6))
def test_it_is_exact_where_all_others_have_one_answer(seed):
    rng = np.random.default_rng(seed)
    law = random_law(rng, answers=3, reports=3)
    for other in law:
        blanket = Blanket.from_laws(law[0], law[1], [other])
        for people, epsilon in ((2, 0.1), (5, 0.2), (7, 0.4)):
            rest = [other] * (people - 1)
            true = max(delta(*pair, rest, epsilon) for pair in ((law[0], law[1]), (law[1], law[0])))
            bracket = central_delta(blanket, epsilon, people)
            assert bracket.lower * (1 - 1e-12) <= true <= bracket.upper * (1 + 1e-12)
            assert bracket.width < 0.01


RESPONSE = np.array([[e, 1], [1, e]]) / (1 + e)


@pytest.mark.parametrize(
    ("people", "exact", "bound"),
    [(2, 0.317157, 0.317157), (5, 0.164109, 0.190390), (20, 0.058387, 0.073220)],
)
def test_binary_randomised_response(people, exact, bound):
    blanket = Blanket.from_laws(RESPONSE[0], RESPONSE[1], RESPONSE)
    bracket = central_delta(blanket, 0.1, people, accuracy=1e-4)
    assert bracket.lower - 1e-6 <= bound <= bracket.upper + 1e-6
    assert bracket.width < 2e-4
    if people <= 5:
        assert worst_delta(RESPONSE, 0, 1, people, 0.1) == pytest.approx(exact, abs=1e-6)
    least = max(
        delta(RESPONSE[a], RESPONSE[1 - a], RESPONSE[[0] * k + [1] * (people - 1 - k)], 0.1)
        for a in (0, 1)
        for k in range(people)
    )
    assert least == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize(("budget", "central"), [(1, 0.01243), (2, 0.03319), (4, 0.11815)])
def test_any_mechanism_with_one_budget(budget, central):
    """Feldman, McMillan and Talwar's 2021 code gives 0.016 at budget 1, 0.168 at 4."""
    p = exp(budget)
    blanket = Blanket.from_numbers(p, (p - 1) / (p + 1), p)
    kept = central_epsilon(blanket, 1e-6, 100_000)
    assert kept == pytest.approx(central, rel=3e-3)
    assert central_delta(blanket, kept, 100_000).upper <= 1e-6
    assert central_delta(blanket, 0.99 * kept, 100_000).lower > 1e-6  # it is near the smallest


# Answers x and x' differ in two reports of four; the others nearly always make the fourth.
HIDDEN = np.array([[0.4, 0.1, 0.49, 0.01], [0.1, 0.4, 0.49, 0.01], [0.1, 0.1, 0.1225, 0.6775]])


def published_delta(p, beta, q, people, epsilon):
    """The pair of the published reduction: counts of two names, the victim's among them."""
    from scipy.stats import binom

    alpha = beta / (p - 1)
    clones = binom.pmf(np.arange(people), people - 1, 2 * alpha * p / q)
    counts = np.zeros((people + 1, people + 1))
    for named, chance in enumerate(clones):
        ones = np.arange(named + 1)
        counts[ones, named - ones] += chance * binom.pmf(ones, named, 0.5)
    one, two = np.zeros_like(counts), np.zeros_like(counts)
    one[1:], two[:, 1:] = counts[:-1], counts[:, :-1]
    rest = (1 - (p + 1) * alpha) * counts
    first, second = (p * alpha * a + alpha * b + rest for a, b in ((one, two), (two, one)))
    return float(np.maximum(first - exp(epsilon) * second, 0).sum())


def test_a_mechanism_where_the_published_pair_fails():
    people, epsilon = 40, 1.0
    true = Blanket.from_laws(HIDDEN[0], HIDDEN[1], HIDDEN[2:])
    lost = central_delta(true, epsilon, people)
    assert lost.lower < 1.05e-5 * 1.005
    assert lost.upper > 1.05e-5 * 0.995
    p, beta, q = numbers(HIDDEN, 0, 1)
    assert (p, beta, q) == pytest.approx((4, 0.3, 4), rel=1e-12)
    assert published_delta(p, beta, q, people, epsilon) == pytest.approx(7.5e-12, rel=0.02)
    proven = central_delta(Blanket.from_numbers(p, beta, q), epsilon, people)
    assert proven.lower > lost.upper


def test_what_are_no_numbers_or_masses():
    for p, beta, q in ((1.0, 0.1, 2.0), (3.0, 0.51, 3.0), (3.0, 0.0, 3.0), (3.0, 0.3, 2.9)):
        with refused():
            Blanket.from_numbers(p, beta, q)
    with refused():
        Blanket.from_numbers(float("nan"), 0.3, 3.0)
    with refused():
        Blanket([0.6, 0.6], [1 / 1.2] * 2, [1 / 1.2] * 2)
    with refused():
        Blanket.from_laws([0.5, 0.5], [0.4, 0.6], [[1.0, 0.0]])
    for bad in (([0.5], [2.0, 1], [1, 2.0]), ([0.5, 0.0], [1, 1], [1, 1]), ([1.0], [-1], [1])):
        with pytest.raises(InputError):
            Blanket(*bad)


def test_arguments():
    blanket = Blanket.from_laws(*RESPONSE, RESPONSE)
    for call in (
        lambda: central_delta(blanket, -0.1, 5),
        lambda: central_delta(blanket, 0.1, 0),
        lambda: central_delta(blanket, 0.1, 10**10),
        lambda: central_epsilon(blanket, 0.0, 5),
        lambda: central_epsilon(blanket, 1.0, 5),
        lambda: central_epsilon(Blanket([0.5, 0.5], [2, 0], [1, 1]), 0.1, 5),
    ):
        with pytest.raises(InputError):
            call()
    assert central_epsilon(blanket, 0.9, 5) == 0
    assert central_epsilon(blanket, 1e-9, 1) == pytest.approx(1.0)
