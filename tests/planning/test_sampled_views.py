"""What Sampling Privacy guarantees, against laws enumerated exactly."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from math import comb, exp, inf

import numpy as np
import pytest

from planner.errors import InputError
from planner.mechanisms.sampling_privacy import SamplingPrivacy
from planner.planning.sampled import (
    binomial_window,
    difference_delta,
    exchange_delta,
    guarantee_views,
    lower_tail,
    smallest_epsilon,
    totals_delta_bound,
    totals_delta_exact,
    upper_tail,
)

EPSILONS = (0, 0.1, 0.5, 1, 3)


def hockey_stick(p, q, epsilon):
    """Both directions, over dictionaries of probabilities, in exact arithmetic."""
    growth = Fraction(exp(epsilon))
    outcomes = p.keys() | q.keys()
    pairs = [(p.get(o, Fraction(0)), q.get(o, Fraction(0))) for o in outcomes]
    return float(
        max(
            sum(max(b - growth * a, Fraction(0)) for a, b in pairs),
            sum(max(a - growth * b, Fraction(0)) for a, b in pairs),
        )
    )


def binomial(size, chance):
    chance = Fraction(chance)
    return {x: comb(size, x) * chance**x * (1 - chance) ** (size - x) for x in range(size + 1)}


def totals(mechanism, answers):
    """Exact law of all released totals, person by person, from the stated output law."""
    law = {(0,) * (2 * mechanism.items): Fraction(1)}
    stay = [mechanism.zero, *mechanism.decoys]
    for answer in answers:
        moves = {}
        for first, second, chance in [
            *((j, j, stay[j]) for j in range(mechanism.items)),
            (0, answer, mechanism.sampling),
        ]:
            step = [0] * (2 * mechanism.items)
            step[first] += 1
            step[mechanism.items + second] += 1
            moves[tuple(step)] = moves.get(tuple(step), Fraction(0)) + Fraction(chance)
        new = {}
        for (total, p), (step, q) in product(law.items(), moves.items()):
            key = tuple(a + b for a, b in zip(total, step, strict=True))
            new[key] = new.get(key, Fraction(0)) + p * q
        law = new
    return law


def test_the_window_holds_the_whole_law():
    from scipy.stats import binom

    for size, chance in [(0, 0.5), (1, 0.1), (50, 0.99), (10**6, 1e-5), (10**7, 0.3)]:
        first, pmf = binomial_window(size, chance)
        x = first + np.arange(pmf.size)
        np.testing.assert_allclose(pmf, binom.pmf(x, size, chance), rtol=1e-6, atol=1e-290)
        assert binom.cdf(first - 1, size, chance) + binom.sf(x[-1], size, chance) < 1e-300
        at = np.array([-3, 0, int(size * chance), size, size + 1, size + 5])
        tails = upper_tail(size, chance, at) + lower_tail(size, chance, at - 1)
        np.testing.assert_allclose(tails, 1, rtol=1e-10)


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


BINARY = SamplingPrivacy(0.375, 0.375, [0.25])


@pytest.mark.parametrize(("yes", "no"), [(0, 0), (0, 6), (1, 1), (3, 4), (5, 2), (6, 0)])
def test_totals_against_person_by_person_convolution(yes, no):
    others = [1] * yes + [0] * no
    p, q = totals(BINARY, [*others, 0]), totals(BINARY, [*others, 1])
    for epsilon in EPSILONS:
        truth = hockey_stick(p, q, epsilon)
        args = yes, no, BINARY.zero, BINARY.sampling, epsilon
        exact = totals_delta_exact(*args)
        assert truth <= exact <= truth + 1e-9
        assert truth <= totals_delta_bound(*args)


@pytest.mark.parametrize("zero", [0.05, 0.3, 0.5])
@pytest.mark.parametrize("yes", [0, 2, 20, 100])
@pytest.mark.parametrize("no", [0, 1, 30, 2000])
def test_bound_is_between_exact_and_useless(yes, no, zero):
    for epsilon in EPSILONS:
        exact = totals_delta_exact(yes, no, zero, 0.45, epsilon)
        bound = totals_delta_bound(yes, no, zero, 0.45, epsilon)
        assert difference_delta(yes, 0.45, epsilon) <= exact * (1 + 1e-9)
        assert exact <= bound * (1 + 1e-9)
        if yes == 0:  # nothing is given up: equal
            assert bound == pytest.approx(exact, rel=1e-8)
        if no >= 2000:  # and little, if there are many more No than Yes
            assert bound <= exact * 1.02 + 1e-300


def test_bound_tends_to_the_difference_alone():
    alone = difference_delta(1000, 0.45, 0.1)
    ratios = [totals_delta_bound(1000, no, 0.25, 0.45, 0.1) / alone for no in (10**4, 10**5, 10**7)]
    assert ratios == sorted(ratios, reverse=True)
    assert ratios[0] > 1.05
    assert 1 <= ratios[-1] < 1.001


def test_too_large_a_table_is_refused():
    with pytest.raises(InputError, match="at most 1000000 cells"):
        totals_delta_exact(1000, 1000, 0.25, 0.45, 1)


@pytest.mark.parametrize("everyone", [False, True])
def test_views_of_several_values_against_convolution(everyone):
    """All totals of both rounds, every pair of neighbours: never above the view's delta."""
    mechanism = SamplingPrivacy(0.25, 0.25, [0.125, 0.375], everyone_has_value=everyone)
    counts = [2, 1]
    view = guarantee_views(mechanism, counts, 3 if everyone else 5).aggregates
    people = [1, 1, 2] + [0] * (0 if everyone else 2)
    answers = (1, 2) if everyone else (0, 1, 2)
    law = totals(mechanism, people)
    neighbours = [
        totals(mechanism, [*people[:i], other, *people[i + 1 :]])
        for i, other in product(range(len(people)), answers)
        if other != people[i]
    ]
    for epsilon in EPSILONS:
        worst = max(hockey_stick(law, other, epsilon) for other in neighbours)
        assert worst <= view.totals_delta(epsilon)
        assert view.difference_delta(epsilon) <= view.totals_delta(epsilon)


def test_three_views_side_by_side():
    views = guarantee_views(SamplingPrivacy(0.45, 0.3, [0.25]), [300], 10_000)
    assert views.round_two_epsilon == pytest.approx(np.log(0.7 / 0.25))
    assert views.linkable_epsilon == inf
    assert views.sampled_if_zero == pytest.approx(0.6)
    assert views.aggregates.others_yes == (299,)
    assert views.aggregates.others_no == 9699
    alone, linkable, released = views.sentences()
    assert "1.0297" in alone  # rounded up
    assert "INFINITE" in linkable
    assert "no protection" in linkable
    assert "proven bound" in released


def test_the_exact_sum_is_used_for_small_populations():
    small = guarantee_views(SamplingPrivacy(0.45, 0.3, [0.25]), [20], 286).aggregates
    assert small.totals_are_exact
    zero, sampling = small.mechanism.zero, small.mechanism.sampling
    assert small.totals_delta(1.0) == totals_delta_exact(19, 265, zero, sampling, 1)
    sentence = guarantee_views(small.mechanism, [20], 286).sentences()[2]
    assert "both rounds' totals (exact)" in sentence


def test_nobody_else_with_the_value_means_no_protection():
    views = guarantee_views(SamplingPrivacy(0.45, 0.3, [0.25]), [1], 10_000)
    assert views.aggregates.difference_epsilon(1e-6) == inf
    assert "INFINITE for the estimates alone" in views.sentences()[2]


def test_curves_for_plots_and_their_inverse():
    view = guarantee_views(SamplingPrivacy(0.45, 0.3, [0.25]), [300], 10_000).aggregates
    difference, both = view.curve([0.1, 0.2])
    assert (difference <= both).all()
    for delta in (1e-3, 1e-6, 1e-9):
        epsilon = view.totals_epsilon(delta)
        assert view.totals_delta(epsilon) <= delta
        assert view.totals_delta(epsilon) == pytest.approx(delta, rel=1e-5)


def test_huge_counts_keep_the_guarantee_of_the_limit():
    mechanism = SamplingPrivacy(0.45, 0.3, [0.25])
    views = [guarantee_views(mechanism, [n], 3 * n).aggregates for n in (10**7 + 1, 10**8)]
    assert views[0] == views[1]


@pytest.mark.parametrize(
    ("counts", "population", "match"),
    [
        ([1, 2], 10, "yes_counts"),
        ([-1], 10, "yes_counts"),
        ([11], 10, "population"),
        ([0], 0, "population"),
    ],
)
def test_bad_counts(counts, population, match):
    with pytest.raises(InputError, match=match):
        guarantee_views(SamplingPrivacy(0.45, 0.3, [0.25]), counts, population)
