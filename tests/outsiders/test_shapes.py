"""The best guess and the largest weight: against lists of all reports."""

from fractions import Fraction
from itertools import combinations, product
from math import comb, factorial, inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner import (
    local_hashing,
    padded,
    randomized_response,
    rappor,
    subset_selection,
    unary,
)
from planner.mechanisms.subset_design import SidesCollected
from planner.mechanisms.words import seeded_words
from planner.outsiders import seen_of
from planner.outsiders.positive_part import Bracket, log_positive_part, positive_part
from planner.outsiders.shapes import of_policy
from planner.policy.policy import PrivacyPolicy
from planner.solvers.answers import UnaryTable
from planner.solvers.design_search import best_design
from planner.solvers.solving import solve
from tests.mechanisms.listed import output_law
from tests.refusals import refused

POLICY = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90])


def priors(rng, items):
    yield np.full(items, 1 / items)
    for concentration in (0.2, 1.0, 5.0):
        yield rng.dirichlet(np.full(items, concentration))
    yield np.eye(items)[rng.integers(items)]


def listed(law, prior):
    """Over all reports."""
    return float(np.max(prior[:, None] * law, axis=0).sum())


def seen(mechanism):
    return seen_of(mechanism.shape)


def random_table(seed):
    rng = np.random.default_rng(seed)
    items = int(rng.integers(2, 8))
    b = rng.uniform(0.02, 0.6, items)
    a = b + rng.uniform(0.02, 0.95, items) * (1 - b)
    policy = PrivacyPolicy(np.full(items, 50.0), np.ones(items, int))
    return unary(UnaryTable(policy, a, b, "opt0", "by hand"))


def random_design(counts):
    rng = np.random.default_rng(sum(counts))
    return SidesCollected.of(
        best_design(PrivacyPolicy(np.sort(rng.uniform(0.5, 2.5, len(counts))), counts))
    )


@pytest.mark.parametrize(
    "mechanism",
    [
        *map(random_table, range(20)),
        *map(random_design, ([2, 2], [1, 3], [2, 1, 2])),
        *(
            subset_selection(epsilon, items)
            for epsilon in (0.3, 3.0)
            for items in (2, 3, 5, 8)
        ),
        *(
            randomized_response(epsilon, items)
            for epsilon in (0.3, 3.0)
            for items in (2, 8)
        ),
    ],
)
def test_the_best_guess_by_listing_all_reports(mechanism):
    shape = getattr(mechanism, "shape", mechanism)
    law = output_law(shape)
    for prior in priors(np.random.default_rng(1), len(law)):
        success = seen_of(shape).guess(prior).success
        assert success == pytest.approx(listed(law, prior), rel=1e-9)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_one_of_a_set_by_listing_all_sets(size):
    """All sets alike: the posterior chance of each item to be in the set, for every report."""
    items = 4
    mechanism = rappor(1.5, items)
    law = output_law(mechanism)
    sets = list(combinations(range(items), size))
    reports = np.array([law[list(members)].mean(axis=0) for members in sets]) / len(
        sets
    )
    inside = np.array(
        [[k in members for members in sets] for k in range(items)], dtype=float
    )
    true = (inside @ reports).max(axis=0).sum()
    of_sets = seen(padded(mechanism, size))
    guess = of_sets.guess()
    assert guess.success == pytest.approx(true, rel=1e-9)
    assert guess.blind == size / items
    assert of_sets.guess(np.full(items, 1 / items)) is None
    assert seen(padded(mechanism, items + 1)).guess() is None


def test_hashing_by_listing_all_functions():
    mechanism = local_hashing(np.log(2), 4)
    response = output_law(mechanism)
    for prior in priors(np.random.default_rng(1), 4):
        functions = product(range(mechanism.shape.values), repeat=4)
        true = np.mean([listed(response[list(f)], prior) for f in functions])
        assert seen(mechanism).guess(prior).success == pytest.approx(true, rel=1e-8)


def test_reference_values():
    mechanism = unary(solve(POLICY))
    table = seen(mechanism).guess()
    assert (table.success, table.blind) == pytest.approx((0.02213, 0.01), abs=5e-6)
    design = seen_of(SidesCollected.of(best_design(POLICY))).guess().success
    law = randomized_response(1.0, 100)
    grr = seen(law).guess().success
    law = subset_selection(1.0, 100)
    subset = seen(law).guess().success
    assert (design, grr, subset) == pytest.approx((0.0236, 0.0267, 0.0186), abs=5e-5)
    assert max(table.success, design, grr) <= np.e / 100  # of any mechanism


@pytest.mark.parametrize(
    "law",
    [
        *(make(1.0, 4).shape for make in (rappor, randomized_response, local_hashing)),
        subset_selection(0.5, 4).shape,
        SidesCollected.of(best_design(PrivacyPolicy([1.0, 2.0], [1, 2]))),
    ],
)
def test_no_report_moves_an_estimate_by_more_and_some_by_as_much(law):
    """Of all reports that 400 people of each item send."""
    level = np.repeat(range(len(law.levels.item_counts)), law.levels.item_counts)
    true_items = np.repeat(np.arange(level.size), 400)
    rng = np.random.default_rng(1)
    (reports,) = law.draw_many(true_items, seeded_words(rng))

    def estimated(report):
        counter = law.counter()
        counter.add(np.ascontiguousarray(report[None]))
        estimates = law.estimate(counter.sums())
        return estimates.values

    moved = np.array([estimated(report) for report in np.unique(reports, axis=0)])
    beliefs = []
    for i in set(level):
        beliefs.append(max(moved[:, level == i].max(), 1 - moved[:, level == i].min()))
    assert seen_of(law).reach == pytest.approx(beliefs)


def test_the_weight_of_a_set_is_as_many_times_larger():
    single = rappor(1.0, 4)
    single_reach = seen(single).reach
    mechanism = padded(single, 3)
    three = seen(mechanism).reach
    assert three == pytest.approx(3 * single_reach)


def test_what_is_not_known_and_refusals():
    policy = PrivacyPolicy([1.0, 2.0], [2, 3])
    unknown = of_policy(policy)
    assert unknown.guess() is unknown.reach is None
    three = seen(rappor(1.0, 3))
    for bad in ([0.5, 0.5], [0.5, 0.6, -0.1], [0.5, 0.2, 0.2]):
        with refused("prior"):
            three.guess(bad)


# -- the bracket of a sum's positive part holds the exact value, and nothing one percent off --


def exact(masses, values, draws):
    """By listing how often each value is drawn."""
    chances = [*masses, 1 - sum(masses)]
    values = [*values, 0.0]
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
    n = 3000
    p = 0.1
    away = 600
    values = np.array([1 - away / n, -away / n])
    bracket = positive_part(np.array([p, 1 - p]), values, n)
    ways = range(away + 1, 900)
    true = float(
        sum(Fraction(comb(n, k) * 9 ** (n - k) * (k - away), 10**n) for k in ways)
    )
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
    masses = np.array([0.3, 0.4])
    values = np.array([1.0, -1.5])
    true = np.log(positive_part(masses, values, draws).upper)
    assert abs(log_positive_part(masses, values, draws) - true) < 0.2
